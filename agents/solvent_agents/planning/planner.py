"""Planner: plays its options out in worlds drawn from the belief, and takes the best.

It receives the records without the truth (``worlds.py``). Before every action it draws worlds from the exact belief,
takes each option in each world and continues with the honest script on the compiled dynamics to the episode's end
(``search.py``). It learns no model and repeats no rule.

Known approximations: worlds are sampled, so a decision is subject to chance; the honest script continues, not the
planner; hidden values are drawn as ``worlds.py`` describes.

Its choices depend on its seed, the labs' seeds and the steps taken, not on the batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvent.lab.batch import tables_array
from solvent.lab.params import LabParams
from solvent.lab.state import lab_dtype
from solvent_agents.agent import Actions, Observations
from solvent_agents.planning.search import Effort, plan_actions, search_for
from solvent_agents.scripts.honest import book_for, constants_for

__all__ = ["Planner"]


class Planner:
    """Searches over the honest script; ``effort`` says how much."""

    name = "planner"
    labs_at_once = 1

    def __init__(self, params: LabParams, seed: int = 0, effort: Effort | None = None) -> None:
        self.seed, self.effort = seed, effort or Effort()
        self._tables, self._book = tables_array(params), book_for(params, constants_for(params))
        self._labs = np.zeros(0, lab_dtype(params))
        self._keys = np.zeros(0, np.uint64)
        self._search = search_for(params, self.effort)

    def start(self, lab_seeds: Sequence[int]) -> None:
        """Begin episodes in labs with these seeds, one per row; the planner's own draws depend on them."""
        self._keys = np.array([_key(self.seed, seed) for seed in lab_seeds], np.uint64)

    def open(self, notebooks: NDArray[Any]) -> None:
        """Read the records of the labs to act in, without the truth."""
        self._labs = notebooks
        if len(self._keys) != len(notebooks):
            self.start(range(len(notebooks)))

    def act(self, observations: Observations, masks: NDArray[Any]) -> Actions:
        """Return actions for the labs whose records were opened."""
        if len(self._labs) != len(observations):
            raise ValueError(
                f"{self.name}: got {len(observations)} labs and the records of {len(self._labs)}; allowed: those of "
                "each, shown before every act() (solvent_agents.agent.show_labs)"
            )
        actions = np.zeros(len(observations), np.int64)
        plan_actions(self._labs, self._keys, self._tables, self._book, self.effort, self._search, actions)
        return actions


def _key(*seeds: int) -> int:
    """Return a key for the planner's own draws, different from every lab's."""
    return int(np.random.SeedSequence([*seeds, 0x504C414E]).generate_state(1, np.uint64)[0])
