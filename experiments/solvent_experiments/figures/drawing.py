"""All figures of a run by name, and how they are drawn into its folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from matplotlib.figure import Figure

from solvent_experiments.figures.agents import claims, comparison, honesty
from solvent_experiments.figures.data import RunData, load_run
from solvent_experiments.figures.energy import energy_curve
from solvent_experiments.figures.episode import episode
from solvent_experiments.figures.findings import verdicts, words
from solvent_experiments.figures.style import head, save, styled
from solvent_experiments.figures.training import learning_curve, refusal_curve
from solvent_experiments.folder import RunFolder

FIGURES: Mapping[str, Callable[[RunData], Figure | None]] = {
    "episode": episode,
    "learning_curve": learning_curve,
    "refusal_curve": refusal_curve,
    "honesty": honesty,
    "comparison": comparison,
    "claims": claims,
    "energy_curve": energy_curve,
    "verdicts": verdicts,
    "words": words,
}
"""File name -> function that draws it, which returns None if the run has no data for it. The first is shown first."""


def draw(folder: RunFolder, names: Iterable[str] = FIGURES, kinds: Sequence[str] = ("png",)) -> list[Path]:
    """Draw figures of a run into its ``figures`` folder; return the images of those that it has data for."""
    run, drawn = load_run(folder), []
    with styled():
        for name in names:
            if (figure := FIGURES[name](run)) is not None:
                head(figure, run.heading, run.experiment.mark)
                drawn.append(save(figure, folder.figures / name, kinds))
    return drawn
