"""A study as data: agents under rules, how they are compared, and what a claim expects of it.

An *arm* is an agent of a run: a learner trained under one setting of the rules, or a script beside it. A *play* puts a
script, or an arm's policies, into a lab, possibly under other rules, and keeps a table of another kind. Both are
*sources* of columns, of which a *comparison* makes a number with its interval. A study without expectations, such as
the sweep of a config, has no claim and no verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from solvent import LabParams
from solvent_experiments.config import (
    FIRST_SEED,
    ConfigError,
    Evaluation,
    Experiment,
    check_seeds,
    environment_params,
    read_json,
)
from solvent_experiments.folder import Columns, RunFolder, by_seed, pairs_of, read_parquet, select
from solvent_experiments.statistics import (
    NOTHING,
    Interval,
    difference,
    mean_interval,
    share_difference,
    share_interval,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DEBT = "Solvent/Debt-v0"
CONFIRMED, REFUTED, NOT_SHOWN = "confirmed", "refuted", "not shown"
PPO: Mapping[str, Any] = {
    "algorithm": "PPO", "n_timesteps": 1_500_000, "n_envs": 128, "policy": "SharedPolicy", "shaping_weight": 0.5,
    "well_price": 0.01, "expected_score": True, "n_steps": 20, "batch_size": 512, "n_epochs": 3, "gamma": 1.0,
    "gae_lambda": 0.95, "learning_rate": "lin_5e-3", "clip_range": 0.2, "ent_coef": "lin_0.03",
    "policy_kwargs": {"width": 48, "value_width": 16},
}  # fmt: skip
"""PPO from scratch, as in the recipe ``ppo.yml``, for fewer steps."""
ENERGETIC = {**PPO, "n_timesteps": 2_000_000, "idle_price": 0.02, "ent_coef": "lin_0.1"}
"""For levels on which acting costs energy."""
DATA = {
    **PPO, "class_target": "truth", "policy_kwargs": {**PPO["policy_kwargs"], "class_width": 64},
}  # fmt: skip
"""For the level where a finding names its class."""
SMOKE = {"n_timesteps": 1280, "n_envs": 16, "n_steps": 8, "batch_size": 64}
TRAINING_SEEDS = 5
SMOKE_EPISODES, SMOKE_SEEDS = 24, 2
PLAYED = "as `solvent study run` wrote it beside a table"


@dataclass(frozen=True)
class Scale:
    """How much of a study is run: fewer training seeds or steps, or what takes seconds and means nothing."""

    seeds: Sequence[int] | None = None
    steps: int | None = None
    smoke: bool = False


FULL = Scale()


@dataclass(frozen=True)
class Arm:
    """An agent of a run; arms of the same ``name`` share the run, and its folder."""

    name: str
    label: str
    experiment: Experiment
    agent: str

    @property
    def lab(self) -> LabParams:
        return self.experiment.lab

    def scaled(self, scale: Scale) -> Experiment:
        """Return the experiment with the seeds, steps and episodes of a scale; see ``check_seeds``."""
        experiment = self.experiment
        steps = {} if scale.steps is None else {"n_timesteps": scale.steps}
        changes = {**(SMOKE if scale.smoke else {}), **steps}
        train = {name: {**(recipe or {}), **changes} for name, recipe in experiment.train.items()}
        seeds = list(scale.seeds or (experiment.seeds[:SMOKE_SEEDS] if scale.smoke else experiment.seeds))
        evaluation = _evaluation(SMOKE_EPISODES) if scale.smoke else experiment.evaluation
        scaled = experiment.model_copy(update={"train": train, "seeds": seeds, "evaluation": evaluation})
        check_seeds(scaled)
        return scaled


def learner(
    name: str,
    label: str,
    *,
    train: Mapping[str, Any] = PPO,
    env: str = DEBT,
    params: Mapping[str, Any] | None = None,
) -> Arm:
    """Return an arm that trains a learner under differences from a level, with five seeds and 1,000 episodes."""
    agent = str(train["algorithm"]).lower()
    experiment = Experiment(
        name=name,
        env=env,
        params=environment_params(env, params).to_mapping(),
        train={agent: dict(train)},
        seeds=list(range(TRAINING_SEEDS)),
        evaluation=_evaluation(1000),
    )
    return Arm(name, label, experiment, agent)


def _evaluation(episodes: int) -> Evaluation:
    return Evaluation(episodes=episodes, trace_episodes=min(200, episodes))


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
    first_seed: int = FIRST_SEED

    @property
    def lab(self) -> LabParams:
        return environment_params(self.env, self.params)


Source = Arm | Play


@dataclass(frozen=True)
class Compare:
    """A number of a study: the mean of a column of ``of``, minus that of ``to``, plus ``plus``.

    Attributes:
        column: the column that is averaged; with ``over``, its sum is divided by that of the other column.
        to: the source to compare with, if any.
        expected: the sign that the claim expects; 0 outside the claim.
        paired: both sources met the same labs, which are compared one by one.
        where: only rows whose column has this value.
    """

    name: str
    unit: str
    of: Source
    column: str
    to: Source | None = None
    over: str | None = None
    expected: int = 0
    paired: bool = False
    plus: float = 0.0
    where: tuple[str, float] | None = None

    def measure(self, data: StudyData) -> Interval:
        """Return the number with its 95 % interval."""
        tables = [self._rows(data.columns(source)) for source in (self.of, self.to) if source]
        if not all(len(table["agent"]) for table in tables):  # such as an agent that never claims
            return NOTHING
        if self.paired:
            tables = list(pairs_of(tables[0], tables[1]))
        number = self._number(tables)
        return Interval(*(part + self.plus for part in number))

    def _rows(self, columns: Columns) -> Columns:
        return columns if self.where is None else select(columns, columns[self.where[0]] == self.where[1])

    def _number(self, tables: Sequence[Columns]) -> Interval:
        samples = [by_seed(table, self.column) for table in tables]
        if self.over is not None:
            shares = [(part, by_seed(table, self.over)) for part, table in zip(samples, tables, strict=True)]
            return share_difference(shares[1], shares[0]) if self.to else share_interval(*shares[0])
        if self.to is None:
            return mean_interval(samples[0])
        return difference(samples[1], samples[0], paired=self.paired)


@dataclass(frozen=True)
class Finding:
    """A number that was measured; see ``Compare``."""

    name: str
    number: Interval
    unit: str
    expected: int = 0

    @property
    def verdict(self) -> str:
        """The verdict on the claim's expectation; empty outside the claim."""
        if not self.expected:
            return ""
        low, high = sorted((self.expected * self.number.low, self.expected * self.number.high))
        return CONFIRMED if low > 0 else REFUTED if high < 0 else NOT_SHOWN


