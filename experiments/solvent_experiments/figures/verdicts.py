"""The gate's verdicts on findings: during training, by agent, and by distance from the thresholds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator
from numpy.typing import NDArray

from solvent.lab.codes import VERDICTS
from solvent_experiments.artifacts.parquet import Columns, select
from solvent_experiments.figures.data import RunData
from solvent_experiments.figures.frame import PERCENT, band, colour_key, missing, panels, share_bars
from solvent_experiments.figures.style import DASHED, GREY, INK, LAVENDER, OCHRE, TEAL, colour_of, new_figure
from solvent_experiments.figures.training import (
    DRAWS,
    learners,
    panels_of_learners,
    seeds_of,
    step_axis,
    stretches,
)
from solvent_experiments.measure.statistics import Interval, mean_interval, share_interval
from solvent_experiments.measure.summary import groups_of

__all__ = [
    "CURVES",
    "VERDICT_COLOURS",
    "VERDICT_KEY",
    "draw_curve",
    "finding_energies",
    "verdict_curve",
    "verdicts",
]

VERDICT_COLOURS = dict(zip(VERDICTS, (TEAL, LAVENDER, OCHRE), strict=True))
VERDICT_KEY = dict(zip(("accepted", "sent to review", "rejected"), VERDICT_COLOURS.values(), strict=True))
CURVES = "thick: all seeds, band: 95 %, thin: a seed"
OF_VERDICTS = tuple(f"verdicts_{name}" for name in VERDICTS)
COUNTED = {"findings": "find-\nings", "incidents": "inci-\ndents", "tightenings": "tight-\nened"}
"""Counts per episode and their headings."""
LOWEST, HIGHEST = 0.125, 4.0  # range of energy / threshold on the axis; it extends to higher values
FINE = 3  # bars between the thresholds for acceptance and review
TINY = 1e-6  # least divisor
ROW_HEIGHT = 0.56


def _counted(columns: Columns) -> Columns:
    """Return the columns with the numbers of judged findings and of incidents."""
    findings = np.sum([columns[name] for name in OF_VERDICTS], axis=0)
    incidents = columns["incidents_high"] + columns["incidents_low"]
    return {**columns, "findings": findings, "incidents": incidents}


def verdict_curve(run: RunData) -> Figure | None:
    """Shares of the findings by verdict, and incidents an episode, against training steps: mean and 95 % band."""
    learnt = learners(run)
    if not run.params.gate.enabled or not learnt:
        return None
    figure, rows = panels_of_learners(learnt, 0.95, 2.3, rows=(3, 2))
    for (shares, incidents), training in zip(rows, learnt.values(), strict=True):
        mine = _counted(training)
        for name, colour in VERDICT_COLOURS.items():
            draw_curve(shares, mine, f"verdicts_{name}", "findings", colour)
        shares.set_ylim(0, 1)
        shares.set_yticks(*PERCENT)
        shares.set_ylabel("share of findings")
        draw_curve(incidents, mine, "incidents", None, INK)
        incidents.set_ylim(bottom=0)
        incidents.yaxis.set_major_locator(MaxNLocator(3, steps=[1, 2, 5, 10]))
        incidents.set_ylabel("incidents\nper episode")
    seeds = [f"{agent}: {seeds_of(run, agent)}" for agent in learnt]
    step_axis(incidents, run, "incident: a published finding is wrong", CURVES, *seeds)
    handles = [Line2D([], [], color=colour, label=name) for name, colour in VERDICT_KEY.items()]
    figure.legend(handles=handles, loc="outside upper center", ncols=3, columnspacing=1.0)
    return figure


def draw_curve(axes: Axes, training: Columns, name: str, whole: str | None, colour: str) -> None:
    """Draw a count per episode, or its share of ``whole``, with a band over all seeds and a line for each."""
    ones = np.ones_like(training[name])
    below = ones if whole is None else training[whole]
    for seed in np.unique(training["training_seed"]):
        mine = training["training_seed"] == seed
        steps, values = [], []
        for stretch in stretches(select(training, mine)):
            (rows,) = stretch.rows
            total = below[mine][rows].sum()
            steps.append(stretch.steps)
            values.append(training[name][mine][rows].sum() / total if total else np.nan)
        axes.plot(steps, values, color=colour, lw=0.5, alpha=0.6)
    found = stretches(training)
    points = [
        share_interval([training[name][r] for r in s.rows], [below[r] for r in s.rows], DRAWS) for s in found
    ]
    band(axes, [s.steps for s in found], points, colour, lw=1.6)


def verdicts(run: RunData) -> Figure | None:
    """Shares of the findings by verdict, and what is counted an episode, a row for each agent."""
    if not run.params.gate.enabled:
        return None
    episodes, agents = _counted(run.episodes), run.agents[::-1]
    figure = new_figure(1.35 + 0.24 * len(agents))
    grid: Any = figure.subplots(1, 1 + len(COUNTED), sharey=True, width_ratios=[2.1, 1, 1, 1])
    columns = dict(zip(OF_VERDICTS, VERDICT_COLOURS.values(), strict=True))
    share_bars(grid[0], episodes, agents, columns, _accepted)
    for axes, (name, heading) in zip(grid[1:], COUNTED.items(), strict=True):
        points = [mean_interval(groups_of(episodes, agent, name)) for agent in agents]
        _draw_points(axes, points, [colour_of(agent) for agent in agents])
        axes.set_title(heading, pad=3)
    grid[0].set_title("share of\nfindings", pad=3)
    grid[0].set_xlabel("line: 95 %\nof the accepted")
    grid[2].set_xlabel("mean per episode\nand 95 % interval")
    colour_key(figure, VERDICT_KEY, 3)
    return figure


def _accepted(counts: Mapping[str, Any]) -> tuple[float, float]:
    findings = [np.sum(seed, axis=0) for seed in zip(*counts.values(), strict=True)]
    _, low, high = share_interval(counts[OF_VERDICTS[0]], findings)
    return low, high


def _draw_points(axes: Axes, points: Sequence[Interval], colour: Sequence[str]) -> None:
    for place, (point, of) in enumerate(zip(points, colour, strict=True)):
        axes.plot([point.low, point.high], [place] * 2, color=of, lw=3, alpha=0.45, solid_capstyle="butt")
        axes.plot(point.value, place, "o", ms=3.5, color=of, clip_on=False, zorder=3)
    axes.set_xlim(0, max(0.1, *(point.high for point in points)) * 1.12)
    axes.xaxis.set_major_locator(MaxNLocator(2, steps=[1, 2, 5, 10]))
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")


def finding_energies(run: RunData) -> Figure | None:
    """Energies of the logged findings over the threshold in force, by verdict, a row for each agent."""
    if run.gate is None or run.findings is None or not len(run.findings["verdict"]):
        return None
    limits = run.gate["thresholds"]
    judged = "energy_gap" if run.params.gate.by_gap else "hallucination_energy"
    findings = _in_force(run.findings, judged, limits)
    agents = [agent for agent in run.agents if (findings["agent"] == agent).any()]
    figure, drawn = panels(agents, 1.45, ROW_HEIGHT)
    ends = {round(review / max(accept, TINY), 3) for accept, review in limits.values()}
    edges = _edges(max(HIGHEST, float(findings["ratio"].max())), min(ends))
    for agent, axes, _ in drawn:
        mine = select(findings, findings["agent"] == agent)
        parts = [mine["ratio"][mine["verdict"] == name] for name in VERDICTS]
        own = list(VERDICT_COLOURS.values())
        axes.hist(parts, edges.tolist(), stacked=True, color=own, lw=0)
        for place in (1.0, *ends):
            axes.axvline(place, color=INK, lw=0.8, ls="-" if place == 1.0 else DASHED)
        axes.set_title(f"{len(mine['verdict']):,} findings", loc="right", pad=2, color=GREY)
        axes.yaxis.set_major_locator(MaxNLocator(2, integer=True))
        axes.grid(visible=False)
    _name_ratios(axes, edges, missing(run.agents, agents, "no finding"))
    figure.supylabel("logged findings", fontsize=8)
    colour_key(figure, VERDICT_KEY, 3)
    return figure


def _in_force(findings: Columns, judged: str, limits: Mapping[str, Sequence[float]]) -> Columns:
    """Return the findings with ``ratio``: the energy judged over the threshold in force, at least ``LOWEST``."""
    accepts = np.array([max(TINY, limits[name][0]) for name in findings["policy_applied"]])
    return {**findings, "ratio": np.maximum(findings[judged] / accepts, LOWEST)}


def _edges(highest: float, review: float) -> NDArray[np.float64]:
    """Return bin edges, shape ``(bars + 1,)``: equal widths on a log axis, with an edge at each threshold."""
    step = max(review, 1.01) ** (1 / FINE)
    below, above = (int(np.ceil(np.log(ends) / np.log(step))) for ends in (1 / LOWEST, highest))
    edges: NDArray[np.float64] = step ** np.arange(-below, above + 2.0)
    return edges


def _name_ratios(axes: Axes, edges: NDArray[np.float64], note: str) -> None:
    axes.set_xscale("log")
    axes.set_xlim(edges[0], edges[-1])
    axes.xaxis.set_major_locator(LogLocator(base=2))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda ratio, _: f"{ratio:g}"))
    axes.set_xlabel(
        "hallucination energy / threshold in force\nline: accepted up to here\ndashed: sent to review up to here"
        + note
    )
