"""Learned agents: any Stable-Baselines3 algorithm on the native vector of labs, to be stopped and resumed at will.

On-policy training (PPO, A2C, MaskablePPO) is checkpointed between rollouts with everything that it depends on:
networks, optimiser, random generators, and the labs' records. A resumed training is the same training, bit for bit.
Off-policy algorithms start again.
"""

from __future__ import annotations

import inspect
import io
import json
import math
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sb3_contrib import QRDQN, TRPO, MaskablePPO
from stable_baselines3 import A2C, DQN, PPO
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm

from solvent.observation import observation_space
from solvent.params import LabParams, ParamError, nearest
from solvent_agents.agent import Actions, Observations
from solvent_agents.imitation import clone, demonstrate
from solvent_agents.policies import MaskableSharedPolicy, SharedPolicy
from solvent_agents.sb3 import LabVecEnv

__all__ = ["ALGORITHMS", "LearnedAgent", "Recipe", "train"]

ALGORITHMS: dict[str, type[BaseAlgorithm]] = {
    "A2C": A2C,
    "DQN": DQN,
    "MaskablePPO": MaskablePPO,
    "PPO": PPO,
    "QRDQN": QRDQN,
    "TRPO": TRPO,
}

SHARED = "SharedPolicy"
POLICIES = (SHARED, "MlpPolicy")
CHECKPOINT = "checkpoint.pt"
MODEL = "model.zip"
RECIPE = "recipe.json"
CHECKPOINT_EVERY = 10  # rollouts

Progress = Callable[[int, int], None]
Episodes = Callable[[int, dict[str, Any]], None]


@dataclass(frozen=True)
class Recipe:
    """How to train: an algorithm, how long, and its hyperparameters under Stable-Baselines3's names.

    Attributes:
        algorithm: a key of ``ALGORITHMS``.
        n_timesteps: environment steps in all; demonstrations are not counted.
        n_envs: labs stepped together.
        policy: ``SharedPolicy`` (treats compounds alike) or ``MlpPolicy``.
        shaping_weight: the licence's weight in the shaping potential, None for no shaping.
        well_price: of a well in the shaping potential, bits.
        expected_score: reward a finding with its expected score instead of the drawn one.
        imitation_episodes: episodes of the honest script to clone before training; 0 for none.
        imitation_epochs: passes over them.
        bootstrap_at_horizon: bootstrap from the last observation at the horizon.
        hyperparameters: the algorithm's own.
    """

    algorithm: str
    n_timesteps: int
    n_envs: int = 256
    policy: str = SHARED
    shaping_weight: float | None = 0.7
    well_price: float = 0.0
    expected_score: bool = False
    imitation_episodes: int = 0
    imitation_epochs: int = 20
    bootstrap_at_horizon: bool = False
    hyperparameters: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_mapping(cls, algorithm: str, mapping: Mapping[str, Any], *, path: str = "") -> Recipe:
        """A recipe from an entry in rl-zoo3's layout: ``n_timesteps``, ``n_envs``, ``policy``, the algorithm's own.

        A rate such as ``learning_rate: lin_3e-4`` falls linearly to 0.

        Raises:
            ParamError: an unknown algorithm, key or policy, or an impossible number; one line says what is allowed.
        """
        where = f"{path}." if path else ""
        if algorithm not in ALGORITHMS:
            raise ParamError(path, f"unknown algorithm {algorithm!r}" + nearest(algorithm, ALGORITHMS))
        arguments = inspect.signature(ALGORITHMS[algorithm].__init__).parameters.keys() - _GIVEN
        known = arguments | _OWN.keys()
        for key, value in mapping.items():
            if key not in known:
                raise ParamError(f"{where}{key}", "unknown key" + nearest(str(key), known))
            allowed, fits = _OWN.get(key, ("a number that is not negative, or lin_<number>", _fits_argument))
            if not fits(value):
                raise ParamError(f"{where}{key}", f"got {value!r}; allowed: {allowed}")
        if "n_timesteps" not in mapping:
            raise ParamError(f"{where}n_timesteps", "missing; allowed: " + _OWN["n_timesteps"][0])
        own = {key: value for key, value in mapping.items() if key in _OWN}
        for key in _WHOLE & own.keys():
            own[key] = int(own[key])
        rest = {key: value for key, value in mapping.items() if key not in _OWN}
        return cls(algorithm=algorithm, hyperparameters=rest, **own)

    def to_mapping(self) -> dict[str, Any]:
        """Plain values, ready for YAML or JSON."""
        return {**asdict(self), "hyperparameters": dict(self.hyperparameters)}


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _whole_from(low: int) -> Callable[[Any], bool]:
    return lambda value: _number(value) and float(value).is_integer() and value >= low


def _fits_argument(value: Any) -> bool:
    if isinstance(value, str):
        return _LINEAR.fullmatch(value) is not None
    if isinstance(value, bool | Mapping) or value is None:
        return True
    return _number(value) and math.isfinite(value) and value >= 0


_GIVEN = {"self", "env", "policy", "seed", "tensorboard_log", "verbose", "device", "_init_setup_model"}
"""Arguments of an algorithm that ``train`` gives itself, or that change nothing that is learnt."""

