"""The source's open questions, one arm each: debt carried over, bankruptcy reset, decay, repayment for accuracy.

*Should debt persist across episodes? Should there be a "bankruptcy" reset? Should accurate claims reduce debt? Or
only time-based decay?* The expectations were written down before the runs:

- agents that carry debt over keep it lower than agents that settle it at the end. The measure is overclaimed bits per
  episode in careers of eight consecutive episodes, without the first two. The learner looks no further than an
  episode's end, as in all studies;
- a reset leads to more overclaiming, since bankruptcy no longer ends the episode;
- decay (5 % per heartbeat) and repayment for accuracy (0.5 bits per bit of an accurate claim) make debt cheaper, so
  they lead to more overclaiming and fewer calibrations.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from solvent_experiments.figures.frame import band, dots, level_line
from solvent_experiments.figures.style import PALETTE, new_figure
from solvent_experiments.measure.statistics import Interval, difference, mean_interval
from solvent_experiments.studies.arms import ENFORCED, SCRATCH
from solvent_experiments.studies.data import StudyData
from solvent_experiments.studies.measures import change, shown
from solvent_experiments.studies.records import CAREER
from solvent_experiments.studies.study import Arm, Play
from solvent_experiments.studies.verdicts import Finding, Score

TITLE = "The source's open questions"
CLAIM = (
    "Debt that is carried over is kept lower than debt that is settled; a bankruptcy reset, decay and repayment "
    "for accuracy each raise overclaiming, and the latter two lower calibrations."
)
REFUTED_BY = (
    "An interval of one of these differences to the arm as it is that lies wholly on the other side of 0."
)
CARRY = Arm("carry", "debt carried over", SCRATCH, params={"debt": {"carry_debt": True}})
RESET = Arm("reset", "bankruptcy resets", SCRATCH, params={"debt": {"bankruptcy": "reset"}})
DECAY = Arm("decay", "decay 5 % a heartbeat", SCRATCH, params={"debt": {"decay_per_heartbeat": 0.05}})
ACCURACY = Arm("accuracy", "accuracy repays 0.5", SCRATCH, params={"debt": {"repay_for_accuracy": 0.5}})
SWEEP = (ENFORCED, DECAY, ACCURACY, RESET, CARRY)
CAREERS = {
    arm.name: Play(f"careers_{arm.name}", arm.params, arm=arm, record="careers", episodes=800)
    for arm in (ENFORCED, CARRY)
}
PLAYS = tuple(CAREERS.values())

SETTLING_IN = 2
"""Leading episodes of a career that are left out, since the first starts without debt."""
MATTERS = 0.1  # bits


AGAINST: tuple[tuple[tuple[Arm, ...], str, str, str, int, float], ...] = (
    ((RESET, DECAY, ACCURACY), "overclaimed bits", "debt_added", "bits an episode", 1, MATTERS),
    ((DECAY, ACCURACY), "calibrations", "calibrations", "an episode", -1, 0.25),
    ((RESET, DECAY, ACCURACY), "return", "return", "bits", 0, 0.25),
)
"""Comparisons with the default arm: arms, measure, column, unit, expected sign, least relevant difference."""


def later(data: StudyData, arm: Arm, name: str) -> list[Any]:
    """Return a column of an arm's careers after ``SETTLING_IN`` episodes."""
    play = CAREERS[arm.name].name
    values, numbers = (data.play_groups(play, column) for column in (name, "number"))
    return [value[number >= SETTLING_IN] for value, number in zip(values, numbers, strict=True)]


def score(data: StudyData) -> Score:
    """Return the comparison of each arm with the default one."""
    base = data.arm(ENFORCED)
    carried = difference(later(data, ENFORCED, "debt_added"), later(data, CARRY, "debt_added"))
    name = f"{CARRY.says}: overclaimed bits, in careers"
    findings = [Finding(name, carried, "bits an episode", -1, MATTERS)]
    findings += [
        Finding(
            f"{arm.says}: {what}",
            change(column, base, data.arm(arm), middle=column == "return"),
            unit,
            sign,
            matters,
        )
        for arms, what, column, unit, sign, matters in AGAINST
        for arm in arms
    ]
    return Score(tuple(findings), {"Careers: means an episode, from the third on": _careers(data)}, NOTES)


def _careers(data: StudyData) -> list[dict[str, Any]]:
    rows = []
    for arm in (ENFORCED, CARRY):
        row: dict[str, Any] = {"rules": arm.says}
        columns = {
            "debt at the start": "owed_before",
            "overclaimed bits": "debt_added",
            "repaid bits": "debt_repaid",
            "heartbeats over the limit": "beats_over_threshold",
            "accepted": "accepted",
            "published bits": "published_bits",
            "return": "return",
        }
        for name, column in columns.items():
            row[name] = shown(mean_interval(later(data, arm, column)))
        bankrupt = [group == "bankrupt" for group in later(data, arm, "end_reason")]
        row["bankrupt (%)"] = shown(mean_interval(bankrupt), 100.0, 1)
        rows.append(row)
    return rows


NOTES = (
    (
        "Debt that is carried over is never settled, so the evaluation's returns of that arm leave it out; they are "
        "not comparable with the others."
    ),
    (
        "How often an agent is bankrupt bounds what a reset can change; the table of arms has it as episodes "
        "over the limit."
    ),
)


def figure(data: StudyData) -> Figure:
    """Draw overclaimed bits by arm and, below, debt at the start of each episode of a career."""
    drawn = new_figure(4.6)
    claims, owed = drawn.subplots(2, 1, height_ratios=(1.3, 1.0))
    found: list[Interval] = [mean_interval(data.arm(arm).groups("debt_added")) for arm in SWEEP]
    dots(claims, [arm.says for arm in SWEEP], found, PALETTE[: len(SWEEP)])
    claims.set_xlabel("overclaimed bits an episode,\n95 % interval")
    for arm in (ENFORCED, CARRY):
        play = CAREERS[arm.name].name
        values, numbers = (data.play_groups(play, column) for column in ("owed_before", "number"))
        episodes = np.unique(np.concatenate(numbers))
        means = [mean_interval([v[n == k] for v, n in zip(values, numbers, strict=True)]) for k in episodes]
        band(
            owed, (episodes + 1).tolist(), means, PALETTE[SWEEP.index(arm)], marker="o", ms=3, label=arm.says
        )
    level_line(owed, data.arm(ENFORCED).params.debt.threshold)
    owed.set_xlabel("episode of a career; dashed: the threshold")
    owed.set_ylabel("debt at its start (bits)")
    owed.set_xticks(range(1, CAREER + 1))
    owed.set_ylim(bottom=0)
    drawn.legend(loc="outside lower center", ncols=2)
    return drawn
