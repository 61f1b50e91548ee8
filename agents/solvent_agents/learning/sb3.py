"""Stable-Baselines3, which has its own vector interface and refuses Gymnasium's, on the native vector of labs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import VecEnv

from solvent import LabParams, LabVectorEnv
from solvent.lab.codes import Event
from solvent.lab.columns import episode_columns, join_columns
from solvent.lab.verbs import CALIBRATIONS, Verb
from solvent.lab.wrappers import ExpectedScoreVectorReward, PotentialVectorShaping

ClassTarget = Literal["truth", "posterior"]
"""What a class head learns: each compound's hidden class, or the exact posterior of it."""

WHILE_BLOCKED = ("over_threshold", "over_threshold_calibrations", "over_threshold_rests")
"""Columns of a training's episodes: actions tried while debt is above its threshold, and the calibrations and rests
among them. The source document asks whether an agent "learns to propose calibration when blocked"."""

# Actions that cost a place in the heartbeat and nothing else.
IDLE = (Event.REFUSED, Event.NOT_EXECUTED, Event.DEFERRED)


class Rewards(BaseModel):
    """Changes to the rewards of a training; an evaluation has none. Prices are in bits."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, arbitrary_types_allowed=True)

    shaping_weight: float | None = Field(
        default=None, ge=0.0, le=100.0
    )  # of the licence in the potential; None: off
    well_price: float = Field(default=0.0, ge=0.0, le=1.0)  # of a well in the potential
    expected_score: bool = False  # a finding earns its expected score instead of the drawn one
    # Of an action that does not execute: a free way to wait, which makes episodes of 40 heartbeats 200 actions long.
    idle_price: float = Field(default=0.0, ge=0.0, le=1.0)
    # Times per action that a lab's debt is raised above the threshold, so that a learner practises being blocked.
    debt_shocks: float = Field(default=0.0, ge=0.0, le=1.0)


class LabVecEnv(VecEnv):
    """``n_envs`` labs as a Stable-Baselines3 ``VecEnv``; ``gamma`` is the learner's discount, for the shaping.

    With ``class_target`` it keeps what a class head learns from, for ``take_lessons``.

    It renders as the vectors of ``make_vec_env`` do, without being asked for: ``VecVideoRecorder`` films it.
    """

    def __init__(
        self,
        params: LabParams,
        n_envs: int,
        rewards: Rewards | None = None,
        *,
        gamma: float = 1.0,
        class_target: ClassTarget | None = None,
    ) -> None:
        self.labs = LabVectorEnv(
            n_envs, params, autoreset_mode="SameStep", render_mode="rgb_array", copy=False
        )
        self.rewards = rewards or Rewards()
        self.finished: list[dict[str, Any]] = []
        self.class_target = class_target
        self._lessons: list[tuple[NDArray[np.float32], NDArray[np.float32]]] = []
        verbs = self.labs.actions["verb"]
        kinds = (verbs >= 0, np.isin(verbs, CALIBRATIONS), verbs == Verb.REST)  # as in WHILE_BLOCKED
        self._kinds = np.stack(kinds, axis=1)
        self.while_blocked = np.zeros((n_envs, len(WHILE_BLOCKED)), np.int64)
        self._envs: Any = ExpectedScoreVectorReward(self.labs) if self.rewards.expected_score else self.labs
        weight = self.rewards.shaping_weight
        if weight is not None:
            self._envs = PotentialVectorShaping(self._envs, gamma, weight, self.rewards.well_price)
        self._actions: NDArray[np.int64] = np.zeros(n_envs, np.int64)
        super().__init__(n_envs, self.labs.single_observation_space, self.labs.single_action_space)
        self.metadata = self.labs.metadata  # VecEnv's own has no frames per second

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        # Drawn, so that training never meets an evaluation's labs.
        self._seeds = np.random.SeedSequence(seed).generate_state(self.num_envs, np.uint64).tolist()
        self._shocks = np.random.default_rng(seed)
        return self._seeds

    def reset(self) -> NDArray[np.float32]:
        observations, _ = self._envs.reset(seed=list(self._seeds))
        self.while_blocked[:] = 0
        self._reset_seeds()
        self._reset_options()
        return np.array(observations)

    def step_async(self, actions: NDArray[Any]) -> None:
        self._actions = np.asarray(actions, np.int64)

    def step_wait(
        self,
    ) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """Run the actions. A lab that ended shows its next episode; its last observation is in ``infos``."""
        batch = self.labs.batch
        if self.class_target is not None:
            self._lessons.append((batch.observations.copy(), self._class_probabilities()))
        over = np.flatnonzero(batch.labs["debt"] > self.labs.params.debt.threshold)
        self.while_blocked[over] += self._kinds[self._actions[over]]
        observations, rewards, terminated, truncated, _ = self._envs.step(self._actions)
        rewards = rewards - self.rewards.idle_price * np.isin(batch.steps["event"], IDLE)
        dones = terminated | truncated
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        if dones.any():
            ended = np.flatnonzero(dones)
            columns = episode_columns(self.labs.params, batch.finals, ended)
            columns |= dict(zip(WHILE_BLOCKED, self.while_blocked[ended].T, strict=True))
            self.while_blocked[ended] = 0
            self.finished.append(columns)
            for row, i in enumerate(ended):
                # Without TimeLimit.truncated: the horizon is the lab's own end, so nothing is worth anything after it.
                result, length = float(columns["return"][row]), int(columns["length"][row])
                infos[i] = {
                    "terminal_observation": batch.final_observations[i].copy(),
                    "episode": {"r": result, "l": length, "t": 0.0},
                    "is_success": bool(columns["is_success"][row]),
                }
        if self.rewards.debt_shocks > 0.0:
            observations = self._shock()
        return observations.copy(), rewards.astype(np.float32), dones, infos

    def _shock(self) -> NDArray[np.float32]:
        """Raise the debt of some labs above the threshold, by up to as much again, and return all observations."""
        labs = self.labs.get_state()
        struck = self._shocks.random(self.num_envs) < self.rewards.debt_shocks
        debt = self.labs.params.debt.threshold * self._shocks.uniform(1.0, 2.0, self.num_envs)
        added = np.where(struck, np.maximum(debt - labs["debt"], 0.0), 0.0)
        labs["debt"] += added
        labs["debt_added"] += added
        observations = self.labs.set_state(labs)
        if isinstance(self._envs, PotentialVectorShaping):
            self._envs.begin()
        return observations

    def take_finished(self) -> dict[str, Any] | None:
        """Return the ``episode`` columns of the episodes that ended since the last call, or None."""
        if not self.finished:
            return None
        chunks, self.finished = self.finished, []
        return join_columns(chunks)

    @property
    def has_lessons(self) -> bool:
        """Whether ``take_lessons`` has something to return."""
        return bool(self._lessons)

    def take_lessons(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the observations acted on since the last call, and the ``class_target`` of each, ``(n, M, G)``.

        The target is the probability of each compound's classes. No observation, reward or info has it.
        """
        observations, targets = zip(*self._lessons, strict=True)
        self._lessons = []
        return np.concatenate(observations), np.concatenate(targets)

    def _class_probabilities(self) -> NDArray[np.float32]:
        labs = self.labs.batch.labs
        if self.class_target == "posterior":
            return np.array(labs["marginal"], np.float32)
        true: NDArray[np.bool_] = labs["potency"][..., None] == np.arange(labs["marginal"].shape[-1])
        return true.astype(np.float32)

    def close(self) -> None:
        self._envs.close()

    def get_images(self) -> Sequence[NDArray[np.uint8] | None]:
        return self.labs.render() or ()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        return [getattr(self.labs, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        raise AttributeError(f"{attr_name}: labs of a vector share their parameters; make a new LabVecEnv")

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        rows = self.labs.call(method_name, *args, **kwargs)
        return [rows[i] for i in self._get_indices(indices)]

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """Return True for ``Monitor``, whose ``episode`` this environment reports; evaluations ask for it."""
        return [issubclass(wrapper_class, Monitor) for _ in self._get_indices(indices)]
