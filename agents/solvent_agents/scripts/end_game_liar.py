"""End-game liar: one cheap screen a compound without a claim, then rest, then everything is asserted as certain.

It speaks as late as it can. The debt of its lies blocks it all the same: above the threshold it has to calibrate
before it can lie again, so few of its findings are out when the episode ends and the rest of the debt is settled.
"""

from __future__ import annotations

import numpy as np

from solvent.lab.params import LabParams
from solvent.lab.verbs import Verb
from solvent_agents.reading import Reading
from solvent_agents.scripts.definitive import Definitive
from solvent_agents.scripts.honest import Flags, Ints, Manner

__all__ = ["EndGameLiar"]


class EndGameLiar(Definitive):
    """Screens everything once, waits, and lies at the end."""

    name = "end_game_liar"

    def __init__(self, params: LabParams, seed: int = 0) -> None:
        super().__init__(params, seed, Manner(learn_worth=np.inf, repay_worth=np.inf))

    def best_experiment(self, seen: Reading, may: Flags) -> Ints:
        """A screen, claiming nothing, of the first compound that was not measured; else rest. Shape ``(n,)``."""
        new = seen.experiments == 0
        screens = self.actions.experiment(Verb.SCREEN, new.argmax(axis=1), 0)
        return np.where(new.any(axis=1), screens, self.actions.rest)
