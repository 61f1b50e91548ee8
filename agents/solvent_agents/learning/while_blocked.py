"""What a learner chooses while debt forbids all but calibrations, counted while it trains.

A choice is *over the threshold* if the debt was above ``debt.threshold`` when it was made. Enforced, such a choice
is a calibration, a rest or nothing that runs (in levels with energy also a reflection or a proposal). The source
document asks whether an agent "learns to propose calibration when blocked"; these counts, summed over the episodes
of a stretch of training, are the share that answers it. Not enforced, nothing is forbidden and the same choices are
counted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvent.lab.actions import action_table
from solvent.lab.params import LabParams
from solvent.lab.verbs import Verb

__all__ = ["WHILE_BLOCKED", "WhileBlocked"]

WHILE_BLOCKED = ("over_threshold", "over_threshold_calibrations", "over_threshold_rests")
"""Counts an episode: choices over the threshold, and those of them that were calibrations, and rests."""

CALIBRATIONS = (Verb.DMSO, Verb.BASELINE, Verb.CALIBRATION)


class WhileBlocked:
    """The counts of ``n`` labs' running episodes, ``counts`` of shape ``(n, 3)``."""

    def __init__(self, params: LabParams, n: int) -> None:
        verbs = action_table(params)["verb"]
        self._threshold = params.debt.threshold
        self._kinds = np.stack(
            [np.ones(len(verbs), np.bool_), np.isin(verbs, CALIBRATIONS), verbs == Verb.REST], axis=1
        )
        self.counts = np.zeros((n, len(WHILE_BLOCKED)), np.int32)

    def choose(self, debt: NDArray[np.float64], actions: NDArray[np.int64]) -> None:
        """Count the ``actions`` that are about to be tried at these debts (bits), both of shape ``(n,)``."""
        over = np.flatnonzero(debt > self._threshold)
        self.counts[over] += self._kinds[actions[over]]

    def end(self, rows: NDArray[np.intp]) -> dict[str, Any]:
        """Columns of the episodes that ended in the labs ``rows``, whose counts begin anew."""
        ended = self.counts[rows].astype(np.int64)
        self.counts[rows] = 0
        return {name: ended[:, i] for i, name in enumerate(WHILE_BLOCKED)}
