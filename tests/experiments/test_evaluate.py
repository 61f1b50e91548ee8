"""``solvent evaluate``: which rules and episodes it plays, and what it says about them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from solvent_experiments.config import environment_params, load_experiment, param_changes
from solvent_experiments.evaluate import PAGE, PAGES, rules_for
from solvent_experiments.folder import RunFolder
from tests.commands import call

CONFIGS = Path(__file__).parents[2] / "configs"
LEVELS = ["debt", "energy", "gate", "frontier", "lab", "tiny"]


def trained_with(run: RunFolder, changes: dict[str, dict[str, float]], folder: Path) -> str:
    """The path of the run's policy as if it had been trained under other rules."""
    policy = run.unit("ppo", 0).model
    folder.mkdir(exist_ok=True)
    shutil.copy(policy, folder / "policy.safetensors")
    about = json.loads(policy.with_suffix(".json").read_text())
    params = environment_params("Solvent/Debt-v0", changes).to_mapping()
    (folder / "policy.json").write_text(json.dumps({**about, "params": params}))
    return str(folder / "policy.safetensors")


def test_a_policy_plays_the_rules_that_it_was_trained_with(smoke_run: RunFolder, tmp_path: Path) -> None:
    policy = trained_with(smoke_run, {"debt": {"threshold": 1.0}}, tmp_path / "a")
    assert rules_for([policy, "honest"], None, {}).params.debt.threshold == 1.0


def test_rules_that_are_asked_for_come_first_and_a_line_says_so(smoke_run: RunFolder, tmp_path: Path) -> None:
    policy = trained_with(smoke_run, {"debt": {"threshold": 1.0}}, tmp_path / "a")
    rules = rules_for([policy], "Solvent/Debt-v0", {})
    assert rules.params.debt.threshold == 2.0
    assert rules.notes == [f"{policy} was trained under other rules: debt.threshold 1.0 instead of 2.0"]


def test_policies_of_different_rules_need_rules_that_are_named(smoke_run: RunFolder, tmp_path: Path) -> None:
    policies = [trained_with(smoke_run, {"debt": {"threshold": t}}, tmp_path / str(t)) for t in (1.0, 2.0)]
    call("evaluate", *policies).refused("debt.threshold 2.0 instead of 1.0", "--env or --params")
    assert rules_for(policies, None, {"debt": {"threshold": 1.5}}).params.debt.threshold == 1.5


def test_scripts_play_debt_unless_asked_for_something_else() -> None:
    assert rules_for(["honest"], None, {}).env == "Solvent/Debt-v0"
    assert rules_for(["honest"], "Solvent/Lab-v0", {}).env == "Solvent/Lab-v0"


def test_changed_rules_are_named_in_the_title() -> None:
    assert (
        rules_for(["honest"], None, {"debt": {"threshold": 1.0}}).name
        == "Solvent/Debt-v0, debt.threshold=1.0"
    )


@pytest.mark.parametrize("level", LEVELS)
def test_the_episodes_are_those_of_the_leaderboard(level: str) -> None:
    experiment = load_experiment(CONFIGS / f"{level}.yaml")
    played = experiment.evaluation.episodes, experiment.evaluation.slow_episodes
    assert PAGE.get(experiment.env, PAGES) == played


def test_fewer_episodes_than_the_leaderboards_are_said() -> None:
    call("evaluate", "hermit", "--episodes", 5).succeeded(
        "seeds 10000 to 10004", "the leaderboard: 10000 to 13999"
    )


def test_an_episode_to_watch_is_suggested_under_the_rules_of_a_level_alone(
    smoke_run: RunFolder, tmp_path: Path
) -> None:
    policy = trained_with(smoke_run, {"debt": {"threshold": 1.0}}, tmp_path / "a")
    usual, changed, trained = (
        call("evaluate", *agents, "--episodes", 2).succeeded()
        for agents in (["hermit"], ["hermit", "--params=debt.threshold=1.0"], [policy])
    )
    assert "solvent play --env Solvent/Debt-v0 --agent hermit" in usual
    assert "solvent play" not in changed + trained


def test_a_policy_is_one_seed() -> None:
    call("evaluate", "ppo:Solvent/Tiny-v0", "--episodes", 5).succeeded("one seed")


@pytest.mark.parametrize("text", ["debt.threshold", "=1", "debt.=1", "debt.threshold=["])
def test_a_difference_has_a_key_and_a_value(text: str) -> None:
    call("evaluate", "hermit", f"--params={text}").refused("--params", "allowed")


def test_a_difference_is_given_once() -> None:
    call("evaluate", "hermit", "--params=debt=1", "--params=debt.threshold=1").refused("--params", "allowed")


def test_differences_are_nested_by_their_keys() -> None:
    assert param_changes(["debt.threshold=1.5", "debt.enforced=false"]) == {
        "debt": {"threshold": 1.5, "enforced": False}
    }


def test_a_file_of_another_library_is_refused_with_the_way_to_bring_it(tmp_path: Path) -> None:
    (tmp_path / "mine.zip").write_bytes(b"PK")
    problem = call("evaluate", tmp_path / "mine.zip").refused("mine.zip: of another library")
    assert "a class that loads it (solvent evaluate --help)" in problem
    call("evaluate", "--help", width=120).succeeded('PPO.load("mine.zip", device="cpu")')
