"""What enforced debt does: to agents over the heartbeats of an episode, and to learners over their training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from solvent_experiments.figures.data import stretches
from solvent_experiments.figures.frame import level_line, step_axis
from solvent_experiments.figures.style import GREEN, GREY, RED, colour_of, new_figure
from solvent_experiments.folder import Columns

MEASURES = {
    "refused": "refused so far because of debt",
    "debt": "debt (bits)",
    "wells": "wells left",
    "net": "accepted bits less debt",
}
SETTINGS = {"enforced": "debt enforced", "tracked": "debt only tracked"}
STYLES = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (4, 1, 1, 1)))


def headline(kept: Mapping[str, Mapping[str, Mapping[str, Sequence[float]]]], threshold: float) -> Figure:
    """Draw the curves of agents by setting and agent, a column per setting and a row per measure."""
    figure = new_figure(6.0)
    panels = figure.subplots(len(MEASURES), len(kept), sharex=True, squeeze=False)
    agents = list(next(iter(kept.values())))
    for column, (setting, of_agent) in enumerate(kept.items()):
        for row, (measure, title) in enumerate(MEASURES.items()):
            axes = panels[row, column]
            for agent, style in zip(agents, STYLES, strict=False):
                values = of_agent[agent][measure]
                axes.plot(values, color=colour_of(agent), ls=style, lw=1.8)
            axes.set_title(title if column == 0 else "")
            axes.yaxis.set_major_locator(MaxNLocator(4))
            axes.margins(x=0)
            if measure == "debt":
                level_line(axes, threshold)
                at: Any = {"xycoords": ("axes fraction", "data"), "va": "bottom", "fontsize": 7}
                axes.annotate("threshold", (0.99, threshold), ha="right", color=GREY, **at)
        panels[0, column].annotate(
            SETTINGS[setting], (0, 1.32), xycoords="axes fraction", fontsize=10, fontweight="bold"
        )
        panels[-1, column].set_xlabel("heartbeat")
    for row, measure in enumerate(MEASURES):
        if measure != "debt":  # unsettled debt is on another scale
            low, high = zip(*(axes.get_ylim() for axes in panels[row]), strict=True)
            for axes in panels[row]:
                axes.set_ylim(min(low), max(high))
    lines = [Line2D([], [], color=colour_of(a), ls=s, lw=1.8) for a, s in zip(agents, STYLES, strict=False)]
    figure.legend(lines, agents, loc="outside lower left", ncols=len(agents), handlelength=2.6)
    return figure


def overclaims(training: Columns) -> dict[str, list[float]]:
    """Return new debt per episode over training: steps, and the mean, least and most of the seeds, bits."""
    curves: dict[str, list[float]] = {"steps": [], "mean": [], "low": [], "high": []}
    for step, groups in stretches(training):
        seeds = [float(training["debt_added"][rows].mean()) for rows in groups]
        values = step, float(np.mean(seeds)), min(seeds), max(seeds)
        for name, value in zip(curves, values, strict=True):
            curves[name].append(round(value, 3))
    return curves


def learners(kept: Mapping[str, Mapping[str, Sequence[float]]]) -> Figure:
    """Draw new debt over training, a line per setting with the band of its seeds."""
    figure = new_figure(2.6)
    axes = figure.subplots()
    for (setting, of), colour, place in zip(kept.items(), (GREEN, RED), (10, 30), strict=True):
        axes.fill_between(of["steps"], of["low"], of["high"], color=colour, alpha=0.2, lw=0)
        axes.plot(of["steps"], of["mean"], color=colour, lw=1.8)
        at: Any = {"xytext": (0, place), "textcoords": "offset points", "ha": "right"}
        axes.annotate(SETTINGS[setting], (of["steps"][-1], of["mean"][-1]), color=colour, **at)
    axes.set_title("overclaimed bits per episode while PPO learns")
    axes.set_ylim(bottom=0)
    step_axis(axes, "line: mean of the seeds, band: all of them")
    return figure
