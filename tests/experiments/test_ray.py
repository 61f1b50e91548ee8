"""Runs on Ray, with real clusters on the loopback: the same artifacts, whatever is lost on the way.

Ray stays out of pytest's own process: the runs are commands, and the cluster of several nodes is a program beside them.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import psutil
import pytest

from solvent.extras import install
from solvent_experiments.artifacts.folder import RunFolder
from solvent_experiments.config.experiment import load_experiment
from solvent_experiments.run.running import run_experiment
from tests.commands import Launch, call, execute_python, wait_until
from tests.runs import assert_same_units, incidents, sessions

pytestmark = pytest.mark.slow
if importlib.util.find_spec("ray") is None:
    pytest.skip("needs the extra ray", allow_module_level=True)

CLUSTER = Path(__file__).with_name("ray_cluster.py")
PATIENCE = 240  # seconds


def family(pids: Iterable[int], name: str = "") -> list[psutil.Process]:
    """Processes that descend from these, with a part of their command line so named."""
    found = []
    for pid in pids:
        with contextlib.suppress(psutil.Error):
            for child in psutil.Process(pid).children(recursive=True):
                with contextlib.suppress(psutil.Error):
                    if name in " ".join(child.cmdline()):
                        found.append(child)
    return found


def heard(process: subprocess.Popen[str], *parts: str) -> str:
    """What a process prints until all ``parts`` are said."""
    assert process.stdout is not None
    said = ""
    while not all(part in said for part in parts):
        line = process.stdout.readline()
        assert line, said
        said += line
    return said


def test_a_killed_run_leaves_no_worker_and_the_next_survives_the_loss_of_a_worker_and_of_a_node(
    launch: Launch, brief_config: Path, smoke_run: RunFolder, tmp_path: Path
) -> None:
    root = tmp_path / "run"
    cluster = launch(2, program=str(CLUSTER))
    assert cluster.stdout is not None
    assert cluster.stdin is not None
    about = json.loads(cluster.stdout.readline())
    nodes = about["raylets"]
    arguments = ("run", brief_config, "--out", root, "--backend", "ray", "--address", about["address"])

    process = launch(*arguments)
    wait_until(lambda: list(root.glob("ppo/seed-*/checkpoint.bin")), process)
    left = family(nodes, "ray::UnitWorker")
    process.kill()
    process.communicate(timeout=PATIENCE)
    assert left
    assert not psutil.wait_procs(left, timeout=30)[1]

    process = launch(*arguments, "--jobs", 1)  # the only worker is that of the last seed that began
    said = heard(process, "ppo seed 0: training")
    (worker,) = family(nodes, "ray::UnitWorker")
    worker.kill()
    said += heard(process, "ppo seed 0: trained in", "ppo seed 1: training")
    assert "(raylet)" not in said  # the cluster's own log stays out of it, until a node is lost
    wait_until(lambda: len(family(nodes, "ray::UnitWorker")) == 1, process)
    (node,) = [i for i, raylet in enumerate(nodes) if family([raylet], "ray::UnitWorker")]
    cluster.stdin.write(f"{node}\n")
    cluster.stdin.flush()
    out, error = process.communicate(timeout=PATIENCE)
    said += out
    assert process.returncode == 0, said + error
    assert "was lost; retrying, attempt 2 of 3" in said
    assert "ppo seed 1: its process" in said
    assert "and its machine with it; retrying, attempt 2 of 3" in said
    killed, finished = sessions(root)
    assert (killed["status"], finished["status"]) == ("cut off", "finished")
    assert [unit for unit, _ in incidents(finished)] == [None, "ppo seed 0", "ppo seed 1"]
    for label in ("ppo seed 0", "ppo seed 1"):
        assert said.count(f"{label}: trained in") == 1  # none lost, none twice
    assert_same_units(root, smoke_run, "ppo/seed-0", "ppo/seed-1", "hermit")

    cluster.communicate(timeout=PATIENCE)
    assert cluster.returncode == 0


def test_a_run_that_is_stopped_on_ray_can_be_gone_on_with_in_processes(
    launch: Launch, brief_config: Path, smoke_run: RunFolder, tmp_path: Path
) -> None:
    root = tmp_path / "run"
    process = launch("run", brief_config, "--out", root, "--seeds", 1, "--backend", "ray")
    wait_until((root / "ppo" / "seed-1" / "checkpoint.bin").exists, process)
    started = family([process.pid])
    os.killpg(process.pid, signal.SIGINT)  # what Ctrl-C does: to every process of the terminal
    out, error = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, out + error
    assert "the same command resumes it" in error
    assert "Traceback" not in out + error
    assert "ppo seed 1: stopped" in out
    (session,) = sessions(root)
    assert (session["status"], session["backend"], session["ray"]["nodes"]) == ("interrupted", "ray", 1)
    assert not psutil.wait_procs(started, timeout=30)[1]

    run_experiment(load_experiment(brief_config, seeds=(1,)), root, quiet=True)
    assert_same_units(root, smoke_run, "ppo/seed-1", "hermit")


ADDRESSES = {
    "127.0.0.1:1": "nothing answers at '127.0.0.1:1'",
    "ray://127.0.0.1:10001": "got 'ray://127.0.0.1:10001'; allowed: HOST:PORT of a Ray cluster, or auto",
    "head": "got 'head'; allowed: HOST:PORT of a Ray cluster, or auto",
}
TRY_ALL = """
import sys
from solvent_experiments.cli.app import main

*arguments, addresses = sys.argv
for address in addresses.split():
    sys.argv = [*arguments, address]
    try:
        main()
    except SystemExit as left:
        print(left.code)
"""


def test_an_address_that_is_none_is_one_line(brief_config: Path, tmp_path: Path) -> None:
    arguments = ("run", brief_config, "--out", tmp_path / "run", "--backend", "ray", "--address")
    ended = execute_python(TRY_ALL, *arguments, " ".join(ADDRESSES))
    assert ended.out.split() == ["2"] * len(ADDRESSES)
    for line, problem in zip(ended.err.splitlines(), ADDRESSES.values(), strict=True):
        assert line.startswith(f"solvent: --address: {problem}")
    assert not (tmp_path / "run").exists()


def test_without_the_package_the_extra_is_named(
    brief_config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    ended = call("run", brief_config, "--out", tmp_path / "run", "--backend", "ray")
    ended.refused(install("ray"))
    assert not (tmp_path / "run").exists()
