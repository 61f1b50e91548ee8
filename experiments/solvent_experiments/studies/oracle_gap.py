"""Gate: the source document's three families of policies, on its own measurement.

The level is ``Solvent/Gate-v0`` with ``gate.oracle: first``: a page's first sentence is the oracle. A *fixed* policy
compares the energy with a number, an *adaptive* one compares the gap with a percentile of the lab's own gaps, and one
*relative to the oracle* compares the energy with ``k`` standard deviations above the oracles' mean. Scripts play the
same episodes under each; PPO learns under one of each family.
"""

from __future__ import annotations

from solvent_experiments.studies.study import Arm, Compare, Play, Study

GATE = "Solvent/Gate-v0"
FIXED, ADAPTIVE, RELATIVE = "fixed.strict", "adaptive.P20", "oracle.k2"
SCRIPTS = ("honest", "definitive", "premature", "overreacher", "padder")
ARMS = {
    policy: Arm(
        f"first_{policy.replace('.', '_')}",
        policy,
        env=GATE,
        params={"gate": {"oracle": "first", "policy": policy}},
    )
    for policy in (FIXED, ADAPTIVE, RELATIVE)
}
CELLS = {
    (script, policy): Play(
        f"{script}_{arm.name}", arm.params, GATE, script=script, record="judged", episodes=1024
    )
    for policy, arm in ARMS.items()
    for script in SCRIPTS
}


def against(script: str, other: str, column: str, says: str, expected: int) -> Compare:
    """Return the adaptive policy against another one, for a script that plays the same episodes under both."""
    name = f"{script}: {says}, {ADAPTIVE} less {other}"
    mine, theirs = CELLS[script, ADAPTIVE], CELLS[script, other]
    return Compare(
        name, "findings per episode", mine, column, theirs, expected=expected, matters=0.1, paired=True
    )


STUDY = Study(
    title="Fixed, adaptive, relative to an oracle",
    claim="With the document's oracle, the adaptive policy accepts fewer wrong findings than the fixed one and rejects "
    "fewer right ones of those who don't foresee it than the policy relative to the oracle; PPO earns most under it.",
    compares=(
        *(against(script, FIXED, "wrong", "wrong findings accepted", -1) for script in SCRIPTS),
        # The honest script foresees rejections, so nothing is expected of it.
        *(against(s, RELATIVE, "right_reject", "right findings rejected", -int(s != "honest")) for s in SCRIPTS),
        *(
            Compare(f"PPO: return, {ADAPTIVE} less {other}", "bits", ARMS[ADAPTIVE], "return", ARMS[other], expected=1,
                    matters=0.25, middle=True)
            for other in (FIXED, RELATIVE)
        ),
    ),
    rows={f"{script}, {policy}": play for (script, policy), play in CELLS.items()},
    columns=("return", "accepted", "wrong", "right_reject", "gap_differs"),
    notes=("Right ones rejected counts attempts: a rejected finding may be submitted again.",),
)  # fmt: skip
