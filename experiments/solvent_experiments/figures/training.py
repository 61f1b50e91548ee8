"""Return and refusals of learners against training steps."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import EngFormatter
from numpy.typing import NDArray

from solvent_experiments.artifacts.parquet import Columns, select
from solvent_experiments.figures.data import RunData
from solvent_experiments.figures.frame import band
from solvent_experiments.figures.style import (
    DASHED,
    GREY,
    INK,
    REASONS,
    looks,
    new_figure,
    signed,
    spread,
)
from solvent_experiments.measure.statistics import Bootstrap, interval

__all__ = [
    "DRAWS",
    "Stretch",
    "learners",
    "learning_curve",
    "panels_of_learners",
    "refusal_curve",
    "seeds_of",
    "step_axis",
    "stretches",
]

POINTS = 40
DRAWS = Bootstrap(400)
NOTE_WIDTH = 46  # characters under the axis
LINE = 0.14  # inches: a line of text under the axis
LABEL_HEIGHT = 0.062  # of the axis: a line of text


class Stretch(NamedTuple):
    """Training episodes of a range of steps, grouped by seed."""

    steps: float
    rows: list[NDArray[Any]]


def stretches(training: Columns) -> list[Stretch]:
    """Return at most ``POINTS`` stretches. Seeds without an episode in a stretch have no group in it."""
    steps, seeds = training["steps"], training["training_seed"]
    reported = np.unique(steps)
    edges = np.unique(
        np.quantile(reported, np.linspace(0, 1, min(POINTS, len(reported)) + 1), method="higher")
    )
    places = np.searchsorted(edges[1:], steps, side="left")
    found = []
    for place in np.unique(places):
        rows = np.flatnonzero(places == place)
        groups = [rows[seeds[rows] == seed] for seed in np.unique(seeds[rows])]
        found.append(Stretch(float(steps[rows].mean()), groups))
    return found


def step_axis(axes: Axes, run: RunData, *notes: str) -> None:
    """Label the x axis with training steps and, below, with notes."""
    unit = "actions" if run.params.energy.enabled else "heartbeats"
    lines = [textwrap.fill(note, NOTE_WIDTH) for note in notes]
    axes.set_xlabel("\n".join([f"training steps ({unit} of all labs)", *lines]))
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.set_xlim(left=0)


def seeds_of(run: RunData, agent: str) -> str:
    seeds = next(row.seeds for row in run.rows if row.agent == agent)
    return f"{seeds} training seed{'' if seeds == 1 else 's'}"


def learners(run: RunData) -> dict[str, Columns]:
    """Return the training episodes of each learner; empty if the run has none."""
    if run.training is None:
        return {}
    mine = {agent: select(run.training, run.training["agent"] == agent) for agent in run.learned}
    return {agent: episodes for agent, episodes in mine.items() if len(episodes["steps"])}


def panels_of_learners(
    learnt: Mapping[str, Columns], around: float, each: float, rows: Sequence[float] = (1,)
) -> tuple[Figure, list[Any]]:
    """Return a figure with some ``rows`` (by height) for each learner, and the axes of each."""
    figure = new_figure(around + (each + LINE) * len(learnt))
    count = len(rows)
    grid = figure.subplots(
        count * len(learnt), 1, sharex=True, squeeze=False, height_ratios=[*rows] * len(learnt)
    )[:, 0]
    found = [grid[i * count : (i + 1) * count] for i in range(len(learnt))]
    if len(learnt) > 1:
        for agent, (axes, *_) in zip(learnt, found, strict=True):
            axes.set_title(agent, loc="left")
    figure.align_ylabels(grid)
    return figure, found


def learning_curve(run: RunData) -> Figure | None:
    """Return of the training episodes against steps, with the scripted agents' for comparison."""
    learnt = learners(run)
    if not learnt:
        return None
    figure = new_figure(2.9 + LINE * len(run.learned))
    axes = figure.subplots()
    look = looks(run.learned)
    levels: list[tuple[float, str, str]] = []
    low, high = np.inf, -np.inf
    for agent, mine in learnt.items():
        bins = stretches(mine)
        points = [interval([mine["return"][rows] for rows in b.rows], DRAWS) for b in bins]
        band(axes, [b.steps for b in bins], points, look[agent].colour, ls=look[agent].line, zorder=3)
        score = next(row.score for row in run.rows if row.agent == agent)
        low = min(low, score.value, *(p.low for p in points))
        high = max(high, *(p.high for p in points))
        # With one seed of nearly equal episodes the interval can exclude the value.
        error = [[max(0.0, score.value - score.low)], [max(0.0, score.high - score.value)]]
        end: Any = {
            "fmt": look[agent].mark,
            "ms": 3.5,
            "color": look[agent].colour,
            "zorder": 4,
            "clip_on": False,
        }
        axes.errorbar([float(mine["steps"].max())], [score.value], yerr=error, **end)
        levels.append((score.value, agent, look[agent].colour))
    _set_range(axes, low, high, [row.score.value for row in run.rows])
    bottom, top = axes.get_ylim()
    outside = []
    for row in (row for row in run.rows if row.agent not in run.learned):
        if bottom <= row.score.value <= top:
            axes.axhline(row.score.value, color=GREY, lw=0.9, ls=DASHED, zorder=1)
            levels.append((row.score.value, row.agent, INK))
        else:
            outside.append(f"{row.agent} {signed(row.score.value, 1)}")
    _label_right(axes, levels)
    axes.set_ylabel("return of an episode (bits)")
    notes = ["below the axis: " + ", ".join(outside)] if outside else []
    step_axis(axes, run, *(f"{agent}: {seeds_of(run, agent)}" for agent in run.learned), *notes)
    handles: list[Any] = [
        (Patch(color=INK, alpha=0.25, lw=0), Line2D([], [], color=INK)),
        Line2D([], [], color=INK, marker="o", ms=3.5, lw=0),
        Line2D([], [], color=GREY, lw=0.9, ls=DASHED),
    ]
    names = [
        "training: interquartile mean, 95 % band",
        "trained policy, evaluated",
        "scripted agent, evaluated",
    ]
    figure.legend(handles, names, loc="outside upper left")
    return figure


