"""Energy over an episode and over a day, and its uses, by agent."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from numpy.typing import NDArray

from solvent import LabParams
from solvent.lab.mechanisms.energy import hour_of, within_hours
from solvent.lab.verbs import INTENTS, VERBS
from solvent_experiments.artifacts.parquet import Columns, select
from solvent_experiments.figures.data import RunData
from solvent_experiments.figures.style import GREY, INK, colours, legend_place, new_figure

__all__ = ["FEW", "clock", "energy_curve", "intents_by_hour", "of_heartbeats", "opening", "shade_absence"]

ROW_HEIGHT = 0.78
AWAY = "#EBEBEB"
HOURS = 24
COLUMNS = 2
FEW = 0.1
"""Least share of the episodes that reach a heartbeat, for it to be drawn."""
INTENT_COLOURS = dict(zip(INTENTS, ("#CC79A7", "#0072B2", "#009E73", "#D55E00", "#E69F00"), strict=True))


def of_heartbeats(
    traces: Columns, values: NDArray[np.float64], rows: NDArray[np.bool_], heartbeats: int
) -> NDArray[np.float64]:
    """Return the last value in each heartbeat, shape ``(episodes, heartbeats)``; NaN if it has none."""
    episode = np.cumsum(traces["step"] == 0) - 1
    grid = np.full((int(episode[-1]) + 1, heartbeats), np.nan)
    grid[episode[rows], (traces["heartbeat"] - traces["closed"])[rows]] = values[rows]
    return grid


def opening(traces: Columns) -> NDArray[np.bool_]:
    """Return a mask of the first action of each heartbeat."""
    rows: NDArray[np.bool_] = (traces["slot"] == 0) & (traces["step"] > 0)
    return rows


def shade_absence(axes: Axes, params: LabParams) -> None:
    """Shade the hours without the user on an axis of heartbeats."""
    for beat in range(params.budget.heartbeats):
        if not _present(params, hour_of(params.budget.start_hour, beat)):
            axes.axvspan(beat, beat + 1, color=AWAY, lw=0, zorder=0)


def _present(params: LabParams, hour: int) -> bool:
    return bool(within_hours(hour, params.energy.present_from, params.energy.present_until))


def clock(axes: Axes, params: LabParams, *notes: str) -> None:
    """Label an axis of heartbeats with the hours of the day."""
    start, heartbeats = params.budget.start_hour, params.budget.heartbeats
    every = 6 if heartbeats <= 3 * HOURS else HOURS * -(-heartbeats // (8 * HOURS))
    beats = [beat for beat in range(heartbeats + 1) if (start + beat) % every == 0]
    axes.set_xticks(beats, [f"{(start + beat) % HOURS:02d}" for beat in beats])
    axes.set_xlim(0, heartbeats)
    label = f"hour of the day; {heartbeats} heartbeats from {start:02d}:00"
    axes.set_xlabel("\n".join([label, *notes]))


def energy_curve(run: RunData) -> Figure | None:
    """Energy at the start of each heartbeat, and what is left of it at its end, a row for each agent."""
    if not run.params.energy.enabled or not len(run.traces["heartbeat"]):
        return None
    heartbeats, energy = run.params.budget.heartbeats, run.params.energy
    colour = colours(run.agents)
    figure = new_figure(0.85 + ROW_HEIGHT * len(run.agents))
    all_axes = figure.subplots(len(run.agents), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    for axes, agent in zip(all_axes, run.agents, strict=True):
        traces = run.traces_of(agent)
        before = traces["energy"] + traces["energy_spent"] - traces["energy_gained"]
        at_start = of_heartbeats(traces, before, opening(traces), heartbeats)
        # Keep a heartbeat's last action even if the episode ends before the heartbeat does.
        left = of_heartbeats(
            traces, traces["energy"] - traces["energy_gained"], traces["step"] > 0, heartbeats
        )
        running = ~np.isnan(at_start)
        shown = np.flatnonzero(running.mean(axis=0) >= FEW)
        low, middle, high = np.nanpercentile(at_start[:, shown], (10, 50, 90), axis=0)
        shade_absence(axes, run.params)
        axes.fill_between(shown, low, high, color=colour[agent], alpha=0.25, lw=0)
        axes.plot(shown, middle, color=colour[agent])
        axes.plot(shown, np.nanmedian(left[:, shown], axis=0), color=colour[agent], lw=0.9, ls=(0, (1, 1)))
        axes.axhline(energy.cap, color=INK, lw=0.8, ls=(0, (4, 2)))
        axes.set_title(agent, loc="left", pad=2, color=colour[agent], fontweight="bold")
        axes.grid(visible=False, axis="x")
    all_axes[0].set_ylim(0, energy.cap * 1.1)
    all_axes[0].set_yticks([0, energy.cap / 2, energy.cap])
    clock(
        all_axes[-1],
        run.params,
        "line: median at a heartbeat's start, band: 10-90 %",
        "dotted: median left at its end; dashed: cap",
        "grey: the user is away; a curve ends where",
        "nine of ten episodes have ended",
    )
    figure.supylabel("energy", fontsize=8)
    return figure


def intents_by_hour(run: RunData) -> Figure | None:
    """What energy is spent on at each hour of the day, a panel for each agent."""
    if not run.params.energy.enabled or not len(run.traces["heartbeat"]):
        return None
    agents = run.agents
    spent = {agent: _by_hour(select(run.traces, run.traces["agent"] == agent)) for agent in agents}
    rows = -(-len(agents) // COLUMNS)
    figure = new_figure(0.95 + 1.15 * rows)
    grid = figure.subplots(rows, COLUMNS, sharex=True, sharey=True, squeeze=False)
    colour = colours(agents)
    named = [name for i, name in enumerate(INTENTS) if any(table[i].any() for table in spent.values())]
    for axes, agent in zip(grid.flat, agents, strict=False):
        base = np.zeros(HOURS)
        for name in named:
            height = spent[agent][INTENTS.index(name)]
            axes.bar(np.arange(HOURS) + 0.5, height, width=1.0, bottom=base, color=INTENT_COLOURS[name], lw=0)
            base = base + height
        for hour in range(HOURS):
            if not _present(run.params, hour):
                axes.axvspan(hour, hour + 1, color=AWAY, lw=0, zorder=0)
        axes.axhline(run.params.energy.regeneration, color=INK, lw=0.8, ls=(0, (4, 2)))
        axes.set_title(agent, loc="left", pad=2, color=colour[agent], fontweight="bold")
        if not base.any():
            axes.text(0.5, 0.2, "spends nothing", transform=axes.transAxes, ha="center", color=GREY)
        axes.grid(visible=False, axis="x")
    grid[0, 0].set_xlim(0, HOURS)
    grid[0, 0].set_xticks([0, 6, 12, 18, 24], ["00", "06", "12", "18", "24"])
    for axes in grid.flat[len(agents) :]:
        axes.set_visible(False)
    if len(agents) % COLUMNS and rows > 1:
        grid[-2, -1].tick_params(labelbottom=True)
    figure.supxlabel("hour of the day\ngrey: the user is away; dashed: income", fontsize=8)
    figure.supylabel("energy spent in an hour (mean)", fontsize=8)
    handles = [Patch(color=INTENT_COLOURS[name], lw=0, label=name) for name in named]
    figure.legend(handles=handles, loc=legend_place(run, "center"), ncols=2, columnspacing=1.2)
    return figure


def _by_hour(traces: Columns) -> NDArray[np.float64]:
    """Return the mean energy spent at each hour by intent, shape ``(I, 24)``; 0 for hours with few heartbeats."""
    intent_of = np.array([INTENTS.index(spec.intent) for spec in VERBS.values()])
    taken = traces["step"] > 0
    hour, intent = traces["hour"][taken], intent_of[traces["verb"][taken]]
    total = np.zeros((len(INTENTS), HOURS))
    np.add.at(total, (intent, hour), traces["energy_spent"][taken])
    heartbeats = np.bincount(traces["hour"][opening(traces)], minlength=HOURS)
    enough = heartbeats >= FEW * (traces["step"] == 0).sum()
    mean: NDArray[np.float64] = np.where(enough, total / np.maximum(1, heartbeats), 0.0)
    return mean
