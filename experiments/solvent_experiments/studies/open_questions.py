"""The source's open questions, one arm each: debt carried over, bankruptcy reset, decay, repayment for accuracy.

*Should debt persist across episodes? Should there be a "bankruptcy" reset? Should accurate claims reduce debt? Or
only time-based decay?* Debt that is carried over is measured in careers of eight consecutive episodes. The learner
looks no further than an episode's end.
"""

from __future__ import annotations

from solvent_experiments.studies.study import ENFORCED, Arm, Compare, Play, Study

CARRY = Arm("carry", "debt carried over", params={"debt": {"carry_debt": True}})
RESET = Arm("reset", "bankruptcy resets", params={"debt": {"bankruptcy": "reset"}})
DECAY = Arm("decay", "decay of 5 % per heartbeat", params={"debt": {"decay_per_heartbeat": 0.05}})
ACCURACY = Arm("accuracy", "accuracy repays 0.5", params={"debt": {"repay_for_accuracy": 0.5}})
CAREERS = {
    arm.says: Play(f"careers_{arm.name}", arm.params, arm=arm, record="careers", episodes=800)
    for arm in (ENFORCED, CARRY)
}

STUDY = Study(
    title="The source's open questions",
    claim="Debt that is carried over is kept lower than debt that is settled; a bankruptcy reset, decay and repayment "
    "for accuracy each raise overclaiming, and the latter two lower calibrations.",
    compares=(
        Compare(
            "debt carried over: overclaimed, in careers", "bits per episode", CAREERS[CARRY.says], "debt_added",
            CAREERS[ENFORCED.says], expected=-1, matters=0.1, where=("settled_in", 1),
        ),
        *(
            Compare(f"{a.says}: overclaimed", "bits per episode", a, "debt_added", ENFORCED, expected=1, matters=0.1)
            for a in (RESET, DECAY, ACCURACY)
        ),
        *(
            Compare(f"{a.says}: calibrations", "per episode", a, "calibrations", ENFORCED, expected=-1, matters=0.25)
            for a in (DECAY, ACCURACY)
        ),
        *(
            Compare(f"{a.says}: return", "bits", a, "return", ENFORCED, matters=0.25, middle=True)
            for a in (RESET, DECAY, ACCURACY)
        ),
    ),
    rows=CAREERS,
    columns=("owed_before", "debt_added", "debt_repaid", "beats_over_threshold", "accepted", "published_bits"),
    notes=("Debt that is carried over is never settled, so returns of that arm leave it out.",),
)  # fmt: skip
