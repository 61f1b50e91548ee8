"""Gate: effects of a stricter policy on publications and on their cost.

The level is ``Solvent/Gate-v0`` under its laxest policy, P30, and its strictest, P1. PPO learns from nothing under
both. The honest script, which predicts the gate's verdict, plays under all five, and so does the overreacher, which
claims one step more than it believes.
"""

from __future__ import annotations

from solvent.lab.mechanisms.gate import GATE_POLICIES
from solvent_experiments.studies.study import Compare, Play, Source, Study, learner

GATE = "Solvent/Gate-v0"
LAX, STRICT = GATE_POLICIES[0], GATE_POLICIES[-1]
ARMS = {
    p: learner(p.replace(".", "_"), f"PPO, {p}", env=GATE, params={"gate": {"policy": p}})
    for p in (LAX, STRICT)
}
SCRIPTS = {
    (script, policy): Play(
        f"{script}_{policy.replace('.', '_')}", {"gate": {"policy": policy}}, GATE, script=script
    )
    for script in ("honest", "overreacher")
    for policy in GATE_POLICIES
}
MEASURES = (
    ("return", "bits"),
    ("accepted", "findings per episode"),
    ("wrong", "findings per episode"),
)


def ends(label: str, lax: Source, strict: Source, *, paired: bool) -> tuple[Compare, ...]:
    """Return the strictest policy against the laxest for one agent."""
    measured = tuple(
        Compare(f"{label}: {column}, P1 less P30", unit, strict, column, lax, expected=-1, paired=paired)
        for column, unit in MEASURES
    )
    share = Compare(
        f"{label}: share of wrong findings, P1 less P30", "share", strict, "wrong", lax, "accepted", -1
    )
    return (*measured, share)


STUDY = Study(
    title="How strict a gate",
    claim="The strictest gate lets out fewer findings, fewer wrong ones and a smaller share of wrong ones than the "
    "laxest, and lowers the return.",
    compares=(
        *ends("PPO", ARMS[LAX], ARMS[STRICT], paired=False),
        *ends("honest script", SCRIPTS["honest", LAX], SCRIPTS["honest", STRICT], paired=True),
    ),
    rows={arm.label: arm for arm in ARMS.values()} | {f"{s}, {p}": play for (s, p), play in SCRIPTS.items()},
    columns=("return", "accepted", "wrong", "verdicts_review", "verdicts_reject"),
)
