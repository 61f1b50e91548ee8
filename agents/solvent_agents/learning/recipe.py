"""Recipes: algorithm, number of steps, hyperparameters, and rewards of the training such as shaping.

Recipes have rl-zoo3's layout. They are checked before anything is trained.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from sb3_contrib import QRDQN, TRPO, MaskablePPO
from stable_baselines3 import A2C, DQN, PPO
from stable_baselines3.common.base_class import BaseAlgorithm

from solvent.lab.observation import observation_fields
from solvent.lab.params import LabParams
from solvent.lab.settings import ParamError, nearest
from solvent.lab.state import lab_dtype
from solvent_agents.learning.lagrangian import PPOLagrangian
from solvent_agents.learning.networks import (
    PLAIN,
    SHARED,
    constructor_arguments,
    network_arguments,
    network_of,
)
from solvent_agents.learning.sb3 import LabVecEnv

__all__ = [
    "ALGORITHMS",
    "Recipe",
    "algorithm_arguments",
    "discount",
    "falling_entropy",
    "make_vec_env",
    "memory",
]

ALGORITHMS: dict[str, type[BaseAlgorithm]] = {
    "A2C": A2C,
    "DQN": DQN,
    "MaskablePPO": MaskablePPO,
    "PPO": PPO,
    "PPOLagrangian": PPOLagrangian,
    "QRDQN": QRDQN,
    "TRPO": TRPO,
}

POLICIES = (SHARED, PLAIN)
VALUE_BASED = ("DQN", "QRDQN")  # for which there is no SharedPolicy


@dataclass(frozen=True)
class Recipe:
    """An algorithm, its number of steps, and its hyperparameters under Stable-Baselines3's names.

    Attributes:
        algorithm: a key of ``ALGORITHMS``.
        n_timesteps: environment steps in all.
        n_envs: labs stepped together.
        policy: ``SharedPolicy`` (treats compounds alike) or ``MlpPolicy``, the only one of DQN and QRDQN.
        shaping_weight: the licence's weight in the shaping potential, None for no shaping.
        well_price: of a well in the shaping potential, bits.
        expected_score: reward a finding with its expected score instead of the drawn one.
        idle_price: of an action that does not execute, bits.
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
    idle_price: float = 0.0
    bootstrap_at_horizon: bool = False
    hyperparameters: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_mapping(cls, algorithm: str, mapping: Mapping[str, Any], *, path: str = "") -> Recipe:
        """Return a recipe from rl-zoo3's layout: ``n_timesteps``, ``n_envs``, ``policy`` and the algorithm's own keys.

        A rate such as ``learning_rate: lin_3e-4`` falls linearly to 0.

        Raises:
            ParamError: an unknown algorithm, key or policy, or an impossible number; one line says what is allowed.
        """
        where = f"{path}." if path else ""
        if algorithm not in [*ALGORITHMS]:  # a list, since a config may give anything
            raise ParamError(path, f"unknown algorithm {algorithm!r}" + nearest(str(algorithm), ALGORITHMS))
        known = (_arguments_of(ALGORITHMS[algorithm]) - _GIVEN) | _OWN.keys()
        for key, value in mapping.items():
            if key not in known:
                raise ParamError(f"{where}{key}", "unknown key" + nearest(str(key), known))
            allowed, fits = _OWN.get(key, _NUMBERS.get(key, _RATE if key in _FALLING else _ANY))
            if not fits(value):
                raise ParamError(f"{where}{key}", f"got {value!r}; allowed: {allowed}")
        if "n_timesteps" not in mapping:
            raise ParamError(f"{where}n_timesteps", "missing; allowed: " + _OWN["n_timesteps"][0])
        own = {key: value for key, value in mapping.items() if key in _OWN}
        for key in _WHOLE & own.keys():
            own[key] = int(own[key])
        if algorithm in VALUE_BASED:
            own.setdefault("policy", PLAIN)
        rest = {key: value for key, value in mapping.items() if key not in _OWN}
        recipe = cls(algorithm=algorithm, hyperparameters=rest, **own)
        _check_network(recipe, where)
        return recipe

    def to_mapping(self) -> dict[str, Any]:
        """Return plain values, ready for YAML or JSON."""
        return {**asdict(self), "hyperparameters": dict(self.hyperparameters)}


_LINEAR = re.compile(r"lin_([0-9]+(?:\.[0-9]*)?(?:e[+-]?[0-9]+)?)")


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _whole(most: int) -> tuple[str, Callable[[Any], bool]]:
    return (
        f"a whole number, at least 1 and at most {most:,}",
        lambda value: _number(value) and 1 <= value <= most and float(value).is_integer(),  # 1e6 as well
    )


def _count(most: int) -> tuple[str, Callable[[Any], bool]]:
    return (
        f"a whole number, at least 1 and at most {most:,}",
        lambda value: isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most,
    )


def _fits_argument(value: Any) -> bool:
    if isinstance(value, bool | Mapping) or value is None:
        return True
    return _number(value) and math.isfinite(value) and value >= 0


def _arguments_of(algorithm: type[BaseAlgorithm]) -> set[str]:
    """Return the names of the constructor's arguments, including those passed on to its base class."""
    names: set[str] = set()
    for cls in algorithm.__mro__:
        parameters = inspect.signature(cls.__init__).parameters.values()  # type: ignore[misc]
        names |= {p.name for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}
        if not any(p.kind is p.VAR_KEYWORD for p in parameters):
            break
    return names


