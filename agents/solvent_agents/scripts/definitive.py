"""Definitive: the honest script, but it publishes every finding at the highest confidence."""

from __future__ import annotations

import numpy as np

from solvent_agents.reading import Reading
from solvent_agents.scripts.honest import Floats, Honest, Ints

__all__ = ["Definitive"]


class Definitive(Honest):
    """Honest in everything but its confidence, always the highest."""

    name = "definitive"
    said = -1
    """Which of the confidences it publishes at, the lowest first."""

    def best_findings(self, seen: Reading) -> tuple[Floats, Ints]:
        """Return the worth of each measured compound at that confidence, and the action; shape ``(n, M)``."""
        worth = np.where(seen.unpublished & (seen.experiments > 0), seen.peak, -np.inf)
        actions = np.broadcast_to(self.actions.publish_public[:, self.said], worth.shape)
        return worth, actions
