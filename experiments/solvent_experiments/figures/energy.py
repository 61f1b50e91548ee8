"""Energy over an episode and over a day, and its uses, by agent."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from solvent import LabParams
from solvent.lab.mechanisms.energy import hour_of, within_hours
from solvent.lab.verbs import INTENTS, VERBS
from solvent_experiments.artifacts.parquet import Columns
from solvent_experiments.figures.data import RunData
from solvent_experiments.figures.frame import colour_key, level_line, panels, percentile_band, stack
from solvent_experiments.figures.style import DOTTED, GREY, LAVENDER, MINT, OCHRE, ROSE, TEAL

__all__ = ["FEW", "clock", "energy_curve", "intents_by_hour", "of_heartbeats", "opening", "shade_absence"]

ROW_HEIGHT = 0.78
AWAY = "#EBEBEB"
HOURS = 24
FEW = 0.1
"""Least share of the episodes that reach a heartbeat, for it to be drawn."""
INTENT_COLOURS = dict(zip(INTENTS, (LAVENDER, MINT, TEAL, OCHRE, ROSE), strict=True))


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


def shade_absence(axes: Axes, params: LabParams, first_hour: int, hours: int) -> None:
    """Shade the hours without the user on an axis that begins at ``first_hour``."""
    energy = params.energy
    for place in range(hours):
        if not within_hours(hour_of(first_hour, place), energy.present_from, energy.present_until):
            axes.axvspan(place, place + 1, color=AWAY, lw=0, zorder=0)


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
    figure, drawn = panels(run.agents, 0.85, ROW_HEIGHT, sharey=True)
    for agent, axes, colour in drawn:
        traces = run.traces_of(agent)
        before = traces["energy"] + traces["energy_spent"] - traces["energy_gained"]
        at_start = of_heartbeats(traces, before, opening(traces), heartbeats)
        # Keep a heartbeat's last action even if the episode ends before the heartbeat does.
        left = of_heartbeats(
            traces, traces["energy"] - traces["energy_gained"], traces["step"] > 0, heartbeats
        )
        shown = np.flatnonzero((~np.isnan(at_start)).mean(axis=0) >= FEW)
        shade_absence(axes, run.params, run.params.budget.start_hour, heartbeats)
        percentile_band(axes, shown, at_start[:, shown], colour)
        axes.plot(shown, np.nanmedian(left[:, shown], axis=0), color=colour, lw=0.9, ls=DOTTED)
        level_line(axes, energy.cap)
        axes.grid(visible=False, axis="x")
    axes.set_ylim(0, energy.cap * 1.1)
    axes.set_yticks([0, energy.cap / 2, energy.cap])
    clock(
        axes,
        run.params,
        "line: median at a heartbeat's start, band: 10-90 %",
        "dotted: median left at its end; dashed: cap",
        "grey: the user is away; a curve ends when",
        "nine of ten episodes have ended",
    )
    figure.supylabel("energy", fontsize=8)
    return figure


def intents_by_hour(run: RunData) -> Figure | None:
    """Energy spent at each hour of the day by intent, a panel for each agent."""
    if not run.params.energy.enabled or not len(run.traces["heartbeat"]):
        return None
    spent = {agent: _by_hour(run.traces_of(agent)) for agent in run.agents}
    named = {name: i for i, name in enumerate(INTENTS) if any(table[i].any() for table in spent.values())}
    figure, drawn = panels(run.agents, 0.95, 1.15, columns=2, sharey=True)
    for agent, axes, _ in drawn:
        total = stack(axes, {INTENT_COLOURS[name]: spent[agent][i] for name, i in named.items()})
        shade_absence(axes, run.params, 0, HOURS)
        level_line(axes, run.params.energy.regeneration)
        if not total.any():
            axes.text(0.5, 0.2, "spends nothing", transform=axes.transAxes, ha="center", color=GREY)
        axes.grid(visible=False, axis="x")
    axes.set_xlim(0, HOURS)
    axes.set_ylim(bottom=0)
    axes.set_xticks([0, 6, 12, 18, 24], ["00", "06", "12", "18", "24"])
    figure.supxlabel("hour of the day\ngrey: the user is away; dashed: income", fontsize=8)
    figure.supylabel("energy spent in an hour (mean)", fontsize=8)
    colour_key(figure, {name: INTENT_COLOURS[name] for name in named}, 2)
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
