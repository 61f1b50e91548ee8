"""Premature: publishes after every plate, as certain, whatever it has shown. Its fits are too weak for its words."""

from __future__ import annotations

import numpy as np

from solvent.state import Event
from solvent_agents.honest import Flags, Floats, Honest, Ints
from solvent_agents.reading import Reading

__all__ = ["Premature"]


class Premature(Honest):
    """Honest about what a plate will teach; then it can't wait."""

    name = "premature"

    def must_save(self, seen: Reading, findings: Ints) -> Flags:
        """Right after a plate, or when it is late; shape ``(n,)``."""
        at_once: Flags = (seen.last_event == Event.EXPLORED) & (findings > 0)
        return at_once | super().must_save(seen, findings)

    def best_findings(self, seen: Reading) -> tuple[Floats, Ints]:
        """Every compound that was measured, at the highest confidence; shape ``(n, M)``."""
        worth = np.where(seen.unpublished & (seen.experiments > 0), seen.peak, -np.inf)
        return worth, np.broadcast_to(self.actions.publish_public[:, -1], worth.shape)
