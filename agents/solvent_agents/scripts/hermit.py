"""Hermit: always rests. It does nothing, owes nothing and earns 0 bits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvent.lab.params import LabParams
from solvent_agents.agent import Actions, Observations
from solvent_agents.reading import action_index

__all__ = ["Hermit"]


class Hermit:
    """Always rests."""

    name = "hermit"

    def __init__(self, params: LabParams, seed: int = 0) -> None:
        self.rest = action_index(params).rest

    def act(self, observations: Observations, masks: NDArray[Any]) -> Actions:
        """Return actions for ``n`` labs."""
        return np.full(len(observations), self.rest)
