"""Budget and debt over an episode, by agent."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from solvent_experiments.artifacts.parquet import Columns
from solvent_experiments.figures.data import RunData
from solvent_experiments.figures.frame import level_line
from solvent_experiments.figures.style import colours, new_figure

__all__ = ["budget_curve", "held", "percentile_band"]

ROW_HEIGHT = 0.72


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


def budget_curve(run: RunData) -> Figure | None:
    """Wells left and debt against heartbeats, a row for each agent: median, and 10th to 90th percentile."""
    if not len(run.traces["heartbeat"]):
        return None
    agents, colour = run.agents, colours(run.agents)
    horizon, threshold = run.params.budget.heartbeats, run.params.debt.threshold
    figure = new_figure(0.6 + ROW_HEIGHT * len(agents))
    halves: Any = figure.subfigures(1, 2)
    wells, debt = (
        half.subplots(len(agents), 1, sharex=True, sharey=True, squeeze=False)[:, 0] for half in halves
    )
    highest = threshold
    for agent, wells_axes, debt_axes in zip(agents, wells, debt, strict=True):
        traces = run.traces_of(agent)
        owed = held(traces, "debt", horizon)
        percentile_band(wells_axes, range(horizon + 1), held(traces, "wells", horizon), colour[agent])
        percentile_band(debt_axes, range(horizon + 1), owed, colour[agent])
        level_line(debt_axes, threshold)
        highest = max(highest, float(np.percentile(owed, 90, axis=0).max()))
        wells_axes.set_title(agent, loc="left", pad=2, color=colour[agent], fontweight="bold")
        debt_axes.set_title(" ", loc="left", pad=2)
    wells[0].set_ylim(0, run.params.budget.wells * 1.02)
    debt[0].set_ylim(0, min(highest, 3 * threshold if threshold > 0 else highest) * 1.08 + 1e-9)
    for half, title in zip(halves, ("wells left", "debt (bits), - - threshold"), strict=True):
        half.suptitle(title, fontsize=8)
    for axes, meaning in ((wells[-1], "line: median"), (debt[-1], "band: 10-90 %")):
        axes.set_xlim(0, horizon)
        axes.set_xlabel(f"heartbeat (hours)\n{meaning}")
    return figure
