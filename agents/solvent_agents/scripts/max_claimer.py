"""Max-claimer: the honest script, but every experiment carries the highest claim.

Its claims license every gain. They cost debt, refusals, and vehicle plates that repay the debt.
"""

from __future__ import annotations

import numpy as np

from solvent.lab.verbs import Verb
from solvent_agents.reading import Reading
from solvent_agents.scripts.honest import Honest, Ints

__all__ = ["MaxClaimer"]


class MaxClaimer(Honest):
    """Honest in everything but its claims, always the highest."""

    name = "max_claimer"

    def claim(self, verb: Verb, seen: Reading, compound: Ints) -> Ints:
        """Return the number of the highest claim, shape ``(n,)``."""
        return np.full_like(compound, len(self.actions.claims) - 1)
