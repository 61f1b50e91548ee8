"""Proposals: the range, the reviewer's estimate and the new price by hand, and what holds for any of them."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from solvent.lab.mechanisms.proposals import (
    confidence,
    estimate,
    reviewed_price,
    suggested_range,
)


def review(price, fair, paid, heartbeats, floor=0, step_limit=4_000):
    guess = estimate(price, fair, paid, heartbeats, 2.0)
    return reviewed_price(price, suggested_range(price, floor), guess, floor, step_limit)


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
    assert suggested_range(price, floor) == (low, high)


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_a_range_is_a_range_and_never_reaches_below_the_floor(price, floor):
    low, high = suggested_range(price, floor)
    assert floor <= low <= high
    assert high <= max(price, floor)


def test_confidence_rises_with_the_heartbeats_and_never_reaches_one():
    assert [confidence(n) for n in (0, 2, 6)] == [0.0, 0.5, 0.75]
    assert all(0.0 <= confidence(n) < confidence(n + 1) < 1.0 for n in range(1000))


# -- the reviewer --------------------------------------------------------------------------------


def test_the_estimate_by_hand():
    """Experience is paid * n / (n + 2): of 2, as much as is trusted by half; of 6, by three quarters."""
    assert estimate(10_000, 6_000, 4, 2, 2.0) == 8_000
    assert estimate(10_000, 6_000, 12, 2, 2.0) == 7_000
    assert estimate(10_000, 6_000, 8, 6, 2.0) == 7_000
    assert estimate(10_000, 16_000, 4, 2, 2.0) == 13_000
    assert estimate(10_000, 6_000, 1, 2, 0.5) == 8_000
    assert estimate(10_000, 6_000, 3, 4, 2.0) == 8_000


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


energies, counts = st.integers(0, 10**6), st.integers(0, 1000)


@given(price=energies, fair=energies, paid=counts, heartbeats=counts, floor=energies, step=energies)
def test_an_approval_moves_a_price_down_towards_the_fair_cost_within_its_bounds(
    price, fair, paid, heartbeats, floor, step
):
    assume(floor <= price)
    low, high = suggested_range(price, floor)
    new = review(price, fair, paid, heartbeats, floor, step)
    assert floor <= new <= price
    assert price - new <= step
    if new != price:
        assert paid > 0
        assert heartbeats > 0
        assert fair < new + 1  # it stops before the fair cost
        assert low <= new
        assert new <= high or new == price - step  # the limit may end the move before the range is reached
