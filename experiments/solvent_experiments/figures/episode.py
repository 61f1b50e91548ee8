"""An evaluation episode, hour by hour: the budget, the debt and what was refused, by agent."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from solvent.lab.codes import REFUSAL_REASONS
from solvent_experiments.figures.data import RunData
from solvent_experiments.figures.frame import colour_key, held, level_line, percentile_band, stack
from solvent_experiments.figures.style import GREY, REASONS, colour_of, new_figure

__all__ = ["episode"]

ROW_HEIGHT = 0.62
LEAST = 0.1  # least upper limit of refusals an hour, so that a rare one stays small


def episode(run: RunData) -> Figure | None:
    """What is refused, hour by hour and by reason, beside the wells left and the debt, a row for each agent."""
    if not len(run.traces["heartbeat"]):
        return None
    horizon, threshold = run.params.budget.heartbeats, run.params.debt.threshold
    figure = new_figure(1.65 + ROW_HEIGHT * len(run.agents))
    grid = figure.subplots(len(run.agents), 3, sharex=True, sharey="col", squeeze=False)
    highest, most = threshold, LEAST
    for agent, (wells, debt, refused) in zip(run.agents, grid, strict=True):
        traces, colour = run.traces_of(agent), colour_of(agent)
        owed = held(traces, "debt", horizon)
        percentile_band(wells, range(horizon + 1), held(traces, "wells", horizon), colour)
        percentile_band(debt, range(horizon + 1), owed, colour)
        level_line(debt, threshold)
        highest = max(highest, float(np.percentile(owed, 90, axis=0).max()))
        total = stack(refused, {REASONS[reason][1]: often for reason, often in _refused(run, agent).items()})
        most = max(most, float(total.max()))
        wells.set_title(agent, loc="left", pad=2, color=colour, fontweight="bold")
        each = sum(
            run.episodes[f"refusals_{reason}"][run.episodes["agent"] == agent].mean()
            for reason in REFUSAL_REASONS
        )
        refused.set_title(f"{each:.1f}" if each else "none", loc="right", pad=2, color=GREY)
    wells, debt, refused = grid[-1]
    wells.set_ylim(0, run.params.budget.wells * 1.02)
    debt.set_ylim(0, min(highest, 3 * threshold if threshold > 0 else highest) * 1.08 + 1e-9)
    refused.set_ylim(0, most * 1.08)
    for axes, label in zip(grid[0], ("wells left", "debt (bits)", "refused an hour"), strict=True):
        axes.yaxis.set_major_locator(MaxNLocator(2, steps=[1, 2, 5, 10]))
        axes.set_xlim(0, horizon)
        above = {"xytext": (0, 14), "textcoords": "offset points", "annotation_clip": False}
        axes.annotate(label, (0.5, 1), xycoords="axes fraction", ha="center", va="bottom", **above)
    figure.supxlabel(
        "heartbeat (hours)\nline: median, band: 10-90 %; dashed: threshold\ngrey: refused in a whole episode, mean",
        fontsize=8,
    )
    colour_key(figure, {f"refused: {name}": colour for name, colour in REASONS.values()}, 1)
    return figure


def _refused(run: RunData, agent: str) -> dict[str, NDArray[np.float64]]:
    """Return by reason the mean refusals of an episode at each heartbeat, shape ``(heartbeats,)``."""
    traces = run.traces_of(agent)
    step = traces.get("step", traces["heartbeat"])
    beat = traces["heartbeat"] - traces.get("closed", 1)  # of the action; without slots each ends a heartbeat
    return {
        reason: np.bincount(beat[traces["refusal"] == code], minlength=run.params.budget.heartbeats)
        / (step == 0).sum()
        for code, reason in enumerate(REFUSAL_REASONS, 1)
    }
