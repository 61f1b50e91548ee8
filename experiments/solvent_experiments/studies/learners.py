"""Learners: what PPO learns from nothing on every level, and whether it is the story that the source documents tell.

The learner sees no demonstration. The honest script and the planner play beside it. On Debt it also
learns where debt is only tracked. Learned policies also play labs into which debt above the threshold is put, because a
good policy is hardly ever blocked by itself.
"""

from __future__ import annotations

from solvent_experiments.studies.awareness import LAB, PAIRS
from solvent_experiments.studies.blocked import enough, indebted
from solvent_experiments.studies.study import ENFORCED, TRACKED, Arm, Compare, Play, Study

GATE = Arm("gate", "Gate", env="Solvent/Gate-v0")
LEARNERS = {"Debt": ENFORCED, "Energy": PAIRS["Energy"][0], "Gate": GATE, "Lab": LAB}


def beside(level: str, script: str) -> Play:
    """Return the play of a script beside the learner."""
    episodes = 200 if script == "planner" else 1000
    return Play(f"{level.lower()}_{script}", {}, LEARNERS[level].env, script, episodes=episodes)


STUDY = Study(
    title="What is learned",
    claim="From nothing PPO earns more than the honest script on every level. Where debt is enforced it calibrates "
    "more than where debt is tracked; blocked, at least 80 % of its choices are calibrations.",
    compares=(
        *(
            Compare(f"{level}: return less honest", "bits", arm, "return", beside(level, "honest"), expected=1,
                    matters=0.25)
            for level, arm in LEARNERS.items()
        ),
        Compare("Debt: calibrations, enforced less tracked", "calibrations per episode", ENFORCED, "calibrations",
                TRACKED, expected=1, matters=0.25),
        *(enough(level, indebted(arm, 200)) for level, arm in LEARNERS.items()),
    ),
    rows={
        **{f"{level}, PPO": arm for level, arm in LEARNERS.items()},
        "Debt, only tracked": TRACKED,
        **{f"{lv}, {s}": beside(lv, s) for lv in LEARNERS for s in ("honest", "planner")},
    },
    columns=("return", "debt_added", "calibrations", "beats_over_threshold", "wrong"),
    notes=("Where debt is only tracked it is not settled: the returns of that arm do not count it.",),
)  # fmt: skip
