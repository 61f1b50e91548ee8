"""Runs: every level end to end; killed, interrupted, in use, failing, and resumed."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from pathlib import Path

import pytest
import yaml

import solvent
from solvent.files import now
from solvent_experiments.config import ConfigError, Evaluation, Experiment, load_experiment
from solvent_experiments.folder import NO_SEED, RunFolder, differences, read_parquet
from solvent_experiments.run import BrokenRunError, Processes, in_order, run_experiment
from tests.commands import Launch, call
from tests.runs import CONFIGS, SMOKE, Runs, lines_of, results

KILLS = int(os.environ.get("SOLVENT_KILLS", "2"))
PATIENCE = 300


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    """A config of two scripts, in seconds."""
    path = tmp_path / "scripts.yaml"
    path.write_text(
        "name: scripts\nagents: [hermit, honest]\nevaluation: {episodes: 20, trace_episodes: 5}\n"
    )
    return path


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n == "smoke" else pytest.mark.slow) for n in SMOKE]
)
def test_smoke_run_is_whole(name: str, runs: Runs) -> None:
    folder = runs(name)
    experiment = folder.experiment()
    episodes, traces = read_parquet(folder.episodes), read_parquet(folder.traces)
    units = folder.units(experiment)
    assert len(episodes["return"]) == experiment.evaluation.episodes * len(units)
    assert set(episodes["agent"]) == {unit.agent for unit in units}
    for unit in units:
        mine = (episodes["agent"] == unit.agent) & (episodes["training_seed"] == (unit.seed or 0))
        mine |= (episodes["agent"] == unit.agent) & (episodes["training_seed"] == NO_SEED)
        assert sorted(set(episodes["episode_seed"][mine])) == list(experiment.evaluation.seeds)
        traced = {int(seed) for seed in traces["episode_seed"][traces["agent"] == unit.agent]}
        assert traced == set(experiment.evaluation.seeds[: experiment.evaluation.trace_episodes])
    manifest = folder.read_manifest()
    assert manifest["seeds"] == experiment.seeds
    assert folder.training.exists() == bool(experiment.train)
    assert manifest["versions"]["numpy"]
    assert folder.gate.exists() == experiment.lab.gate.enabled
    assert not [path for path in folder.root.rglob("*") if ".part" in path.name]


def test_a_process_of_a_run_has_one_torch_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    with Processes(1) as pool:
        assert pool.call(torch.get_num_threads).result() == 1


@pytest.mark.parametrize("content", ["[]", "{", "{}", '{"finished": null}'])
def test_a_manifest_that_says_no_end_is_unfinished(content: str, tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    folder.config.write_text("name: x", encoding="utf-8")
    folder.manifest.write_text(content, encoding="utf-8")
    assert not folder.finished
    with pytest.raises(ConfigError, match=r"unfinished; allowed|not JSON"):
        folder.read_manifest()


def test_a_manifest_has_the_version_of_the_source(
    scripts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(solvent, "__version__", "9.9")
    folder = RunFolder(tmp_path)
    folder.write_manifest(load_experiment(scripts), now(), now())
    assert json.loads(folder.manifest.read_text())["versions"]["solvent"] == "9.9"


def test_ledger_has_the_refusals_of_the_traced_episodes(smoke_run: RunFolder) -> None:
    unit = smoke_run.unit("random")
    events = lines_of(unit.folder / "epistemic_refusals.jsonl")
    episodes, traces = read_parquet(unit.episodes), read_parquet(unit.traces)
    traced = sorted({int(seed) for seed in traces["episode_seed"]})
    rows = [list(episodes["episode_seed"]).index(seed) for seed in traced]
    assert len(events) == int(episodes["refusals"][rows].sum()) > 0
    of = [int(event["design_id"].rpartition("_lab")[2]) for event in events]
    assert of == sorted(of)
    assert set(of) <= set(traced)


@pytest.mark.usefixtures("here")
def test_finished_run_is_left_alone(scripts: Path, tmp_path: Path) -> None:
    root = tmp_path / "run"
    call("run", scripts, "--out", root, "--quiet").succeeded("Next: `solvent report")
    before = {path: path.stat().st_mtime_ns for path in root.rglob("*")}
    call("run", scripts, "--out", root).succeeded("already finished")
    assert {path: path.stat().st_mtime_ns for path in root.rglob("*")} == before


@pytest.mark.usefixtures("here")
def test_another_config_is_refused(scripts: Path, tmp_path: Path) -> None:
    root = tmp_path / "run"
    call("run", scripts, "--out", root, "--quiet").succeeded()
    scripts.write_text(scripts.read_text().replace("20", "10"))
    call("run", scripts, "--out", root).refused("evaluation.episodes: 20 there, 10 here", "another --out")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").touch()
    call("run", scripts, "--out", tmp_path / "mine").refused("is not empty and not a run")


@pytest.mark.usefixtures("here")
def test_damaged_unit_is_named_and_made_again(scripts: Path, tmp_path: Path) -> None:
    root = tmp_path / "run"
    call("run", scripts, "--out", root, "--quiet").succeeded()
    whole, table = results(root), root / "hermit" / "episodes.parquet"
    table.write_bytes(table.read_bytes()[:-100])
    (root / "summary.json").unlink()
    call("run", scripts, "--out", root, "--quiet").refused("hermit/episodes.parquet: damaged", "move it away")
    table.unlink()
    call("run", scripts, "--out", root, "--quiet").succeeded()
    assert results(root) == whole


def test_failing_unit_leaves_the_others(tmp_path: Path) -> None:
    bad = {"algorithm": "PPO", "n_timesteps": 64, "n_envs": 2, "n_steps": 8, "batch_size": 1}  # needs two
    few = Evaluation(episodes=5)
    experiment = Experiment(name="x", agents=["hermit"], train={"bad": bad}, evaluation=few)
    with pytest.raises(BrokenRunError, match=r"^bad seed 0: .*batch_size.*details: .*error\.txt"):
        run_experiment(experiment, tmp_path / "run", quiet=True)
    assert (tmp_path / "run" / "hermit" / "episodes.parquet").exists()
    assert "Traceback" in (tmp_path / "run" / "bad" / "seed-0" / "error.txt").read_text()


def brief(tmp_path: Path) -> tuple[Path, Path]:
    """A training of seconds and a script, and the undisturbed run of them."""
    given = load_experiment(CONFIGS / "smoke.yaml").model_copy(update={"agents": ["honest"], "seeds": [0]})
    config = tmp_path / "brief.yaml"
    config.write_text(yaml.safe_dump(given.model_dump(), sort_keys=False))
    run_experiment(given, tmp_path / "whole", quiet=True)
    return config, tmp_path / "whole"


@pytest.mark.slow
@pytest.mark.usefixtures("here")
def test_killed_and_interrupted_runs_end_as_an_undisturbed_one(launch: Launch, tmp_path: Path) -> None:
    config, whole = brief(tmp_path)
    luck, root = random.Random(0), tmp_path / "run"
    for _ in range(KILLS):
        process = launch("run", config, "--out", root)
        time.sleep(luck.uniform(3.0, 12.0))
        if process.poll() is None:
            how = luck.choice((signal.SIGKILL, signal.SIGINT, signal.SIGTERM))
            os.killpg(process.pid, how) if how == signal.SIGINT else process.send_signal(how)
        out, error = process.communicate(timeout=PATIENCE)
        assert "Traceback" not in out + error
        assert process.returncode in (0, 130, -signal.SIGKILL, -signal.SIGTERM)  # the last: while it started
        for table in root.rglob("*.parquet"):
            read_parquet(table)
    call("run", config, "--out", root, "--quiet").succeeded()
    assert results(root) == results(whole)


@pytest.mark.slow
def test_second_process_on_a_folder_is_one_line(launch: Launch, scripts: Path, tmp_path: Path) -> None:
    root = tmp_path / "run"
    first = launch("run", scripts, "--out", root)
    while not (root / "manifest.json").exists():
        time.sleep(0.1)
    call("run", scripts, "--out", root).refused(f"{root}: another process is using this folder")
    first.send_signal(signal.SIGTERM)
    _, error = first.communicate(timeout=PATIENCE)
    assert (first.returncode, error.count("\n")) == (130, 1), error
    assert "the same command resumes it" in error


def test_training_seeds_may_be_added(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    folder.root.mkdir()
    one = Experiment(name="x", agents=["hermit"], seeds=[0])
    folder.prepare(one)
    folder.prepare(one.model_copy(update={"seeds": [0, 1]}))
    assert folder.experiment().seeds == [0, 1]
    with pytest.raises(ConfigError, match="seeds: "):
        folder.prepare(one)
    assert list(differences({"a": {"b": 1}}, {"a": {"b": 2}})) == [("a.b", "1", "2")]


def test_first_come_as_many_trainings_as_run_at_a_time() -> None:
    folder = RunFolder(Path("x"))
    units = [
        *(folder.unit("ppo", seed) for seed in range(3)),
        *map(folder.unit, ("honest", "planner", "random")),
    ]
    first, later = in_order(units, 2)
    assert [unit.label for unit in first] == ["ppo seed 0", "ppo seed 1", "honest", "random"]
    assert [unit.label for unit in later] == ["ppo seed 2", "planner"]
