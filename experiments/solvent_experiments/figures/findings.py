"""Findings: the gate's verdicts on them, and how far their words go beyond their evidence."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from solvent.lab.codes import VERDICTS
from solvent_experiments.figures.data import DRAWS, RunData, stretches
from solvent_experiments.figures.frame import band, dots, key, stacked, step_axis
from solvent_experiments.figures.style import OCHRE, ROSE, VERDICT_COLOURS, colour_of, new_figure
from solvent_experiments.folder import Columns
from solvent_experiments.statistics import NOTHING, mean_interval, share_interval
from solvent_experiments.summary import SCORES

SCORE_COLOURS = ("#DADADA", "#B4B4B4", ROSE, OCHRE)
"""Scores 0 to 3; colour where the words go beyond the evidence."""
SAYS = dict(zip(VERDICTS, ("accepted", "sent to review", "rejected"), strict=True))


def verdicts(run: RunData) -> Figure | None:
    """Draw the shares of findings by verdict, the wrong findings accepted, and the shares while learning."""
    if not run.lab.gate.enabled:
        return None
    columns = {f"verdicts_{name}": colour for name, colour in VERDICT_COLOURS.items()}
    figure, shares, wrong, curves = _panels(run)
    stacked(shares, run.agents, _sums(run, columns), shares=True)
    shares.set_title("share of findings by verdict")
    found = [mean_interval(run.groups(agent, "wrong")) for agent in run.agents]
    dots(wrong, run.agents, found, [colour_of(agent) for agent in run.agents])
    wrong.set_title("wrong findings accepted per episode, 95 % interval")
    _curves(run, curves, columns)
    key(figure, {SAYS[name]: colour for name, colour in VERDICT_COLOURS.items()})
    return figure


def words(run: RunData) -> Figure | None:
    """Draw the shares of findings by the score of their words, their mean score, and the scores while learning."""
    if not run.lab.adequacy.enabled:
        return None
    figure, shares, mean, curves = _panels(run)
    columns = dict(zip(SCORES, SCORE_COLOURS, strict=True))
    stacked(shares, run.agents, _sums(run, columns), shares=True)
    shares.set_title("share of findings by the score of their words")
    scored = {row.agent: row.interval("inadequacy") for row in run.rows if "inadequacy" in row.measured}
    found = [scored.get(agent, NOTHING) for agent in run.agents]
    dots(mean, run.agents, found, [colour_of(agent) for agent in run.agents])
    mean.set_title("mean score and 95 % interval")
    _curves(run, curves, columns)
    named = dict(
        zip(
            ("0: as strong as the evidence", "1", "2", "3: definitive, with almost none"),
            SCORE_COLOURS,
            strict=True,
        )
    )
    key(figure, named)
    return figure


def _panels(run: RunData) -> tuple[Figure, Axes, Axes, list[Axes]]:
    """Return a figure with two panels of agents and one for each learner."""
    bars, learners = 0.25 + 0.2 * len(run.agents), len(run.learners())
    figure = new_figure(1.2 + 2 * bars + 1.6 * learners)
    grid: Any = figure.subplots(
        2 + learners, 1, height_ratios=[bars, bars, *[1.1] * learners], squeeze=False
    )[:, 0]
    return figure, grid[0], grid[1], list(grid[2:])


def _sums(run: RunData, columns: dict[str, str]) -> dict[str, list[float]]:
    """Return the number of findings of each agent by colour."""
    return {
        colour: [float(np.concatenate(run.groups(agent, name)).sum()) for agent in run.agents]
        for name, colour in columns.items()
    }


def _curves(run: RunData, panels: list[Axes], columns: dict[str, str]) -> None:
    """Draw the share of each column, by its colour, among a learner's findings against training steps."""
    for axes, (agent, training) in zip(panels, run.learners().items(), strict=True):
        whole = np.sum([training[name] for name in columns], axis=0)
        for name, colour in columns.items():
            _share_curve(axes, training, training[name], whole, colour)
        axes.set_ylim(0, 1)
        axes.set_title(f"{agent} while learning: share of findings, band: 95 %", color=colour_of(agent))
        step_axis(axes)


def _share_curve(axes: Axes, training: Columns, part: Any, whole: Any, colour: str) -> None:
    points = [(x, g) for x, g in stretches(training) if sum(whole[rows].sum() for rows in g)]
    found = [share_interval([part[r] for r in g], [whole[r] for r in g], DRAWS) for _, g in points]
    band(axes, [x for x, _ in points], found, colour)
