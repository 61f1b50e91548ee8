"""Proposals: the range, the reviewer's estimate and the new price by hand, and what holds for any of them."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from solvent.lab.mechanisms.proposals import (
    ProposalParams,
    confidence,
    estimate,
    proposal_rules,
    reviewed_price,
    suggested_range,
)
from solvent.lab.params import LabParams, preset

VOICE = ProposalParams(
    evidence_heartbeats=2,
    gain_floor=0.3,
    review_heartbeats=12,
    share_low=0.4,
    share_high=0.9,
    step_limit=4.0,
    half_trusted=2.0,
    mispriced_least=0,
    mispriced_most=3,
    mispriced_low=1.6,
    mispriced_high=2.5,
    fair_spread=1.25,
    mispriced_upwards=0.5,
)
RULES = proposal_rules(LabParams(proposals=VOICE))


def review(price, fair, paid, heartbeats, floor=0, rules=RULES):
    guess = estimate(price, fair, paid, heartbeats, rules.half_trusted)
    return reviewed_price(price, suggested_range(rules, price, floor), guess, floor, rules.step_limit)


def with_shares(low, high, step_limit=RULES.step_limit):
    """The rules with shares that settings can't have, and with a limit in thousandths."""
    rules = RULES.copy()
    rules.share_low, rules.share_high, rules.step_limit = low, high, step_limit
    return rules


# -- the argument --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("price", "floor", "low", "high"),
    [
        (10_000, 0, 4_000, 9_000),
        (10_000, 6_000, 6_000, 9_000),  # public
        (6_400, 6_000, 6_000, 6_000),  # 5.76 would be below the floor
        (6_000, 6_000, 6_000, 6_000),  # no room
        (3, 0, 1, 3),  # 1.2, 2.7
        (0, 0, 0, 0),
    ],
)
def test_the_suggested_range_by_hand(price, floor, low, high):
    assert suggested_range(RULES, price, floor) == (low, high)


@given(
    st.floats(0, 1),
    st.floats(0, 1),
    st.integers(0, 10**6),
    st.integers(0, 10**6),
)
def test_a_range_is_a_range_and_never_reaches_below_the_floor(a, b, price, floor):
    rules = with_shares(min(a, b), max(a, b))
    low, high = suggested_range(rules, price, floor)
    assert floor <= low <= high
    assert high <= max(price, floor)


def test_confidence_rises_with_the_heartbeats_and_never_reaches_one():
    assert [confidence(n) for n in (0, 2, 6)] == [0.0, 0.5, 0.75]
    assert all(0.0 <= confidence(n) < confidence(n + 1) < 1.0 for n in range(1000))


# -- the reviewer --------------------------------------------------------------------------------


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 1000), st.floats(0.01, 1000))
def test_without_a_paid_use_or_without_a_deferral_the_estimate_is_the_price(price, fair, many, half):
    assert estimate(price, fair, 0, many, half) == price
    assert estimate(price, fair, many, 0, half) == price


def test_the_estimate_by_hand():
    """Experience is paid * n / (n + 2): of 2, as much as is trusted by half; of 6, by three quarters."""
    assert estimate(10_000, 6_000, 4, 2, 2.0) == 8_000
    assert estimate(10_000, 6_000, 12, 2, 2.0) == 7_000
    assert estimate(10_000, 6_000, 8, 6, 2.0) == 7_000
    assert estimate(10_000, 16_000, 4, 2, 2.0) == 13_000
    assert estimate(10_000, 6_000, 1, 2, 0.5) == 8_000
    assert estimate(10_000, 6_000, 3, 4, 2.0) == 8_000


@given(
    st.integers(1, 10**6),
    st.integers(0, 10**6),
    st.integers(1, 1000),
    st.integers(1, 1000),
    st.integers(1, 1000),
    st.floats(0.01, 100),
)
def test_more_of_either_brings_the_estimate_nearer_to_the_fair_cost(price, fair, paid, beats, more, half):
    assume(abs(price - fair) >= 10)
    fewer = estimate(price, fair, paid, beats, half)
    for many in (
        estimate(price, fair, paid + more, beats, half),
        estimate(price, fair, paid, beats + more, half),
    ):
        assert abs(many - fair) < abs(fewer - fair)
        assert min(price, fair) - 1e-6 <= many <= max(price, fair) + 1e-6


@given(st.integers(1, 10**6), st.integers(0, 10**6), st.integers(0, 1000), st.integers(1, 1000))
def test_deferrals_count_for_less_than_the_uses_do(price, fair, paid, beats):
    """However many there are, the estimate is never as near as the uses alone would make it."""
    trust = (price - estimate(price, fair, paid, beats, 2.0)) / ((price - fair) or 1)
    assert 0.0 <= trust <= paid / (paid + 2.0) + 1e-9


