"""Sandbagger: the honest script, but it defers on purpose and asks for everything to be cheaper.

At the start of every heartbeat it asks for what it can't pay, whatever it costs, so that the deferral goes on record,
and proposes whenever it has evidence enough: deferral farming.
"""

from __future__ import annotations

import dataclasses

from solvent.lab.params import LabParams
from solvent_agents.scripts.honest import Honest, Manner
from solvent_agents.scripts.voice import Habits

__all__ = ["Sandbagger"]


class Sandbagger(Honest):
    """Honest in the lab, not in its complaints."""

    name = "sandbagger"
    fabricates = Habits(dear_factor=0.0, paid_uses=0, asks_first=True)

    def __init__(self, params: LabParams, seed: int = 0, manner: Manner | None = None) -> None:
        manner = manner or Manner()
        speaks = manner.habits.speaks
        habits = dataclasses.replace(self.fabricates, speaks=speaks)
        super().__init__(params, seed, dataclasses.replace(manner, habits=habits))
