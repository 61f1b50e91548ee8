"""The four predictions of the source document: debt enforced against contaminated (tracked without consequence).

*Once enforcement is enabled, expect to see: fewer commits, longer calibration phases, more budget exhaustion, more
refusals in logs. If none of this happens, the integration is wrong.* This may describe an agent that meets enforcement
unprepared or one that learnt under it. The study measures both against policies trained with debt only tracked: ``met``
lets the same policies play the same episodes with debt enforced, ``learnt`` plays policies trained under enforcement.

- commits: accepted findings per episode;
- calibration phases: longest run and number of calibrations per episode;
- budget exhaustion: share of episodes that end with too few wells for a screen under the rules in force, which
  reserve wells for a calibration;
- refusals per episode.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from solvent import LabParams
from solvent.lab.mechanisms.debt import BUDGET_EXCEEDED, RESERVE, decide
from solvent.lab.tables import debt_rules
from solvent_experiments.figures.frame import dots
from solvent_experiments.figures.style import PALETTE, new_figure
from solvent_experiments.measure.statistics import difference, mean_interval
from solvent_experiments.studies.arms import CONTAMINATED, ENFORCED
from solvent_experiments.studies.data import StudyData
from solvent_experiments.studies.measures import shown
from solvent_experiments.studies.study import Play
from solvent_experiments.studies.verdicts import Finding, Score

TITLE = "The source's four predictions"
CLAIM = (
    "Enforced debt makes for fewer commits, more and longer calibration, more budget exhaustion and more refusals "
    "than debt that is only tracked, both for agents that meet it and for agents that learn under it."
)
REFUTED_BY = (
    "An interval of one of the four differences, in either reading, that lies wholly on the other side of 0."
)
SWEEP = (ENFORCED, CONTAMINATED)

ALONE = Play("tracked_policy_tracked", CONTAMINATED.params, arm=CONTAMINATED, episodes=1000)
MET = Play("tracked_policy_enforced", arm=CONTAMINATED, episodes=1000)
LEARNT = Play("enforced_policy_enforced", arm=ENFORCED, episodes=1000)
PLAYS = (ALONE, MET, LEARNT)

READINGS = {"met": MET, "learnt": LEARNT}
MEASURES: dict[str, tuple[str, int, str, float]] = {
    "commits": ("accepted", -1, "findings", 0.1),
    "calibrations": ("calibrations", 1, "calibrations", 0.25),
    "longest phase": ("longest_calibration", 1, "calibrations in a row", 0.25),
    "budget exhausted": ("out_of_wells", 1, "share of episodes", 0.02),
    "refusals": ("refusals", 1, "refusals", 0.1),
}
"""Predictions by name: column, expected sign, unit, least relevant difference."""


def score(data: StudyData) -> Score:
    """Return both readings of the four predictions."""
    findings = []
    for reading, play in READINGS.items():
        for name, (column, sign, unit, matters) in MEASURES.items():
            found = difference(_groups(data, ALONE, column), _groups(data, play, column))
            findings.append(Finding(f"{reading}: {name}", found, unit, sign, matters))
    rows = []
    for says, play in (
        ("tracked, its own rules", ALONE),
        ("tracked, meets enforcement", MET),
        ("enforced", LEARNT),
    ):
        row = {"policy": says}
        for name, (column, *_) in MEASURES.items():
            row[name] = shown(mean_interval(_groups(data, play, column)))
        for name, column in {
            "overclaimed bits": "debt_added",
            "wells spent": "wells_spent",
            "wrong": "wrong",
        }.items():
            row[name] = shown(mean_interval(_groups(data, play, column)))
        row["return"] = shown(mean_interval(_groups(data, play, "return")))
        rows.append(row)
    return Score(tuple(findings), {"Means an episode": rows}, NOTES)


NOTES = (
    (
        "Where debt is only tracked it is not settled either, so returns with and without enforcement are not "
        "the same quantity."
    ),
    "Debt at the end of an episode is what counts for exhaustion; only linear inflation and the reserve can differ.",
)


def _groups(data: StudyData, play: Play, column: str) -> list[Any]:
    if column != "out_of_wells":
        return data.play_groups(play.name, column)
    wells, debt = (data.play_groups(play.name, name) for name in ("wells", "debt"))
    return [out_of_wells(play.lab, *group) for group in zip(wells, debt, strict=True)]


def out_of_wells(params: LabParams, wells: Any, debt: Any) -> Any:
    """Return by episode whether the rules would refuse a screen for lack of wells."""
    rules = debt_rules(params)
    base = params.plates.screen.wells

    def refused(left: int, owed: float) -> bool:
        _, _, _, by_cost, by_reserve = decide(rules, owed, base, left, False)
        return bool(by_cost or by_reserve)

    assert BUDGET_EXCEEDED < RESERVE
    return np.array([refused(int(left), float(owed)) for left, owed in zip(wells, debt, strict=True)])


def figure(data: StudyData) -> Figure:
    """Draw a panel of the three plays for each prediction."""
    drawn = new_figure(4.3)
    panels = drawn.subplots(len(MEASURES), 1)
    plays = {"tracked": ALONE, "meets it": MET, "learnt it": LEARNT}
    for axes, (name, (column, sign, _, _)) in zip(panels, MEASURES.items(), strict=True):
        found = [mean_interval(_groups(data, play, column)) for play in plays.values()]
        dots(axes, list(plays), found, PALETTE[:3])
        axes.set_xlim(left=0)
        axes.set_title(f"{name} ({'fewer' if sign < 0 else 'more'} expected)", loc="left", pad=2)
    panels[-1].set_xlabel("mean an episode, 95 % interval")
    return drawn
