"""The gap between an agent's words and its evidence: during training, by agent, and with adequacy on and off."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from solvent_experiments.artifacts.parquet import Columns
from solvent_experiments.figures.data import RunData
from solvent_experiments.figures.frame import PERCENT, colour_key, share_bars
from solvent_experiments.figures.style import PALETTE, new_figure
from solvent_experiments.figures.training import learners, panels_of_learners, seeds_of, step_axis
from solvent_experiments.figures.verdicts import CURVES, draw_curve
from solvent_experiments.measure.columns import SCORES
from solvent_experiments.measure.statistics import share_interval

__all__ = ["ARMS", "words_ablation", "words_curve", "words_of_findings"]

SCORE_COLOURS = ("#2F6B9A", "#9CC3DD", "#F0B27A", "#B00020")
"""Scores 0 to 3. The ends are dark, so they differ in greyscale too."""
ARMS = {"enforced": PALETTE[0], "only tracked": PALETTE[1]}
NOTE = "score: 0 claims no more than the evidence shows, 3 is definitive with almost none"


def counted(columns: Columns) -> Columns:
    """Return the columns with episodes, findings (``scored``), points, and strong findings (score 2 or 3)."""
    findings = np.sum([columns[name] for name in SCORES], axis=0)
    points = np.sum([score * columns[name] for score, name in enumerate(SCORES)], axis=0)
    return {
        **columns,
        "episodes": np.ones_like(findings),
        "scored": findings,
        "points": points,
        "strong": columns[SCORES[2]] + columns[SCORES[3]],
    }


def words_curve(run: RunData) -> Figure | None:
    """Mean score of the findings, and share of those that score 2 or 3, against training steps: mean and 95 % band."""
    learnt = learners(run)
    if not run.params.adequacy.enabled or not learnt:
        return None
    figure, rows = panels_of_learners(learnt, 1.1, 2.6, rows=(1, 1))
    for (mean, share), training, colour in zip(rows, learnt.values(), PALETTE, strict=False):
        columns = counted(training)
        draw_curve(mean, columns, "points", "scored", colour)
        draw_curve(share, columns, "strong", "scored", colour)
        _scale(mean, share)
        mean.set_ylabel("mean score\nof findings")
    step_axis(share, run, NOTE, CURVES, *(f"{agent}: {seeds_of(run, agent)}" for agent in learnt))
    return figure


def _scale(above: Axes, share: Axes) -> None:
    """Set limits and ticks. Call it last, because a set limit turns autoscaling off."""
    above.set_ylim(bottom=0)
    above.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
    share.set_ylim(0, 1)
    share.set_yticks(*PERCENT)
    share.set_ylabel("share that\nscores 2 or 3")


def words_of_findings(run: RunData) -> Figure | None:
    """Shares of the findings by the score of their words, a row for each agent."""
    if not run.params.adequacy.enabled:
        return None
    figure = new_figure(1.25 + 0.24 * len(run.agents))
    axes = figure.subplots()
    columns = dict(zip(SCORES, SCORE_COLOURS, strict=True))
    share_bars(axes, run.episodes, run.agents[::-1], columns, _strong)
    axes.set_xlabel("share of findings; line: 95 % of scores 2 and 3")
    named = {str(score): colour for score, colour in enumerate(SCORE_COLOURS)}
    colour_key(figure, run, named, 4, title="score of the words")
    return figure


def _strong(counts: Mapping[str, Any]) -> tuple[float, float]:
    """Return the interval of the share of scores 2 and 3, from the right."""
    by_seed = [np.array(seed) for seed in zip(*(counts[name] for name in SCORES), strict=True)]
    found = share_interval([seed[2:].sum(axis=0) for seed in by_seed], [s.sum(axis=0) for s in by_seed])
    return 1 - found.high, 1 - found.low


def words_ablation(arms: Mapping[str, RunData], agent: str) -> Figure:
    """Return a figure of one learner's overclaims and words in the run of each arm, against training steps."""
    figure = new_figure(3.9)
    debt, share = figure.subplots(2, 1, sharex=True)
    for name, run in arms.items():
        if agent in (learnt := learners(run)):
            columns = counted(learnt[agent])
            draw_curve(debt, columns, "debt_added", None, ARMS[name])
            draw_curve(share, columns, "strong", "scored", ARMS[name])
    _scale(debt, share)
    debt.set_ylabel("overclaimed bits\nan episode")
    share.set_ylabel("findings whose words\nscore 2 or 3")
    step_axis(share, next(iter(arms.values())), NOTE, CURVES)
    figure.align_ylabels([debt, share])
    mechanisms = " and ".join(arms["only tracked"].params.unenforced)
    handles = [Line2D([], [], color=ARMS[name], label=f"{mechanisms} {name}") for name in arms]
    figure.legend(handles=handles, loc="outside upper center", ncols=1)
    return figure
