"""The parts of a study: arms (trainings), plays (agents in labs), and the budget of both.

An *arm* is a learner trained under one setting of the rules; it runs like any experiment. A *play* puts a script or an
arm's policy into a lab, possibly with other rules, and keeps a table. Both are data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from solvent import ENVIRONMENTS, LabParams
from solvent_experiments.config.experiment import Evaluation, Experiment, environment_params, make_recipe

__all__ = ["DEBT", "Arm", "Budget", "Play"]

DEBT = "Solvent/Debt-v0"
FIRST_SEED = 10_000
"""The first seed of evaluations."""

Params = Mapping[str, Any]


class _InLab:
    """A level and differences from it."""

    env: str
    params: Params

    @property
    def lab(self) -> LabParams:
        level = environment_params(self.env)
        made: LabParams = LabParams.from_mapping(self.params, base=level, path="params")
        return made


@dataclass(frozen=True)
class Budget:
    """The budget of a study; None keeps the setting of its arms."""

    seeds: tuple[int, ...] | None = None
    steps: int | None = None
    envs: int | None = None
    episodes: int | None = None
    cells: int | None = None
    """Maximum number of plays of one kind."""

    @classmethod
    def smoke(cls) -> Budget:
        """Return a budget of seconds instead of an hour: everything runs, but the results mean nothing."""
        return cls(seeds=(0, 1), steps=1280, envs=16, episodes=24, cells=12)


@dataclass(frozen=True)
class Arm(_InLab):
    """A learner under one setting of the rules.

    Attributes:
        name: the name of its folder.
        says: its label in tables and figures.
        train: a complete recipe, with its ``algorithm``.
        env: environment id.
        params: differences from that level.
        seeds: training seeds, 0 to ``seeds`` - 1.
    """

    name: str
    says: str
    train: Mapping[str, Any]
    env: str = DEBT
    params: Params = field(default_factory=dict)
    seeds: int = 5
    episodes: int = 1000

    @property
    def learner(self) -> str:
        """The name of its agent in tables."""
        return {"MaskablePPO": "maskable_ppo"}.get(
            self.train["algorithm"], str(self.train["algorithm"]).lower()
        )

    def recipe(self, budget: Budget) -> dict[str, Any]:
        """Return the recipe, scaled to the budget."""
        recipe = dict(self.train)
        if budget.steps is not None:
            recipe["n_timesteps"] = budget.steps
        if budget.envs is not None:
            recipe |= {"n_envs": budget.envs, "n_steps": 8, "batch_size": 64}
        make_recipe(recipe)
        return recipe

    def experiment(self, owner: str, budget: Budget) -> Experiment:
        """Return the arm as an experiment, named after its ``owner``, the study whose folder holds it."""
        chosen = budget.seeds if budget.seeds is not None else tuple(range(self.seeds))
        episodes = budget.episodes or self.episodes
        return Experiment(
            name=f"{owner}.{self.name}",
            env=self.env,
            preset=str(ENVIRONMENTS[self.env].get("preset", "default")),
            params=self.lab,
            agents=(),
            train={self.learner: self.recipe(budget)},
            seeds=chosen,
            evaluation=Evaluation(
                episodes=episodes,
                ledger_episodes=min(50, episodes),
                trace_episodes=min(200, episodes),
            ),
        )

    def essence(self) -> tuple[Any, ...]:
        """Return the properties that identify the training, without names."""
        return self.env, self.lab, repr(sorted(self.train.items())), self.episodes


@dataclass(frozen=True)
class Play(_InLab):
    """An agent in a lab.

    Attributes:
        name: the name of its table within the study.
        params: differences from the level ``env``.
        script: name of a scripted agent.
        settings: constants of the script: fields of ``Manner`` and ``speaks``, for a planner fields of ``Effort``,
            for the adversary fields of ``Ploy``.
        arm: alternatively the arm whose trained policies play, one per seed.
        record: the kind of table, a key of ``records.RECORDS``.
        episodes: number of episodes per agent.
        first_seed: seed of the first episode.
    """

    name: str
    params: Params = field(default_factory=dict)
    env: str = DEBT
    script: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    arm: Arm | None = None
    record: str = "episodes"
    episodes: int = 500
    first_seed: int = FIRST_SEED
