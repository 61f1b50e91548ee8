"""Small real runs, one for each ``configs/smoke*.yaml``, which tests look at and never change.

Beside each lies an *eventful* one: the same run with an agent in it to whom everything happens, as if it were trained.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text
from numpy.typing import NDArray

from solvent import LabEnv, LabParams
from solvent.lab.actions import action_table
from solvent.lab.ledger import logs_of
from solvent.lab.verbs import Verb
from solvent_agents import AGENTS, act_one
from solvent_agents.agent import Actions, Observations
from solvent_experiments.artifacts.folder import RunFolder
from solvent_experiments.artifacts.joining import join
from solvent_experiments.artifacts.parquet import owned, select, write_parquet
from solvent_experiments.config.documents import ConfigError, dump_yaml
from solvent_experiments.config.experiment import Experiment, load_experiment
from solvent_experiments.figures import FIGURES
from solvent_experiments.figures.data import RunData, load_run
from solvent_experiments.figures.style import styled
from solvent_experiments.run.evaluation import Evaluated, evaluate
from solvent_experiments.run.running import run_experiment
from tests.commands import Launch, launching
from tests.labs import LEFT_OUT

CONFIGS = {path.stem: path for path in sorted((Path(__file__).parents[1] / "configs").glob("smoke*.yaml"))}
DAILY = [
    pytest.param(name, marks=() if name in ("smoke", "smoke_lab") else pytest.mark.slow) for name in CONFIGS
]
"""For contracts that take long: the whole lab has all that the levels before it have, so these are slow."""

RESTLESS = "restless"
PATHS = {
    "refusals": "ledger_path",
    "discomfort": "discomfort_path",
    "proposals": "proposals_path",
    "verdicts": "verdicts_path",
}
"""Log -> the argument of ``LabEnv`` that names its file."""


class Restless:
    """The honest script, but now and then it asks for what is dear, reflects, or publishes; it proposes when it may."""

    name = RESTLESS

    def __init__(self, params: LabParams) -> None:
        self._honest = AGENTS["honest"](params, 0)
        verbs = action_table(params)["verb"]
        self._propose, self._reflect, self._publish, self._dear = (
            np.isin(verbs, chosen)
            for chosen in (
                Verb.PROPOSE,
                Verb.REFLECT,
                (Verb.PUBLISH_PUBLIC, Verb.PUBLISH_PRIVATE),
                (Verb.SCREEN, Verb.DOSE_RESPONSE, Verb.PUBLISH_PUBLIC),
            )
        )
        self._luck: list[np.random.Generator] = []

    def start(self, lab_seeds: Sequence[int]) -> None:
        self._luck = [np.random.default_rng(seed) for seed in lab_seeds]

    def act(self, observations: Observations, masks: NDArray[Any]) -> Actions:
        actions = np.array(self._honest.act(observations, masks))
        for i, mask in enumerate(masks.astype(bool)):
            mood, pick = self._luck[i].random(2)
            pools = ((0.08, self._reflect), (0.2, self._publish & mask), (0.4, self._dear))
            pool = next((pool for limit, pool in pools if mood < limit), np.zeros_like(mask))
            if (self._propose & mask).any():
                pool = self._propose
            if pool.any():
                actions[i] = pool.nonzero()[0][int(pick * pool.sum())]
        return actions


def eventful(params: LabParams) -> LabParams:
    """The parameters, with time for everything that can become of a finding and a price to argue about."""
    changes: dict[str, Any] = {"budget": {"heartbeats": max(40, params.budget.heartbeats)}}
    if params.gate.enabled:
        changes["vocabulary"] = LEFT_OUT["vocabulary"]
        changes["gate"] = {**LEFT_OUT["gate"], "policy": "adaptive.P30", "calm_heartbeats": 3}
    if params.adequacy.enabled:
        changes["adequacy"] = {"review_from": 1}
        changes["energy"] = {"regeneration": 6.0}  # who talks needs it
    if params.energy.enabled:
        changes["proposals"] = {"mispriced_least": 3, "mispriced_upwards": 1.0}
    changed: LabParams = LabParams.from_mapping(changes, base=params)
    return changed


class PlayedByHand:
    """One episode in a single lab that keeps its own ledgers: records before, between and after its steps."""

    def __init__(self, params: LabParams, agent: Any, seed: int, folder: Path) -> None:
        files = {PATHS[log.name]: folder / log.file for log in logs_of(params)}
        env = LabEnv(params, **files)
        if hasattr(agent, "start"):
            agent.start([seed])
        observation, info = env.reset(seed=seed)
        states, steps, ended = [env.get_state()], [], False
        while not ended:
            action = act_one(agent, observation, info.get("action_mask", env.action_masks()))
            observation, _, terminated, truncated, info = env.step(action)
            ended = terminated or truncated
            states.append(env.get_state())
            steps.append(env.batch.steps[0].copy())
        self.states, self.steps = np.array(states), np.array(steps)
        self.summary = info["episode_summary"]
        self.ledgers = {path.name: lines_of(path) for path in files.values()}


def lines_of(ledger: Path) -> list[dict[str, Any]]:
    """The events of a ledger."""
    return [json.loads(line) for line in ledger.read_text(encoding="utf-8").splitlines()]


@dataclass(frozen=True)
class Level:
    """A small run of one level, the eventful one beside it, and the evaluation that the latter is made of."""

    experiment: Experiment
    folder: RunFolder
    place: Path

    @cached_property
    def run(self) -> RunData:
        return load_run(self.folder)

    @cached_property
    def params(self) -> LabParams:
        return eventful(self.experiment.params)

    @cached_property
    def evaluated(self) -> Evaluated:
        """The restless script in eventful labs."""
        found = evaluate(Restless(self.params), self.params, self.experiment.evaluation)
        assert found is not None
        return found

    @cached_property
    def eventful_folder(self) -> RunFolder:
        """The run with the restless script in it, as if trained: its episodes stand for those of two training seeds.

        It has tables and a summary, and no figures.
        """
        folder = RunFolder(self.place / f"{self.experiment.name}-eventful")
        trained = {"algorithm": "PPO", "n_timesteps": 1000}
        experiment = replace(self.experiment, params=self.params, train={RESTLESS: trained}, seeds=(0, 1))

        def make() -> RunFolder:
            with folder.locked():
                folder.prepare(experiment)
                if not folder.summary.exists():
                    self._fill(folder)
                    join(experiment, folder, folder.units(experiment))
            return folder

        return patiently(make)

    def _fill(self, folder: RunFolder) -> None:
        for agent in self.experiment.agents:
            shutil.copytree(self.folder.root / agent, folder.root / agent, dirs_exist_ok=True)
        played = self.evaluated
        rows = len(played.episodes["return"])
        for seed in range(2):
            unit = folder.unit(RESTLESS, seed)
            unit.folder.mkdir(parents=True, exist_ok=True)
            half = select(played.episodes, np.arange(seed, rows, 2))
            steps = 100 * (1 + np.arange(len(half["return"])) // 4)
            traced = np.isin(played.traces["episode_seed"], half["episode_seed"])
            write_parquet(unit.training, {**half, "steps": steps})
            write_parquet(unit.traces, owned(select(played.traces, traced), RESTLESS, seed))
            write_parquet(unit.episodes, owned(half, RESTLESS, seed))
            unit.model.touch()
            for name, events in played.ledgers.items():
                lines = [json.dumps(event.to_dict()) for event in events] if seed == 0 else []
                (unit.folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    @cached_property
    def eventful_run(self) -> RunData:
        return load_run(self.eventful_folder)


RESULTS = (
    "policy.safetensors",
    "episodes.parquet",
    "traces.parquet",
    "training.parquet",
    "epistemic_refusals.jsonl",
)
"""Files of a unit that are the same bytes however often it was stopped."""


def contents(root: Path) -> dict[Path, tuple[int, bytes]]:
    """Every file under ``root`` with its time of change and its bytes."""
    files = (path for path in root.rglob("*") if path.is_file() and path.name != ".lock")
    return {path.relative_to(root): (path.stat().st_mtime_ns, path.read_bytes()) for path in files}


def sessions(root: Path) -> list[dict[str, Any]]:
    """The sessions in a run's manifest."""
    found: list[dict[str, Any]] = json.loads((root / "manifest.json").read_text())["sessions"]
    return found


