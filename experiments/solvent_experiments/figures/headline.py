"""What enforced debt does: to agents over the heartbeats of an episode, and to learners over their training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from solvent_experiments.figures.data import stretches
from solvent_experiments.figures.frame import level_line, seeds_band, step_axis
from solvent_experiments.figures.style import GREY, SETTING_LOOKS, SETTING_NAMES, look_of, new_figure
from solvent_experiments.folder import Columns

MEASURES = {
    "refused": "refused so far because of debt",
    "debt": "debt (bits)",
    "wells": "wells left",
    "net": "accepted bits minus debt",
}
LEARNING = {
    "debt_added": "overclaimed bits",
    "published_bits": "published bits",
    "wrong": "wrong findings",
}
"""What is drawn over training, per episode."""


def headline(kept: Mapping[str, Mapping[str, Mapping[str, Sequence[float]]]], threshold: float) -> Figure:
    """Draw the curves of agents by setting and agent, a column per setting and a row per measure."""
    figure = new_figure(6.0)
    panels = figure.subplots(len(MEASURES), len(kept), sharex=True, squeeze=False)
    agents = list(next(iter(kept.values())))
    for column, (setting, of_agent) in enumerate(kept.items()):
        for row, (measure, title) in enumerate(MEASURES.items()):
            axes = panels[row, column]
            for agent in agents:
                axes.plot(of_agent[agent][measure], lw=1.8, **look_of(agent).line)
            axes.set_title(title if column == 0 else "")
            axes.yaxis.set_major_locator(MaxNLocator(4))
            axes.margins(x=0)
            if measure == "debt":
                level_line(axes, threshold)
                axes.set_ylim(top=max(axes.get_ylim()[1], 1.3 * threshold))  # room for its name
                at: Any = {"xycoords": ("axes fraction", "data"), "va": "bottom", "fontsize": 7}
                axes.annotate("threshold", (0.01, threshold), color=GREY, **at)
        panels[0, column].annotate(
            SETTING_NAMES[setting], (0, 1.32), xycoords="axes fraction", fontsize=10, fontweight="bold"
        )
        panels[-1, column].set_xlabel("heartbeat")
    for row, measure in enumerate(MEASURES):
        if measure != "debt":  # tracked debt is on another scale
            low, high = zip(*(axes.get_ylim() for axes in panels[row]), strict=True)
            for axes in panels[row]:
                axes.set_ylim(min(low), max(high))
    lines = [Line2D([], [], lw=1.8, **look_of(agent).line) for agent in agents]
    figure.legend(lines, agents, loc="outside lower left", ncols=len(agents), handlelength=2.6)
    return figure


def while_learning(training: Columns) -> dict[str, dict[str, list[float]]]:
    """Return each measure of ``LEARNING`` over training: steps, and the mean, least and most of the seeds."""
    curves: dict[str, dict[str, list[float]]] = {
        name: {"steps": [], "mean": [], "low": [], "high": []} for name in LEARNING
    }
    for step, groups in stretches(training):
        for name, curve in curves.items():
            seeds = [float(training[name][rows].mean()) for rows in groups]
            values = step, float(np.mean(seeds)), min(seeds), max(seeds)
            for part, value in zip(curve, values, strict=True):
                curve[part].append(round(value, 3))
    return curves


def learners(settings: Mapping[str, Mapping[str, Mapping[str, Sequence[float]]]]) -> Figure:
    """Draw what learners do over training, a panel per measure, a line per setting with the band of its seeds."""
    figure = new_figure(2.4)
    panels = figure.subplots(1, len(LEARNING), sharex=True)
    for axes, (measure, title) in zip(panels, LEARNING.items(), strict=True):
        for setting, curves in settings.items():
            look, name = SETTING_LOOKS[setting], SETTING_NAMES[setting]
            seeds_band(axes, curves[measure], alpha=0.2, colour=look.colour, ls=look.dash, lw=1.8, label=name)
        axes.set_title(title)
        axes.set_ylim(bottom=0)
        step_axis(axes)
        axes.set_xlabel("training steps")
        axes.xaxis.set_major_locator(MaxNLocator(3))
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower left", ncols=2, handlelength=2.6)
    return figure
