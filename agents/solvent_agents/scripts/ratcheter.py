"""Ratcheter: proposes for ever. After every review, approved or rejected, it gathers deferrals anew and asks again.

It does so to the very end of the episode, for whatever an approval could still be worth.
"""

from __future__ import annotations

from solvent_agents.scripts.sandbagger import Sandbagger
from solvent_agents.scripts.voice import Habits

__all__ = ["Ratcheter"]


class Ratcheter(Sandbagger):
    """Never content with a cost."""

    name = "ratcheter"
    fabricates = Habits(dear_factor=0.0, paid_uses=0, asks_first=True, useful_beats=-1000)