def incidents(session: dict[str, Any]) -> list[tuple[str | None, str]]:
    """Unit and outcome of each incident of a session."""
    return [(incident["unit"], incident["outcome"]) for incident in session["incidents"]]


def assert_same_units(root: Path, whole: RunFolder, *units: str) -> None:
    """Hold units of the run in ``root`` against those of an undisturbed one, byte for byte; nothing is left over."""
    for unit in units:
        for path in (whole.root / unit).iterdir():
            if path.name in RESULTS:
                assert (root / unit / path.name).read_bytes() == path.read_bytes(), path
        # A damaged checkpoint stays, set aside under another name.
        assert not list((root / unit).glob("checkpoint*.pt"))
    assert not [path for path in root.rglob("*") if ".part" in path.name or path.name.startswith(".")]


# ------------------------------------------------------------------------------------------ figures


def drawn(name: str, run: RunData) -> Figure:
    """A figure of the run, styled."""
    with styled():
        figure = FIGURES[name](run)
        assert figure is not None, name
        figure.canvas.draw()
    return figure


def texts(figure: Figure) -> list[Text]:
    """All that is written on a figure."""
    return [artist for artist in figure.findobj() if isinstance(artist, Text)]


def words(figure: Figure) -> str:
    """The same as one text."""
    return "\n".join(text.get_text() for text in texts(figure))


