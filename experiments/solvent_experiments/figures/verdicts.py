"""The gate's verdicts on findings: during training, by agent, and by distance from the thresholds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator
from numpy.typing import NDArray

from solvent.lab.codes import VERDICTS
from solvent_experiments.artifacts.parquet import Columns, select
from solvent_experiments.figures.data import RunData
from solvent_experiments.figures.style import GREY, INK, PALETTE, colours, legend_place, new_figure
from solvent_experiments.figures.training import DRAWS, LINE, add_notes, seeds_of, step_axis, stretches
from solvent_experiments.measure.statistics import Interval, mean_interval, share_interval
from solvent_experiments.measure.summary import groups_of

__all__ = [
    "PERCENT",
    "VERDICT_COLOURS",
    "VERDICT_NAMES",
    "draw_curve",
    "finding_energies",
    "verdict_curve",
    "verdicts",
]

VERDICT_COLOURS = dict(zip(VERDICTS, (PALETTE[2], PALETTE[4], PALETTE[1]), strict=True))
VERDICT_NAMES = dict(zip(VERDICTS, ("accepted", "sent to review", "rejected"), strict=True))
OF_VERDICTS = tuple(f"verdicts_{name}" for name in VERDICTS)
COUNTED = {"findings": "find-\nings", "incidents": "inci-\ndents", "tightenings": "tight-\nened"}
"""Counts per episode and their headings."""
PERCENT = ([0.0, 0.5, 1.0], ["0", "50", "100 %"])
"""Ticks of an axis of shares."""
BAR = 0.68
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
    training = run.training
    if not run.params.gate.enabled or training is None or not len(training["steps"]):
        return None
    learned = [agent for agent in run.learned if (training["agent"] == agent).any()]
    figure = new_figure(0.95 + 2.3 * len(learned) + LINE * len(learned))
    all_axes = figure.subplots(
        2 * len(learned), 1, sharex=True, squeeze=False, height_ratios=[3, 2] * len(learned)
    )[:, 0]
    for agent, shares, incidents in zip(learned, all_axes[::2], all_axes[1::2], strict=True):
        mine = _counted(select(training, training["agent"] == agent))
        _draw_shares(shares, mine)
        _draw_incidents(incidents, mine)
        if len(learned) > 1:
            shares.set_title(agent, loc="left")
    step_axis(all_axes[-1], run)
    figure.align_ylabels(all_axes)
    notes = ["incident: a finding came out that is wrong", "thick: all seeds, band: 95 %, thin: a seed"]
    add_notes(all_axes[-1], [*notes, *(f"{a}: {seeds_of(run, a)}" for a in learned)])
    handles = [Line2D([], [], color=VERDICT_COLOURS[name], label=VERDICT_NAMES[name]) for name in VERDICTS]
    figure.legend(handles=handles, loc=legend_place(run, "center"), ncols=3, columnspacing=1.0)
    return figure


def _draw_shares(axes: Axes, training: Columns) -> None:
    for name, colour in VERDICT_COLOURS.items():
        draw_curve(axes, training, f"verdicts_{name}", "findings", colour)
    axes.set_ylim(0, 1)
    axes.set_yticks(*PERCENT)
    axes.set_ylabel("share of findings")


def _draw_incidents(axes: Axes, training: Columns) -> None:
    draw_curve(axes, training, "incidents", None, INK)
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_locator(MaxNLocator(3, steps=[1, 2, 5, 10]))
    axes.set_ylabel("incidents\nper episode")


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
    steps = [s.steps for s in found]
    axes.fill_between(
        steps, [p.low for p in points], [p.high for p in points], color=colour, alpha=0.25, lw=0
    )
    axes.plot(steps, [p.value for p in points], color=colour, lw=1.6)


def verdicts(run: RunData) -> Figure | None:
    """Shares of the findings by verdict, and what is counted an episode, a row for each agent."""
    if not run.params.gate.enabled:
        return None
    episodes, agents = _counted(run.episodes), run.agents[::-1]
    figure = new_figure(1.35 + 0.24 * len(agents))
    grid: Any = figure.subplots(1, 1 + len(COUNTED), sharey=True, width_ratios=[2.1, 1, 1, 1])
    _draw_bars(grid[0], episodes, agents)
    colour = colours(run.agents)
    for axes, (name, heading) in zip(grid[1:], COUNTED.items(), strict=True):
        points = [mean_interval(groups_of(episodes, agent, name)) for agent in agents]
        _draw_points(axes, points, [colour[agent] for agent in agents])
        axes.set_title(heading, pad=3)
    grid[0].set_title("share of\nfindings", pad=3)
    grid[0].set_xlabel("line: 95 %\nof the accepted")
    grid[2].set_xlabel("an episode: mean\nand 95 % interval")
    figure.legend(handles=_legend(), loc=legend_place(run, "center"), ncols=3, columnspacing=1.0)
    return figure


def _legend() -> list[Patch]:
    return [Patch(color=VERDICT_COLOURS[name], lw=0, label=VERDICT_NAMES[name]) for name in VERDICTS]


def _draw_bars(axes: Axes, episodes: Columns, agents: Sequence[str]) -> None:
    for place, agent in enumerate(agents):
        mine = {name: groups_of(episodes, agent, name) for name in (*OF_VERDICTS, "findings")}
        counts = [float(sum(map(np.sum, mine[name]))) for name in OF_VERDICTS]
        if not sum(counts):
            axes.text(0.5, place, "none", ha="center", va="center", color=GREY)
        ends = np.cumsum([0.0, *counts]) / max(1.0, sum(counts))
        for start, end, colour in zip(ends, ends[1:], VERDICT_COLOURS.values(), strict=False):
            axes.barh(place, end - start, BAR, start, color=colour, ec="white", lw=0.5)
        accepted = share_interval(mine[OF_VERDICTS[0]], mine["findings"])
        axes.plot([accepted.low, accepted.high], [place] * 2, color=INK, lw=1.2, solid_capstyle="butt")
    axes.set_yticks(range(len(agents)), agents)
    axes.tick_params(axis="y", length=0)
    axes.set_xlim(0, 1)
    axes.set_xticks(*PERCENT)
    axes.grid(visible=False, axis="y")


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
    findings = _in_force(run.findings, limits)
    agents = [agent for agent in run.agents if (findings["agent"] == agent).any()]
    figure = new_figure(1.45 + ROW_HEIGHT * len(agents))
    all_axes = figure.subplots(len(agents), 1, sharex=True, squeeze=False)[:, 0]
    colour = colours(run.agents)
    ends = {round(review / max(accept, TINY), 3) for accept, review in limits.values()}
    edges = _edges(max(HIGHEST, float(findings["ratio"].max())), min(ends))
    for axes, agent in zip(all_axes, agents, strict=True):
        mine = select(findings, findings["agent"] == agent)
        parts = [mine["ratio"][mine["verdict"] == name] for name in VERDICTS]
        axes.hist(parts, bins=edges.tolist(), stacked=True, color=list(VERDICT_COLOURS.values()), lw=0)
        for place in (1.0, *ends):
            axes.axvline(place, color=INK, lw=0.8, ls="-" if place == 1.0 else (0, (4, 2)))
        axes.set_title(agent, loc="left", pad=2, color=colour[agent], fontweight="bold")
        axes.set_title(f"{len(mine['verdict']):,} findings", loc="right", pad=2, color=GREY)
        axes.yaxis.set_major_locator(MaxNLocator(2, integer=True))
        axes.grid(visible=False)
    _name_ratios(all_axes[-1], edges)
    figure.supylabel("logged findings", fontsize=8)
    figure.legend(handles=_legend(), loc=legend_place(run, "center"), ncols=3, columnspacing=1.0)
    return figure


def _in_force(findings: Columns, limits: Mapping[str, Sequence[float]]) -> Columns:
    """Return the findings with ``ratio``: energy over the acceptance threshold in force, at least ``LOWEST``."""
    accepts = np.array([max(TINY, limits[name][0]) for name in findings["policy_applied"]])
    return {**findings, "ratio": np.maximum(findings["hallucination_energy"] / accepts, LOWEST)}


def _edges(highest: float, review: float) -> NDArray[np.float64]:
    """Return bin edges, shape ``(bars + 1,)``: equal widths on a log axis, with an edge at each threshold."""
    step = max(review, 1.01) ** (1 / FINE)
    below, above = (int(np.ceil(np.log(ends) / np.log(step))) for ends in (1 / LOWEST, highest))
    edges: NDArray[np.float64] = step ** np.arange(-below, above + 2.0)
    return edges


def _name_ratios(axes: Axes, edges: NDArray[np.float64]) -> None:
    axes.set_xscale("log")
    axes.set_xlim(edges[0], edges[-1])
    axes.xaxis.set_major_locator(LogLocator(base=2))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda ratio, _: f"{ratio:g}"))
    axes.set_xlabel(
        "hallucination energy / threshold in force\nline: accepted up to here\ndashed: sent to review up to here"
    )
