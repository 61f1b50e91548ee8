"""The work of a run by hand: what counts as done, and the time that is left at the measured paces."""

from __future__ import annotations

from pathlib import Path

import pytest

from solvent_experiments.config import Evaluation, Experiment
from solvent_experiments.folder import RunFolder, Unit
from solvent_experiments.workload import Message, Stage, end, overall, share_done, stages_of, time_left

JOBS = 2


def learner(seeds: int) -> tuple[list[Unit], dict[tuple[str, str], Stage]]:
    """An agent to train with some seeds for 100,000 steps, and an episode of evaluation for each."""
    recipe = {"algorithm": "PPO", "n_timesteps": 100_000, "n_envs": 2}
    few = Evaluation(episodes=1)
    experiment = Experiment(name="x", train={"p": recipe}, seeds=list(range(seeds)), evaluation=few)
    units = RunFolder(Path("x")).units(experiment)
    return units, stages_of(experiment, units)


def train(stages: dict[tuple[str, str], Stage], seed: int, done: int, pace: float = 1e-3) -> None:
    """Report a training that took 70 s for its first 1,000 steps, and then ``pace`` seconds per step."""
    for steps, seconds in ((0, 1.0), (1_000, 70.0), (done, 70.0 + pace * (done - 1_000))):
        stages[f"p seed {seed}", "training"].report(Message("", "", steps, 100_000, seconds))


def test_the_time_left_is_that_of_all_units_at_the_measured_pace() -> None:
    _, stages = learner(seeds=3)
    train(stages, 0, 50_000)
    train(stages, 1, 50_000)
    # 50 s of each of the first two, and 100 s of the third, on two cores.
    assert time_left(stages.values(), JOBS) == pytest.approx(100.0, abs=1.0)


def test_one_unit_takes_its_time_however_many_cores_are_free() -> None:
    _, stages = learner(seeds=1)
    train(stages, 0, 50_000)
    assert time_left(stages.values(), 16) == pytest.approx(50.0, abs=1.0)


def test_the_share_of_the_work_does_not_fall_when_a_pace_is_measured() -> None:
    _, stages = learner(seeds=2)
    train(stages, 0, 50_000, pace=1.0)
    assert share_done(stages.values()) == pytest.approx(1 / 4, abs=0.01)


def test_a_trained_seed_counts_before_it_is_evaluated() -> None:
    _, stages = learner(seeds=3)
    train(stages, 0, 100_000)
    assert overall(stages.values(), JOBS)[1].startswith("1 of 6 trainings and evaluations, 33% of the work")


def test_nothing_is_left_when_all_units_have_ended() -> None:
    units, stages = learner(seeds=3)
    for unit in units:
        end(stages.values(), unit)
    assert overall(stages.values(), JOBS) == (
        1.0,
        "6 of 6 trainings and evaluations, 100% of the work, about 0:00:00 left",
    )


def test_a_trained_unit_has_only_its_evaluation_left(tmp_path: Path) -> None:
    unit = RunFolder(tmp_path).unit("p", 0)
    unit.folder.mkdir(parents=True)
    unit.model.touch()
    unit.training.touch()
    (unit.folder / "policy.json").write_text('{"recipe": {"n_timesteps": 1000}}')
    experiment = Experiment(name="x", train={"p": {"algorithm": "PPO", "n_timesteps": 1_000}})
    assert [name for _, name in stages_of(experiment, [unit])] == ["evaluation"]


def doubled() -> tuple[list[Unit], dict[tuple[str, str], Stage]]:
    """A training of 100,000 steps that continues after as many, halfway."""
    units, stages = learner(seeds=1)
    for steps, seconds in ((100_000, 0.0), (110_000, 70.0), (150_000, 110.0)):
        stages["p seed 0", "training"].report(Message("", "", steps, 200_000, seconds))
    return units, stages


def test_a_training_that_continues_has_only_the_added_steps_to_do() -> None:
    _, stages = doubled()
    assert share_done(stages.values()) == pytest.approx(1 / 2, abs=0.01)
    assert time_left(stages.values(), 1) == pytest.approx(50.0, abs=1.0)


def test_nothing_is_left_of_a_training_that_continued_and_ended() -> None:
    (unit,), stages = doubled()
    end(stages.values(), unit)
    assert time_left(stages.values(), 1) == 0.0
