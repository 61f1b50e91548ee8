"""Agents of one's own, ``module:Class``, through the command line: where they work, and what makes one unusable."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from solvent_experiments.config import Experiment, load_experiment
from solvent_experiments.folder import RunFolder, read_parquet
from tests.commands import call

ENV = "Solvent/Tiny-v0"
RESTING = """
import numpy as np

class Resting:
    name = "resting"
    def __init__(self, params, seed):
        self.rest = 0
    def act(self, observations, masks):
        return np.full(len(masks), self.rest)
"""
BAD = {
    "resting:Sleeping": "has no class 'Sleeping'",
    "unwell:Resting": "unwell: can't be imported, ModuleNotFoundError: No module named 'medicine'",
    "bad:Refuses": "bad:Refuses: can't be made, ValueError: not on a Monday",
    "bad:Planner": "name is 'planner'; allowed: a text that names no other agent",
    "bad:Alone": "alone: its first act in two labs fails, ValueError: actions: got shape (1,)",
    "json:Resting": "json.py has the name of another module",
}
CLASSES = """
from resting import Resting

class Refuses(Resting):
    def __init__(self, params, seed):
        raise ValueError("not on a\\nMonday")
class Planner(Resting):
    name = "planner"
class Alone(Resting):
    name = "alone"
    def act(self, observations, masks):
        return [0]
class Twin(Resting):
    pass
class Elsewhere(Resting):
    name = "../elsewhere"
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with modules of agents, which are forgotten afterwards."""
    (tmp_path / "resting.py").write_text(RESTING)
    (tmp_path / "bad.py").write_text(CLASSES)
    (tmp_path / "unwell.py").write_text("import medicine")
    (tmp_path / "json.py").write_text(RESTING)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("resting", "bad"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return tmp_path


def config(folder: Path, *agents: str) -> Path:
    path = folder / "own.yaml"
    path.write_text(
        f"name: own\nenv: {ENV}\nagents: [{', '.join(agents)}]\n"
        "evaluation: {episodes: 20, slow_episodes: 4, trace_episodes: 2}\n"
    )
    return path


@pytest.mark.slow
def test_a_run_finds_the_module_beside_its_config(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = config(folder, "resting:Resting", "honest")
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")  # the module lies beside the config
    monkeypatch.setattr("solvent_experiments.run._draw", lambda *_: None)
    call("run", path, "--out", "run", "--jobs", 2, "--quiet").succeeded("resting", "honest")
    run = RunFolder(Path("run"))
    assert run.read_manifest()["agents"] == {"resting": "resting:Resting", "honest": "honest"}
    episodes = read_parquet(run.episodes)
    assert set(episodes["return"][episodes["agent"] == "resting"]) == {0.0}


def test_commands_take_a_class() -> None:
    output = call("evaluate", "resting:Resting", "honest", "--env", ENV, "--episodes", 10).succeeded("honest")
    assert "resting " in output
    call("play", "--env", ENV, "--agent", "resting:Resting", "--delay", 0).succeeded("Resting 0.00 bits")


@pytest.mark.parametrize("agent", BAD)
def test_unusable_class_is_one_line(folder: Path, agent: str) -> None:
    call("run", config(folder, agent), "--out", "run").refused("own.yaml: agents[0]: ", BAD[agent])
    assert not Path("run").exists()
    call("evaluate", agent, "--env", ENV).refused(BAD[agent])


def test_an_experiment_keeps_its_classes_out_of_its_config(folder: Path) -> None:
    experiment = load_experiment(config(folder, "resting:Resting", "honest"))
    assert experiment.agent_names == ["resting", "honest"]
    assert experiment.find_agent("resting")(experiment.lab, 0).name == "resting"
    assert experiment.model_dump().keys() == Experiment.model_fields.keys()


def test_names_within_a_run_differ(folder: Path) -> None:
    twins = ("resting:Resting", "bad:Twin")
    call("run", config(folder, *twins)).refused(
        "agents: 'resting' can't name a folder; allowed: an unused name"
    )
    call("evaluate", *twins, "--env", ENV).refused("bad:Twin: got a second agent named 'resting'")
    call("run", config(folder, "bad:Elsewhere")).refused("agents: '../elsewhere' can't name a folder")
