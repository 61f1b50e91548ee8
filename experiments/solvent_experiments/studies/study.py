"""A study as data: a claim that can be wrong, the agents that it needs, and the numbers that decide.

An *arm* is a learner trained under one setting of the rules, run like any experiment. A *play* puts a script, or an
arm's policies, into a lab, possibly under other rules, and keeps a table. Both are *sources* of columns.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from solvent import LabParams
from solvent_experiments.config import ConfigError, Evaluation, Experiment, environment_params
from solvent_experiments.folder import Columns, RunFolder, groups_of, read_parquet, select
from solvent_experiments.statistics import (
    NOTHING,
    Interval,
    difference,
    interval,
    mean_interval,
    share_difference,
    share_interval,
)

DEBT = "Solvent/Debt-v0"
CONFIRMED, REFUTED, NOT_SHOWN = "confirmed", "refuted", "not shown"
PPO: Mapping[str, Any] = {
    "algorithm": "PPO", "n_timesteps": 1_500_000, "n_envs": 128, "policy": "SharedPolicy", "shaping_weight": 0.5,
    "well_price": 0.01, "expected_score": True, "n_steps": 20, "batch_size": 512, "n_epochs": 3, "gamma": 1.0,
    "gae_lambda": 0.95, "learning_rate": "lin_5e-3", "clip_range": 0.2, "ent_coef": "lin_0.03",
    "policy_kwargs": {"width": 48, "value_width": 16},
}  # fmt: skip
"""PPO from nothing, as in the recipe ``ppo.yml``, for fewer steps."""
ENERGETIC = {**PPO, "n_timesteps": 2_000_000, "idle_price": 0.02, "ent_coef": "lin_0.1"}
"""For levels on which acting costs energy."""
SMOKE = {"n_timesteps": 1280, "n_envs": 16, "n_steps": 8, "batch_size": 64}


@dataclass(frozen=True)
class Arm:
    """A learner: its folder's name, which no other arm has, its label, and its differences from a level."""

    name: str
    says: str
    train: Mapping[str, Any] = field(default_factory=lambda: PPO)
    env: str = DEBT
    params: Mapping[str, Any] = field(default_factory=dict)
    seeds: int = 5
    episodes: int = 1000

    @property
    def learner(self) -> str:
        return str(self.train["algorithm"]).lower()

    def experiment(self, seeds: Sequence[int] | None = None, *, smoke: bool = False) -> Experiment:
        """Return the arm as an experiment, with its own number of seeds; ``smoke`` takes seconds and means nothing."""
        episodes = 24 if smoke else self.episodes
        return Experiment(
            name=self.name,
            env=self.env,
            params=lab_of(self).to_mapping(),
            train={self.learner: {**self.train, **(SMOKE if smoke else {})}},
            seeds=list(seeds or range(2 if smoke else self.seeds)),
            evaluation=Evaluation(episodes=episodes, trace_episodes=min(200, episodes)),
        )


@dataclass(frozen=True)
class Play:
    """An agent in a lab: the name of its table in the study, and its differences from a level.

    Attributes:
        script: name of a scripted agent; ``settings`` are constants of it.
        arm: alternatively the arm whose policies play, one per training seed.
        record: the kind of table, a key of ``records.RECORDS``.
    """

    name: str
    params: Mapping[str, Any] = field(default_factory=dict)
    env: str = DEBT
    script: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    arm: Arm | None = None
    record: str = "episodes"
    episodes: int = 1000
    first_seed: int = 10_000


Source = Arm | Play


def lab_of(source: Source) -> LabParams:
    """Return the parameters of a source's labs."""
    return environment_params(source.env, source.params)


@dataclass(frozen=True)
class Compare:
    """A number of a study: a column of ``of``, less ``times`` that of ``to``, plus ``plus``.

    Attributes:
        column: the column that is averaged; with ``over``, its sum is divided by that of the other column.
        to: the source to compare with, if any.
        expected: the sign that the claim expects; 0 outside the claim.
        middle: average the middle half.
        paired: both sources play the same episodes, one table each.
        where: only rows whose column has this value.
    """

    name: str
    unit: str
    of: Source
    column: str
    to: Source | None = None
    over: str | None = None
    expected: int = 0
    middle: bool = False
    paired: bool = False
    times: float = 1.0
    plus: float = 0.0
    where: tuple[str, float] | None = None

    def found(self, data: StudyData) -> Interval:
        """Return the number with its 95 % interval."""

        def groups(column: str) -> list[list[Any]]:
            return [data.groups(source, column, self.where) for source in (self.of, self.to) if source]

        parts = groups(self.column)
        if not all(sum(map(len, part)) for part in parts):  # such as an agent that never claims
            return NOTHING
        if self.over is not None:
            mine, *other = zip(parts, groups(self.over), strict=True)
            found = share_difference(other[0], mine, paired=False) if other else share_interval(*mine)
        elif self.to is None:
            found = (interval if self.middle else mean_interval)(parts[0])
        elif self.paired:
            found = mean_interval([a - self.times * b for a, b in zip(*parts, strict=True)])
        else:
            found = difference(*parts[::-1], middle=self.middle)
        return Interval(*(number + self.plus for number in found))


