"""The agent that takes recorded actions: a language model's episodes again, without the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvent.lab.params import LabParams
from solvent_agents.agent import Actions, Observations

__all__ = ["Recorded"]


class Recorded:
    """Takes recorded actions in labs with their seeds; a lab's randomness depends on its seed alone."""

    name = "recorded"

    def __init__(self, params: LabParams, actions: Mapping[int, Sequence[int]]) -> None:
        """Make the agent of these actions by seed; after them a lab gets action 0."""
        self._actions, self._most = actions, params.most_steps

    def start(self, lab_seeds: Sequence[int]) -> None:
        """Begin the episodes of these seeds, one per row."""
        self._rows = np.zeros((self._most, len(lab_seeds)), np.int64)
        for row, seed in enumerate(lab_seeds):
            taken = self._actions[seed][: self._most]
            self._rows[: len(taken), row] = taken
        self._step = -1

    def act(self, observations: Observations, masks: NDArray[Any]) -> Actions:
        """Return the next action of each lab."""
        self._step += 1
        actions: Actions = self._rows[self._step]
        return actions
