"""Energy: the price list of the world by hand, every multiplier alone and together, every boundary from both sides."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solvent.lab.mechanisms.energy import (
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


COSTS = {"rest": 0, "reflect": 2, "propose": 0, "dmso": 1, "baseline": 2, "calibration": 2}
COSTS |= {"screen": 4, "dose_response": 6, "publish_public": 7}
"""World, section 2."""


def test_the_base_costs_of_the_world_follow_from_the_ratings():
    energy = preset("energy").energy
    assert {verb: energy.base_cost(verb) for verb in COSTS} == COSTS


@pytest.mark.parametrize(
    ("flags", "factor"),
    [
        ((True, True, False, False), 2.25),
        ((True, False, True, False), 2.5),  # 3.0
        ((False, True, True, False), 2.5),  # 3.0
        ((False, False, True, True), 2.4),
        ((False, True, False, True), 1.8),
        ((True, True, True, True), 2.5),  # 5.4
    ],
)
def test_multipliers_are_multiplied_and_clipped(flags, factor):
    assert multiplier(RULES, *flags) == pytest.approx(factor, abs=1e-12)


def test_the_effective_cost_is_whole_thousandths_and_halves_go_up():
    assert [effective_cost(base, 2.5) for base in (0, 7000)] == [0, 17_500]
    assert [effective_cost(base, 1.5) for base in (1001, 1003)] == [1502, 1505]  # 1501.5, 1504.5
    assert [effective_cost(base, 1.2) for base in (1001, 1003)] == [1201, 1204]  # 1201.2, 1203.6
    assert type(effective_cost(1001, 1.5)) is int


@pytest.mark.parametrize(
    ("energy", "income", "left", "lost"),
    [
        (9_999, 10_000, 19_999, 0),
        (10_000, 10_000, 20_000, 0),
        (10_001, 10_000, 20_000, 1),
        (5, 50_000, 20_000, 30_005),
    ],
)
def test_what_a_heartbeat_brings_is_carried_over_up_to_the_cap(energy, income, left, lost):
    assert regenerate(energy, income, 20_000) == (left, lost)


def test_leakage_by_hand():
    assert [leakage(energy, 0.1) for energy in (0, 9, 10_005)] == [0, 0, 1_000]
    assert leakage(20_000, 0.0) == 0


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
    ],
)
def test_hours_begin_inclusively_and_end_exclusively_over_midnight_where_they_must(begins, ends, inside):
    assert {hour for hour in range(24) if within_hours(hour, begins, ends)} == inside


@given(st.lists(st.booleans(), max_size=12))
def test_the_record_holds_the_last_four_uses_and_no_more(uses):
    record = 0
    for failed in uses:
        record = remember_use(record, failed)
    assert record == sum(failed << age for age, failed in enumerate(reversed(uses[-4:])))
    assert failed_uses(record) == sum(uses[-4:])
    assert bool(error_prone(record)) == (sum(uses[-4:]) >= 2)
