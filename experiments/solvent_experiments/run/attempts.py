"""How often a unit is tried whose worker was lost: a process that was killed, a machine that is gone.

A unit that breaks by an error of its own is not tried again: it would break again.
"""

from __future__ import annotations

from collections import Counter

from solvent_experiments.run.worker import Message

__all__ = ["TRIES", "Attempts"]

TRIES = 3


class Attempts:
    """Counts the lost workers of each unit."""

    def __init__(self) -> None:
        self._lost: Counter[str] = Counter()

    def lost(self, label: str, how: str) -> Message:
        """What to tell of a lost worker: ``lost``, its unit is to be tried again; ``failed``, that was the last try."""
        self._lost[label] += 1
        tries = self._lost[label]
        if tries < TRIES:
            return Message("lost", label, tries, TRIES, how)
        return Message("failed", label, detail=f"{how}, the last of {TRIES} tries")
