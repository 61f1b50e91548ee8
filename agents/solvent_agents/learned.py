"""Learned agents: any Stable-Baselines3 algorithm on the native vector of labs, to be stopped and resumed at will.

On-policy training (PPO, A2C, MaskablePPO) is checkpointed between rollouts with everything that it depends on:
networks, optimiser, random generators, and the labs' records. A resumed training is the same training, bit for bit.
Off-policy algorithms start again.
"""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm

from solvent.observation import observation_space
from solvent.params import LabParams, ParamError
from solvent_agents.agent import Actions, Observations
from solvent_agents.imitation import clone, demonstrate
from solvent_agents.recipe import ALGORITHMS, Recipe, algorithm_arguments, discount, make_vec_env
from solvent_agents.sb3 import LabVecEnv

__all__ = ["CLONING", "WATCHING", "LearnedAgent", "train"]

CHECKPOINT = "checkpoint.pt"
MODEL = "model.zip"
RECIPE = "recipe.json"
CHECKPOINT_EVERY = 10  # rollouts

Progress = Callable[[int, int], None]
Stage = Callable[[str, int, int], None]
WATCHING, CLONING = "watching a script", "cloning it"  # stages of a warm start
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
            _write(self.folder / CHECKPOINT, _checkpoint(self.model, self.envs))
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
    on_note: Callable[[str], None] = lambda _note: None,
    on_stage: Stage = lambda _label, _done, _total: None,
    tensorboard: bool = True,
) -> Path | None:
    """Train a policy and return the path of ``model.zip`` in ``folder``, or None if it was stopped before the end.

    Args:
        recipe: algorithm and hyperparameters.
        params: of the labs.
        seed: of networks, action sampling and labs.
        folder: for the model, its recipe, the checkpoint and TensorBoard's logs. A checkpoint in it is resumed.
        on_progress: called with (steps done, steps in all), first with where the training resumes; a warm start
            comes before.
        on_episodes: called with (steps done, ``episode`` columns of what ended since the last call).
        should_stop: asked at every vector step; the work since the last checkpoint is done again on resuming.
        on_note: called with a line about what goes on besides.
        on_stage: called in a warm start with (``WATCHING``, heartbeats done, heartbeats in all), then with
            (``CLONING``, epochs done, epochs in all).
        tensorboard: write TensorBoard logs.
    """
    torch.set_num_threads(1)
    folder.mkdir(parents=True, exist_ok=True)
    envs = make_vec_env(recipe, params, recipe.n_envs)
    logs = str(folder / "tensorboard") if tensorboard else None
    policy, arguments = algorithm_arguments(recipe, params)
    cls = ALGORITHMS[recipe.algorithm]
    model = cls(policy, envs, seed=seed, tensorboard_log=logs, **arguments)
    saved = folder / CHECKPOINT
    if saved.exists():
        model = _restore(cls, saved, envs, logs)
    total = recipe.n_timesteps
    if recipe.imitation_episodes and model.num_timesteps == 0:
        on_note(f"learns from {recipe.imitation_episodes} episodes of the {recipe.demonstrator} script first")
        if not _imitate(model, recipe, params, seed, should_stop, on_stage):
            envs.close()
            return None
    on_progress(min(model.num_timesteps, total), total)
    reporter = _Reporter(envs, folder, total, on_progress, on_episodes, should_stop)
    try:
        if model.num_timesteps < total:
            model.learn(
                total - model.num_timesteps,
                callback=reporter,
                reset_num_timesteps=model.num_timesteps == 0,
                tb_log_name="run",
            )
        if reporter.stopped:
            return None
        _write(folder / RECIPE, json.dumps(recipe.to_mapping(), indent=2).encode())
        buffer = io.BytesIO()
        model.save(buffer)
        _write(folder / MODEL, buffer.getvalue())
        saved.unlink(missing_ok=True)
        return folder / MODEL
    finally:
        envs.close()


