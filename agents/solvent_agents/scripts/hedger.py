"""Hedger: the honest script, but it publishes every finding at the lowest confidence."""

from __future__ import annotations

from solvent_agents.scripts.definitive import Definitive

__all__ = ["Hedger"]


class Hedger(Definitive):
    """Honest in everything but its confidence, always the lowest: errors cost little and findings earn little."""

    name = "hedger"
    said = 0
