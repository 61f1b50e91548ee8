"""Certainty: does an agent that must infer what it knows overclaim more, and does enforcement teach it?

On ``Solvent/Debt-v0`` an agent is shown the exact posterior and a finding asserts its most probable class. On
``Solvent/Data-v0`` it sees its data and names the class itself. PPO learns on both from scratch, where debt is enforced
and where it is only tracked. *Right minus stated* is the share of findings that are right minus the mean confidence
that they state: below 0 the agent is overconfident.

The claim was written before any of these runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from solvent_experiments.figures.certainty import certainty
from solvent_experiments.figures.headline import while_learning
from solvent_experiments.folder import by_seed, select
from solvent_experiments.statistics import mean_interval
from solvent_experiments.studies.predictions import ENFORCED_PLAY, TRACKED_PLAY
from solvent_experiments.studies.study import (
    DATA_ENFORCED,
    DATA_ENV,
    DATA_TRACKED,
    ENFORCED,
    TRACKED,
    UNENFORCED,
    Arm,
    Compare,
    Play,
    Study,
    StudyData,
)

INFERRED = Play("data_enforced", {}, DATA_ENV, arm=DATA_ENFORCED)
INFERRED_TRACKED = Play("data_tracked", UNENFORCED, DATA_ENV, arm=DATA_TRACKED)
ARMS: Mapping[str, tuple[Arm, Play]] = {
    "Debt, enforced": (ENFORCED, ENFORCED_PLAY),
    "Debt, tracked": (TRACKED, TRACKED_PLAY),
    "Data, enforced": (DATA_ENFORCED, INFERRED),
    "Data, tracked": (DATA_TRACKED, INFERRED_TRACKED),
}
SCRIPTS = {
    "Debt, honest script": Play("honest", script="honest"),
    "Data, notebook (a Bayesian on the data)": Play("notebook", {}, DATA_ENV, script="notebook"),
}
OVERCLAIMED = ("bits overclaimed", "bits per episode", "debt_added", None)
WRONG = ("share of wrong findings", "of findings", "wrong", "accepted")
PAIRS = (
    ("enforced: Data minus Debt", INFERRED, ENFORCED_PLAY, 1, 0),
    ("tracked: Data minus Debt", INFERRED_TRACKED, TRACKED_PLAY, 1, 0),
    ("Data: enforced minus tracked", INFERRED, INFERRED_TRACKED, -1, -1),
    ("Debt: enforced minus tracked", ENFORCED_PLAY, TRACKED_PLAY, 0, 0),
)
"""Name, the two sources, and the expected signs of the differences in bits overclaimed and in wrong findings."""


def each_finding(label: str) -> Play:
    """Return the play of an arm's policies that has a row for each finding."""
    arm, play = ARMS[label]
    return Play(f"{play.name}_findings", play.params, play.env, arm=arm, record="findings")


def curves(data: StudyData) -> Mapping[str, Any]:
    """Return the bits that learners overclaim over training, and their calibration by stated confidence."""
    return {
        "training": {
            label: while_learning(data.training(arm))["debt_added"] for label, (arm, _) in ARMS.items()
        },
        "calibration": {label: calibration(data, label) for label in ARMS},
    }


def calibration(data: StudyData, label: str) -> list[dict[str, Any]]:
    """Return, for each stated confidence, the number of findings and the share that is right with its interval."""
    findings = data.columns(each_finding(label))
    points = []
    for stated in np.unique(findings["confidence"]):
        rows = select(findings, findings["confidence"] == stated)
        right = mean_interval(by_seed(rows, "right")).to_json()
        points.append({"stated": float(stated), "findings": len(rows["right"]), "right": right})
    return points


def draw(result: Any) -> Mapping[str, Figure]:
    """Draw overclaims over training beside calibration."""
    return {"": certainty(result.series["training"], result.series["calibration"])}


STUDY = Study(
    title="Inferring what one knows",
    claim="A learner that must infer its certainty overclaims more than one that is shown it, where debt is enforced "
    "and where it is only tracked; and enforcement makes it overclaim less and publish a smaller share of wrong "
    "findings.",
    compares=(
        *(
            Compare(f"{name}: {what}", unit, of, column, to, over=over, expected=sign)
            for name, of, to, *signs in PAIRS
            for (what, unit, column, over), sign in zip((OVERCLAIMED, WRONG), signs, strict=True)
        ),
        *(
            Compare(f"{label}: right minus stated", "of findings", play, "understated", over="accepted")
            for label, (_, play) in ARMS.items()
        ),
    ),
    rows={**{label: play for label, (_, play) in ARMS.items()}, **SCRIPTS},
    columns=("return", "published_bits", "debt_added", "accepted", "wrong", "stated", "calibrations"),
    needs=tuple(each_finding(label) for label in ARMS),
    series=curves,
    draw=draw,
    notes=(
        "Where debt is only tracked it is not taken off the return.",
        "On Data the learner's class head learns from a target that the level grants in training only.",
    ),
)
