"""Studies as data: every one is found, its arms and plays are labs and recipes, and equal arms are shared."""

from __future__ import annotations

import numpy as np
import pytest

from solvent import preset
from solvent_experiments.config.documents import ConfigError
from solvent_experiments.config.experiment import make_recipe
from solvent_experiments.measure.statistics import Interval
from solvent_experiments.studies import predictions
from solvent_experiments.studies.arms import CONTAMINATED, ENFORCED
from solvent_experiments.studies.records import RECORDS, longest_runs
from solvent_experiments.studies.registry import ORDER, all_studies, arms_of, owner_of, studies_named
from solvent_experiments.studies.study import Budget
from solvent_experiments.studies.verdicts import Finding, verdict_on

NAMES = tuple(all_studies())


def test_every_study_is_found_in_order() -> None:
    assert NAMES[: len(ORDER)] == ORDER
    assert list(studies_named(["transfer", "blocked"])) == ["transfer", "blocked"]
    assert studies_named([]) == all_studies()


def test_an_unknown_study_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match="unknown study 'predictoins'; did you mean 'predictions'"):
        studies_named(["predictoins"])


@pytest.mark.parametrize("name", ORDER)
def test_arms_are_labs_and_recipes_and_every_one_has_an_owner(name: str) -> None:
    study = all_studies()[name]
    arms = arms_of(study)
    assert len({arm.name for arm in arms}) == len(arms), "two folders of one name"
    for arm in arms:
        experiment = arm.experiment(name, Budget())
        assert experiment.params == arm.lab
        assert len(experiment.seeds) == arm.seeds
        assert not set(experiment.seeds) & set(experiment.evaluation.seeds)
        owner, kept = owner_of(arm)
        assert kept.lab == arm.lab
        assert owner in ORDER


@pytest.mark.parametrize("name", ORDER)
def test_plays_are_labs_with_someone_in_them(name: str) -> None:
    plays = all_studies()[name].PLAYS
    assert len({play.name for play in plays}) == len(plays)
    for play in plays:
        assert play.lab
        assert bool(play.script) != (play.arm is not None)
        assert play.record in RECORDS
        assert bool(play.settings) <= bool(play.script)


def test_the_same_training_is_kept_once() -> None:
    shared = [
        arm
        for study in all_studies().values()
        for arm in arms_of(study)
        if arm.essence() == ENFORCED.essence()
    ]
    assert len(shared) >= 5, "of most studies"
    assert {owner_of(arm)[0] for arm in shared} == {"predictions"}
    assert owner_of(CONTAMINATED)[0] == "predictions"


def test_a_smoke_budget_is_small_and_still_a_recipe() -> None:
    for study in all_studies().values():
        for arm in arms_of(study):
            recipe = make_recipe(arm.recipe(Budget.smoke()))
            assert recipe.n_timesteps <= 2000
            assert arm.recipe(Budget()) == dict(arm.train), "a budget changes no arm"


@pytest.mark.parametrize(
    ("low", "value", "high", "expected", "verdict", "size"),
    [
        (0.2, 0.3, 0.4, 1, "confirmed", ""),
        (0.2, 0.3, 0.4, -1, "refuted", ""),
        (-0.4, -0.3, -0.2, -1, "confirmed", ""),
        (-0.1, 0.1, 0.3, 1, "not shown", "unclear"),
        (0.01, 0.05, 0.2, 1, "confirmed", "small"),
        (0.01, 0.05, 0.09, 1, "confirmed", "small"),
        (-0.05, 0.0, 0.05, 1, "not shown", "null"),
        (0.2, 0.3, 0.4, 0, "", ""),
        (np.nan, np.nan, np.nan, 1, "not shown", "nothing to measure"),
    ],
    ids=[
        "above",
        "opposite",
        "below",
        "straddles",
        "small",
        "small throughout",
        "null",
        "no claim",
        "nothing",
    ],
)
def test_verdicts_by_intervals(
    low: float, value: float, high: float, expected: int, verdict: str, size: str
) -> None:
    finding = Finding("x", Interval(value, low, high), "bits", expected, 0.1)
    assert finding.verdict == verdict
    assert finding.size == size


@pytest.mark.parametrize(
    ("signs", "verdict"),
    [((1, 1), "confirmed"), ((1, -1), "refuted"), ((1, 0), "not shown"), ((), "not shown")],
    ids=["all", "one against", "one unclear", "none"],
)
def test_a_claim_of_several_parts(signs: tuple[int, ...], verdict: str) -> None:
    findings = [Finding("x", Interval(s, s - 0.5, s + 0.5), "bits", 1) for s in signs]
    unasked = Finding("y", Interval(-3.0, -4.0, -2.0), "bits")
    assert verdict_on([*findings, unasked]) == verdict


def test_longest_runs_by_hand() -> None:
    marked = np.array([[0, 1, 1, 0, 1], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1], [1, 0, 1, 0, 1]], np.bool_)
    assert longest_runs(marked).tolist() == [2, 0, 5, 1]


def test_out_of_wells_by_the_rules_in_force() -> None:
    """A screen is 8 wells; enforced, the 8 of a calibration are kept back, and debt makes both dearer."""
    enforced = preset("default")
    tracked = predictions.ALONE.lab
    assert predictions.out_of_wells(enforced, [15, 16, 16, 19, 20], [0, 0, 1, 1, 1]).tolist() == [
        True,
        False,
        True,
        True,
        False,
    ]
    assert predictions.out_of_wells(tracked, [7, 8, 8], [0, 0, 5]).tolist() == [True, False, False]
