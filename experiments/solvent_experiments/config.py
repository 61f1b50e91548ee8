"""Experiment files: YAML with strict keys, checked before anything is written.

A file gives differences from an environment's parameters and from its recipes; an ``Experiment`` is complete.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PrivateAttr, ValidationError

from solvent import ENVIRONMENTS, LabParams, ParamError, preset
from solvent.errors import SolventError
from solvent.extras import install
from solvent.files import first_problem, nearest_path, read_input, strict_json
from solvent.lab.settings import nearest

if TYPE_CHECKING:
    from solvent_agents.agent import Agent
    from solvent_agents.registry import MakesAgent

MOST_YAML, MOST_JSON = 2**20, 2**24  # bytes
MOST_VALUES = 50_000
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
OF_A_RUN = re.compile(r"figures|.*\.(html|json|parquet|yaml)", re.IGNORECASE)
ALLOWED_NAME = "an unused name, of letters, digits, '.', '_', '-', that no file of a run could have"
SEED_LIMIT = 2**32
MOST_SEEDS = 10_000
FIRST_SEED = 10_000
"""Of an evaluation: far from the training seeds; an experiment refuses an overlap."""

Seed = Annotated[int, Field(ge=0, lt=SEED_LIMIT, strict=True)]
Count = Annotated[int, Field(ge=1, le=1_000_000, strict=True)]


class ConfigError(SolventError, ValueError):
    """An input that can't be used. The message is one line: file, key, the value and the allowed ones."""

    def __init__(self, problem: str, *, file: Path | None = None, key: str = "") -> None:
        self.problem, self.key = problem, key
        places = [str(place) for place in (file, key) if place]
        super().__init__(" ".join(": ".join([*places, problem]).split()))


