"""Thresholds: percentiles that are an identity where they were learnt, and budgets that hold elsewhere."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from solvent.gate import GateError
from solvent.gate.calibration import (
    acceptance,
    adaptive_policies,
    clopper_pearson,
    control_threshold,
    held_out_shares,
    negative_control,
    oracle_policy,
    percentile_thresholds,
    sample_sha256,
    upper_bound,
)
from solvent.gate.pairs import derange, split_by_group

VALUES = st.lists(st.floats(-1.0, 1.0), min_size=1, max_size=60)
MANY = st.lists(st.floats(-1.0, 1.0), min_size=20, max_size=60)  # 19 bound a rate by 15 %
GROUPS = st.lists(st.integers(0, 6), min_size=2, max_size=40)


# ------------------------------------------------------------------------------------------- percentiles


def test_the_source_s_table_is_an_identity():
    """Any hundred different numbers give its acceptance rates, so they say nothing."""
    for seed in range(5):
        numbers = np.random.default_rng(seed).normal(size=100)
        taus = percentile_thresholds(numbers)
        assert [acceptance(numbers, taus[p]).accepted for p in (1, 5, 10, 20, 30)] == [1, 5, 10, 20, 30]


def test_thresholds_are_values_and_rise():
    assert percentile_thresholds([0.3, 0.1, 0.2], (1, 34, 67, 100)) == {1: 0.1, 34: 0.2, 67: 0.3, 100: 0.3}


@given(values=VALUES, percentile=st.floats(0.1, 100.0))
def test_at_least_the_percentile_is_accepted(values, percentile):
    tau = percentile_thresholds(values, [percentile])[percentile]
    assert acceptance(values, tau).share >= percentile / 100.0 - 1e-9
    assert tau in {round(value, 6) + 0.0 for value in values}


def test_held_out_shares_are_no_identity():
    rng = np.random.default_rng(1)
    values, groups = rng.uniform(size=400), np.repeat(np.arange(80), 5)
    shares = held_out_shares(values, groups, splits=20, seed=3)
    assert shares == held_out_shares(values, groups, splits=20, seed=3)
    assert {p: later[2] for p, later in shares.items()} == {
        p: share for p, (share,) in held_out_shares(values, groups, seed=5).items()
    }
    assert len(set(shares[20.0])) > 5
    assert np.mean(shares[20.0]) == pytest.approx(0.2, abs=0.02)


def test_copies_of_a_claim_stay_on_one_side():
    groups = np.tile(np.arange(50), 2)
    learn, report = split_by_group(groups, np.random.default_rng(0))
    assert not set(groups[learn]) & set(groups[report])
    assert sorted([*learn, *report]) == list(range(100))
    values = np.tile(np.arange(50.0), 2)
    tau = percentile_thresholds(values[learn])[10.0]
    assert held_out_shares(values, groups)[10.0] == [np.mean(values[report] <= tau)]


def test_policies_carry_their_calibration():
    gaps = np.linspace(0.2, 0.8, 50)
    policies = adaptive_policies(gaps, domain="lab", model="m", percentiles=(2.5, 10), version=2)
    assert [policy.name for policy in policies] == ["adaptive.P2_5.v2", "adaptive.P10.v2"]
    assert {policy.calibration_sha256 for policy in policies} == {sample_sha256(gaps)}
    assert policies[0].calibration_count == 50


def test_the_hash_is_of_the_set():
    assert sample_sha256([0.1, 0.2]) == sample_sha256([0.2, 0.1 + 1e-8])
    assert sample_sha256([0.1, 0.2]) != sample_sha256([0.1, 0.2, 0.2])
    assert sample_sha256([0.0]) == sample_sha256([-0.0])


def test_the_oracle_policy():
    energies = [0.01, 0.03, 0.02, 0.04]
    policy = oracle_policy(energies, domain="lab", model="m")
    mean, sigma = np.mean(energies), np.std(energies, ddof=1)
    assert policy.name == "oracle.k2.v1"
    assert policy.measure == "energy"
    assert policy.tau_accept == pytest.approx(mean + 2.0 * sigma, abs=1e-6)
    assert policy.tau_review == pytest.approx(mean + 2.5 * sigma, abs=1e-6)
    assert oracle_policy(energies, domain="lab", model="m", k=1.5).name == "oracle.k1_5.v1"
    with pytest.raises(GateError, match="k:"):
        oracle_policy(energies, domain="lab", model="m", k=0.0)


# ------------------------------------------------------------------------------------------ exact bounds


@pytest.mark.parametrize(("k", "n"), [(0, 10), (1, 10), (10, 10), (37, 500), (499, 500)])
def test_clopper_pearson_is_scipy_s(k, n):
    exact = binomtest(k, n).proportion_ci(method="exact")
    assert clopper_pearson(k, n) == pytest.approx((exact.low, exact.high))
    one_sided = binomtest(k, n, alternative="less").proportion_ci(method="exact")
    assert upper_bound(k, n) == pytest.approx(one_sided.high)


def test_the_rule_of_three_and_no_trials():
    assert upper_bound(0, 100) == pytest.approx(1.0 - 0.05 ** (1 / 100))
    assert clopper_pearson(0, 0) == (0.0, 1.0)
    for wrong in ((-1, 5, 0.95), (6, 5, 0.95), (1, 5, 1.0)):
        with pytest.raises(GateError):
            clopper_pearson(*wrong)


# ------------------------------------------------------------------------------------- negative controls


@given(values=MANY, budget=st.floats(0.15, 0.99))
def test_the_budget_holds_and_is_used_up(values, budget):
    tau = control_threshold(values, budget)
    assert acceptance(values, tau).upper <= budget
    looser = [value for value in np.round(values, 6) if value > tau]
    assert acceptance(values, min(looser)).upper > budget


@given(values=MANY, a=st.floats(0.15, 0.99), b=st.floats(0.15, 0.99))
def test_a_larger_budget_is_never_stricter(values, a, b):
    assert control_threshold(values, min(a, b)) <= control_threshold(values, max(a, b))


def test_the_sure_threshold_keeps_the_budget_in_nineteen_of_twenty_cases():
    """The tolerance limit: on uniform negatives the true rate of false acceptance is the threshold itself."""
    rng = np.random.default_rng(0)
    taus = [control_threshold(rng.uniform(size=200), 0.1) for _ in range(1000)]
    assert 0.005 < np.mean(np.array(taus) > 0.1) <= 0.05


def test_too_few_negatives_to_be_sure():
    with pytest.raises(GateError, match="59 or more"):
        control_threshold(np.linspace(0, 1, 58), 0.05)
    assert control_threshold(np.linspace(0, 1, 59), 0.05) < 0.0


def test_learnt_on_one_side_and_reported_on_the_other():
    rng = np.random.default_rng(5)
    groups = np.repeat(np.arange(200), 4)
    negatives, positives = rng.normal(0.8, 0.1, 800), rng.normal(0.4, 0.1, 200)
    control = negative_control(
        negatives, groups, budget=0.05, positives=positives, positive_groups=np.arange(200), seed=1
    )
    assert control.learnt.count + control.negatives.count == 800
    assert control.learnt.share <= 0.05
    assert control.negatives.share <= control.negatives.upper <= 0.09
    assert control.positives is not None
    assert control.positives.share > 0.95
    assert control.positives.count == pytest.approx(
        100, abs=2
    )  # those of the groups learnt from are left out
    policy = control.policy("random", "At most 5 % pass.", domain="lab", model="m")
    assert (policy.name, policy.promise) == ("adaptive.FA5.random.v1", "At most 5 % pass.")
    assert policy.calibration_sha256 == control.calibration_sha256
    assert policy.tau_accept == control.tau_accept
    with pytest.raises(GateError, match="positive_groups"):
        negative_control(negatives, groups, positives=positives)


@pytest.mark.parametrize(
    "values", [[], [np.nan], [np.inf, 1.0], [[1.0], [2.0]], ["a"], [None], [[1], [1, 2]], [True], 3.0]
)
def test_bad_samples(values):
    for function in (
        percentile_thresholds,
        sample_sha256,
        lambda x: control_threshold(x, 0.05),
        negative_control,
        lambda x: oracle_policy(x, domain="d", model="m"),
    ):
        with pytest.raises(GateError):
            function(values)


@pytest.mark.parametrize("budget", [0.0, 1.0, -0.1, float("nan")])
def test_bad_budgets(budget):
    with pytest.raises(GateError, match="budget"):
        control_threshold([0.1, 0.2], budget)


@pytest.mark.parametrize("percentile", [0.0, 101.0, float("nan")])
def test_bad_percentiles(percentile):
    with pytest.raises(GateError, match="percentiles"):
        percentile_thresholds([0.1], [percentile])


# ------------------------------------------------------------------------------------------------- pairs


@given(groups=GROUPS, seed=st.integers(0, 1000))
def test_deranged(groups, seed):
    n, rng = len(groups), np.random.default_rng(seed)
    if 2 * max(map(groups.count, groups)) > n:
        with pytest.raises(GateError, match="largest"):
            derange(n, groups, rng)
        return
    partner = derange(n, groups, rng)
    assert sorted(partner) == list(range(n))
    assert all(groups[i] != groups[j] for i, j in enumerate(partner))


def test_derangements_are_mixed_and_repeat():
    first, again, other = (derange(60, None, np.random.default_rng(seed)) for seed in (0, 0, 1))
    assert (first == again).all()
    assert (first != other).any()
    assert (first != np.arange(60)).all()
    assert len(set((first - np.arange(60)) % 60)) > 20
    with pytest.raises(GateError):
        derange(1, None, np.random.default_rng(0))


@given(groups=GROUPS, seed=st.integers(0, 1000))
def test_no_group_straddles(groups, seed):
    if len(set(groups)) < 2:
        with pytest.raises(GateError, match="groups"):
            split_by_group(groups, np.random.default_rng(seed))
        return
    learn, report = split_by_group(groups, np.random.default_rng(seed))
    assert len(learn)
    assert len(report)
    assert sorted([*learn, *report]) == list(range(len(groups)))
    assert not {groups[i] for i in learn} & {groups[i] for i in report}


def test_labels_that_do_not_fit():
    with pytest.raises(GateError, match="labels"):
        derange(3, ["a"], np.random.default_rng(0))
    with pytest.raises(GateError, match="label"):
        derange(2, [[], []], np.random.default_rng(0))
