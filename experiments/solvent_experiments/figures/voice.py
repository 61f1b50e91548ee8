"""Deferrals and the effect of proposals on prices over an episode."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator
from numpy.typing import NDArray

from solvent.lab.codes import Deferral, Obstacle
from solvent.lab.settings import UNIT
from solvent_agents.rollout import traced_prices
from solvent_experiments.artifacts.parquet import Columns
from solvent_experiments.figures.data import RunData
from solvent_experiments.figures.energy import FEW, clock, opening, shade_absence
from solvent_experiments.figures.frame import colour_key, held, level_line, missing, panels, stack
from solvent_experiments.figures.style import DOTTED, GREY, LAVENDER, OCHRE, ROSE, TEAL, spread

__all__ = ["deferrals", "prices"]

ROW_HEIGHT = 0.78
LEAST = 0.1  # least upper limit of the axis, in actions an hour, so that a rare event stays small
PRICE_HEIGHT = 1.3
FAIR = 1.05  # a price within this factor of the fair one is fair
LOWEST, HIGHEST = 0.4, 2.5  # least range of price / fair price on the axis
LABEL_HEIGHT = 0.16  # of the axis: a line of text


class _Kind(NamedTuple):
    """Name and style of a group of deferred actions or of priced verbs."""

    name: str
    colour: str
    line: Any = "-"


FELT = _Kind("short of energy, worth it", OCHRE)
DEFERRED = _Kind("short of energy, other", ROSE)
AWAY = _Kind("user away", TEAL)
HOARDED = _Kind("hoarded", LAVENDER)

DEAR_ARGUED = _Kind("too dear, argued about", OCHRE)
DEAR = _Kind("too dear, not argued about", GREY, DOTTED)
FAIR_ARGUED = _Kind("fair, argued about", LAVENDER)
CHEAP = _Kind("too cheap", TEAL, DOTTED)
KINDS = (DEAR_ARGUED, FAIR_ARGUED, DEAR, CHEAP)


def deferrals(run: RunData) -> Figure | None:
    """Actions a heartbeat that came to nothing for want of energy or of the user, and hoarding, by agent."""
    if not run.params.energy.enabled or not len(run.traces["heartbeat"]):
        return None
    heartbeats = run.params.budget.heartbeats
    figure, drawn = panels(run.agents, 1.1, ROW_HEIGHT)
    for agent, axes, _ in drawn:
        counts = _put_off(run.traces_of(agent), heartbeats)
        shade_absence(axes, run.params, run.params.budget.start_hour, heartbeats)
        total = stack(axes, {kind.colour: height for kind, height in counts.items()})
        axes.set_ylim(0, max(LEAST, float(total.max()) * 1.08))
        axes.yaxis.set_major_locator(MaxNLocator(2))
        axes.grid(visible=False, axis="x")
        if not total.any():
            axes.set_yticks([0])
            axes.text(0.2, 0.4, "none", transform=axes.transAxes, ha="center", color=GREY)
    clock(axes, run.params, "grey: the user is away; scales differ")
    figure.supylabel("actions in an hour (mean)", fontsize=8)
    colour_key(figure, {kind.name: kind.colour for kind in (FELT, DEFERRED, AWAY, HOARDED)}, 2)
    return figure


def _put_off(traces: Columns, heartbeats: int) -> dict[_Kind, NDArray[np.float64]]:
    """Return mean counts per heartbeat over the running episodes, shape ``(heartbeats,)`` per kind."""
    taken = traces["step"] > 0
    beat = traces["heartbeat"] - traces["closed"]
    running = np.bincount(beat[opening(traces)], minlength=heartbeats)
    enough = running >= max(1.0, FEW * (traces["step"] == 0).sum())

    def mean(rows: NDArray[np.bool_]) -> NDArray[np.float64]:
        counts = np.bincount(beat[rows & taken], minlength=heartbeats)
        each: NDArray[np.float64] = np.where(enough, counts / np.maximum(1, running), 0.0)
        return each

    short = traces["obstacle"] == int(Obstacle.INSUFFICIENT_ENERGY)
    felt = traces["discomfort"] == int(Deferral.INSUFFICIENT_ENERGY)
    return {
        FELT: mean(felt),
        DEFERRED: mean(short & ~felt),
        AWAY: mean(traces["obstacle"] == int(Obstacle.CONTEXT_NOT_ALLOWED)),
        HOARDED: mean(traces["discomfort"] == int(Deferral.HOARDING)),
    }


def prices(run: RunData) -> Figure | None:
    """Price relative to the hidden fair one over an episode, of verbs that were argued about and of others.

    One panel for each agent that files proposals; if none does, one for the best agent.
    """
    if not run.params.proposals.enabled or not traced_prices(run.params) or not len(run.traces["heartbeat"]):
        return None
    voices = [agent for agent in run.agents if (run.traces_of(agent)["proposed_verb"] >= 0).any()]
    shown = voices or [run.rows[0].agent]
    figure, panel = panels(shown, 1.5, PRICE_HEIGHT, sharey=True)
    ratios = {agent: _ratios(run, agent) for agent in shown}
    drawn = [kind for kind in KINDS if any(len(groups[kind]) for groups in ratios.values())]
    grids = [grid for groups in ratios.values() for grid in groups.values() if len(grid)]
    low = min([LOWEST, *(float(grid.min()) for grid in grids)])
    high = max([HIGHEST, *(float(grid.max()) for grid in grids)])
    for agent, axes, _ in panel:
        axes.set_yscale("log")
        axes.set_ylim(low * 0.9, high * 1.1)
        level_line(axes, 1.0)
        _draw_ratios(axes, ratios[agent])
        axes.set_title(_told(run, agent), loc="right", pad=2, color=GREY)
    axes.yaxis.set_major_locator(LogLocator(base=2))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda ratio, _: f"{ratio:g}"))
    notes = ("line: geometric mean, band: 10-90 %; dashed: fair", "right: number of prices averaged")
    clock(axes, run.params, *notes, *missing(run.agents, shown, "no proposal").splitlines()[1:])
    figure.supylabel("price / fair price", fontsize=8)
    handles = [Line2D([], [], color=kind.colour, ls=kind.line) for kind in drawn]
    figure.legend(handles, [kind.name for kind in drawn], loc="outside upper left", ncols=1)
    return figure


def _draw_ratios(axes: Axes, ratios: dict[_Kind, NDArray[np.float64]]) -> None:
    ends: list[tuple[float, int, str]] = []
    for kind, grid in ratios.items():
        if not len(grid):
            continue
        heartbeats = np.arange(grid.shape[1])
        if kind.line == "-":
            low, high = np.percentile(grid, (10, 90), axis=0)
            axes.fill_between(heartbeats, low, high, color=kind.colour, alpha=0.2, lw=0)
        mean = np.exp(np.log(grid).mean(axis=0))
        axes.plot(heartbeats, mean, color=kind.colour, ls=kind.line)
        ends.append((float(mean[-1]), len(grid), kind.colour))
    _count(axes, sorted(ends))


def _count(axes: Axes, ends: list[tuple[float, int, str]]) -> None:
    """Write the number of prices behind each line at the right edge, apart from each other."""
    low, high = axes.get_ylim()
    heights = [float(np.log(value / low) / np.log(high / low)) for value, _, _ in ends]
    for place, (_, count, colour) in zip(spread(heights, LABEL_HEIGHT), ends, strict=True):
        axes.text(1.02, place, f"{count}", transform=axes.transAxes, va="center", color=colour)


def _told(run: RunData, agent: str) -> str:
    """Return the mean numbers of filed and approved proposals per evaluation episode."""
    mine = run.episodes["agent"] == agent
    filed, approved = (float(run.episodes[name][mine].mean()) for name in ("proposals", "approvals"))
    return f"{filed:.2f} filed, {approved:.2f} approved"


def _ratios(run: RunData, agent: str) -> dict[_Kind, NDArray[np.float64]]:
    """Return price over fair price, a row per verb and episode, shape ``(rows, heartbeats + 1)`` per kind."""
    traces, heartbeats = run.traces_of(agent), run.params.budget.heartbeats
    episode = np.cumsum(traces["step"] == 0) - 1
    found: dict[_Kind, list[NDArray[np.float64]]] = {DEAR: [], CHEAP: [], FAIR_ARGUED: [], DEAR_ARGUED: []}
    for name, verb in traced_prices(run.params).items():
        price, fair = (held(traces, f"{kind}_{name}", heartbeats) for kind in ("price", "fair"))
        ratio = np.maximum(price, 1 / UNIT) / np.maximum(fair, 1 / UNIT)
        argued = np.isin(np.arange(len(ratio)), episode[traces["proposed_verb"] == verb])
        dear, cheap = ratio[:, 0] > FAIR, ratio[:, 0] < 1 / FAIR
        found[DEAR_ARGUED].append(ratio[dear & argued])
        found[DEAR].append(ratio[dear & ~argued])
        found[CHEAP].append(ratio[cheap])
        found[FAIR_ARGUED].append(ratio[~dear & ~cheap & argued])
    return {kind: np.concatenate(rows) for kind, rows in found.items()}
