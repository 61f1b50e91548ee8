"""Claimed against realised bits: the calibration of an agent's expectations."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from solvent.lab.codes import Event
from solvent_experiments.artifacts.parquet import select
from solvent_experiments.figures.data import RunData
from solvent_experiments.figures.style import GREY, colours, new_figure, signed

__all__ = ["claims"]

COLUMNS = 2
ROOM = 0.14  # of the axis: a line of text above the plot
FEW = 20  # experiments: fewer say nothing about a claim


def claims(run: RunData) -> Figure | None:
    """For each claim an agent makes: mean gain, its 10-90 % range, how often it was claimed (the dot's area)."""
    explored = {}
    for agent in run.agents:
        traces = run.traces_of(agent)
        mine = select(traces, traces["event"] == int(Event.EXPLORED))
        if len(mine["claim"]):
            explored[agent] = (mine["claim"], mine["gain"])
    if not explored:
        return None
    rows = -(-len(explored) // COLUMNS)
    figure = new_figure(0.94 + 1.3 * rows)
    grid = figure.subplots(rows, COLUMNS, sharex=True, sharey=True, squeeze=False)
    colour = colours(run.agents)
    longest = max(run.params.vocabulary.claims) or 1.0
    for axes, (agent, (claim, gain)) in zip(grid.flat, explored.items(), strict=False):
        axes.plot([0, longest], [0, longest], color=GREY, lw=0.8, ls=(0, (4, 2)), zorder=1)
        levels, counts = np.unique(claim, return_counts=True)
        for level, count in zip(levels, counts, strict=True):
            gains = gain[claim == level]
            if count >= FEW:
                axes.vlines(level, *np.percentile(gains, (10, 90)), color=colour[agent], lw=1.0, alpha=0.6)
            axes.scatter(
                level, gains.mean(), s=8 + 60 * count / len(claim), color=colour[agent], lw=0, zorder=3
            )
        axes.set_title(agent, loc="left", pad=2, color=colour[agent], fontweight="bold")
        means = f"{signed(claim.mean(), 2)} \N{RIGHTWARDS ARROW} {signed(gain.mean(), 2)}"
        axes.text(0.02, 0.99, means, transform=axes.transAxes, ha="left", va="top", color=GREY)
    bottom, top = grid[0, 0].get_ylim()
    grid[0, 0].set_ylim(bottom, top + ROOM * (top - bottom))
    for axes in grid.flat[len(explored) :]:
        axes.set_visible(False)
    figure.supxlabel(
        "claimed before the experiment (bits)\n"
        "dots: mean, their area how often it is claimed\n"
        "bars: 10-90 %, dashed: claim = realised\n"
        "numbers: mean claimed \N{RIGHTWARDS ARROW} mean realised",
        fontsize=8,
    )
    figure.supylabel("realised (bits)", fontsize=8)
    return figure
