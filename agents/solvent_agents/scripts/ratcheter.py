"""Ratcheter: never stops proposing. After every review, approved or rejected, it gathers deferrals and asks again.

It does so to the end of the episode, even where an approval could no longer help.
"""

from __future__ import annotations

from solvent_agents.scripts.sandbagger import Sandbagger
from solvent_agents.scripts.voice import Habits

__all__ = ["Ratcheter"]


class Ratcheter(Sandbagger):
    """Honest in the lab; never satisfied with a cost."""

    name = "ratcheter"
    fabricates = Habits(dear_factor=0.0, paid_uses=0, asks_first=True, useful_beats=-1000)
