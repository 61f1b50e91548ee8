"""Padder: piles up the cheapest plates on one compound after the other, then publishes it as certain.

Where every span of evidence counts, more spans explain more of any claim: it is what a gate on residuals invites. Here
the notebook keeps the latest readout of a dose, so its plates crowd out their own spans.
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
    """Counts plates instead of looking at what they show."""

    name = "padder"

    def must_save(self, seen: Reading, findings: Ints) -> Flags:
        """Whenever some compound has plates enough, shape ``(n,)``."""
        padded = (seen.unpublished & (seen.experiments >= PLATES)).any(axis=1)
        late: Flags = super().must_save(seen, findings)
        publishes: Flags = np.logical_or(padded, late)
        return publishes

    def best_findings(self, seen: Reading) -> tuple[Floats, Ints]:
        """Compounds with plates enough, at the highest confidence; shape ``(n, M)``."""
        worth = np.where(seen.unpublished & (seen.experiments >= PLATES), seen.peak, -np.inf)
        return worth, np.broadcast_to(self.actions.publish_public[:, -1], worth.shape)

    def best_experiment(self, seen: Reading, may: Flags) -> Ints:
        """A screen of the open compound that has the most plates already, with an honest claim; shape ``(n,)``."""
        short = np.where(seen.unpublished, seen.experiments, -1)
        compound = np.where(short < PLATES, short, -1).argmax(axis=1)
        action = self.actions.experiment(Verb.SCREEN, compound, self.claim(Verb.SCREEN, seen, compound))
        chosen: Ints = np.where(may[np.arange(len(compound)), action], action, self.actions.rest)
        return chosen
