"""Does an agent learn to calibrate when it is blocked?

This is the source's last open item: *agent learns to propose calibration when blocked (deadlock recovery)*. While PPO
trains from scratch, the study measures the share of calibrations among choices made with debt above the threshold.
Actions are sampled from the policy, as in any training. An untrained policy draws each verb with the same probability,
which gives 1 in 5; masked it gives 1 in 2, because only ``rest`` and ``dmso`` execute.

A good policy is hardly ever blocked. So trained policies also play labs into which debt above the threshold is put when
the second reagent lot has 10, 6 and 3 heartbeats left.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from solvent_experiments.artifacts.parquet import Columns, select
from solvent_experiments.figures.frame import band
from solvent_experiments.figures.style import DASHED, GREY, PALETTE, new_figure
from solvent_experiments.figures.training import stretches
from solvent_experiments.measure.statistics import (
    Bootstrap,
    Interval,
    mean_interval,
    share_difference,
    share_interval,
)
from solvent_experiments.studies.arms import ENFORCED, MASKED
from solvent_experiments.studies.data import ArmData, StudyData
from solvent_experiments.studies.drawing import points, step_labels
from solvent_experiments.studies.measures import shown
from solvent_experiments.studies.records import LEFT
from solvent_experiments.studies.study import Arm, Play
from solvent_experiments.studies.verdicts import Finding, Score

TITLE = "Calibrating when blocked"
CLAIM = (
    "Blocked by its debt, an agent learns to calibrate, without and with masked actions: the share of calibrations "
    "among its choices above the threshold rises from the first to the last tenth of training, and is at least 80 % "
    "when debt is put into its lab."
)
REFUTED_BY = "A growth, in either arm, whose interval lies wholly below 0, or a share wholly below 80 %."
MASKED_ARM = Arm("masked", "masked (MaskablePPO)", MASKED)
SWEEP = (ENFORCED, MASKED_ARM)

ARMS = {"unmasked (PPO)": ENFORCED, "masked (MaskablePPO)": MASKED_ARM}
INDEBTED = {
    says: Play(f"{arm.name}_indebted", arm=arm, record="indebted", episodes=500) for says, arm in ARMS.items()
}
PLAYS = tuple(INDEBTED.values())
ENOUGH = 0.8
"""The share of calibrations that the claim asks for where debt is put into a lab."""
PARTS = {"first tenth": (0.0, 0.1), "last tenth": (0.9, 1.0)}
KINDS = {"calibrates": "over_threshold_calibrations", "rests": "over_threshold_rests"}
DRAWS = Bootstrap(400)
CHANCE = {1 / 5: "untrained", 1 / 2: "untrained, masked"}
"""The share of calibrations where all verbs, or all that execute above the threshold, are equally probable."""


def part_of(data: ArmData, part: str) -> Columns:
    """Return the training episodes in a part of the steps."""
    low, high = PARTS[part]
    share = data.training["steps"] / max(1, int(data.training["steps"].max(initial=0)))
    return select(data.training, (share > low) & (share <= high))


def by_seed(columns: Columns, name: str, seeds: Any) -> list[Any]:
    """Return a column by training seed."""
    return [columns[name][columns["training_seed"] == seed] for seed in seeds]


def calibrating(columns: Columns, seeds: Any) -> tuple[list[Any], list[Any]]:
    """Return the calibrations above the threshold, and all choices there, by training seed."""
    return by_seed(columns, KINDS["calibrates"], seeds), by_seed(columns, "over_threshold", seeds)


def score(data: StudyData) -> Score:
    """Return the growth of the share, and its values at both ends."""
    findings, rows, put_rows = [], [], []
    for says, arm in ARMS.items():
        mine = data.arm(arm)
        parts = {name: part_of(mine, name) for name in PARTS}
        first, last = (calibrating(part, mine.seeds) for part in parts.values())
        growth = share_difference(first, last, paired=True)
        of = "growth of P(calibrate | blocked)"
        findings.append(Finding(f"{says}: {of}", growth, "share of choices", 1, 0.05))
        rows += [_row(says, when, part, mine.seeds) for when, part in parts.items()]
        put = data.plays[INDEBTED[says].name]
        findings.append(enough(says, calibrates(put, mine.seeds)))
        put_rows += [_put_row(says, put, left, mine.seeds) for left in LEFT]
    tables = {"Choices above the threshold": rows, "With debt put into the lab": put_rows}
    return Score(tuple(findings), tables, NOTES)


def calibrates(put: Columns, seeds: Any) -> Interval:
    """Return the share of calibrations among choices in labs into which debt was put."""
    return share_interval(by_seed(put, "calibrations", seeds), by_seed(put, "blocked", seeds))


def enough(says: str, share: Interval) -> Finding:
    """Return by how much the ``share`` of calibrations with debt put in exceeds ``ENOUGH``."""
    of = f"P(calibrate | blocked) with debt put into the lab, less {ENOUGH:.0%}"
    return Finding(f"{says}: {of}", Interval(*(end - ENOUGH for end in share)), "share of choices", 1, 0.05)


def _put_row(says: str, put: Columns, left: int, seeds: Any) -> Mapping[str, Any]:
    mine = select(put, put["left"] == left)
    first, returns = (by_seed(mine, name, seeds) for name in ("first", "return"))
    return {
        "arm": says,
        "heartbeats left": left,
        "blocked choices": int(mine["blocked"].sum()),
        "calibrates (%)": shown(calibrates(mine, seeds), 100.0, 1),
        "calibrates at once (%)": shown(mean_interval(first), 100.0, 1),
        "return": shown(mean_interval(returns)),
    }


def _row(says: str, when: str, part: Columns, seeds: Any) -> Mapping[str, Any]:
    blocked = by_seed(part, "over_threshold", seeds)
    calibrated, rested = (by_seed(part, column, seeds) for column in KINDS.values())
    refused = [b - c - r for b, c, r in zip(blocked, calibrated, rested, strict=True)]
    heartbeats = by_seed(part, "length", seeds)
    return {
        "arm": says,
        "when": when,
        "blocked choices": int(sum(group.sum() for group in blocked)),
        "of all choices (%)": shown(share_interval(blocked, heartbeats), 100.0, 1),
        "calibrates (%)": shown(share_interval(calibrated, blocked), 100.0, 1),
        "rests (%)": shown(share_interval(rested, blocked), 100.0, 1),
        "is refused (%)": shown(share_interval(refused, blocked), 100.0, 1),
    }


NOTES = (
    (
        "An untrained policy draws each verb with the same probability: 20 % of its choices are calibrations, 50 % "
        "of those that would execute above the threshold."
    ),
    (
        "A policy that has learnt well is seldom blocked: late shares rest on few choices of the rarer "
        "episodes that went wrong."
    ),
)


def figure(data: StudyData) -> Figure:
    """Draw how often agents calibrate when blocked and are blocked over training, and the former with debt put in."""
    drawn = new_figure(5.4)
    share, often, put = drawn.subplots(3, 1)
    for i, (says, arm) in enumerate(ARMS.items()):
        mine = data.arm(arm)
        _over_training(share, mine.training, KINDS["calibrates"], "over_threshold", PALETTE[i], says)
        _over_training(often, mine.training, "over_threshold", "length", PALETTE[i])
        played = data.plays[INDEBTED[says].name]
        found = [calibrates(select(played, played["left"] == left), mine.seeds) for left in LEFT]
        points(put, [place + 0.1 * i for place in range(len(LEFT))], found, color=PALETTE[i], ls="")
    for chance, says in CHANCE.items():
        share.axhline(chance, color=GREY, lw=0.8, ls=DASHED)
        place = (0.99, chance + 0.02)
        share.annotate(says, place, xycoords=("axes fraction", "data"), ha="right", color=GREY, fontsize=7)
    for axes in (share, put):
        axes.set_ylim(0, 1.02)
        axes.set_ylabel("P(calibrate | blocked)")
    often.set_ylim(bottom=0)
    often.set_ylabel("share of choices\nthat are blocked")
    step_labels(often)
    share.sharex(often)
    put.axhline(ENOUGH, color=GREY, lw=0.8, ls=DASHED)
    put.set_xticks(range(len(LEFT)), [str(left) for left in LEFT])
    put.set_xlabel("heartbeats left in the lot, debt put in")
    drawn.align_ylabels([share, often, put])
    drawn.legend(loc="outside upper center", ncols=2)
    return drawn


def _over_training(
    axes: Axes, training: Columns, part: str, whole: str, colour: str, says: str | None = None
) -> None:
    bins = stretches(training) if len(training["steps"]) else []
    found = [
        share_interval([training[part][r] for r in b.rows], [training[whole][r] for r in b.rows], DRAWS)
        for b in bins
    ]
    band(axes, [b.steps for b in bins], found, colour, label=says)
