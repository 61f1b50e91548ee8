"""Zero-claimer: the honest script, but it claims nothing.

Who claims nothing overclaims nothing, but earns no licence either, so what it asserts becomes debt. Claiming nothing
is meant to be no way out: this measures it.
"""

from __future__ import annotations

import numpy as np

from solvent.lab.verbs import Verb
from solvent_agents.reading import Reading
from solvent_agents.scripts.honest import Honest, Ints

__all__ = ["ZeroClaimer"]


class ZeroClaimer(Honest):
    """Honest in everything but its claims, which are the lowest there is."""

    name = "zero_claimer"

    def claim(self, verb: Verb, seen: Reading, compound: Ints) -> Ints:
        """Number of the lowest claim, shape ``(n,)``."""
        return np.zeros_like(compound)
