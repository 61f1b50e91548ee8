"""Stable-Baselines3 on the native vector of labs.

Stable-Baselines3 has a vector interface of its own and refuses Gymnasium's. ``LabVecEnv`` wraps
``solvent.LabVectorEnv``: it starts no process, copies no rule, and returns empty ``infos`` on an ordinary step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv

from solvent import LabParams, LabVectorEnv
from solvent.lab.codes import Event
from solvent.lab.columns import episode_columns, join_columns
from solvent.lab.wrappers import ExpectedScoreVectorReward, PotentialVectorShaping
from solvent_agents.learning.while_blocked import WhileBlocked

__all__ = ["LabVecEnv"]

IDLE = (Event.REFUSED, Event.NOT_EXECUTED, Event.DEFERRED)
"""Actions that cost a place in the heartbeat and nothing else."""


class LabVecEnv(VecEnv):
    """``n_envs`` labs as a Stable-Baselines3 ``VecEnv``.

    Args:
        params: of every lab.
        n_envs: number of labs.
        shaping_weight: of the licence in the shaping potential (``solvent.lab.wrappers``), or None for the bare reward.
        well_price: of a well in the shaping potential, bits.
        expected_score: reward a finding with its expected score instead of the drawn one.
        idle_price: taken from the reward of an action that does not execute, bits. Waiting by tries that can't run is
            free in the lab, and makes episodes of 40 heartbeats 200 actions long.
        gamma: the learner's discount, for the shaping.
        bootstrap_at_horizon: mark the horizon as ``TimeLimit.truncated``, so that learners bootstrap from the last
            observation. Off: the horizon is part of the task (the observation shows the clock, and the end settles
            the debt), so the value after it is 0.
    """

    def __init__(
        self,
        params: LabParams,
        n_envs: int,
        *,
        shaping_weight: float | None = None,
        well_price: float = 0.0,
        expected_score: bool = False,
        idle_price: float = 0.0,
        gamma: float = 1.0,
        bootstrap_at_horizon: bool = False,
    ) -> None:
        self.labs = LabVectorEnv(n_envs, params, autoreset_mode="SameStep", copy=False)
        self.idle_price = idle_price
        self.bootstrap_at_horizon = bootstrap_at_horizon
        self.finished: list[dict[str, Any]] = []
        self.while_blocked = WhileBlocked(params, n_envs)
        self._envs: Any = ExpectedScoreVectorReward(self.labs) if expected_score else self.labs
        self.shaping: PotentialVectorShaping | None = None
        if shaping_weight is not None:
            self.shaping = PotentialVectorShaping(self._envs, gamma, shaping_weight, well_price)
            self._envs = self.shaping
        self._actions: NDArray[np.int64] = np.zeros(n_envs, np.int64)
        super().__init__(n_envs, self.labs.single_observation_space, self.labs.single_action_space)

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Seed the next reset. Each lab's seed is drawn from ``seed``: training never meets an evaluation seed."""
        if seed is None:
            return super().seed(None)
        drawn = np.random.SeedSequence(seed).generate_state(self.num_envs, np.uint64)
        self._seeds = [int(word) for word in drawn]
        return self._seeds

    def reset(self) -> NDArray[np.float32]:
        """Start an episode in every lab."""
        observations, _ = self._envs.reset(seed=list(self._seeds))
        self.while_blocked.counts[:] = 0
        self._reset_seeds()
        self._reset_options()
        return np.array(observations)

    def step_async(self, actions: NDArray[Any]) -> None:
        """Remember the actions."""
        self._actions = np.asarray(actions, np.int64)

    def step_wait(
        self,
    ) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """Run the actions. A lab that ended shows its next episode; its last observation is in ``infos``."""
        self.while_blocked.choose(self.labs.batch.labs["debt"], self._actions)
        observations, rewards, terminated, truncated, _ = self._envs.step(self._actions)
        rewards = rewards - self.idle_price * np.isin(self.labs.batch.steps["event"], IDLE)
        dones = terminated | truncated
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        if dones.any():
            batch = self.labs.batch
            ended = np.flatnonzero(dones)
            columns = episode_columns(self.labs.params, batch.finals, ended)
            columns |= self.while_blocked.end(ended)
            self.finished.append(columns)
            for row, i in enumerate(ended):
                infos[i] = {
                    "terminal_observation": batch.final_observations[i].copy(),
                    "TimeLimit.truncated": self.bootstrap_at_horizon and bool(truncated[i]),
                    "episode": {
                        "r": float(columns["return"][row]),
                        "l": int(columns["length"][row]),
                        "t": 0.0,
                    },
                    "is_success": bool(columns["is_success"][row]),
                }
        return observations.copy(), rewards.astype(np.float32), dones, infos

    @property
    def step_costs(self) -> NDArray[np.float64]:
        """``info["cost"]`` of the last step, bits of new debt, shape ``(n_envs,)``."""
        column: NDArray[np.float64] = self.labs.batch.steps["debt_added"].copy()
        return column

    def take_finished(self) -> dict[str, Any] | None:
        """Return the ``episode`` columns of the episodes that ended since the last call, or None."""
        if not self.finished:
            return None
        chunks, self.finished = self.finished, []
        return join_columns(chunks)

    def close(self) -> None:
        """Close the labs."""
        self._envs.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return an attribute of the labs, the same for each."""
        value = getattr(self.labs, attr_name)
        return [value for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Raise AttributeError: labs of a vector share their parameters."""
        raise AttributeError(f"{attr_name} can't be set on labs of a vector; make a new LabVecEnv")

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        """Call a method of the labs; an array with a row a lab, such as ``action_masks``, is split by lab."""
        result = getattr(self.labs, method_name)(*args, **kwargs)
        rows = self._get_indices(indices)
        if isinstance(result, np.ndarray) and result.shape[:1] == (self.num_envs,):
            return [result[i] for i in rows]
        return [result for _ in rows]

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """Return False for each: labs are not wrapped singly."""
        return [False for _ in self._get_indices(indices)]
