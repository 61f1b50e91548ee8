"""Configs: a right one is completed; a wrong one is one line, exit code 2, and nothing written."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from solvent_experiments.config import ConfigError, load_experiment, parse_seeds
from tests.commands import call

CONFIGS = Path(__file__).parents[2] / "configs"
GOOD = "name: x\nagents: [random]\n"
RECIPE = "algorithm: PPO, n_timesteps: 64, n_envs: 2"
MEETING = f"train: {{p: {{{RECIPE}}}}}\nseeds: [10005]\nevaluation: {{episodes: 6}}\n"
BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 10)
)
"""A billion values in a few hundred bytes."""
WRONG = {
    "unknown key": (GOOD + "agent: [honest]\n", "agent: unknown key; did you mean 'agents'?"),
    "unknown parameter": (GOOD + "params: {debt: {treshold: 1}}\n", "params.debt.treshold: unknown key; did you"),
    "unknown agent": ("name: x\nagents: [onest]\n", "agents[0]: unknown agent 'onest'; did you mean 'honest'?"),
    "unknown environment": (GOOD + "env: Solvent/Dept-v0\n", "env: unknown environment 'Solvent/Dept-v0'; did you"),
    "unknown recipe": (GOOD + "train: {pppo: {}}\n", "train.pppo: no recipe 'pppo'"),
    "a switch for a number": (GOOD + "seeds: [true]\n", "seeds.0: got True; allowed: a valid integer"),
    "not a number": (GOOD + "params: {debt: {threshold: .nan}}\n", "params.debt.threshold: got nan"),
    "no name": ("agents: [random]\n", "name: missing"),
    "a name that is a path": ("name: ../x\nagents: [random]\n", "name: got '../x'"),
    "nothing to run": ("name: x\n", "agents: got none, and nothing to train"),
    "an agent twice": ("name: x\nagents: [hermit, hermit]\n", "agents: 'hermit' can't name a folder"),
    "a seed twice": (GOOD + "seeds: [3, 3]\n", "seeds: got 3 twice"),
    "seed 0 twice": (GOOD + "seeds: [0, 0]\n", "seeds: got 0 twice"),
    "an empty key twice": (GOOD + "'': 0\n'': 1\n", "'' is given twice"),
    "a seed of the evaluation": (GOOD + MEETING, "seeds: got 10005; allowed: "),
    "exact where nothing is solved": ("name: x\nagents: [exact]\n", "agents[0]: exact has no solution"),
    "a file's name for a learner": (GOOD + f"train: {{config.yaml: {{{RECIPE}}}}}\n", "train.config.yaml: 'config"),
    "a key twice": (GOOD + "seeds: [0]\nseeds: [1]\n", "'seeds' is given twice"),
    "broken YAML": ("name: x\nagents: [random\nseeds: [0]\n", "broken YAML, line 3"),
    "10 MB": (GOOD + "#" * 10 * 2**20, "more than 1,048,576 bytes"),
    "an alias bomb": (GOOD + BOMB, "more than 50,000 values"),
    "a date that is none": (GOOD + "x: 2001-13-45\n", "month must be in 1..12"),
    "an empty file": ("", "got an empty file; allowed: a mapping"),
    "a key that moves the cursor": (GOOD + '"\\e[2J\\u202e": 1\n', r"\x1b[2J\u202e: unknown key"),
}  # fmt: skip


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("text", "message"), WRONG.values(), ids=WRONG)
def test_wrong_config_is_one_line(text: str, message: str, here: Path) -> None:
    (here / "x.yaml").write_text(text)
    call("run", "x.yaml").refused("x.yaml: ", message)
    assert {path.name for path in here.iterdir()} == {"x.yaml"}


@pytest.mark.parametrize("name", ["missing.yaml", ".", "latin.yaml"])
def test_unreadable_config_is_one_line(name: str, here: Path) -> None:
    (here / "latin.yaml").write_bytes(b"name: \xe9\n")
    call("run", name).refused("allowed: a YAML file")


@pytest.mark.parametrize("config", sorted(CONFIGS.glob("*.yaml")), ids=lambda path: path.stem)
def test_complete_config_loads_again(config: Path, tmp_path: Path) -> None:
    complete = load_experiment(config)
    copy = tmp_path / "copy.yaml"  # no recipes beside it
    copy.write_text(yaml.safe_dump(complete.model_dump(), sort_keys=False))
    assert load_experiment(copy) == complete
    assert all("algorithm" in recipe for recipe in complete.train.values())


def test_params_are_differences_from_the_level(here: Path) -> None:
    (here / "x.yaml").write_text(
        "name: x\nenv: solvent:Solvent/Lab-v0\nagents: [random]\nparams: {debt: {threshold: 1e-1}}\n"
    )
    lab = load_experiment(here / "x.yaml").lab
    assert lab.debt.threshold == 0.1
    assert lab.gate.enabled
    assert lab.budget.heartbeats == 42


def test_departures_mark_a_run(here: Path) -> None:
    (here / "x.yaml").write_text(GOOD + "params: {debt: {enforced: false}}\n")
    assert load_experiment(here / "x.yaml").mark == "CONTAMINATED: debt tracked and not enforced"
    assert load_experiment(CONFIGS / "lab.yaml").mark == ""


def test_recipe_is_overridden_by_the_config(here: Path) -> None:
    (here / "hyperparameters").mkdir()
    (here / "hyperparameters" / "mine.yml").write_text("Solvent/Debt-v0: {algorithm: A2C, n_timesteps: 64}\n")
    changed = "{recipe: ppo, algorithm: MaskablePPO}"
    (here / "x.yaml").write_text(
        f"name: x\ntrain: {{mine: {{}}, short: {{recipe: ppo, n_timesteps: 64}}, masked: {changed}}}\n"
    )
    own, short, masked = (recipe or {} for recipe in load_experiment(here / "x.yaml").train.values())
    assert (masked["algorithm"], masked["n_steps"]) == ("MaskablePPO", 20)
    assert own["algorithm"] == "A2C"
    assert (short["algorithm"], short["n_timesteps"], short["n_envs"]) == ("PPO", 64, 128)


def test_seeds_are_ranges_and_lists() -> None:
    assert parse_seeds("0,3-5, 9") == [0, 3, 4, 5, 9]
    for text in ("", "a", "-1", "5-3", "1.5", "0-10000", str(2**32)):
        with pytest.raises(ConfigError, match="--seeds: got"):
            parse_seeds(text)
