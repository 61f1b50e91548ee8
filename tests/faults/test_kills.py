"""Kills at random moments: what is there stays whole, and what was interrupted goes on to the same bytes."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from solvent.energy.costs import CostStore
from solvent_experiments.artifacts.folder import RunFolder
from solvent_experiments.artifacts.parquet import read_parquet
from tests.commands import Launch, call
from tests.faults.tally import Tally, rounds
from tests.runs import assert_same_units

PATIENCE = 300  # seconds


def killed(process: subprocess.Popen[str], luck: random.Random, least: float, most: float) -> str | None:
    """End a process and its children at a random moment; return what is wrong with how it went, None if it was done."""
    time.sleep(luck.uniform(least, most))
    with contextlib.suppress(psutil.Error):
        family = psutil.Process(process.pid).children(recursive=True)
    if process.poll() is not None:
        process.communicate()
        return None
    how = luck.choice((signal.SIGKILL, signal.SIGINT))
    if how == signal.SIGKILL:
        process.kill()  # and its workers have to notice
    else:
        os.killpg(process.pid, how)  # what Ctrl-C does: to every process of the terminal
    out, error = process.communicate(timeout=PATIENCE)
    # Ray's own agents may take more than half a minute.
    alive = psutil.wait_procs(family, timeout=PATIENCE)[1]
    if alive:
        return f"{how.name}: {alive} live on"
    ends = (0, 130, -signal.SIGINT)  # the last: when all was said and the interpreter was on its way out
    if how == signal.SIGINT and (process.returncode not in ends or "Traceback" in out + error):
        return f"{how.name}: {process.returncode} {out} {error}"
    return ""


def unreadable(root: Path) -> list[str]:
    """Tables that are not whole."""
    found = []
    for path in root.rglob("*.parquet"):
        try:
            read_parquet(path)
        except (OSError, ValueError) as error:
            found.append(f"{path}: {error}")
    return found


def interrupted(
    start: Callable[[], subprocess.Popen[str]], root: Path, seed: int, span: float
) -> tuple[int, list[str]]:
    """Kill a command up to four times, then let it end; return the number of kills, and what went wrong."""
    luck, kills, wrong = random.Random(seed), 0, list[str]()
    for _ in range(4):
        how = killed(start(), luck, 1.5, span)
        if how is None:
            break
        kills += 1
        wrong += [how] if how else []
        wrong += unreadable(root)
    process = start()
    out, error = process.communicate(timeout=PATIENCE)
    if process.returncode:
        wrong.append(f"at last: {process.returncode} {out} {error}")
    return kills, wrong


def end_with_the_same_bytes(
    start: Callable[[Path], subprocess.Popen[str]],
    whole: RunFolder,
    roots: list[Path],
    span: float,
    tally: Tally,
) -> None:
    """Kill and resume a run in each of ``roots``; in the end it has the units of the undisturbed ``whole``."""
    tried, held, wrong = 0, 0, []
    for seed, root in enumerate(roots):
        kills, found = interrupted(lambda root=root: start(root), root, seed, span)
        if not found:
            assert_same_units(root, whole, "ppo/seed-0", "ppo/seed-1", "hermit")
            call("check", root).succeeded()
        tried, held = tried + kills, held + (0 if found else kills)
        wrong += found
    tally("kills", tried, held)
    assert not wrong[:2]


@pytest.mark.slow
def test_runs_that_are_killed_end_with_the_same_bytes(
    launch: Launch, brief_config: Path, smoke_run: RunFolder, tmp_path: Path, tally: Tally
) -> None:
    roots = [tmp_path / str(seed) for seed in range(rounds(1, 6))]
    end_with_the_same_bytes(
        lambda root: launch("run", brief_config, "--out", root), smoke_run, roots, 12.0, tally
    )


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs the extra ray")
def test_drivers_of_ray_that_are_killed_end_with_the_same_bytes(
    launch: Launch, brief_config: Path, smoke_run: RunFolder, tmp_path: Path, tally: Tally
) -> None:
    roots = [tmp_path / str(seed) for seed in range(rounds(1, 2))]
    on_ray = ("--backend", "ray", "--jobs", 2)
    end_with_the_same_bytes(
        lambda root: launch("run", brief_config, "--out", root, *on_ray), smoke_run, roots, 30.0, tally
    )


def digests(root: Path) -> dict[str, str]:
    return {
        path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in root.rglob("*.parquet")
    }


@pytest.mark.slow
def test_studies_that_are_killed_end_with_the_same_bytes(
    launch: Launch, tmp_path: Path, tally: Tally
) -> None:
    arguments = ("study", "run", STUDY, "--smoke", "--seeds", "0", "--jobs", "1", "--runs")
    call(*arguments, tmp_path / "undisturbed", "--quiet").succeeded()
    whole, tried, held, wrong = digests(tmp_path / "undisturbed"), 0, 0, []
    for seed in range(rounds(1, 2)):
        root = tmp_path / str(seed)
        kills, found = interrupted(lambda root=root: launch(*arguments, root), root, seed, 20.0)
        found += [] if digests(root) == whole else ["other bytes"]
        tried, held = tried + kills, held + (0 if found else kills)
        wrong += found
    tally("kills", tried, held)
    assert not wrong[:2]


STUDY = "blocked"

WRITE = """
import sys
from solvent.energy.costs import CostDiscomfort, CostStore

with CostStore(sys.argv[1]) as store:
    first = len(store.discomfort())
    print("open", flush=True)
    for beat in range(first, 10**6):
        store.log_discomfort(
            CostDiscomfort(heartbeat_number=beat, action_considered="screen", energy_cost=4.0, energy_available=1.0,
                           deferral_reason="insufficient_energy")
        )
        print(beat, flush=True)
"""


def test_writers_of_a_store_that_are_killed_lose_nothing_that_they_were_told_is_kept(
    tmp_path: Path, tally: Tally
) -> None:
    place, luck, tried, wrong = tmp_path / "costs.db", random.Random(0), rounds(4, 40), []
    for number in range(tried):
        how = luck.choice((signal.SIGKILL, signal.SIGINT))
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITE, str(place)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
            # Under a shell's background job SIGINT would be ignored.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
        )
        assert writer.stdout is not None
        if number % 4:  # the others are killed while they open it, the first while it is made
            assert writer.stdout.readline() == "open\n"
        time.sleep(luck.uniform(0.0, 0.3 if number % 4 else 1.5))
        writer.send_signal(how)
        told = [int(line) for line in writer.communicate(timeout=PATIENCE)[0].split() if line.isdigit()]
        with CostStore(place) as store:
            found = [row.heartbeat_number for row in store.discomfort()]
        with contextlib.closing(sqlite3.connect(place)) as connection:
            sound = connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        if not sound or sorted(found) != list(range(len(found))) or (told and max(told) >= len(found)):
            wrong.append((number, how.name, told[-1:], len(found), sound))
    tally("kills", tried, tried - len(wrong))
    assert not wrong[:3]
