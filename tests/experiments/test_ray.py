"""The same jobs on a real Ray cluster on this machine: the same results; a lost worker; a cluster that is not there."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import psutil
import pytest

from solvent_experiments.config import load_experiment
from solvent_experiments.folder import RunFolder
from solvent_experiments.run import run_experiment
from tests.commands import call
from tests.runs import CONFIGS, results

pytest.importorskip("ray", reason="the extra `ray` is not installed")


@pytest.mark.slow
def test_ray_leaves_the_same_results(smoke_run: RunFolder, tmp_path: Path) -> None:
    from solvent_experiments.ray import RayPool

    experiment = load_experiment(CONFIGS / "smoke.yaml")
    killed: list[int] = []

    def lose_a_worker() -> object:
        """Kill a worker while the run waits: its unit is done again."""
        workers = [
            p for p in psutil.Process().children(recursive=True) if "ray::_work" in " ".join(p.cmdline())
        ]
        if workers and not killed:
            killed.append(workers[0].pid)
            os.kill(workers[0].pid, signal.SIGKILL)
        return tell()

    with RayPool(None, 2) as pool:
        tell = pool.messages
        pool.messages = lose_a_worker  # type: ignore[method-assign,assignment]
        run_experiment(experiment, tmp_path / "run", pool=pool, quiet=True)
    assert killed
    assert results(tmp_path / "run") == results(smoke_run.root)


@pytest.mark.parametrize("address", ["127.0.0.1:1", "nowhere", "127.0.0.1:x", "127.0.0.1:99999"])
def test_absent_cluster_is_one_line(address: str, tmp_path: Path) -> None:
    arguments = (
        "run",
        CONFIGS / "smoke.yaml",
        "--out",
        tmp_path / "run",
        "--backend",
        "ray",
        "--address",
        address,
    )
    call(*arguments).refused("--address: nothing answers at", "HOST:PORT")
    assert not (tmp_path / "run").exists()


def test_address_is_for_ray_alone(tmp_path: Path) -> None:
    call("run", CONFIGS / "smoke.yaml", "--address", "x:1").refused("--address", "with --backend ray alone")
