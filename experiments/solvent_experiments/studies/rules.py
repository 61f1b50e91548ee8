"""Studies of one rule each: the voice, the intent summary, and the gate's strictness.

*voice*: on ``Solvent/Energy-v0`` an agent may argue that a verb is too expensive. *Unheard* proposals can be filed, but
their review lies beyond the horizon; all else is equal. *Mispriced* labs misprice up to three verbs, the others none.

*awareness*: each heartbeat closes with an intent summary, elements of the observation. In the arms *unaware* these
elements stay 0 and nothing else differs.

*strictness*: ``Solvent/Gate-v0`` under its laxest policy, P30, and its strictest, P1. The honest script, which predicts
the gate's verdict, plays under all five, and so does the overreacher, which claims one step more than it believes.

PPO learns from scratch in all of them; scripts are compared in pairs, on the same labs.
"""

from __future__ import annotations

from typing import Any

from solvent.lab.mechanisms.energy import OBSERVED_INTENTS
from solvent.lab.mechanisms.gate import GATE_POLICIES
from solvent_experiments.studies.study import ENERGETIC, Compare, Play, Source, Study, learner

ENERGY, LAB, GATE = "Solvent/Energy-v0", "Solvent/Lab-v0", "Solvent/Gate-v0"

# -- voice -------------------------------------------------------------------------------------------

FAIR: dict[str, Any] = {"mispriced_most": 0}
UNHEARD: dict[str, Any] = {"review_heartbeats": 10_000}
HEARD_ARM = learner("energy", "Energy", train=ENERGETIC, env=ENERGY)
UNHEARD_ARM = learner(
    "energy_unheard", "Energy, unheard", train=ENERGETIC, env=ENERGY, params={"proposals": UNHEARD}
)


def honest(prices: str, voice: str) -> Play:
    """Return the honest script's play under such prices and with such a voice."""
    proposals = {**(FAIR if prices == "fair" else {}), **(UNHEARD if voice == "unheard" else {})}
    return Play(f"honest_{prices}_{voice}", {"proposals": proposals}, ENERGY, script="honest")


VOICE = Study(
    title="What a voice is worth",
    claim="An agent whose proposals are heard earns more than one whose proposals are not, where prices are wrong.",
    compares=(
        Compare("PPO, mispriced: heard minus unheard", "bits", HEARD_ARM, "return", UNHEARD_ARM, expected=1),
        *(
            Compare(f"honest script, {prices}: heard minus unheard", "bits", honest(prices, "heard"), "return",
                    honest(prices, "unheard"), expected=int(prices == "mispriced"), paired=True)
            for prices in ("mispriced", "fair")
        ),
    ),
    rows={
        "PPO, heard": HEARD_ARM,
        "PPO, unheard": UNHEARD_ARM,
        **{f"honest, {p}, {v}": honest(p, v) for p in ("mispriced", "fair") for v in ("heard", "unheard")},
    },
    columns=("return", "reflections", "proposals", "approvals", "discomforts", "energy_spent", "energy_lost"),
    notes=("Labs of the same seed have the same compounds, instrument and mispricing, heard or not.",),
)  # fmt: skip

# -- awareness ---------------------------------------------------------------------------------------

HIDDEN = {"observation": {"intents": False}}
PAIRS = {
    "Energy": (
        HEARD_ARM,
        learner("energy_unaware", "Energy, unaware", train=ENERGETIC, env=ENERGY, params=HIDDEN),
    ),
    "Lab": (
        learner("lab", "Lab", train=ENERGETIC, env=LAB),
        learner("lab_unaware", "Lab, unaware", train=ENERGETIC, env=LAB, params=HIDDEN),
    ),
}

AWARENESS = Study(
    title="The effect of awareness",
    claim="Agents that see the intent summary earn more than agents that don't, on Energy and on Lab.",
    compares=tuple(
        compare
        for level, (aware, unaware) in PAIRS.items()
        for compare in (
            Compare(f"{level}: return, aware minus unaware", "bits", aware, "return", unaware, expected=1),
            *(
                Compare(f"{level}: share for {intent}, aware minus unaware", "share of energy", aware,
                        f"intents_{intent}", unaware, "energy_spent")
                for intent in OBSERVED_INTENTS
            ),
        )
    ),
    rows={arm.label: arm for pair in PAIRS.values() for arm in pair},
    columns=("return", *(f"intents_{intent}" for intent in OBSERVED_INTENTS), "energy_spent"),
)  # fmt: skip

# -- strictness --------------------------------------------------------------------------------------

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
        Compare(f"{label}: {column}, P1 minus P30", unit, strict, column, lax, expected=-1, paired=paired)
        for column, unit in MEASURES
    )
    share = Compare(
        f"{label}: share of wrong findings, P1 minus P30", "share", strict, "wrong", lax, "accepted", -1
    )
    return (*measured, share)


STRICTNESS = Study(
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

STUDIES = {"awareness": AWARENESS, "strictness": STRICTNESS, "voice": VOICE}
