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
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import psutil
import pytest

from solvent_experiments.artifacts.folder import RunFolder
from solvent_experiments.config.experiment import load_experiment
from solvent_experiments.run.running import run_experiment

pytestmark = pytest.mark.slow
if importlib.util.find_spec("ray") is None:
    pytest.skip("needs the extra ray", allow_module_level=True)

CLUSTER = Path(__file__).with_name("ray_cluster.py")
SAME = (
    "policy.safetensors",
    "episodes.parquet",
    "traces.parquet",
    "training.parquet",
    "epistemic_refusals.jsonl",
)
PATIENCE = 240  # seconds

Launch = Callable[..., "subprocess.Popen[str]"]


def sessions(root: Path) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads((root / "manifest.json").read_text())["sessions"]
    return found


def assert_same_units(root: Path, whole: RunFolder, *units: str) -> None:
    """Byte for byte those of a run in processes."""
    for unit in units:
        for path in (whole.root / unit).iterdir():
            if path.name in SAME:
                assert (root / unit / path.name).read_bytes() == path.read_bytes(), path
        assert not list((root / unit).glob("checkpoint*"))


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


def wait_until(met: Callable[[], object], process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not met() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert met(), process.communicate(timeout=30)


def test_a_killed_worker_is_replaced_and_the_artifacts_are_those_of_processes(
    launch: Launch, brief_config: Path, smoke_run: RunFolder, tmp_path: Path
) -> None:
    root = tmp_path / "run"
    process = launch("run", brief_config, "--out", root, "--backend", "ray", "--jobs", 1)
    wait_until((root / "ppo" / "seed-0" / "checkpoint.pt").exists, process)
    (worker,) = family([process.pid], "ray::UnitWorker")
    worker.kill()
    started = family([process.pid])
    out, error = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, out + error
    assert " was lost; it is tried again, 2 of 3" in out
    assert "(raylet)" not in out + error
    for label in ("ppo seed 0", "ppo seed 1"):
        assert out.count(f"{label}: trained in") == 1
    (session,) = sessions(root)
    assert session["backend"] == "ray"
    assert session["ray"]["nodes"] == 1  # type: ignore[index]
    assert [incident["outcome"] for incident in session["incidents"]] == ["tried again"]  # type: ignore[attr-defined]
    assert_same_units(root, smoke_run, "ppo/seed-0", "ppo/seed-1", "hermit")
    assert not psutil.wait_procs(started, timeout=30)[1]


def test_a_killed_run_leaves_no_worker_and_the_next_survives_the_loss_of_a_node(
    launch: Launch, brief_config: Path, smoke_run: RunFolder, tmp_path: Path
) -> None:
    root = tmp_path / "run"
    cluster = launch(2, program=str(CLUSTER))
    assert cluster.stdout is not None
    assert cluster.stdin is not None
    about = json.loads(cluster.stdout.readline())
    arguments = ("run", brief_config, "--out", root, "--backend", "ray", "--address", about["address"])

    process = launch(*arguments)
    wait_until(lambda: list(root.glob("ppo/seed-*/checkpoint.pt")), process)
    left = family(about["raylets"], "ray::UnitWorker")
    process.kill()
    process.communicate(timeout=PATIENCE)
    assert left
    assert not psutil.wait_procs(left, timeout=30)[1]

    process = launch(*arguments, "--jobs", 1)  # so that the one worker there is must be that of seed 1
    assert process.stdout is not None
    said = ""
    while "ppo seed 0: trained in" not in said or "ppo seed 1: training" not in said:
        line = process.stdout.readline()
        assert line, said
        said += line
    nodes = about["raylets"]
    wait_until(lambda: len(family(nodes, "ray::UnitWorker")) == 1, process)
    (node,) = [i for i, raylet in enumerate(nodes) if family([raylet], "ray::UnitWorker")]
    cluster.stdin.write(f"{node}\n")
    cluster.stdin.flush()
    out, error = process.communicate(timeout=PATIENCE)
    said += out
    assert process.returncode == 0, said + error
    assert "ppo seed 1: its process" in said
    assert "and its machine with it; it is tried again, 2 of 3" in said
    killed, finished = sessions(root)
    assert (killed["status"], finished["status"]) == ("cut off", "finished")
    assert [incident["unit"] for incident in finished["incidents"]] == [None, "ppo seed 1"]  # type: ignore[attr-defined]
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
    wait_until((root / "ppo" / "seed-1" / "checkpoint.pt").exists, process)
    started = family([process.pid])
    os.killpg(process.pid, signal.SIGINT)  # what Ctrl-C does: to every process of the terminal
    out, error = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, out + error
    assert "the same command goes on with it" in error
    assert "Traceback" not in out + error
    assert "ppo seed 1: stopped" in out
    assert sessions(root)[0]["status"] == "interrupted"
    assert not psutil.wait_procs(started, timeout=30)[1]

    run_experiment(load_experiment(brief_config, seeds=(1,)), root, quiet=True)
    assert_same_units(root, smoke_run, "ppo/seed-1", "hermit")


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ("127.0.0.1:1", "nothing answers at '127.0.0.1:1'"),
        (
            "ray://127.0.0.1:10001",
            "got 'ray://127.0.0.1:10001'; allowed: HOST:PORT of a Ray cluster, or auto",
        ),
        ("head", "got 'head'; allowed: HOST:PORT of a Ray cluster, or auto"),
    ],
    ids=["nobody there", "a client's address", "no port"],
)
def test_an_address_that_is_none_is_one_line(
    address: str, problem: str, launch: Launch, brief_config: Path, tmp_path: Path
) -> None:
    root = tmp_path / "run"
    process = launch("run", brief_config, "--out", root, "--backend", "ray", "--address", address)
    _, error = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2
    assert error.startswith(f"solvent: --address: {problem}")
    assert error.count("\n") == 1
    assert not root.exists()


def test_without_the_package_the_extra_is_named(launch: Launch, brief_config: Path, tmp_path: Path) -> None:
    program = tmp_path / "without_ray.py"
    lines = (
        "import sys",
        "sys.modules['ray'] = None",
        "from solvent_experiments.cli.app import main",
        "main()",
    )
    program.write_text("\n".join(lines))
    process = launch("run", brief_config, "--out", tmp_path / "run", "--backend", "ray", program=str(program))
    _, error = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2
    assert "pip install 'solvent-gym[ray]'" in error
    assert error.count("\n") == 1
    assert not (tmp_path / "run").exists()