def _check_network(recipe: Recipe, where: str) -> None:
    """Check that the algorithm has this network in these sizes."""
    given = recipe.hyperparameters.get("policy_kwargs") or {}
    try:
        network_arguments(recipe.algorithm, recipe.policy, given)
    except ParamError as error:
        raise ParamError(f"{where}{error.path}", error.problem) from None


_GIVEN = {"self", "env", "policy", "seed", "tensorboard_log", "verbose", "device", "_init_setup_model"}
"""Arguments of an algorithm that ``train`` gives itself, or that change nothing that is learnt."""

_WHOLE = {"n_timesteps", "n_envs"}
_OWN: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "n_timesteps": _whole(10**12),
    "n_envs": _whole(2**20),
    "policy": (", ".join(POLICIES), lambda value: value in POLICIES),
    "shaping_weight": ("empty, or 0 to 100", lambda v: v is None or (_number(v) and 0.0 <= v <= 100.0)),
    "well_price": ("0 to 1", lambda v: _number(v) and 0.0 <= v <= 1.0),
    "expected_score": ("true or false", lambda value: isinstance(value, bool)),
    "idle_price": ("0 to 1", lambda v: _number(v) and 0.0 <= v <= 1.0),
    "bootstrap_at_horizon": ("true or false", lambda value: isinstance(value, bool)),
}
"""The recipe's own keys: what is allowed in words, and as a test."""

_ANY: tuple[str, Callable[[Any], bool]] = ("a number that is not negative", _fits_argument)
_RATE: tuple[str, Callable[[Any], bool]] = (
    "a number that is not negative, or lin_<number>",
    lambda v: _fits_argument(v) or (isinstance(v, str) and _LINEAR.fullmatch(v) is not None),
)
_FALLING = {"learning_rate", "clip_range", "clip_range_vf", "ent_coef"}
_NUMBERS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "cost_limit": ("bits of new debt an episode, 0 to 1000", lambda v: _number(v) and 0.0 <= v <= 1000.0),
    "lambda_lr": ("0 to 100", lambda v: _number(v) and 0.0 <= v <= 100.0),
    "initial_lambda": ("0 to 1000", lambda v: _number(v) and 0.0 <= v <= 1000.0),
    "n_steps": _count(10**9),
    "batch_size": _count(10**9),
    "n_epochs": _count(10**6),
    "buffer_size": _count(10**12),
}
"""The same for arguments of an algorithm that are no rates: those of PPOLagrangian."""


def _linear(start: float) -> Callable[[float], float]:
    """Return a rate that falls linearly to 0, of the share of the training that is left."""
    return lambda remaining: start * remaining


def algorithm_arguments(recipe: Recipe, params: LabParams) -> tuple[Any, dict[str, Any]]:
    """Return the policy and the keyword arguments of the algorithm's constructor."""
    arguments = dict(recipe.hyperparameters)
    for key, value in arguments.items():
        match = _LINEAR.fullmatch(value) if isinstance(value, str) else None
        if match:
            arguments[key] = float(match[1]) if key == "ent_coef" else _linear(float(match[1]))
    given = network_arguments(recipe.algorithm, recipe.policy, arguments.get("policy_kwargs") or {})
    arguments["policy_kwargs"] = constructor_arguments(recipe.policy, given, params)
    return network_of(recipe.algorithm, recipe.policy).policy, arguments


def falling_entropy(recipe: Recipe) -> float | None:
    """Return the start of an entropy bonus that falls to 0 (``ent_coef: lin_0.1``), or None for a constant one."""
    match = _LINEAR.fullmatch(str(recipe.hyperparameters.get("ent_coef")))
    return float(match[1]) if match else None


def discount(recipe: Recipe) -> float:
    """Return the learner's discount."""
    return float(recipe.hyperparameters.get("gamma", 0.99))


def memory(recipe: Recipe, params: LabParams) -> int:
    """Return the bytes that a training's labs and its buffer of steps take, without small change."""
    seen = 4 * len(observation_fields(params))
    labs = recipe.n_envs * (2 * lab_dtype(params).itemsize + 2 * seen)  # the last of an episode is kept apart
    steps = _argument(recipe, "buffer_size") or recipe.n_envs * _argument(recipe, "n_steps")
    return labs + steps * seen * (2 if recipe.algorithm in VALUE_BASED else 1)


def _argument(recipe: Recipe, name: str) -> int:
    """Return a whole number among the arguments of the algorithm; 0 if it has none of this name."""
    signatures = (inspect.signature(cls.__init__) for cls in ALGORITHMS[recipe.algorithm].__mro__)  # type: ignore[misc]
    default = next((s.parameters[name].default for s in signatures if name in s.parameters), 0)
    return int(recipe.hyperparameters.get(name, default))


def make_vec_env(recipe: Recipe, params: LabParams, n_envs: int) -> LabVecEnv:
    """Return ``n_envs`` labs with the rewards that a recipe trains on."""
    return LabVecEnv(
        params,
        n_envs,
        shaping_weight=recipe.shaping_weight,
        well_price=recipe.well_price,
        expected_score=recipe.expected_score,
        idle_price=recipe.idle_price,
        gamma=discount(recipe),
        bootstrap_at_horizon=recipe.bootstrap_at_horizon,
    )
