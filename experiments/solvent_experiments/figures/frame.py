"""The frame of the figures: panels of agents, bands, stacked bars, rows with intervals, and legends."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.transforms import Bbox
from numpy.typing import NDArray

from solvent_experiments.artifacts.parquet import Columns
from solvent_experiments.figures.style import DASHED, GREY, INK, PALETTE, colour_of, new_figure, signed
from solvent_experiments.measure.statistics import Interval
from solvent_experiments.measure.summary import groups_of

__all__ = [
    "PERCENT",
    "band",
    "colour_key",
    "dots",
    "level_line",
    "missing",
    "name_points",
    "panels",
    "share_bars",
    "stack",
]

PERCENT = ([0.0, 0.5, 1.0], ["0", "50", "100 %"])
"""Ticks of an axis of shares."""
BAR = 0.68
WRAP = 46  # characters of a line under a figure
GAPS = (2, 5, 8, 14, 20, 28, 36, 46, 60)
NEAR = 8
"""Distances of a name from its point that are tried, points, and the greatest that needs no line."""
WAYS = [
    np.array([np.cos(angle), np.sin(angle)]) / max(abs(np.cos(angle)), abs(np.sin(angle)))
    for angle in np.linspace(0, 2 * np.pi, 24, endpoint=False)
]
"""Directions that are tried, to the edge of the unit square."""


def panels(
    agents: Sequence[str], around: float, each: float, *, columns: int = 1, **shared: Any
) -> tuple[Figure, list[tuple[str, Axes, str]]]:
    """Return a figure with a panel for each agent, and by panel the agent, the axes and the agent's colour.

    The figure has rows of ``each`` inches and ``around`` inches for everything else.
    """
    rows = -(-len(agents) // columns)
    figure = new_figure(around + each * rows)
    grid = figure.subplots(rows, columns, sharex=True, squeeze=False, **shared)
    for unused in grid.flat[len(agents) :]:
        unused.set_visible(False)
    if len(agents) % columns and rows > 1:
        grid[-2, -1].tick_params(labelbottom=True)
    drawn = [(agent, axes, colour_of(agent)) for agent, axes in zip(agents, grid.flat, strict=False)]
    for agent, axes, colour in drawn:
        axes.set_title(agent, loc="left", pad=2, color=colour, fontweight="bold")
    return figure, drawn


def band(axes: Axes, xs: Sequence[float], found: Sequence[Interval], colour: str, **line: Any) -> None:
    """Draw values as a line and their intervals as a band."""
    low, high = ([getattr(one, end) for one in found] for end in ("low", "high"))
    axes.fill_between(xs, low, high, color=colour, alpha=0.25, lw=0)
    axes.plot(xs, [one.value for one in found], color=colour, **line)


def level_line(axes: Axes, value: float) -> None:
    """Draw a dashed horizontal line."""
    axes.axhline(value, color=INK, lw=0.8, ls=DASHED, zorder=1)


def stack(axes: Axes, heights: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
    """Draw bars of width 1 by colour, one on top of the other; return their sum."""
    base = np.zeros(len(next(iter(heights.values()), ())))
    for colour, height in heights.items():
        axes.stairs(base + height, baseline=base, fill=True, color=colour, lw=0)
        base = base + height
    return base


def dots(
    axes: Axes,
    names: Sequence[str],
    found: Sequence[Interval],
    colour: Sequence[str] = PALETTE[:1],
    size: float = 7,
) -> None:
    """Draw a row for each value with its 95 % interval and the numbers beside it, the first row at the top."""
    beside: Any = {"xycoords": ("axes fraction", "data"), "va": "center"}
    for i, interval in enumerate(found):
        place, own = len(names) - 1 - i, colour[i % len(colour)]
        if np.isnan(interval.value):
            axes.annotate("none", (1.02, place), color=GREY, **beside)
            continue
        ends = [interval.low, interval.high]
        axes.plot(ends, [place] * 2, color=own, lw=4, alpha=0.4, solid_capstyle="butt")
        axes.plot(interval.value, place, "o", ms=3.5, color=own)
        value, low, high = (signed(number, 2) for number in interval)
        axes.annotate(f"{value}  {low} to {high}", (1.02, place), color=INK, fontsize=size, **beside)
    axes.set_yticks(range(len(names)), names[::-1])
    axes.set_ylim(-0.6, len(names) - 0.4)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")


def name_points(
    axes: Axes, points: Mapping[str, tuple[Interval, Interval]], colour: Mapping[str, str]
) -> None:
    """Write each name beside its point ``(x, y)``, on no other name or point; a line leads to a name further away.

    The axes must have their final limits.
    """
    figure: Any = axes.figure
    figure.draw_without_rendering()
    inside, pixel = axes.get_window_extent(), figure.dpi / 72

    def place(x: float, y: float) -> Any:
        return axes.transData.transform((x, y))

    at = {name: place(x.value, y.value) for name, (x, y) in points.items()}
    taken = [Bbox([spot - 3 * pixel, spot + 3 * pixel]) for spot in at.values()]
    bars = [
        Bbox([place(*start), place(*end)]).padded(pixel)
        for x, y in points.values()
        for start, end in (
            ((x.low, y.value), (x.high, y.value)),
            ((x.value, y.low), (x.value, y.high)),
        )
    ]
    bars.append(Bbox([(inside.x0, place(0, 0)[1]), (inside.x1, place(0, 0)[1])]).padded(pixel))

    def cost(label: Bbox, gap: int) -> Any:
        covered, outside = sum(_common(label, one) for one in taken), label.width * label.height
        outside -= _common(label, inside)
        return outside * 1e6 + covered * 1e3 + sum(_common(label, bar) for bar in bars) + gap * pixel

    for name in sorted(points, key=lambda name: -at[name][1]):
        text = axes.annotate(
            name, (points[name][0].value, points[name][1].value), (0, 0), textcoords="offset points",
            ha="center", va="center", color=colour[name], in_layout=False, zorder=5,
        )  # fmt: skip
        extent = text.get_window_extent()
        size = np.array([extent.width, extent.height]) / 2 + 1.5 * pixel
        offsets = [(way * (size + gap * pixel), gap) for gap in GAPS for way in WAYS]
        boxes = [Bbox([at[name] + offset - size, at[name] + offset + size]) for offset, _ in offsets]
        costs = [cost(box, gap) for box, (_, gap) in zip(boxes, offsets, strict=True)]
        best = int(np.argmin(costs))
        offset, gap = offsets[best]
        taken.append(boxes[best])
        text.set_position(tuple(offset / pixel))
        if gap > NEAR:
            axes.annotate(
                "", text.xy, tuple(np.clip(0, offset - size, offset + size) / pixel),
                textcoords="offset points", in_layout=False,
                arrowprops={"arrowstyle": "-", "color": colour[name], "lw": 0.6, "shrinkA": 0, "shrinkB": 0},
            )  # fmt: skip


def _common(one: Bbox, other: Bbox) -> float:
    """Return the common area of two boxes."""
    common = Bbox.intersection(one, other)
    return float(common.width * common.height) if common is not None else 0.0


def share_bars(
    axes: Axes,
    episodes: Columns,
    agents: Sequence[str],
    colour: Mapping[str, str],
    marked: Callable[[Mapping[str, Any]], tuple[float, float]],
) -> None:
    """Draw for each agent the shares of some counts, by column and colour, and a line over part of the bar.

    ``marked`` returns the ends of the line from the agent's counts by column and training seed.
    """
    for place, agent in enumerate(agents):
        mine = {name: groups_of(episodes, agent, name) for name in colour}
        counts = [float(sum(map(np.sum, groups))) for groups in mine.values()]
        if not sum(counts):
            axes.text(0.5, place, "none", ha="center", va="center", color=GREY)
            continue
        ends = np.cumsum([0.0, *counts]) / sum(counts)
        for start, end, of in zip(ends, ends[1:], colour.values(), strict=False):
            axes.barh(place, end - start, BAR, start, color=of, ec="white", lw=0.5)
        axes.plot(marked(mine), [place] * 2, color=INK, lw=1.2, solid_capstyle="butt")
    axes.set_yticks(range(len(agents)), agents)
    axes.tick_params(axis="y", length=0)
    axes.set_xlim(0, 1)
    axes.set_xticks(*PERCENT)
    axes.grid(visible=False, axis="y")


def missing(agents: Sequence[str], shown: Collection[str], why: str) -> str:
    """Return lines for the end of a label that name the agents without a panel; empty if all have one."""
    left = [agent for agent in agents if agent not in shown]
    return "".join(f"\n{line}" for line in textwrap.wrap(f"{why}: {', '.join(left)}", WRAP)) if left else ""


def colour_key(figure: Figure, named: Mapping[str, str], ncols: int, *, title: str | None = None) -> None:
    """Add a legend of colours by name."""
    handles = [Patch(color=colour, lw=0, label=name) for name, colour in named.items()]
    figure.legend(handles=handles, loc="outside upper center", ncols=ncols, columnspacing=1.0, title=title)
