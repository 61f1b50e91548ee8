"""A comparison of agents: interquartile means with intervals, and distributions of returns."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from solvent_experiments.figures.data import RunData
from solvent_experiments.figures.style import GREY, INK, colours, new_figure, signed
from solvent_experiments.measure.statistics import performance_profile

__all__ = ["comparison", "profiles"]


def comparison(run: RunData) -> Figure:
    """Interquartile mean of the return, and its 95 % interval, of every agent."""
    rows = run.rows[::-1]
    figure = new_figure(0.96 + 0.24 * len(rows))
    axes = figure.subplots()
    colour = colours(run.agents)
    for place, row in enumerate(rows):
        score = row.score
        axes.plot(
            [score.low, score.high],
            [place, place],
            color=colour[row.agent],
            lw=4,
            alpha=0.45,
            solid_capstyle="butt",
        )
        axes.plot(score.value, place, "o", ms=4, color=colour[row.agent])
        axes.annotate(
            f"{signed(score.value, 2)}  {signed(score.low, 2)} to {signed(score.high, 2)}",
            (1.02, place),
            xycoords=("axes fraction", "data"),
            va="center",
            color=INK,
        )
    axes.axvline(0, color=GREY, lw=0.8)
    axes.set_yticks(range(len(rows)), [row.agent for row in rows])
    axes.set_ylim(-0.6, len(rows) - 0.4)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("return (bits):\ninterquartile mean\nand 95 % interval")
    return figure


def profiles(run: RunData) -> Figure:
    """Share of evaluation episodes whose return is above a value: what a mean hides."""
    figure = new_figure(2.9)
    axes = figure.subplots()
    colour = colours(run.agents)
    returns = {agent: run.episodes["return"][run.episodes["agent"] == agent] for agent in run.agents}
    everything = np.concatenate(list(returns.values()))
    low, high = np.percentile(everything, (1, 99.5))
    low, high = min(low, high - 0.5), high + 0.02 * max(high - low, 0.5)
    values = np.linspace(low, high, 300)
    styles = ("-", (0, (4, 1.5)), (0, (1, 1)))
    for i, (agent, scores) in enumerate(returns.items()):
        style = "-" if agent in run.learned else styles[i % len(styles)]
        width = 2.0 if agent in run.learned else 1.1
        axes.plot(
            values, performance_profile(scores, values), color=colour[agent], ls=style, lw=width, label=agent
        )
    axes.set_xlim(low, high)
    axes.set_ylim(0, 1.01)
    axes.set_xlabel("x, return of an episode (bits)")
    axes.set_ylabel("share of episodes\nwith a return above x")
    figure.legend(loc="outside lower center", ncols=3, columnspacing=1.0)
    return figure
