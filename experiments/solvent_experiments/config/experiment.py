"""From a YAML file of differences to a checked, complete ``Experiment``.

All checks run before anything is written. Each problem is a one-line ``ConfigError`` with file, line, key and the
allowed values.
"""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from solvent import ENVIRONMENTS, LabParams, ParamError, preset
from solvent.lab.settings import nearest
from solvent.lab.tables import tables_for
from solvent.lab.words.sentences import sentences_of
from solvent_experiments.config.documents import ConfigError, Document, read_document
from solvent_experiments.measure.departures import switched_off

if TYPE_CHECKING:
    from solvent_agents.learning.recipe import Recipe

__all__ = [
    "Costs",
    "Evaluation",
    "Experiment",
    "ExperimentFile",
    "LanguageModel",
    "environment_params",
    "known_agent",
    "load_experiment",
    "make_recipe",
    "moment",
    "parse_seeds",
    "read_resolved",
]

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
OF_A_RUN = re.compile(r"figures|.*\.(html|json|parquet|yaml)", re.IGNORECASE)
SEED_LIMIT = 2**32
MOST_SEEDS = 10_000

Seed = Annotated[int, Field(ge=0, lt=SEED_LIMIT, strict=True)]
Count = Annotated[int, Field(ge=1, le=1_000_000, strict=True)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Evaluation(_Model):
    """The evaluation, on the same episodes for all agents."""

    episodes: Count = 1000
    # Number of first episodes that agents play which take long to decide: planner and oracle.
    slow_episodes: Count = 400
    # Far from the training seeds; load_experiment refuses an overlap.
    first_seed: Seed = 10_000
    # Number of first episodes whose refusals are logged, and whose heartbeats are kept.
    ledger_episodes: Annotated[int, Field(ge=0, le=100_000, strict=True)] = 50
    trace_episodes: Annotated[int, Field(ge=0, le=100_000, strict=True)] = 200
    # Makes other seeds of these, which nobody can practise with who doesn't know it.
    salt: str = ""

    @property
    def seeds(self) -> Sequence[int]:
        from solvent_agents.language.calls import salted

        public = range(self.first_seed, self.first_seed + self.episodes)
        return [salted(self.salt, seed) for seed in public] if self.salt else public


class LanguageModel(_Model):
    """A language model that has played, and how. Its transcripts are in the run's folder."""

    model: str
    base_url: str | None = None
    beliefs: Literal["shown", "hidden"] = "shown"
    # Whether the desk shows corrections, and the prompt the reasons behind costs.
    corrections: Annotated[bool, Field(strict=True)] = True
    explanation: Annotated[bool, Field(strict=True)] = True
    # Calls as the protocol's own, or as JSON in the text, for servers without them.
    tools: Literal["native", "text"] = "native"
    # Further fields of a request: temperature, max_tokens ...
    options: dict[str, Any] = {}


class Costs(_Model):
    """A price list in a store of costs. A resolved config keeps only its date, since its parameters hold the prices."""

    store: str | None = None
    as_of: datetime.datetime | datetime.date | str | None = None


class ExperimentFile(_Model):
    """The keys of an experiment's YAML file."""

    name: str
    env: str = "Solvent/Debt-v0"
    preset: str | None = None
    params: dict[str, Any] = {}
    costs: Costs | None = None
    agents: list[str] = []
    train: dict[str, dict[str, Any] | None] = {}
    language: dict[str, LanguageModel] = {}
    seeds: Annotated[list[Seed], Field(min_length=1, max_length=MOST_SEEDS)] = [0]
    evaluation: Evaluation = Evaluation()


@dataclass(frozen=True)
class Experiment:
    """A complete experiment. ``to_mapping`` returns the resolved config, which runs as it is."""

    name: str
    env: str
    preset: str
    params: LabParams
    agents: tuple[str, ...]
    train: Mapping[str, Mapping[str, Any]]
    seeds: tuple[int, ...]
    evaluation: Evaluation
    costs: Mapping[str, str] | None = None  # {"as_of": ...}: date of the prices in ``params``
    language: Mapping[str, LanguageModel] = field(default_factory=dict)

    def to_mapping(self) -> dict[str, Any]:
        evaluation = self.evaluation.model_dump(exclude=set() if self.evaluation.salt else {"salt"})
        models = {name: model.model_dump() for name, model in self.language.items()}
        return {
            "name": self.name,
            "env": self.env,
            "preset": self.preset,
            "params": self.params.to_mapping(),
            "costs": None if self.costs is None else dict(self.costs),
            "agents": list(self.agents),
            "train": {name: dict(recipe) for name, recipe in self.train.items()},
            **({"language": models} if models else {}),
            "seeds": list(self.seeds),
            "evaluation": evaluation,
        }

    @property
    def contaminated(self) -> bool:
        """True if debt, gate or adequacy has no consequence, so the results do not describe the standard world."""
        return bool(self.params.unenforced)

    @property
    def switched_off(self) -> tuple[str, ...]:
        """Mechanisms of its level that this run disables."""
        return switched_off(self.params, environment_params(self.env))


def load_experiment(
    path: Path, *, seeds: tuple[int, ...] | None = None, has_tables: bool = True
) -> Experiment:
    """Return a checked experiment.

    Args:
        path: the file.
        seeds: replace those of the file.
        has_tables: False while a gate's tables are yet to be built.

    Raises:
        ConfigError: the config, or a recipe that it names, can't be used.
    """
    document = read_document(path)
    file = _checked(ExperimentFile, document)
    if not NAME.fullmatch(file.name):
        raise document.error(
            "name", f"got {file.name!r}; allowed: letters, digits, '.', '_', '-' (it names a folder)"
        )
    if file.env not in ENVIRONMENTS:
        raise document.error("env", f"unknown environment {file.env!r}" + nearest(file.env, ENVIRONMENTS))
    preset_name = (
        file.preset if file.preset is not None else str(ENVIRONMENTS[file.env].get("preset", "default"))
    )
    given, costs = _priced(document, file)
    try:
        base = environment_params(file.env, file.preset)
        params: LabParams = LabParams.from_mapping(given, base=base, path="params")
    except ParamError as error:
        raise document.error(error.path, error.problem) from None
    try:
        if params.gate.enabled and has_tables:
            tables_for(params)
            sentences_of(params)  # the first verdict's log needs the words
    except ParamError as error:
        raise document.error(error.path, error.problem) from None
    if costs is not None and not params.energy.enabled:
        raise document.error(
            "costs", "actions cost no energy in this lab; allowed: params.energy.enabled: true"
        )
    chosen = seeds if seeds is not None else tuple(file.seeds)
    _check_seeds(document, chosen, file.evaluation)
    _check_agents(document, file)
    _check_exact(document, file, params)
    train = {name: _recipe(document, name, changes or {}, file.env) for name, changes in file.train.items()}
    for name, recipe in train.items():
        _check_memory(document, name, recipe, params)
    return Experiment(
        name=file.name,
        env=file.env,
        preset=preset_name,
        params=params,
        agents=tuple(file.agents),
        train=train,
        seeds=chosen,
        evaluation=file.evaluation,
        costs=costs,
        language=file.language,
    )


def read_resolved(path: Path) -> tuple[ExperimentFile, LabParams]:
    """Return the config that a run wrote and its parameters, without loading what only a new run needs.

    Raises:
        ConfigError: no run wrote this.
    """
    document = read_document(path)
    file = _checked(ExperimentFile, document)
    _check_names(document, file)
    try:
        environment_params(file.env)
        return file, LabParams.from_mapping(file.params, path="params")
    except ConfigError as error:
        raise document.error("env", error.problem) from None
    except ParamError as error:
        raise document.error(error.path, error.problem) from None


def moment(value: datetime.datetime | datetime.date | str, key: str = "as_of") -> datetime.datetime:
    """Return a point in time, UTC if no zone is given; a date starts at midnight."""
    try:
        read = datetime.datetime.fromisoformat(value) if isinstance(value, str) else value
        if not isinstance(read, datetime.datetime):
            read = datetime.datetime.combine(read, datetime.time())
        return read.replace(tzinfo=datetime.UTC) if read.tzinfo is None else read.astimezone(datetime.UTC)
    except (ValueError, OverflowError):  # no date, or before the year 1 in UTC
        raise ConfigError(
            f"got {str(value)!r:.60}; allowed: a date or time such as 2026-11-01 or 2026-11-01T12:00:00Z",
            key=key,
        ) from None


def _priced(document: Document, file: ExperimentFile) -> tuple[dict[str, Any], dict[str, str] | None]:
    """Return the parameters with the prices of the list named by ``costs``, and the list's date."""
    energy = file.params.get("energy", {})
    prices = energy.get("prices", {}) if isinstance(energy, Mapping) else None
    if file.costs is None or not isinstance(prices, Mapping):  # LabParams reports values that aren't mappings
        return file.params, None
    named = {verb for verb, price in prices.items() if price is not None}
    try:
        as_of = None if file.costs.as_of is None else moment(file.costs.as_of)
    except ConfigError as error:
        raise document.error("costs.as_of", error.problem) from None
    if file.costs.store is None:
        if as_of is None or not named:
            raise document.error("costs.store", "missing; allowed: the path or URL of a store of costs")
        return file.params, {"as_of": as_of.isoformat()}
    from solvent.database import url_of
    from solvent.energy.costs import CostStore, StoreError

    try:
        url = url_of(file.costs.store, document.path.parent)
        place = url.database if url.drivername == "sqlite" else url.render_as_string(hide_password=False)
        with CostStore(str(place), create=False) as store:
            listed = store.price_list(as_of)
    except StoreError as error:
        problem = str(error)
        key = "costs.as_of" if problem.startswith("as_of: ") else "costs.store"
        raise document.error(key, problem.removeprefix("as_of: ").removeprefix("store: ")) from None
    if twice := sorted(named & set(listed.costs)):
        raise document.error(
            f"params.energy.prices.{twice[0]}",
            "is in the price list of costs.store as well; allowed: one of both",
        )
    merged = {**file.params, "energy": {**energy, "prices": {**prices, **listed.costs}}}
    return merged, {"as_of": listed.as_of.isoformat()}


_WHOLE = re.compile(r"[0-9]{1,10}")


def parse_seeds(text: str) -> tuple[int, ...]:
    """Return the seeds in ``0,1,2``, ``0-4`` or a mix of both."""
    seeds: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        bounds = [first, last] if dash else [first]
        if not all(_WHOLE.fullmatch(bound) and int(bound) < SEED_LIMIT for bound in bounds):
            raise ConfigError(
                f"got {text!r}; allowed: whole numbers from 0, such as 0,1,2 or 0-4", key="--seeds"
            )
        numbers = range(int(bounds[0]), int(bounds[-1]) + 1)
        if not numbers or len(seeds) + len(numbers) > MOST_SEEDS:
            raise ConfigError(
                f"got {part.strip()!r}; allowed: rising ranges, at most {MOST_SEEDS:,} seeds", key="--seeds"
            )
        seeds += numbers
    return tuple(seeds)


def environment_params(env: str, preset_name: str | None = None) -> LabParams:
    """Return the parameters of an environment id, or those of a preset."""
    if env not in ENVIRONMENTS:
        raise ConfigError(f"unknown environment {env!r}" + nearest(env, ENVIRONMENTS))
    arguments = ENVIRONMENTS[env]
    base = preset(preset_name if preset_name is not None else str(arguments.get("preset", "default")))
    given = arguments.get("params") or {}
    if isinstance(given, LabParams):
        return given
    params: LabParams = LabParams.from_mapping(given, base=base)
    return params


def known_agent(name: str) -> None:
    """Raise ConfigError, with the nearest name, for an unknown agent that needs no training."""
    from solvent_agents import PLAYERS

    if name not in PLAYERS:
        raise ConfigError(f"unknown agent {name!r}" + nearest(name, PLAYERS))


M = TypeVar("M", bound=BaseModel)


def _checked(model: type[M], document: Document) -> M:
    try:
        return model.model_validate(document.data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
    key, fields = "", model.model_fields
    for part in first["loc"]:
        if part == "[key]":
            continue
        inner = fields.get(str(part)) if isinstance(part, str) else None
        annotation = inner.annotation if inner is not None else None
        for kind in (annotation, *get_args(annotation)):  # an optional group is a union with None
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                fields = kind.model_fields
        key += f"[{part}]" if isinstance(part, int) else f".{part}" if key else str(part)
    if first["type"] == "extra_forbidden":
        raise document.error(key, "unknown key" + nearest(key.rsplit(".", 1)[-1], fields))
    if first["type"] == "missing":
        raise document.error(key, "missing; it has no default")
    allowed = (
        first["msg"].removeprefix("Input should be ").removesuffix(", unable to parse string as an integer")
    ).replace("a valid integer", "a whole number")
    raise document.error(key, f"got {first['input']!r:.80}; allowed: {allowed}")


def _check_seeds(document: Document, seeds: tuple[int, ...], evaluation: Evaluation) -> None:
    twice = sorted(seed for seed, count in Counter(seeds).items() if count > 1)
    if twice:
        raise document.error("seeds", f"got {twice[0]} twice; allowed: distinct numbers")
    evaluated = evaluation.seeds
    if shared := [seed for seed in seeds if seed in evaluated]:
        episodes = f"{evaluated[0]} to {evaluated[-1]}"
        raise document.error(
            "seeds", f"got {shared[0]}; allowed: no seed of an evaluation episode ({episodes})"
        )


def _check_agents(document: Document, file: ExperimentFile) -> None:
    if not file.agents and not file.train and not file.language:
        raise document.error("agents", "got none, and nothing to train; allowed: at least one of either")
    for i, name in enumerate(file.agents):
        try:
            known_agent(name)
        except ConfigError as error:
            raise document.error(f"agents[{i}]", error.problem) from None
        if name in file.agents[:i]:
            raise document.error(f"agents[{i}]", f"got {name!r} twice; allowed: once")
    _check_names(document, file)


def _check_names(document: Document, file: ExperimentFile) -> None:
    """Raise an error for a learner or a model whose name can't be that of a folder of its own in the run's folder."""
    taken = {name.casefold() for name in file.agents}
    for key, name in [("train", name) for name in file.train] + [
        ("language", name) for name in file.language
    ]:
        if not NAME.fullmatch(name) or OF_A_RUN.fullmatch(name) or name.casefold() in taken:
            raise document.error(
                f"{key}.{name}",
                "allowed: a name of its own, of letters, digits, '.', '_', '-', that no file of a run could have",
            )
        taken.add(name.casefold())  # some file systems ignore case


def _check_exact(document: Document, file: ExperimentFile, params: LabParams) -> None:
    """Raise an error if the config lists ``exact`` for a lab without an exact solution."""
    if "exact" in file.agents:
        from solvent_agents.exact.optimum import known_optimum

        if known_optimum(params) is None:
            raise document.error(
                f"agents[{file.agents.index('exact')}]",
                "exact has no solution for this lab; allowed: with Solvent/Tiny-v0 as it is",
            )


def _recipe(document: Document, name: str, changes: Mapping[str, Any], env: str) -> dict[str, Any]:
    """Return a complete recipe: algorithm, number of steps, hyperparameters.

    A mapping with an ``algorithm`` is complete, so a resolved config runs in any folder. Any other lists differences
    from the environment's entry in ``hyperparameters/<recipe>.yml`` beside the config. The recipe's name is that of
    the agent unless ``recipe`` gives another.
    """
    key = f"train.{name}"
    if "algorithm" in changes:
        _check_recipe(document, key, changes)
        return dict(changes)
    base = changes.get("recipe", name)
    if not isinstance(base, str) or not NAME.fullmatch(base):
        raise document.error(
            f"{key}.recipe", f"got {base!r:.60}; allowed: the name of a file in hyperparameters/"
        )
    path = document.path.parent / "hyperparameters" / f"{base}.yml"
    if not path.is_file():
        known = sorted(file.stem for file in path.parent.glob("*.yml"))
        place = f"{key}.recipe" if "recipe" in changes else key
        instead = ", ".join(known) if known else "a mapping that names its algorithm"
        raise document.error(
            place, f"no such file: {path} (recipes lie beside the config); allowed: {instead}"
        )
    recipes = read_document(path)
    if env not in recipes.data:
        raise recipes.error("", f"no recipe for {env}; it has: {', '.join(map(str, recipes.data))}")
    recipe = recipes.data[env]
    if not isinstance(recipe, Mapping):
        raise recipes.error(env, f"got {recipe!r:.60}; allowed: a mapping of hyperparameters")
    algorithm = _algorithm(recipes, base)
    _check_recipe(recipes, env, {"algorithm": algorithm, **recipe})
    resolved = {"algorithm": algorithm, **recipe, **{k: v for k, v in changes.items() if k != "recipe"}}
    _check_recipe(document, key, resolved)
    return resolved


def _algorithm(recipes: Document, name: str) -> str:
    """Return the algorithm of a recipe file by its name: MaskablePPO for ``maskable_ppo.yml``."""
    from solvent_agents.learning.recipe import ALGORITHMS

    by_name = {algorithm.lower(): algorithm for algorithm in ALGORITHMS}
    plain = name.replace("_", "").lower()
    if plain not in by_name:
        raise recipes.error("", f"no algorithm is called {name!r}; allowed: {', '.join(sorted(ALGORITHMS))}")
    return by_name[plain]


def _check_recipe(document: Document, key: str, recipe: Mapping[str, Any]) -> None:
    try:
        make_recipe(recipe, key)
    except ParamError as error:
        raise document.error(error.path, error.problem) from None


def _check_memory(document: Document, name: str, recipe: Mapping[str, Any], params: LabParams) -> None:
    """Raise an error for a training that needs more memory than this machine has."""
    import psutil

    from solvent_agents.learning.recipe import memory

    needed, there = memory(make_recipe(recipe), params), psutil.virtual_memory().total
    if needed > there:
        raise document.error(
            f"train.{name}",
            f"its labs and steps in memory take {needed / 2**30:,.0f} GiB; allowed: this machine's "
            f"{there / 2**30:,.0f} GiB (n_envs, n_steps and buffer_size multiply)",
        )


def make_recipe(mapping: Mapping[str, Any], path: str = "") -> Recipe:
    from solvent_agents.learning.recipe import Recipe

    settings = {key: value for key, value in mapping.items() if key != "algorithm"}
    return Recipe.from_mapping(mapping["algorithm"], settings, path=path)
