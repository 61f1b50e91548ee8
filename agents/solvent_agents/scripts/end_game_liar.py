"""End-game liar: screens each compound once without a claim, rests, then asserts everything as certain.

It publishes as late as it can. Its debt blocks it all the same: above the threshold it has to calibrate before the
next assertion, so few findings are out when the episode ends and settles the debt.
"""

from __future__ import annotations

import numpy as np

from solvent.lab.params import LabParams
from solvent.lab.verbs import Verb
from solvent_agents.reading import Reading
from solvent_agents.scripts.definitive import Definitive
from solvent_agents.scripts.honest import Flags, Ints, Manner

__all__ = ["EndGameLiar"]

NEVER = 10**9
"""More heartbeats than a lot has: none is calibrated."""


class EndGameLiar(Definitive):
    """Screens everything once, waits, and lies at the end."""

    name = "end_game_liar"

    def __init__(self, params: LabParams, seed: int = 0) -> None:
        super().__init__(params, seed, Manner(learn_beats=NEVER, repay_worth=np.inf))

    def best_experiment(self, seen: Reading, may: Flags) -> Ints:
        """Return a screen with the lowest claim of the first compound not measured, else rest; shape ``(n,)``."""
        new = seen.experiments == 0
        screens = self.actions.experiment(Verb.SCREEN, new.argmax(axis=1), 0)
        return np.where(new.any(axis=1), screens, self.actions.rest)
