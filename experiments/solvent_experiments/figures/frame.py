"""The frame of the figures: panels of agents, bands, stacked bars, rows with intervals, and legends."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
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
    "held",
    "level_line",
    "missing",
    "panels",
    "percentile_band",
    "share_bars",
    "stack",
]

PERCENT = ([0.0, 0.5, 1.0], ["0", "50", "100 %"])
"""Ticks of an axis of shares."""
BAR = 0.68
WRAP = 46  # characters of a line under a figure


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


def held(traces: Columns, name: str, heartbeats: int) -> NDArray[np.float64]:
    """Return values at each heartbeat's start, shape ``(episodes, heartbeats + 1)``; the last is held to the end."""
    starts = np.flatnonzero(traces.get("step", traces["heartbeat"]) == 0)
    grid = np.empty((len(starts), heartbeats + 1))
    for row, (first, end) in enumerate(zip(starts, [*starts[1:], len(traces["heartbeat"])], strict=True)):
        values = traces[name][first:end]
        _, at_starts = np.unique(traces["heartbeat"][first:end], return_index=True)
        grid[row, : len(at_starts)] = values[at_starts]
        grid[row, len(at_starts) :] = values[-1]
    return grid


def percentile_band(axes: Axes, heartbeats: Any, grid: NDArray[np.float64], colour: str) -> None:
    """Draw the median of each column, and a band from the 10th to the 90th percentile; NaN does not count."""
    low, middle, high = np.nanpercentile(grid, (10, 50, 90), axis=0)
    axes.fill_between(heartbeats, low, high, color=colour, alpha=0.25, lw=0)
    axes.plot(heartbeats, middle, color=colour)


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
