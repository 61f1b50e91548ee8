"""Transfer: policies trained under one setting of the rules play under another.

The observation shows the debt and the distance to the threshold, but neither the sensitivity nor the inflation rule, so
a policy cannot see all changes of the rules. Every trained policy plays the same episodes under every setting.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from solvent_experiments.figures.style import INK, new_figure, signed
from solvent_experiments.measure.statistics import Interval, difference, interval
from solvent_experiments.studies.arms import CONTAMINATED, ENFORCED, STRICT
from solvent_experiments.studies.data import StudyData
from solvent_experiments.studies.measures import shown
from solvent_experiments.studies.open_questions import ACCURACY, DECAY
from solvent_experiments.studies.study import Arm, Play
from solvent_experiments.studies.verdicts import Finding, Score

TITLE = "Transfer between rules"
CLAIM = (
    "A policy that learnt under enforced debt loses less than 1 bit under other enforced rules against one that "
    "learnt there, and one that learnt with debt of no consequence loses more than 1 bit once it is enforced."
)
REFUTED_BY = (
    "A loss between enforced rules whose interval lies wholly above 1 bit, or one of the contaminated wholly "
    "below."
)
SWEEP = (ENFORCED, STRICT, DECAY, ACCURACY, CONTAMINATED)
RULES: Mapping[str, tuple[str, Any]] = {
    "as it is": ("default", {}),
    "threshold 1 bit": ("threshold_1", STRICT.params),
    "sensitivity 0.5": ("sensitivity_0.5", {"debt": {"sensitivity": 0.5}}),
    "two-tier inflation": ("two_tier", {"debt": {"inflation": "two_tier"}}),
    "the source's": ("source", {"debt": {"calibration_cap": None, "reserve": False}}),
    "debt only tracked": ("contaminated", CONTAMINATED.params),
}
"""Labels of the rules in the figure, with their name and parameters."""
NATIVE = {"as it is": ENFORCED, "threshold 1 bit": STRICT}
LOSS = 1.0  # bits


def _name(arm: Arm, rules: str) -> str:
    return f"{arm.name}_in_{RULES[rules][0]}"


PLAYS = tuple(
    Play(_name(arm, rules), RULES[rules][1], arm=arm, episodes=1000) for arm in SWEEP for rules in RULES
)


def groups(data: StudyData, arm: Arm, rules: str) -> list[Any]:
    """Return the returns of an arm's policies under some rules, by seed."""
    return data.play_groups(_name(arm, rules), "return")


def loss(data: StudyData, arm: Arm, rules: str) -> Interval:
    """Return the deficit in bits of an arm's policies against those that learnt under the rules played."""
    return difference(groups(data, arm, rules), groups(data, NATIVE[rules], rules), middle=True)


def score(data: StudyData) -> Score:
    """Return the losses against the policies that learnt under the rules played."""
    findings = []
    for rules, native in NATIVE.items():
        for arm in SWEEP[:-1]:
            if arm is not native:
                found = loss(data, arm, rules)
                room = Interval(LOSS - found.value, LOSS - found.high, LOSS - found.low)
                findings.append(Finding(f"{arm.says} plays {rules}: 1 bit less its loss", room, "bits", 1))
    for rules in NATIVE:
        found = loss(data, CONTAMINATED, rules)
        beyond = Interval(found.value - LOSS, found.low - LOSS, found.high - LOSS)
        findings.append(Finding(f"{CONTAMINATED.says} plays {rules}: loss beyond 1 bit", beyond, "bits", 1))
    rows = [
        {"learnt under": arm.says, **{rules: shown(interval(groups(data, arm, rules))) for rules in RULES}}
        for arm in SWEEP
    ]
    return Score(tuple(findings), {"Return (IQM, bits) under the rules of the column": rows}, NOTES)


NOTES = (
    (
        "Under rules where debt is only tracked it is not settled: that column's returns are not comparable "
        "with the others."
    ),
    (
        "The source's rules are those as they are, without the cap on the inflation of calibrations and "
        "without the reserve."
    ),
)


def figure(data: StudyData) -> Figure:
    """Draw the matrix of rules learnt (rows) and played (columns), darker further behind the column's best."""
    found = [[interval(groups(data, arm, rules)) for rules in RULES] for arm in SWEEP]
    table = np.array([[cell.value for cell in row] for row in found])
    behind = table.max(axis=0, keepdims=True) - table
    darkest = max(1.0, float(behind.max()))
    drawn = new_figure(2.9)
    axes = drawn.subplots()
    axes.imshow(behind, cmap="Blues", vmin=0, vmax=1.3 * darkest, aspect="auto")
    for (row, column), value in np.ndenumerate(table):
        half = (found[row][column].high - found[row][column].low) / 2
        colour = "white" if behind[row, column] > 0.7 * darkest else INK
        text = f"{signed(float(value), 1)}\n\N{PLUS-MINUS SIGN}{half:.1f}"
        axes.text(column, row, text, ha="center", va="center", color=colour, fontsize=6.5, linespacing=0.95)
    axes.set_xticks(range(len(RULES)), list(RULES), rotation=35, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(SWEEP)), [LEARNT[arm.name] for arm in SWEEP])
    axes.grid(visible=False)
    axes.tick_params(length=0)
    axes.set_xlabel(
        "plays under\nreturn (IQM, bits), half of its interval\ndarker: further behind the column's best"
    )
    axes.set_title("learnt under", loc="left", x=-0.28, pad=3)
    return drawn


LEARNT = {
    "enforced": "as it is",
    "threshold_1": "threshold 1",
    "decay": "decay 5 %",
    "accuracy": "accuracy 0.5",
    "contaminated": "only tracked",
}
"""Labels of the arms in the figure."""
