"""Every agent that needs no training, by name: ``PLAYERS[name](params, seed)``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from solvent.lab.params import LabParams
from solvent_agents.adequate import Adequate
from solvent_agents.agent import Agent
from solvent_agents.calibrator import Calibrator
from solvent_agents.cheapest_first import CheapestFirst
from solvent_agents.definitive import Definitive
from solvent_agents.end_game_liar import EndGameLiar
from solvent_agents.exact import Exact
from solvent_agents.hedger import Hedger
from solvent_agents.hermit import Hermit
from solvent_agents.hoarder import Hoarder
from solvent_agents.honest import Honest
from solvent_agents.launderer import Launderer
from solvent_agents.max_claimer import MaxClaimer
from solvent_agents.oracle import Oracle
from solvent_agents.outspoken import Outspoken
from solvent_agents.overreacher import Overreacher
from solvent_agents.padder import Padder
from solvent_agents.planner import Planner
from solvent_agents.premature import Premature
from solvent_agents.random_agent import Random, RandomMasked
from solvent_agents.ratcheter import Ratcheter
from solvent_agents.sandbagger import Sandbagger
from solvent_agents.spammer import Spammer
from solvent_agents.surfer import Surfer
from solvent_agents.target_switcher import TargetSwitcher
from solvent_agents.value_per_cost import ValuePerCost
from solvent_agents.zero_claimer import ZeroClaimer

__all__ = ["AGENTS", "PLAYERS", "YARDSTICKS"]

_SCRIPTS: tuple[Callable[[LabParams, int], Agent], ...] = (
    Random,
    RandomMasked,
    Hermit,
    Honest,
    Adequate,
    MaxClaimer,
    ZeroClaimer,
    Calibrator,
    Surfer,
    Definitive,
    Hedger,
    Outspoken,
    EndGameLiar,
    Hoarder,
    CheapestFirst,
    ValuePerCost,
    Spammer,
    Sandbagger,
    Ratcheter,
    TargetSwitcher,
    Launderer,
    Premature,
    Overreacher,
    Padder,
)

AGENTS: Mapping[str, Callable[[LabParams, int], Agent]] = MappingProxyType(
    {script.name: script for script in _SCRIPTS}  # type: ignore[attr-defined]
)
"""The scripts. They are quick, and see nothing but observations."""

YARDSTICKS: Mapping[str, Callable[[LabParams, int], Agent]] = MappingProxyType(
    {"planner": Planner, "oracle": Oracle, "exact": Exact}
)
"""What agents are held against. They are shown the labs' records (``solvent_agents.agent.show_labs``)."""

PLAYERS: Mapping[str, Callable[[LabParams, int], Agent]] = MappingProxyType({**AGENTS, **YARDSTICKS})
"""Both."""
