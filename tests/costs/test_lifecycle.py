"""The life of a proposal and the price that an approval sets, on both databases."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from solvent import LabParams
from solvent.energy.costs import CostStore, EnergyCost, EnergyCostProposal, ProposalError, Reflection
from solvent.energy.costs.rules import approved_cost

COSTS = st.floats(min_value=0.0, max_value=100.0).map(lambda cost: round(cost, 3))


def argument(
    low: float, high: float, direction: str = "decrease", *, name: str = "screen", cost: float = 5.0
) -> EnergyCostProposal:
    return EnergyCostProposal(
        target_type="action", target_name=name, current_cost=cost, suggested_min=low, suggested_max=high,
        direction=direction, rationale="because", confidence=0.5, evidence=[{"source": "a", "summary": "b"}],
        heartbeat_refs=[1, 2],
    )  # fmt: skip


def priced(cost: float, floor: float = 0.0, ceiling: float | None = None) -> EnergyCost:
    return EnergyCost(target_type="action", target_name="screen", cost=cost, floor=floor, ceiling=ceiling)


@given(
    COSTS,
    COSTS,
    COSTS,
    st.sampled_from(["increase", "decrease"]),
    COSTS,
    st.none() | COSTS,
    st.none() | COSTS,
)
def test_an_approved_cost_is_in_range_floor_and_ceiling_and_goes_the_way_that_was_asked(
    price: float,
    one: float,
    other: float,
    direction: str,
    floor: float,
    ceiling: float | None,
    asked: float | None,
) -> None:
    low, high = sorted((one, other))
    try:
        cost = approved_cost(argument(low, high, direction), priced(price, floor, ceiling), asked)
    except ProposalError:
        return
    assert max(low, floor) <= cost <= min(high, 1e9 if ceiling is None else ceiling)
    assert cost < price if direction == "decrease" else cost > price
    assert abs(cost - price) <= 0.5 * price
    if asked is None:  # nothing else that is allowed lies nearer
        assert cost in (low, high, floor, ceiling)
    else:
        assert cost == asked


@given(COSTS, st.floats(0.5, 1.0), COSTS, COSTS)
def test_what_is_allowed_is_not_refused(price: float, share: float, below: float, above: float) -> None:
    asked = share * price
    assume(asked < price)
    low, high = max(0.0, asked - below), asked + above
    assert approved_cost(argument(low, high), priced(price), asked) == asked


def test_the_sources_own_example_needs_a_cost_to_be_named() -> None:
    """Cost 5, range 4 to 5: the end nearest to the price is the price."""
    with pytest.raises(ProposalError, match="name a cost below"):
        approved_cost(argument(4.0, 5.0), priced(5.0))
    assert approved_cost(argument(4.0, 5.0), priced(5.0), 4.5) == 4.5


def test_a_price_that_has_moved_away_from_the_range_can_not_be_approved_the_wrong_way() -> None:
    with pytest.raises(ProposalError, match="can't decrease into 3 to 4"):
        approved_cost(argument(3.0, 4.0), priced(2.5))


def test_a_price_moves_by_half_of_itself_at_most() -> None:
    assert approved_cost(argument(0.5, 3.0), priced(4.0), 2.0) == 2.0
    with pytest.raises(
        ProposalError, match=r"got 1\.99; allowed: 2 to 3, below the price of 4 and at most 2 from"
    ):
        approved_cost(argument(0.5, 3.0), priced(4.0), 1.99)
    with pytest.raises(ProposalError, match=r"can't decrease into 0\.5 to 1, by at most 2 at once"):
        approved_cost(argument(0.5, 1.0), priced(4.0))
    assert approved_cost(argument(5.0, 9.0, "increase"), priced(4.0), 6.0) == 6.0
    with pytest.raises(ProposalError, match="allowed: 5 to 6, above the price of 4"):
        approved_cost(argument(5.0, 9.0, "increase"), priced(4.0), 6.01)


def test_what_is_free_stays_free() -> None:
    with pytest.raises(ProposalError, match="can't increase into 1 to 2, by at most 0 at once"):
        approved_cost(argument(1.0, 2.0, "increase"), priced(0.0))


ARGUMENTS = st.sampled_from(  # direction and range, as shares of the price; the last three make no sense
    [
        ("decrease", 0.3, 0.5),
        ("decrease", 0.5, 0.8),
        ("decrease", 0.8, 1.0),
        ("increase", 1.05, 1.3),
        ("increase", 1.0, 2.0),
        ("decrease", 0.8, 1.3),
        ("increase", 0.5, 0.8),
        ("increase", 0.0, 1.3),
    ]
)
EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["approve", "approve", "approve", "reject", "withdraw", "timeout", "file", "raw"]),
        st.sampled_from([0, 0, 0, 1, 2]),  # which proposal, from the latest
        ARGUMENTS,
        st.sampled_from([None, None, 0.3, 0.6, 0.9, 1.1, 1.8, 3.0]),  # what the reviewer names, a share too
        st.sampled_from([0, 0, 23, 24]),  # hours since the event before
    ),
    min_size=4,
    max_size=16,
)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.data())
def test_the_store_follows_the_machine(clock: Any, store: CostStore, raw: Any, data: st.DataObject) -> None:
    """Any sequence of operations, raw SQL among them: a model of a dozen lines says what the store must hold."""
    known = sum(row.target_type == "action" for row in store.prices())
    name = f"verb-{known}"
    price = data.draw(st.integers(1000, 100_000), label="price, thousandths") / 1000
    clock.restart()
    store.register_action(name, price, floor=1.0, ceiling=200.0)
    prices, changes, life = [price], [], []
    for event, back, (direction, *shares), asked, hours in data.draw(EVENTS, label="events"):
        clock.pass_(hours=hours)
        low, high = sorted(max(round(prices[-1] * share, 3), 1.0) for share in shares)
        is_pending = "pending" in [status for _, status in life]
        if event == "file" or not is_pending:
            sensible = high <= 200.0 and ((low < prices[-1] and high <= prices[-1]) if direction == "decrease" else (
                high > prices[-1] and low >= prices[-1]
            ))  # fmt: skip
            try:
                proposal = store.file_proposal(
                    argument(low, high, direction, name=name, cost=prices[-1]),
                    Reflection(episode="ada", heartbeat_number=2),
                )
            except ProposalError:
                assert not sensible or is_pending
            else:
                assert sensible
                assert not is_pending
                life.append((proposal, "pending"))
        if event != "file" and back < len(life):
            which = len(life) - 1 - back
            proposal, status = life[which]
            if event == "raw":
                raw.refused(f"UPDATE energy_costs SET cost = {low} WHERE target_name = '{name}'")
                raw.refused(f"DELETE FROM energy_cost_proposals WHERE id = '{proposal.id.hex}'")
                continue
            try:
                if event == "approve":
                    cost = None if asked is None else round(prices[-1] * asked, 3)
                    after = store.approve(proposal.id, new_cost=cost)
                    assert after.old_cost == prices[-1]
                    assert after.new_cost is not None
                    assert abs(after.new_cost - prices[-1]) <= 0.5 * prices[-1]
                    assert not changes or clock.moment - changes[-1] >= datetime.timedelta(days=1)
                    prices.append(after.new_cost)
                    changes.append(after.effective_at)
                    life[which] = (proposal, "approved")
                elif event == "withdraw":
                    store.withdraw(proposal.id)
                    life[which] = (proposal, "withdrawn")
                else:
                    store.reject(proposal.id, by="timeout" if event == "timeout" else "user")
                    life[which] = (proposal, "rejected")
            except ProposalError as refusal:
                late = "is already" in str(refusal)
                assert late == (status != "pending")
                assert late or event == "approve"
            else:
                assert status == "pending"
    held = {row.id: row.status for row in store.proposals() if row.target_name == name}
    assert held == {proposal.id: status for proposal, status in life}
    history = store.history("action", name)
    assert [row.cost for row in history] == prices
    assert [row.revision for row in history] == list(range(len(prices)))
    assert all(1.0 <= row.cost <= 200.0 for row in history)
    moments = [row.effective_at for row in history]
    assert moments == sorted(set(moments))


def test_the_lab_has_prices(store: CostStore) -> None:
    assert store.price("action", "screen").cost == LabParams().energy.base_cost("screen")
