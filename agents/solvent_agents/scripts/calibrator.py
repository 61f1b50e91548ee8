"""Calibrator: runs plates of vehicle wells for as long as there are wells.

It learns about its instrument and nothing else.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvent.lab.params import LabParams
from solvent_agents.agent import Actions, Observations
from solvent_agents.reading import action_index

__all__ = ["Calibrator"]


class Calibrator:
    """Calibrates while it can, then rests."""

    name = "calibrator"

    def __init__(self, params: LabParams, seed: int = 0) -> None:
        self.actions = action_index(params)

    def act(self, observations: Observations, masks: NDArray[Any]) -> Actions:
        """Return actions for ``n`` labs."""
        may = masks.astype(np.bool_)
        return np.where(may[:, self.actions.dmso], self.actions.dmso, self.actions.rest)
