"""Parts that figures share: bands, lines with names at their ends, rows with intervals, shares, and legends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import EngFormatter
from numpy.typing import NDArray

from solvent_experiments.figures.data import RunData, values_at_heartbeats
from solvent_experiments.figures.style import DASHED, GREY, INK, SIZE, look_of, signed
from solvent_experiments.statistics import Interval

LABEL = 0.155  # inches between the names at the ends of lines
AT_RIGHT: Any = {"xycoords": ("axes fraction", "data"), "va": "center", "fontsize": SIZE - 0.5}
"""Of a text beside a row."""


def band(axes: Axes, xs: Sequence[float], intervals: Sequence[Interval], **line: Any) -> None:
    """Draw values as a line and their intervals as a band."""
    low, high = ([getattr(interval, end) for interval in intervals] for end in ("low", "high"))
    axes.fill_between(xs, low, high, color=line["color"], alpha=0.25, lw=0)
    axes.plot(xs, [interval.value for interval in intervals], **line)


def seeds_band(
    axes: Axes, curve: Mapping[str, Sequence[float]], *, alpha: float, colour: str, **line: Any
) -> None:
    """Draw the mean of training seeds over steps as a line, from the least to the most of them as a band."""
    axes.fill_between(curve["steps"], curve["low"], curve["high"], color=colour, alpha=alpha, lw=0)
    axes.plot(curve["steps"], curve["mean"], color=colour, **line)


def level_line(axes: Axes, value: float) -> None:
    axes.axhline(value, color=INK, lw=0.8, ls=DASHED, zorder=1)


def names_at_right(axes: Axes, ends: Sequence[tuple[float, str, str]], inches: float) -> None:
    """Write names with their colours beside the ends of lines in a panel of this height, apart from each other.

    A name is tied to its line; one whose line lies outside the panel has its value instead. The limits of the axis are
    final when this is called.
    """
    bottom, top = axes.get_ylim()
    ordered = sorted(ends)
    heights = [(value - bottom) / (top - bottom) for value, _, _ in ordered]
    places = label_places([float(np.clip(height, -0.02, 1.02)) for height in heights], LABEL / inches)
    for height, place, (value, name, colour) in zip(heights, places, ordered, strict=True):
        text: dict[str, Any] = {
            "xycoords": "axes fraction",
            "va": "center",
            "color": colour,
            "annotation_clip": False,
        }
        if 0.0 <= height <= 1.0:
            tie = {
                "arrowstyle": "-",
                "color": GREY,
                "lw": 0.5,
                "shrinkA": 0,
                "shrinkB": 0,
                "relpos": (0.0, 0.5),
            }
            axes.annotate(
                name, (1.0, height), (1.04, place), textcoords="axes fraction", arrowprops=tie, **text
            )
        else:
            axes.annotate(f"{name} ({signed(value)})", (1.04, place), **text)


def label_places(places: Sequence[float], gap: float) -> list[float]:
    """Return sorted ``places`` of labels, moved apart to at least ``gap``."""
    moved = list(places)
    for _ in range(200):
        for i in range(len(moved) - 1):
            push = max(0.0, gap - (moved[i + 1] - moved[i])) / 2
            moved[i] -= push
            moved[i + 1] += push
    return moved


def over_heartbeats(
    axes: Axes, run: RunData, values: Mapping[str, NDArray[Any]]
) -> list[tuple[float, str, str]]:
    """Draw the mean of each agent's traced values at the start of every heartbeat, a learner's with a band.

    Returns the lines' ends with their names and colours, as ``names_at_right`` takes them.
    """
    heartbeats, ends = run.lab.budget.heartbeats, []
    beats = np.arange(heartbeats + 1)
    for agent, of in values.items():
        grid, look = values_at_heartbeats(run.traces_of(agent), of, heartbeats), look_of(agent)
        if agent in run.learned:
            axes.fill_between(
                beats, *np.percentile(grid, (10, 90), axis=0), color=look.colour, alpha=0.2, lw=0
            )
        axes.plot(beats, grid.mean(axis=0), lw=2.0 if agent in run.learned else 1.2, **look.line)
        ends.append((float(grid[:, -1].mean()), agent, look.colour))
    axes.set_xlim(0, heartbeats)
    return ends


def dots(
    axes: Axes,
    names: Sequence[str],
    intervals: Sequence[Interval],
    colours: Sequence[str],
    markers: Sequence[str] = (),
) -> None:
    """Draw a row for each value with its 95 % interval and the numbers beside it, the first row at the top."""
    for i, interval in enumerate(intervals):
        place, colour = len(names) - 1 - i, colours[i]
        if np.isnan(interval.value):
            axes.annotate("nothing to measure", (1.02, place), color=GREY, **AT_RIGHT)
            continue
        axes.plot(
            [interval.low, interval.high], [place] * 2, color=colour, lw=4, alpha=0.4, solid_capstyle="butt"
        )
        axes.plot(interval.value, place, markers[i] if markers else "o", ms=4, color=colour)
        value, low, high = map(signed, interval)
        ends = f"{low} to {high}" if interval.known else "one seed"
        axes.annotate(f"{value}  ({ends})", (1.02, place), color=INK, **AT_RIGHT)
    rows(axes, names)


def rows(axes: Axes, names: Sequence[str]) -> None:
    """Name the rows of an axis, the first at the top."""
    axes.set_yticks(range(len(names)), names[::-1])
    axes.set_ylim(-0.6, len(names) - 0.4)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")


def stacked(axes: Axes, names: Sequence[str], counts: Mapping[str, Sequence[float]], *, shares: bool) -> None:
    """Draw a bar for each name with parts by colour, the first at the top.

    With ``shares`` each bar has the length 1, and its number stands beside it.
    """
    table = np.array(list(counts.values()), np.float64)
    totals, places = table.sum(axis=0), np.arange(len(names))[::-1]
    if shares:
        table = table / np.where(totals > 0, totals, 1)
        for place in places[totals == 0]:
            axes.text(0.01, place, "none", va="center", color=GREY)
        for place, total in zip(places, totals, strict=True):
            axes.annotate(f"n = {total:,.0f}", (1.02, place), color=GREY, **AT_RIGHT)
    for colour, part, end in zip(counts, table, table.cumsum(axis=0), strict=True):
        axes.barh(places, part, 0.68, end - part, color=colour, ec="white", lw=0.5)
    rows(axes, names)


def key(figure: Figure, named: Mapping[str, str]) -> None:
    """Add a legend of colours by name below the panels."""
    handles = [Patch(color=colour, lw=0, label=name) for name, colour in named.items()]
    ncols = 3 if sum(map(len, named)) < 50 else 2
    figure.legend(handles=handles, loc="outside lower left", ncols=ncols, columnspacing=1.2)


def step_axis(axes: Axes) -> None:
    """Label an axis of training steps."""
    axes.set_xlabel("training steps (actions in all labs)")
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.set_xlim(left=0)
