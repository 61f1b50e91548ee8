"""Drift: no alarm while nothing changes, an alarm when gaps move, and only comparable claims are compared."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy import stats

from solvent.gate.calibration import adaptive_policies
from solvent.gate.drift import drift, limits
from solvent.gate.errors import GateError
from solvent.gate.policy import Policy
from tests.gate.test_learning import review


def judged(gaps, start=1, **fields):
    rows = [
        dataclasses.replace(review(round(float(gap), 6), "accept"), number=start + i, claim=f"c{start + i}")
        for i, gap in enumerate(gaps)
    ]
    return [dataclasses.replace(row, **fields) for row in rows]


def learnt(gaps):
    return adaptive_policies(gaps, domain="lamps", model="words", oracle="first")


@pytest.mark.parametrize("shape", ["uniform", "exponential"])
def test_false_alarms_stay_within_the_level(shape):
    """Reference and windows from one distribution: at most 5 % of the reports have an alarm, whatever it is."""
    rng = np.random.default_rng(0)
    draw = rng.random if shape == "uniform" else (lambda n: 0.2 * rng.exponential(size=n))
    alarms = 0
    for _ in range(200):
        changes = drift(judged(draw(200)), learnt(draw(100)))
        assert len(changes) == 10
        alarms += any(change.drifted for change in changes)
    assert alarms <= 20  # of 200; at 5 % more is one chance in 250


def test_gaps_that_move_are_found_and_the_new_threshold_is_told():
    rng = np.random.default_rng(1)
    policies = learnt(rng.random(500))
    moved = judged(rng.random(100)) + judged(0.3 + 0.7 * rng.random(100), start=101)
    before, after = np.array_split(drift(moved, policies), 2)
    assert not any(change.drifted for change in before)
    found = {change.percentile: change for change in after}
    assert found[30.0].drifted
    assert found[20.0].drifted
    assert found[30.0].accepted < found[30.0].low
    assert found[30.0].threshold == pytest.approx(0.3 + 0.7 * 0.3, abs=0.1)


def test_without_policies_the_first_window_is_the_reference():
    rng = np.random.default_rng(2)
    rows = judged(rng.random(100)) + judged(0.9 + 0.1 * rng.random(100), start=101)
    changes = drift(rows)
    assert {change.percentile for change in changes} == {1.0, 5.0, 10.0, 20.0, 30.0}
    assert [change.drifted for change in changes] == [False, False, True, True, True]


def test_only_comparable_claims_count_and_each_once():
    rng = np.random.default_rng(3)
    rows = judged(rng.random(100))
    twice = [dataclasses.replace(row, number=row.number + 100) for row in rows]
    bad = judged([1.0] * 50, start=301, result=rows[0].result | {"reasons": ["bad data: no words"]})
    other = judged([1.0] * 100, start=401, domain="mills")
    (change,) = drift([*rows, *twice, *bad, *other], [learnt(rng.random(300))[2]])
    assert change.count == 100
    assert change.accepted < 30
    with pytest.raises(GateError, match="measured in different ways"):
        drift([*rows, *other])


def test_too_few_claims_are_one_line():
    budget = Policy.learnt("FA5.random", 0.4, domain="lamps", model="words", calibration_count=100)
    for rows, policies in (
        (judged([0.1] * 99), learnt([0.1] * 100)),
        (judged([0.1] * 199), [budget]),
        ([], ()),
    ):
        with pytest.raises(GateError, match="fill no window to compare; allowed: 100 for each"):
            drift(rows, policies)


def test_the_limits_are_those_of_the_beta_binomial():
    for n, rank, count, level in ((100, 10, 100, 0.05), (37, 1, 500, 0.001), (20, 30, 30, 0.01)):
        known = stats.betabinom(n, rank, count + 1 - rank)
        low, high = limits(n, rank, count, level)
        assert known.cdf(low - 1) <= level / 2 < known.cdf(low) + 1e-9
        assert known.cdf(high) >= 1 - level / 2 - 1e-9
        assert high == 0 or known.cdf(high - 1) < 1 - level / 2 + 1e-9
