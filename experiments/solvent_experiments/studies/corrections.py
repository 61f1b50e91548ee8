"""Lab: the effect of corrections on later findings.

After a wrong public finding the agent is given a correction, elements of its observation. In the arm *unread* these
elements stay 0 and nothing else differs. PPO learns from nothing.
Evaluation traces say which findings followed a correction, and by how much their words outran the evidence.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from solvent_experiments.figures.frame import dots
from solvent_experiments.figures.style import CATEGORIES, new_figure
from solvent_experiments.measure.statistics import interval, mean_interval, share_difference, share_interval
from solvent_experiments.studies.arms import ENERGETIC
from solvent_experiments.studies.data import ArmData, StudyData
from solvent_experiments.studies.measures import change, shown
from solvent_experiments.studies.study import Arm, Play
from solvent_experiments.studies.verdicts import Finding, Score

TITLE = "Heeding corrections"
CLAIM = (
    "Where corrections can be read, a smaller share of the findings under a correction is outrun by its words than "
    "where they can't, and agents earn more."
)
REFUTED_BY = "One of these differences whose interval lies wholly on the other side of 0."
LAB = "Solvent/Lab-v0"
READ = Arm("read", "read", ENERGETIC, LAB)
UNREAD = Arm("unread", "unread", ENERGETIC, LAB, {"observation": {"corrections": False}})
SWEEP = (READ, UNREAD)
PLAYS: tuple[Play, ...] = ()


def outrun(data: ArmData, among: Any = True) -> tuple[list[Any], list[Any]]:
    """Return by seed, for the findings in the rows ``among`` the traces, flags of those that words outrun, and ones."""
    traces = data.traces
    found = (traces["wording"] >= 0) & among
    beyond = traces["adequacy"] >= data.params.adequacy.review_from
    chosen = [found & (traces["training_seed"] == seed) for seed in data.seeds]
    return [beyond[rows].astype(np.int64) for rows in chosen], [
        np.ones(rows.sum(), np.int64) for rows in chosen
    ]


def judged(data: ArmData, *, corrected: bool) -> tuple[list[Any], list[Any]]:
    """Return ``outrun`` of the findings with a correction in force, or of those without one."""
    before = np.roll(data.traces["correction"], 1)  # a trace begins with a row without a correction
    return outrun(data, (before >= 0) == corrected)


def score(data: StudyData) -> Score:
    """Return the share of outrun findings after corrections and the return, read less unread."""
    read, unread = (data.arm(arm) for arm in SWEEP)
    findings = []
    for corrected, says, expected in ((True, "under a correction", -1), (False, "without one", 0)):
        pairs = judged(unread, corrected=corrected), judged(read, corrected=corrected)
        found = share_difference(*pairs, paired=False)
        findings.append(
            Finding(f"findings {says} that are outrun, read less unread", found, "share", expected, 0.02)
        )
    for name, unit, expected in (("return", "bits", 1), ("incidents_high", "findings an episode", 0)):
        found = change(name, unread, read, middle=name == "return")
        findings.append(
            Finding(f"{name.replace('_high', '')}, read less unread", found, unit, expected, 0.25)
        )
    return Score(tuple(findings), {"Findings and returns": [_row(data.arm(arm)) for arm in SWEEP]}, NOTES)


def _row(data: ArmData) -> dict[str, Any]:
    under, without = (judged(data, corrected=corrected) for corrected in (True, False))
    return {
        "corrections": data.arm.says,
        "return (IQM)": shown(interval(data.groups("return"))),
        "incidents": shown(mean_interval(data.groups("incidents_high"))),
        "findings under a correction": int(sum(len(group) for group in under[0])),
        "outrun, under a correction (%)": shown(share_interval(*under), 100.0, 1),
        "outrun, without one (%)": shown(share_interval(*without), 100.0, 1),
    }


NOTES = (
    "A finding is outrun by its words if adequacy would have it reviewed or rejected.",
    "Findings under a correction follow an error, in both arms: the arms are compared, not the two kinds of findings.",
)


def figure(data: StudyData) -> Figure:
    """Draw the shares of outrun findings."""
    drawn = new_figure(1.9)
    axes = drawn.subplots()
    shares = {
        f"{arm.says}, {says}": share_interval(*judged(data.arm(arm), corrected=corrected))
        for arm in SWEEP
        for corrected, says in ((True, "corrected"), (False, "not corrected"))
    }
    dots(axes, list(shares), list(shares.values()), (CATEGORIES[0],) * 2 + (CATEGORIES[2],) * 2)
    axes.set_xlim(left=0.0)
    axes.set_xlabel("share of findings outrun by their words: 95 % interval")
    return drawn
