"""Wrappers that change the reward or the form of a step: costs, vector and Lagrangian rewards, shaping.

Shaping adds ``gamma * Phi(s') - Phi(s)`` with ``Phi = weight * (licence of unpublished compounds) + price * wells -
debt`` and ``Phi = 0`` at the end, which leaves the optimal policy unchanged (Ng, Harada and Russell 1999).
"""

from __future__ import annotations

import math
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector import VectorWrapper
from numpy.typing import NDArray

from solvent.lab.codes import Event
from solvent.lab.columns import potential
from solvent.lab.mechanisms.publication import log_score
from solvent.lab.tables import tables_for
from solvent.lab.vector import LabVectorEnv
from solvent.lab.verbs import Verb

__all__ = [
    "CostTuple",
    "ExpectedScoreVectorReward",
    "LagrangianReward",
    "LagrangianVectorReward",
    "PotentialShaping",
    "PotentialVectorShaping",
    "VectorReward",
]

Floats = NDArray[np.float64]


class CostTuple(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Return ``(observation, reward, cost, terminated, truncated, info)`` from ``step``, as safe-RL libraries expect.

    The cost is the new debt in bits.
    """

    def step(self, action: Any) -> Any:
        """Run one action; return its cost after the reward."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return observation, reward, info["cost"], terminated, truncated, info


class VectorReward(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Return the reward as a vector ``(published bits, -settled debt)``, which sums to the scalar reward."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)
        self.reward_space = Box(-np.inf, np.inf, (2,), np.float64)

    def step(self, action: Any) -> Any:
        """Run one action; the reward has shape ``(2,)``."""
        observation, _, terminated, truncated, info = self.env.step(action)
        step = self.env.unwrapped.batch.steps[0]  # type: ignore[attr-defined]
        parts = np.array([step["published_bits"], -step["settled"]])
        return observation, parts, terminated, truncated, info


class LagrangianReward(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Replace the reward by ``reward - multiplier * cost``; set ``multiplier`` between updates (dual ascent)."""

    def __init__(self, env: gymnasium.Env[Any, Any], multiplier: float = 0.0) -> None:
        super().__init__(env)
        self.multiplier = multiplier

    def step(self, action: Any) -> Any:
        """Run one action; the reward includes the penalty."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return observation, float(reward) - self.multiplier * info["cost"], terminated, truncated, info


class _Shaping:
    """Shaping shared by a single lab and a vector; ``_before`` is the potential, bits, shape ``(n,)``."""

    unwrapped: Any

    def __init__(
        self, env: Any, gamma: float = 1.0, licence_weight: float = 0.7, well_price: float = 0.0
    ) -> None:
        super().__init__(env)  # type: ignore[call-arg]
        self.gamma = gamma
        self.licence_weight = licence_weight
        self.well_price = well_price
        self._before: Floats = np.zeros(len(self.unwrapped.batch.labs))

    def _potential(self) -> Floats:
        return potential(self.unwrapped.batch.labs, self.licence_weight, self.well_price)

    def continue_from_state(self) -> None:
        """Recompute the potential after ``set_state``."""
        self._before = self._potential()

    def reset(self, **kwargs: Any) -> Any:
        """Start episodes."""
        result = super().reset(**kwargs)  # type: ignore[misc]
        self._before = self._potential()
        return result


class PotentialShaping(_Shaping, gymnasium.Wrapper[Any, Any, Any, Any]):
    """Add potential-based shaping to a single lab; ``gamma`` is the learner's discount."""

    def step(self, action: Any) -> Any:
        """Run one action; the reward includes the shaping."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        after = np.zeros(1) if terminated or truncated else self._potential()
        shaped = float(reward) + self.gamma * float(after[0]) - float(self._before[0])
        self._before = after
        return observation, shaped, terminated, truncated, info


def _labs(env: Any) -> LabVectorEnv:
    inner = env.unwrapped
    if not isinstance(inner, LabVectorEnv):
        raise TypeError(f"env: got {type(inner).__name__}; allowed: a LabVectorEnv")
    return inner


class PotentialVectorShaping(_Shaping, VectorWrapper):
    """Add potential-based shaping to a vector of labs, in either reset mode."""

    def __init__(
        self, env: Any, gamma: float = 1.0, licence_weight: float = 0.7, well_price: float = 0.0
    ) -> None:
        self._lab_env = _labs(env)
        super().__init__(env, gamma, licence_weight, well_price)

    def step(self, actions: Any) -> Any:
        """Run one action in every lab; the rewards include the shaping."""
        observations, rewards, terminated, truncated, infos = self.env.step(actions)
        ended = terminated | truncated
        began = self._lab_env.batch.steps["action"] < 0  # next-step reset: no action was taken
        shown = self._potential()
        after = np.where(ended, 0.0, shown)
        shaped = np.where(began, rewards, rewards + self.gamma * after - self._before)
        self._before = shown
        return observations, shaped, terminated, truncated, infos


class ExpectedScoreVectorReward(VectorWrapper):
    """Replace the log score of an accepted finding by its expectation under the belief at that moment.

    The belief is the exact posterior, so the expected return of every policy is unchanged, up to the belief's known
    approximation. The randomness of the draw, most of the return's variance, is removed (Rao-Blackwell).
    """

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self._lab_env = _labs(env)
        params, actions = self._lab_env.params, self._lab_env.actions
        self._compound = np.maximum(actions["compound"], 0)
        tables = tables_for(params)
        # By the rule of adequacy that fired.
        self._trust = 1.0 - tables.discount * np.asarray(tables.rule_score)
        self._share = np.where(actions["verb"] == Verb.PUBLISH_PRIVATE, params.publishing.private_share, 1.0)
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
        batch = self._lab_env.batch
        lab = np.arange(self.num_envs)
        beliefs = batch.labs["marginal"].copy()
        observations, rewards, terminated, truncated, infos = self.env.step(actions)
        belief = beliefs[lab, self._compound[actions]]
        asserted = belief.argmax(axis=1)
        p = belief[lab, asserted]
        right = self._right[actions, asserted] * self._trust[batch.steps["rule"]]
        wrong = self._wrong[actions, asserted]
        worth = self._share[actions] * (p * right + (1.0 - p) * wrong)
        paid = batch.steps["published_bits"] - batch.steps["decided_bits"]  # less approved reviews
        luck = np.where(batch.steps["event"] == Event.PUBLISHED, paid - worth, 0.0)
        return observations, rewards - luck, terminated, truncated, infos


class LagrangianVectorReward(VectorWrapper):
    """Replace the rewards by ``reward - multiplier * cost`` for a vector of labs."""

    def __init__(self, env: Any, multiplier: float = 0.0) -> None:
        super().__init__(env)
        self.multiplier = multiplier
        self._lab_env = _labs(env)

    def step(self, actions: Any) -> Any:
        """Run one action in every lab; the rewards include the penalty."""
        observations, rewards, terminated, truncated, infos = self.env.step(actions)
        steps = self._lab_env.batch.steps
        cost = np.where(steps["action"] >= 0, steps["debt_added"], 0.0)
        return observations, rewards - self.multiplier * cost, terminated, truncated, infos
