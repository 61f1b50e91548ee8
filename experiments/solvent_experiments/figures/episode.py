"""An evaluation episode over its heartbeats: refusals, debt, wells and accepted bits of every agent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from solvent_experiments.figures.data import RunData, starts_of
from solvent_experiments.figures.frame import LABEL, key, level_line, names_at_right, over_heartbeats, stacked
from solvent_experiments.figures.style import BY_DEBT, OTHERWISE, new_figure
from solvent_experiments.folder import Columns

RARE = 0.005
"""Refusals per episode below which an agent counts as never refused."""


def _refused_so_far(traces: Columns) -> NDArray[np.float64]:
    """Return how many actions of its episode debt had refused up to each traced one."""
    refusals = np.cumsum(traces["caused_by_debt"])
    starts = starts_of(traces)
    before = refusals[starts][np.cumsum(np.isin(np.arange(len(refusals)), starts)) - 1]
    so_far: NDArray[np.float64] = (refusals - before).astype(np.float64)
    return so_far


PANELS: Mapping[str, Callable[[Columns], NDArray[Any]]] = {
    "refused so far because of debt": _refused_so_far,
    "debt (bits); dashed: threshold": lambda of: of["debt"],
    "wells left": lambda of: of["wells"],
    "accepted bits minus debt": lambda of: of["published_bits"] - of["debt"],
}


def episode(run: RunData) -> Figure | None:
    """Draw refusals, debt, wells and accepted bits over an episode, and below the refusals by cause."""
    if not len(run.traces["heartbeat"]):
        return None
    rows = {row.agent: row for row in run.rows}
    refused = [agent for agent in run.agents if rows[agent].mean("refusals") > RARE]
    inches, bars = max(1.2, 1.1 * LABEL * len(run.agents)), 0.2 + 0.2 * len(refused)
    figure = new_figure(1.9 + 4 * inches + bars)
    *panels, causes = figure.subplots(5, 1, height_ratios=[inches] * 4 + [bars])
    traces = {agent: run.traces_of(agent) for agent in run.agents}
    for axes, (title, of) in zip(panels, PANELS.items(), strict=True):
        ends = over_heartbeats(axes, run, {agent: of(columns) for agent, columns in traces.items()})
        low, high = axes.get_ylim()
        axes.set_ylim(min(0.0, low), max(high, 1.0))
        axes.yaxis.set_major_locator(MaxNLocator(4))
        names_at_right(axes, ends, inches)
        axes.set_title(title)
    level_line(panels[1], run.lab.debt.threshold)
    panels[-1].set_xlabel("heartbeat")
    by_debt = [rows[agent].mean("refusals_by_debt") for agent in refused]
    otherwise = [rows[agent].mean("refusals") - part for agent, part in zip(refused, by_debt, strict=True)]
    stacked(causes, refused, {BY_DEBT[1]: by_debt, OTHERWISE[1]: otherwise}, shares=False)
    others = "; the others: none" if len(refused) < len(run.agents) else ""
    causes.set_title(f"refusals per episode by cause{others}")
    key(figure, dict((BY_DEBT, OTHERWISE)))
    return figure
