"""The gate's policies: the one in force over an episode, and the verdicts of each on each kind of claim."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from numpy.typing import NDArray

from solvent.lab.mechanisms.governance import family_of
from solvent_experiments.artifacts.parquet import Columns
from solvent_experiments.figures.data import RunData
from solvent_experiments.figures.frame import PERCENT, colour_key, held, panels, stack
from solvent_experiments.figures.style import GREY, new_figure
from solvent_experiments.figures.verdicts import VERDICT_COLOURS, VERDICT_KEY

__all__ = ["lab_domain", "strictness"]

PANEL_HEIGHT = 0.92
LEVEL_COLOURS = ("#E3E3E3", "#B5E6E0", "#10B8A8", "#0B7A70", "#063F3A")
"""Laxest policy first; darker is stricter, also in greyscale."""
PANELS = {"held_out": "with the numbers check", "held_out_by_residual_alone": "by energy alone"}
KINDS = {
    "right": "right: as its page has it",
    "premature": "premature: stronger than its fit",
    "wrong": "wrong: of another class",
    "off_compound": "off compound: of another one",
}
KIND_HEIGHT = 0.98


def strictness(run: RunData) -> Figure | None:
    """Share of the traced episodes under each policy, heartbeat by heartbeat, a panel for each agent."""
    if not run.params.gate.enabled or not len(run.traces["heartbeat"]):
        return None
    agents, heartbeats = run.agents, run.params.budget.heartbeats
    shares = {agent: _in_force(run.traces_of(agent), heartbeats) for agent in agents}
    shown = [i for i in range(len(LEVEL_COLOURS)) if any(of[i].any() for of in shares.values())]
    figure, drawn = panels(agents, 0.95, PANEL_HEIGHT, columns=2, sharey=True)
    for agent, axes, _ in drawn:
        running = stack(axes, {LEVEL_COLOURS[level]: shares[agent][level] for level in shown})
        axes.stairs(running, color=GREY, lw=0.6)
        axes.grid(visible=False)
    axes.set_xlim(0, heartbeats)
    axes.set_ylim(0, 1)
    axes.set_yticks(*PERCENT)
    figure.supxlabel("heartbeat (hours); darker: stricter, white: ended", fontsize=8)
    figure.supylabel("traced episodes", fontsize=8)
    policies = family_of(run.params.gate.policy)
    start = policies.index(run.params.gate.policy)
    names = [f"{policies[i].rpartition('.')[2]}{' (start)' if i == start else ''}" for i in shown]
    handles = [
        Patch(fc=LEVEL_COLOURS[i], ec=GREY, lw=0.4, label=name) for i, name in zip(shown, names, strict=True)
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=min(4, len(shown)), columnspacing=1.0)
    return figure


def _in_force(traces: Columns, heartbeats: int) -> NDArray[np.float64]:
    """Return the share of episodes under each policy at each heartbeat, shape ``(levels, heartbeats)``."""
    levels = held(traces, "strictness", heartbeats)[:, :heartbeats]
    starts = np.flatnonzero(traces.get("step", traces["heartbeat"]) == 0)
    lasts = traces["heartbeat"][np.append(starts[1:], len(traces["heartbeat"])) - 1]
    running = np.arange(heartbeats) < lasts[:, None]
    return np.array([(running & (levels == level)).mean(axis=0) for level in range(len(LEVEL_COLOURS))])


def lab_domain(run: RunData) -> Figure | None:
    """Draw the verdicts of each policy on each kind of held-out claim, with the numbers check and without."""
    report = None if run.gate is None else run.gate["domain"]
    if report is None:
        return None
    policies = list(report["thresholds"])
    kinds = [kind for kind in KINDS if kind in report["held_out"][policies[0]]]
    figure = new_figure(0.95 + KIND_HEIGHT * len(kinds))
    grid = figure.subplots(len(kinds), len(PANELS), sharex=True, sharey=True, squeeze=False)
    places = np.arange(len(policies))[::-1]
    for column, part in enumerate(PANELS):
        for axes, kind in zip(grid[:, column], kinds, strict=True):
            shares = [report[part][name][kind] for name in policies]
            base = np.zeros(len(policies))
            for verdict, colour in VERDICT_COLOURS.items():
                width = np.array([share[verdict] for share in shares])
                axes.barh(places, width, 0.78, base, color=colour, ec="white", lw=0.4)
                base += width
            axes.grid(visible=False)
            axes.tick_params(axis="y", length=0)
    _name_domain(grid, kinds, policies, places)
    figure.supxlabel("share of the claims about held-out pages", fontsize=8)
    colour_key(figure, VERDICT_KEY, 3)
    return figure


def _name_domain(grid: NDArray[Any], kinds: list[str], policies: list[str], places: NDArray[Any]) -> None:
    for axes, kind in zip(grid[:, 0], kinds, strict=True):
        axes.set_title(KINDS[kind], loc="left", pad=2, fontweight="bold")
    for axes, meaning in zip(grid[0], PANELS.values(), strict=True):
        above = {"xytext": (0, 17), "textcoords": "offset points", "annotation_clip": False}
        axes.annotate(meaning, (0.5, 1), xycoords="axes fraction", ha="center", va="bottom", **above)
    grid[0, 0].set_yticks(places, [name.split(".")[1] for name in policies])
    grid[0, 0].set_xlim(0, 1)
    grid[0, 0].set_xticks(*PERCENT)
