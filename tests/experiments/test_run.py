"""Runs: every level end to end; killed, interrupted, in use, failing, and resumed."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from pyarrow import parquet

import solvent
from solvent import preset
from solvent.files import now
from solvent_agents import PLAYERS
from solvent_agents.language.calls import salted
from solvent_experiments import evaluation
from solvent_experiments.config import ConfigError, Evaluation, Experiment, load_experiment
from solvent_experiments.folder import NO_SEED, RunFolder, differences, read_parquet
from solvent_experiments.run import BrokenRunError, Processes, in_order, run_experiment, trained_for
from tests.commands import Launch, call, wait_until
from tests.runs import CONFIGS, SMOKE, Here, Runs, lines_of, results, tiny_training

PATIENCE = 300


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    """A config of two scripts, in seconds."""
    path = tmp_path / "scripts.yaml"
    path.write_text(
        "name: scripts\nagents: [hermit, honest]\nevaluation: {episodes: 20, trace_episodes: 5}\n"
    )
    return path


every_level = pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n == "smoke" else pytest.mark.slow) for n in SMOKE]
)


@every_level
def test_every_agent_and_seed_plays_every_episode(name: str, runs: Runs) -> None:
    folder = runs(name)
    experiment, table = folder.experiment(), read_parquet(folder.episodes)
    for unit in folder.units(experiment):
        seed = NO_SEED if unit.seed is None else unit.seed
        rows = (table["agent"] == unit.agent) & (table["training_seed"] == seed)
        assert table["episode_seed"][rows].tolist() == list(experiment.evaluation.seeds)


@every_level
def test_a_run_has_the_files_of_its_level(name: str, runs: Runs) -> None:
    folder = runs(name)
    experiment = folder.experiment()
    assert folder.training.exists() == bool(experiment.train)
    assert folder.gate.exists() == experiment.lab.gate.enabled
    assert not list(folder.root.rglob("*.part"))


def test_a_manifest_names_seeds_and_versions(smoke_run: RunFolder) -> None:
    manifest = smoke_run.read_manifest()
    assert manifest["seeds"] == [0, 1]
    assert manifest["versions"]["numpy"] == np.__version__


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


def test_a_manifest_has_the_version_of_the_source(
    scripts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(solvent, "__version__", "9.9")
    folder = RunFolder(tmp_path)
    folder.write_manifest(load_experiment(scripts), now(), now())
    assert json.loads(folder.manifest.read_text())["versions"]["solvent"] == "9.9"


def test_a_run_says_for_how_many_steps_a_learner_was_trained() -> None:
    quickstart = load_experiment(CONFIGS / "quickstart.yaml")
    (line,) = trained_for(quickstart)
    assert (
        line == "ppo: trained for 400,000 steps, 13% of the 3,000,000 of its recipe, with 3 training seeds."
    )


def test_a_learner_with_all_steps_of_its_recipe_is_no_share_of_it() -> None:
    lines = trained_for(load_experiment(CONFIGS / "debt.yaml"))
    assert lines[0] == "ppo: trained for 3,000,000 steps, with 5 training seeds."


def test_a_folder_of_another_version_is_left_as_it_is(
    scripts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, experiment = tmp_path / "run", load_experiment(scripts)
    root.mkdir()
    RunFolder(root).prepare(experiment)
    with monkeypatch.context() as other:
        other.setattr(solvent, "__version__", "0.1.9")
        RunFolder(root).write_manifest(experiment, now())
    before = RunFolder(root).manifest.read_text()
    call("run", scripts, "--out", root).refused("started with Solvent 0.1.9; allowed: ")
    assert RunFolder(root).manifest.read_text() == before


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


@pytest.mark.parametrize("params", [{}, {"debt": {"threshold": 1.0}}])
def test_a_run_is_not_resumed_under_other_rules(params: dict[str, Any], tmp_path: Path) -> None:
    before = Experiment(name="x", agents=["hermit"], params={"debt": {"threshold": 3.0}})
    RunFolder(tmp_path).prepare(before)
    with pytest.raises(ConfigError, match=r"params\.debt.*allowed: another --out"):
        RunFolder(tmp_path).prepare(before.model_copy(update={"params": params}))


def test_a_folder_with_other_files_is_refused(scripts: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").touch()
    call("run", scripts, "--out", tmp_path / "mine").refused("is not empty and not a run")


@pytest.mark.usefixtures("here")
def test_damaged_unit_is_named_and_made_again(scripts: Path, tmp_path: Path) -> None:
    root = tmp_path / "run"
    call("run", scripts, "--out", root, "--quiet").succeeded()
    complete, table = results(root), root / "hermit" / "episodes.parquet"
    table.write_bytes(table.read_bytes()[:-100])
    (root / "summary.json").unlink()
    call("run", scripts, "--out", root, "--quiet").refused("hermit/episodes.parquet: damaged", "move it away")
    table.unlink()
    call("run", scripts, "--out", root, "--quiet").succeeded()
    assert results(root) == complete


def test_failing_unit_leaves_the_others(tmp_path: Path) -> None:
    bad = {"algorithm": "PPO", "n_timesteps": 64, "n_envs": 2, "n_steps": 8, "batch_size": 1}  # needs two
    few = Evaluation(episodes=5)
    experiment = Experiment(name="x", agents=["hermit"], train={"bad": bad}, evaluation=few)
    with pytest.raises(BrokenRunError, match=r"^bad seed 0: .*batch_size.*details: .*error\.txt"):
        run_experiment(experiment, tmp_path / "run", quiet=True)
    assert (tmp_path / "run" / "hermit" / "episodes.parquet").exists()
    assert "Traceback" in (tmp_path / "run" / "bad" / "seed-0" / "error.txt").read_text()


class Killed(BaseException):
    """The process ended here."""


def raising(error: type[BaseException]) -> Callable[..., None]:
    """Return a function that only raises."""

    def function(*_: object, **__: object) -> None:
        raise error

    return function


def run_until(experiment: Experiment, root: Path, last: int = 1_000_000) -> int:
    """Run in this process until it has written ``last`` files; return how many it has written."""
    written, replace = 0, Path.replace

    def counted(temporary: Path, path: Path) -> Path:  # how every file of a run comes into place
        nonlocal written
        if written == last:
            raise Killed
        written += 1
        return replace(temporary, path)

    with pytest.MonkeyPatch.context() as patch, contextlib.suppress(Killed):
        patch.setattr(Path, "replace", counted)
        run_experiment(experiment, root, pool=Here(), quiet=True)
    return written


@pytest.mark.usefixtures("here")
def test_a_run_killed_before_any_of_its_writes_resumes_to_an_undisturbed_one(tmp_path: Path) -> None:
    experiment = tiny_training(512, agents=["random"])
    complete = tmp_path / "whole"
    for last in range(run_until(experiment, complete)):
        root = tmp_path / f"killed-{last}"
        assert run_until(experiment, root, last) == last
        run_until(experiment, root)
        assert results(root) == results(complete), f"after {last} writes"
        assert (root / "summary.json").read_bytes() == (complete / "summary.json").read_bytes()
        assert RunFolder(root).finished


@pytest.mark.slow
def test_second_process_on_a_folder_is_one_line(launch: Launch, scripts: Path, tmp_path: Path) -> None:
    root = tmp_path / "run"
    first = launch("run", scripts, "--out", root)
    wait_until((root / "manifest.json").exists, first)
    call("run", scripts, "--out", root).refused(f"{root}: another process is using this folder")
    first.send_signal(signal.SIGTERM)
    _, error = first.communicate(timeout=PATIENCE)
    assert (first.returncode, error.count("\n")) == (130, 1), error
    assert "the same command resumes it" in error


def with_steps(path: Path, steps: int) -> Path:
    """The smoke config with one learner of so many steps."""
    config = yaml.safe_load((CONFIGS / "smoke.yaml").read_text())
    config["train"]["ppo"]["n_timesteps"] = steps
    path.write_text(yaml.safe_dump(config | {"seeds": [0], "agents": ["hermit"]}))
    return path


def test_a_larger_number_of_steps_goes_on_with_the_training(tmp_path: Path) -> None:
    root, config = tmp_path / "run", tmp_path / "config.yaml"
    call("run", with_steps(config, 2048), "--out", root).succeeded()
    unit = RunFolder(root).unit("ppo", 0)
    before, hermit = read_parquet(unit.training), RunFolder(root).unit("hermit").episodes.stat()
    call("run", with_steps(config, 4096), "--out", root).succeeded("trained for 4,096 steps")
    after = read_parquet(unit.training)
    assert unit.steps == 4096
    assert after["return"][: len(before["return"])].tolist() == before["return"].tolist()
    assert 2048 < after["steps"].max() <= 4096
    assert RunFolder(root).unit("hermit").episodes.stat().st_mtime_ns == hermit.st_mtime_ns
    assert len(list(unit.folder.glob("tensorboard/*"))) == 2
    assert not (unit.folder / "longer").exists()


@pytest.mark.usefixtures("here")
def test_a_longer_training_killed_before_any_of_its_writes_has_no_old_policy(tmp_path: Path) -> None:
    short, longer = (tiny_training(steps) for steps in (512, 1024))
    run_until(short, tmp_path / "short")
    shutil.copytree(tmp_path / "short", tmp_path / "whole")
    old = RunFolder(tmp_path / "short").unit("ppo", 0).model.read_bytes()
    for last in range(run_until(longer, tmp_path / "whole")):
        root = tmp_path / f"killed-{last}"
        shutil.copytree(tmp_path / "short", root)
        run_until(longer, root, last)
        unit = RunFolder(root).unit("ppo", 0)
        assert unit.steps in (0, 512, 1024)
        assert not unit.steps or (unit.model.read_bytes() == old) == (unit.steps == 512), (
            f"after {last} writes"
        )


@pytest.mark.usefixtures("here")
def test_a_longer_training_killed_while_its_files_are_copied_keeps_the_old_policy(tmp_path: Path) -> None:
    root, longer = tmp_path / "run", tiny_training(1024)
    run_until(tiny_training(512), root)
    unit = RunFolder(root).unit("ppo", 0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("solvent_experiments.run.shutil.copytree", raising(Killed))
        run_until(longer, root)
    assert unit.steps == 512
    run_until(longer, root)
    assert unit.steps == 1024
    assert not (unit.folder / "longer").exists()


@pytest.mark.usefixtures("here")
def test_a_training_without_its_weights_begins_again(tmp_path: Path) -> None:
    root, training = tmp_path / "run", tiny_training(512)
    run_until(training, root)
    complete, unit = results(root), RunFolder(root).unit("ppo", 0)
    for file in (unit.model, unit.episodes):
        file.unlink()
    (unit.folder / "longer").mkdir()
    run_until(training, root, last=3)  # the config, the description and the weights
    assert unit.steps == 0
    run_until(training, root)
    assert results(root) == complete
    assert not (unit.folder / "longer").exists()


def test_validations_stay_where_a_training_goes_on(tmp_path: Path, here: None) -> None:
    for steps in (2048, 4096):
        experiment = load_experiment(with_steps(tmp_path / "config.yaml", steps))
        experiment.train["ppo"]["evaluate_every"] = 1024
        folder = run_experiment(experiment, tmp_path / "run", quiet=True)
    rows = json.loads((folder.unit("ppo", 0).folder / "validation.json").read_text())
    assert [row["steps"] for row in rows] == [1024, 2048, 3072, 4096]


def test_a_run_whose_policies_were_removed_keeps_its_evaluation(tmp_path: Path) -> None:
    experiment = load_experiment(with_steps(tmp_path / "config.yaml", 2048))
    folder = RunFolder(tmp_path / "run")
    unit = folder.unit("ppo", 0)
    folder.root.mkdir()
    folder.prepare(experiment)
    unit.folder.mkdir(parents=True)
    unit.episodes.touch()
    folder.prepare(experiment)
    assert unit.episodes.exists()


def test_fewer_steps_than_a_policy_has_are_another_config(tmp_path: Path) -> None:
    present = load_experiment(with_steps(tmp_path / "a.yaml", 4096))
    folder = RunFolder(tmp_path / "run")
    folder.root.mkdir()
    folder.prepare(present)
    with pytest.raises(ConfigError, match="n_timesteps 4096 instead of 2048"):
        folder.prepare(load_experiment(with_steps(tmp_path / "b.yaml", 2048)))


def test_training_seeds_may_be_added(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    folder.root.mkdir()
    one = Experiment(name="x", agents=["hermit"], seeds=[0])
    folder.prepare(one)
    folder.prepare(one.model_copy(update={"seeds": [0, 1]}))
    assert folder.experiment().seeds == [0, 1]
    with pytest.raises(ConfigError, match="seeds "):
        folder.prepare(one)
    assert list(differences({"a": {"b": 1}}, {"a": {"b": 2}})) == [("a.b", "1", "2")]


# -- the tables


def test_the_training_table_has_the_seeds(smoke_run: RunFolder) -> None:
    table = read_parquet(smoke_run.training)
    assert set(table["training_seed"]) == {0, 1}


def test_a_script_has_no_training_seed(smoke_run: RunFolder) -> None:
    table = parquet.read_table(smoke_run.episodes).to_pylist()
    assert {row["training_seed"] for row in table if row["agent"] == "honest"} == {None}


def random_play(monkeypatch: pytest.MonkeyPatch, **given: Any) -> evaluation.Evaluated:
    """The evaluation of random play, two episodes at a time."""
    monkeypatch.setattr(evaluation, "BATCH", 2)
    lab = preset("default")
    result = evaluation.evaluate(PLAYERS["random"](lab, 0), lab, Evaluation(first_seed=50, **given))
    assert result is not None
    return result


def test_traces_are_of_the_first_episodes(monkeypatch: pytest.MonkeyPatch) -> None:
    result = random_play(monkeypatch, episodes=5, trace_episodes=3)
    assert result.episodes["episode_seed"].tolist() == [50, 51, 52, 53, 54]
    assert np.unique(result.traces["episode_seed"]).tolist() == [50, 51, 52]


def test_a_ledger_counts_the_episodes_of_an_evaluation(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = random_play(monkeypatch, episodes=5, trace_episodes=5).ledgers["epistemic_refusals.jsonl"]
    numbers = [re.findall(r"_(\d+)_\d+_lab(\d+)$", line["design_id"])[0] for line in lines]
    assert {(int(episode), int(seed)) for episode, seed in numbers} == {(i, 50 + i) for i in range(5)}


def test_a_salt_makes_other_episodes() -> None:
    seeds = Evaluation(first_seed=50, episodes=3, salt="pepper").seeds
    assert list(seeds) == [salted("pepper", 50), salted("pepper", 51), salted("pepper", 52)]
    assert min(seeds) > 1_000


# -- the order of units, and the time left


def test_first_come_as_many_trainings_as_run_at_a_time() -> None:
    folder = RunFolder(Path("x"))
    units = [
        *(folder.unit("ppo", seed) for seed in range(3)),
        *map(folder.unit, ("honest", "planner", "random")),
    ]
    first, later = in_order(units, 2)
    assert [unit.label for unit in first] == ["ppo seed 0", "ppo seed 1", "honest", "random"]
    assert [unit.label for unit in later] == ["ppo seed 2", "planner"]
