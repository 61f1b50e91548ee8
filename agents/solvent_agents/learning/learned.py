"""Learned agents: any Stable-Baselines3 algorithm on the native vector of labs, stopped and resumed at will.

On-policy training (PPO, A2C, MaskablePPO) is checkpointed between rollouts with everything that it depends on:
networks, optimiser, random generators, and the labs' records. A resumed training is the same training, bit for bit.
Off-policy algorithms start again. The result of a training is a policy file (``policy_file``). Reading either runs no
code.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

try:
    import torch
    from stable_baselines3.common.base_class import BaseAlgorithm
except ModuleNotFoundError as error:
    from solvent.extras import install

    needed = f"a learner needs the package {error.name}: {install('agents')}"
    raise ModuleNotFoundError(needed, name=error.name) from error
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm
from stable_baselines3.common.policies import BasePolicy

from solvent.lab.params import LabParams
from solvent_agents.agent import Actions, Observations
from solvent_agents.learning.checkpoint import drop_checkpoints, resumed, save_checkpoint
from solvent_agents.learning.entropy import FallingEntropy
from solvent_agents.learning.policy_file import load_policy, save_policy
from solvent_agents.learning.recipe import (
    ALGORITHMS,
    Recipe,
    algorithm_arguments,
    falling_entropy,
    make_vec_env,
)
from solvent_agents.learning.sb3 import LabVecEnv

__all__ = ["LearnedAgent", "train"]

CHECKPOINT_EVERY = 10  # rollouts

Progress = Callable[[int, int], None]
Episodes = Callable[[int, dict[str, Any]], None]


class _Reporter(BaseCallback):
    """Reports progress and episodes, writes checkpoints between rollouts, and stops when asked."""

    def __init__(
        self,
        envs: LabVecEnv,
        folder: Path,
        total: int,
        progress: Progress,
        episodes: Episodes,
        stop: Callable[[], bool],
    ) -> None:
        super().__init__()
        self.envs = envs
        self.folder = folder
        self.total = total
        self.progress = progress
        self.episodes = episodes
        self.stop = stop
        self.stopped = False
        self.rollouts = 0

    def _on_rollout_start(self) -> None:
        self._report()
        resumable = isinstance(self.model, OnPolicyAlgorithm)
        if resumable and self.rollouts and self.rollouts % CHECKPOINT_EVERY == 0:
            save_checkpoint(self.folder, self.model, self.envs)
        self.rollouts += 1

    def _on_step(self) -> bool:
        self.stopped = self.stopped or self.stop()
        return not self.stopped

    def _on_training_end(self) -> None:
        self._report()

    def _report(self) -> None:
        columns = self.envs.take_finished()
        if columns is not None:
            for reason, counts in columns["refusals"].items():
                self.logger.record_mean(f"lab/refusals/{reason}", float(counts.mean()))
            for key in ("return", "debt", "accepted", "wrong", "calibrations", "claimed", "gained", "wells"):
                self.logger.record_mean(f"lab/{key}", float(columns[key].mean()))
            self.episodes(self.num_timesteps, columns)
        self.progress(min(self.num_timesteps, self.total), self.total)


def train(
    recipe: Recipe,
    params: LabParams,
    *,
    seed: int,
    folder: Path,
    on_progress: Progress = lambda _done, _total: None,
    on_episodes: Episodes = lambda _done, _columns: None,
    should_stop: Callable[[], bool] = lambda: False,
    on_incident: Callable[[str], None] = lambda _incident: None,
    tensorboard: bool = True,
) -> Path | None:
    """Train a policy and return the path of its weights in ``folder``, or None if it was stopped before the end.

    Args:
        recipe: algorithm and hyperparameters.
        params: of the labs.
        seed: of networks, action sampling and labs.
        folder: for the policy, the checkpoint and TensorBoard's logs. A checkpoint in it is resumed.
        on_progress: called with (steps done, steps in all), first with where the training resumes.
        on_episodes: called with (steps done, ``episode`` columns of what ended since the last call).
        should_stop: asked at every vector step; the work since the last checkpoint is done again on resuming.
        on_incident: called with a line about each unusable checkpoint; the training goes on from the previous one or
            from the start.
        tensorboard: write TensorBoard logs.
    """
    torch.set_num_threads(1)
    folder.mkdir(parents=True, exist_ok=True)
    envs = make_vec_env(recipe, params, recipe.n_envs)
    logs = str(folder / "tensorboard") if tensorboard else None
    policy, arguments = algorithm_arguments(recipe, params)
    cls = ALGORITHMS[recipe.algorithm]

    def begin() -> BaseAlgorithm:
        return cls(policy, envs, seed=seed, tensorboard_log=logs, **arguments)

    model = resumed(begin, folder, envs, on_incident) or begin()
    total = recipe.n_timesteps
    on_progress(min(model.num_timesteps, total), total)
    reporter = _Reporter(envs, folder, total, on_progress, on_episodes, should_stop)
    entropy = falling_entropy(recipe)
    callbacks: list[BaseCallback] = [reporter, *([] if entropy is None else [FallingEntropy(entropy, total)])]
    try:
        if model.num_timesteps < total:
            model.learn(
                total - model.num_timesteps,
                callback=callbacks,
                reset_num_timesteps=model.num_timesteps == 0,
                tb_log_name="run",
            )
        if reporter.stopped:
            return None
        path = save_policy(folder, model.policy, recipe.to_mapping(), params)
        drop_checkpoints(folder)
        return path
    finally:
        envs.close()


class LearnedAgent:
    """A trained policy as an agent. Deterministic by default: the most probable action."""

    def __init__(self, policy: BasePolicy, name: str, *, masked: bool, deterministic: bool = True) -> None:
        self.name = name
        self.policy = policy
        self._masked = masked
        self._deterministic = deterministic

    @classmethod
    def load(cls, path: Path, params: LabParams, *, deterministic: bool = True) -> LearnedAgent:
        """Load a policy that ``train`` wrote: ``policy.safetensors`` with ``policy.json`` beside it, or their folder.

        A policy file can't run code (``policy_file``).

        Raises:
            PolicyFileError: a file is missing or damaged, or the policy was trained on labs of another shape.
        """
        torch.set_num_threads(1)
        loaded = load_policy(path, params)
        masked = loaded.algorithm == "MaskablePPO"
        return cls(loaded.network, loaded.algorithm.lower(), masked=masked, deterministic=deterministic)

    def act(self, observations: Observations, masks: NDArray[Any]) -> Actions:
        """Return actions for ``n`` labs; see ``Agent.act``."""
        extra: dict[str, Any] = {"action_masks": np.asarray(masks, np.bool_)} if self._masked else {}
        actions, _ = self.policy.predict(observations, deterministic=self._deterministic, **extra)
        return np.asarray(actions, np.int64)
