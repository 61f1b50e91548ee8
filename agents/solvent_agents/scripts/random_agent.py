"""Random: uniform over all actions, and uniform over the actions that would execute."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvent.lab.params import LabParams
from solvent_agents.agent import Actions, Observations

__all__ = ["Random", "RandomMasked"]


class Random:
    """Uniform over all actions. A lab's choices depend on its seed and not on the other labs of the batch."""

    name = "random"

    def __init__(self, params: LabParams, seed: int = 0) -> None:
        self.seed = seed
        self._streams: list[np.random.Generator] = []

    def start(self, lab_seeds: Sequence[int]) -> None:
        """Begin episodes in labs with these seeds, one a row."""
        self._streams = [np.random.default_rng([self.seed, lab_seed]) for lab_seed in lab_seeds]

    def act(self, observations: Observations, masks: NDArray[Any]) -> Actions:
        """Return actions for ``n`` labs."""
        if len(self._streams) != len(observations):
            self.start(range(len(observations)))
        allowed = self._allowed(np.asarray(masks))
        luck = np.array([stream.random() for stream in self._streams])
        numbers = (luck * allowed.sum(axis=1)).astype(np.int64)
        passed = np.cumsum(allowed, axis=1)
        return np.asarray((passed > numbers[:, None]).argmax(axis=1), np.int64)

    def _allowed(self, masks: NDArray[Any]) -> NDArray[np.bool_]:
        return np.ones(masks.shape, np.bool_)


class RandomMasked(Random):
    """Uniform over the actions that would execute."""

    name = "random_masked"

    def _allowed(self, masks: NDArray[Any]) -> NDArray[np.bool_]:
        return masks.astype(np.bool_)