@dataclass(frozen=True)
class Finding:
    """A number that was found; see ``Compare``."""

    name: str
    found: Interval
    unit: str
    expected: int = 0

    @property
    def verdict(self) -> str:
        """The verdict on the claim's expectation; empty outside the claim."""
        if not self.expected:
            return ""
        low, high = sorted((self.expected * self.found.low, self.expected * self.found.high))
        return CONFIRMED if low > 0 else REFUTED if high < 0 else NOT_SHOWN


def verdict_on(findings: Sequence[Finding]) -> str:
    """Return the verdict on a claim that expects all of the findings."""
    verdicts = {finding.verdict for finding in findings if finding.expected}
    return REFUTED if REFUTED in verdicts else CONFIRMED if verdicts == {CONFIRMED} else NOT_SHOWN


@dataclass(frozen=True)
class Study:
    """A study.

    Attributes:
        claim: one sentence that can be wrong.
        compares: the numbers that decide.
        rows: sources by label, and the columns of their means, for the table.
        more: further findings that no ``Compare`` expresses, and the arms and plays that they need.
        notes: what a reader should know.
    """

    title: str
    claim: str
    compares: tuple[Compare, ...] = ()
    rows: Mapping[str, Source] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    more: Callable[[StudyData], Sequence[Finding]] | None = None
    needs: tuple[Source, ...] = ()
    notes: tuple[str, ...] = ()

    def sources(self) -> list[Source]:
        """Return all arms, those of plays included, then all plays."""
        named = [*self.rows.values(), *self.needs]
        named += [source for one in self.compares for source in (one.of, one.to) if source is not None]
        named += [source.arm for source in named if isinstance(source, Play) and source.arm is not None]
        distinct = {(type(source).__name__, source.name): source for source in named}
        return sorted(distinct.values(), key=lambda source: isinstance(source, Play))

    def arms(self) -> list[Arm]:
        return [source for source in self.sources() if isinstance(source, Arm)]

    def score(self, data: StudyData) -> list[Finding]:
        """Return what was found."""
        found = [Finding(c.name, c.found(data), c.unit, c.expected) for c in self.compares]
        return [*found, *(self.more(data) if self.more else ())]


@dataclass(frozen=True)
class StudyData:
    """The tables of a study ``name`` in the folder ``runs``."""

    name: str
    runs: Path

    def folder(self, arm: Arm) -> RunFolder:
        """Return the run of an arm, which all studies share."""
        return RunFolder(self.runs / "arms" / arm.name)

    def table(self, source: Source, training: bool = False) -> Path:
        """Return where the episodes of an arm's evaluation or training are, or the table of a play."""
        if isinstance(source, Play):
            return self.runs / self.name / f"{source.name}.parquet"
        return self.folder(source).training if training else self.folder(source).episodes

    def columns(self, source: Source, training: bool = False) -> Columns:
        path = self.table(source, training)
        if not path.exists():
            raise ConfigError(f"not there yet; allowed: after `solvent study run {self.name}`", file=path)
        return _read(path)

    def groups(self, source: Source, name: str, where: tuple[str, float] | None = None) -> list[Any]:
        """Return a column by training seed."""
        columns = self.columns(source)
        if where is not None:
            columns = select(columns, columns[where[0]] == where[1])
        return [group for agent in np.unique(columns["agent"]) for group in groups_of(columns, agent, name)]


_read = functools.cache(read_parquet)


ENFORCED = Arm("enforced", "enforced", seeds=10)
TRACKED = replace(ENFORCED, name="tracked", says="only tracked", params={"debt": {"enforced": False}})
DOCUMENT = replace(ENFORCED, name="document", says="the document's rules", params={"debt": {"interest": 0.0}})
"""Arms that several studies share. Debt that is only tracked bears no interest, so under the document's own rules it is
the same arm."""
