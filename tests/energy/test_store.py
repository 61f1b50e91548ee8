"""The store on SQLite and PostgreSQL: the source's tables and proposal, the rules, several people at once."""

import concurrent.futures
import datetime
import sqlite3
import subprocess
import sys
import threading
import types

import pytest

pytest.importorskip("sqlalchemy", reason="the extra `store` is not installed")

import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from solvent.energy import energy_for_tool
from solvent.energy.rules import Proposal, ProposalError, StoreError, allowed_costs
from solvent.energy.store import CostStore
from solvent.energy.tables import EnergyCost, EnergyCostProposal, McpTool
from solvent.files import now

SOURCES = {
    "type": "energy_cost_proposal",
    "target": "reach_out_user",
    "current_cost": 5,
    "suggested_range": [4, 5],
    "direction": "decrease",
    "rationale": "Repeated avoidance despite high benefit in similar contexts",
    "evidence": [
        "heartbeat_102: deferred outreach, energy cited",
        "heartbeat_109: same pattern",
        "memory_abcd: user expressed preference for more contact",
    ],
    "confidence": 0.6,
}
"""The source's example, to the letter."""


@pytest.fixture
def clock(monkeypatch):
    """The time of the store, which a test moves on."""
    clock = types.SimpleNamespace(now=now())
    monkeypatch.setattr("solvent.energy.store.now", lambda: clock.now)
    return clock


def asked(**changed):
    about_screens = {"target": "screen", "current_cost": 4, "suggested_range": [2.5, 3]}
    evidence = ["heartbeat_1: put off", "heartbeat_2: put off"]
    return Proposal.model_validate(SOURCES | about_screens | {"evidence": evidence} | changed)


def test_a_tool_has_the_sources_columns(store):
    tool = energy_for_tool("slack:send_message")
    (price,) = store.register_tools([tool])
    assert (price.cost, price.floor, price.category) == (tool.energy_cost, 3.0, "send_private")
    with store._session() as session:
        (row,) = session.scalars(sa.select(McpTool))
    assert row.energy_cost_factors == dict(tool.energy_cost_factors)
    assert (row.energy_cost, row.energy_cost_floor) == (tool.energy_cost, 3.0)
    assert row.allowed_contexts == ["chat"]
    assert store.register_tools([tool])[0].revision == 0  # known tools stay as they are


def test_a_second_servers_tool_does_not_inherit_a_price(store):
    destroys = energy_for_tool("search", {"readOnlyHint": False, "destructiveHint": True})
    store.register_tools([energy_for_tool("search")])
    with pytest.raises(
        StoreError, match=r"search: got delete, in the store it is read; allowed: .*SERVER:TOOL"
    ):
        store.register_tools([destroys])
    assert store.register_tools([destroys.of_server("shredder")])[0].cost == destroys.energy_cost


def test_an_approval_sets_a_tools_price(store):
    (price,) = store.register_tools([energy_for_tool("slack:send_message")])
    higher = {"current_cost": price.cost, "suggested_range": [4.5, 5], "direction": "increase"}
    store.approve(store.file(asked(target=price.target_name, **higher)).id)
    with store._session() as session:
        assert session.scalar(sa.select(McpTool.energy_cost)) == 4.5


def test_a_price_keeps_its_history(store):
    filed = store.file(Proposal.model_validate(SOURCES))
    store.approve(str(filed.id), new_cost=4.5)
    history = [(price.revision, price.cost, price.proposal_id) for price in store.history("reach_out_user")]
    assert history == [(0, 5.0, None), (1, 4.5, filed.id)]


def test_an_argument_about_an_older_price_needs_a_cost(store, clock):
    store.approve(store.file(asked(suggested_range=[1, 3])).id, new_cost=2.0)
    filed = store.file(asked(suggested_range=[1, 1.5]))
    clock.now += datetime.timedelta(days=1)
    with pytest.raises(ProposalError, match="name a cost"):
        store.approve(filed.id)
    assert store.approve(filed.id, new_cost=1.5).old_cost == 2.0


def test_a_target_has_one_pending_proposal(store):
    store.file(asked())
    with pytest.raises(ProposalError, match="pending proposal already"):
        store.file(asked(suggested_range=[3, 3.5]))


