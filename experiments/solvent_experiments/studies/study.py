"""What a study is made of: arms (trainings), plays (agents in labs), and the budget of both.

An *arm* is one learner trained under one setting of the rules, and is run like any experiment. A *play* sets an agent,
scripted or trained in an arm, into a lab, which may have other rules than it was trained under, and keeps a table.
Both are data.
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
"""Where the seeds of evaluations begin."""

Params = Mapping[str, Any]


class _InLab:
    """Something that happens in a level with differences."""

    env: str
    params: Params

    @property
    def lab(self) -> LabParams:
        """The parameters of its labs.

        Raises:
            ParamError: something in the differences can't be used.
        """
        level = environment_params(self.env)
        made: LabParams = LabParams.from_mapping(self.params, base=level, path="params")
        return made


@dataclass(frozen=True)
class Budget:
    """How much is spent on a study: None leaves what its arms say."""

    seeds: tuple[int, ...] | None = None
    steps: int | None = None
    envs: int | None = None
    episodes: int | None = None
    imitation: int | None = None
    cells: int | None = None
    """Most plays of one kind."""

    @classmethod
    def smoke(cls) -> Budget:
        """Seconds instead of an hour: everything runs, and nothing that comes out means anything."""
        return cls(seeds=(0, 1), steps=1280, envs=16, episodes=24, imitation=8, cells=12)


@dataclass(frozen=True)
class Arm(_InLab):
    """One learner under one setting of the rules.

    Attributes:
        name: names its folder.
        says: in a few words, for tables and figures.
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
    seeds: int = 10
    episodes: int = 1000

    @property
    def learner(self) -> str:
        """How its agent is called in tables."""
        return {"MaskablePPO": "maskable_ppo"}.get(
            self.train["algorithm"], str(self.train["algorithm"]).lower()
        )

    def recipe(self, budget: Budget) -> dict[str, Any]:
        """The recipe, at the budget's size."""
        recipe = dict(self.train)
        if budget.steps is not None:
            recipe["n_timesteps"] = budget.steps
        if budget.envs is not None:
            recipe |= {"n_envs": budget.envs, "n_steps": 8, "batch_size": 64}
        if budget.imitation is not None and recipe.get("imitation_episodes"):
            recipe |= {"imitation_episodes": budget.imitation, "imitation_epochs": 1}
        make_recipe(recipe)
        return recipe

    def experiment(self, owner: str, budget: Budget) -> Experiment:
        """The experiment that it is, under the name of the study that it is kept with."""
        chosen = budget.seeds if budget.seeds is not None else tuple(range(self.seeds))
        episodes = budget.episodes or self.episodes
        kept = {"ledger_episodes": min(50, episodes), "trace_episodes": min(200, episodes)}
        return Experiment(
            name=f"{owner}.{self.name}",
            env=self.env,
            preset=str(ENVIRONMENTS[self.env].get("preset", "default")),
            params=self.lab,
            agents=(),
            train={self.learner: self.recipe(budget)},
            seeds=chosen,
            evaluation=Evaluation(episodes=episodes, **kept),
        )

    def essence(self) -> tuple[Any, ...]:
        """What makes two arms the same training, whatever they are called."""
        return self.env, self.lab, repr(sorted(self.train.items())), self.episodes


@dataclass(frozen=True)
class Play(_InLab):
    """An agent in a lab.

    Attributes:
        name: names its table, within its study.
        params: differences from the level ``env``.
        script: name of a scripted agent.
        settings: constants of that script, by the names of ``Manner`` (and ``speaks``), of a planner by those of
            ``Effort``.
        arm: or the arm whose trained policies play, each seed by itself.
        record: the kind of table, a key of ``records.RECORDS``.
        episodes: an agent.
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
