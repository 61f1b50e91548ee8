"""Hedger: the honest script, but whatever it publishes it publishes with the weakest words."""

from __future__ import annotations

from solvent_agents.scripts.definitive import Definitive

__all__ = ["Hedger"]


class Hedger(Definitive):
    """Honest in everything but its confidence, which is the lowest there is: never wrong by much, never of much use."""

    name = "hedger"
    said = 0
