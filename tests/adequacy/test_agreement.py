"""Agreement of two raters: against scikit-learn and scipy, and the intervals against simulations with a known truth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from solvent.adequacy.agreement import (
    Estimate,
    agreement,
    binomial_rate,
    confusion,
    kappa_difference,
    kappa_estimate,
    quadratic_kappa,
    spearman_estimate,
)
from solvent.adequacy.errors import AdequacyError

PAIRS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=60)

# A rater who is right 55 % of the time, one off 35 %, two off 10 %: joint law of (truth, rating), uniform truth.
TRUE_MATRIX = np.array(
    [[0.60, 0.30, 0.10, 0.00], [0.15, 0.55, 0.25, 0.05], [0.05, 0.20, 0.60, 0.15], [0.00, 0.10, 0.30, 0.60]]
)
LAW = TRUE_MATRIX / TRUE_MATRIX.sum()


def true_kappa():
    weights = np.subtract.outer(np.arange(4), np.arange(4)) ** 2
    expected = np.outer(LAW.sum(axis=1), LAW.sum(axis=0))
    return float(1 - (weights * LAW).sum() / (weights * expected).sum())


def drawn(n, rng):
    cells = rng.choice(16, size=n, p=LAW.ravel())
    return cells // 4, cells % 4


@given(PAIRS)
def test_kappa_is_that_of_scikit_learn(pairs):
    metrics = pytest.importorskip("sklearn.metrics")
    a, b = map(list, zip(*pairs, strict=True))
    ours = quadratic_kappa(a, b)
    if a == b == [a[0]] * len(a):
        assert math.isnan(ours)
        return
    theirs = metrics.cohen_kappa_score(a, b, weights="quadratic", labels=[0, 1, 2, 3])
    assert ours == pytest.approx(theirs, abs=1e-12)


@given(PAIRS)
def test_kappa_does_not_depend_on_the_order_and_is_symmetric(pairs):
    a, b = map(list, zip(*pairs, strict=True))
    assert quadratic_kappa(a, b) == pytest.approx(quadratic_kappa(b, a), nan_ok=True)
    assert quadratic_kappa(a[::-1], b[::-1]) == pytest.approx(quadratic_kappa(a, b), nan_ok=True)


def test_by_hand():
    a, b = [0, 1, 2, 3], [0, 1, 3, 1]
    assert confusion(a, b).tolist() == [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1], [0, 1, 0, 0]]
    # sum(w O) = 1 + 4 = 5; margins 1 1 1 1 and 1 2 0 1: sum(w E) = 40 / 4 = 10.
    assert quadratic_kappa(a, b) == pytest.approx(1 - 5 / 10)
    assert [(rate.hits, rate.count) for rate in (agreement(a, b).exact, agreement(a, b).within_one)] == [
        (2, 4),
        (3, 4),
    ]
    assert quadratic_kappa([0, 0, 3, 3], [3, 3, 0, 0]) == pytest.approx(-1.0)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=40))
def test_spearman_is_that_of_scipy(pairs):
    x, y = map(list, zip(*pairs, strict=True))
    ours = spearman_estimate(x, y, resamples=1).value
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert math.isnan(ours)
    else:
        assert ours == pytest.approx(float(stats.spearmanr(x, y).statistic), abs=1e-9)


def test_a_rate_has_the_exact_interval():
    rate = binomial_rate(45, 50)
    # Published tables of Clopper-Pearson: 45 of 50 has 0.7819 to 0.9667.
    assert (round(rate.low, 4), round(rate.high, 4)) == (0.7819, 0.9667)
    assert (binomial_rate(0, 10).low, binomial_rate(10, 10).high) == (0.0, 1.0)


def test_the_intervals_are_seeded():
    a, b = drawn(80, np.random.default_rng(3))
    assert kappa_estimate(a, b) == kappa_estimate(a, b)
    assert kappa_estimate(a, b) != kappa_estimate(a, b, seed=1)
    assert spearman_estimate(a, b) == spearman_estimate(a, b)


def test_drawing_cells_is_drawing_pairs():
    a, b = drawn(100, np.random.default_rng(5))
    rng = np.random.default_rng(6)
    slow = [quadratic_kappa(a[rows], b[rows]) for rows in rng.integers(100, size=(4000, 100))]
    fast = kappa_estimate(a, b, resamples=20_000)
    assert [fast.low, fast.high] == pytest.approx(np.quantile(slow, [0.025, 0.975]), abs=0.02)


@pytest.mark.parametrize("n", [50, 200])
def test_the_interval_of_kappa_covers_the_truth(n):
    rng = np.random.default_rng(n)
    truth = true_kappa()
    found = [kappa_estimate(*drawn(n, rng), resamples=500) for _ in range(400)]
    covered = sum(one.low <= truth <= one.high for one in found)
    # 95 % of 400 is 380; 92 % and below would be 2.7 standard errors off.
    assert covered > 0.92 * 400


def test_the_difference_of_two_raters_covers_the_truth_and_sees_a_real_one():
    rng = np.random.default_rng(8)
    covered = better = 0
    for _ in range(200):
        truth = rng.integers(4, size=120)
        good = np.array([rng.choice(4, p=TRUE_MATRIX[t]) for t in truth])
        same = np.array([rng.choice(4, p=TRUE_MATRIX[t]) for t in truth])
        equal = kappa_difference(good, same, truth, resamples=300)
        covered += equal.low <= 0.0 <= equal.high
        better += kappa_difference(good, rng.integers(4, size=120), truth, resamples=300).low > 0
    assert covered > 0.9 * 200
    assert better > 0.95 * 200
    assert kappa_difference(good, good, truth).value == 0.0


def test_the_difference_is_that_of_the_two_kappas():
    rng = np.random.default_rng(9)
    a, b, t = rng.integers(4, size=(3, 60))
    expected = quadratic_kappa(a, t) - quadratic_kappa(b, t)
    assert kappa_difference(a, b, t).value == pytest.approx(expected)


def test_everything_at_once():
    a, b = drawn(60, np.random.default_rng(2))
    all_of_it = agreement(a, b)
    assert all_of_it.count == 60 == sum(map(sum, all_of_it.matrix))
    assert all_of_it.kappa == kappa_estimate(a, b)
    assert all_of_it.exact.hits == sum(all_of_it.matrix[i][i] for i in range(4))
    assert all_of_it.within_one.hits > all_of_it.exact.hits
    fields = all_of_it.to_dict()
    assert fields["kappa"]["low"] < fields["kappa"]["value"] < fields["kappa"]["high"]
    assert str(all_of_it.exact).startswith("0.")
    assert str(Estimate(0.756, -0.001, 0.9)) == "0.76 [0.00, 0.90]"
    assert str(Estimate(0.756, math.nan, math.nan)) == "0.76, no interval"


def test_where_nothing_was_told_apart_there_is_no_number():
    one = agreement([2, 2, 2], [2, 2, 2])
    assert math.isnan(one.kappa.value)
    assert math.isnan(one.rho.low)
    assert one.exact.share == 1.0
    assert one.to_dict()["kappa"] == {"value": None, "low": None, "high": None}
    assert str(one.kappa) == "undefined"
    # One rater constant, the other not: no better than chance, and that is a number.
    assert quadratic_kappa([2, 2, 2], [1, 2, 3]) == 0.0
    assert math.isnan(spearman_estimate([2, 2, 2], [1, 2, 3]).value)


def test_an_interval_that_hangs_on_one_response_is_not_given():
    # Without the one pair that differs, a third of the resamples tells nothing apart.
    kappa = kappa_estimate([1] * 9 + [2], [1] * 9 + [2])
    assert kappa.value == 1.0
    assert math.isnan(kappa.low)


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        ([1], [1], "ratings: got 1 and 1; allowed: as many of each, 2 or more"),
        ([], [], "ratings: got 0 and 0"),
        ([1, 2], [1, 2, 3], "ratings: got 2 and 3"),
        ([1, 4], [1, 2], "a: got the class 4; allowed: 0 to 3"),
        ([1, 2], [1, -1], "b: got the class -1"),
        ([1, 2], [1, 1.5], "b: got the class 1.5"),
        ([1, 2], [1, math.nan], "b: got the class nan"),
        (["1", "2"], [1, 2], "a: got ['1', '2']"),
        ([1, None], [1, 2], "a: got [1, None]"),
    ],
    ids=["one", "none", "lengths", "above", "below", "between", "nan", "text", "missing"],
)
def test_bad_ratings_are_refused(a, b, said):
    for measure in (quadratic_kappa, agreement):
        with pytest.raises(AdequacyError) as refused:
            measure(a, b)
        assert said in str(refused.value)


def test_bad_features_and_rates_are_refused():
    with pytest.raises(AdequacyError, match="features: got shapes"):
        spearman_estimate([1, 2, 3], [1, 2])
    with pytest.raises(AdequacyError, match="not finite"):
        spearman_estimate([1.0, math.inf], [1.0, 2.0])
    with pytest.raises(AdequacyError, match="rate: got 3 of 2"):
        binomial_rate(3, 2)
    with pytest.raises(AdequacyError, match="rate: got 0 of 0"):
        binomial_rate(0, 0)