def verdict_on(findings: Sequence[Finding]) -> str:
    """Return the verdict on a claim that expects all of the findings; empty if none is expected."""
    verdicts = {finding.verdict for finding in findings if finding.expected}
    if not verdicts:
        return ""
    return REFUTED if REFUTED in verdicts else CONFIRMED if verdicts == {CONFIRMED} else NOT_SHOWN


@dataclass(frozen=True)
class Study:
    """A study.

    Attributes:
        claim: one sentence that can be wrong; empty if nothing is expected.
        compares: the numbers that decide.
        rows: sources by label, and the columns of their means, for the table.
        more: further findings that no ``Compare`` expresses, and the arms and plays that they need.
        series: curves that are kept with the result, for its figures.
        draw: draws figures from a result, by the ending of their file's name; by default one of all findings.
        notes: what a reader should know.
    """

    title: str
    claim: str = ""
    compares: tuple[Compare, ...] = ()
    rows: Mapping[str, Source] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    more: Callable[[StudyData], Sequence[Finding]] | None = None
    needs: tuple[Source, ...] = ()
    series: Callable[[StudyData], Mapping[str, Any]] | None = None
    draw: Callable[[Any], Mapping[str, Figure]] | None = None
    notes: tuple[str, ...] = ()

    def sources(self) -> list[Source]:
        """Return all arms, those of plays included, then all plays."""
        named = [*self.rows.values(), *self.needs]
        named += [source for one in self.compares for source in (one.of, one.to) if source is not None]
        named += [source.arm for source in named if isinstance(source, Play) and source.arm is not None]
        distinct = {(type(source).__name__, source.name): source for source in named}
        return sorted(distinct.values(), key=lambda source: isinstance(source, Play))

    def arms(self) -> list[Arm]:
        """Return one arm of each run."""
        return [source for source in self.sources() if isinstance(source, Arm)]

    def plays(self) -> list[Play]:
        return [source for source in self.sources() if isinstance(source, Play)]

    def findings(self, data: StudyData) -> list[Finding]:
        """Return what was measured."""
        measured = [Finding(one.name, one.measure(data), one.unit, one.expected) for one in self.compares]
        return [*measured, *(self.more(data) if self.more else ())]


