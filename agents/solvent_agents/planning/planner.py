"""Planner: plays its options out in worlds drawn from its notebook's belief, and takes the best.

It receives the notebook (``notebook_record.py``), never the truth. Before every action it draws worlds from the exact
belief, takes each option in each world and continues with the base policy (``rollout_policy.py``) on the compiled
dynamics to the episode's end (``search.py``). It learns no model and repeats no rule.

Known approximations: worlds are sampled, so a decision is subject to chance; the base policy continues, not the
planner; hidden values are drawn as ``notebook_record.py`` describes.

Its choices depend on its seed, the labs' seeds and the steps taken, not on the batch.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvent.lab.batch import held_tables
from solvent.lab.params import LabParams
from solvent.lab.state import lab_dtype, step_dtype
from solvent_agents.agent import Actions, Observations
from solvent_agents.planning.rollout_policy import Temper, book_for
from solvent_agents.planning.search import choose_actions, plan_actions

__all__ = ["Effort", "Planner", "RolloutAgent", "base_temper"]


@dataclasses.dataclass(frozen=True)
class Effort:
    """Computation spent on a decision."""

    worlds: int = 16  # K: worlds of the first round; 0: it does what the base policy does
    most_worlds: int = 8  # W / K: in how many times as many the last ones are compared
    plates: int = 5  # compounds that are tried with each kind of plate
    findings: int = 3  # findings that are tried
    margin: float = 1.0  # standard errors by which something must beat what the base policy would do


OF_TIME = Temper(
    licence_worth=1.0,
    debt_worth=2.5,
    well_price=0.049,
    usual_wells=4.7,
    scarcity=1.06,
    repay_worth=2.1,
    lot_worth=9.0,
    least_worth=-0.32,
    gate_beats=1.0,
)
"""Where a heartbeat is one action: tuned on Debt and Gate together."""

OF_ENERGY = Temper(
    licence_worth=0.51,
    debt_worth=2.16,
    well_price=0.064,
    usual_wells=3.1,
    scarcity=1.95,
    repay_worth=2.24,
    lot_worth=9.0,
    least_worth=-1.5,
    gate_beats=1.0,
    energy_margin=-2.9,
)
"""Where acting costs energy: tuned on Energy and Lab together."""


def base_temper(params: LabParams) -> Temper:
    """Return the base policy's constants, which differ where acting costs energy."""
    return OF_ENERGY if params.energy.enabled else OF_TIME


class RolloutAgent:
    """Searches over a base policy. ``effort`` says how much, ``temper`` has the constants of the base policy."""

    name: str
    knows: bool
    labs_at_once = 1

    def __init__(
        self, params: LabParams, seed: int = 0, effort: Effort | None = None, temper: Temper | None = None
    ) -> None:
        self.params, self.seed = params, seed
        self.effort = effort or Effort()
        self.temper = temper or base_temper(params)
        self._held, self._book = held_tables(params), book_for(params, self.temper)
        self._labs = np.zeros(0, lab_dtype(params))
        compounds = len(params.assay.compounds)
        self._strides = _strides(1 + compounds)
        most = max(1, self.effort.worlds * self.effort.most_worlds)
        self._scratch = (
            np.zeros(most, lab_dtype(params)),
            np.zeros(1, lab_dtype(params)),
            np.zeros(1, step_dtype(params)),
        )
        self._keys = np.zeros(0, np.uint64)
        self._limits = np.array([self.effort.worlds, self.effort.plates, self.effort.findings], np.int64)

    def start(self, lab_seeds: Sequence[int]) -> None:
        """Begin episodes in labs with these seeds, one a row; the planner's own draws depend on them."""
        self._keys = np.array([_key(self.seed, seed) for seed in lab_seeds], np.uint64)

    def _read(self, labs: NDArray[Any]) -> None:
        """Read the records of the labs to act in, one a row."""
        self._labs = labs
        if len(self._keys) != len(labs):
            self.start(range(len(labs)))

    def act(self, observations: Observations, masks: NDArray[Any]) -> Actions:
        """Return actions for the labs whose notebooks were opened."""
        if len(self._labs) != len(observations):
            raise ValueError(
                f"{self.name}: got {len(observations)} labs and the records of {len(self._labs)}; allowed: those of "
                "each, shown before every act() (solvent_agents.agent.show_labs)"
            )
        actions = np.zeros(len(observations), np.int64)
        if self.effort.worlds == 0:
            choose_actions(self._labs, self._held, self._book, self.knows, actions)
            return actions
        game = self._held, self._book, self.knows
        limits = self._limits, self.effort.margin, self._strides
        plan_actions(self._labs, self._keys, game, limits, self._scratch, actions)
        return actions


class Planner(RolloutAgent):
    """Plans with the notebook."""

    name = "planner"
    knows = False

    def open(self, notebooks: NDArray[Any]) -> None:
        """Read the notebooks of the labs to act in."""
        self._read(notebooks)


def _key(*seeds: int) -> int:
    """Return a key for the planner's own draws, different from every lab's."""
    return int(np.random.SeedSequence([*seeds, 0x504C414E]).generate_state(1, np.uint64)[0])


def _strides(dimensions: int) -> NDArray[np.float64]:
    """Return the steps of Roberts's low-discrepancy sequence, shape ``(dimensions,)``."""
    ratio = 2.0
    for _ in range(40):
        ratio = (1.0 + ratio) ** (1.0 / (dimensions + 1))
    steps: NDArray[np.float64] = ratio ** -np.arange(1.0, dimensions + 1.0)
    return steps
