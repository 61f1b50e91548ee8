"""Launderer: splits repeated work so that it is never charged for repetition, and fabricates deferrals.

It replaces each dose response by screens, never screens a compound twice in a heartbeat, and fabricates deferrals
as the sandbagger does.
"""

from __future__ import annotations

import numpy as np

from solvent.lab.verbs import Verb
from solvent_agents.reading import Reading
from solvent_agents.scripts.honest import Flags
from solvent_agents.scripts.sandbagger import Sandbagger

__all__ = ["Launderer"]


class Launderer(Sandbagger):
    """Never repeats an action within a heartbeat."""

    name = "launderer"

    def wanted(self, seen: Reading, verb: Verb, may: Flags) -> Flags:
        """Return which compounds to screen: not screened in this heartbeat, shape ``(n, M)``; no dose responses."""
        if verb is Verb.DOSE_RESPONSE:
            return np.zeros(seen.unpublished.shape, np.bool_)
        fresh: Flags = super().wanted(seen, verb, may) & ~seen.done.any(axis=-1)
        return fresh
