"""Thresholds: the document's procedure and checklist, budgets with their exact bound, and policies of each kind."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from solvent.gate.calibration import (
    Measured,
    adaptive_policies,
    checklist,
    control_threshold,
    fewest_negatives,
    measured,
    oracle_policy,
    percentile_thresholds,
    summary,
    upper_bound,
)  # fmt: skip
from solvent.gate.data import Sample
from solvent.gate.energy import GateError

ABOUT = {"domain": "mills", "model": "mini", "model_fingerprint": "0" * 64}


def rows_of(gaps, random=0.5, *, oracle=0.0):
    samples = [Sample(f"s{i}", f"claim {i}", ("a",), group=f"g{i}") for i in range(len(gaps))]
    numbers = zip(samples, gaps, np.broadcast_to(random, len(gaps)), strict=True)
    return [Measured(sample, gap, oracle, gap, other, 0.5) for sample, gap, other in numbers]


def test_the_documents_percentiles_of_a_hundred_claims():
    gaps = np.random.default_rng(0).permutation(np.arange(100)) / 100.0
    taus = percentile_thresholds(gaps)
    assert taus == {1.0: 0.0, 5.0: 0.04, 10.0: 0.09, 20.0: 0.19, 30.0: 0.29}
    assert [(gaps <= tau).sum() for tau in taus.values()] == [1, 5, 10, 20, 30]  # by construction


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


def test_adaptive_policies_carry_their_origin():
    gaps = np.arange(100) / 100.0
    first, *_, last = adaptive_policies(gaps, **ABOUT, version=2)
    assert (first.name, last.name) == ("adaptive.P1.v2", "adaptive.P30.v2")
    assert (last.tau_accept, last.tau_review) == (0.29, 0.3625)
    assert first.calibration_count == 100
    assert adaptive_policies(gaps, [2.5], **ABOUT)[0].label == "P2_5"


def test_an_oracle_policy_is_k_deviations_above_the_mean():
    energies = [0.0, 0.001, 0.002]
    made = oracle_policy(energies, 2.0, **ABOUT)
    assert (made.name, made.measure) == ("oracle.k2.v1", "energy")
    assert made.tau_accept == pytest.approx(0.001 + 2 * 0.001)
    assert made.tau_review == pytest.approx(0.001 + 2.5 * 0.001)


def test_held_out_shares_vary_around_the_percentile():
    rows = rows_of(np.random.default_rng(0).random(200))
    row = summary(rows)["P10"]
    mean, low, high = row["held_out"]
    assert low < 0.10 < high
    assert mean == pytest.approx(0.10, abs=0.03)
    assert row["verdicts"]["accept"] == 20
    assert row["random"] == 0.0


# -- the document's checklist ---------------------------------------------------------------------


class Known:
    """An embedder that gives every claim of ``rows_of`` its energy again."""

    def encode(self, texts):
        energy = GAPS[int(texts[0].split()[1])]
        return np.array([[np.sqrt(1.0 - energy), np.sqrt(energy)], [1.0, 0.0]])


GAPS = np.geomspace(0.01, 0.5, 100).round(6)


def failing(rows, embedder):
    return {name for name, (holds, _) in checklist(rows, embedder).items() if not holds}


def test_the_checklist_has_the_documents_items():
    items = checklist(rows_of(GAPS, oracle=0.001), Known())
    assert list(items) == ["monotonicity", "non-collapse", "stability", "oracle sanity", "determinism"]
    assert all(holds for holds, _ in items.values())


@pytest.mark.parametrize(
    ("gaps", "oracle", "fails"),
    [
        (np.full(100, 0.4), 0.0, {"monotonicity", "non-collapse"}),
        (np.where(np.arange(100) < 50, -0.9, 0.9) + np.arange(100) / 1e4, 0.0, {"stability"}),
        (GAPS, 0.02, {"oracle sanity"}),
        (GAPS[:99], 0.0, {"stability"}),
    ],
)
def test_an_item_fails_for_its_own_reason(gaps, oracle, fails):
    assert fails <= failing(rows_of(gaps, oracle=oracle), Known())


def test_determinism_is_measured_from_the_text():
    assert "determinism" not in failing(rows_of(GAPS), Known())
    assert "determinism" in failing(rows_of(GAPS[::-1]), Known())


def test_claims_are_measured_with_own_and_other_evidence(words, dataset):
    rows = measured(dataset, words)
    assert [row.sample for row in rows] == dataset
    pairs = [(row.energy_gap, row.random_gap) for row in rows if row.sample.label == "supported"]
    own, random = np.mean(pairs, axis=0)
    assert own < random - 0.3
