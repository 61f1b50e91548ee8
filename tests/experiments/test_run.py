"""A real small run: what it writes, that it can be stopped and resumed, that nothing is overwritten."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from solvent import LabEnv, read_refusals_jsonl
from solvent.lab.codes import REFUSAL_REASONS
from solvent_agents import AGENTS, act_one
from solvent_experiments.artifacts.folder import RunFolder
from solvent_experiments.artifacts.parquet import NO_SEED, read_parquet
from solvent_experiments.config.documents import ConfigError, read_document
from solvent_experiments.config.experiment import Experiment
from solvent_experiments.figures.data import load_run
from solvent_experiments.figures.training import DRAWS
from solvent_experiments.measure import statistics
from solvent_experiments.measure.statistics import Bootstrap
from solvent_experiments.measure.summary import read_rows, summary
from solvent_experiments.run.running import BrokenRunError, run_experiment, show_results

SAME = ("episodes.parquet", "traces.parquet", "training.parquet", "epistemic_refusals.jsonl")


def contents(root: Path) -> dict[str, tuple[int, bytes]]:
    """Every file with its time of change and its bytes."""
    files = (path for path in root.rglob("*") if path.is_file())
    return {str(path.relative_to(root)): (path.stat().st_mtime_ns, path.read_bytes()) for path in files}


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-c", "from solvent_experiments.cli.app import main; main()", *arguments]


def test_everything_is_there(smoke: Experiment, smoke_run: RunFolder) -> None:
    for path in (
        *("config.yaml", "manifest.json", "summary.json"),
        *("episodes.parquet", "training.parquet", "traces.parquet"),
        *(
            f"ppo/seed-{seed}/{name}"
            for seed in (0, 1)
            for name in ("policy.safetensors", "policy.json", *SAME)
        ),
        *(f"{agent}/{name}" for agent in smoke.agents for name in SAME if name != "training.parquet"),
        *(f"figures/{name}.png" for name in ("learning_curve", "refusal_curve", "budget_curve", "claims")),
    ):
        assert (smoke_run.root / path).is_file(), path
    assert list(smoke_run.root.glob("ppo/seed-0/tensorboard/**/events.*"))
    left_over = [
        path for path in smoke_run.root.rglob("*") if ".part" in path.name or path.name.startswith(".")
    ]
    assert not left_over
    assert not list(smoke_run.root.rglob("checkpoint*"))


def test_the_resolved_config_is_complete(smoke: Experiment, smoke_run: RunFolder) -> None:
    resolved = read_document(smoke_run.config).data
    assert resolved == smoke.to_mapping()
    assert resolved["params"]["budget"] == {"wells": 384, "heartbeats": 20, "start_hour": 6}
    assert resolved["train"]["ppo"]["algorithm"] == "PPO"


def test_the_manifest_says_with_what_and_what(smoke_run: RunFolder) -> None:
    manifest = json.loads(smoke_run.manifest.read_text())
    (session,) = manifest["sessions"]
    assert session["status"] == "finished"
    assert session["packages"]["numpy"] == np.__version__
    assert session["seconds"]["ppo seed 1"]["training"] > 0
    assert session["git"] is None or len(session["git"]["commit"]) == 40
    assert manifest["finished"] >= session["started"]
    for name, digest in manifest["artifacts"].items():
        assert hashlib.sha256((smoke_run.root / name).read_bytes()).hexdigest() == digest
    assert {"episodes.parquet", "ppo/seed-0/policy.safetensors", "figures/claims.png"} <= set(
        manifest["artifacts"]
    )
    assert manifest["config_sha256"] == manifest["artifacts"]["config.yaml"]


def test_every_agent_played_the_same_episodes(smoke: Experiment, smoke_run: RunFolder) -> None:
    episodes = read_parquet(smoke_run.episodes)
    seeds = list(smoke.evaluation.seeds)
    units = [("ppo", 0), ("ppo", 1), *((agent, NO_SEED) for agent in smoke.agents)]
    for agent, seed in units:
        rows = (episodes["agent"] == agent) & (episodes["training_seed"] == seed)
        assert episodes["episode_seed"][rows].tolist() == seeds
    assert len(episodes["agent"]) == len(units) * len(seeds)
    by_reason = sum(episodes[f"refusals_{reason}"] for reason in REFUSAL_REASONS)
    np.testing.assert_array_equal(episodes["refusals"], by_reason)
    assert not episodes["contaminated"].any()


def test_training_episodes_carry_their_steps(smoke_run: RunFolder) -> None:
    training = read_parquet(smoke_run.training)
    for seed in (0, 1):
        steps = training["steps"][training["training_seed"] == seed]
        assert (np.diff(steps) >= 0).all()
        assert 0 < steps[0] < steps[-1] <= 8192
        assert training["length"][training["training_seed"] == seed].sum() <= 8192


def test_the_ledger_is_that_of_the_first_episodes(smoke: Experiment, smoke_run: RunFolder) -> None:
    """Against single labs, stepped by hand."""
    episodes = read_parquet(smoke_run.unit("random").episodes)
    events = read_refusals_jsonl(smoke_run.unit("random").ledger)
    logged = smoke.evaluation.ledger_episodes
    assert len(events) == episodes["refusals"][:logged].sum() > 0
    at = 0
    for seed, count in zip(episodes["episode_seed"][:logged], episodes["refusals"][:logged], strict=True):
        own = events[at : at + count]
        assert all(event.design_id.endswith(f"_lab{seed}") for event in own)
        assert [event.cycle for event in own] == sorted(event.cycle for event in own)
        at += count
    assert not read_refusals_jsonl(smoke_run.unit("hermit").ledger)


def test_traces_end_where_the_episodes_do(smoke: Experiment, smoke_run: RunFolder) -> None:
    unit = smoke_run.unit("honest")
    traces, episodes = read_parquet(unit.traces), read_parquet(unit.episodes)
    agent = AGENTS["honest"](smoke.params, 0)
    env = LabEnv(smoke.params)
    for seed in list(smoke.evaluation.seeds)[:3]:
        rows = traces["episode_seed"] == seed
        observation, info = env.reset(seed=seed)
        wells, ended = [smoke.params.budget.wells], False
        while not ended:
            action = act_one(agent, observation, info.get("action_mask", env.action_masks()))
            observation, _, terminated, truncated, info = env.step(action)
            ended = terminated or truncated
            wells.append(int(env.get_state()["wells"]))
        assert traces["wells"][rows].tolist() == wells
        record = info["episode_summary"]
        row = np.flatnonzero(episodes["episode_seed"] == seed)[0]
        assert episodes["return"][row] == record["return"]
        assert traces["debt"][rows][-1] == pytest.approx(record["debt"], abs=1e-6)
    assert len(np.unique(traces["episode_seed"])) == smoke.evaluation.trace_episodes


def test_a_second_run_does_nothing(
    smoke: Experiment, smoke_run: RunFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    before = contents(smoke_run.root)
    run_experiment(smoke, smoke_run.root)
    assert "nothing to do" in capsys.readouterr().out
    assert contents(smoke_run.root) == before


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
    show_results(folder, Console(file=io.StringIO()))
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
    with pytest.raises(ConfigError, match="not a summary"):
        read_rows(path)


def test_the_table_and_the_figures_are_shown(
    smoke_run: RunFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    show_results(smoke_run, Console(width=120))
    shown = capsys.readouterr().out
    for agent in ("ppo", "random", "honest", "hermit"):
        assert f" {agent} " in shown
    assert "2 x 40" in shown
    assert str(smoke_run.figures / "budget_curve.png") in shown
    assert "CONTAMINATED" not in shown


def test_another_config_in_the_same_folder_is_an_error(smoke_config: Path, smoke_run: RunFolder) -> None:
    before = contents(smoke_run.root)
    result = subprocess.run(
        command("run", str(smoke_config), "--seeds", "0", "--out", str(smoke_run.root)),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert "seeds: [0, 1] there, [0] here" in result.stderr
    assert "--fresh" in result.stderr
    assert contents(smoke_run.root) == before


def test_a_folder_of_something_else_is_left_alone(smoke: Experiment, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(ConfigError, match="no run"):
        run_experiment(smoke, tmp_path, quiet=True)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_one_process_at_a_time(smoke: Experiment, tmp_path: Path) -> None:
    with (
        RunFolder(tmp_path / "run").locked(),
        pytest.raises(ConfigError, match="is running in it"),
    ):
        run_experiment(smoke, tmp_path / "run", quiet=True)
    with (
        RunFolder(tmp_path / "run").locked(),
        pytest.raises(ConfigError, match="is running in it"),
    ):
        run_experiment(smoke, tmp_path / "run", quiet=True, fresh=True)
    (tmp_path / "run" / ".lock").write_text(json.dumps({"pid": os.getpid(), "started": 1.0}))
    with RunFolder(tmp_path / "run").locked():  # a process of that number, but not that one
        pass


def wait_for(path: Path, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 120
    while not path.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)


@pytest.fixture
def started(smoke_config: Path, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """`solvent run` of the smoke config in a process of its own, stopped at the end in any case."""
    process = subprocess.Popen(
        command("run", str(smoke_config), "--out", str(tmp_path / "run")),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    yield process
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def test_stopped_and_resumed_is_the_same_as_never_stopped(
    started: subprocess.Popen[str], smoke: Experiment, smoke_run: RunFolder, tmp_path: Path
) -> None:
    root = tmp_path / "run"
    wait_for(root / "ppo" / "seed-0" / "checkpoint.pt", started)
    os.killpg(started.pid, signal.SIGINT)  # what Ctrl-C does: to every process of the terminal
    out, error = started.communicate(timeout=120)
    assert started.returncode == 130, out + error
    assert "the same command goes on with it" in error
    assert "Traceback" not in out + error
    assert (root / "ppo" / "seed-0" / "checkpoint.pt").exists()
    assert not (root / "episodes.parquet").exists()
    assert json.loads((root / "manifest.json").read_text())["sessions"][0]["status"] == "interrupted"

    run_experiment(smoke, root, quiet=True)
    for path in smoke_run.root.rglob("*"):
        if path.name in SAME:
            assert (root / path.relative_to(smoke_run.root)).read_bytes() == path.read_bytes(), path
    manifest = json.loads((root / "manifest.json").read_text())
    assert [session["status"] for session in manifest["sessions"]] == ["interrupted", "finished"]


def test_fresh_moves_the_old_run_aside_and_more_seeds_are_added(smoke: Experiment, tmp_path: Path) -> None:
    from dataclasses import replace

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


def test_a_unit_that_breaks_is_named_and_tried_again(smoke: Experiment, tmp_path: Path) -> None:
    from dataclasses import replace

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
    result = subprocess.run(
        command("run", str(smoke_config), "--out", str(tmp_path / "run"), *options),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 2
    assert result.stderr == f"solvent: {problem}\n"
    assert not (tmp_path / "run").exists()
