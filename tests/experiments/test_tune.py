"""The search for hyperparameters: a real small one, its memory, and what it leaves."""

from __future__ import annotations

import csv
import dataclasses
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
import yaml

from solvent_experiments.config.documents import ConfigError, read_document
from solvent_experiments.config.experiment import load_experiment, make_recipe
from solvent_experiments.tune import search as tune
from solvent_experiments.tune.search import RUNGS, score_of, search
from solvent_experiments.tune.spaces import (
    SCORED,
    SPACES,
    START,
    TRAINED,
    Choice,
    Search,
    drawn_recipe,
    starting_point,
)
from tests.commands import call, console, written

ROOT = Path(__file__).resolve().parents[2]
HYPERPARAMETERS = ROOT / "configs" / "hyperparameters"
SMALL = Search("A2C", "Solvent/Debt-v0", trials=2, steps=2000, episodes=20)


def rows(out: Path) -> list[dict[str, str]]:
    with (out / "trials.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small search that no test changes."""
    out = tmp_path_factory.mktemp("search") / "a2c"
    search(SMALL, out, console=console())
    return out


@pytest.mark.slow
def test_its_best_recipe_is_a_recipe_that_says_where_it_is_from(found: Path, tmp_path: Path) -> None:
    text = (found / "best.yml").read_text(encoding="utf-8")
    assert "solvent tune A2C --env Solvent/Debt-v0 --trials 2 --steps 2000" in text
    assert "2 trials (2 finished, 0 given up, 0 broke) of 2,000 steps" in text
    assert "labs 1000 to 1019" in text
    (tmp_path / "hyperparameters").mkdir()
    shutil.copy(found / "best.yml", tmp_path / "hyperparameters" / "a2c.yml")
    (tmp_path / "config.yaml").write_text("name: x\ntrain: {a2c: {}}\n", encoding="utf-8")
    recipe = load_experiment(tmp_path / "config.yaml").train["a2c"]
    assert recipe["n_timesteps"] == 2000
    best = max(rows(found), key=lambda row: float(row["score"]))
    assert recipe["n_envs"] == int(best["n_envs"])


@pytest.mark.slow
def test_its_seeds_are_nobody_elses(found: Path) -> None:
    assert [int(row["seed"]) for row in rows(found)] == [100, 101]
    assert not set(SCORED) & set(TRAINED)
    assert SCORED.stop == 10_000
    too_many = dataclasses.replace(SMALL, episodes=9001)
    with pytest.raises(ConfigError, match="--episodes: got 9001; allowed: 1 to 9000"):
        search(too_many, found, console=console())


@pytest.mark.slow
def test_it_goes_on_where_it_was(found: Path, tmp_path: Path) -> None:
    out = tmp_path / "a2c"
    shutil.copytree(found, out)
    left = optuna.load_study(study_name="search", storage=f"sqlite:///{out / 'study.db'}")
    left.ask()  # a trial that a killed search was in
    search(dataclasses.replace(SMALL, trials=3), out, console=console())
    before, after = rows(found), rows(out)
    assert after[:2] == before
    assert [row["state"] for row in after] == ["complete", "complete", "fail", "complete"]
    draws = {row["learning_rate"] for row in after if row["learning_rate"]}
    assert len(draws) == 3
    assert "3 trials (3 finished" in (out / "best.yml").read_text(encoding="utf-8")
    search(dataclasses.replace(SMALL, trials=3), out, console=console())
    assert rows(out) == after  # there was nothing left to do


@pytest.mark.slow
def test_a_search_of_another_kind_is_not_mixed_with_it(found: Path, tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"holds another search \(start.n_timesteps: 2000 there, 3000 here\)"
    ):
        search(dataclasses.replace(SMALL, steps=3000), found, console=console())
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(ConfigError, match="not empty and no search"):
        search(SMALL, tmp_path, console=console())
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


@pytest.mark.slow
def test_a_trial_that_breaks_is_told_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, found: Path
) -> None:
    out = tmp_path / "a2c"
    shutil.copytree(found, out)

    def diverge(*_: Any, **__: Any) -> None:
        raise ValueError("not\na number")

    monkeypatch.setattr("solvent_agents.learning.learned.train", diverge)
    shown = console()
    search(dataclasses.replace(SMALL, trials=3), out, console=shown)
    assert rows(out)[-1]["state"] == "broke"
    assert "trial 2: broke: not a number" in written(shown)
    assert "1 broke" in (out / "best.yml").read_text(encoding="utf-8")


def test_a_search_without_time_leaves_no_recipe(tmp_path: Path) -> None:
    hasty = dataclasses.replace(SMALL, seconds=1e-3)
    with pytest.raises(ConfigError, match="no trial came to its end"):
        search(hasty, tmp_path, console=console())
    assert not (tmp_path / "best.yml").exists()


