"""Statistics against SciPy, against numbers that can be computed by hand, and against their own definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from solvent_experiments.measure.statistics import (
    Bootstrap,
    difference,
    improvement_interval,
    interquartile_mean,
    interval,
    mean_interval,
    performance_profile,
    probability_of_improvement,
    profile_band,
    share_difference,
    share_interval,
    stratified_bootstrap,
)

SCORES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60)


@given(SCORES)
def test_interquartile_mean_is_scipys_trimmed_mean(scores: list[float]) -> None:
    expected = scipy.stats.trim_mean(scores, 0.25)
    assert interquartile_mean(scores) == pytest.approx(expected, rel=1e-9, abs=1e-6)


@pytest.mark.parametrize(
    ("scores", "expected"),
    [([5.0], 5.0), ([1, 2, 3, 100], 2.5), ([0, 1, 2, 3, 4, 5, 6, 1000], 3.5), ([1, 2, 6], 3.0)],
)
def test_interquartile_mean_by_hand(scores: list[float], expected: float) -> None:
    assert interquartile_mean(scores) == expected


def test_interquartile_mean_along_an_axis() -> None:
    scores = np.random.default_rng(0).normal(size=(9, 4))
    expected = scipy.stats.trim_mean(scores, 0.25, axis=0)
    np.testing.assert_allclose(interquartile_mean(scores, axis=0), expected)


def test_no_scores_are_an_error() -> None:
    with pytest.raises(ValueError, match="at least one"):
        interquartile_mean([])
    with pytest.raises(ValueError, match="none empty"):
        interval([[1.0], []])
    with pytest.raises(ValueError, match="at least one group"):
        interval([])


def test_the_interval_of_one_group_is_the_stratified_bootstrap_of_one_task() -> None:
    """Counting how often each score is drawn gives what drawing and trimming gives."""
    scores = np.random.default_rng(1).gamma(2.0, size=60)
    counted = interval([scores], bootstrap=Bootstrap(4000))
    drawn = stratified_bootstrap(scores, bootstrap=Bootstrap(4000))
    assert counted == pytest.approx(drawn, abs=1e-12)  # the same generator, drawn in the same order


def test_an_interval_is_that_of_scipy() -> None:
    scores = np.random.default_rng(2).normal(3.0, 2.0, size=200)
    theirs = scipy.stats.bootstrap(
        (scores,),
        lambda sample, axis: scipy.stats.trim_mean(sample, 0.25, axis=axis),
        n_resamples=4000,
        method="percentile",
        rng=np.random.default_rng(3),
    ).confidence_interval
    ours = interval([scores], bootstrap=Bootstrap(4000))
    assert (ours.low, ours.high) == pytest.approx(theirs, abs=0.03)
    assert ours.low < ours.value < ours.high


def test_seeds_that_disagree_widen_the_interval() -> None:
    rng = np.random.default_rng(4)
    noise = [rng.normal(size=300) for _ in range(3)]
    agreeing = interval(noise)
    disagreeing = interval([scores + shift for scores, shift in zip(noise, (-3, 0, 3), strict=True)])
    assert disagreeing.high - disagreeing.low > 5 * (agreeing.high - agreeing.low)
    # All draws of three groups, by their means: the lowest is three times the lowest group.
    assert -3.5 < disagreeing.low < -1.5


def test_groups_of_different_sizes() -> None:
    found = interval([np.zeros(10), np.ones(990)])
    assert found.value == 1.0
    assert 0.0 <= found.low <= found.high == 1.0


def test_constant_scores_have_no_width() -> None:
    assert interval([np.full(20, 2.5)] * 3) == (2.5, 2.5, 2.5)
    assert mean_interval([np.full(20, 2.5)]) == (2.5, 2.5, 2.5)


def test_the_interval_of_a_mean_is_the_textbooks() -> None:
    scores = np.random.default_rng(5).normal(size=400)
    found = mean_interval([scores], bootstrap=Bootstrap(4000))
    half = 1.96 * scores.std() / np.sqrt(400)
    assert found.value == scores.mean()
    assert (found.low, found.high) == pytest.approx((found.value - half, found.value + half), abs=0.02)


def test_an_interval_covers_as_often_as_it_says() -> None:
    rng = np.random.default_rng(6)
    covered = [
        (found := interval([rng.normal(size=80)], bootstrap=Bootstrap(400, seed=i))).low <= 0.0 <= found.high
        for i in range(300)
    ]
    assert 0.90 <= np.mean(covered) <= 0.99


def test_strata_are_drawn_within_tasks() -> None:
    """Two tasks without spread: whatever is drawn, the mean over both stays."""
    scores = np.column_stack([np.zeros(5), np.full(5, 10.0)])
    found = stratified_bootstrap(scores, lambda matrix: float(matrix.mean()), bootstrap=Bootstrap(50))
    assert found == (5.0, 5.0, 5.0)


def test_performance_profile_by_hand() -> None:
    assert performance_profile([1, 2, 3, 4], [0, 1, 2.5, 4]).tolist() == [1.0, 0.75, 0.5, 0.0]


@given(SCORES, SCORES)
def test_probability_of_improvement_is_mann_whitneys(first: list[float], second: list[float]) -> None:
    statistic = scipy.stats.mannwhitneyu(first, second).statistic if len({*first, *second}) > 1 else None
    found = probability_of_improvement(first, second)
    if statistic is not None:
        assert found == pytest.approx(statistic / (len(first) * len(second)))
    assert found + probability_of_improvement(second, first) == pytest.approx(1.0)


def test_probability_of_improvement_is_the_mean_over_tasks() -> None:
    first, second = [[1.0, 0.0], [1.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]
    assert probability_of_improvement(first, second) == 0.75


# -- differences of shares -----------------------------------------------------------------------


def shares(seeds: int, level: float, *, wobble: float = 0.0, of: int = 40) -> tuple[list[Any], list[Any]]:
    """Parts and wholes of ``seeds`` training seeds, whose shares lie ``wobble`` apart."""
    rng = np.random.default_rng(3)
    wholes = [np.full(of, 5) for _ in range(seeds)]
    parts = [rng.binomial(5, level + wobble * (seed - (seeds - 1) / 2), of) for seed in range(seeds)]
    return parts, wholes


def test_a_difference_of_shares_is_the_difference_with_an_interval() -> None:
    first, second = shares(4, 0.2), shares(4, 0.5)
    for paired in (True, False):
        found = share_difference(first, second, paired=paired)
        expected = np.sum(second[0]) / np.sum(second[1]) - np.sum(first[0]) / np.sum(first[1])
        assert found.value == pytest.approx(expected)
        assert found.low < expected < found.high
        assert found.low > 0.2


def test_seeds_that_differ_alike_in_both_differ_in_nothing_when_paired() -> None:
    parts, wholes = shares(6, 0.5, wobble=0.15, of=400)
    moved = [part + 1 for part in parts], [whole + 1 for whole in wholes]
    paired = share_difference((parts, wholes), moved, paired=True)
    alone = share_difference((parts, wholes), moved, paired=False)
    assert paired.high - paired.low < 0.4 * (alone.high - alone.low)


def test_nothing_to_have_a_share_of_has_no_difference() -> None:
    none = [np.zeros(3)], [np.zeros(3)]
    for paired in (True, False):
        assert np.isnan(share_difference(none, shares(1, 0.5), paired=paired).value)
    assert np.isnan(share_interval(*none).value)


def test_a_difference_of_means_and_of_interquartile_means() -> None:
    first, second = [[0.0, 1.0, 2.0, 100.0]] * 3, [[1.0, 2.0, 3.0, 4.0]] * 3
    assert difference(first, second).value == pytest.approx(2.5 - 25.75)
    assert difference(first, second, middle=True).value == pytest.approx(2.5 - 1.5)
    same = difference(first, first)
    assert same.value == 0
    assert same.low < 0 < same.high, "arms are drawn each for itself"


def test_a_difference_covers_what_it_should() -> None:
    """95 % of the intervals of normal samples hold the true difference, as nearly as 200 of them can tell."""
    rng = np.random.default_rng(0)
    inside = 0
    for i in range(200):
        first, second = ([rng.normal(mean, 1.0, 60)] for mean in (0.0, 0.5))
        found = difference(first, second, bootstrap=Bootstrap(300, seed=i))
        inside += found.low <= 0.5 <= found.high
    assert 0.88 <= inside / 200 <= 0.99


def test_the_interval_of_a_probability_of_improvement() -> None:
    certain = improvement_interval([3.0, 4.0, 5.0], [0.0, 1.0, 2.0])
    assert certain == (1.0, 1.0, 1.0)
    even = improvement_interval([1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0])
    assert even.value == 0.5
    assert even.low < 0.5 < even.high
    first, second = np.array([[1.0, 9.0], [2.0, 8.0]]), np.array([[0.0, 9.5], [1.5, 8.5]])
    assert improvement_interval(first, second).value == probability_of_improvement(first, second) == 0.5


def test_the_band_of_a_profile_by_hand() -> None:
    """Two seeds, all above and none above: drawn anew, the share is 0, a half or 1."""
    share, low, high = profile_band([[2.0, 2.0], [0.0, 0.0]], [1.0])
    assert (share.tolist(), low.tolist(), high.tolist()) == ([0.5], [0.0], [1.0])
    share, low, high = profile_band([[0.0, 1.0, 2.0, 3.0]], [0.5, 2.5])
    assert share.tolist() == low.tolist() == high.tolist() == [0.75, 0.25]
    uneven, _, _ = profile_band([[2.0], [0.0, 0.0, 0.0]], [1.0])
    assert uneven.tolist() == [0.25], "scores count, not seeds"
