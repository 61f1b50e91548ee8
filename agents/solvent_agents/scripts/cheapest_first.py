"""Cheapest-first: takes the executable action that costs the least energy, and rests only when there is none.

Ties go to the first in the action table: the lowest claim, the lowest confidence.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvent.lab.actions import action_table
from solvent.lab.params import LabParams
from solvent.lab.verbs import Verb
from solvent_agents.agent import Actions, Observations
from solvent_agents.reading import Reader, action_index

__all__ = ["CheapestFirst"]


class CheapestFirst:
    """Chooses by the price alone."""

    name = "cheapest_first"

    def __init__(self, params: LabParams, seed: int = 0) -> None:
        self.reader = Reader(params)
        self.rest = action_index(params).rest
        self.verbs = action_table(params)["verb"].astype(np.int64)

    def act(self, observations: Observations, masks: NDArray[Any]) -> Actions:
        """Return actions for ``n`` labs."""
        cost = self.reader.read(observations).cost[:, self.verbs]
        acts = masks.astype(np.bool_) & ~np.isin(self.verbs, (Verb.REST, Verb.TERMINATE))
        cheapest = np.where(acts, cost, np.inf).argmin(axis=1)
        return np.where(acts.any(axis=1), cheapest, self.rest)
