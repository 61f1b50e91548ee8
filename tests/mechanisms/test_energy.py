"""Energy: the price list of the world by hand, every multiplier alone and together, every boundary from both sides."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solvent.lab.mechanisms.energy import (
    DIMENSIONS,
    HIGHEST,
    MANY_FAILURES,
    MOST,
    REMEMBERED_USES,
    WEIGHTS,
    EnergyParams,
    PriceParams,
    RatingParams,
    base_cost,
    effective_cost,
    energy_rules,
    error_prone,
    failed_uses,
    hour_of,
    leakage,
    multiplier,
    regenerate,
    remember_use,
    within_hours,
)
from solvent.lab.params import LabParams, preset
from solvent.lab.settings import UNIT, in_thousandths

RULES = energy_rules(
    LabParams(energy=EnergyParams(enabled=True, start=10.0, regeneration=10.0, cap=20.0, slots=6))
)


def with_factors(**factors):
    """The rules with factors that settings can't have."""
    rules = RULES.copy()
    for name, factor in factors.items():
        rules[name] = factor
    return rules


FLAGS = list(itertools.product((False, True), repeat=4))

# World, section 2.
COSTS = {
    "rest": 0,
    "reflect": 2,
    "propose": 0,
    "dmso": 1,
    "baseline": 2,
    "calibration": 2,
    "screen": 4,
    "dose_response": 6,
    "publish_public": 7,
}

# -- base costs ----------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", COSTS)
def test_the_base_costs_of_the_world_follow_from_the_ratings(verb):
    assert base_cost(getattr(RatingParams(), verb)) == COSTS[verb]
    assert preset("energy").energy.base_cost(verb) == COSTS[verb]


def test_a_price_stands_in_for_the_ratings():
    energy = EnergyParams(prices=PriceParams(screen=4.5))
    assert energy.base_cost("screen") == 4.5
    assert energy.base_cost("dose_response") == 6.0


def test_three_dimensions_weigh_high_two_weigh_medium():
    assert DIMENSIONS == ("consequence", "reversibility", "exposure", "attention", "commitment")
    high, medium = set(WEIGHTS[:3]), set(WEIGHTS[3:])
    assert len(high) == len(medium) == 1
    assert high.pop() > medium.pop() > 0
    alone = [base_cost([4.0 if i == j else 0.0 for j in range(5)]) for i in range(5)]
    assert alone == [2.0, 2.0, 2.0, 1.0, 1.0]
    assert sum(alone) == MOST


def test_the_lowest_and_the_highest_cost():
    assert base_cost([0.0] * 5) == 0.0
    assert base_cost([HIGHEST] * 5) == MOST == 8.0  # the top of "send public" in the source


ratings = st.lists(st.floats(0.0, HIGHEST), min_size=5, max_size=5)


@given(ratings, st.integers(0, 4), st.floats(0.125, HIGHEST))
def test_a_higher_rating_is_never_cheaper_and_is_dearer_by_its_weight(rated, which, more):
    lower, higher = list(rated), list(rated)
    lower[which], higher[which] = 0.0, more
    assert base_cost(higher) > base_cost(lower)
    assert base_cost(higher) - base_cost(lower) == pytest.approx(MOST * WEIGHTS[which] * more / 32)
    assert 0.0 <= base_cost(rated) <= MOST + 1e-9


def test_another_number_of_ratings_is_an_error():
    with pytest.raises(ValueError, match=r"shorter|longer"):
        base_cost([1.0] * 4)


# -- energy is counted in thousandths ------------------------------------------------------------


@pytest.mark.parametrize(
    ("energy", "counted"), [(0.0, 0), (1.0, 1000), (0.0004, 0), (0.0006, 1), (2.3456, 2346), (20.0, 20_000)]
)
def test_energy_is_whole_thousandths(energy, counted):
    assert in_thousandths(energy) == counted
    assert type(in_thousandths(energy)) is int
    assert UNIT == 1000


def test_the_rules_are_the_parameters_in_thousandths():
    assert (RULES.start, RULES.regeneration, RULES.cap, RULES.slots) == (10_000, 10_000, 20_000, 6)
    assert (RULES.first_use, RULES.error_rate, RULES.late_social, RULES.similar) == (1.5, 1.5, 2.0, 1.2)
    assert (RULES.start_hour, RULES.present_from, RULES.present_until) == (6, 8, 24)
    assert (RULES.late_from, RULES.late_until) == (22, 7)
    assert RULES.enabled
    off = energy_rules(LabParams())
    assert not off.enabled
    assert off.slots == 1  # a heartbeat is one action


# -- multipliers ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flags", "factor"),
    [
        ((False, False, False, False), 1.0),
        ((True, False, False, False), 1.5),
        ((False, True, False, False), 1.5),
        ((False, False, True, False), 2.0),
        ((False, False, False, True), 1.2),
        ((True, True, False, False), 2.25),
        ((True, False, True, False), 2.5),  # 3.0
        ((False, True, True, False), 2.5),  # 3.0
        ((False, False, True, True), 2.4),
        ((False, True, False, True), 1.8),
        ((True, True, True, True), 2.5),  # 5.4
    ],
)
def test_each_multiplier_alone_and_the_clipped_product(flags, factor):
    assert multiplier(RULES, *flags) == pytest.approx(factor, abs=1e-12)


