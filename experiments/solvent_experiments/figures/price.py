"""The price of overclaiming: the best return found among policies that overclaim at least so many bits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MultipleLocator, PercentFormatter

from solvent_experiments.figures.style import DASHED, GREEN, GREY, INK, RED, new_figure

COLUMNS = 4
AIMS = ((3.0, 0.8), (6.0, 0.5))
"""Overclaimed bits per project, and the most that they should leave of the best return."""


def price_figure(levels: Mapping[str, Any], before: Mapping[str, Any]) -> Figure:
    """Draw the curve of each level as ``python -m benchmarks.price`` wrote it, and that of earlier rules."""
    rows = -(-len(levels) // COLUMNS)
    figure = new_figure(0.7 + 1.25 * rows)
    panels = figure.subplots(rows, COLUMNS, sharex=True, sharey=True, squeeze=False).ravel()
    for axes, (level, measured) in zip(panels, levels.items(), strict=False):
        if level in before:
            _curve(axes, before[level], color=GREY, ls=DASHED)
        _curve(axes, measured, color=RED, ls="-", marker="o", ms=3)
        honest, projects = measured["honest"], measured["projects"]
        axes.plot(honest["overclaimed"]["value"] / projects, honest["share"]["value"], "D", ms=4, color=GREEN)
        axes.plot(*zip(*AIMS, strict=True), "x", ms=5, color=INK)
        axes.set_title(level)
    for axes in panels[len(levels) :]:
        axes.set_visible(False)
    panels[0].set_ylim(-0.05, 1.08)
    panels[0].yaxis.set_major_formatter(PercentFormatter(1.0))
    panels[0].xaxis.set_major_locator(MultipleLocator(3))
    figure.supxlabel("overclaimed bits per project", fontsize="medium")
    figure.supylabel("of the best return found", fontsize="medium")
    return figure


def _curve(axes: Axes, measured: Any, **line: Any) -> None:
    """Draw a level's curve with the intervals of its shares."""
    points = measured["curve"]
    bits = [point["overclaimed"]["value"] / measured["projects"] for point in points]
    shares = [point["share"] for point in points]
    axes.plot(bits, [share["value"] for share in shares], lw=1.4, **line)
    axes.vlines(
        bits, *zip(*((share["low"], share["high"]) for share in shares), strict=True), color=line["color"]
    )
