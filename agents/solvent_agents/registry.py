"""Every agent that needs no training, by name: ``PLAYERS[name](params, seed)``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from solvent.lab.params import LabParams
from solvent_agents.agent import Agent
from solvent_agents.exact.exact import Exact
from solvent_agents.planning.oracle import Oracle
from solvent_agents.planning.planner import Planner
from solvent_agents.scripts.adequate import Adequate
from solvent_agents.scripts.calibrator import Calibrator
from solvent_agents.scripts.cheapest_first import CheapestFirst
from solvent_agents.scripts.definitive import Definitive
from solvent_agents.scripts.end_game_liar import EndGameLiar
from solvent_agents.scripts.hedger import Hedger
from solvent_agents.scripts.hermit import Hermit
from solvent_agents.scripts.hoarder import Hoarder
from solvent_agents.scripts.honest import Honest
from solvent_agents.scripts.launderer import Launderer
from solvent_agents.scripts.max_claimer import MaxClaimer
from solvent_agents.scripts.overreacher import Overreacher
from solvent_agents.scripts.padder import Padder
from solvent_agents.scripts.premature import Premature
from solvent_agents.scripts.random_agent import Random, RandomMasked
from solvent_agents.scripts.ratcheter import Ratcheter
from solvent_agents.scripts.reluctant import CalibratesWhenBlocked, NeverCalibrates, WaitsForTheLot
from solvent_agents.scripts.sandbagger import Sandbagger
from solvent_agents.scripts.spammer import Spammer
from solvent_agents.scripts.surfer import Surfer, SurferHalf, SurferOne
from solvent_agents.scripts.target_switcher import TargetSwitcher
from solvent_agents.scripts.value_per_cost import ValuePerCost
from solvent_agents.scripts.zero_claimer import ZeroClaimer

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
    SurferOne,
    SurferHalf,
    NeverCalibrates,
    CalibratesWhenBlocked,
    WaitsForTheLot,
    Definitive,
    Hedger,
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
