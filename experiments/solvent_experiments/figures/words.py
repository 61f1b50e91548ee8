"""The gap between an agent's words and its evidence: during training, by agent, and with adequacy on and off."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from solvent_experiments.artifacts.parquet import Columns
from solvent_experiments.figures.data import RunData
from solvent_experiments.figures.frame import PERCENT, colour_key, share_bars
from solvent_experiments.figures.style import OCHRE, PALETTE, ROSE, colour_of, head, new_figure
from solvent_experiments.figures.training import learners, panels_of_learners, seeds_of, step_axis
from solvent_experiments.figures.verdicts import CURVES, draw_curve
from solvent_experiments.measure.columns import SCORES
from solvent_experiments.measure.statistics import share_interval

__all__ = [
    "ABLATED",
    "ARMS",
    "OUTRUN",
    "SCORE_COLOURS",
    "STAGES",
    "counted",
    "words_ablation",
    "words_curve",
    "words_of_findings",
]

SCORE_COLOURS = ("#DADADA", "#B4B4B4", ROSE, OCHRE)
"""Scores 0 to 3; colour where the words outrun the evidence."""
ARMS = dict(zip(("enforced", "only tracked"), (PALETTE[0], PALETTE[2]), strict=True))
OUTRUN = "share_2_or_3"
ABLATED = {
    OUTRUN: "findings that say much more\nthan the evidence",
    "overclaimed_bits": "overclaimed bits\nan episode",
}
"""Measure of the arms and its heading."""
STAGES = {"first tenth": "early", "last tenth": "late", "evaluation": "tested"}
"""Part of ``words.json`` and its name on the axis."""
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
    for (mean, share), (agent, training) in zip(rows, learnt.items(), strict=True):
        colour = colour_of(agent)
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
    colour_key(figure, named, 4, title="score of the words")
    return figure


def _strong(counts: Mapping[str, Any]) -> tuple[float, float]:
    """Return the interval of the share of scores 2 and 3, from the right."""
    by_seed = [np.array(seed) for seed in zip(*(counts[name] for name in SCORES), strict=True)]
    found = share_interval([seed[2:].sum(axis=0) for seed in by_seed], [s.sum(axis=0) for s in by_seed])
    return 1 - found.high, 1 - found.low


def words_ablation(found: Mapping[str, Any], agent: str) -> Figure:
    """Draw a learner's overclaims and words in the arms of ``solvent adequacy ablation``, from its ``words.json``."""
    arms = {name: found["agents"][agent][name] for name in ARMS}
    figure = new_figure(2.5)
    panels = figure.subplots(1, 2)
    for axes, (measure, says) in zip(panels, ABLATED.items(), strict=True):
        for name, colour in ARMS.items():
            told = [(x, of) for x, when in enumerate(STAGES) if (of := arms[name][when][measure]) is not None]
            values = np.array([[of["low"], of["value"], of["high"]] for _, of in told]).reshape(-1, 3)
            places = [x for x, _ in told]
            axes.fill_between(places, values[:, 0], values[:, 2], color=colour, alpha=0.25, lw=0)
            axes.plot(places, values[:, 1], "o-", ms=4, color=colour, clip_on=False)
            if told:
                last = values[-1, 1]
                shown = _percent(last) if measure == OUTRUN else f"{last:.1f}"
                label = f"{name}\n{shown}" if axes is panels[0] else shown
                axes.annotate(
                    label, (places[-1], last), (6, 0), textcoords="offset points", va="center",
                    color=colour, fontweight="bold", annotation_clip=False,
                )  # fmt: skip
        axes.set_title(says, loc="left")
        axes.set_ylim(bottom=0)
        axes.set_xticks(range(len(STAGES)), STAGES.values())
        axes.grid(visible=False, axis="x")
        axes.yaxis.set_major_locator(MaxNLocator(3))
    panels[0].yaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
    figure.supxlabel(
        "much more: score 2 or 3 of 0 to 3\nearly, late: the first and last tenth of the training\n"
        "tested: the trained policy on other labs; bands: 95 %\n"
        f"{agent}, {found['env']}",
        fontsize=8,
    )
    *_, after = STAGES
    shares = (arms[name][after][OUTRUN] for name in ("only tracked", "enforced"))
    tracked, enforced = (_percent(share["value"]) if share else "none" for share in shares)
    says = f"Rules only tracked: {tracked} of findings say much more than their evidence."
    head(figure, f"{says} Rules enforced: {enforced}.", bold=True)
    return figure


def _percent(share: float) -> str:
    return f"{share:.0%}".replace("%", " %")
