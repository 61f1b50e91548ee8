"""One small run that the tests of this folder look at; no test changes it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from solvent_experiments.artifacts.folder import RunFolder
from solvent_experiments.config.documents import ConfigError, dump_yaml
from solvent_experiments.config.experiment import Experiment, load_experiment
from solvent_experiments.run.running import run_experiment

ROOT = Path(__file__).resolve().parents[2]
SMOKE = ROOT / "configs" / "smoke.yaml"
SMOKE_ENERGY = ROOT / "configs" / "smoke_energy.yaml"
SMOKE_GATE = ROOT / "configs" / "smoke_gate.yaml"
SMOKE_LAB = ROOT / "configs" / "smoke_lab.yaml"


@pytest.fixture(scope="session")
def smoke() -> Experiment:
    return load_experiment(SMOKE)


@pytest.fixture(scope="session")
def smoke_config(smoke: Experiment, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The resolved config as a file, for other processes to run."""
    path = tmp_path_factory.mktemp("config") / "smoke.yaml"
    path.write_text(dump_yaml(smoke.to_mapping()), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def smoke_run(smoke: Experiment, tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> RunFolder:
    """The smoke config, run once for all test processes."""
    return _run_once(smoke, tmp_path_factory, worker_id)


@pytest.fixture(scope="session")
def smoke_energy() -> Experiment:
    return load_experiment(SMOKE_ENERGY)


@pytest.fixture(scope="session")
def smoke_energy_run(
    smoke_energy: Experiment, tmp_path_factory: pytest.TempPathFactory, worker_id: str
) -> RunFolder:
    """The smoke config of labs with energy, run once for all test processes."""
    return _run_once(smoke_energy, tmp_path_factory, worker_id)


@pytest.fixture(scope="session")
def smoke_gate() -> Experiment:
    return load_experiment(SMOKE_GATE)


@pytest.fixture(scope="session")
def smoke_gate_run(
    smoke_gate: Experiment, tmp_path_factory: pytest.TempPathFactory, worker_id: str
) -> RunFolder:
    """The smoke config of labs with a gate, run once for all test processes."""
    return _run_once(smoke_gate, tmp_path_factory, worker_id)


@pytest.fixture(scope="session")
def smoke_lab() -> Experiment:
    return load_experiment(SMOKE_LAB)


@pytest.fixture(scope="session")
def smoke_lab_run(
    smoke_lab: Experiment, tmp_path_factory: pytest.TempPathFactory, worker_id: str
) -> RunFolder:
    """The smoke config of the whole lab, run once for all test processes."""
    return _run_once(smoke_lab, tmp_path_factory, worker_id)


def _run_once(experiment: Experiment, factory: pytest.TempPathFactory, worker_id: str) -> RunFolder:
    """Run it where every test process finds it: the run's own lock keeps the others waiting."""
    shared = factory.getbasetemp()
    root = (shared if worker_id == "master" else shared.parent) / f"{experiment.name}-run"
    deadline = time.monotonic() + 300
    while True:
        try:
            return run_experiment(experiment, root, quiet=True)
        except ConfigError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


@pytest.fixture(scope="session")
def brief_config(smoke: Experiment, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The smoke config with one script alone, as a file: its units are the same as those of ``smoke_run``."""
    path = tmp_path_factory.mktemp("config") / "brief.yaml"
    path.write_text(dump_yaml(replace(smoke, agents=("hermit",)).to_mapping()), encoding="utf-8")
    return path


Launch = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def launch() -> Iterator[Launch]:
    """``launch("run", ...)`` starts the command in a session of its own; what still runs at the end is killed."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: object, program: str | None = None) -> subprocess.Popen[str]:
        code = "from solvent_experiments.__main__ import main; main()"
        process = subprocess.Popen(
            [sys.executable, *([program] if program else ["-c", code]), *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