def _imitate(
    model: BaseAlgorithm,
    recipe: Recipe,
    params: LabParams,
    seed: int,
    should_stop: Callable[[], bool],
    on_stage: Stage,
) -> bool:
    """Warm start (``imitation``); whether it came to its end.

    For on-policy algorithms only: the others have no action distribution to fit.
    """
    if not isinstance(model, OnPolicyAlgorithm):
        raise ParamError("imitation_episodes", f"is for on-policy algorithms; {recipe.algorithm} takes 0")
    demonstrators = make_vec_env(recipe, params, recipe.imitation_episodes)
    shown = demonstrate(
        demonstrators,
        seed,
        discount(recipe),
        should_stop,
        partial(on_stage, WATCHING),
        demonstrator=recipe.demonstrator,
    )
    demonstrators.close()
    if shown is None:
        return False
    masked = recipe.algorithm == "MaskablePPO"
    return clone(
        model,
        shown,
        recipe.imitation_epochs,
        masked=masked,
        should_stop=should_stop,
        on_progress=partial(on_stage, CLONING),
    )


def _write(path: Path, content: bytes) -> None:
    temporary = path.with_name(path.name + ".part")
    temporary.write_bytes(content)
    temporary.replace(path)


def _checkpoint(model: BaseAlgorithm, envs: LabVecEnv) -> bytes:
    """Everything that the rest of the training depends on."""
    zipped = io.BytesIO()
    model.save(zipped)
    buffer = io.BytesIO()
    torch.save(
        {
            "model": zipped.getvalue(),
            "labs": envs.labs.get_state().tobytes(),
            "torch": torch.get_rng_state(),
            "numpy": np.random.get_state(),  # noqa: NPY002 - the generator that Stable-Baselines3 shuffles with
            "python": random.getstate(),
        },
        buffer,
    )
    return buffer.getvalue()


def _restore(cls: type[BaseAlgorithm], path: Path, envs: LabVecEnv, logs: str | None) -> BaseAlgorithm:
    """The model of a checkpoint that ``train`` wrote, with labs and random generators as they were."""
    saved = torch.load(path, weights_only=False)
    model = cls.load(io.BytesIO(saved["model"]), env=envs, force_reset=False, tensorboard_log=logs)
    envs.labs.set_state(np.frombuffer(saved["labs"], dtype=envs.labs.batch.labs.dtype))
    if envs.shaping is not None:
        envs.shaping.continue_from_state()
    torch.set_rng_state(saved["torch"])
    np.random.set_state(saved["numpy"])  # noqa: NPY002
    random.setstate(saved["python"])
    return model


class LearnedAgent:
    """A trained policy as an agent. Deterministic by default: the most probable action."""

    def __init__(self, model: BaseAlgorithm, name: str, *, masked: bool, deterministic: bool = True) -> None:
        self.name = name
        self._model = model
        self._masked = masked
        self._deterministic = deterministic

    @classmethod
    def load(cls, path: Path, params: LabParams, *, deterministic: bool = True) -> LearnedAgent:
        """The policy that ``train`` wrote to ``path`` (a ``model.zip`` with ``recipe.json`` beside it).

        Models are pickles: load only files that you trust.

        Raises:
            FileNotFoundError: the model or its recipe is missing.
            ValueError: the policy was trained on labs of another shape than ``params``.
        """
        torch.set_num_threads(1)
        path = Path(path)
        recipe = json.loads((path.parent / RECIPE).read_text(encoding="utf-8"))
        algorithm = recipe["algorithm"]
        model = ALGORITHMS[algorithm].load(path, device="cpu")
        space = observation_space(params)
        if model.observation_space.shape != space.shape:
            raise ValueError(
                f"{path}: the policy sees {model.observation_space.shape} numbers, these labs show {space.shape}"
            )
        masked = algorithm == "MaskablePPO"
        return cls(model, algorithm.lower(), masked=masked, deterministic=deterministic)

    def act(self, observations: Observations, masks: NDArray[Any]) -> Actions:
        """Actions for ``n`` labs; see ``Agent.act``."""
        extra: dict[str, Any] = {"action_masks": np.asarray(masks, np.bool_)} if self._masked else {}
        actions, _ = self._model.predict(observations, deterministic=self._deterministic, **extra)
        return np.asarray(actions, np.int64)
