"""What a search may vary, for each algorithm, and where it starts from: a table to read and to change.

Keys are those of a recipe, but for two: ``minibatches`` is how many a rollout is cut into (``batch_size`` follows), and
``network`` names a row of ``NETWORKS``. ``Falling`` is a rate that is drawn on a logarithmic scale and falls to 0 over
the training (``lin_...``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from solvent.lab.settings import nearest
from solvent_experiments.config.documents import ConfigError

if TYPE_CHECKING:
    import optuna

__all__ = ["SPACES", "START", "Space", "described", "drawn_recipe", "space_of", "starting_point"]


class Choice(NamedTuple):
    """One of these."""

    values: tuple[bool | int | float | str | None, ...]


class Log(NamedTuple):
    """A number between these, on a logarithmic scale."""

    low: float
    high: float


class Falling(NamedTuple):
    """The same, as the start of a rate that falls linearly to 0."""

    low: float
    high: float


Space = Mapping[str, Choice | Log | Falling]

NETWORKS: dict[str, dict[str, Any]] = {
    "shared-32": {"policy": "SharedPolicy", "policy_kwargs": {"width": 32, "value_width": 32}},
    "shared-64": {"policy": "SharedPolicy", "policy_kwargs": {"width": 64, "value_width": 32}},
    "plain-64": {"policy": "MlpPolicy", "policy_kwargs": {"net_arch": [64, 64]}},
    "plain-128": {"policy": "MlpPolicy", "policy_kwargs": {"net_arch": [128, 128]}},
    "plain-256": {"policy": "MlpPolicy", "policy_kwargs": {"net_arch": [256, 256]}},
}

_ON_POLICY: Space = {
    "network": Choice(("shared-32", "shared-64", "plain-64", "plain-128")),
    "n_envs": Choice((64, 128, 256, 512)),
    "n_steps": Choice((5, 10, 16, 32, 40, 64)),  # an episode is 5 actions in Tiny, 40 in Debt and Gate
    "learning_rate": Falling(3e-4, 2e-2),
    "gae_lambda": Choice((0.8, 0.9, 0.95, 0.98, 1.0)),
    "ent_coef": Log(1e-4, 3e-2),
}
_SHAPING: Space = {"shaping_weight": Choice((None, 0.3, 0.5, 0.7, 1.0))}
_PPO: Space = {
    **_ON_POLICY,
    "minibatches": Choice((1, 2, 4, 8)),
    "n_epochs": Choice((3, 5, 10)),
    "clip_range": Choice((0.1, 0.2, 0.3)),
    **_SHAPING,
}

SPACES: Mapping[str, Space] = {
    "PPO": _PPO,
    "MaskablePPO": _PPO,
    "PPOLagrangian": {**_PPO, "lambda_lr": Log(1e-3, 1.0), "initial_lambda": Choice((0.0, 0.5, 1.0))},
    "A2C": {
        **_ON_POLICY,
        "n_steps": Choice((4, 5, 8, 16)),
        "normalize_advantage": Choice((True, False)),
        **_SHAPING,
    },
    "DQN": {
        "network": Choice(("plain-64", "plain-128", "plain-256")),
        "learning_rate": Falling(1e-4, 1e-2),
        "batch_size": Choice((128, 256, 512)),
        "gradient_steps": Choice((1, 2, 4)),
        "target_update_interval": Choice((2_000, 5_000, 10_000)),
        "exploration_fraction": Choice((0.1, 0.3, 0.5)),
        "exploration_final_eps": Choice((0.01, 0.03, 0.05)),
        **_SHAPING,
    },
}

_EPISODIC = {"gamma": 1.0, "expected_score": True, "well_price": 0.01}
START: Mapping[str, Mapping[str, Any]] = {
    "PPO": _EPISODIC,
    "MaskablePPO": _EPISODIC,
    "PPOLagrangian": {**_EPISODIC, "cost_limit": 1.0},
    "A2C": _EPISODIC,
    "DQN": {**_EPISODIC, "n_envs": 64, "train_freq": 1, "learning_starts": 5_000, "buffer_size": 100_000},
}
"""What is not searched, where no ``--base`` says otherwise. Episodes end, and so does the return: no discount."""


def space_of(algorithm: str) -> Space:
    """The search space of an algorithm.

    Raises:
        ConfigError: there is none; the message names the nearest.
    """
    if algorithm not in SPACES:
        raise ConfigError(f"no search space for {algorithm!r}" + nearest(algorithm, SPACES), key="ALGORITHM")
    return SPACES[algorithm]


def described(space: Space) -> dict[str, str]:
    """The space in words, to tell one search from another."""
    return {key: repr(tuple(range_)) for key, range_ in space.items()}


def drawn_recipe(trial: optuna.trial.Trial, space: Space, base: Mapping[str, Any]) -> dict[str, Any]:
    """``base`` with what the trial draws in the place of what is searched."""
    drawn: dict[str, Any] = {}
    for key, range_ in space.items():
        if isinstance(range_, Choice):
            drawn[key] = trial.suggest_categorical(key, list(range_.values))
        else:
            value = float(f"{trial.suggest_float(key, range_.low, range_.high, log=True):.2g}")
            drawn[key] = f"lin_{value:g}" if isinstance(range_, Falling) else value
    network = NETWORKS[drawn.pop("network")]
    recipe = {**base, **network, **drawn}
    if (cut := recipe.pop("minibatches", None)) is not None:
        recipe["batch_size"] = recipe["n_envs"] * recipe["n_steps"] // cut
    return recipe


def starting_point(space: Space, base: Mapping[str, Any]) -> dict[str, Any] | None:
    """What a trial would have to draw to give ``base``, as far as the space has it; None where it has nothing of it."""
    known = dict(base)
    if "batch_size" in base and "n_envs" in base and "n_steps" in base and "minibatches" in space:
        known["minibatches"] = base["n_envs"] * base["n_steps"] // base["batch_size"]
    for name, network in NETWORKS.items():
        if all(base.get(key) == value for key, value in network.items()):
            known["network"] = name
    point = {
        key: inside
        for key, range_ in space.items()
        if (inside := _inside(range_, known.get(key, _NOTHING))) != _NOTHING
    }
    return point or None


_NOTHING = "nothing"


def _inside(range_: Choice | Log | Falling, value: Any) -> Any:
    """The value as a trial draws it, or ``_NOTHING`` where it can't."""
    if isinstance(range_, Choice):
        return value if value in range_.values else _NOTHING
    if isinstance(range_, Falling):
        value = float(value.removeprefix("lin_")) if str(value).startswith("lin_") else _NOTHING
    return value if isinstance(value, int | float) and range_.low <= value <= range_.high else _NOTHING
