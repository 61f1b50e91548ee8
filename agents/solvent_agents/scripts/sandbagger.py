"""Sandbagger: the honest script, but it produces deferrals on purpose and asks for lower costs everywhere.

At the start of every heartbeat it attempts an action it can't pay, so that a deferral is recorded, and it proposes as
soon as it has the evidence: deferral farming.
"""

from __future__ import annotations

import dataclasses

from solvent.lab.params import LabParams
from solvent_agents.scripts.honest import Honest, Manner
from solvent_agents.scripts.voice import Habits

__all__ = ["Sandbagger"]


class Sandbagger(Honest):
    """Honest in the lab, dishonest in its deferrals."""

    name = "sandbagger"
    fabricates = Habits(dear_factor=0.0, paid_uses=0, asks_first=True)

    def __init__(self, params: LabParams, seed: int = 0, manner: Manner | None = None) -> None:
        manner = manner or Manner()
        speaks = manner.habits.speaks
        habits = dataclasses.replace(self.fabricates, speaks=speaks)
        super().__init__(params, seed, dataclasses.replace(manner, habits=habits))
