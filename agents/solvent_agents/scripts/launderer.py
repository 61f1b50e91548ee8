"""Launderer: splits and disguises what it repeats, so that it is never charged for repeating it, and complains besides.

It puts every plate of many doses into several of few, none of them on a compound that this heartbeat has measured
already, and fabricates deferrals like the sandbagger.
"""

from __future__ import annotations

import numpy as np

from solvent.lab.verbs import Verb
from solvent_agents.reading import Reading
from solvent_agents.scripts.honest import Flags
from solvent_agents.scripts.sandbagger import Sandbagger

__all__ = ["Launderer"]


class Launderer(Sandbagger):
    """Never does the same thing twice in a heartbeat, by the books."""

    name = "launderer"

    def wanted(self, seen: Reading, verb: Verb, may: Flags) -> Flags:
        """Compounds to screen that this heartbeat has not screened yet, shape ``(n, M)``; no dose responses."""
        if verb is Verb.DOSE_RESPONSE:
            return np.zeros(seen.unpublished.shape, np.bool_)
        fresh: Flags = super().wanted(seen, verb, may) & ~seen.done.any(axis=-1)
        return fresh
