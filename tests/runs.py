"""Small real runs, one for each ``configs/smoke*.yaml``, which tests look at and never change."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from solvent.files import locked
from solvent_experiments import run
from solvent_experiments.config import Evaluation, Experiment, load_experiment
from solvent_experiments.folder import RunFolder, Unit
from solvent_experiments.run import Pool, Times, do_unit, run_experiment
from tests.commands import Launch, launching

CONFIGS = Path(__file__).parents[1] / "configs"
SMOKE = sorted(path.stem for path in CONFIGS.glob("smoke*.yaml"))
RESULTS = ("*.parquet", "*.jsonl", "policy.*")
"""Files of a run that depend on its config alone."""

Runs = Callable[[str], RunFolder]


class Here(Pool):
    """A pool that executes units in this process, one after another."""

    def submit(self, experiment: Experiment, unit: Unit) -> Future[Times | None]:
        done: Future[Times | None] = Future()
        done.set_result(do_unit(experiment, unit, lambda _: None, lambda: False))
        return done

    def call(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        done: Future[Any] = Future()
        done.set_result(function(*arguments))
        return done


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of this process have neither processes nor figures, for tests that look at neither."""
    monkeypatch.setattr(run, "Processes", lambda *_: Here())
    monkeypatch.setattr(run, "_draw", lambda *_: None)


def tiny_training(steps: int, **more: Any) -> Experiment:
    """The smoke config's learner for so many steps, in labs of four heartbeats."""
    recipe = load_experiment(CONFIGS / "smoke.yaml").train["ppo"] or {}
    few = Evaluation(episodes=4, trace_episodes=2)
    train = {"ppo": {**recipe, "n_timesteps": steps}}
    return Experiment(name="x", params={"budget": {"heartbeats": 4}}, train=train, evaluation=few, **more)


def results(root: Path) -> dict[str, str]:
    """A hash of each file that depends on the config alone, by its path in the run."""
    paths = [path for pattern in RESULTS for path in root.rglob(pattern)]
    return {p.relative_to(root).as_posix(): hashlib.sha256(p.read_bytes()).hexdigest() for p in paths}


def lines_of(ledger: Path) -> list[dict[str, Any]]:
    """The events of a ledger."""
    return [json.loads(line) for line in ledger.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Runs:
    """``runs("smoke_gate")`` is the finished run of that config, made once for all test processes."""
    base = tmp_path_factory.getbasetemp()
    place = base if worker_id == "master" else base.parent

    def get(name: str) -> RunFolder:
        experiment = load_experiment(CONFIGS / f"{name}.yaml")
        with locked(place / f"{name}.lock", 600.0):  # another test process may be making it
            return run_experiment(experiment, place / f"{name}-run", pool=Here(), quiet=True)

    return get


@pytest.fixture(scope="session")
def smoke_run(runs: Runs) -> RunFolder:
    return runs("smoke")


@pytest.fixture(scope="session")
def smoke_lab_run(runs: Runs) -> RunFolder:
    return runs("smoke_lab")


@pytest.fixture
def launch() -> Iterator[Launch]:
    """``launch("run", ...)`` starts the command in a session of its own; what still runs at the end is killed."""
    with launching() as start:
        yield start