# ------------------------------------------------------------------------------------------ fixtures

Levels = Callable[[str], Level]


@pytest.fixture(scope="session")
def levels(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Levels:
    """``levels("smoke_gate")`` is the run of that config, made once for all test processes."""
    base = tmp_path_factory.getbasetemp()
    place, made = base if worker_id == "master" else base.parent, dict[str, Level]()

    def get(name: str) -> Level:
        if name not in made:
            experiment = load_experiment(CONFIGS[name])
            folder = patiently(lambda: run_experiment(experiment, place / f"{name}-run", quiet=True))
            made[name] = Level(experiment, folder, place)
        return made[name]

    return get


T = TypeVar("T")


def patiently(work: Callable[[], T]) -> T:
    """Do ``work`` in the folder of a run that test processes share, once the others have left it."""
    deadline = time.monotonic() + 600
    while True:
        try:
            return work()
        except ConfigError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


@pytest.fixture(scope="session", params=CONFIGS)
def level(request: pytest.FixtureRequest, levels: Levels) -> Level:
    """Each level in turn."""
    return levels(request.param)


@pytest.fixture(scope="session")
def smoke(levels: Levels) -> Experiment:
    return levels("smoke").experiment


@pytest.fixture(scope="session")
def smoke_run(levels: Levels) -> RunFolder:
    return levels("smoke").folder


@pytest.fixture(scope="session")
def smoke_lab_run(levels: Levels) -> RunFolder:
    return levels("smoke_lab").folder


@pytest.fixture(scope="session")
def smoke_config(smoke: Experiment, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The resolved config as a file, for other processes to run."""
    path = tmp_path_factory.mktemp("config") / "smoke.yaml"
    path.write_text(dump_yaml(smoke.to_mapping()), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def brief_config(smoke: Experiment, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The smoke config with one script alone, as a file: its units are the same as those of ``smoke_run``."""
    path = tmp_path_factory.mktemp("config") / "brief.yaml"
    path.write_text(dump_yaml(replace(smoke, agents=("hermit",)).to_mapping()), encoding="utf-8")
    return path


@pytest.fixture
def launch() -> Iterator[Launch]:
    """``launch("run", ...)`` starts the command in a session of its own; what still runs at the end is killed."""
    with launching() as start:
        yield start
