"""Statistics against numbers computed by hand, and against their own definition."""

from __future__ import annotations

import numpy as np
import pytest

from solvent_experiments.statistics import (
    NOTHING,
    Interval,
    Sample,
    difference,
    interquartile_mean,
    mean_interval,
    paired_share_difference,
    ratio,
    share_above,
    share_difference,
    share_interval,
)

RNG = np.random.default_rng(0)
SEEDS = Sample([RNG.normal(mean, 2.0, 300) for mean in (10.0, 11.0, 9.0)], trained=True)


def script(*numbers: float) -> Sample:
    return Sample([np.array(numbers)])


def learner(*groups: list[float]) -> Sample:
    return Sample([np.array(group) for group in groups], trained=True)


def test_the_mean_is_over_all_episodes_of_all_seeds() -> None:
    assert mean_interval(learner([1.0, 2.0], [3.0, 4.0, 10.0])).value == 4.0


def test_resamples_are_those_of_the_definition() -> None:
    """The counted resamples are distributed as those drawn one by one: groups, then episodes within each."""
    rng, drawn = np.random.default_rng(1), []
    for _ in range(2000):
        groups = [SEEDS.groups[i] for i in rng.integers(0, 3, 3)]
        drawn.append(np.mean(np.concatenate([rng.choice(group, len(group)) for group in groups])))
    number = mean_interval(SEEDS)
    assert (number.low, number.high) == pytest.approx(np.percentile(drawn, (2.5, 97.5)), abs=0.1)


def test_a_learner_of_one_seed_has_no_interval() -> None:
    number = mean_interval(learner([1.0, 2.0, 3.0]))
    assert (number.value, number.known) == (2.0, False)
    assert mean_interval(script(1.0, 2.0, 3.0)).known


def test_a_difference_to_a_learner_of_one_seed_has_no_interval() -> None:
    one, honest = learner([1.0, 2.0, 4.0]), script(1.0, 1.0, 1.0)
    for number in (difference(honest, one, paired=True), difference(one, honest), ratio(one, honest)):
        assert not number.known


def test_the_interquartile_mean_is_over_runs() -> None:
    runs = learner([0.0, 2.0], [2.0], [3.0], [4.0], [100.0])  # of the means, one is cut at either end
    assert interquartile_mean(runs).value == 3.0


def test_fewer_than_five_runs_and_scripts_have_no_interquartile_mean() -> None:
    assert interquartile_mean(learner([1.0], [2.0], [3.0], [4.0])) is NOTHING
    assert interquartile_mean(script(1.0, 2.0, 3.0, 4.0, 5.0)) is NOTHING


def test_a_tie_is_not_higher() -> None:
    assert share_above(script(1.0, 2.0, 3.0, 4.0), script(1.0, 1.0, 3.0, 5.0)) == 0.25


def test_shares_above_compare_every_seed_with_every_other() -> None:
    assert share_above(learner([1.0, 1.0], [0.0, 2.0]), script(0.5, 1.5)) == 0.5


def test_a_paired_difference_leaves_the_luck_of_labs_out() -> None:
    rng = np.random.default_rng(0)
    labs, hits, widths = rng.normal(10.0, 5.0, 400), 0, []
    for _ in range(50):
        first, second = script(*labs + rng.normal(0.0, 0.5, 400)), script(*labs + rng.normal(1.0, 0.5, 400))
        number = difference(first, second, paired=True)
        hits += number.low <= 1.0 <= number.high
        widths.append(number.high - number.low)
    assert 42 <= hits <= 50  # of 95 %, four deviations
    assert np.mean(widths) == pytest.approx(2 * 1.96 * np.sqrt(0.5 / 400), rel=0.1)


def test_an_unpaired_difference_of_equal_scripts_is_as_wide_as_the_luck_of_both() -> None:
    same = script(*RNG.normal(10.0, 5.0, 400))
    number = difference(same, same)
    assert number.high - number.low == pytest.approx(2 * 1.96 * 5.0 * np.sqrt(2 / 400), rel=0.1)
    assert difference(same, same, paired=True) == Interval(0.0, 0.0, 0.0)


def test_pairs_have_the_same_episodes() -> None:
    with pytest.raises(ValueError, match="the same episodes in each"):
        difference(script(1.0, 2.0), learner([1.0, 2.0], [1.0]), paired=True)


def test_a_difference_is_of_the_second_to_the_first() -> None:
    shifted = Sample([group + 1.0 for group in SEEDS.groups], trained=True)
    number = difference(SEEDS, shifted)
    assert number.value == pytest.approx(1.0)
    assert number.low < 1.0 < number.high


def test_a_ratio_is_of_means() -> None:
    assert ratio(script(1.0, 5.0), script(2.0, 2.0)).value == 1.5


def test_a_ratio_to_what_is_not_above_0_is_nothing() -> None:
    for second in (script(1.0, -1.0), script(-1.0, -2.0), script(0.0, 0.0)):
        assert np.isnan(ratio(script(1.0, 2.0), second)).all()


def test_a_ratio_leaves_resamples_out_that_are_not_above_0() -> None:
    number = ratio(script(1.0, 1.0, 1.0, 1.0), script(3.0, -1.0, 0.5, -1.0))
    assert number.value == pytest.approx(4 / 1.5)
    assert 0.0 < number.low < number.value < number.high < np.inf


def test_a_share_is_the_sum_of_parts_over_wholes() -> None:
    number = share_interval(learner([1, 0, 2], [1, 1]), learner([2, 2, 4], [1, 1]))
    assert number.value == 0.5
    assert 0.0 <= number.low <= 0.5 <= number.high <= 1.0


def test_a_share_of_nothing_is_nothing() -> None:
    assert np.isnan(share_interval(script(0, 0), script(0, 0)).value)


def test_paired_shares_of_equal_seeds_differ_by_less_than_unpaired_ones() -> None:
    rng = np.random.default_rng(2)
    wholes = [rng.integers(1, 5, 200) for _ in range(5)]
    parts = [rng.binomial(complete, p) for complete, p in zip(wholes, (0.1, 0.3, 0.5, 0.7, 0.9), strict=True)]
    more = [
        np.minimum(part + (rng.random(200) < 0.2), complete)
        for part, complete in zip(parts, wholes, strict=True)
    ]
    first, second = ((Sample(each, True), Sample(wholes, True)) for each in (parts, more))
    assert paired_share_difference(first, first).value == 0.0
    paired, apart = paired_share_difference(first, second), share_difference(first, second)
    assert paired.value == pytest.approx(apart.value)
    assert paired.high - paired.low < 0.5 * (apart.high - apart.low)


def test_numbers_without_an_interval_are_null_in_json() -> None:
    number = Interval(1.5, np.nan, np.nan)
    assert number.to_json() == {"value": 1.5, "low": None, "high": None}
    assert Interval.from_json(number.to_json()).value == 1.5
