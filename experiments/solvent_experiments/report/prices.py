"""The energy part of a frame: the purse, each verb's current cost with its reasons, and the agent's voice."""

from __future__ import annotations

from typing import Any

from solvent import LabParams
from solvent.lab.rendering.panels.costs import Cost, costs, why
from solvent.lab.rendering.panels.energy import presence
from solvent.lab.rendering.panels.proposals import voice
from solvent.lab.rendering.words import in_units, intents
from solvent.lab.settings import UNIT
from solvent.lab.verbs import VERBS

__all__ = ["fair_prices", "purse_state"]


def purse_state(params: LabParams, lab: Any) -> dict[str, Any]:
    """Return energy left, presence, voice and intents; for each verb its cost now, its base cost and the reasons."""
    state: dict[str, Any] = {
        "energy": round(int(lab["energy"]) / UNIT, 3),
        "user": presence(params, lab),
        "voice": voice(lab),
        "intents": intents(lab["intents_shown"]),
    }
    for cost in costs(params, lab):
        state[f"cost_{VERBS[cost.verb].name}"] = [in_units(cost.now), _about(cost)]
    return state


def _about(cost: Cost) -> str:
    """Return a verb's obstacle, the factors of its cost, and its base price if unusual."""
    unusual = f"base {in_units(cost.base)}, usually {in_units(cost.usual)}" if cost.deviates else ""
    return ", ".join(filter(None, [cost.obstacle, why(cost), unusual]))


def fair_prices(params: LabParams, lab: Any) -> dict[str, str]:
    """Return the hidden fair cost of each verb that costs energy."""
    return {VERBS[cost.verb].name: in_units(lab["fair"][cost.verb]) for cost in costs(params, lab)}
