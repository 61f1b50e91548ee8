"""Epistemic debt: the worked numbers of the source document by hand, and every boundary from both sides."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from solvent.lab.mechanisms.debt import (
    ACTION_BLOCKED,
    BUDGET_EXCEEDED,
    NOT_REFUSED,
    RESERVE,
    DebtParams,
    decide,
    interest,
    is_bankrupt,
    licence_credit,
    multiplier,
    overclaim,
    repayment,
    wells_charged,
)
from solvent.lab.params import PRESETS, LabParams
from solvent.lab.settings import ParamError
from solvent.lab.tables import debt_rules
from tests.labs import by_hand

DEFAULT = debt_rules(LabParams())
SOURCE = debt_rules(PRESETS["source"])
TWO_TIER = debt_rules(PRESETS["two_tier"])
RULES = {"default": DEFAULT, "source": SOURCE, "two_tier": TWO_TIER}
PLENTY = 100_000


def rules(**changes):
    """Rules by hand with changes: without interest, debt has no cap to keep a threshold under."""
    return debt_rules(LabParams.from_mapping({"debt": changes}, base=by_hand()))


def reason(rule_set, debt, base, left, calibration=False):
    return decide(rule_set, debt, base, left, calibration)[0]


def flags(rule_set, debt, base, left, calibration=False):
    """(by threshold, by cost, by reserve)."""
    return tuple(bool(flag) for flag in decide(rule_set, debt, base, left, calibration)[2:])


def inflated(rule_set, debt, base, calibration=False):
    return base * multiplier(rule_set, debt, base, calibration)


# -- worked numbers ----------------------------------------------------------------------------


def test_a_hundred_wells_at_1_60_bits_cost_124_linear():
    assert inflated(DEFAULT, 1.60, 100) == pytest.approx(124.0, abs=1e-9)


def test_a_whole_number_of_wells_is_not_rounded_up_by_binary_fractions():
    # 100 * (1 + 0.15 * 1.6) is 124.00000000000001 in binary: 124 wells are charged, not 125.
    assert wells_charged(inflated(DEFAULT, 1.60, 100)) == 124
    assert wells_charged(124.0 + 1e-12) == 124
    assert wells_charged(124.0) == 124
    assert wells_charged(124.01) == 125
    assert wells_charged(0.0) == 0
    assert wells_charged(1e300) > PLENTY  # not what is left of it in an integer


def test_a_hundred_wells_at_1_60_bits_cost_128_two_tier():
    cost = inflated(TWO_TIER, 1.60, 100)
    assert cost == pytest.approx(1.032 * 1.24 * 100, abs=1e-9)
    assert cost == pytest.approx(127.968, abs=1e-9)  # the document's "128.0"
    assert wells_charged(cost) == 128


def test_two_tier_grows_with_the_size_of_the_plate():
    # (1 + 0.02 * 1) * (1 + 0.15 * base / 100 * 1)
    assert multiplier(TWO_TIER, 1.0, 10, False) == pytest.approx(1.02 * 1.015)
    assert multiplier(TWO_TIER, 1.0, 200, False) == pytest.approx(1.02 * 1.30)


@pytest.mark.parametrize(("debt", "factor"), [(0.0, 1.0), (1.0, 1.15), (2.0, 1.30), (3.0, 1.45)])
def test_the_documents_inflation_by_whole_bits(debt, factor):
    assert multiplier(SOURCE, debt, 48, False) == pytest.approx(factor, abs=1e-12)
    assert multiplier(SOURCE, debt, 8, True) == pytest.approx(factor, abs=1e-12)


def test_sixty_wells_at_1_5_bits_cost_73_5_and_are_refused_with_70_left():
    for rule_set in (DEFAULT, SOURCE):
        code, cost, by_threshold, by_cost, _ = decide(rule_set, 1.5, 60, 70, False)
        assert cost == pytest.approx(73.5, abs=1e-12)
        assert (code, bool(by_threshold), bool(by_cost)) == (BUDGET_EXCEEDED, False, True)


def test_the_documents_example_of_48_wells_at_2_15_bits():
    code, cost, by_threshold, by_cost, _ = decide(SOURCE, 2.15, 48, 200, False)
    assert cost == pytest.approx(63.48, abs=1e-12)
    assert (code, bool(by_threshold), bool(by_cost)) == (ACTION_BLOCKED, True, False)


def test_the_documents_escape_hatch_a_calibration_runs_at_6_bits():
    for rule_set in RULES.values():
        for base in (8, 12, 24):
            assert reason(rule_set, 6.0, base, 200, True) == NOT_REFUSED


def test_a_calibrations_multiplier_is_capped_at_1_5_and_only_a_calibrations():
    # 1 + 0.15 d reaches 1.5 at 10 / 3 bits.
    assert multiplier(DEFAULT, 3.0, 8, True) == pytest.approx(1.45)
    assert multiplier(DEFAULT, 4.0, 8, True) == 1.5
    assert multiplier(DEFAULT, 400.0, 8, True) == 1.5
    assert multiplier(DEFAULT, 4.0, 8, False) == pytest.approx(1.6)
    assert multiplier(TWO_TIER, 400.0, 24, True) == 1.5
    assert multiplier(SOURCE, 4.0, 8, True) == pytest.approx(1.6)


# -- claims, licence, repayment ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("claim", "gain", "debt"),
    [
        (1.0, 0.0, 1.0),
        (1.0, 0.25, 0.75),
        (1.0, 1.0, 0.0),  # accurate
        (0.5, 2.0, 0.0),  # underclaimed: never subtracts
        (0.0, 0.0, 0.0),
        (0.0, -0.5, 0.5),  # what was believed before was lost
        (0.5, -0.5, 1.0),
    ],
)
def test_debt_is_what_was_claimed_and_not_gained(claim, gain, debt):
    assert overclaim(claim, gain) == debt


@pytest.mark.parametrize(
    ("claim", "lowest", "now", "licence"),
    [
        (1.0, 3.0, 2.5, 0.5),  # gained less than claimed: the gain
        (0.25, 3.0, 2.0, 0.25),  # gained more: the claim
        (0.0, 3.0, 1.0, 0.0),  # claims buy licence; no claim, none
        (1.0, 2.0, 2.5, 0.0),  # a gain above the lowest entropy so far is noise undone
        (1.0, 2.0, 2.0, 0.0),
    ],
)
def test_licence_is_what_was_claimed_and_gained_below_the_lowest_entropy(claim, lowest, now, licence):
    assert licence_credit(DEFAULT, claim, lowest, now, True) == licence


@pytest.mark.parametrize(("share", "licence"), [(0.0, 0.0), (0.5, 0.375), (1.0, 0.75)])
def test_an_uncalibrated_lot_earns_a_share_of_the_licence(share, licence):
    assert licence_credit(rules(uncalibrated_licence=share), 0.75, 3.0, 2.0, False) == licence
    assert licence_credit(rules(uncalibrated_licence=share), 0.75, 3.0, 2.0, True) == 0.75


def test_licence_by_gains_needs_no_claim():
    assert licence_credit(rules(licence="gained"), 0.0, 3.0, 2.5, True) == 0.5
    assert licence_credit(rules(licence="gained"), 0.25, 3.0, 2.0, True) == 1.0
    assert licence_credit(rules(licence="gained"), 1.0, 2.0, 2.5, True) == 0.0


@pytest.mark.parametrize(
    ("learnt", "repaid"),
    [
        (-1.0, 0.4),  # learnt nothing: the base alone
        (0.0, 0.4),
        (0.4, 0.7),  # 0.4 + 0.75 * 0.4
        (0.8, 1.0),  # 0.4 + 0.6: the most
        (0.79, 0.9925),
        (5.0, 1.0),
    ],
)
def test_repayment_by_hand(learnt, repaid):
    assert repayment(DEFAULT, learnt) == pytest.approx(repaid, abs=1e-12)


def test_each_clip_of_the_repayment_binds_by_itself():
    inner = rules(repay_base=0.25, repay_per_bit=0.75, repay_learnt_max=0.5, repay_max=100.0)
    assert repayment(inner, 10.0) == 0.75
    assert repayment(inner, 0.5) == 0.25 + 0.375
    outer = rules(repay_base=0.25, repay_per_bit=0.75, repay_learnt_max=100.0, repay_max=0.6)
    assert repayment(outer, 10.0) == 0.6
    assert repayment(outer, 0.4) == pytest.approx(0.55)
    assert repayment(rules(repay_base=2.0), 0.0) == 1.0


# -- refusals, at and around each boundary -------------------------------------------------------


@pytest.mark.parametrize("name", RULES)
def test_two_bits_exactly_are_allowed_and_the_next_float_is_not(name):
    rule_set = RULES[name]
    above = float(np.nextafter(2.0, 3.0))
    for base in (0, 8, 48):  # publishing (no wells) is no calibration
        assert reason(rule_set, 2.0, base, PLENTY) == NOT_REFUSED
        assert reason(rule_set, above, base, PLENTY) == ACTION_BLOCKED
        assert flags(rule_set, above, base, PLENTY)[0]
    for base in (8, 12, 24):
        assert reason(rule_set, above, base, PLENTY, True) == NOT_REFUSED
        assert not flags(rule_set, above, base, PLENTY, True)[0]


def test_another_threshold_moves_the_boundary():
    strict = rules(threshold=0.5)
    assert reason(strict, 0.5, 8, PLENTY) == NOT_REFUSED
    assert reason(strict, float(np.nextafter(0.5, 1.0)), 8, PLENTY) == ACTION_BLOCKED
    none = rules(threshold=0.0)
    assert reason(none, 0.0, 8, PLENTY) == NOT_REFUSED
    assert reason(none, 5e-324, 8, PLENTY) == ACTION_BLOCKED


@pytest.mark.parametrize("debt", [0.0, 0.4, 1.0, 1.5, 1.6, 2.0])
@pytest.mark.parametrize("base", [8, 12, 24, 48, 60, 100])
def test_a_cost_of_all_wells_left_is_allowed_and_one_well_less_is_not(base, debt):
    cost = math.ceil(round(base * (1 + 0.15 * debt), 9))
    assert reason(SOURCE, debt, base, cost) == NOT_REFUSED
    assert flags(SOURCE, debt, base, cost) == (False, False, False)
    assert reason(SOURCE, debt, base, cost - 1) == BUDGET_EXCEEDED
    assert flags(SOURCE, debt, base, cost - 1) == (False, True, False)


@pytest.mark.parametrize("debt", [0.0, 0.4, 1.0, 1.5, 1.6, 2.0])
@pytest.mark.parametrize("base", [8, 48, 100])
def test_the_reserve_is_the_inflated_cost_of_the_cheapest_calibration(base, debt):
    cost = math.ceil(round(base * (1 + 0.15 * debt), 9))
    recovery = math.ceil(round(8 * (1 + 0.15 * debt), 9))  # dmso, 8 wells
    assert reason(DEFAULT, debt, base, cost + recovery) == NOT_REFUSED
    assert reason(DEFAULT, debt, base, cost + recovery - 1) == RESERVE
    assert flags(DEFAULT, debt, base, cost + recovery - 1) == (False, False, True)
    assert reason(DEFAULT, debt, base, cost) == RESERVE
    assert reason(DEFAULT, debt, base, cost - 1) == BUDGET_EXCEEDED
    assert reason(SOURCE, debt, base, cost + recovery - 1) == NOT_REFUSED


def test_the_reserve_keeps_back_the_capped_cost():
    # Far in debt, under a threshold that allows it: 8 wells at the cap are 12, not 8 * 2.5 = 20.
    lax = rules(threshold=100.0)
    assert inflated(lax, 10.0, 8) == 20.0
    assert reason(lax, 10.0, 8, 20 + 12) == NOT_REFUSED
    assert reason(lax, 10.0, 8, 20 + 11) == RESERVE


@pytest.mark.parametrize("debt", [0.0, 1.0, 2.0, 3.0, 10.0])
def test_a_calibration_is_held_to_neither_threshold_nor_reserve(debt):
    cost = math.ceil(round(8 * min(1.5, 1 + 0.15 * debt), 9))
    assert reason(DEFAULT, debt, 8, cost, True) == NOT_REFUSED
    assert flags(DEFAULT, debt, 8, cost, True) == (False, False, False)
    assert reason(DEFAULT, debt, 8, cost - 1, True) == BUDGET_EXCEEDED


@pytest.mark.parametrize("debt", [0.0, 1.0, 2.0])
def test_publishing_uses_no_wells_and_is_held_to_the_threshold_alone(debt):
    assert reason(DEFAULT, debt, 0, 0) == NOT_REFUSED
    assert flags(DEFAULT, debt, 0, 0) == (False, False, False)
    assert reason(DEFAULT, 2.5, 0, PLENTY) == ACTION_BLOCKED


def test_the_first_reason_that_holds_is_the_reason_and_all_flags_are_recorded():
    assert reason(DEFAULT, 2.5, 48, 10) == ACTION_BLOCKED
    assert flags(DEFAULT, 2.5, 48, 10) == (True, True, True)
    assert reason(DEFAULT, 2.5, 48, 67) == ACTION_BLOCKED  # 66 wells, 11 to keep
    assert flags(DEFAULT, 2.5, 48, 67) == (True, False, True)
    assert reason(DEFAULT, 1.0, 48, 10) == BUDGET_EXCEEDED
    assert flags(DEFAULT, 1.0, 48, 10) == (False, True, True)
    assert reason(DEFAULT, 1.0, 48, 60) == RESERVE
    assert flags(DEFAULT, 1.0, 48, 60) == (False, False, True)
    assert flags(DEFAULT, 2.5, 48, PLENTY) == (True, False, False)


def test_without_enforcement_debt_changes_no_cost_and_refuses_nothing():
    free = rules(enforced=False)
    for debt in (0.0, 2.5, 50.0):
        assert multiplier(free, debt, 48, False) == 1.0
        assert multiplier(free, debt, 8, True) == 1.0
        assert decide(free, debt, 48, 48, False)[:2] == (NOT_REFUSED, 48.0)
        assert flags(free, debt, 48, 48) == (False, False, False)
        assert reason(free, debt, 48, 47) == BUDGET_EXCEEDED  # wells that aren't there, debt or no debt
        assert not is_bankrupt(free, debt, 0, 1000)


# -- bankruptcy ----------------------------------------------------------------------------------


def test_bankrupt_is_above_the_threshold_with_no_calibration_affordable():
    above = float(np.nextafter(2.0, 3.0))
    cost = 11  # 8 * 1.3 = 10.4
    assert is_bankrupt(DEFAULT, above, cost - 1, 0)
    assert not is_bankrupt(DEFAULT, above, cost, 0)
    assert not is_bankrupt(DEFAULT, 2.0, 0, 0)
    assert is_bankrupt(DEFAULT, 50.0, 11, 0)  # capped at 12
    assert not is_bankrupt(DEFAULT, 50.0, 12, 0)
    assert is_bankrupt(SOURCE, 50.0, 67, 0)  # 8 * 8.5 = 68, no cap
    assert not is_bankrupt(SOURCE, 50.0, 68, 0)


def test_bankrupt_after_refusals_where_that_is_asked_for():
    third = rules(bankruptcy_after_refusals=3)
    assert not is_bankrupt(third, 0.0, 384, 2)
    assert is_bankrupt(third, 0.0, 384, 3)
    assert is_bankrupt(third, 0.0, 384, 4)
    assert not is_bankrupt(DEFAULT, 0.0, 384, 10_000)


# -- properties ----------------------------------------------------------------------------------

bits = st.floats(0.0, 50.0, allow_nan=False)
rule_sets = st.sampled_from(sorted(RULES))


@given(rule_sets, bits, bits, st.integers(0, 400), st.booleans())
def test_more_debt_never_makes_anything_cheaper(name, debt, more, base, calibration):
    rule_set = RULES[name]
    before = inflated(rule_set, debt, base, calibration)
    assert base <= before <= inflated(rule_set, debt + more, base, calibration)


@given(rule_sets, bits, st.integers(0, 400), st.integers(0, 400), st.booleans())
def test_what_is_allowed_can_be_paid_and_the_reason_is_a_flag(name, debt, base, left, calibration):
    rule_set = RULES[name]
    code, cost, *found = decide(rule_set, debt, base, left, calibration)
    assert (code == NOT_REFUSED) == (not any(found))
    if code != NOT_REFUSED:
        assert code == 1 + [bool(flag) for flag in found].index(True)
    else:
        assert 0 <= wells_charged(cost) <= left
        assert wells_charged(cost) >= base


@given(rule_sets, bits, st.integers(1, 400), st.integers(0, 400))
def test_a_refusal_for_lack_of_wells_stays_one_with_fewer(name, debt, base, left):
    if reason(RULES[name], debt, base, left) != NOT_REFUSED:
        assert reason(RULES[name], debt, base, left // 2) != NOT_REFUSED


@pytest.mark.parametrize(
    ("debt", "grown"),
    [
        (0.0, 0.0),
        (1.0, 0.08),
        (2.5, 0.2),
        (2.9, 0.1),  # only up to the cap
        (3.0, 0.0),
        (5.0, 0.0),  # debt above the cap bears none, and isn't forgiven
    ],
)
def test_interest_by_hand(debt, grown):
    assert interest(rules(interest=0.08, interest_cap=3.0), debt) == pytest.approx(grown)
    assert interest(rules(interest=0.08, enforced=False), debt) == 0.0


@pytest.mark.parametrize(("cap", "got"), [(None, "None"), (1.9, "1.9")])
def test_interest_needs_a_cap_that_lets_debt_pass_the_threshold(cap, got):
    with pytest.raises(ParamError, match=rf"interest_cap: got {got}; allowed: at least the threshold 2"):
        DebtParams(interest=0.01, interest_cap=cap)
    DebtParams(interest=0.0, interest_cap=cap)


@given(st.floats(0.0, 100.0), st.floats(0.0, 1.0), st.floats(2.0, 10.0))
def test_interest_never_carries_debt_over_its_cap(debt, rate, cap):
    grown = interest(rules(interest=rate, interest_cap=cap), debt)
    assert grown >= 0.0
    assert debt + grown <= max(debt, cap) * (1.0 + 1e-12)


@given(st.floats(-20, 20), st.floats(-20, 20))
def test_repayment_is_bounded_and_never_falls_with_what_was_learnt(learnt, more):
    low, high = sorted([repayment(DEFAULT, learnt), repayment(DEFAULT, learnt + abs(more))])
    assert low == repayment(DEFAULT, learnt)
    assert 0.4 <= low <= high <= 1.0
