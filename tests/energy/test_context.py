"""The effective cost outside of the environment is the environment's."""

from __future__ import annotations

import dataclasses
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solvent import LabParams
from solvent.energy import EnergyContext, effective_cost
from solvent.lab.mechanisms import energy as rule
from solvent.lab.mechanisms.energy import EnergyParams
from solvent.lab.tables import energy_rules

FLAGS = list(itertools.product([False, True], repeat=4))
pytestmark = pytest.mark.plain


def context(first, errors, late, similar):
    return EnergyContext(
        first_use=first,
        error_rate=0.5 if errors else None,
        hour=23 if late else 12,
        social=True,
        recent_similar=similar,
    )


@pytest.mark.parametrize("flags", FLAGS)
def test_it_is_the_environments_arithmetic(flags):
    rules = energy_rules(LabParams())
    for thousandths in [*range(0, 8001, 7), 1, 333, 12_999]:
        cost, _ = effective_cost(thousandths / 1000, context(*flags))
        assert round(cost * 1000) == rule.effective_cost(thousandths, rule.multiplier(rules, *flags))


@pytest.mark.parametrize(
    ("flags", "cost", "factors"),
    [
        ((0, 0, 0, 0), 4.0, {}),
        ((1, 0, 0, 0), 6.0, {"first_use": 1.5}),
        ((0, 1, 0, 0), 6.0, {"error_rate": 1.5}),
        ((0, 0, 1, 0), 8.0, {"late_social": 2.0}),
        ((0, 0, 0, 1), 4.8, {"similar": 1.2}),
        ((1, 1, 0, 0), 9.0, {"first_use": 1.5, "error_rate": 1.5}),
        ((1, 0, 1, 0), 10.0, {"first_use": 1.5, "late_social": 2.0}),
    ],
)
def test_by_hand(flags, cost, factors):
    clipped = flags == (1, 0, 1, 0)
    assert effective_cost(4.0, context(*map(bool, flags))) == (cost, factors | {"clipped": clipped})


@given(base=st.floats(0.0, 1000.0), flags=st.sampled_from(FLAGS))
def test_no_situation_makes_it_cheaper_and_all_are_bounded(base, flags):
    cost, factors = effective_cost(base, context(*flags))
    assert round(base, 3) - 1e-3 <= cost <= 2.5 * base + 2e-3
    assert factors["clipped"] in (True, False)


@pytest.mark.parametrize("hour", range(24))
def test_late_is_ten_to_seven_and_for_social_actions_alone(hour):
    late = hour >= 22 or hour < 7
    assert ("late_social" in effective_cost(1.0, EnergyContext(hour=hour, social=True))[1]) == late
    assert "late_social" not in effective_cost(1.0, EnergyContext(hour=hour))[1]
    assert "late_social" not in effective_cost(1.0, EnergyContext(social=True))[1]


@pytest.mark.parametrize(
    ("uses", "many"),
    [
        ((), False),
        ((True,), False),
        ((True, True), True),
        ((True, True, False, False), True),
        ((True, True, False, False, False), False),
        ((False, True, False, True), True),
    ],
)
def test_two_of_the_last_four_uses(uses, many):
    assert EnergyContext(recent_failures=uses).errors is many


def test_other_numbers_are_followed():
    params = EnergyParams(first_use=2.0, multiplier_cap=1.75, cap=40.0)
    assert effective_cost(4.0, EnergyContext(first_use=True), params) == (
        7.0,
        {"first_use": 2.0, "clipped": True},
    )
    assert energy_rules(LabParams(energy=params)).multiplier_cap == 1.75


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"error_rate": 1.5}, "error_rate: got 1.5; allowed: a number from 0 to 1"),
        ({"error_rate": float("nan")}, "error_rate: got nan"),
        ({"error_rate": 0.5, "recent_failures": (True,)}, "allowed: one of the two"),
        ({"hour": 24}, "hour: got 24; allowed"),
        ({"hour": 2.5}, "hour: got 2.5; allowed: a whole number"),
    ],
)
def test_impossible_situations(arguments, says):
    with pytest.raises(ValueError, match=says):
        EnergyContext(**arguments)


@pytest.mark.parametrize("base", [float("nan"), -1.0, float("inf"), "4", 1e7])
def test_impossible_bases(base):
    with pytest.raises(ValueError, match=r"^base: got"):
        effective_cost(base)


def test_a_situation_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        EnergyContext().first_use = True
    assert hash(EnergyContext(recent_failures=[True])) == hash(EnergyContext(recent_failures=(True,)))