@pytest.mark.parametrize("flags", FLAGS)
def test_nothing_makes_an_action_cheaper_than_its_base(flags):
    # Discounts can't be set; if they could, the bound would hold all the same.
    discounts = with_factors(first_use=0.1, error_rate=0.5, late_social=0.9, similar=0.01)
    assert multiplier(discounts, *flags) == 1.0
    assert 1.0 <= multiplier(RULES, *flags) <= 2.5


@pytest.mark.parametrize("flags", FLAGS)
def test_the_cap_is_the_only_upper_bound(flags):
    product = math.prod(f for f, on in zip((1.5, 1.5, 2.0, 1.2), flags, strict=True) if on)
    assert multiplier(RULES, *flags) == pytest.approx(min(product, 2.5), abs=1e-12)


@pytest.mark.parametrize(
    ("base", "factor", "cost"),
    [
        (0, 2.5, 0),
        (7000, 1.0, 7000),
        (7000, 2.5, 17_500),
        (1001, 1.5, 1502),  # 1501.5: halves up
        (1003, 1.5, 1505),  # 1504.5
        (1001, 1.2, 1201),  # 1201.2
        (1003, 1.2, 1204),  # 1203.6
    ],
)
def test_the_effective_cost_is_whole_thousandths(base, factor, cost):
    assert effective_cost(base, factor) == cost
    assert type(effective_cost(base, factor)) is int


@given(st.integers(0, 1_000_000), st.tuples(*[st.booleans()] * 4))
def test_the_effective_cost_is_never_below_the_base_and_never_above_the_bound(base, flags):
    cost = effective_cost(base, multiplier(RULES, *flags))
    assert base <= cost <= base * 2.5 + 0.5


# -- regeneration --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("energy", "income", "left", "lost"),
    [
        (0, 10_000, 10_000, 0),
        (9_999, 10_000, 19_999, 0),
        (10_000, 10_000, 20_000, 0),
        (10_001, 10_000, 20_000, 1),
        (20_000, 10_000, 20_000, 10_000),
        (20_000, 0, 20_000, 0),
        (5, 50_000, 20_000, 30_005),
    ],
)
def test_what_a_heartbeat_brings_is_carried_over_up_to_the_cap(energy, income, left, lost):
    assert regenerate(energy, income, 20_000) == (left, lost)


@given(st.integers(0, 10**9), st.integers(0, 10**9), st.integers(1, 10**9))
def test_regeneration_is_exact_in_integers(energy, income, cap):
    energy = min(energy, cap)
    left, lost = regenerate(energy, income, cap)
    assert left == energy + income - lost
    assert energy <= left <= cap
    assert lost == 0 or left == cap
    assert 0 <= lost <= income


@pytest.mark.parametrize(
    ("energy", "leak", "leaked"), [(0, 0.1, 0), (9, 0.1, 0), (10_005, 0.1, 1_000), (20_000, 0.0, 0)]
)
def test_leakage_by_hand(energy, leak, leaked):
    assert leakage(energy, leak) == leaked


# -- hours ---------------------------------------------------------------------------------------


def test_the_day_starts_at_six_and_has_24_hours():
    assert [hour_of(6, beat) for beat in (0, 1, 17, 18, 24, 48)] == [6, 7, 23, 0, 6, 6]
    assert {hour_of(23, beat) for beat in range(24)} == set(range(24))


@pytest.mark.parametrize(
    ("begins", "ends", "inside"),
    [
        (8, 24, set(range(8, 24))),
        (22, 7, {22, 23, 0, 1, 2, 3, 4, 5, 6}),
        (0, 24, set(range(24))),
        (9, 9, set()),
        (24, 7, set(range(7))),
        (0, 0, set()),
        (23, 0, {23}),
    ],
)
def test_hours_begin_inclusively_and_end_exclusively_over_midnight_where_they_must(begins, ends, inside):
    assert {hour for hour in range(24) if within_hours(hour, begins, ends)} == inside


# -- the record of uses --------------------------------------------------------------------------


@pytest.mark.parametrize("record", range(16))
def test_half_or_more_of_the_last_four(record):
    assert (REMEMBERED_USES, MANY_FAILURES) == (4, 2)
    assert failed_uses(record) == record.bit_count()
    assert bool(error_prone(record)) == (record.bit_count() >= 2)


@given(st.lists(st.booleans(), max_size=12))
def test_the_record_holds_the_last_four_uses_and_no_more(uses):
    record = 0
    for failed in uses:
        record = remember_use(record, failed)
    assert record == sum(failed << age for age, failed in enumerate(reversed(uses[-4:])))
    assert failed_uses(record) == sum(uses[-4:])
    assert bool(error_prone(record)) == (sum(uses[-4:]) >= 2)
