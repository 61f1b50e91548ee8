"""How agents play: scripts on every level, shipped policies, and those that plan."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from solvent import ENVIRONMENTS, preset
from solvent_agents import rollout
from solvent_agents.learning.learned import LearnedAgent
from solvent_agents.learning.shipped import shipped_policies
from solvent_agents.registry import AGENTS, PLAYERS
from tests.yardstick.digest import of

LEVELS = ("Debt", "Energy", "Gate", "Frontier", "Lab", "Tiny")
SEEDS = range(10_000, 10_032)  # the evaluation's first ones


def plays(make: Callable[[Any], Any], env_id: str, seeds: range = SEEDS) -> dict[str, Any]:
    """Return digests of an agent's actions and of all columns of its episodes, and its mean return."""
    params = preset(ENVIRONMENTS[env_id]["preset"])
    episodes = rollout.episodes(make(params), params, seeds, trace=True)
    actions = np.nan_to_num(episodes.pop("trace")["action"], nan=-2.0).astype(int)
    return {
        "actions": of(actions.tolist()),
        "columns": of({name: np.asarray(column).tolist() for name, column in episodes.items()}),
        "return": round(float(episodes["return"].mean()), 6),
    }


def script(name: str, level: str, seeds: range = SEEDS) -> dict[str, Any]:
    return plays(lambda params: PLAYERS[name](params, 0), f"Solvent/{level}-v0", seeds)


def policies() -> dict[str, Any]:
    shipped = shipped_policies().items()
    return {name: plays(partial(LearnedAgent.load, path), name.partition(":")[2]) for name, path in shipped}


def agents() -> dict[str, Any]:
    result = {f"{name} {level}": script(name, level) for name in AGENTS for level in LEVELS} | policies()
    result["exact Tiny"] = script("exact", "Tiny")
    result["notebook Data"] = script("notebook", "Data")
    return result | {f"planner {level}": script("planner", level, SEEDS[:3]) for level in ("Debt", "Lab")}
