"""A comparison of agents: interquartile means with intervals, and the distributions of returns below them."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from solvent_experiments.figures.data import RunData
from solvent_experiments.figures.frame import dots
from solvent_experiments.figures.style import GREY, looks, new_figure
from solvent_experiments.measure.statistics import performance_profile

__all__ = ["comparison"]

ROW_HEIGHT = 0.2
PROFILE_HEIGHT = 1.7


def comparison(run: RunData) -> Figure:
    """Interquartile mean of the return and its 95 % interval; below, what a mean hides: the share above each value."""
    rows = ROW_HEIGHT * len(run.rows) + 0.1
    figure = new_figure(0.75 + rows + PROFILE_HEIGHT)
    means, shares = figure.subplots(2, 1, sharex=True, height_ratios=[rows, PROFILE_HEIGHT])
    look, names = looks(run.agents), [row.agent for row in run.rows]
    dots(means, names, [row.score for row in run.rows], [look[name].colour for name in names], size=8)
    means.set_title("interquartile mean and 95 % interval", loc="left", pad=3)
    returns = {agent: run.episodes["return"][run.episodes["agent"] == agent] for agent in run.agents}
    low, high = np.percentile(np.concatenate(list(returns.values())), (1, 99.5))
    low, high = min(low, high - 0.5), high + 0.02 * max(high - low, 0.5)
    values = np.linspace(low, high, 300)
    seen: Any = {"ms": 5, "mec": "white", "mew": 0.5, "clip_on": False, "zorder": 3}
    for place, name in enumerate(reversed(names)):
        colour, line, mark = look[name]
        width = 2.0 if name in run.learned else 1.2
        shares.plot(values, performance_profile(returns[name], values), color=colour, ls=line, lw=width)
        means.plot(run.rows[-1 - place].score.value, place, mark, color=colour, **seen)
    means.axvline(0, color=GREY, lw=0.8)
    means.tick_params(labelbottom=False)
    shares.set_xlim(low, high)
    shares.set_ylim(0, 1.01)
    shares.set_xlabel("x, return of an episode (bits)")
    shares.set_ylabel("share of episodes\nwith a return above x")
    return figure
