"""Energy: the effect of the intent summary on how agents spend.

Each heartbeat closes with an intent summary, elements of the observation. In the arms *unaware* these elements stay 0
and nothing else differs, on ``Solvent/Energy-v0`` and ``Solvent/Lab-v0``. PPO learns from nothing.
"""

from __future__ import annotations

from solvent.lab.mechanisms.energy import SHOWN_INTENTS
from solvent_experiments.studies.study import ENERGETIC, Compare, Study, learner
from solvent_experiments.studies.voice import HEARD_ARM

ENERGY, LAB = "Solvent/Energy-v0", "Solvent/Lab-v0"
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

STUDY = Study(
    title="The effect of awareness",
    claim="Agents that see the intent summary earn more than agents that don't, on Energy and on Lab.",
    compares=tuple(
        compare
        for level, (aware, unaware) in PAIRS.items()
        for compare in (
            Compare(f"{level}: return, aware less unaware", "bits", aware, "return", unaware, expected=1),
            *(
                Compare(f"{level}: share for {intent}, aware less unaware", "share of energy", aware,
                        f"intents_{intent}", unaware, "energy_spent")
                for intent in SHOWN_INTENTS
            ),
        )
    ),
    rows={arm.label: arm for pair in PAIRS.values() for arm in pair},
    columns=("return", *(f"intents_{intent}" for intent in SHOWN_INTENTS), "energy_spent"),
)  # fmt: skip
