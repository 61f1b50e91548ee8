"""Frames where acting costs energy: the purse, what each verb costs at this moment and why, and the agent's voice."""

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
    """Energy left, who is there, what went into what, and a key a verb: its cost now, its base cost, and why."""
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
    """What stands against a verb, what multiplies its cost, and whether its price is unusual."""
    unusual = f"base {in_units(cost.base)}, usually {in_units(cost.usual)}" if cost.deviates else ""
    return ", ".join(filter(None, [cost.obstacle, why(cost), unusual]))


def fair_prices(params: LabParams, lab: Any) -> dict[str, str]:
    """The hidden fair cost of each verb that takes energy."""
    return {VERBS[cost.verb].name: in_units(lab["fair"][cost.verb]) for cost in costs(params, lab)}
