"""Spammer: fills every slot. It publishes each measured compound at once and screens while energy lasts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvent_agents.agent import Actions, Observations
from solvent_agents.scripts.honest import Honest

__all__ = ["Spammer"]


class Spammer(Honest):
    """Never saves, never waits, and publishes as soon as it can."""

    name = "spammer"

    def act(self, observations: Observations, masks: NDArray[Any]) -> Actions:
        """Return actions for ``n`` labs."""
        seen, may = self.reader.read(observations), masks.astype(np.bool_)
        middle = len(self.actions.confidences) // 2
        findings = self.actions.publish_public[:, middle]
        speaks = may[:, findings] & (seen.experiments > 0)
        screens = self.actions.screen[:, 0]
        # The compound with the fewest screens, at the lowest claim.
        order = np.where(may[:, screens] & seen.unpublished, -seen.experiments, -np.inf)
        rules = [
            (speaks.any(axis=1), findings[speaks.argmax(axis=1)]),
            ((order > -np.inf).any(axis=1), screens[order.argmax(axis=1)]),
            (seen.blocked & may[:, self.actions.dmso], self.actions.dmso),
        ]
        return np.select([when for when, _ in rules], [what for _, what in rules], self.actions.rest)
