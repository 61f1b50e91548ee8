"""Proposals: the range, the reviewer's estimate and the new price by hand, and what holds for any of them."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from solvent.files import read_input, strict_json
from solvent.lab.mechanisms.proposals import (
    confidence,
    estimate,
    reviewed_price,
    suggested_range,
)
from solvent.lab.verbs import Verb
from tests.labs import argue, energy_lab, open_lab, put, take


def review(price, fair, paid, heartbeats, floor=0, step_limit=4_000):
    guess = estimate(price, fair, paid, heartbeats, 2.0)
    return reviewed_price(price, suggested_range(price, floor), guess, floor, step_limit)


@pytest.mark.parametrize(("energy", "reason"), [(20_000, "hoarding"), (19_999, "")])
def test_a_rest_at_the_cap_hoards(energy, reason):
    """Nothing was measured: of all that may run, a dose response is expected to tell most."""
    env = energy_lab()
    put(env, energy=energy)
    info, step, lab = take(env, Verb.REST)
    assert info["discomfort"] == reason
    assert step["deferred_verb"] == (Verb.DOSE_RESPONSE if reason else 0)
    assert (step["deferred_value"] > 0.3) == bool(reason)
    assert not lab["discomfort"].any()  # no evidence for a lower cost


def test_half_an_emoji_in_a_reason_stops_neither_episode_nor_log(tmp_path):
    """Escaped twice, since readers of the log take no half of an emoji either."""
    log = tmp_path / "proposals.jsonl"
    env = open_lab(None, "energy", proposals_path=log)
    put(env, Verb.SCREEN, discomfort=3, price=10_000, reflected=1)
    env.argue("screen", 2.0, 3.0, "too dear \ud83d")
    take(env, Verb.PROPOSE)
    assert strict_json(read_input(log, 10_000))["rationale"] == "too dear \\ud83d"


@pytest.mark.parametrize("stands", [{"wells": 0}, {"debt": 3.0}, {"published": 1}, {"entropy": 0.1}], ids=str)
def test_what_can_not_run_or_is_worth_nothing_is_not_passed_over(stands):
    env = energy_lab()
    put(env, energy=20_000, **stands)
    assert take(env, Verb.REST)[0]["discomfort"] == ""


def test_a_licensed_finding_is_passed_over_while_the_user_is_there():
    env = energy_lab()
    for heartbeat, reason in ((0, ""), (6, "hoarding")):  # 06:00, 12:00
        put(env, 0, experiments=1, licence=3.0, energy=20_000, wells=0, heartbeat=heartbeat)
        info, step, _ = take(env, Verb.REST)
        assert info["discomfort"] == reason
    assert step["deferred_verb"] == Verb.PUBLISH_PUBLIC


def test_a_rest_counts_those_before_it():
    env = energy_lab()
    put(env, energy=20_000)
    assert [take(env, Verb.REST)[1]["similar_deferrals"] for _ in range(3)] == [0, 1, 2]


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


@pytest.mark.parametrize(("price", "files"), [(6_000, False), (6_667, False), (6_668, True)])
def test_a_proposal_takes_a_range_above_the_floor_and_below_the_price(price, files):
    info, step = argue(energy_lab(), Verb.PUBLISH_PUBLIC, price=price)
    assert info["obstacle"] == ("" if files else "no_evidence")
    assert (step["proposed_low"] < step["proposed_high"] < price) == files


def test_the_estimate_by_hand():
    """Experience is paid * n / (n + 2): of 2, as much as is trusted by half; of 6, by three quarters."""
    assert estimate(10_000, 6_000, 4, 2, 2.0) == 8_000
    assert estimate(10_000, 6_000, 8, 6, 2.0) == 7_000
    assert estimate(10_000, 16_000, 4, 2, 2.0) == 13_000
    assert estimate(10_000, 6_000, 1, 2, 0.5) == 8_000


@pytest.mark.parametrize(
    ("price", "fair", "paid", "heartbeats", "floor", "new"),
    [
        (10_000, 6_000, 0, 1000, 0, 10_000),  # nothing was paid for
        (10_000, 6_000, 1000, 0, 0, 10_000),  # nothing was deferred
        (10_000, 6_000, 2, 2, 0, 8_667),  # 8666.7
        (10_000, 6_000, 4, 6, 0, 7_600),
        (10_000, 8_000, 4, 2, 0, 9_000),  # the estimate at the upper end
        (10_000, 8_002, 4, 2, 0, 10_000),  # and above it
        (10_000, 8_002, 4, 3, 0, 8_910),  # but not with one deferral more: 8910.2
        (10_000, 10_000, 50, 50, 0, 10_000),  # nothing is wrong
        (10_000, 14_000, 50, 50, 0, 10_000),  # too cheap already
        (13_000, 5_000, 1000, 2, 0, 9_000),  # moved by 4 at most
        (5_000, 500, 1000, 2, 0, 2_000),  # not below the lower end
        (13_000, 5_000, 1000, 2, 10_000, 10_000),  # nor the floor
        (6_000, 1_000, 1000, 2, 6_000, 6_000),
    ],
)
def test_the_reviewed_price_by_hand(price, fair, paid, heartbeats, floor, new):
    assert review(price, fair, paid, heartbeats, floor) == new


def test_a_declined_proposal_delays_no_other():
    env = energy_lab()
    argue(env, Verb.SCREEN, fair=9_000, uses=50)
    while not take(env, Verb.REST)[1]["reviewed"][Verb.SCREEN]:
        pass
    assert argue(env, Verb.SCREEN)[1]["review_at"] == 24


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
