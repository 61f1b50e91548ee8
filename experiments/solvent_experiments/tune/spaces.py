"""Search spaces and starting points by algorithm. Edit the tables to search others.

Keys are those of a recipe, except two: ``minibatches`` per rollout determine ``batch_size``, and ``network`` names a
row of ``NETWORKS``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from solvent import ParamError
from solvent.lab.settings import nearest
from solvent_experiments.config.documents import ConfigError, read_document
from solvent_experiments.config.experiment import make_recipe

if TYPE_CHECKING:
    import optuna

__all__ = [
    "SCORED",
    "SPACES",
    "START",
    "TRAINED",
    "Choice",
    "Search",
    "drawn_recipe",
    "space_of",
    "starting_point",
]

TRAINED = range(100, 200)  # seeds of trials
SCORED = range(1000, 10_000)  # seeds of the labs that they are scored on


class Choice(NamedTuple):
    values: tuple[bool | int | float | str | None, ...]

    def draw(self, trial: optuna.trial.Trial, key: str) -> Any:
        return trial.suggest_categorical(key, list(self.values))

    def within(self, value: Any) -> list[Any]:
        """Return the value as a trial draws it; empty if it is not among the choices."""
        return [value] if value in self.values else []


class Range(NamedTuple):
    """A range on a logarithmic scale; with ``falls``, of the initial value of a rate that falls linearly to 0."""

    low: float
    high: float
    falls: bool = False

    def draw(self, trial: optuna.trial.Trial, key: str) -> Any:
        """Return the trial's value, rounded to two digits."""
        value = float(f"{trial.suggest_float(key, self.low, self.high, log=True):.2g}")
        return f"lin_{value:g}" if self.falls else value

    def within(self, value: Any) -> list[float]:
        """Return the value as a trial draws it; empty if it is outside the range."""
        if self.falls:
            value = float(value.removeprefix("lin_")) if str(value).startswith("lin_") else None
        return [value] if isinstance(value, int | float) and self.low <= value <= self.high else []


Space = Mapping[str, Choice | Range]

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
    "learning_rate": Range(3e-4, 2e-2, falls=True),
    "gae_lambda": Choice((0.8, 0.9, 0.95, 0.98, 1.0)),
    "ent_coef": Range(1e-4, 3e-2),
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
    "PPOLagrangian": {**_PPO, "lambda_lr": Range(1e-3, 1.0), "initial_lambda": Choice((0.0, 0.5, 1.0))},
    "A2C": {
        **_ON_POLICY,
        "n_steps": Choice((4, 5, 8, 16)),
        "normalize_advantage": Choice((True, False)),
        **_SHAPING,
    },
    "DQN": {
        "network": Choice(("plain-64", "plain-128", "plain-256")),
        "learning_rate": Range(1e-4, 1e-2, falls=True),
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
"""Fixed settings, unless ``--base`` sets them. Episodes are finite, so the return is not discounted."""


def space_of(algorithm: str) -> Space:
    """Return the search space of an algorithm; the error for an unknown one names the nearest."""
    if algorithm not in SPACES:
        raise ConfigError(f"no search space for {algorithm!r}" + nearest(algorithm, SPACES), key="ALGORITHM")
    return SPACES[algorithm]


def drawn_recipe(trial: optuna.trial.Trial, space: Space, base: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``base`` with the trial's values for the searched settings."""
    drawn = {key: range_.draw(trial, key) for key, range_ in space.items()}
    network = NETWORKS[drawn.pop("network")]
    recipe = {**base, **network, **drawn}
    if (cut := recipe.pop("minibatches", None)) is not None:
        recipe["batch_size"] = recipe["n_envs"] * recipe["n_steps"] // cut
    return recipe


def starting_point(space: Space, base: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that reproduce ``base`` in a trial, as far as the space contains them."""
    known = dict(base)
    if "batch_size" in base and "n_envs" in base and "n_steps" in base and "minibatches" in space:
        known["minibatches"] = base["n_envs"] * base["n_steps"] // base["batch_size"]
    for name, network in NETWORKS.items():
        if all(base.get(key) == value for key, value in network.items()):
            known["network"] = name
    return {
        key: drawn for key, range_ in space.items() if key in known for drawn in range_.within(known[key])
    }


@dataclass(frozen=True)
class Search:
    """A search and its budget."""

    algorithm: str
    env: str
    trials: int
    steps: int
    seconds: float | None = None
    base: Path | None = None
    episodes: int = 1000

    def start(self) -> dict[str, Any]:
        """Return the recipe that the search varies; raise ConfigError if its base has no valid one."""
        recipe = {"algorithm": self.algorithm, **START[self.algorithm]}
        if self.base is not None:
            document = read_document(self.base)
            entry = document.data.get(self.env)
            if not isinstance(entry, Mapping):
                known = ", ".join(map(str, document.data))
                raise document.error(self.env, f"no recipe; allowed: an environment that it has: {known}")
            recipe |= entry
        recipe["n_timesteps"] = self.steps
        try:
            make_recipe(recipe)
        except ParamError as error:
            raise ConfigError(error.problem, file=self.base, key=error.path) from None
        return recipe

    def identity(self) -> dict[str, Any]:
        """Return the settings that comparable trials share: all but their number."""
        ranges = space_of(self.algorithm).items()
        return {
            "algorithm": self.algorithm,
            "env": self.env,
            "episodes": self.episodes,
            "start": self.start(),
            "space": {key: repr(tuple(range_[:2])) for key, range_ in ranges},
        }

    def command(self) -> str:
        """Return the command that repeats the search."""
        words = [
            f"solvent tune {self.algorithm} --env {self.env} --trials {self.trials} --steps {self.steps}"
        ]
        if self.seconds is not None:
            words.append(f"--seconds {self.seconds:g}")
        if self.base is not None:
            words.append(f"--base {self.base.name if self.base.is_absolute() else self.base.as_posix()}")
        return " ".join(words)
