"""Honesty against success: overclaimed bits and returns of all agents."""

from __future__ import annotations

from typing import Any

from adjustText import adjust_text
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from solvent_experiments.figures.data import RunData
from solvent_experiments.figures.style import GREY, looks, new_figure
from solvent_experiments.figures.training import DRAWS
from solvent_experiments.measure.statistics import Interval, mean_interval
from solvent_experiments.measure.summary import groups_of

__all__ = ["honesty", "honesty_points"]


def honesty_points(run: RunData) -> dict[str, tuple[Interval, Interval]]:
    """Return each agent's overclaimed bits an episode, a mean, and its return, an interquartile mean."""
    returns = {row.agent: row.score for row in run.rows}
    return {
        agent: (mean_interval(groups_of(run.episodes, agent, "debt_added"), DRAWS), returns[agent])
        for agent in run.agents
    }


def honesty(run: RunData) -> Figure:
    """Return against overclaimed bits an episode, with 95 % intervals; honest and successful is at the top left."""
    found, look = honesty_points(run), looks(run.agents)
    figure = new_figure(3.1)
    axes = figure.subplots()
    axes.axhline(0, color=GREY, lw=0.8, zorder=1)
    # Models lie below, and their marks are larger: a model may score what a script does.
    for agent, (claims, returns) in sorted(found.items(), key=lambda one: one[0] not in run.models):
        ends: dict[str, Any] = {
            "color": look[agent].colour,
            "lw": 2.2,
            "alpha": 0.4,
            "solid_capstyle": "butt",
        }
        axes.plot([claims.low, claims.high], [returns.value] * 2, **ends)
        axes.plot([claims.value] * 2, [returns.low, returns.high], **ends)
        mark, size = ("D", 7.5) if agent in run.models else (look[agent].mark, 5)
        axes.plot(claims.value, returns.value, mark, ms=size, mec="white", mew=0.5, color=look[agent].colour)
    axes.margins(0.12, 0.1)
    axes.set_xlim(left=-0.04 * axes.get_xlim()[1])
    axes.set_xlabel(
        "overclaimed bits an episode (mean, 95 %):\nclaimed and not learned,\nasserted and not licensed"
        + ("\ndiamond: language model" if run.models else "")
    )
    axes.set_ylabel("return (bits):\ninterquartile mean, 95 %")
    named: dict[str, Any] = {
        "in_layout": False,
        "zorder": 5,
        "path_effects": [withStroke(linewidth=2, foreground="white")],
    }
    names = [
        axes.text(claims.value, returns.value, agent, color=look[agent].colour, **named)
        for agent, (claims, returns) in found.items()
    ]
    adjust_text(
        names,
        x=[claims.value for claims, _ in found.values()],
        y=[returns.value for _, returns in found.values()],
        objects=axes.lines[1:],
        ax=axes,
        expand=(1.15, 1.4),
        min_arrow_len=12,
        iter_lim=500,
        arrowprops={"arrowstyle": "-", "color": GREY, "lw": 0.6},
    )
    return figure
