"""Claimed against realised bits: the calibration of an agent's expectations."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from solvent.lab.codes import Event
from solvent_experiments.artifacts.parquet import select
from solvent_experiments.figures.data import RunData
from solvent_experiments.figures.frame import missing, panels
from solvent_experiments.figures.style import DASHED, GREY, signed

__all__ = ["claims"]

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
    figure, drawn = panels(list(explored), 0.94, 1.3, columns=2, sharey=True)
    longest = max(run.params.vocabulary.claims) or 1.0
    for agent, axes, colour in drawn:
        claim, gain = explored[agent]
        axes.plot([0, longest], [0, longest], color=GREY, lw=0.8, ls=DASHED, zorder=1)
        levels, counts = np.unique(claim, return_counts=True)
        for level, count in zip(levels, counts, strict=True):
            gains = gain[claim == level]
            if count >= FEW:
                axes.vlines(level, *np.percentile(gains, (10, 90)), color=colour, lw=1.0, alpha=0.6)
            axes.scatter(level, gains.mean(), s=8 + 60 * count / len(claim), color=colour, lw=0, zorder=3)
        means = f"{signed(claim.mean(), 2)} \N{RIGHTWARDS ARROW} {signed(gain.mean(), 2)}"
        axes.text(0.02, 0.99, means, transform=axes.transAxes, ha="left", va="top", color=GREY)
    _, first, _ = drawn[0]
    bottom, top = first.get_ylim()
    first.set_ylim(bottom, top + ROOM * (top - bottom))
    figure.supxlabel(
        "claimed before the experiment (bits)\n"
        "dots: mean, their area how often it is claimed\n"
        "bars: 10-90 %, dashed: claim = realised\n"
        "numbers: mean claimed \N{RIGHTWARDS ARROW} mean realised"
        + missing(run.agents, explored, "no experiment"),
        fontsize=8,
    )
    figure.supylabel("realised (bits)", fontsize=8)
    return figure
