"""Rewards that learners train on: potential-based shaping, and expected instead of drawn scores.

Shaping adds ``gamma * Phi(s') - Phi(s)`` with ``Phi = weight * (licence of unpublished compounds) + price * wells`` and
``Phi = 0`` at the end, which leaves the optimal policy unchanged (Ng, Harada and Russell 1999).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from gymnasium.vector import VectorWrapper
from numpy.typing import NDArray

from solvent.lab.codes import Event
from solvent.lab.mechanisms.publication import log_score
from solvent.lab.vector import LabVectorEnv


def potential(
    labs: NDArray[Any], licence_weight: float = 0.7, well_price: float = 0.0
) -> NDArray[np.float64]:
    """Return the shaping potential, bits, shape ``(n,)``.

    It is ``licence_weight * (licence of unpublished compounds) + well_price * (wells left)``, with ``well_price`` in
    bits per well.
    """
    unpublished = np.where(labs["published"] == 0, labs["licence"], 0.0).sum(axis=1)
    value: NDArray[np.float64] = licence_weight * unpublished + well_price * labs["wells"]
    return value


class PotentialVectorShaping(VectorWrapper):
    """Add potential-based shaping to a vector of labs; ``gamma`` is the learner's discount, prices are in bits."""

    def __init__(
        self, env: Any, gamma: float = 1.0, licence_weight: float = 0.7, well_price: float = 0.0
    ) -> None:
        self._labs = _labs(env)
        super().__init__(env)
        self.gamma = gamma
        self._weights = licence_weight, well_price
        self._before = np.zeros(len(self._labs.batch.labs))

    def reset(self, **kwargs: Any) -> Any:
        """Start episodes."""
        result = super().reset(**kwargs)
        self.begin()
        return result

    def begin(self) -> None:
        """Shape from the labs' present state, which something other than an action may have changed."""
        self._before = potential(self._labs.batch.labs, *self._weights)

    def step(self, actions: Any) -> Any:
        """Run one action in every lab; the rewards include the shaping."""
        observations, rewards, terminated, truncated, infos = self.env.step(actions)
        began = self._labs.batch.steps["action"] < 0  # next-step reset: no action was taken
        potentials = potential(self._labs.batch.labs, *self._weights)
        after = np.where(terminated | truncated, 0.0, potentials)
        shaped = np.where(began, rewards, rewards + self.gamma * after - self._before)
        self._before = potentials
        return observations, shaped, terminated, truncated, infos


class ExpectedScoreVectorReward(VectorWrapper):
    """Replace the log score of an accepted finding by its expectation under the belief at that moment.

    The belief is the exact posterior, so the expected return of every policy is unchanged, up to the belief's known
    approximation. The randomness of the draw, most of the return's variance, is removed (Rao-Blackwell).

    Raises:
        ValueError: Findings are replicated later, so their error has consequences that an expectation would hide.
    """

    def __init__(self, env: Any) -> None:
        self._labs = _labs(env)
        super().__init__(env)
        params, actions = self._labs.params, self._labs.actions
        if params.career.enabled:
            raise ValueError("expected_score: got true; allowed: false where findings are replicated later")
        self._compound, self._potency = np.maximum(actions["compound"], 0), actions["potency"]
        scores = [
            [
                [log_score(q, p, right) if math.isfinite(q) else 0.0 for p in params.assay.class_prior]
                for q in actions["confidence"]
            ]
            for right in (True, False)
        ]
        self._right, self._wrong = np.array(scores)  # [A, G] bits

    def step(self, actions: Any) -> Any:
        """Run one action in every lab; accepted findings pay their expected score."""
        batch = self._labs.batch
        lab = np.arange(self.num_envs)
        beliefs = batch.labs["marginal"].copy()
        observations, rewards, terminated, truncated, infos = self.env.step(actions)
        belief = beliefs[lab, self._compound[actions]]
        named = self._potency[actions]
        asserted = np.where(named >= 0, named, belief.argmax(axis=1))
        p = belief[lab, asserted]
        worth = p * self._right[actions, asserted] + (1.0 - p) * self._wrong[actions, asserted]
        luck = np.where(batch.steps["event"] == Event.PUBLISHED, batch.steps["published_bits"] - worth, 0.0)
        return observations, rewards - luck, terminated, truncated, infos


def _labs(env: Any) -> LabVectorEnv:
    inner = env.unwrapped
    if not isinstance(inner, LabVectorEnv):
        raise TypeError(f"env: got {type(inner).__name__}; allowed: a LabVectorEnv")
    return inner
