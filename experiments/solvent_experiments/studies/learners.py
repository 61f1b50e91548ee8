"""Learners: what PPO learns from nothing on every level, and whether it is the story that the source documents tell.

The learner sees no demonstration. On Debt and Lab it also learns where debt, and on Lab adequacy, are only tracked. A
*plain* learner is Stable-Baselines3's PPO with an ``MlpPolicy`` and the bare reward. Learned policies also play labs
into which debt above the threshold is put, because a good policy is hardly ever blocked by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from matplotlib.figure import Figure

from solvent_experiments.figures.frame import band
from solvent_experiments.figures.style import DASHED, GREY, PALETTE, new_figure
from solvent_experiments.figures.training import stretches
from solvent_experiments.measure.statistics import (
    Bootstrap,
    Interval,
    difference,
    interval,
    mean_interval,
    share_difference,
    share_interval,
)
from solvent_experiments.studies.arms import CONTAMINATED, ENERGETIC, ENFORCED, PLAIN, SCRATCH
from solvent_experiments.studies.blocked import calibrates, enough
from solvent_experiments.studies.corrections import outrun
from solvent_experiments.studies.data import StudyData
from solvent_experiments.studies.drawing import step_labels
from solvent_experiments.studies.measures import change, shown
from solvent_experiments.studies.study import Arm, Play
from solvent_experiments.studies.verdicts import Finding, Score

TITLE = "What is learned"
CLAIM = (
    "From nothing PPO earns more than the honest script on every level, and a plain learner more than half of it. "
    "Where debt is enforced it calibrates more than where debt is tracked; blocked, at least 80 % of its choices are "
    "calibrations; and where adequacy is enforced its words outrun its evidence less often."
)
REFUTED_BY = "One of these differences whose interval lies wholly below 0."

ENERGY, GATE, LAB = "Solvent/Energy-v0", "Solvent/Gate-v0", "Solvent/Lab-v0"
TRACKED_LAB = Arm(
    "lab_tracked",
    "Lab, debt and adequacy only tracked",
    ENERGETIC,
    LAB,
    {"debt": {"enforced": False}, "adequacy": {"enforced": False}},
)
LEARNERS = {
    "Debt": ENFORCED,
    "Energy": Arm("energy", "Energy", ENERGETIC, ENERGY),
    "Gate": Arm("gate", "Gate", SCRATCH, GATE),
    "Lab": Arm("lab", "Lab", ENERGETIC, LAB),
}
PLAIN_LEARNERS = {
    level: Arm(f"plain_{level.lower()}", f"{level}, plain", PLAIN, arm.env) for level, arm in LEARNERS.items()
}
SWEEP = (*LEARNERS.values(), CONTAMINATED, TRACKED_LAB, *PLAIN_LEARNERS.values())
HONEST = {
    level: Play(f"{level.lower()}_honest", env=arm.env, script="honest", episodes=1000)
    for level, arm in LEARNERS.items()
}
INDEBTED = {
    level: Play(f"{level.lower()}_indebted", env=arm.env, arm=arm, record="indebted", episodes=200)
    for level, arm in LEARNERS.items()
}
PLAYS = (*HONEST.values(), *INDEBTED.values())
MATTERS = 0.25  # bits, or calibrations an episode


def score(data: StudyData) -> Score:
    """Return the properties of what is learned, and a table of every level."""
    findings = [finding for level in LEARNERS for finding in _findings(data, level)]
    tables = {level: [_row(data, level, arm) for arm in _arms(level)] for level in LEARNERS}
    for level, rows in tables.items():
        if data.has(HONEST[level]):
            rows.insert(
                0, {**dict.fromkeys(rows[0], "-"), "agent": "honest script", "return": _script(data, level)}
            )
    return Score(tuple(findings), tables, NOTES)


def _findings(data: StudyData, level: str) -> Iterator[Finding]:
    learned = data.arm(LEARNERS[level])
    if data.has(HONEST[level]):
        honest = data.plays[HONEST[level].name]["return"]
        for arm, share in ((LEARNERS[level], 1.0), (PLAIN_LEARNERS[level], 0.5)):
            found = difference([share * honest], data.arm(arm).groups("return"))
            of = "honest" if share == 1.0 else "half of honest"
            yield Finding(f"{arm.says if share < 1 else level}: return less {of}", found, "bits", 1, MATTERS)
    if data.has(INDEBTED[level]):
        yield enough(level, _calibrates(data, level))
    if level == "Debt":
        more = change("calibrations", data.arm(CONTAMINATED), learned)
        yield Finding("Debt: calibrations, enforced less tracked", more, "an episode", 1, MATTERS)
    if level == "Lab":
        fewer = share_difference(outrun(learned), outrun(data.arm(TRACKED_LAB)), paired=False)
        yield Finding("Lab: findings that words outrun, tracked less enforced", fewer, "share", 1, 0.02)


def _arms(level: str) -> Iterator[Arm]:
    yield LEARNERS[level]
    yield from {"Debt": (CONTAMINATED,), "Lab": (TRACKED_LAB,)}.get(level, ())
    yield PLAIN_LEARNERS[level]


def _calibrates(data: StudyData, level: str) -> Interval:
    return calibrates(data.plays[INDEBTED[level].name], data.arm(LEARNERS[level]).seeds)


def _script(data: StudyData, level: str) -> str:
    return shown(mean_interval([data.plays[HONEST[level].name]["return"]]))


def _row(data: StudyData, level: str, arm: Arm) -> Mapping[str, Any]:
    mine = data.arm(arm)
    means = {
        says: shown(mean_interval(mine.groups(name)))
        for says, name in (
            ("return", "return"),
            ("overclaimed bits", "debt_added"),
            ("calibrations", "calibrations"),
            ("heartbeats over the threshold", "beats_over_threshold"),
            ("wrong findings", "wrong"),
        )
    }
    put, words = arm is LEARNERS[level] and data.has(INDEBTED[level]), mine.params.adequacy.enabled
    return {
        "agent": arm.says,
        **means,
        "calibrates when blocked (%)": shown(_calibrates(data, level), 100.0, 1) if put else "-",
        "findings that words outrun (%)": shown(share_interval(*outrun(mine)), 100.0, 1) if words else "-",
    }


NOTES = (
    "PPO and plain PPO are played by their most probable actions; the honest script plays the same labs.",
    "Where debt is only tracked it is not settled: the returns of such an arm are no measure of it.",
    "A finding is outrun by its words if adequacy would have it reviewed or rejected.",
    "Debt is put into a lab when its second lot has 10, 6 and 3 heartbeats left.",
)
DRAWS = Bootstrap(400)


def figure(data: StudyData) -> Figure:
    """Draw the return over training, a panel for each level, with the honest script's."""
    drawn = new_figure(4.4)
    panels = drawn.subplots(2, 2)
    for axes, (level, arm) in zip(panels.flat, LEARNERS.items(), strict=True):
        for learner, says, colour in (
            (arm, "PPO", PALETTE[0]),
            (PLAIN_LEARNERS[level], "plain PPO, bare reward", PALETTE[1]),
        ):
            training = data.arm(learner).training
            bins = stretches(training) if len(training["steps"]) else []
            found = [interval([training["return"][rows] for rows in part.rows], DRAWS) for part in bins]
            band(axes, [part.steps for part in bins], found, colour, label=says)
        if data.has(HONEST[level]):
            reached = float(data.plays[HONEST[level].name]["return"].mean())
            axes.axhline(reached, color=GREY, lw=0.8, ls=DASHED, label="honest script")
        axes.set_title(level, loc="left", pad=2)
        axes.set_ylim(bottom=-4.5)
        step_labels(axes, "steps")
        axes.set_xlabel("")
    drawn.supxlabel("training steps", fontsize=8)
    drawn.supylabel("return of an episode, bits (IQM, 95 %)", fontsize=8)
    drawn.legend(*panels.flat[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return drawn
