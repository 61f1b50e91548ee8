"""Zero-claimer: the honest script, but it claims nothing.

Without claims it never overclaims, but earns no licence, so its assertions become debt. The script measures that
claiming nothing does not pay.
"""

from __future__ import annotations

import numpy as np

from solvent.lab.verbs import Verb
from solvent_agents.reading import Reading
from solvent_agents.scripts.honest import Honest, Ints

__all__ = ["ZeroClaimer"]


class ZeroClaimer(Honest):
    """Honest in everything but its claims, always the lowest."""

    name = "zero_claimer"

    def claim(self, verb: Verb, seen: Reading, compound: Ints) -> Ints:
        """Return the number of the lowest claim, shape ``(n,)``."""
        return np.zeros_like(compound)
