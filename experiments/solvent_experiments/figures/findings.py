"""Findings: the gate's verdicts on them, and how far their words go beyond their evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from solvent.lab.codes import VERDICTS
from solvent_experiments.figures.data import DRAWS, RunData, stretches
from solvent_experiments.figures.frame import band, dots, key, stacked, step_axis
from solvent_experiments.figures.style import OCHRE, ROSE, VERDICT_COLOURS, colour_of, new_figure
from solvent_experiments.statistics import NOTHING, Interval, Sample, mean_interval, share_interval
from solvent_experiments.summary import SCORES

SCORE_COLOURS = ("#DADADA", "#B4B4B4", ROSE, OCHRE)
"""Scores 0 to 3; colour where the words go beyond the evidence."""
VERDICT_NAMES = ("accepted", "sent to review", "rejected")
SCORE_NAMES = ("0: as strong as the evidence", "1", "2", "3: definitive, with almost none")


def verdicts(run: RunData) -> Figure | None:
    """Draw the shares of findings by verdict, the wrong findings accepted, and the shares while learning."""
    if not run.lab.gate.enabled:
        return None
    measured = [mean_interval(run.sample(agent, "wrong")) for agent in run.agents]
    shares = {f"verdicts_{name}": VERDICT_COLOURS[name] for name in VERDICTS}
    titles = ("share of findings by verdict", "wrong findings accepted per episode, 95 % interval")
    return _findings(run, shares, VERDICT_NAMES, measured, titles)


def words(run: RunData) -> Figure | None:
    """Draw the shares of findings by the score of their words, their mean score, and the scores while learning."""
    if not run.lab.adequacy.enabled:
        return None
    scored = {row.agent: row.interval("inadequacy") for row in run.rows if "inadequacy" in row.measured}
    measured = [scored.get(agent, NOTHING) for agent in run.agents]
    shares = dict(zip(SCORES, SCORE_COLOURS, strict=True))
    titles = ("share of findings by the score of their words", "mean score and 95 % interval")
    return _findings(run, shares, SCORE_NAMES, measured, titles)


def _findings(
    run: RunData,
    columns: Mapping[str, str],
    names: Sequence[str],
    measured: Sequence[Interval],
    titles: tuple[str, str],
) -> Figure:
    """Draw the shares of findings by column and colour, an interval for each agent, and the shares while learning."""
    learners = run.learners()
    bars = 0.25 + 0.2 * len(run.agents)
    figure = new_figure(1.2 + 2 * bars + 1.6 * len(learners))
    heights = [bars, bars, *[1.1] * len(learners)]
    shares, intervals, *curves = figure.subplots(len(heights), 1, height_ratios=heights)
    sums = {
        colour: [float(run.sample(agent, name).pooled.sum()) for agent in run.agents]
        for name, colour in columns.items()
    }
    stacked(shares, run.agents, sums, shares=True)
    dots(intervals, run.agents, measured, [colour_of(agent) for agent in run.agents])
    for axes, title in zip((shares, intervals), titles, strict=True):
        axes.set_title(title)
    for axes, (agent, training) in zip(curves, learners.items(), strict=True):
        total = np.sum([training[name] for name in columns], axis=0)
        points = [(x, groups) for x, groups in stretches(training) if sum(total[g].sum() for g in groups)]
        for name, colour in columns.items():
            part = training[name]
            over = [_share(part, total, groups) for _, groups in points]
            band(axes, [x for x, _ in points], over, color=colour)
        axes.set_ylim(0, 1)
        axes.set_title(f"{agent} while learning: share of findings, band: 95 %", color=colour_of(agent))
        step_axis(axes)
    key(figure, dict(zip(names, columns.values(), strict=True)))
    return figure


def _share(part: NDArray[Any], total: NDArray[Any], groups: Sequence[NDArray[Any]]) -> Interval:
    """Return the share of a column in another, of the rows of each training seed."""
    parts, totals = (Sample([column[rows] for rows in groups], trained=True) for column in (part, total))
    return share_interval(parts, totals, DRAWS)
