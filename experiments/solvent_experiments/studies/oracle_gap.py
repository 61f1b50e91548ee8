"""Gate: the source document's three families of policies, on its own measurement.

The level is ``Solvent/Gate-v0`` with ``gate.oracle: first``: a page keeps its eight leading directions, and its first
sentence is the oracle. A *fixed* policy compares the energy with a number, an *adaptive* one compares the gap with a
percentile of the lab's own gaps, and one *relative to the oracle* compares the energy with ``k`` standard deviations
above the oracles' mean. Scripts play the same episodes under each; PPO learns under one of each family.
"""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from solvent_experiments.figures.style import looks, new_figure
from solvent_experiments.measure.statistics import mean_interval, share_interval
from solvent_experiments.studies.arms import SCRATCH
from solvent_experiments.studies.data import StudyData
from solvent_experiments.studies.drawing import points
from solvent_experiments.studies.measures import arm_rows, change, shown
from solvent_experiments.studies.study import Arm, Play
from solvent_experiments.studies.verdicts import Finding, Score

TITLE = "Fixed, adaptive, relative to an oracle"
CLAIM = (
    "With the document's oracle, the adaptive policy accepts fewer wrong findings than the fixed one and rejects "
    "fewer right ones of those who don't foresee it than the policy relative to the oracle; PPO earns most under it."
)
REFUTED_BY = "One of these differences whose interval lies wholly on the other side of 0."
GATE = "Solvent/Gate-v0"
FIXED, ADAPTIVE, RELATIVE = "fixed.strict", "adaptive.P20", "oracle.k2"
POLICIES = (FIXED, ADAPTIVE, "oracle.k16", RELATIVE)
WITHOUT = "adaptive.P20, no oracle"
SCRIPTS = ("honest", "definitive", "premature", "overreacher", "padder")
LABS: dict[str, dict[str, Any]] = {
    **{policy: {"gate": {"oracle": "first", "policy": policy}} for policy in POLICIES},
    WITHOUT: {},
}
ARMS = {
    policy: Arm(policy.replace(".", "_"), policy, SCRATCH, GATE, LABS[policy])
    for policy in (FIXED, ADAPTIVE, RELATIVE)
}
SWEEP = tuple(ARMS.values())
CELLS = {
    (script, lab): Play(
        f"{script}_{lab}".replace(".", "_").replace(", ", "_").replace(" ", "_"),
        params,
        GATE,
        script=script,
        record="judged",
        episodes=1024,
    )
    for lab, params in LABS.items()
    for script in SCRIPTS
}
PLAYS = tuple(CELLS.values())


def column(data: StudyData, script: str, lab: str, name: str) -> Any:
    """Return a column of a script's episodes under a policy."""
    return data.plays[CELLS[script, lab].name][name]


def score(data: StudyData) -> Score:
    """Return the adaptive policy against the two others, for every script and PPO."""
    findings = []
    for script in SCRIPTS:
        for other, name, says in (
            (FIXED, "wrong", "wrong findings accepted"),
            (RELATIVE, "right_reject", "right findings rejected"),
        ):
            if data.has(CELLS[script, ADAPTIVE], CELLS[script, other]):
                values = column(data, script, ADAPTIVE, name) - column(data, script, other, name)
                title = f"{script}: {says}, {ADAPTIVE} less {other}, paired"
                expected = 0 if (script, other) == ("honest", RELATIVE) else -1  # honest foresees rejections
                findings.append(Finding(title, mean_interval([values]), "findings an episode", expected, 0.1))
    for other in (FIXED, RELATIVE):
        found = change("return", data.arm(ARMS[other]), data.arm(ARMS[ADAPTIVE]), middle=True)
        findings.append(Finding(f"PPO: return, {ADAPTIVE} less {other}", found, "bits", 1, 0.25))
    rows = [_row(data, *cell) for cell, play in CELLS.items() if data.has(play)]
    learnt = arm_rows([data.arm(arm) for arm in SWEEP])
    return Score(tuple(findings), {"Scripts, means an episode": rows, "PPO": learnt}, NOTES)


def _row(data: StudyData, script: str, lab: str) -> dict[str, Any]:
    def mine(name: str) -> Any:
        return column(data, script, lab, name)

    right = sum(mine(f"right_{verdict}") for verdict in ("accept", "review", "reject"))
    judged = right + sum(mine(f"wrong_{verdict}") for verdict in ("accept", "review", "reject"))
    return {
        "agent": script,
        "policy": lab,
        "return": shown(mean_interval([mine("return")])),
        "accepted": shown(mean_interval([mine("accepted")])),
        "wrong ones accepted": shown(mean_interval([mine("wrong")])),
        "right ones rejected": shown(mean_interval([mine("right_reject")])),
        "of right ones rejected (%)": shown(share_interval([mine("right_reject")], [right]), 100.0, 1),
        "gap is not the energy (%)": shown(share_interval([mine("gap_differs")], [judged]), 100.0, 1),
    }


NOTES = (
    "Right ones rejected counts attempts: a rejected finding may be submitted again.",
    "Published errors move the policy along its own family, so a start does not stay as it was.",
)


def figure(data: StudyData) -> Figure:
    """Draw return, wrong findings accepted and right ones rejected of each script under each policy."""
    drawn = new_figure(4.8)
    panels = drawn.subplots(3, 1, sharex=True)
    told = {
        "return": "return (bits)",
        "wrong": "wrong ones\naccepted",
        "right_reject": "right ones\nrejected",
    }
    for axes, (name, says) in zip(panels, told.items(), strict=True):
        for i, (script, look) in enumerate(looks(SCRIPTS).items()):
            there = {x: lab for x, lab in enumerate(LABS) if data.has(CELLS[script, lab])}
            found = [mean_interval([column(data, script, lab, name)]) for lab in there.values()]
            label = script if axes is panels[0] else None
            points(
                axes,
                [x + 0.08 * (i - 2) for x in there],
                found,
                color=look.colour,
                marker=look.mark,
                label=label,
            )
        axes.set_ylabel(says)
    names = [lab.replace(".", "\n").replace(", ", ",\n") for lab in LABS]
    panels[-1].set_xticks(range(len(LABS)), names, fontsize=7)
    drawn.align_ylabels(panels)
    drawn.legend(loc="outside upper center", ncols=3)
    return drawn
