"""Full disks: one clear line, nothing half-written, and the same command goes on when there is room."""

from __future__ import annotations

import contextlib
import random
import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path

from solvent.energy.costs import CostDiscomfort, CostStore, StoreError
from solvent_experiments.artifacts.folder import RunFolder
from solvent_experiments.artifacts.integrity import finished_manifest
from solvent_experiments.config.documents import dump_yaml
from solvent_experiments.config.experiment import Experiment
from solvent_experiments.run.running import run_experiment
from tests.commands import Ended, call
from tests.faults.disks import fill
from tests.faults.tally import Tally, rounds

NO_ROOM = "No space left on device"


def one_line(ended: Ended, code: int) -> bool:
    return ended.code == code and ended.err.count("\n") == 1 and NO_ROOM in ended.err


def test_a_run_on_a_full_disk_goes_on_with_room(
    smoke: Experiment, small_disk: Path, tmp_path: Path, tally: Tally
) -> None:
    few = smoke.evaluation.model_copy(update={"episodes": 8})
    scripts = replace(smoke, train={}, agents=("random", "hermit"), evaluation=few)
    config = tmp_path / "scripts.yaml"
    config.write_text(dump_yaml(scripts.to_mapping()), encoding="utf-8")
    undisturbed = finished_manifest(run_experiment(scripts, tmp_path / "undisturbed", quiet=True))[
        "artifacts"
    ]
    size = sum(path.stat().st_size for path in (tmp_path / "undisturbed").rglob("*"))
    root, wrong, tried = small_disk / "run", [], rounds(1, 12)
    for seed in range(tried):
        leave = int(random.Random(seed).uniform(0, 0.8) * size)
        filler = fill(small_disk, leave)
        ended = call("run", config, "--out", root, "--quiet")
        parts = [path.name for path in root.rglob("*") if ".part" in path.name]
        filler.unlink()
        run_experiment(scripts, root, quiet=True)
        same = finished_manifest(RunFolder(root))["artifacts"] == undisturbed
        if not one_line(ended, 1) or parts or not same:
            wrong.append((leave, ended, parts, same))
        shutil.rmtree(root)
    tally("full disks", tried, tried - len(wrong))
    assert not wrong[:2]


def deferred(beat: int) -> CostDiscomfort:
    return CostDiscomfort(
        heartbeat_number=beat,
        action_considered="screen",
        energy_cost=4.0,
        energy_available=1.0,
        deferral_reason="insufficient_energy",
        agent_notes="so dear " * 1000,
    )


def test_a_store_on_a_full_disk_keeps_what_it_took_and_goes_on(small_disk: Path, tally: Tally) -> None:
    tried, wrong = rounds(5, 20), []
    for seed in range(tried):
        place, taken, said = small_disk / "costs.db", 0, ""
        filler = fill(small_disk, random.Random(seed).randint(0, 1_500_000))
        try:
            with CostStore(place) as store:
                for beat in range(1000):
                    store.log_discomfort(deferred(beat))
                    taken += 1
        except StoreError as error:
            said = str(error)
        filler.unlink()
        with CostStore(place) as store:
            store.log_discomfort(deferred(1000))
            found = [row.heartbeat_number for row in store.discomfort()]
        with contextlib.closing(sqlite3.connect(place)) as connection:
            sound = connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        if "disk" not in said or "\n" in said or sorted(found) != [*range(taken), 1000] or not sound:
            wrong.append((seed, said, taken, len(found), sound))
        for path in small_disk.iterdir():
            path.unlink()
    tally("full disks", tried, tried - len(wrong))
    assert not wrong[:3]


def test_a_report_on_a_full_disk_leaves_the_one_before(
    smoke_run: RunFolder, small_disk: Path, tally: Tally
) -> None:
    out = small_disk / "report.html"
    call("report", smoke_run.root, "--out", out).succeeded()
    before, tried, wrong = out.read_bytes(), rounds(1, 4), []
    for seed in range(tried):
        filler = fill(small_disk, int(random.Random(seed).uniform(0, 0.9) * len(before)))
        ended = call("report", smoke_run.root, "--out", out)
        if not one_line(ended, 2) or {path.name for path in small_disk.iterdir()} != {
            "report.html",
            "filler",
        }:
            wrong.append((seed, ended))
        filler.unlink()
        assert out.read_bytes() == before
        call("report", smoke_run.root, "--out", out).succeeded()
    tally("full disks", tried, tried - len(wrong))
    assert not wrong[:2]
