"""Learners: what PPO learns from nothing on every level, and whether it is the story that the source documents tell.

The learner sees no demonstration. The honest script, the planner, its base policy and the oracle play beside it. On
Debt it also learns where debt is only tracked. Learned policies also play labs into which debt above the threshold is
put, because a good policy is hardly ever blocked by itself.
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
    share_interval,
)
from solvent_experiments.studies.arms import CONTAMINATED, ENERGETIC, ENFORCED, SCRATCH
from solvent_experiments.studies.blocked import calibrates, enough
from solvent_experiments.studies.corrections import outrun
from solvent_experiments.studies.data import StudyData
from solvent_experiments.studies.drawing import step_labels
from solvent_experiments.studies.measures import change, shown
from solvent_experiments.studies.study import Arm, Play
from solvent_experiments.studies.verdicts import Finding, Score

TITLE = "What is learned"
CLAIM = (
    "From nothing PPO earns more than the honest script on every level. Where debt is enforced it calibrates more than "
    "where debt is tracked; blocked, at least 80 % of its choices are calibrations."
)
REFUTED_BY = "One of these differences whose interval lies wholly below 0."

ENERGY, GATE, LAB = "Solvent/Energy-v0", "Solvent/Gate-v0", "Solvent/Lab-v0"
LEARNERS = {
    "Debt": ENFORCED,
    "Energy": Arm("energy", "Energy", ENERGETIC, ENERGY),
    "Gate": Arm("gate", "Gate", SCRATCH, GATE),
    "Lab": Arm("lab", "Lab", ENERGETIC, LAB),
}
SWEEP = (*LEARNERS.values(), CONTAMINATED)
REFERENCES: Mapping[str, tuple[str, Mapping[str, Any], int]] = {
    "honest": ("honest", {}, 1000),
    "base policy": ("planner", {"worlds": 0}, 1000),
    "planner": ("planner", {}, 200),
    "oracle": ("oracle", {}, 200),
}
"""Agents that play beside the learner: script, settings and episodes. The planner without worlds is its base policy."""
BESIDE = {
    (level, says): Play(
        f"{level}_{says}".lower().replace(" ", "_"), {}, arm.env, *reference[:2], episodes=reference[2]
    )
    for level, arm in LEARNERS.items()
    for says, reference in REFERENCES.items()
}
INDEBTED = {
    level: Play(f"{level.lower()}_indebted", env=arm.env, arm=arm, record="indebted", episodes=200)
    for level, arm in LEARNERS.items()
}
PLAYS = (*BESIDE.values(), *INDEBTED.values())
MATTERS = 0.25  # bits, or calibrations an episode


def score(data: StudyData) -> Score:
    """Return the properties of what is learned, and a table of every level."""
    findings = [finding for level in LEARNERS for finding in _findings(data, level)]
    tables = {level: [_row(data, level, arm) for arm in _arms(level)] for level in LEARNERS}
    for level, rows in tables.items():
        rows += [
            {**dict.fromkeys(rows[0], "-"), "agent": says, "return": shown(mean_interval([found]))}
            for says in REFERENCES
            if (found := _returns(data, level, says)) is not None
        ]
    return Score(tuple(findings), tables, NOTES)


def _findings(data: StudyData, level: str) -> Iterator[Finding]:
    learned = data.arm(LEARNERS[level])
    if (honest := _returns(data, level, "honest")) is not None:
        more = difference([honest], learned.groups("return"))
        yield Finding(f"{level}: return less honest", more, "bits", 1, MATTERS)
    if data.has(INDEBTED[level]):
        yield enough(level, _calibrates(data, level))
    if level == "Debt":
        more = change("calibrations", data.arm(CONTAMINATED), learned)
        yield Finding("Debt: calibrations, enforced less tracked", more, "an episode", 1, MATTERS)


def _arms(level: str) -> tuple[Arm, ...]:
    return (LEARNERS[level], CONTAMINATED) if level == "Debt" else (LEARNERS[level],)


def _calibrates(data: StudyData, level: str) -> Interval:
    return calibrates(data.plays[INDEBTED[level].name], data.arm(LEARNERS[level]).seeds)


def _returns(data: StudyData, level: str, says: str) -> Any:
    """Return a reference's returns on a level, or None if it has not played there."""
    play = BESIDE[level, says]
    return data.plays[play.name]["return"] if data.has(play) else None


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
    "Learners play their most probable actions; the honest script plays the same labs.",
    "Where debt is only tracked it is not settled: the returns of that arm are no measure of it.",
    "A finding is outrun by its words if adequacy would have it reviewed or rejected.",
    "Debt is put into a lab when its second lot has 10, 6 and 3 heartbeats left.",
)
DRAWS = Bootstrap(400)


def figure(data: StudyData) -> Figure:
    """Draw the return over training, a panel for each level, with the references' means."""
    drawn = new_figure(4.4)
    panels = drawn.subplots(2, 2)
    for axes, (level, arm) in zip(panels.flat, LEARNERS.items(), strict=True):
        training = data.arm(arm).training
        bins = stretches(training) if len(training["steps"]) else []
        found = [interval([training["return"][rows] for rows in part.rows], DRAWS) for part in bins]
        band(axes, [part.steps for part in bins], found, PALETTE[0], label="PPO")
        for says, line in {"honest": DASHED, "planner": "-.", "oracle": ":"}.items():
            if (played := _returns(data, level, says)) is not None:
                axes.axhline(played.mean(), color=GREY, lw=0.8, ls=line, label=says)
        axes.set_title(level, loc="left", pad=2)
        axes.set_ylim(bottom=-4.5)
        step_labels(axes, "steps")
        axes.set_xlabel("")
    drawn.supxlabel("training steps", fontsize=8)
    drawn.supylabel("return of an episode, bits (IQM, 95 %)", fontsize=8)
    drawn.legend(*panels.flat[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return drawn
