"""What can happen to a run besides its own errors: killed processes, a full disk, damaged files."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from solvent_experiments.artifacts.folder import RunFolder
from solvent_experiments.config.documents import dump_yaml
from solvent_experiments.config.experiment import Experiment, load_experiment
from solvent_experiments.run.running import BrokenRunError, run_experiment
from tests.commands import Launch, call, wait_until
from tests.faults.disks import fill
from tests.faults.tally import Tally
from tests.runs import assert_same_units, incidents, sessions

pytestmark = pytest.mark.slow

PATIENCE = 180  # seconds
TRAINED = ("ppo/seed-0", "ppo/seed-1")


def workers(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """Its worker processes that live."""
    found = []
    with contextlib.suppress(psutil.Error):
        for child in psutil.Process(process.pid).children(recursive=True):
            with contextlib.suppress(psutil.Error):
                if any("spawn_main" in part for part in child.cmdline()):
                    found.append(child)
    return found


def test_a_worker_and_then_the_run_are_killed_and_it_goes_on_from_whole_files(
    launch: Launch, brief_config: Path, smoke_run: RunFolder, tmp_path: Path, tally: Tally
) -> None:
    root = tmp_path / "run"
    process = launch("run", brief_config, "--out", root, "--jobs", 1)
    wait_until((root / "ppo" / "seed-0" / "checkpoint.bin").exists, process)
    for worker in workers(process):
        worker.kill()
    checkpoint = root / "ppo" / "seed-1" / "checkpoint.bin"
    wait_until(checkpoint.exists, process)
    left = workers(process)
    process.kill()
    out, _ = process.communicate(timeout=PATIENCE)
    assert "was ended by SIGKILL; retrying, attempt 2 of 3" in out
    assert "ppo seed 0: training from " in out
    assert out.count("ppo seed 0: trained in") == 1
    assert left
    assert not psutil.wait_procs(left, timeout=30)[1]
    os.truncate(checkpoint, checkpoint.stat().st_size // 2)

    run_experiment(load_experiment(brief_config), root, quiet=True)
    killed, finished = sessions(root)
    assert (killed["status"], finished["status"]) == ("cut off", "finished")
    assert incidents(killed) == [("ppo seed 0", "tried again")]
    assert incidents(finished) == [(None, "went on"), ("ppo seed 1", "went on")]
    assert_same_units(root, smoke_run, *TRAINED, "hermit")
    tally("kills", 2, 2)


def test_a_unit_whose_workers_are_always_killed_is_given_up_and_the_others_done(
    launch: Launch, smoke: Experiment, tmp_path: Path, tally: Tally
) -> None:
    few = replace(smoke, train={}, agents=("hermit", "random"), evaluation=smoke.evaluation.model_copy())
    config, root = tmp_path / "few.yaml", tmp_path / "run"
    config.write_text(dump_yaml(few.to_mapping()))
    process = launch("run", config, "--out", root, "--jobs", 1)
    killed: set[int] = set()
    while len(killed) < 3 and process.poll() is None:
        for worker in workers(process):
            killed.add(worker.pid)
            worker.kill()
        time.sleep(0.005)
    out, error = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1, out + error
    assert error.startswith("solvent: hermit: its process")
    assert error.endswith("was ended by SIGKILL, the last of 3 tries\n")
    assert error.count("\n") == 1
    (session,) = sessions(root)
    assert incidents(session) == [("hermit", "tried again")] * 2 + [("hermit", "failed")]
    assert session["status"] == "failed"
    assert (root / "random" / "episodes.parquet").exists()
    assert not (root / "hermit" / "episodes.parquet").exists()
    tally("kills", len(killed), len(killed))


def stopped(root: Path, place: str, *arguments: object) -> str:
    """The line on stderr of a run in ``root`` that found no room for the file ``place`` in it."""
    ended = call("run", *arguments, "--out", root)
    assert ended.code == 1, ended
    assert ended.err.count("\n") == 1, ended.err
    assert ended.err.startswith(f"solvent: {root}/{place}")
    assert "No space left on device" in ended.err
    return ended.err


def test_a_full_disk_ends_the_run_in_one_line_and_with_room_it_goes_on(
    brief_config: Path, smoke_run: RunFolder, small_disk: Path, tally: Tally
) -> None:
    root = small_disk / "run"
    for leave, file in (
        (48_000, ""),
        (400_000, "/checkpoint.bin"),
    ):  # room for the script alone, none for a checkpoint
        filler = fill(small_disk, leave)
        said = stopped(root, f"ppo/seed-1{file}", brief_config, "--seeds", "1", "--jobs", "1")
        assert said.endswith(
            "No space left on device; free some space there, and the same command resumes the run\n"
        )
        assert not [path for path in root.rglob("*") if ".part" in path.name]
        assert not list((root / "ppo").rglob("*.parquet"))
        filler.unlink()

    run_experiment(load_experiment(brief_config, seeds=(1,)), root, quiet=True)
    assert sessions(root)[-1]["status"] == "finished"
    assert_same_units(root, smoke_run, "ppo/seed-1", "hermit")
    tally("full disks", 2, 2)


def test_a_disk_that_is_full_when_the_tables_are_joined(
    smoke_config: Path, smoke: Experiment, smoke_run: RunFolder, small_disk: Path, tally: Tally
) -> None:
    root = small_disk / "run"
    shutil.copytree(
        smoke_run.root, root, ignore=shutil.ignore_patterns("figures", "summary.json", "tensorboard")
    )
    for name in ("episodes.parquet", "traces.parquet", "training.parquet", "manifest.json"):
        (root / name).unlink()
    before = sorted(root.rglob("*"))
    filler = fill(small_disk, 16_000)
    stopped(root, "episodes.parquet", smoke_config)
    assert set(root.rglob("*")) - set(before) <= {root / "manifest.json"}

    filler.unlink()
    run_experiment(smoke, root, quiet=True)
    assert (root / "episodes.parquet").read_bytes() == smoke_run.episodes.read_bytes()
    tally("full disks", 1, 1)


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 0xFF
    path.write_bytes(content)


def test_finished_tables_that_are_damaged_are_named_and_made_anew(
    smoke: Experiment, smoke_run: RunFolder, tmp_path: Path
) -> None:
    root = Path(shutil.copytree(smoke_run.root, tmp_path / "run"))
    folder = RunFolder(root)
    damaged = [folder.unit("ppo", 0).episodes, folder.unit("ppo", 1).training, folder.unit("honest").traces]
    os.truncate(damaged[0], damaged[0].stat().st_size // 2)
    flip(damaged[1])
    flip(damaged[2])
    folder.manifest.write_text(folder.manifest.read_text()[:500])
    with pytest.raises(BrokenRunError) as caught:
        run_experiment(smoke, root, quiet=True)
    lines = str(caught.value).splitlines()
    assert len(lines) == 3
    for path, line in zip(damaged, lines, strict=True):
        assert line.startswith(f"{path}: damaged (")
    (session,) = sessions(root)
    assert session["status"] == "failed"
    assert incidents(session) == [(None, "went on")] + [(None, "stopped")] * 3
    assert (root / "manifest.damaged.json").exists()

    for path in damaged:
        path.unlink()
    run_experiment(smoke, root, quiet=True)
    assert sessions(root)[-1]["status"] == "finished"
    assert_same_units(root, smoke_run, *TRAINED, *smoke.agents)
    for name in ("episodes.parquet", "traces.parquet", "training.parquet"):
        assert (root / name).read_bytes() == (smoke_run.root / name).read_bytes()
