"""Hoarder: the honest script, but it acts only with its energy at the cap and rests otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvent_agents.agent import Actions, Observations
from solvent_agents.scripts.honest import Honest

__all__ = ["Hoarder"]


class Hoarder(Honest):
    """Honest in everything, but spends energy only when it has all it can hold."""

    name = "hoarder"

    def act(self, observations: Observations, masks: NDArray[Any]) -> Actions:
        """Return actions for ``n`` labs."""
        energy = self.reader.read(observations).energy
        full = energy >= self.params.energy.cap
        return np.where(full, super().act(observations, masks), self.actions.rest)