BAD = {
    "no price": {"target": "levitate"},
    "range above the cost": {"suggested_range": [5, 6]},
    "range upside down": {"suggested_range": [3, 2]},
    "no number": {"suggested_range": [float("nan"), 3]},
    "null byte": {"rationale": "a\0b"},
    "below the floor": {"target": "publish_public", "current_cost": 7, "suggested_range": [5, 6.5]},
    "above the ceiling": {"direction": "increase", "suggested_range": [100, 200]},
}


@pytest.mark.parametrize("changed", BAD.values(), ids=BAD)
def test_what_is_not_filed(store, changed):
    with pytest.raises(ValueError):  # noqa: PT011 - of pydantic or of the store
        store.file(asked(**changed))
    assert store.proposals() == []


@pytest.mark.parametrize("key", ["", "%", "ffffffff"])
def test_no_such_proposal(store, key):
    with pytest.raises(ProposalError, match=r"^proposal: "):
        store.proposal(key)


@given(st.floats(0.001, 1000), st.floats(0, 1000), st.floats(0, 1000), st.sampled_from([0.0, 3.0, 6.0]))
def test_no_approval_leaves_its_bounds(cost, one, other, floor):
    low, high = sorted((one, other))
    price = EnergyCost(cost=max(cost, floor), floor=floor, ceiling=900.0, revision=0)
    for direction in ("decrease", "increase"):
        row = EnergyCostProposal(direction=direction, suggested_min=low, suggested_max=high)
        row.current_cost = price.cost
        for new in allowed_costs(row, price) or ():
            assert floor <= new
            assert low <= new <= high
            assert 0.5 * price.cost <= new <= 1.5 * price.cost
            assert new <= price.cost if direction == "decrease" else new >= price.cost


def test_one_reviewer_of_several_wins(store, place):
    row, barrier = store.file(asked()), threading.Barrier(6)

    def review(ending):
        with CostStore(place) as other:
            barrier.wait()
            try:
                return getattr(other, ending)(row.id)
            except StoreError as error:
                return error

    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        result = list(pool.map(review, ["approve", "reject"] * 3))
    (winner,) = (one for one in result if not isinstance(one, StoreError))
    assert store.proposal(row.id).status == winner.status
    assert all(f"is already {winner.status}" in str(one) for one in result if one is not winner)
    assert len(store.history("screen")) == (2 if winner.status == "approved" else 1)


PROGRAM = """
import sys
from solvent.energy import Discomfort, energy_for_action
from solvent.energy.store import CostStore
with CostStore(sys.argv[1]) as store:
    store.enter("action", energy_for_action("shared", cost=2.0))
    for beat in range(25):
        store.log_discomfort(Discomfort(heartbeat_number=beat, action_considered=sys.argv[2], energy_cost=2.0,
                                        energy_available=1.0, deferral_reason="insufficient_energy"))
"""


@pytest.mark.slow
def test_processes_share_a_new_store(place):
    running = [subprocess.Popen([sys.executable, "-c", PROGRAM, place, str(i)]) for i in range(4)]
    assert [process.wait(120) for process in running] == [0] * 4
    with CostStore(place, create=False) as store:
        result = sorted((row.action_considered, row.heartbeat_number) for row in store.discomfort())
        assert result == [(str(i), beat) for i in range(4) for beat in range(25)]
        assert [row.cost for row in store.history("shared")] == [2.0]


def test_a_password_is_not_shown(server):
    with CostStore(server.new_database().replace("solvent@", "solvent:secret@")) as store:
        assert "secret" not in store.place


@pytest.mark.parametrize(
    "place", ["mysql://localhost/x", "postgresql://nobody:secret@127.0.0.1:1/x", "/no/such/folder/costs.db"]
)  # fmt: skip
def test_what_is_not_a_place(place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreError) as caught:
        CostStore(place)
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_what_is_no_store_stays_as_it_is(tmp_path):
    notes, other, missing = (tmp_path / name for name in ("notes.txt", "other.db", "costs.db"))
    notes.write_text("my notes")
    sqlite3.connect(other).execute("CREATE TABLE notes (text)").connection.close()
    with pytest.raises(StoreError, match="not a database"):
        CostStore(notes)
    for place, message in ((other, "not a store of costs"), (missing, "there is no store")):
        with pytest.raises(StoreError, match=message):
            CostStore(place, create=False)
    assert notes.read_text() == "my notes"
    assert not missing.exists()