class StudyData:
    """The tables of a study: the runs of its arms, a folder each in ``arms``, and a table for each play."""

    def __init__(self, arms: Path, plays: Path, rerun: str) -> None:
        self._arms, self._plays, self._rerun = arms, plays, rerun
        self._read: dict[Path, Columns] = {}

    def folder(self, arm: Arm) -> RunFolder:
        """Return the run of an arm."""
        return RunFolder(self._arms / arm.name)

    def table(self, play: Play) -> Path:
        """Return where the table of a play is; that of an arm's policies has ``policies`` beside it."""
        return self._plays / f"{play.name}.parquet"

    def policies(self, arm: Arm) -> dict[str, Any]:
        """Return which policies an arm has now: the seeds of its learner, and the steps of each training."""
        experiment = self.folder(arm).experiment()
        steps = (experiment.train[arm.agent] or {})["n_timesteps"]
        return {"seeds": sorted(experiment.seeds), "n_timesteps": steps}

    def has(self, play: Play) -> bool:
        """Whether a play's table is there and, if an arm's policies play, was made with those that it has now."""
        table = self.table(play)
        if play.arm is None or not table.exists():
            return table.exists()
        about = table.with_suffix(".json")
        return about.exists() and read_json(about, PLAYED) == self.policies(play.arm)

    def columns(self, source: Source) -> Columns:
        """Return the rows of a source: an agent's evaluation episodes in its run, or the table of a play."""
        if isinstance(source, Play):
            table = self.table(source)
            if table.exists() and not self.has(source):
                problem = f"not made with the policies that its arm has now; run `{self._rerun}` first"
                raise ConfigError(problem, file=table)
            return self._columns(table)
        columns = self._columns(self.folder(source).episodes)
        return select(columns, columns["agent"] == source.agent)

    def training(self, arm: Arm) -> Columns:
        """Return the training episodes of a learner."""
        columns = self._columns(self.folder(arm).training)
        return select(columns, columns["agent"] == arm.agent)

    def _columns(self, path: Path) -> Columns:
        if not path.exists():
            raise ConfigError(f"no results yet; run `{self._rerun}` first", file=path)
        if path not in self._read:
            self._read[path] = read_parquet(path)
        return self._read[path]


UNENFORCED: Mapping[str, Any] = {"debt": {"enforced": False}}
DOCUMENT_ENV, DATA_ENV = "Solvent/Document-v0", "Solvent/Data-v0"
ENFORCED = learner("enforced", "enforced")
TRACKED = learner("tracked", "only tracked", params=UNENFORCED)
DOCUMENT = learner("document", "the document's rules", env=DOCUMENT_ENV)
DATA_ENFORCED = learner("data", "Data", train=DATA, env=DATA_ENV)
DATA_TRACKED = learner("data_tracked", "Data, tracked", train=DATA, env=DATA_ENV, params=UNENFORCED)
"""Arms that several studies share. Debt that is only tracked has no effect, so by the document's own rules, too, the
tracked arm is ``TRACKED``; only its tally leaves out what findings assert."""
