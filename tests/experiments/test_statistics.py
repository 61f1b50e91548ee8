"""Statistics against SciPy, against numbers computed by hand, and against their own definition."""

from __future__ import annotations

import numpy as np
import pytest

from solvent_experiments.statistics import (
    difference,
    interquartile_mean,
    interval,
    ratio,
    share_difference,
    share_interval,
)

RNG = np.random.default_rng(0)
GROUPS = [RNG.normal(10.0, 2.0, 300), RNG.normal(11.0, 2.0, 300), RNG.normal(9.0, 2.0, 300)]


@pytest.mark.parametrize(
    ("scores", "expected"),
    [([5.0], 5.0), ([1, 2, 3, 100], 2.5), ([0, 1, 2, 3, 4, 5, 6, 1000], 3.5), ([1, 2, 6], 3.0)],
)
def test_interquartile_mean_by_hand(scores: list[float], expected: float) -> None:
    assert interquartile_mean(scores) == expected


def test_no_scores_are_an_error() -> None:
    with pytest.raises(ValueError, match="at least one"):
        interquartile_mean([])


def test_resamples_are_those_of_the_definition() -> None:
    """The counted resamples are distributed as those drawn one by one: groups, then scores within each."""
    rng, drawn = np.random.default_rng(1), []
    for _ in range(2000):
        chosen = [GROUPS[i] for i in rng.integers(0, len(GROUPS), len(GROUPS))]
        drawn.append(interquartile_mean(np.concatenate([rng.choice(g, len(g)) for g in chosen])))
    low, high = np.percentile(drawn, (2.5, 97.5))
    found = interval(GROUPS)
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.15)


def test_paired_difference_leaves_the_luck_of_labs_out() -> None:
    rng = np.random.default_rng(0)
    labs, hits, widths = rng.normal(10.0, 5.0, 400), 0, []
    for _ in range(50):
        mine, other = labs + rng.normal(1.0, 0.5, 400), labs + rng.normal(0.0, 0.5, 400)
        found = difference([other], [mine], paired=True)
        hits += found.low <= 1.0 <= found.high
        widths.append(found.high - found.low)
    assert 42 <= hits <= 50
    assert np.mean(widths) == pytest.approx(2 * 1.96 * np.sqrt(0.5 / 400), rel=0.1)
    assert difference([labs], [labs], paired=True) == (0.0, 0.0, 0.0)
    assert ratio([labs], [labs]) == (1.0, 1.0, 1.0)
    with pytest.raises(ValueError, match="the same episodes in each"):
        difference([labs], [labs, labs[:3]], paired=True)


def test_difference_and_ratio_of_shifted_groups() -> None:
    shifted = [group + 1.0 for group in GROUPS]
    for middle in (False, True):
        found = difference(GROUPS, shifted, middle=middle)
        assert found.value == pytest.approx(1.0)
        assert found.low < 1.0 < found.high
    assert ratio([group * 2 for group in GROUPS], GROUPS).value == pytest.approx(2.0)


def test_share_is_the_sum_of_parts_over_wholes() -> None:
    parts, wholes = [np.array([1, 0, 2]), np.array([1, 1])], [np.array([2, 2, 4]), np.array([1, 1])]
    found = share_interval(parts, wholes)
    assert found.value == 0.5
    assert 0.0 <= found.low <= 0.5 <= found.high <= 1.0
    assert np.isnan(share_interval([np.zeros(3)], [np.zeros(3)]).value)


def test_paired_shares_of_equal_groups_differ_by_nothing_on_average() -> None:
    rng = np.random.default_rng(2)
    wholes = [rng.integers(1, 5, 200) for _ in range(5)]
    parts = [rng.binomial(whole, p) for whole, p in zip(wholes, (0.1, 0.3, 0.5, 0.7, 0.9), strict=True)]
    more = [
        np.minimum(part + (rng.random(200) < 0.2), whole) for part, whole in zip(parts, wholes, strict=True)
    ]
    same = share_difference((parts, wholes), (parts, wholes), paired=True)
    assert same.value == 0.0
    paired = share_difference((parts, wholes), (more, wholes), paired=True)
    apart = share_difference((parts, wholes), (more, wholes), paired=False)
    assert paired.value == pytest.approx(apart.value)
    assert paired.high - paired.low < 0.5 * (apart.high - apart.low)
