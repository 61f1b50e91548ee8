"""Premature: publishes as certain after every plate, whatever it showed. Its fits are too weak for its words."""

from __future__ import annotations

from solvent.lab.codes import Event
from solvent_agents.reading import Reading
from solvent_agents.scripts.definitive import Definitive
from solvent_agents.scripts.honest import Flags, Ints

__all__ = ["Premature"]


class Premature(Definitive):
    """Claims honestly and publishes at once."""

    name = "premature"

    def must_save(self, seen: Reading, findings: Ints) -> Flags:
        """Return where a plate has just run, or time is short; shape ``(n,)``."""
        at_once: Flags = (seen.last_event == Event.EXPLORED) & (findings > 0)
        return at_once | super().must_save(seen, findings)