class _Loader(yaml.SafeLoader):
    """Safe YAML that reads ``1e-8`` as a number and refuses a key that is given twice."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        names = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode) and key.value != "<<"]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:  # it may be empty
            raise yaml.MarkedYAMLError(problem=f"{twice!r:.60} is given twice", problem_mark=node.start_mark)
        return super().construct_mapping(node, deep)


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9_]+)[eE][-+]?[0-9]+$"),
    list("-+0123456789."),
)


def read_yaml(path: Path) -> dict[str, Any]:
    """Return the mapping in a YAML file; raise ConfigError if the file is missing, broken, or too large."""
    text = _text(path, "a YAML file", MOST_YAML)
    try:
        data = _Loader(text).get_single_data()
        _measure(data)
    except (yaml.YAMLError, ValueError) as error:  # a month of a date, a number of 5,000 digits
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        raise ConfigError(
            f"broken YAML{line}: {getattr(error, 'problem', None) or error}", file=path
        ) from None
    except RecursionError:
        raise ConfigError("nested too deeply; allowed: a few levels", file=path) from None
    if not isinstance(data, dict):
        got = "an empty file" if data is None else f"{data!r:.60}"
        raise ConfigError(f"got {got}; allowed: a mapping of keys", file=path)
    return data


def _measure(data: Any) -> None:
    """Raise ValueError if aliases of aliases stand for more values than there is time for."""
    waiting, values = [data], 0
    while waiting and values <= MOST_VALUES:
        value = waiting.pop()
        waiting += value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        values += 1
    if waiting:
        raise ValueError(f"more than {MOST_VALUES:,} values, aliases counted in full")


def read_json(path: Path, what: str) -> Any:
    """Return the value in a strict JSON file; ``what`` says what is allowed."""
    text = _text(path, what, MOST_JSON)
    try:
        return strict_json(text)
    except ValueError as error:
        raise ConfigError(f"{error}; allowed: {what}", file=path) from None


def _text(path: Path, what: str, most: int) -> str:
    try:
        return read_input(path, most).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a text in UTF-8"
        allowed = nearest_path(path) or f"; allowed: {what}"
        raise ConfigError(f"can't be read ({reason}){allowed}", file=path) from None


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class Evaluation(_Strict):
    """The evaluation, on the same episodes for all agents."""

    episodes: Count = 1000
    # Number of initial episodes for agents that decide slowly: the planner.
    slow_episodes: Count = 400
    first_seed: Seed = FIRST_SEED
    # Number of initial episodes whose actions are traced and whose events go into ledgers.
    trace_episodes: Annotated[int, Field(ge=0, le=100_000, strict=True)] = 200
    # Secret text that derives other seeds from these, so that nobody can practise on them.
    salt: str = ""

    @property
    def seeds(self) -> Sequence[int]:
        from solvent_agents.language.calls import salted

        public = range(self.first_seed, self.first_seed + self.episodes)
        return [salted(self.salt, seed) for seed in public] if self.salt else public


class LanguageModel(_Strict):
    """A language model that has played, and how: an evaluation log of ``inspect_ai``."""

    log: str
    model: str
    beliefs: bool = True
    explanation: bool = True


class Experiment(_Strict):
    """An experiment. ``load_experiment`` completes it, so that ``model_dump`` is a config that runs anywhere."""

    name: Annotated[str, Field(pattern=f"^{NAME.pattern}$")]
    env: Annotated[str, AfterValidator(lambda env: env.removeprefix("solvent:"))] = "Solvent/Debt-v0"
    # Differences from the environment's parameters, as for ``gymnasium.make``; in a complete experiment all of them.
    params: dict[str, Any] = {}
    agents: list[str] = []
    train: dict[str, dict[str, Any] | None] = {}
    language: dict[str, LanguageModel] = {}
    seeds: Annotated[list[Seed], Field(min_length=1, max_length=MOST_SEEDS)] = [0]
    # Where the learners' numbers go, in the folders of their seeds.
    track: Literal["tensorboard", "wandb"] | None = "tensorboard"
    evaluation: Evaluation = Evaluation()

    # Of users' classes, which were found and tried: where their modules are searched, and their agents' names by
    # ``my_module:MyAgent``.
    _folder: Path | None = PrivateAttr(None)
    _classes: dict[str, str] = PrivateAttr({})

    def with_classes(self, folder: Path, classes: dict[str, str]) -> Experiment:
        """Return the experiment with these users' classes, whose modules may lie in ``folder``."""
        experiment = self.model_copy()
        experiment._folder, experiment._classes = folder.resolve(), classes
        return experiment

    @property
    def agent_names(self) -> list[str]:
        """The agents' names; that of ``my_module:MyAgent`` is the one that the class has."""
        return [self._classes.get(agent, agent) for agent in self.agents]

    def find_agent(self, name: str) -> MakesAgent:
        """Return what makes the agent of this name."""
        from solvent_agents import find_agent

        written = {own: agent for agent, own in self._classes.items()}
        return find_agent(written.get(name, name), self._folder)

    @functools.cached_property
    def lab(self) -> LabParams:
        """The parameters of every lab."""
        return environment_params(self.env, self.params)

    @property
    def mark(self) -> str:
        """The mechanisms that are tracked without consequence; usually empty."""
        tracked = self.lab.unenforced
        return f"CONTAMINATED: {' and '.join(tracked)} tracked and not enforced" if tracked else ""

    @property
    def changed(self) -> str:
        """Whether the labs differ from the level in another way; usually empty."""
        return "" if self.mark or self.lab == environment_params(self.env) else "changed parameters"


def load_experiment(path: Path) -> Experiment:
    """Return the complete experiment in a file.

    Recipes of your own lie beside it in ``hyperparameters/``.

    Raises:
        ConfigError: the config, or a recipe that it names, can't be used.
    """
    return experiment_of(read_yaml(path), path)


def experiment_of(given: Mapping[str, Any], path: Path) -> Experiment:
    """Return the complete experiment of what a file gives; see ``load_experiment``."""
    try:
        experiment = runnable(Experiment.model_validate(given), path.parent)
        env, learners = experiment.env, experiment.train.items()
        train = {name: _recipe(path, name, changes or {}, env) for name, changes in learners}
    except ValidationError as error:
        raise ConfigError(_problem(error), file=path) from None
    except ParamError as error:
        raise ConfigError(error.problem, file=path, key=error.path) from None
    return experiment.model_copy(update={"params": experiment.lab.to_mapping(), "train": train})


def _problem(error: ValidationError) -> str:
    """Return the key of the first problem and what is wrong, with the nearest key to an unknown one."""
    first = error.errors(include_url=False)[0]
    if first["type"] != "extra_forbidden":
        return first_problem(error)
    *parents, last = map(str, first["loc"])
    known: dict[str, type[BaseModel]] = {"evaluation": Evaluation, "language": LanguageModel}
    model = known[parents[0]] if parents else Experiment
    keys = [*model.model_fields, *(() if parents else ("sweep",))]
    return f"{'.'.join([*parents, last])}: unknown key" + nearest(last, keys)


