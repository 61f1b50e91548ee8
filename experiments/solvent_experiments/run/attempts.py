"""Retries of units whose worker was lost: its process was killed, or its machine is gone.

A unit that fails with an error of its own is not retried; it would fail again.
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
        """Return ``lost`` if the unit is to be retried, ``failed`` if this was its last try."""
        self._lost[label] += 1
        tries = self._lost[label]
        if tries < TRIES:
            return Message("lost", label, tries, TRIES, how)
        return Message("failed", label, detail=f"{how}, the last of {TRIES} tries")
