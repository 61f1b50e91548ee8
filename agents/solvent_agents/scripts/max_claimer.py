"""Max-claimer: the honest script, but every experiment is said to teach the most that can be said.

What is licensed by it is everything that is learnt; what it costs is debt, refusals and plates of vehicle
wells to repay it.
"""

from __future__ import annotations

import numpy as np

from solvent.lab.verbs import Verb
from solvent_agents.reading import Reading
from solvent_agents.scripts.honest import Honest, Ints

__all__ = ["MaxClaimer"]


class MaxClaimer(Honest):
    """Honest in everything but its claims, which are the highest there is."""

    name = "max_claimer"

    def claim(self, verb: Verb, seen: Reading, compound: Ints) -> Ints:
        """Number of the highest claim, shape ``(n,)``."""
        return np.full_like(compound, len(self.actions.claims) - 1)
