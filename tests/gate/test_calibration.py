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
    auroc,
    budget_policies,
    checklist,
    control_threshold,
    fewest_negatives,
    held_out,
    measured,
    oracle_policy,
    percentile_thresholds,
    sample_sha256,
    upper_bound,
)  # fmt: skip
from solvent.gate.data import Sample
from solvent.gate.energy import GateError

ABOUT = {"domain": "mills", "model": "mini", "model_fingerprint": "0" * 64}


def rows_of(gaps, *, random=None, hard=None, label="supported", oracle=0.0):
    columns = [[None] * len(gaps) if some is None else some for some in (random, hard)]
    samples = [Sample(f"s{i}", f"claim {i}", ("a",) * 9, label, group=f"g{i}") for i in range(len(gaps))]
    return [
        Measured(sample, gap, oracle, gap, *others, 0.5)
        for sample, gap, *others in zip(samples, gaps, *columns, strict=True)
    ]


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


@pytest.mark.parametrize(("values", "percentile"), [([], 1.0), ([[1.0]], 1.0), ([np.nan], 1.0), ([0.1], 0.0)])
def test_what_is_no_sample_or_no_percentile_is_refused(values, percentile):
    with pytest.raises(GateError):
        percentile_thresholds(values, [percentile])


def test_59_negatives_are_the_fewest_for_five_percent():
    assert fewest_negatives(0.05) == 59
    assert upper_bound(0, 59) <= 0.05 < upper_bound(0, 58)
    with pytest.raises(GateError, match="59"):
        control_threshold(np.arange(58) / 100.0, 0.05)
    with pytest.raises(GateError):
        fewest_negatives(1.0)


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
    assert first.calibration_sha256 == sample_sha256(gaps[::-1])
    assert first.calibration_count == 100
    assert adaptive_policies(gaps, [2.5], **ABOUT)[0].label == "P2_5"


def test_an_oracle_policy_is_k_deviations_above_the_mean():
    energies = [0.0, 0.001, 0.002]
    made = oracle_policy(energies, 2.0, **ABOUT)
    assert (made.name, made.measure) == ("oracle.k2.v1", "energy")
    assert made.tau_accept == pytest.approx(0.001 + 2 * 0.001)
    assert made.tau_review == pytest.approx(0.001 + 2.5 * 0.001)
    for k, some in ((0.0, energies), (np.inf, energies), (2.0, [0.1])):
        with pytest.raises(GateError):
            oracle_policy(some, k, **ABOUT)


def test_budget_policies_promise_for_their_kind_alone():
    n = 200
    rows = rows_of(np.full(n, 0.1), random=np.linspace(0.5, 1, n), hard=np.linspace(0.1, 1, n))
    random, hard = budget_policies(rows, 0.05, 0, **ABOUT)
    assert (random.name, hard.name) == ("adaptive.FA5.random.v1", "adaptive.FA5.hard.v1")
    assert hard.tau_accept < random.tau_accept
    assert "No promise for evidence of the same page" in random.promise
    assert budget_policies(rows[:100], 0.05, 0, **ABOUT) == []  # half of them are too few


def test_held_out_shares_vary_around_the_percentile():
    rows = rows_of(np.random.default_rng(0).random(200))
    mean, low, high = held_out(rows, [10.0], 0)[10.0]
    assert low < 0.10 < high
    assert mean == pytest.approx(0.10, abs=0.03)
    assert held_out(rows[:1], [10.0], 0) == {}


# -- the document's checklist ---------------------------------------------------------------------


def failing(rows, embedder=None):
    return {item.name for item in checklist(rows, embedder) if not item.passed}


def test_the_checklist_has_the_documents_items():
    items = checklist(rows_of(np.geomspace(0.01, 0.5, 100), oracle=0.001))
    names = [item.name for item in items]
    assert names == ["monotonicity", "non-collapse", "stability", "oracle sanity", "determinism"]
    assert all(item.passed for item in items)


@pytest.mark.parametrize(
    ("gaps", "oracle", "fails"),
    [
        (np.full(100, 0.4), 0.0, {"monotonicity", "non-collapse"}),
        (np.where(np.arange(100) < 50, -0.9, 0.9) + np.arange(100) / 1e4, 0.0, {"stability"}),
        (np.geomspace(0.1, 0.9, 100), 0.02, {"oracle sanity"}),
        (np.geomspace(0.1, 0.9, 99), 0.0, {"stability"}),
    ],
)
def test_an_item_fails_for_its_own_reason(gaps, oracle, fails):
    found = failing(rows_of(gaps, oracle=oracle))
    assert fails <= found
    assert "determinism" not in found


def test_determinism_is_measured_from_the_text(words, dataset):
    class Drifting(type(words)):
        def encode(self, texts):
            noise = np.random.default_rng(len(texts)).normal(size=(len(texts), 64))
            rows = super().encode(texts) + 1e-3 * noise
            return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    rows = measured(dataset.samples, words, mismatched=False)
    assert "determinism" not in failing(rows, words)
    assert "determinism" in failing(rows, Drifting())


# -- measuring -----------------------------------------------------------------------------------


def test_claims_are_measured_with_own_and_other_evidence(words, dataset):
    told = []
    rows = measured(dataset.samples, words, on_progress=lambda done, total: told.append((done, total)))
    assert [row.sample for row in rows] == list(dataset.samples)
    pairs = [(row.energy_gap, row.random_gap) for row in rows if row.sample.label == "supported"]
    own, random = np.mean(pairs, axis=0)
    assert own < random - 0.3
    assert told[-1][0] == told[-1][1] > 0


def test_auroc_is_one_for_separate_and_half_for_equal_gaps():
    own = rows_of(np.linspace(0, 0.4, 40), random=np.linspace(0.5, 1, 40))
    refuted = rows_of(np.linspace(0, 0.4, 40), label="refuted")
    found = auroc(own + refuted, resamples=100)
    assert found["random", "energy"][0] == 1.0
    assert found["refuted", "energy"][0] == pytest.approx(0.5)
    low, high = found["refuted", "energy"][1:]
    assert low < 0.5 < high


@pytest.mark.slow
def test_same_page_evidence_needs_its_own_budget(embedder, feverous_pages):
    """The numbers of docs/gate.md: a budget for other pages lets most evidence of the same page pass."""
    rows = measured(feverous_pages, embedder, oracle="first")
    random, hard = budget_policies(rows, 0.05, 0, **ABOUT)
    own = np.array([row.energy_gap for row in rows if row.sample.label == "supported"])
    near = np.array([row.hard_gap for row in rows if row.hard_gap is not None])
    assert (near <= random.tau_accept).mean() > 0.8
    assert (near <= hard.tau_accept).mean() <= 0.05
    assert (own <= random.tau_accept).mean() > 0.95
    assert (own <= hard.tau_accept).mean() < 0.5
