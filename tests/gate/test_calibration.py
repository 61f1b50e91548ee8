"""Thresholds: percentiles, budgets with their exact bound, and shares that are held out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from solvent.gate.calibration import (
    control_threshold,
    fewest_negatives,
    measured,
    oracle_policy,
    percentile_thresholds,
    summary,
    upper_bound,
)  # fmt: skip
from solvent.gate.energy import GateError
from tests.gate.conftest import rows_of

ABOUT = {"domain": "mills", "model": "mini", "model_fingerprint": "0" * 64}


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=60), st.floats(0.1, 100))
def test_a_threshold_is_a_value_that_accepts_its_share(values, percentile):
    (tau,) = percentile_thresholds(values, [percentile]).values()
    x = np.round(values, 6)
    assert tau in x + 0.0
    assert (x <= tau).sum() >= percentile * len(x) / 100.0 - 1e-6


def test_59_negatives_are_the_fewest_for_five_percent():
    assert fewest_negatives(0.05) == 59
    assert upper_bound(0, 59) <= 0.05 < upper_bound(0, 58)


@pytest.mark.parametrize(
    "refused",
    [
        lambda: control_threshold(np.arange(58) / 100.0, 0.05),
        lambda: fewest_negatives(1.0),
        lambda: percentile_thresholds([]),
        lambda: percentile_thresholds([np.nan]),
        lambda: percentile_thresholds([0.1], [0.0]),
        lambda: oracle_policy([0.1, 0.2], 0.0, **ABOUT),
        lambda: oracle_policy([0.1], 2.0, **ABOUT),
    ],
)
def test_samples_that_teach_nothing_are_refused(refused):
    with pytest.raises(GateError):
        refused()


@given(st.integers(0, 30), st.integers(31, 300))
def test_the_bound_is_the_exact_binomial_one(m, n):
    assert binom.cdf(m, n, upper_bound(m, n)) == pytest.approx(0.05, abs=1e-9)


def test_a_budget_is_kept_on_new_negatives_of_the_kind():
    """Over many samples at most 5 % of the thresholds let more than the budget pass."""
    rng, broken = np.random.default_rng(0), 0
    for _ in range(400):
        broken += control_threshold(rng.random(200), 0.1) > 0.1
    assert broken <= 400 * 0.05 + 12


def test_held_out_shares_vary_around_the_percentile():
    rows = rows_of(np.random.default_rng(0).random(200))
    row = summary(rows)["P10"]
    mean, low, high = row["held_out"]
    assert low < 0.10 < high
    assert mean == pytest.approx(0.10, abs=0.03)
    assert row["verdicts"]["accept"] == 20
    assert row["random"] == 0.0


def test_claims_are_measured_with_own_and_other_evidence(words, dataset):
    rows = measured(dataset, words)
    assert [row.sample for row in rows] == dataset
    pairs = [(row.energy_gap, row.random_gap) for row in rows if row.sample.label == "supported"]
    own, random = np.mean(pairs, axis=0)
    assert own < random - 0.3
