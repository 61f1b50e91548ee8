"""The budget's books balance to the thousandth, whatever is done with it."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solvent import preset
from solvent.energy import EnergyBudget, InsufficientEnergyError

ENERGIES = st.floats(0.0, 50.0)


def test_the_defaults_are_the_labs():
    budget, energy = EnergyBudget(), preset("energy").energy
    assert (budget.start, budget.regeneration, budget.cap) == (energy.start, energy.regeneration, energy.cap)
    assert EnergyBudget.from_params(energy).books == budget.books


def test_a_day():
    budget = EnergyBudget(start=10, regeneration=10, cap=20)
    assert budget.spend(7.0) == 3.0
    assert budget.regenerate() == 10.0
    assert budget.balance == 13.0
    assert budget.regenerate() == 7.0  # 3 are above the cap
    assert budget.balance == 20.0
    assert budget.books == (10_000, 20_000, 3_000, 7_000, 20_000)
    assert budget.regenerate(5) == 0.0
    assert not budget.can_afford(20.001)
    assert budget.can_afford(20.0)
    assert budget.spend(20.0) == 0.0
    assert budget.can_afford(0.0)


def test_more_than_there_is_changes_nothing():
    budget = EnergyBudget(start=6.5, cap=20)
    before = budget.books
    with pytest.raises(
        InsufficientEnergyError, match=r"cost: got 7 energy; allowed: at most 6\.5, what is left"
    ):
        budget.spend(7.0)
    assert budget.books == before


def test_the_error_survives_pickling():
    error = pickle.loads(pickle.dumps(InsufficientEnergyError(7.0, 6.5)))
    assert (error.cost, error.balance) == (7.0, 6.5)


def test_nothing_is_given_back_and_no_rule_changes():
    budget = EnergyBudget()
    assert not hasattr(budget, "refund")
    for name in ("start", "regeneration", "cap", "balance", "books"):
        with pytest.raises(AttributeError):
            setattr(budget, name, 100.0)
    with pytest.raises(AttributeError):
        budget.refund = None


def test_no_cost_is_too_small_to_be_paid():
    budget = EnergyBudget(start=1)
    for _ in range(10):
        budget.spend(0.0001)
    assert budget.books.spent == 10


BAD = [float("nan"), float("inf"), -float("inf"), -1.0, -1e-9, 1e7, 10**400, "5", None, True, [1], 1j]


@pytest.mark.parametrize("bad", BAD, ids=repr)
def test_bad_numbers_are_errors_of_one_line(bad):
    budget = EnergyBudget()
    before = budget.books
    for name, use in (
        ("start", lambda: EnergyBudget(start=bad)),
        ("regeneration", lambda: EnergyBudget(regeneration=bad)),
        ("cap", lambda: EnergyBudget(cap=bad)),
        ("cost", lambda: budget.can_afford(bad)),
        ("cost", lambda: budget.spend(bad)),
        ("heartbeats", lambda: budget.regenerate(bad)),
    ):
        with pytest.raises(ValueError, match=rf"^{name}: got .*allowed: ") as caught:
            use()
        assert "\n" not in str(caught.value)
        assert budget.books == before


def test_a_start_above_the_cap_and_part_of_a_heartbeat():
    with pytest.raises(ValueError, match=r"start: got 21; allowed: at most the cap 20"):
        EnergyBudget(start=21.0, cap=20.0)
    with pytest.raises(ValueError, match="cap: got 0; allowed"):
        EnergyBudget(start=0.0, cap=0.0)
    with pytest.raises(ValueError, match=r"heartbeats: got 0\.5; allowed: a whole number"):
        EnergyBudget().regenerate(0.5)


@given(
    start=st.floats(0.0, 20.0),
    regeneration=ENERGIES,
    deeds=st.lists(st.one_of(ENERGIES, st.integers(0, 3)), max_size=40),
)
def test_start_and_income_less_what_is_lost_and_spent_is_the_balance(start, regeneration, deeds):
    budget = EnergyBudget(start, regeneration, 20.0)
    for deed in deeds:
        if isinstance(deed, int):
            budget.regenerate(deed)
        elif budget.can_afford(deed):
            budget.spend(deed)
        else:
            with pytest.raises(InsufficientEnergyError):
                budget.spend(deed)
        books = budget.books
        assert books.start + books.income - books.lost - books.spent == books.balance
        assert 0 <= books.balance <= 20_000


@given(regeneration=ENERGIES, heartbeats=st.integers(0, 20))
def test_many_heartbeats_are_as_many_single_ones(regeneration, heartbeats):
    at_once, one_by_one = EnergyBudget(5.0, regeneration, 20.0), EnergyBudget(5.0, regeneration, 20.0)
    at_once.regenerate(heartbeats)
    for _ in range(heartbeats):
        one_by_one.regenerate()
    assert at_once.books == one_by_one.books
