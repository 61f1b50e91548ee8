"""The list of figures, and a function that draws them all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from solvent_experiments.artifacts.folder import RunFolder, Unit
from solvent_experiments.artifacts.joining import read_tables
from solvent_experiments.artifacts.parquet import joined
from solvent_experiments.config.experiment import Experiment
from solvent_experiments.figures.after_refusal import after_refusal
from solvent_experiments.figures.claims import claims
from solvent_experiments.figures.comparison import comparison
from solvent_experiments.figures.data import RunData, load_run
from solvent_experiments.figures.energy import energy_curve, intents_by_hour
from solvent_experiments.figures.episode import episode
from solvent_experiments.figures.honesty import honesty
from solvent_experiments.figures.reliability import reliability
from solvent_experiments.figures.strictness import lab_domain, strictness
from solvent_experiments.figures.style import head, save, styled
from solvent_experiments.figures.training import learning_curve, refusal_curve
from solvent_experiments.figures.verdicts import finding_energies, verdict_curve, verdicts
from solvent_experiments.figures.voice import deferrals, prices
from solvent_experiments.figures.words import words_curve, words_of_findings
from solvent_experiments.measure.statistics import interquartile_mean
from solvent_experiments.measure.summary import Row, groups_of
from solvent_experiments.run.console import visible

__all__ = ["FIGURES", "draw_all", "draw_first"]

FIGURES: Mapping[str, Callable[[RunData], Figure | None]] = {
    "episode": episode,
    "honesty": honesty,
    "comparison": comparison,
    "learning_curve": learning_curve,
    "refusal_curve": refusal_curve,
    "claims": claims,
    "reliability": reliability,
    "after_refusal": after_refusal,
    "energy_curve": energy_curve,
    "intents_by_hour": intents_by_hour,
    "deferrals": deferrals,
    "prices": prices,
    "verdict_curve": verdict_curve,
    "verdicts": verdicts,
    "finding_energies": finding_energies,
    "strictness": strictness,
    "lab_domain": lab_domain,
    "words_curve": words_curve,
    "words": words_of_findings,
}
"""File name -> function that draws it, which returns None if the run has no data for it. The first is shown first."""


def draw_all(folder: RunFolder, *, on_progress: Callable[[int, int], None] = lambda *_: None) -> list[Path]:
    """Draw every figure of a finished run into its ``figures`` folder; return the images."""
    run = load_run(folder)
    drawn = []
    for done, (name, draw) in enumerate(FIGURES.items()):
        on_progress(done, len(FIGURES))
        with styled():
            figure = draw(run)
            if figure is not None:
                head(figure, run.heading, run.mark)
                drawn.append(save(figure, folder.figures / name))
    on_progress(len(FIGURES), len(FIGURES))
    return drawn


def draw_first(experiment: Experiment, folder: RunFolder, units: list[Unit]) -> Path | None:
    """Draw budget, debt and refusals of the agents that are done in an unfinished run; ``draw_all`` draws all anew.

    The figure shows no interval, so no summary is computed.
    """
    tables = read_tables([path for unit in units for path in (unit.episodes, unit.traces)])
    episodes = joined([tables[unit.episodes] for unit in units])
    returns = {str(agent): groups_of(episodes, agent, "return") for agent in dict.fromkeys(episodes["agent"])}
    best_first = sorted(returns, key=lambda agent: -interquartile_mean(np.concatenate(returns[agent])))
    run = RunData(
        name=visible(experiment.name),
        env=experiment.env,
        params=experiment.params,
        learned=tuple(experiment.train),
        rows=tuple(Row(one, len(returns[one]), sum(map(len, returns[one])), {}) for one in best_first),
        episodes=episodes,
        traces=joined([tables[unit.traces] for unit in units]),
        training=None,
        models=tuple(experiment.language),
    )
    with styled():
        figure = episode(run)
        if figure is None:
            return None
        head(figure, run.heading, run.mark)
        return save(figure, folder.figures / "episode", ("png",))
