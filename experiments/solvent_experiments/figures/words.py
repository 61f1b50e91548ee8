"""The gap between an agent's words and its evidence: during training, by agent, and with adequacy on and off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from solvent_experiments.artifacts.parquet import Columns, select
from solvent_experiments.figures.data import RunData
from solvent_experiments.figures.style import GREY, INK, PALETTE, legend_place, new_figure
from solvent_experiments.figures.training import LINE, add_notes, seeds_of, step_axis
from solvent_experiments.figures.verdicts import PERCENT, draw_curve
from solvent_experiments.measure.columns import SCORES
from solvent_experiments.measure.statistics import share_interval
from solvent_experiments.measure.summary import groups_of

__all__ = ["ARMS", "words_ablation", "words_curve", "words_of_findings"]

SCORE_COLOURS = ("#2F6B9A", "#9CC3DD", "#F0B27A", "#B00020")
"""Scores 0 to 3. The ends are dark, so they differ in greyscale too."""
ARMS = {"enforced": PALETTE[0], "only tracked": PALETTE[1]}
BAR = 0.68
NOTE = "score: 0 says no more than was looked at, 3 is definitive with next to nothing behind it"


def counted(columns: Columns) -> Columns:
    """Return the columns with counts of findings (``scored``), points, and strong findings (score 2 or 3)."""
    findings = np.sum([columns[name] for name in SCORES], axis=0)
    points = np.sum([score * columns[name] for score, name in enumerate(SCORES)], axis=0)
    return {
        **columns,
        "scored": findings,
        "points": points,
        "strong": columns[SCORES[2]] + columns[SCORES[3]],
    }


def words_curve(run: RunData) -> Figure | None:
    """Mean score of the findings, and share of those that score 2 or 3, against training steps: mean and 95 % band."""
    training = run.training
    if not run.params.adequacy.enabled or training is None or not len(training["steps"]):
        return None
    learned = [agent for agent in run.learned if (training["agent"] == agent).any()]
    figure = new_figure(1.1 + 2.6 * len(learned) + LINE * len(learned))
    all_axes = figure.subplots(2 * len(learned), 1, sharex=True, squeeze=False)[:, 0]
    for i, (agent, mean, share) in enumerate(zip(learned, all_axes[::2], all_axes[1::2], strict=True)):
        _draw_arm(mean, share, select(training, training["agent"] == agent), PALETTE[i])
        _scale(mean, share)
        if len(learned) > 1:
            mean.set_title(agent, loc="left")
    step_axis(all_axes[-1], run)
    figure.align_ylabels(all_axes)
    add_notes(all_axes[-1], [NOTE, "thick: all seeds, band: 95 %, thin: a seed", *_seeds(run, learned)])
    return figure


def _seeds(run: RunData, learned: Sequence[str]) -> list[str]:
    return [f"{agent}: {seeds_of(run, agent)}" for agent in learned]


def _draw_arm(mean: Axes, share: Axes, training: Columns, colour: str) -> None:
    columns = counted(training)
    draw_curve(mean, columns, "points", "scored", colour)
    draw_curve(share, columns, "strong", "scored", colour)


def _scale(mean: Axes, share: Axes) -> None:
    """Set limits and labels. Call it last, because a set limit turns autoscaling off."""
    mean.set_ylim(bottom=0)
    mean.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
    mean.set_ylabel("mean score\nof findings")
    share.set_ylim(0, 1)
    share.set_yticks(*PERCENT)
    share.set_ylabel("share that\nscores 2 or 3")


def words_of_findings(run: RunData) -> Figure | None:
    """Shares of the findings by the score of their words, a row for each agent."""
    if not run.params.adequacy.enabled:
        return None
    episodes, agents = counted(run.episodes), run.agents[::-1]
    figure = new_figure(1.25 + 0.24 * len(agents))
    axes = figure.subplots()
    for place, agent in enumerate(agents):
        _draw_bar(axes, place, episodes, agent)
    axes.set_yticks(range(len(agents)), agents)
    axes.tick_params(axis="y", length=0)
    axes.set_xlim(0, 1)
    axes.set_xticks(*PERCENT)
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("share of findings; line: 95 % of scores 2 and 3")
    handles = [Patch(color=colour, lw=0, label=str(score)) for score, colour in enumerate(SCORE_COLOURS)]
    figure.legend(handles=handles, loc=legend_place(run, "center"), ncols=4, title="score of the words")
    return figure


def _draw_bar(axes: Axes, place: int, episodes: Columns, agent: str) -> None:
    """Draw scores from 3 down from the right, so that the line marks the start of the strong words."""
    mine = {name: groups_of(episodes, agent, name) for name in (*SCORES, "scored", "strong")}
    counts = [float(sum(map(np.sum, mine[name]))) for name in SCORES]
    if not sum(counts):
        axes.text(0.5, place, "none", ha="center", va="center", color=GREY)
        return
    ends = np.cumsum([0.0, *counts]) / sum(counts)
    for start, end, colour in zip(ends, ends[1:], SCORE_COLOURS, strict=False):
        axes.barh(place, end - start, BAR, start, color=colour, ec="white", lw=0.5)
    strong = share_interval(mine["strong"], mine["scored"])
    axes.plot([1 - strong.high, 1 - strong.low], [place] * 2, color=INK, lw=1.2, solid_capstyle="butt")


def words_ablation(arms: Mapping[str, RunData], agent: str) -> Figure:
    """Return a figure of one learner's words in the run of each arm, against training steps."""
    figure = new_figure(3.9)
    mean, share = figure.subplots(2, 1, sharex=True)
    for name, run in arms.items():
        training = run.training
        if training is not None:
            _draw_arm(mean, share, select(training, training["agent"] == agent), ARMS[name])
    _scale(mean, share)
    step_axis(share, next(iter(arms.values())))
    figure.align_ylabels([mean, share])
    add_notes(share, [NOTE, "thick: all seeds, band: 95 %, thin: a seed"])
    handles = [Line2D([], [], color=ARMS[name], label=f"adequacy {name}") for name in arms]
    figure.legend(handles=handles, loc="outside upper center", ncols=2)
    return figure