def runnable(experiment: Experiment, folder: Path) -> Experiment:
    """Return the experiment with its users' classes, whose modules may lie in ``folder``.

    Raises:
        ParamError: it can't be run; the error's path is the key.
    """
    from solvent.lab.words.measured import measured_for

    measured_for(experiment.lab)  # fails for a lab whose sentences were not measured
    check_seeds(experiment)
    if experiment.track == "wandb" and find_spec("wandb") is None:
        raise ParamError("track", f"wandb is not installed; allowed: after `{install('track')}`")
    if classes := _try_agents(experiment, folder):
        experiment = experiment.with_classes(folder, classes)
    _check_names(experiment)
    return experiment


def check_seeds(experiment: Experiment) -> None:
    """Raise ParamError for a training seed that is given twice or that an evaluation meets."""
    seeds, evaluated = experiment.seeds, experiment.evaluation.seeds
    twice = next((seed for seed in seeds if seeds.count(seed) > 1), None)
    if twice is not None:  # it may be 0
        raise ParamError("seeds", f"got {twice} twice; allowed: distinct numbers")
    if shared := [seed for seed in seeds if experiment.train and seed in evaluated]:
        between = f"({evaluated[0]} to {evaluated[-1]})"
        raise ParamError("seeds", f"got {shared[0]}; allowed: no seed of an evaluation episode {between}")


def _check_names(experiment: Experiment) -> None:
    """Raise ParamError for an agent whose name can't be that of a folder, and for no agent at all."""
    names = [("agents", name) for name in experiment.agent_names]
    names += [(f"train.{name}", name) for name in experiment.train]
    names += [(f"language.{name}", name) for name in experiment.language]
    if not names:
        raise ParamError("agents", "got none, and nothing to train; allowed: at least one of either")
    taken: set[str] = set()
    for key, name in names:
        if not NAME.fullmatch(name) or OF_A_RUN.fullmatch(name) or name.casefold() in taken:
            raise ParamError(key, f"{name!r:.80} can't name a folder; allowed: {ALLOWED_NAME}")
        taken.add(name.casefold())  # some file systems ignore case


def _try_agents(experiment: Experiment, folder: Path) -> dict[str, str]:
    """Return the names of the agents that are users' classes; raise ParamError for an agent that can't be used."""
    from solvent_agents.registry import OWN, find_agent, try_agent

    classes = {}
    for i, agent in enumerate(experiment.agents):
        try:
            make = find_agent(agent, folder)
            if OWN.fullmatch(agent):
                classes[agent] = try_agent(make, experiment.lab)
            elif agent == "exact":
                make(experiment.lab, 0)  # it knows one lab alone
        except ParamError as error:
            raise ParamError(f"agents[{i}]", error.problem) from None
    return classes


def _recipe(path: Path, name: str, changes: Mapping[str, Any], env: str) -> dict[str, Any]:
    """Return a complete recipe: the algorithm, the number of steps, and the hyperparameters.

    A mapping with an ``algorithm`` and no ``recipe`` is complete. Any other lists differences from the environment's
    entry in ``hyperparameters/NAME.yml`` beside the config, or of the recipe of this name that comes with the package;
    NAME is the learner's or that given as ``recipe``.
    """
    from solvent_agents.learning.recipe import ALGORITHMS, RECIPES, Recipe

    key, recipe = f"train.{name}", dict(changes)
    if "recipe" in changes or "algorithm" not in changes:
        base = recipe.pop("recipe", name)
        own = path.parent / "hyperparameters"
        files = {file.stem: file for folder in (RECIPES, own) for file in sorted(folder.glob("*.yml"))}
        file = files.get(base) if isinstance(base, str) else None
        if file is None:
            allowed = f"{', '.join(sorted(files))}, a file in {own}, or a mapping with an algorithm"
            raise ParamError(key, f"no recipe {base!r:.60}; allowed: {allowed}")
        entries = read_yaml(file)
        if not isinstance(entries.get(env), Mapping):
            raise ConfigError(f"no recipe for {env}; it has: {', '.join(map(str, entries))}", file=file)
        # A file is named like its algorithm, ``maskable_ppo.yml``, or its entries have one.
        named = {algorithm.lower(): algorithm for algorithm in ALGORITHMS}
        algorithm = named.get(str(base).replace("_", "").lower(), base)
        recipe = {"algorithm": algorithm, **entries[env], **recipe}
    return Recipe.from_mapping(recipe, path=key).to_mapping()