def trial_among(scores: list[float], tmp_path: Path) -> Any:
    """A trial in a search whose other trials had these scores at each tenth."""
    study = tune._study(SMALL, SMALL.identity(), tmp_path)
    for score in scores:
        other = study.ask()
        for rung in range(1, RUNGS):
            other.report(score, rung)
        study.tell(other, score)
    params: Any = None
    return tune._Trial(study.ask(), SMALL, params, shown=None, deadline=None)  # type: ignore[arg-type]


@pytest.mark.parametrize(("score", "given_up"), [(-5.0, True), (5.0, False)], ids=["behind", "ahead"])
def test_a_trial_that_falls_behind_is_given_up(score: float, given_up: bool, tmp_path: Path) -> None:
    trial = trial_among([0.0, 1.0, 2.0, 3.0], tmp_path)
    for tenth in range(1, 6):
        trial._look(tenth * SMALL.steps // RUNGS, {"return": np.full(4, score)})
    assert trial.rung == 5
    assert trial._stop() == given_up


def test_a_score_is_the_return_less_what_breaks_the_limit() -> None:
    columns = {"return": np.array([1.0, 3.0]), "debt_added": np.array([0.5, 1.5])}
    assert score_of(columns, None) == 2.0
    assert score_of(columns, 1.0) == 2.0
    assert score_of(columns, 0.9) == pytest.approx(1.0)


@pytest.mark.parametrize("algorithm", sorted(SPACES))
def test_whatever_is_drawn_is_a_recipe(algorithm: str) -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    start = {"algorithm": algorithm, **START[algorithm], "n_timesteps": 1000}
    for _ in range(40):
        drawn = drawn_recipe(study.ask(), SPACES[algorithm], start)
        recipe = make_recipe(drawn)
        assert recipe.hyperparameters["gamma"] == 1.0
        if algorithm not in ("A2C", "DQN"):
            assert drawn["n_envs"] * drawn["n_steps"] % drawn["batch_size"] == 0


@pytest.mark.parametrize("name", ["PPO", "MaskablePPO", "A2C", "DQN", "PPOLagrangian"])
def test_a_search_from_a_recipe_begins_with_it(name: str) -> None:
    files = {"PPOLagrangian": "ppo_lagrangian", "MaskablePPO": "maskable_ppo"}
    document = read_document(HYPERPARAMETERS / f"{files.get(name, name.lower())}.yml")
    base = {"algorithm": name, **document.data["Solvent/Debt-v0"]}
    point = starting_point(SPACES[name], base)
    assert point
    others = {
        key: range_.values[0] if isinstance(range_, Choice) else range_.low
        for key, range_ in SPACES[name].items()
    }
    drawn = drawn_recipe(optuna.trial.FixedTrial({**others, **point}), SPACES[name], base)
    for key in point:
        if key not in ("network", "minibatches"):
            assert same(drawn[key], base[key]), key
    if "network" in point:
        assert drawn["policy_kwargs"] == base["policy_kwargs"]
    if "minibatches" in point:
        assert drawn["batch_size"] == base["batch_size"]


def same(drawn: Any, given: Any) -> bool:
    """Equal, also as two ways to write a falling rate."""
    if isinstance(drawn, str) and drawn.startswith("lin_"):
        return float(drawn.removeprefix("lin_")) == float(given.removeprefix("lin_"))
    return bool(drawn == given)


def test_every_recipe_in_configs_is_one_for_a_registered_level() -> None:
    levels = {f"Solvent/{level}-v0" for level in ("Debt", "Energy", "Gate", "Lab", "Tiny")}
    for path in HYPERPARAMETERS.glob("*.yml"):
        document = read_document(path)
        assert levels <= set(document.data), path.name


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("SAC",), "ALGORITHM: no search space for 'SAC'"),
        (("PPO", "--env", "Solvent/Debt-v7"), "unknown environment"),
        (("PPO", "--base", "none.yml"), "none.yml: no such file"),
        (("PPO", "--base", "base.yml"), "no recipe; allowed: an environment that it has: Chess-v0"),
        (("PPO", "--steps", "10"), "--steps"),
    ],
    ids=["algorithm", "env", "no base", "base of another env", "steps"],
)
def test_a_mistake_is_one_line_and_nothing_is_written(
    arguments: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "base.yml").write_text(yaml.safe_dump({"Chess-v0": {"n_timesteps": 1}}))
    call("tune", *arguments, "--out", "out").refused(said)
    assert not (tmp_path / "out").exists()


def test_without_its_package_it_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(ConfigError, match=r"pip install .*\[tune\]"):
        search(SMALL, tmp_path / "out", console=console())


def test_the_study_knows_its_start(tmp_path: Path) -> None:
    study = tune._study(SMALL, SMALL.identity(), tmp_path)
    assert json.loads(study.user_attrs["search"])["start"]["n_timesteps"] == 2000
