"""Counts of a learner's choices while debt forbids everything but calibrations.

A choice is *over the threshold* if debt was above ``debt.threshold`` when it was made. Under enforcement only
calibrations and rests (with energy also reflections and proposals) execute then. The source document asks whether an
agent "learns to propose calibration when blocked"; the share of calibrations among these choices over a stretch of
training answers it. Without enforcement the same choices are counted.
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
    """Counts over the running episodes of ``n`` labs; ``counts`` has shape ``(n, 3)``."""

    def __init__(self, params: LabParams, n: int) -> None:
        verbs = action_table(params)["verb"]
        self._threshold = params.debt.threshold
        self._kinds = np.stack(
            [np.ones(len(verbs), np.bool_), np.isin(verbs, CALIBRATIONS), verbs == Verb.REST], axis=1
        )
        self.counts = np.zeros((n, len(WHILE_BLOCKED)), np.int32)

    def choose(self, debt: NDArray[np.float64], actions: NDArray[np.int64]) -> None:
        """Count the ``actions`` about to be tried at these debts (bits), both of shape ``(n,)``."""
        over = np.flatnonzero(debt > self._threshold)
        self.counts[over] += self._kinds[actions[over]]

    def end(self, rows: NDArray[np.intp]) -> dict[str, Any]:
        """Return the columns of the episodes that ended in the labs ``rows``, and reset their counts."""
        ended = self.counts[rows].astype(np.int64)
        self.counts[rows] = 0
        return {name: ended[:, i] for i, name in enumerate(WHILE_BLOCKED)}