@pytest.mark.parametrize(
    ("price", "fair", "paid", "heartbeats", "floor", "new"),
    [
        (10_000, 6_000, 0, 2, 0, 10_000),  # nothing was paid for
        (10_000, 6_000, 0, 1000, 0, 10_000),
        (10_000, 6_000, 1000, 0, 0, 10_000),  # nothing was deferred
        (10_000, 6_000, 2, 2, 0, 8_667),  # 8666.7
        (10_000, 6_000, 4, 2, 0, 8_000),
        (10_000, 6_000, 3, 4, 0, 8_000),
        (10_000, 6_000, 4, 6, 0, 7_600),
        (10_000, 8_000, 4, 2, 0, 9_000),  # the estimate at the upper end
        (10_000, 8_002, 4, 2, 0, 10_000),  # and above it
        (10_000, 8_002, 4, 3, 0, 8_910),  # but not with one deferral more: 8910.2
        (10_000, 10_000, 50, 50, 0, 10_000),  # nothing is wrong
        (10_000, 14_000, 50, 50, 0, 10_000),  # too cheap already
        (13_000, 5_000, 1000, 2, 0, 9_000),  # moved by 4 at most
        (5_000, 500, 1000, 2, 0, 2_000),  # not below the lower end
        (13_000, 5_000, 1000, 2, 10_000, 10_000),  # nor the floor
        (6_400, 1_000, 1000, 2, 6_000, 6_000),
        (6_000, 1_000, 1000, 2, 6_000, 6_000),
    ],
)
def test_the_reviewed_price_by_hand(price, fair, paid, heartbeats, floor, new):
    assert review(price, fair, paid, heartbeats, floor) == new


@pytest.mark.parametrize(
    ("fair", "paid", "heartbeats", "approved"),
    [
        (5_000, 1, 2, True),  # trusted by five sixths
        (7_000, 1, 2, True),
        (8_800, 1, 2, True),  # 9.0, the upper end of what was asked for
        (8_802, 1, 2, False),
        (8_802, 2, 2, True),
        (5_000, 0, 30, False),
        (5_000, 30, 0, False),
    ],
)
def test_how_much_it_takes_by_default(fair, paid, heartbeats, approved):
    rules = proposal_rules(preset("energy"))
    assert rules.half_trusted == 0.1
    assert (review(10_000, fair, paid, heartbeats, rules=rules) < 10_000) == approved


def test_a_range_that_reaches_up_to_the_price_asks_for_nothing():
    guess = estimate(10_000, 1_000, 1000, 1000, RULES.half_trusted)
    assert reviewed_price(10_000, (4_000, 10_000), guess, 0, RULES.step_limit) == 10_000


anything = {
    "price": st.integers(0, 10**6),
    "fair": st.integers(0, 10**6),
    "paid": st.integers(0, 1000),
    "heartbeats": st.integers(0, 1000),
    "floor": st.integers(0, 10**6),
    "shares": st.tuples(st.floats(0, 1), st.floats(0, 1)).map(sorted),
    "step": st.integers(0, 10**6),
}


@given(**anything)
def test_an_approval_moves_a_price_down_towards_the_fair_cost_within_its_bounds(
    price, fair, paid, heartbeats, floor, shares, step
):
    assume(floor <= price)
    rules = with_shares(*shares, step)
    low, high = suggested_range(rules, price, floor)
    new = review(price, fair, paid, heartbeats, floor, rules)
    assert floor <= new <= price
    assert price - new <= step
    if new != price:
        assert paid > 0
        assert heartbeats > 0
        assert fair < new + 1  # it stops before the fair cost
        assert low <= new
        assert new <= high or new == price - step  # the limit may end the move before the range is reached


@given(
    price=anything["price"],
    fair=anything["fair"],
    many=anything["paid"],
    floor=anything["floor"],
    shares=anything["shares"],
)
def test_who_never_paid_or_never_went_without_is_never_heard(price, fair, many, floor, shares):
    assume(floor <= price)
    rules = with_shares(*shares)
    assert review(price, fair, 0, many, floor, rules) == price
    assert review(price, fair, many, 0, floor, rules) == price


@given(
    price=anything["price"],
    more=anything["fair"],
    paid=anything["paid"],
    heartbeats=anything["heartbeats"],
    floor=anything["floor"],
)
def test_a_price_that_is_fair_or_too_low_is_never_changed(price, more, paid, heartbeats, floor):
    assume(floor <= price)
    assert review(price, price + more, paid, heartbeats, floor) == price


def test_the_rules_are_the_parameters_in_thousandths():
    assert (RULES.share_low, RULES.share_high, RULES.step_limit, RULES.half_trusted) == (0.4, 0.9, 4_000, 2.0)
    assert (RULES.evidence_heartbeats, RULES.review_heartbeats, RULES.gain_floor) == (2, 12, 0.3)
    assert (RULES.mispriced_least, RULES.mispriced_most) == (0, 3)
    assert (RULES.mispriced_low, RULES.mispriced_high) == (1.6, 2.5)
    assert (RULES.fair_spread, RULES.mispriced_upwards) == (1.25, 0.5)
    assert not RULES.enabled
    assert proposal_rules(preset("energy")).enabled
    assert proposal_rules(LabParams(proposals=ProposalParams(step_limit=0.5))).step_limit == 500
