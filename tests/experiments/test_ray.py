"""The same jobs on a real Ray cluster on this machine: the same results; a lost worker; a cluster that is not there."""

from __future__ import annotations

from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

import solvent
from solvent_experiments.config import Experiment, load_experiment
from solvent_experiments.folder import Unit
from solvent_experiments.run import Pool, Times, run_experiment
from tests.commands import call
from tests.runs import CONFIGS, Here, results, tiny_training

pytest.importorskip("ray", reason="the extra `ray` is not installed")

RESTING = """
import numpy as np

class Resting:
    name = "resting"
    def __init__(self, params, seed): ...
    def act(self, observations, masks):
        return np.zeros(len(masks), np.int64)
"""
CONFIG = """
name: ray
env: Solvent/Debt-v0
agents: [honest, on_ray:Resting]
train:
  ppo: {n_timesteps: 1024, n_envs: 16, n_steps: 8, batch_size: 128, n_epochs: 1}
evaluation: {episodes: 10, trace_episodes: 5}
"""


@pytest.mark.slow
@pytest.mark.usefixtures("here")
def test_ray_leaves_the_same_results(tmp_path: Path) -> None:
    from solvent_experiments.ray import RayPool

    (tmp_path / "on_ray.py").write_text(RESTING)
    (tmp_path / "ray.yaml").write_text(CONFIG)
    experiment = load_experiment(tmp_path / "ray.yaml")
    killed: list[int] = []

    def lose_a_worker() -> object:
        """Kill a worker while the run waits: its unit is done again."""
        for child in [] if killed else psutil.Process().children(recursive=True):
            with suppress(psutil.Error):  # a child that has just ended
                if not killed and "ray::_work" in " ".join(child.cmdline()):
                    child.kill()
                    killed.append(child.pid)
        return tell()

    with RayPool(None, 2) as pool:
        tell = pool.messages
        pool.messages = lose_a_worker  # type: ignore[method-assign,assignment]
        run_experiment(experiment, tmp_path / "run", pool=pool, quiet=True)
    assert killed
    run_experiment(experiment, tmp_path / "here", quiet=True)
    assert results(tmp_path / "run") == results(tmp_path / "here")


class Away(Pool):
    """A pool that executes units as a worker of a cluster does, and brings their files here."""

    def submit(self, experiment: Experiment, unit: Unit) -> Future[Times | None]:
        from solvent_experiments.ray import _pass_on, _work, files_of

        done: Future[Any] = Future()
        done.set_result(_work(experiment, unit.agent, unit.seed, files_of(unit), solvent.__version__))
        result: Future[Times | None] = Future()
        _pass_on(done, unit, result)
        return result


@pytest.mark.usefixtures("here")
def test_a_training_that_goes_on_elsewhere_brings_its_new_policy(tmp_path: Path) -> None:
    for pool, root in ((Here(), tmp_path / "here"), (Away(), tmp_path / "away")):
        for steps in (512, 1024):
            run_experiment(tiny_training(steps), root, pool=pool, quiet=True)
    assert results(tmp_path / "away") == results(tmp_path / "here")


@pytest.mark.parametrize("address", ["127.0.0.1:1", "nowhere", "127.0.0.1:x", "127.0.0.1:99999"])
def test_absent_cluster_is_one_line(address: str, tmp_path: Path) -> None:
    where = ("--out", tmp_path / "run", "--backend", "ray", "--address", address)
    call("run", CONFIGS / "smoke.yaml", *where).refused("--address: nothing answers at", "HOST:PORT")
    assert not (tmp_path / "run").exists()
    call("run", CONFIGS / "smoke.yaml", "--address", address).refused("with --backend ray alone")