def _set_range(axes: Axes, low: float, high: float, scores: Sequence[float]) -> None:
    """Set a range with room for the curve and for agents that are not far below it."""
    high = max(high, *scores)
    near = [score for score in scores if score > high - 1.5 * max(high - low, 1.0)]
    low = min(low, *near) if near else low
    margin = 0.06 * max(high - low, 0.5)
    axes.set_ylim(low - margin, high + margin)


def _label_right(axes: Axes, levels: list[tuple[float, str, str]]) -> None:
    """Write names at the right edge, apart from each other."""
    levels = sorted(levels)
    bottom, top = axes.get_ylim()
    heights = [(value - bottom) / (top - bottom) for value, _, _ in levels]
    labels = spread(heights, LABEL_HEIGHT)
    for height, label, (_, name, colour) in zip(heights, labels, levels, strict=True):
        leader = {"arrowstyle": "-", "color": GREY, "lw": 0.5, "shrinkA": 0, "shrinkB": 0}
        axes.annotate(
            name,
            xy=(1.0, height),
            xytext=(1.05, label),
            xycoords="axes fraction",
            textcoords="axes fraction",
            va="center",
            color=colour,
            arrowprops={**leader, "relpos": (0.0, 0.5)},
            annotation_clip=False,
        )


def refusal_curve(run: RunData) -> Figure | None:
    """Refusals an episode over training, by reason, all seeds together."""
    learnt = learners(run)
    if not learnt:
        return None
    figure, rows = panels_of_learners(learnt, 0.75, 1.6)
    for (axes,), mine in zip(rows, learnt.values(), strict=True):
        bins = stretches(mine)
        steps = [b.steps for b in bins]
        base = np.zeros(len(bins))
        for reason, (name, colour) in REASONS.items():
            counts = mine[f"refusals_{reason}"]
            height = np.array([np.mean([counts[rows].mean() for rows in b.rows]) for b in bins])
            axes.fill_between(steps, base, base + height, color=colour, alpha=0.85, lw=0, label=name)
            base = base + height
        axes.plot(steps, base, color=INK, lw=0.8)
        axes.set_ylim(0, max(1e-9, float(base.max())) * 1.05)
        axes.set_ylabel("refusals per episode")
    step_axis(axes, run, *(f"{agent}, mean of {seeds_of(run, agent)}" for agent in learnt))
    handles, names = axes.get_legend_handles_labels()
    figure.legend(handles[::-1], names[::-1], loc="outside upper left", ncols=1)
    return figure
