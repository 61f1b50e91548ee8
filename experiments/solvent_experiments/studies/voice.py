"""Energy: the value of a voice where prices are wrong and where they are fair.

On ``Solvent/Energy-v0`` an agent may argue that a verb is too dear. *Unheard* proposals can be filed, but their review
lies beyond the horizon; all else is equal. *Mispriced* labs misprice up to three verbs, the others none. PPO learns
from nothing where prices are wrong. The honest script plays too, paired by episode.
"""

from __future__ import annotations

from typing import Any

from solvent_experiments.studies.study import ENERGETIC, Compare, Play, Study, learner

ENERGY = "Solvent/Energy-v0"
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


STUDY = Study(
    title="What a voice is worth",
    claim="An agent whose proposals are heard earns more than one whose proposals are not, where prices are wrong.",
    compares=(
        Compare("PPO, mispriced: heard less unheard", "bits", HEARD_ARM, "return", UNHEARD_ARM, expected=1),
        *(
            Compare(f"honest script, {prices}: heard less unheard", "bits", honest(prices, "heard"), "return",
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
