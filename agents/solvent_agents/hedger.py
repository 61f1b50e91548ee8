"""Hedger: the honest script, but whatever it publishes it publishes with the weakest words."""

from __future__ import annotations

import numpy as np

from solvent_agents.honest import Floats, Honest, Ints
from solvent_agents.reading import Reading

__all__ = ["Hedger"]


class Hedger(Honest):
    """Honest in everything but its confidence, which is the lowest there is: never wrong by much, never of much use."""

    name = "hedger"

    def best_findings(self, seen: Reading) -> tuple[Floats, Ints]:
        """Every compound that was measured, at the lowest confidence; shape ``(n, M)``."""
        worth = np.where(seen.unpublished & (seen.experiments > 0), seen.peak, -np.inf)
        actions = np.broadcast_to(self.actions.publish_public[:, 0], worth.shape)
        return worth, actions
