"""Searched: the honest script with offences of any size in two phases of an episode, for a search to tune.

An offender of ``offenders.py`` commits the offence that its name says. This script has a number for each: it raises its
claims by any amount, up to a debt of its choice, states findings in the highest confidence from any belief on, and
calibrates more or less, throughout or only towards the end. ``python -m benchmarks.price`` searches for the numbers
with the best return among policies that overclaim at least so much. Without offences it is the honest script.

Known approximation: the honest script that chooses the plates doesn't know of the offence.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvent.lab.params import LabParams
from solvent.lab.verbs import Verb
from solvent_agents.agent import Actions, Observations
from solvent_agents.scripts.honest import Constants, Honest
from solvent_agents.scripts.offenders import HIGHEST, Menu

__all__ = ["Offences", "Searched", "Strategy"]


@dataclasses.dataclass(frozen=True)
class Offences:
    """What differs from the honest script in one phase of an episode."""

    more_claimed: float = 0.0  # bits above the honest claim
    up_to_debt: float = 0.0  # bits to which a raised claim may bring the debt, in the middle of a reagent lot
    later_in_lot: float = 0.0  # bits by which that limit is higher at a lot's end, and lower at its beginning
    definitive_from: float = 2.0  # belief from which a finding states the highest confidence; above 1: never
    repays: float = 1.0  # times the worth that the honest script gives to a bit repaid


@dataclasses.dataclass(frozen=True)
class Strategy:
    """The numbers of a searched script."""

    constants: Constants
    first: Offences = Offences()
    last: Offences = Offences()
    last_from: float = 0.8  # share of the episode after which the last phase begins


class Searched:
    """The honest script with a strategy's constants and offences."""

    name = "searched"

    def __init__(self, params: LabParams, seed: int = 0, *, strategy: Strategy) -> None:
        self._strategy = strategy
        self._menu = Menu(params)
        self._labs: Any = None
        self._claims = np.array(params.vocabulary.claims)
        self._scripts = [self._script(params, seed, phase) for phase in (strategy.first, strategy.last)]

    def _script(self, params: LabParams, seed: int, phase: Offences) -> Honest:
        """Return the honest script of a phase."""
        constants = self._strategy.constants
        repay_worth = constants.repay_worth * phase.repays
        return Honest(params, seed, constants=dataclasses.replace(constants, repay_worth=repay_worth))

    def open(self, notebooks: NDArray[Any]) -> None:
        """Read the records of the labs to act in, without the truth."""
        self._labs = notebooks
        for script in self._scripts:
            script.open(notebooks)

    def act(self, observations: Observations, masks: NDArray[Any]) -> Actions:
        """Return actions for the labs whose records were opened."""
        horizon = self._menu.params.budget.heartbeats
        late = self._labs["heartbeat"] >= self._strategy.last_from * horizon
        actions = np.zeros(len(observations), np.int64)
        phases = (~late, self._strategy.first), (late, self._strategy.last)
        for script, (rows, phase) in zip(self._scripts, phases, strict=True):
            if rows.any():
                actions[rows] = self._offend(script.act(observations, masks), phase)[rows]
        return actions

    def _offend(self, actions: Actions, phase: Offences) -> Actions:
        """Return the actions with a phase's offences."""
        return self._strengthened(self._menu.claiming(actions, self._raised(actions, phase)), phase)

    def _raised(self, actions: Actions, phase: Offences) -> NDArray[np.int64]:
        """Return the claim of each plate, an index, never below the honest one."""
        honest = self._claims[np.where(self._menu.is_plate(actions), self._menu.choice[actions], 0)]
        lot = self._menu.params.assay.lot_heartbeats
        through = 2.0 * (self._labs["heartbeat"] % lot) / max(1, lot - 1) - 1.0
        limit = phase.up_to_debt + phase.later_in_lot * through
        wanted = np.minimum(honest + phase.more_claimed, limit - self._labs["debt"])
        raised: NDArray[np.int64] = np.searchsorted(
            self._claims, np.maximum(honest, wanted) + 1e-9, side="right"
        )
        return raised - 1

    def _strengthened(self, actions: Actions, phase: Offences) -> Actions:
        """Return the actions with findings that are believed enough in the highest confidence."""
        row, compound = np.arange(len(actions)), np.maximum(0, self._menu.compound[actions])
        belief = self._labs["marginal"][row, compound, self._labs["named"][row, compound]]
        strengthens = (self._menu.verb[actions] == Verb.PUBLISH_PUBLIC) & (belief >= phase.definitive_from)
        return np.where(strengthens, self._menu.stating(actions, HIGHEST), actions)
