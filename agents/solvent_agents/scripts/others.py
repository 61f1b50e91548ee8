"""Scripts that don't start from the honest one: random play, rest, calibrations alone, and filling every slot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvent.lab.actions import action_table
from solvent.lab.params import LabParams
from solvent.lab.verbs import Verb
from solvent_agents.agent import Actions, Observations

__all__ = ["Calibrator", "Hermit", "Random", "RandomMasked", "Spammer"]


class Random:
    """Uniform over all actions. A lab's choices depend on its seed and not on the other labs of the batch."""

    name = "random"

    def __init__(self, params: LabParams, seed: int = 0) -> None:
        self.seed = seed
        self._streams: list[np.random.Generator] = []

    def start(self, lab_seeds: Sequence[int]) -> None:
        """Begin episodes in labs with these seeds, one per row."""
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


class _Fixed:
    """Takes the first of some actions that would execute."""

    name: str
    verbs: tuple[Verb, ...]

    def __init__(self, params: LabParams, seed: int = 0) -> None:
        verbs = action_table(params)["verb"]
        self._order = np.array([int(np.flatnonzero(verbs == verb)[0]) for verb in self.verbs])

    def act(self, observations: Observations, masks: NDArray[Any]) -> Actions:
        """Return actions for ``n`` labs."""
        return np.asarray(self._order[masks[:, self._order].argmax(axis=1)], np.int64)


class Hermit(_Fixed):
    """Always rests. It owes nothing and earns 0 bits."""

    name = "hermit"
    verbs = (Verb.REST,)


class Calibrator(_Fixed):
    """Runs plates of vehicle wells while it can. It learns about its instrument and nothing else."""

    name = "calibrator"
    verbs = (Verb.DMSO, Verb.REST)


class Spammer:
    """Fills every slot: publishes each measured compound at once, and screens without a claim while energy lasts."""

    name = "spammer"

    def __init__(self, params: LabParams, seed: int = 0) -> None:
        table, compounds = action_table(params), len(params.assay.compounds)

        def rows(verb: Verb) -> NDArray[np.int64]:
            return np.flatnonzero(table["verb"] == verb).reshape(compounds, -1)

        self._findings = rows(Verb.PUBLISH_PUBLIC)[:, len(params.vocabulary.confidences) // 2]
        self._screens = rows(Verb.SCREEN)[:, 0]
        first = [int(np.flatnonzero(table["verb"] == verb)[0]) for verb in (Verb.DMSO, Verb.REST)]
        self._otherwise = np.array(first)
        self._plates: Any = None

    def open(self, notebooks: NDArray[Any]) -> None:
        """Read how often each compound was measured."""
        self._plates = notebooks["experiments"]

    def act(self, observations: Observations, masks: NDArray[Any]) -> Actions:
        """Return actions for the labs whose records were opened."""
        may = masks.astype(np.bool_)
        says = may[:, self._findings] & (self._plates > 0)
        screens = np.where(may[:, self._screens], -self._plates, -np.inf)
        otherwise = self._otherwise[may[:, self._otherwise].argmax(axis=1)]
        screened = np.where(
            np.isfinite(screens).any(axis=1), self._screens[screens.argmax(axis=1)], otherwise
        )
        chosen: Actions = np.where(says.any(axis=1), self._findings[says.argmax(axis=1)], screened)
        return chosen
