"""Agents beside each other: returns, honesty against success, and claims against gains."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from solvent.lab.codes import Event
from solvent_experiments.figures.data import DRAWS, RunData
from solvent_experiments.figures.frame import LABEL, dots
from solvent_experiments.figures.style import DASHED, GREY, SIZE, colour_of, look_of, new_figure, signed
from solvent_experiments.folder import select
from solvent_experiments.statistics import mean_interval

FEW = 20
"""Experiments: fewer say nothing about the spread of their gains."""
FITS = 18
"""Letters of a name above a panel of claims; a longer name is smaller."""


def comparison(run: RunData) -> Figure:
    """Draw the mean returns, their difference from the honest script's on the same episodes, and what means hide: the
    distribution of returns.
    """
    names = [row.agent for row in run.rows]
    paired = {row.agent: row.interval("over_honest") for row in run.rows if "over_honest" in row.measured}
    bars, inches = 0.21 * len(names), max(1.8, LABEL * len(names))
    heights = [bars, *([0.21 * len(paired)] if paired else []), inches]
    figure = new_figure(1.0 + 0.3 * len(heights) + sum(heights))
    means, *between, shares = figure.subplots(len(heights), 1, height_ratios=heights)
    for axes in between:
        dots(axes, list(paired), list(paired.values()), [colour_of(name) for name in paired])
        axes.set_title("return minus the honest script's, paired (bits)")
        axes.axvline(0, color=GREY, lw=0.8)
    dots(means, names, [row.interval("return") for row in run.rows], [colour_of(name) for name in names])
    means.set_title("return (bits): mean and 95 % interval")
    means.axvline(0, color=GREY, lw=0.8)
    low, high = np.percentile(run.episodes["return"], (1, 99.5))
    values = np.linspace(min(low, high - 0.5), high + 0.02 * max(high - low, 0.5), 300)
    for name in names:
        returns = run.sample(name, "return").pooled
        profile = (returns > values[:, None]).mean(axis=1)
        width = 2.0 if name in run.learned else 1.2
        shares.plot(values, profile, lw=width, label=name, **look_of(name).line)
    shares.set_xlim(values[0], values[-1])
    shares.set_ylim(0, 1.01)
    shares.set_title("share of episodes with a return above x")
    shares.set_xlabel(f"x, return of an episode (bits); n = {episodes_of(run)}")
    shares.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), handlelength=2.4, labelspacing=0.25)
    return figure


def episodes_of(run: RunData) -> str:
    """Return the number of an agent's episodes, or the least and the greatest."""
    numbers = sorted({row.episodes for row in run.rows})
    return " to ".join(f"{number:,}" for number in dict.fromkeys((numbers[0], numbers[-1])))


def honesty(run: RunData) -> Figure:
    """Draw the return against overclaimed bits per episode: honest and successful is at the top left."""
    from adjustText import adjust_text

    figure = new_figure(3.6)
    axes = figure.subplots()
    axes.axhline(0, color=GREY, lw=0.8, zorder=1)
    names: dict[tuple[float, float], list[str]] = {}  # agents at one point share a label
    for row in run.rows:
        claimed, returns = mean_interval(run.sample(row.agent, "debt_added"), DRAWS), row.interval("return")
        colour = colour_of(row.agent)
        axes.plot([claimed.low, claimed.high], [returns.value] * 2, color=colour, lw=2.2, alpha=0.4)
        axes.plot([claimed.value] * 2, [returns.low, returns.high], color=colour, lw=2.2, alpha=0.4)
        axes.plot(claimed.value, returns.value, "D" if row.agent in run.learned else "o", ms=6, color=colour)
        names.setdefault((round(claimed.value, 2), round(returns.value, 1)), []).append(row.agent)
    texts = [
        axes.text(*point, ", ".join(agents), color=colour_of(agents[0]), in_layout=False)
        for point, agents in names.items()
    ]
    axes.margins(0.12, 0.1)
    axes.set_xlim(left=-0.04 * axes.get_xlim()[1])
    axes.set_title("return (bits, mean)")
    axes.set_xlabel("overclaimed bits per episode (mean); bars: 95 %, diamond: learned")
    figure.draw_without_rendering()
    adjust_text(
        texts,
        ax=axes,
        iter_lim=300,
        expand=(1.4, 1.7),
        arrowprops={"arrowstyle": "-", "color": GREY, "lw": 0.6},
    )
    return figure


def claims(run: RunData) -> Figure | None:
    """Draw, for each claim that an agent makes, the mean gain and its range; on the diagonal gains equal claims."""
    of = run.traces["event"] == Event.EXPLORED
    by_agent = {agent: select(run.traces, of & (run.traces["agent"] == agent)) for agent in run.agents}
    explored = {
        agent: (rows["claim"], rows["gain"]) for agent, rows in by_agent.items() if len(rows["claim"])
    }
    if not explored:
        return None
    columns = 3
    rows = -(-len(explored) // columns)
    figure = new_figure(0.9 + 1.5 * rows)
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    longest = max(run.lab.vocabulary.claims) or 1.0
    for axes in grid.flat[len(explored) :]:
        axes.set_visible(False)
    for axes, (agent, (claim, gain)) in zip(grid.flat, explored.items(), strict=False):
        axes.plot([0, longest], [0, longest], color=GREY, lw=0.8, ls=DASHED, zorder=1)
        for level, count in zip(*np.unique(claim, return_counts=True), strict=True):
            gains, colour = gain[claim == level], colour_of(agent)
            if count >= FEW:
                axes.vlines(level, *np.percentile(gains, (10, 90)), color=colour, lw=1.0, alpha=0.6)
            axes.scatter(level, gains.mean(), s=8 + 60 * count / len(claim), color=colour, lw=0, zorder=3)
        axes.set_title(agent, color=colour_of(agent), size=SIZE * min(1.0, FITS / len(agent)))
        means = f"{signed(claim.mean())} \N{RIGHTWARDS ARROW} {signed(gain.mean())}"
        axes.text(0.03, 0.97, means, transform=axes.transAxes, va="top", color=GREY)
    low, high = axes.get_ylim()
    axes.set_ylim(low, high + 0.2 * (high - low))  # room for the two means above the points
    left = [agent for agent in run.agents if agent not in explored]
    figure.supxlabel(
        "claimed before the experiment (bits)" + (f"; no experiment: {', '.join(left)}" if left else ""),
        fontsize=axes.xaxis.label.get_size(),
    )
    figure.supylabel("gained (bits)", fontsize=axes.xaxis.label.get_size())
    return figure
