"""Wrappers: the six-tuple with cost, vector rewards, Lagrangian rewards, and potential-based shaping.

Shaping adds ``gamma * Phi(s') - Phi(s)`` with ``Phi = weight * (licence of what is unpublished) - debt`` and ``Phi = 0`` at the end, which leaves the
optimal policy unchanged (Ng, Harada and Russell 1999).
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector import VectorWrapper
from numpy.typing import NDArray

from solvent.metrics import potential
from solvent.vector import LabVectorEnv

__all__ = [
    "CostTuple",
    "LagrangianReward",
    "LagrangianVectorReward",
    "PotentialShaping",
    "PotentialVectorShaping",
    "VectorReward",
]

Floats = NDArray[np.float64]


class CostTuple(gymnasium.Wrapper[Any, Any, Any, Any]):
    """``step`` gives six values, ``(observation, reward, cost, terminated, truncated, info)``, as safe-RL code expects; cost in bits of new debt."""

    def step(self, action: Any) -> Any:
        """Run one action and show its cost beside the reward."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return observation, reward, info["cost"], terminated, truncated, info


class VectorReward(gymnasium.Wrapper[Any, Any, Any, Any]):
    """The reward's parts as a vector ``(published bits, -settled debt)``; they sum to the scalar reward."""

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
    """``reward - multiplier * cost``; set ``multiplier`` between updates (dual ascent)."""

    def __init__(self, env: gymnasium.Env[Any, Any], multiplier: float = 0.0) -> None:
        super().__init__(env)
        self.multiplier = multiplier

    def step(self, action: Any) -> Any:
        """Run one action and charge its cost."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return observation, float(reward) - self.multiplier * info["cost"], terminated, truncated, info


class PotentialShaping(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Potential-based shaping of a single lab; ``gamma`` is the learner's discount."""

    def __init__(
        self, env: gymnasium.Env[Any, Any], gamma: float = 1.0, licence_weight: float = 0.7
    ) -> None:
        super().__init__(env)
        self.gamma = gamma
        self.licence_weight = licence_weight
        self._before = 0.0

    def _potential(self) -> float:
        labs = self.env.unwrapped.batch.labs  # type: ignore[attr-defined]
        return float(potential(labs, self.licence_weight)[0])

    def reset(self, **kwargs: Any) -> Any:
        """Start an episode."""
        result = self.env.reset(**kwargs)
        self._before = self._potential()
        return result

    def step(self, action: Any) -> Any:
        """Run one action; the reward has the shaping in it."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        after = 0.0 if terminated or truncated else self._potential()
        shaped = float(reward) + self.gamma * after - self._before
        self._before = after
        return observation, shaped, terminated, truncated, info


def _labs(env: Any) -> LabVectorEnv:
    inner = env.unwrapped
    if not isinstance(inner, LabVectorEnv):
        raise TypeError(f"env: got {type(inner).__name__}; allowed: a LabVectorEnv")
    return inner


class PotentialVectorShaping(VectorWrapper):  # type: ignore[type-arg]
    """Potential-based shaping of a vector of labs, in either reset mode."""

    def __init__(self, env: Any, gamma: float = 1.0, licence_weight: float = 0.7) -> None:
        super().__init__(env)
        self.gamma = gamma
        self.licence_weight = licence_weight
        self._before: Floats = np.zeros(self.num_envs)
        self._lab_env = _labs(env)

    def _potential(self) -> Floats:
        return potential(self._lab_env.batch.labs, self.licence_weight)

    def continue_from_state(self) -> None:
        """Take the potential from the labs as they are, after their ``set_state``."""
        self._before = self._potential()

    def reset(self, **kwargs: Any) -> Any:
        """Start episodes."""
        result = self.env.reset(**kwargs)
        self._before = self._potential()
        return result

    def step(self, actions: Any) -> Any:
        """Run one action a lab; the rewards have the shaping in them."""
        observations, rewards, terminated, truncated, infos = self.env.step(actions)
        ended = terminated | truncated
        began = self._lab_env.batch.steps["action"] < 0  # next-step reset: nothing was done
        shown = self._potential()
        after = np.where(ended, 0.0, shown)
        shaped = np.where(began, rewards, rewards + self.gamma * after - self._before)
        self._before = shown
        return observations, shaped, terminated, truncated, infos


class LagrangianVectorReward(VectorWrapper):  # type: ignore[type-arg]
    """``reward - multiplier * cost`` for a vector of labs; set ``multiplier`` between updates."""

    def __init__(self, env: Any, multiplier: float = 0.0) -> None:
        super().__init__(env)
        self.multiplier = multiplier
        self._lab_env = _labs(env)

    def step(self, actions: Any) -> Any:
        """Run one action a lab and charge its cost."""
        observations, rewards, terminated, truncated, infos = self.env.step(actions)
        steps = self._lab_env.batch.steps
        cost = np.where(steps["action"] >= 0, steps["debt_added"], 0.0)
        return observations, rewards - self.multiplier * cost, terminated, truncated, infos
