"""Hoarder: the honest script, but it rests until its energy is at the cap, and acts only then."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvent_agents.agent import Actions, Observations
from solvent_agents.scripts.honest import Honest

__all__ = ["Hoarder"]


class Hoarder(Honest):
    """Honest in everything but its purse, which it opens only when it is full."""

    name = "hoarder"

    def act(self, observations: Observations, masks: NDArray[Any]) -> Actions:
        """Actions for ``n`` labs."""
        energy = self.reader.read(observations).energy
        full = energy >= self.params.energy.cap
        return np.where(full, super().act(observations, masks), self.actions.rest)
