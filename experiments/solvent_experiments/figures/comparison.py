"""A comparison of agents: interquartile means with intervals, and distributions of returns."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from solvent_experiments.figures.data import RunData
from solvent_experiments.figures.frame import dots
from solvent_experiments.figures.style import DASHED, DOTTED, GREY, colours, new_figure
from solvent_experiments.measure.statistics import performance_profile

__all__ = ["comparison", "profiles"]


def comparison(run: RunData) -> Figure:
    """Interquartile mean of the return, and its 95 % interval, of every agent."""
    figure = new_figure(0.96 + 0.24 * len(run.rows))
    axes, colour, names = figure.subplots(), colours(run.agents), [row.agent for row in run.rows]
    dots(axes, names, [row.score for row in run.rows], [colour[name] for name in names], size=8)
    axes.axvline(0, color=GREY, lw=0.8)
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
    styles = ("-", DASHED, DOTTED)
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
