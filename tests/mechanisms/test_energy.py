"""Energy: the price list of the world by hand, every multiplier alone and together, every boundary from both sides."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solvent.lab.mechanisms.energy import (
    CEILING,
    EnergyParams,
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

RULES = energy_rules(LabParams(energy=EnergyParams(enabled=True, start=10.0, regeneration=10.0, slots=6)))


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
    assert preset("energy").energy.base_cost(verb) == COSTS[verb]


@pytest.mark.parametrize("verb", COSTS)
def test_base_costs_lie_within_floor_and_ceiling(verb):
    energy = preset("energy").energy
    assert energy.floor(verb) <= energy.base_cost(verb) <= CEILING


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


@given(st.lists(st.booleans(), max_size=12))
def test_the_record_holds_the_last_four_uses_and_no_more(uses):
    record = 0
    for failed in uses:
        record = remember_use(record, failed)
    assert record == sum(failed << age for age, failed in enumerate(reversed(uses[-4:])))
    assert failed_uses(record) == sum(uses[-4:])
    assert bool(error_prone(record)) == (sum(uses[-4:]) >= 2)