_WHOLE = {"n_timesteps", "n_envs", "imitation_episodes", "imitation_epochs"}
_OWN: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "n_timesteps": ("a whole number, at least 1", _whole_from(1)),
    "n_envs": ("a whole number, at least 1", _whole_from(1)),
    "policy": (", ".join(POLICIES), lambda value: value in POLICIES),
    "shaping_weight": ("empty, or 0 to 100", lambda v: v is None or (_number(v) and 0.0 <= v <= 100.0)),
    "well_price": ("0 to 1", lambda v: _number(v) and 0.0 <= v <= 1.0),
    "expected_score": ("true or false", lambda value: isinstance(value, bool)),
    "imitation_episodes": ("a whole number, at least 0", _whole_from(0)),
    "imitation_epochs": ("a whole number, at least 1", _whole_from(1)),
    "bootstrap_at_horizon": ("true or false", lambda value: isinstance(value, bool)),
}
"""The recipe's own keys: what is allowed in words, and as a test."""

_LINEAR = re.compile(r"lin_([0-9]+(?:\.[0-9]*)?(?:e[+-]?[0-9]+)?)")


class _Linear:
    """A rate that falls linearly to 0; a class, so that it can be pickled with the model."""

    def __init__(self, start: float) -> None:
        self.start = start

    def __call__(self, remaining: float) -> float:
        return self.start * remaining


def _arguments(recipe: Recipe, params: LabParams) -> tuple[Any, dict[str, Any]]:
    """The policy and the keyword arguments of the algorithm's constructor."""
    arguments = dict(recipe.hyperparameters)
    for key, value in arguments.items():
        match = _LINEAR.fullmatch(value) if isinstance(value, str) else None
        if match:
            arguments[key] = _Linear(float(match[1]))
    if recipe.policy != SHARED:
        return recipe.policy, arguments
    own = arguments.get("policy_kwargs") or {}
    arguments["policy_kwargs"] = {"lab_params": params, **own}
    if recipe.algorithm == "MaskablePPO":
        return MaskableSharedPolicy, arguments
    if not issubclass(ALGORITHMS[recipe.algorithm], OnPolicyAlgorithm):
        raise ParamError(
            "policy", f"{SHARED} is for on-policy algorithms; {recipe.algorithm} takes MlpPolicy"
        )
    return SharedPolicy, arguments


def _gamma(recipe: Recipe) -> float:
    return float(recipe.hyperparameters.get("gamma", 0.99))


def make_vec_env(recipe: Recipe, params: LabParams, n_envs: int) -> LabVecEnv:
    """``n_envs`` labs with the rewards that a recipe trains on."""
    return LabVecEnv(
        params,
        n_envs,
        shaping_weight=recipe.shaping_weight,
        well_price=recipe.well_price,
        expected_score=recipe.expected_score,
        gamma=_gamma(recipe),
        bootstrap_at_horizon=recipe.bootstrap_at_horizon,
    )


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
    tensorboard: bool = True,
) -> Path | None:
    """Train a policy and return the path of ``model.zip`` in ``folder``, or None if it was stopped before the end.

    Args:
        recipe: algorithm and hyperparameters.
        params: of the labs.
        seed: of networks, action sampling and labs.
        folder: for the model, its recipe, the checkpoint and TensorBoard's logs. A checkpoint in it is resumed.
        on_progress: called with (steps done, steps in all), first with where the training resumes.
        on_episodes: called with (steps done, ``episode`` columns of what ended since the last call).
        should_stop: asked at every vector step; the work since the last checkpoint is done again on resuming.
        on_note: called with a line about what goes on besides.
        tensorboard: write TensorBoard logs.
    """
    torch.set_num_threads(1)
    folder.mkdir(parents=True, exist_ok=True)
    envs = make_vec_env(recipe, params, recipe.n_envs)
    logs = str(folder / "tensorboard") if tensorboard else None
    policy, arguments = _arguments(recipe, params)
    cls = ALGORITHMS[recipe.algorithm]
    model = cls(policy, envs, seed=seed, tensorboard_log=logs, **arguments)
    saved = folder / CHECKPOINT
    if saved.exists():
        model = _restore(cls, saved, envs, logs)
    total = recipe.n_timesteps
    on_progress(min(model.num_timesteps, total), total)
    if recipe.imitation_episodes and model.num_timesteps == 0:
        on_note(f"learns from {recipe.imitation_episodes} episodes of the honest script first")
        _imitate(model, recipe, params, seed)
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


def _imitate(model: BaseAlgorithm, recipe: Recipe, params: LabParams, seed: int) -> None:
    """Warm start (``imitation``). On-policy algorithms only: the others have no action distribution to fit."""
    if not isinstance(model, OnPolicyAlgorithm):
        raise ParamError("imitation_episodes", f"is for on-policy algorithms; {recipe.algorithm} takes 0")
    demonstrators = make_vec_env(recipe, params, recipe.imitation_episodes)
    shown = demonstrate(demonstrators, seed, _gamma(recipe))
    demonstrators.close()
    clone(model, shown, recipe.imitation_epochs, masked=recipe.algorithm == "MaskablePPO")


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
