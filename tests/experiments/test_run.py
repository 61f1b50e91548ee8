"""A real small run: its manifest, that it can be stopped and resumed, that nothing is overwritten."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from solvent_agents.scripts.hermit import Hermit
from solvent_experiments.artifacts.folder import RunFolder, Unit
from solvent_experiments.artifacts.parquet import read_parquet
from solvent_experiments.config.documents import ConfigError, read_document
from solvent_experiments.config.experiment import Experiment, load_experiment
from solvent_experiments.figures.data import load_run
from solvent_experiments.figures.drawing import draw_first
from solvent_experiments.figures.training import DRAWS
from solvent_experiments.measure import statistics
from solvent_experiments.measure.statistics import Bootstrap
from solvent_experiments.measure.summary import read_rows, summary
from solvent_experiments.run import worker
from solvent_experiments.run.processes import run_tasks
from solvent_experiments.run.running import BrokenRunError, run_experiment, show_results, tasks_of
from solvent_experiments.run.worker import Message, Task
from tests.commands import Launch, call, console, wait_until
from tests.runs import assert_same_units, contents, sessions


def test_the_manifest_says_with_what_and_what(smoke_run: RunFolder) -> None:
    manifest = json.loads(smoke_run.manifest.read_text())
    (session,) = manifest["sessions"]
    assert session["status"] == "finished"
    assert session["packages"]["numpy"] == np.__version__
    assert session["seconds"]["ppo seed 1"]["training"] > 0
    assert session["git"] is None or len(session["git"]["commit"]) == 40
    assert manifest["finished"] >= session["started"]
    assert {"ppo/seed-0/policy.safetensors", "ppo/seed-0/policy.json"} <= set(manifest["artifacts"])
    assert list(smoke_run.root.glob("ppo/seed-0/tensorboard/**/events.*"))


def test_training_episodes_carry_their_steps(smoke_run: RunFolder) -> None:
    training = read_parquet(smoke_run.training)
    for seed in (0, 1):
        steps = training["steps"][training["training_seed"] == seed]
        assert (np.diff(steps) >= 0).all()
        assert 0 < steps[0] < steps[-1] <= 8192
        assert training["length"][training["training_seed"] == seed].sum() <= 8192


def test_a_run_draws_the_bootstrap_of_its_summary_once(
    smoke: Experiment, smoke_run: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = []
    counts = statistics._counts

    def counting(sizes: list[int], bootstrap: Bootstrap, stream: int = 0) -> Any:
        drawn.append(bootstrap)
        return counts(sizes, bootstrap, stream)

    folder = RunFolder(tmp_path / "again")
    shutil.copytree(smoke_run.root, folder.root)
    shutil.rmtree(folder.figures)
    folder.manifest.unlink()
    folder.summary.unlink()
    monkeypatch.setattr(statistics, "_counts", counting)
    run_experiment(smoke, folder.root, quiet=True)
    show_results(folder, console())
    assert folder.summary.read_bytes() == smoke_run.summary.read_bytes()
    agents = len(load_run(folder).rows)
    assert drawn.count(Bootstrap()) == 3 * agents  # return, refusals and debt of each, once
    assert set(drawn) == {Bootstrap(), DRAWS}  # the learning curve has its own, of training episodes


def test_figures_and_tables_read_what_the_summary_keeps(smoke_run: RunFolder) -> None:
    run = load_run(smoke_run)
    assert list(run.rows) == summary(run.episodes, run.params)


@pytest.mark.parametrize("text", ["", "[]", '{"agents": [{"agent": "x"}]}', '{"agents": [{"score": 1}]}'])
def test_a_summary_that_no_run_wrote_is_one_line(text: str, tmp_path: Path) -> None:
    path = tmp_path / "summary.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"not a summary|broken JSON"):
        read_rows(path)


def test_another_config_in_the_same_folder_is_an_error(smoke_config: Path, smoke_run: RunFolder) -> None:
    before = contents(smoke_run.root)
    ended = call("run", smoke_config, "--seeds", "0", "--out", smoke_run.root)
    ended.refused("seeds: [0, 1] there, [0] here", "--fresh")
    assert contents(smoke_run.root) == before


def test_a_folder_of_something_else_is_left_alone(smoke: Experiment, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(ConfigError, match="no run"):
        run_experiment(smoke, tmp_path, quiet=True)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_one_process_at_a_time(smoke: Experiment, tmp_path: Path) -> None:
    with (
        RunFolder(tmp_path / "run").locked(),
        pytest.raises(ConfigError, match="is using this folder"),
    ):
        run_experiment(smoke, tmp_path / "run", quiet=True)
    with (
        RunFolder(tmp_path / "run").locked(),
        pytest.raises(ConfigError, match="is using this folder"),
    ):
        run_experiment(smoke, tmp_path / "run", quiet=True, fresh=True)
    (tmp_path / "run" / ".lock").write_text("left by a process that was killed")
    with RunFolder(tmp_path / "run").locked():
        pass


def test_stopped_and_resumed_is_the_same_as_never_stopped(
    launch: Launch, brief_config: Path, smoke_run: RunFolder, tmp_path: Path
) -> None:
    root = tmp_path / "run"
    process = launch("run", brief_config, "--out", root, "--seeds", "1")
    checkpoint = root / "ppo" / "seed-1" / "checkpoint.bin"
    wait_until(checkpoint.exists, process)
    os.killpg(process.pid, signal.SIGINT)  # what Ctrl-C does: to every process of the terminal
    out, error = process.communicate(timeout=120)
    assert process.returncode == 130, out + error
    assert "the same command resumes it" in error
    assert "Traceback" not in out + error
    assert checkpoint.exists()
    assert not (root / "episodes.parquet").exists()
    assert sessions(root)[0]["status"] == "interrupted"

    run_experiment(load_experiment(brief_config, seeds=(1,)), root, quiet=True)
    assert_same_units(root, smoke_run, "ppo/seed-1", "hermit")
    assert [session["status"] for session in sessions(root)] == ["interrupted", "finished"]


@pytest.mark.slow
def test_fresh_moves_the_old_run_aside_and_more_seeds_are_added(smoke: Experiment, tmp_path: Path) -> None:
    few = smoke.evaluation.model_copy(update={"episodes": 3})
    small = replace(smoke, train={}, agents=("hermit",), seeds=(0,), evaluation=few)
    root = tmp_path / "run"
    run_experiment(small, root, quiet=True)
    before = contents(root)
    run_experiment(small, root, quiet=True, fresh=True)
    (aside,) = (path for path in tmp_path.iterdir() if path != root)
    assert contents(aside) == before
    run_experiment(replace(small, seeds=(0, 1)), root, quiet=True)
    assert read_document(root / "config.yaml").data["seeds"] == [0, 1]


@pytest.mark.slow
def test_a_unit_that_breaks_is_named_and_tried_again(smoke: Experiment, tmp_path: Path) -> None:
    few = smoke.evaluation.model_copy(update={"episodes": 3})
    # Read as a config this recipe would be refused: it stands for whatever breaks inside a worker.
    recipe = {"algorithm": "PPO", "n_timesteps": 8, "n_steps": 0}
    broken = replace(smoke, agents=("hermit",), seeds=(0,), evaluation=few, train={"ppo": recipe})
    root = tmp_path / "run"
    with pytest.raises(BrokenRunError, match=r"ppo seed 0: .*error.txt"):
        run_experiment(broken, root, quiet=True)
    folder = RunFolder(root)
    assert "Traceback" in folder.unit("ppo", 0).error.read_text()
    assert folder.unit("hermit").finished
    assert not folder.episodes.exists()
    with pytest.raises(BrokenRunError, match="ppo seed 0"):
        run_experiment(broken, root, quiet=True)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--backend", "slurm"), "--backend: got 'slurm'; allowed: processes or ray"),
        (
            ("--address", "127.0.0.1:6379"),
            "--address: got '127.0.0.1:6379'; allowed: with --backend ray alone",
        ),
    ],
    ids=["no such backend", "an address of processes"],
)
def test_a_backend_that_cannot_be_is_one_line(
    options: tuple[str, ...], problem: str, smoke_config: Path, tmp_path: Path
) -> None:
    assert call("run", smoke_config, "--out", tmp_path / "run", *options).refused() == f"solvent: {problem}\n"
    assert not (tmp_path / "run").exists()


def test_agents_that_take_long_play_the_first_episodes_alone(
    smoke: Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Slow(Hermit):
        labs_at_once = 4

    monkeypatch.setattr(worker, "_agent", lambda *_: Slow(smoke.params))
    fewer = replace(smoke, evaluation=smoke.evaluation.model_copy(update={"slow_episodes": 8}))
    unit = RunFolder(tmp_path).unit("slow")
    worker._evaluate(fewer, unit, lambda _: None, lambda: False)
    assert read_parquet(unit.episodes)["episode_seed"].tolist() == list(smoke.evaluation.seeds[:8])


def test_trainings_and_searches_have_processes_of_their_own_and_the_other_scripts_are_first(
    smoke: Experiment, tmp_path: Path
) -> None:
    experiment = replace(smoke, agents=("hermit", "planner", "honest", "oracle"), seeds=(0, 1))
    tasks = tasks_of(experiment, RunFolder(tmp_path).units(experiment))
    labels = [[unit.label for unit in task.units] for task in tasks]
    assert labels == [["hermit", "honest"], ["ppo seed 0"], ["ppo seed 1"], ["planner"], ["oracle"]]


def speaking(
    unit: Unit, tell: Callable[[Message], None], should_stop: Callable[[], bool]
) -> dict[str, float]:
    print("  compiling \n", file=sys.stderr)
    return {}


def test_what_a_worker_prints_does_not_tear_the_bars(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    heard: list[Message] = []
    unit = RunFolder(tmp_path).unit("hermit")
    run_tasks([Task(speaking, (unit,))], 1, heard.append, lambda: False)
    assert [(message.kind, message.detail) for message in heard] == [
        ("starting", None),
        ("note", "compiling"),
        ("finished", {}),
    ]
    assert capfd.readouterr() == ("", "")


def test_the_scripts_have_a_figure_before_the_learners_are_done(
    smoke_config: Path, smoke_run: RunFolder, tmp_path: Path
) -> None:
    folder = RunFolder(tmp_path / "run")
    shutil.copytree(smoke_run.root, folder.root)
    for made in (folder.manifest, folder.summary, folder.episodes, folder.traces, folder.training):
        made.unlink()
    shutil.rmtree(folder.figures)
    for unit in (folder.unit("random"), folder.unit("ppo", 0)):
        unit.episodes.unlink()
    said = call("run", smoke_config, "--out", folder.root, "--jobs", "1").out
    figure = folder.figures / "episode.png"
    lines = ("drawing the first figure", f"first figure, while the others are under way: {figure}")
    assert said.index(lines[0]) < said.index(lines[1]) < said.index("ppo seed 0: evaluated")
    assert (
        figure.read_bytes() == (smoke_run.figures / "episode.png").read_bytes()
    )  # drawn again, of all agents


def test_the_first_figure_leaves_nothing_that_passes_for_a_finished_run(
    smoke: Experiment, smoke_run: RunFolder, tmp_path: Path
) -> None:
    folder = RunFolder(tmp_path / "run")
    scripts = [unit for unit in smoke_run.units(smoke) if unit.seed is None]
    drawn = draw_first(smoke, folder, scripts)
    assert drawn is not None
    assert [path.relative_to(folder.root) for path in folder.root.rglob("*.*")] == [
        drawn.relative_to(folder.root)
    ]
    assert drawn.read_bytes() != (smoke_run.figures / "episode.png").read_bytes()
