"""What the database refuses to a program that writes to the tables of costs by itself, on each engine."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy", reason="the extra `store` is not installed")

import sqlalchemy as sa

from solvent.energy import EnergyMeter, energy_for_action, energy_for_tool
from solvent.energy.rules import StoreError
from solvent.energy.store import CostStore
from solvent.energy.triggers import TRIGGERS
from solvent.lab.mechanisms.energy import CEILING
from tests.energy.test_store import asked

ROOT = Path(__file__).parents[2]
PRICE = "INSERT INTO energy_costs (target_type, target_name, revision, cost, floor, category, proposal_id) "
PROPOSAL = (
    "INSERT INTO energy_cost_proposals (target_type, target_name, current_cost, suggested_min, suggested_max,"
    " direction, rationale, confidence, status, reviewed_at, reviewed_by, old_cost, new_cost, effective_at) "
)
NOW = "CURRENT_TIMESTAMP"
ARGUED = "VALUES ('action', 'screen', 4, 2.5, 3, 'decrease', 'x', 0.5, "
APPROVED = f"'approved', {NOW}, 'user', 4, 3, {NOW})"


def run(store, statement, **values):
    with store._engine.begin() as connection:
        connection.execute(sa.text(statement), values)


def refused(store, statement, reason=None, **values):
    with pytest.raises(sa.exc.IntegrityError, match=reason):
        run(store, statement, **values)


REFUSED = {
    "a price is edited": "UPDATE energy_costs SET cost = 0.01",
    "a floor is edited": "UPDATE energy_costs SET floor = 0, category = 'action' WHERE category = 'send_private'",
    "a price is removed": "DELETE FROM energy_costs",
    "no category": PRICE + "VALUES ('action', 'x', 0, 1, 0, NULL, NULL)",
    "no such category": PRICE + "VALUES ('action', 'x', 0, 1, 0, 'free', NULL)",
    "below the floor of its category": PRICE + "VALUES ('action', 'x', 0, 7, 2, 'send_public', NULL)",
    "below its floor": PRICE + "VALUES ('action', 'x', 0, 5, 6, 'send_public', NULL)",
    "registered again": PRICE + "VALUES ('action', 'screen', 0, 1, 0, 'action', NULL)",
    "no proposal": PRICE + "VALUES ('action', 'screen', 1, 3, 0, 'action', NULL)",
    "filed as approved": PROPOSAL + ARGUED + APPROVED,
    "filed as withdrawn": PROPOSAL + ARGUED + f"'withdrawn', {NOW}, 'system', NULL, NULL, NULL)",
    "filed with a cost": PROPOSAL + ARGUED + "'pending', NULL, NULL, NULL, 3, NULL)",
    "filed with one cost": PROPOSAL
    + "VALUES ('action', 'screen', 4, 3, 3, 'decrease', 'x', 0.5, 'pending', NULL, NULL, NULL, NULL, NULL)",
    "filed below the floor": PROPOSAL
    + "VALUES ('action', 'publish_public', 7, 2, 6.5, 'decrease', 'x', 0.5, 'pending', NULL, NULL, NULL, NULL, NULL)",
    "filed for nothing": PROPOSAL
    + "VALUES ('action', 'fly', 4, 2, 3, 'decrease', 'x', 0.5, 'pending', NULL, NULL, NULL, NULL, NULL)",
    "no such reason": "INSERT INTO cost_discomfort_log (heartbeat_number, action_considered, energy_cost,"
    " energy_available, deferral_reason) VALUES (1, 'screen', 4, 1, 'bored')",
    "a cheap tool": "INSERT INTO mcp_tools (name, energy_cost, energy_cost_category, energy_cost_floor)"
    " VALUES ('x:delete', 1, 'delete', 5)",
    "a tool without category": "INSERT INTO mcp_tools (name, energy_cost) VALUES ('x:delete', 0.1)",
}


@pytest.mark.parametrize("statement", REFUSED.values(), ids=REFUSED)
def test_other_programs_meet_the_rules(store, statement):
    before = [price.as_row() for price in store.prices()]
    refused(store, statement)
    assert [price.as_row() for price in store.prices()] == before
    assert store.proposals() == []


CHEAP = (
    ("energy_costs", "floor = 0, category = NULL"),
    ("mcp_tools", "energy_cost = 0.1, energy_cost_floor = NULL, energy_cost_category = NULL"),
)


@pytest.mark.parametrize(("table", "changed"), CHEAP)
def test_checks_hold_without_triggers_and_for_null(store, table, changed):
    store.register_tools([energy_for_tool("delete_all")])
    for trigger in TRIGGERS:
        on_table = f" ON {trigger.table}" if store._engine.dialect.name == "postgresql" else ""
        run(store, f"DROP TRIGGER {trigger.name}{on_table}")
    refused(store, f"UPDATE {table} SET {changed}", "(?i)check|not.null")


FILED = {
    "its argument is edited": "UPDATE energy_cost_proposals SET suggested_min = 0.1",
    "it is removed": "DELETE FROM energy_cost_proposals",
    "another one is filed": PROPOSAL + ARGUED + "'pending', NULL, NULL, NULL, NULL, NULL)",
    "it is approved without a cost": f"UPDATE energy_cost_proposals SET status = 'approved', reviewed_at = {NOW},"
    " reviewed_by = 'user'",
    "it is rejected with a cost": f"UPDATE energy_cost_proposals SET status = 'rejected', reviewed_at = {NOW},"
    " reviewed_by = 'user', new_cost = 3",
    "its price comes before its approval": PRICE + "SELECT 'action', 'screen', 1, 3, 0, 'action', id"
    " FROM energy_cost_proposals",
}


@pytest.mark.parametrize("statement", FILED.values(), ids=FILED)
def test_a_pending_proposal_can_only_be_reviewed(store, statement):
    filed = store.file(asked())
    refused(store, statement)
    assert [row.as_row() for row in store.proposals("pending")] == [filed.as_row()]


APPROVE = (
    f"UPDATE energy_cost_proposals SET status = 'approved', reviewed_at = {NOW}, reviewed_by = 'user',"
    f" old_cost = 4, new_cost = :cost, effective_at = {NOW}"
)
APPROVED_PRICE = (
    "INSERT INTO energy_costs (target_type, target_name, revision, cost, floor, ceiling, category, effective_at,"
    f" proposal_id) SELECT 'action', :target, :revision, :cost, 0, {CEILING}, 'action', {NOW}, id"
    " FROM energy_cost_proposals WHERE status = 'approved'"
)


def approved(store, cost=3.0):
    """Have a proposal approved by plain SQL."""
    store.file(asked(suggested_range=[1, 3]))
    run(store, APPROVE, cost=cost)


def test_an_approval_in_sql_sets_a_price(store):
    approved(store)
    run(store, APPROVED_PRICE, target="screen", revision=1, cost=3.0)
    assert [price.cost for price in store.history("screen")] == [4.0, 3.0]


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"cost": 2.0}, "that of an approved proposal"),
        ({"target": "calibration"}, "that of an approved proposal"),
        ({"revision": 2}, "the next of its target"),
    ],
)
def test_a_price_is_that_of_its_approval(store, changed, reason):
    approved(store)
    price = {"target": "screen", "revision": 1, "cost": 3.0} | changed
    refused(store, APPROVED_PRICE, reason, **price)


def test_a_ceiling_stays_that_of_the_registration(store):
    approved(store)
    refused(
        store, APPROVED_PRICE.replace(f"{CEILING}", "99"), "ceiling", target="screen", revision=1, cost=3.0
    )


def test_a_price_moves_by_half_at_most(store):
    approved(store, cost=1.0)
    refused(store, APPROVED_PRICE, "at most 0.5 of the price", target="screen", revision=1, cost=1.0)


def test_a_price_changes_once_a_day(store):
    store.approve(store.file(asked()).id, new_cost=3.0)
    second = store.file(asked(current_cost=3, suggested_range=[2, 2.5]))
    run(store, APPROVE.replace("old_cost = 4", "old_cost = 3") + " WHERE status = 'pending'", cost=2.5)
    statement = APPROVED_PRICE + " AND new_cost = 2.5"
    refused(store, statement, "one change a day", target="screen", revision=2, cost=2.5)
    assert store.proposal(second.id).status == "approved"


def test_a_tools_row_has_its_price_in_force(store):
    store.register_tools([energy_for_tool("delete_all")])
    for change in ("energy_cost = 5.5", "energy_cost_floor = NULL", "energy_cost_category = NULL"):
        refused(store, f"UPDATE mcp_tools SET {change} WHERE name = 'delete_all'", "mcp_tools")


def test_replacing_a_row_is_no_way_around(tmp_path):
    with CostStore(tmp_path / "costs.db") as store:
        store.register_verbs()
        replace = PRICE.replace("INSERT", "INSERT OR REPLACE")
        refused(store, replace + "VALUES ('action', 'screen', 0, 0.01, 0, 'action', NULL)", "revision")
        filed = store.file(asked())
        replace = PROPOSAL.replace("INSERT", "INSERT OR REPLACE")
        refused(store, replace + ARGUED + "'pending', NULL, NULL, NULL, NULL, NULL)", "one pending")
        assert store.proposal(filed.id).status == "pending"


# -- roles of PostgreSQL, as the page grants them ----------------------------------------------


@pytest.fixture
def roles(server):
    """Open a store as the owner, the agent and the reviewer."""
    place = server.new_database()
    page = (ROOT / "docs" / "costs.md").read_text(encoding="utf-8")
    (grants,) = re.findall(r"```sql\n(.*?)```", page, re.DOTALL)
    with CostStore(place) as owner:
        owner.register_verbs()
        owner.register_tools([energy_for_tool("slack:send_message")])
        for role in ("agent", "reviewer"):
            if not owner._rows(sa.text(f"SELECT 1 FROM pg_roles WHERE rolname = '{role}'")):
                run(owner, f"CREATE ROLE {role} LOGIN")
        run(owner, grants)
        places = [place.replace("solvent@", f"{role}@") for role in ("agent", "reviewer")]
        with CostStore(places[0], create=False) as agent, CostStore(places[1], create=False) as reviewer:
            yield owner, agent, reviewer


def denied(act, *arguments):
    with pytest.raises(StoreError, match="permission denied"):
        act(*arguments)


def test_the_agents_role_files_and_reads(roles):
    _, agent, _ = roles
    filed = agent.file(asked())
    assert agent.proposals("pending")[0].id == filed.id
    assert agent.prices()


def test_the_agents_role_neither_reviews_nor_prices(roles):
    _, agent, _ = roles
    filed = agent.file(asked())
    for review in (agent.approve, agent.reject, agent.withdraw):
        denied(review, filed.id)
    denied(agent.enter, "action", energy_for_action("new", cost=1.0))
    refused(agent, PROPOSAL + ARGUED.replace("screen", "replicate") + APPROVED, "pending")


def test_the_reviewers_role_approves_and_rejects(roles):
    owner, agent, reviewer = roles
    price = owner.history("slack:send_message")[0]
    higher = {"current_cost": price.cost, "suggested_range": [4.75, 5], "direction": "increase"}
    about_a_tool = asked(target="slack:send_message", **higher)
    assert reviewer.approve(agent.file(about_a_tool).id).new_cost == 4.75
    assert reviewer.reject(agent.file(asked()).id).status == "rejected"


def test_the_reviewers_role_neither_files_nor_edits(roles):
    _, agent, reviewer = roles
    denied(reviewer.file, asked())
    agent.file(asked())
    with pytest.raises(sa.exc.ProgrammingError, match="permission denied"):
        run(reviewer, "UPDATE energy_cost_proposals SET suggested_min = 0.1")


# -- stores of version 0.3.0 ------------------------------------------------------------------


@pytest.fixture
def earlier(tmp_path):
    """A file as version 0.3.0 made it."""
    place = tmp_path / "costs.db"
    with closing(sqlite3.connect(place)) as connection:
        connection.executescript((Path(__file__).parent / "store_0_3_0.sql").read_text(encoding="utf-8"))
    return place


def test_an_earlier_store_gets_its_triggers_when_it_is_opened(earlier):
    with CostStore(earlier, create=False) as store:
        refused(store, "UPDATE energy_costs SET cost = 0.01", "never edited")
        refused(store, PRICE + "VALUES ('action', 'x', 0, 1, 0, NULL, NULL)", "category")
        assert [price.cost for price in store.history("reach_out_user")] == [5.0, 4.5]


def test_an_earlier_store_takes_no_range_of_one_value(earlier):
    one_value = "VALUES ('action', 'reach_out_user', 4.5, 4, 4, 'decrease', 'x', 0.5, "
    with CostStore(earlier, create=False) as store:
        refused(store, PROPOSAL + one_value + "'pending', NULL, NULL, NULL, NULL, NULL)", "two costs")


def test_a_tool_that_an_earlier_version_priced_too_low_is_told_of(earlier):
    tool, meter = energy_for_tool("rotate_api_key"), EnergyMeter()
    meter.add(tool)
    with CostStore(earlier, create=False) as store:
        with pytest.raises(StoreError, match="rotate_api_key: got delete, in the store it is modify"):
            store.register_tools([tool])
        with pytest.raises(ValueError, match="at least its floor 5"):
            meter.set_prices(store.prices())
        assert store.register_tools([tool.of_server("vault")])[0].floor == 5.0


def test_an_earlier_store_that_cannot_be_changed_is_refused_in_a_line(server, roles):
    owner, agent, _ = roles
    for trigger in TRIGGERS:
        run(owner, f"DROP TRIGGER {trigger.name} ON {trigger.table}")
    place = owner._engine.url.render_as_string().replace("+psycopg", "").replace("solvent@", "agent@")
    with pytest.raises(StoreError, match="allowed: open it once as their owner") as refusal:
        CostStore(place, create=False)
    assert "\n" not in str(refusal.value)
    agent.close()
    with CostStore(place.replace("agent@", "solvent@"), create=False) as store:
        refused(store, "UPDATE energy_costs SET cost = 0.01", "never edited")
