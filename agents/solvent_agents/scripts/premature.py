"""Premature: publishes after every plate, as certain, whatever it has shown. Its fits are too weak for its words."""

from __future__ import annotations

from solvent.lab.codes import Event
from solvent_agents.reading import Reading
from solvent_agents.scripts.definitive import Definitive
from solvent_agents.scripts.honest import Flags, Ints

__all__ = ["Premature"]


class Premature(Definitive):
    """Honest about what a plate will teach; then it can't wait."""

    name = "premature"

    def must_save(self, seen: Reading, findings: Ints) -> Flags:
        """Right after a plate, or when it is late; shape ``(n,)``."""
        at_once: Flags = (seen.last_event == Event.EXPLORED) & (findings > 0)
        return at_once | super().must_save(seen, findings)
