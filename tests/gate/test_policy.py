"""Policies: the document's rule and table, names with versions, and their file."""

import math

import pytest
from pydantic import ValidationError

from solvent.gate.energy import GateError
from solvent.gate.policy import (
    FIXED,
    Policy,
    apply_adaptive_policy_gap,
    policy_named,
    rounded,
    severest,
)  # fmt: skip

LEARNT = {
    "kind": "adaptive",
    "label": "P10",
    "tau_accept": 0.4559,
    "domain": "mills",
    "model": "mini",
    "oracle": "first",
}


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_no_finite_number_is_rejected(value):
    assert Policy(**LEARNT).decide(value) == "reject"
    assert apply_adaptive_policy_gap(0.1, math.nan) == "reject"


def test_a_negative_threshold_has_a_band():
    policy = Policy(**LEARNT | {"tau_accept": -0.1})
    assert policy.tau_review == pytest.approx(-0.075)
    assert policy.decide(-0.08) == "review"


def test_minus_zero_is_zero():
    assert str(rounded(-1e-9)) == "0.0"


def test_each_fixed_policy_accepts_what_the_stricter_reviews():
    strict, standard, editorial = (FIXED[name] for name in ("strict", "standard", "editorial"))
    assert strict.tau_review < standard.tau_accept + 1e-9 < standard.tau_review == editorial.tau_accept


def test_the_most_severe_verdict_counts():
    assert severest() == "accept"
    assert severest("accept", "reject", "review") == "reject"
    assert severest("review", "accept") == "review"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("kind", "loose"),
        ("label", "P 10"),
        ("tau_accept", math.nan),
        ("tau_accept", 1.01),
        ("tau_review", 0.1),
        ("tau_review", 1.3),
        ("domain", "any"),
        ("oracle", "<lambda>"),
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(key, value):
    with pytest.raises(ValidationError, match=key):
        Policy(**LEARNT | {key: value})


def test_a_policy_has_its_own_name_and_a_fixed_one_its_label():
    policy = Policy(**LEARNT)
    assert policy_named("adaptive.P10.v1", {policy.name: policy}) == policy
    assert policy_named("strict", {}) == FIXED["strict"]


def test_an_own_policy_wins_over_the_fixed_one_of_its_name():
    own = Policy(kind="fixed", label="strict", tau_accept=0.2, measure="energy")
    assert policy_named("strict", {own.name: own}) == own


def test_a_learnt_policy_has_to_name_its_oracle():
    with pytest.raises(ValidationError, match="oracle"):
        Policy(**{key: value for key, value in LEARNT.items() if key != "oracle"})


def test_an_unknown_policy_is_an_error_that_names_those_known():
    with pytest.raises(GateError, match="standard"):
        policy_named("P20", {})