def recipe_steps(name: str, env: str) -> int | None:
    """Return the training steps of the recipe that comes with the package, if it has one of this name."""
    from solvent_agents.learning.recipe import RECIPES

    file = RECIPES / f"{name}.yml"
    entry = read_yaml(file).get(env) if file.exists() else None
    return int(entry["n_timesteps"]) if isinstance(entry, Mapping) else None


def parse_seeds(text: str) -> list[int]:
    """Return the seeds in ``0,1,2``, ``0-4`` or a mix of both."""
    seeds: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*([0-9]{1,10})(?:-([0-9]{1,10}))?\s*", part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if first > last or last >= SEED_LIMIT or last - first >= MOST_SEEDS:
            allowed = f"numbers and rising ranges of at most {MOST_SEEDS:,}, such as 0,1,2 or 0-4"
            raise ConfigError(f"got {text!r:.80}; allowed: {allowed}", key="--seeds")
        seeds += range(first, last + 1)
    return seeds


def environment_params(env: str, changes: Mapping[str, Any] | None = None) -> LabParams:
    """Return the parameters of an environment id, with or without its module (``solvent:Solvent/Debt-v0``).

    ``changes`` are differences from the level. Raises ParamError if one is impossible, or the level unknown.
    """
    name = env.removeprefix("solvent:")
    if name not in ENVIRONMENTS:
        raise ParamError("env", f"unknown environment {env!r:.80}" + nearest(name, ENVIRONMENTS))
    level = preset(str(ENVIRONMENTS[name].get("preset", "default")))
    return LabParams.from_mapping(changes, base=level, path="params") if changes else level


def level_of(env: str) -> str:
    """Return the short name of an environment's level: ``Debt`` for ``Solvent/Debt-v0``."""
    return env.removeprefix("Solvent/").removesuffix("-v0")


def policy_path(name: str) -> Path | None:
    """Return the path that names a trained policy, or that of a shipped one; None for the name of another agent."""
    from solvent_agents.learning.shipped import is_shipped_name, shipped_policy

    path = shipped_policy(name) if is_shipped_name(name) else Path(name)
    is_file = path.suffix in (".safetensors", ".json", ".zip") or len(path.parts) > 1 or path.is_file()
    return path if is_file else None


def make_agent(name: str, params: LabParams) -> Agent:
    """Return a scripted agent by name, one of ``my_module:MyAgent``, or a trained one by path or shipped name.

    Modules are found in the working directory and on the Python path; a shipped name is ``ppo:Solvent/Tiny-v0``.
    """
    if path := policy_path(name):
        from solvent_agents.learning.learned import LearnedAgent

        return LearnedAgent.load(path, params)
    from solvent_agents.registry import OWN, find_agent, try_agent

    make = find_agent(name)
    if OWN.fullmatch(name):
        try_agent(make, params)
    return make(params, 0)


def param_changes(texts: Sequence[str]) -> dict[str, Any]:
    """Return nested parameters from texts like ``debt.threshold=1.0``, whose values are YAML."""
    changes: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        try:
            if not equals:
                raise ValueError("no value")
            put_at(changes, key.strip(), _Loader(value).get_single_data())
        except (ValueError, yaml.YAMLError):
            allowed = "a key once and its value, such as debt.threshold=1.0"
            raise ConfigError(f"got {text!r:.80}; allowed: {allowed}", key="--params") from None
    return changes


def put_at(params: dict[str, Any], key: str, value: Any) -> None:
    """Put a value at a dotted key of nested parameters; raise ValueError if it has one, or is not a key."""
    *groups, last = key.split(".")
    inner: Any = params
    for group in groups:
        inner = inner.setdefault(group, {}) if isinstance(inner, dict) else None
    if not isinstance(inner, dict) or not last or last in inner:
        raise ValueError(f"{key}: no free place")
    inner[last] = value
