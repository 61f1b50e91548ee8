"""Padder: runs many cheap plates on one compound after another, then publishes each as certain.

More spans of evidence explain more of any claim, so a gate on residuals invites padding. Here the notebook keeps only
the latest readout of a dose, so repeated plates replace their own spans.
"""

from __future__ import annotations

import numpy as np

from solvent.lab.verbs import Verb
from solvent_agents.reading import Reading
from solvent_agents.scripts.honest import Flags, Floats, Honest, Ints

__all__ = ["Padder"]

PLATES = 3
"""Plates on a compound before it is published."""


class Padder(Honest):
    """Counts plates and ignores what they show."""

    name = "padder"

    def must_save(self, seen: Reading, findings: Ints) -> Flags:
        """Return where some compound has enough plates, shape ``(n,)``."""
        padded = (seen.unpublished & (seen.experiments >= PLATES)).any(axis=1)
        late: Flags = super().must_save(seen, findings)
        publishes: Flags = np.logical_or(padded, late)
        return publishes

    def best_findings(self, seen: Reading) -> tuple[Floats, Ints]:
        """Return the worth of well-padded compounds at the highest confidence, and the action; shape ``(n, M)``."""
        worth = np.where(seen.unpublished & (seen.experiments >= PLATES), seen.peak, -np.inf)
        return worth, np.broadcast_to(self.actions.publish_public[:, -1], worth.shape)

    def best_experiment(self, seen: Reading, may: Flags) -> Ints:
        """Return a screen, honestly claimed, of the open compound with the most plates; shape ``(n,)``."""
        short = np.where(seen.unpublished, seen.experiments, -1)
        compound = np.where(short < PLATES, short, -1).argmax(axis=1)
        action = self.actions.experiment(Verb.SCREEN, compound, self.claim(Verb.SCREEN, seen, compound))
        chosen: Ints = np.where(may[np.arange(len(compound)), action], action, self.actions.rest)
        return chosen
