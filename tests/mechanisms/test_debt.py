"""Epistemic debt: the worked numbers of the source document by hand, and every boundary from both sides."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solvent.lab.codes import EndReason
from solvent.lab.mechanisms.debt import (
    ACTION_BLOCKED,
    BUDGET_EXCEEDED,
    NOT_REFUSED,
    DebtParams,
    debt_rules,
    interest,
    licence_credit,
    multiplier,
    repayment,
    should_refuse,
    wells_charged,
)
from solvent.lab.params import LabParams, preset
from solvent.lab.settings import ParamError
from solvent.lab.verbs import Verb
from tests.labs import ABOVE, find, open_lab, put, take

PLENTY = 100_000


def rules(**changes):
    return debt_rules(LabParams.from_mapping({"debt": changes}, base=preset("document")))


DEFAULT, TWO_TIER = debt_rules(LabParams()), rules(inflation="two_tier")
RULES = {"default": DEFAULT, "document": rules(), "two_tier": TWO_TIER}


def reason(rule_set, debt, base, left, calibration=False):
    return should_refuse(rule_set, debt, base, left, calibration)[0]


def flags(rule_set, debt, base, left, calibration=False):
    """(by threshold, by cost)."""
    return tuple(bool(flag) for flag in should_refuse(rule_set, debt, base, left, calibration)[2:])


def test_binary_fractions_charge_no_well():
    # 100 * (1 + 0.15 * 1.6) is 124.00000000000001 in binary: 124 wells are charged, not 125.
    assert wells_charged(100 * multiplier(DEFAULT, 1.60, 100)) == 124
    assert [wells_charged(cost) for cost in (0.0, 124.0, 124.0 + 1e-12, 124.01)] == [0, 124, 124, 125]
    assert wells_charged(1e300) > PLENTY


@pytest.mark.parametrize(
    ("claim", "lowest", "now", "licence"),
    [
        (1.0, 3.0, 2.5, 0.5),  # gained less than claimed: the gain
        (0.25, 3.0, 2.0, 0.25),  # gained more: the claim
        (0.0, 3.0, 1.0, 0.0),  # claims buy licence; no claim, none
        (1.0, 2.0, 2.5, 0.0),  # a gain above the lowest entropy so far is noise undone
    ],
)
def test_licence_is_claimed_and_gained(claim, lowest, now, licence):
    assert licence_credit(claim, lowest, now) == licence


def test_each_plate_repays_by_its_wells():
    repaid = [repayment(rules(repay_per_well=0.06), wells) for wells in (8, 12, 24)]
    assert repaid == pytest.approx([0.48, 0.72, 1.44])


def test_interest_stops_at_its_cap():
    growing = rules(interest=0.08, interest_cap=3.0)
    grown = [interest(growing, debt) for debt in (0.0, 1.0, 2.5, 2.9, 3.0, 5.0)]
    assert grown == pytest.approx([0.0, 0.08, 0.2, 0.1, 0.0, 0.0])


def test_debt_that_is_only_tracked_bears_no_interest():
    assert interest(rules(interest=0.08, enforced=False), 1.0) == 0.0


@pytest.mark.parametrize("cap", [None, 1.9])
def test_interest_needs_a_cap_above_the_threshold(cap):
    with pytest.raises(ParamError, match=rf"interest_cap: got {cap}; allowed: at least the threshold 2"):
        DebtParams(interest=0.01, interest_cap=cap)
    DebtParams(interest=0.0, interest_cap=cap)


@pytest.mark.parametrize(("threshold", "cap"), [(1.0, 4.0), (4.0, 4.0), (8.0, 8.0)])
def test_a_cap_that_is_not_given_follows_the_threshold(threshold, cap):
    params = LabParams.from_mapping({"debt": {"threshold": threshold}})
    assert params.debt.interest_cap == cap
    assert LabParams.from_mapping(params.to_mapping()) == params


def test_a_cap_follows_the_threshold_through_every_change():
    high = DebtParams(threshold=8.0)
    assert high.replace(threshold=1.0) == DebtParams(threshold=1.0)
    with pytest.raises(ParamError, match=r"interest_cap: got 4\.0; allowed: at least the threshold 8"):
        DebtParams(interest_cap=4.0).replace(threshold=8.0)


@pytest.mark.parametrize("rule_set", RULES.values(), ids=RULES)
def test_two_bits_are_allowed_and_no_more(rule_set):
    for base in (0, 8, 48):  # publishing (no wells) is no calibration
        assert reason(rule_set, 2.0, base, PLENTY) == NOT_REFUSED
        assert reason(rule_set, ABOVE, base, PLENTY) == ACTION_BLOCKED
        assert not flags(rule_set, ABOVE, base, PLENTY, True)[0]


@pytest.mark.parametrize("debt", [0.0, 0.4, 1.5, 1.6, 2.0])
@pytest.mark.parametrize("base", [8, 12, 48, 100])
def test_all_wells_left_suffice(base, debt):
    cost = math.ceil(round(base * (1 + 0.15 * debt), 9))
    for calibration in (False, True):
        assert flags(DEFAULT, debt, base, cost, calibration) == (False, False)
        assert reason(DEFAULT, debt, base, cost - 1, calibration) == BUDGET_EXCEEDED


def test_tracked_debt_changes_nothing():
    free = rules(enforced=False)
    for debt in (0.0, 2.5, 50.0):
        assert multiplier(free, debt, 48) == 1.0
        assert should_refuse(free, debt, 48, 48, False)[:2] == (NOT_REFUSED, 48.0)
        assert reason(free, debt, 48, 47) == BUDGET_EXCEEDED  # wells that aren't there, debt or no debt


@pytest.mark.parametrize(
    ("debt", "wells", "caused"),
    [
        (2.5, 384, True),  # blocked by the threshold alone
        (1.0, 50, True),  # 48 wells cost 56
        (1.0, 40, False),  # 48 wells were never there
        (2.5, 40, False),
    ],
)
def test_refusal_tells_whether_debt_caused_it(debt, wells, caused):
    env = open_lab(detailed_info=True)
    put(env, debt=debt, wells=wells)
    info, step, lab = take(env, Verb.DOSE_RESPONSE)
    assert info["refusal"].startswith("epistemic_debt_")
    assert info["caused_by_debt"] == bool(step["caused_by_debt"]) == caused
    assert lab["refusals_by_debt"] == int(caused)
    assert lab["wells"] == wells


def test_bankrupt_without_an_affordable_calibration():
    for wells, ends in ((11, False), (10, True)):  # 8 wells at 2 bits and a little cost 10.4
        env = open_lab()
        put(env, debt=ABOVE, wells=wells)
        *_, terminated, _, info = env.step(find(env, Verb.REST))
        assert terminated is ends
        assert info["episode_summary"]["end_reason"] == ("bankrupt" if ends else "running")


def test_the_document_has_no_bankruptcy_and_no_debt_of_findings():
    env = open_lab(base="document")
    put(env, experiments=1, licence=0.0)
    info, *_ = take(env, Verb.PUBLISH_PUBLIC, 0, confidence=0.95)
    assert info["cost_debt"] == 0.0
    put(env, debt=ABOVE, wells=10)
    env.step(find(env, Verb.REST))
    assert env.get_state()["end_reason"] == EndReason.EXHAUSTED


bits = st.floats(0.0, 50.0, allow_nan=False)
rule_sets = st.sampled_from(sorted(RULES))


@given(rule_sets, bits, bits, st.integers(0, 400))
def test_more_debt_is_never_cheaper(name, debt, more, base):
    before = base * multiplier(RULES[name], debt, base)
    assert base <= before <= base * multiplier(RULES[name], debt + more, base)
