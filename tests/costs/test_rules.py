"""The database itself holds the rules: SQL from outside, whatever it tries, changes no price and no history."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from solvent.energy.costs import CostStore, EnergyCostProposal, ProposalError, StoreError

DOCS = Path(__file__).resolve().parents[2] / "docs" / "costs.md"
Filing = Callable[..., EnergyCostProposal]
PROPOSAL: dict[str, Any] = {
    "target_type": "action",
    "target_name": "screen",
    "current_cost": 4.0,
    "suggested_min": 2.0,
    "suggested_max": 3.0,
    "direction": "decrease",
    "rationale": "too dear",
    "confidence": 0.5,
    "evidence": '[{"source": "heartbeat_1", "summary": "deferred"}]',
}


def approval(raw: Any, proposal: EnergyCostProposal, **changes: Any) -> str:
    """The UPDATE that the store itself would send, with changes."""
    now = raw.now()
    values = {
        "status": "'approved'",
        "reviewed_at": now,
        "reviewed_by": "'user'",
        "old_cost": "4.0",
        "new_cost": "3.0",
        "effective_at": now,
        **changes,
    }
    sets = ", ".join(f"{name} = {value}" for name, value in values.items())
    return f"UPDATE energy_cost_proposals SET {sets} WHERE id = '{proposal.id.hex}'"


# --------------------------------------------------------------------------- the agent can't modify costs


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE energy_costs SET cost = 0.1",
        "UPDATE energy_costs SET cost = 0.1 WHERE target_name = 'screen'",
        "UPDATE energy_costs SET floor = 0 WHERE target_name = 'publish_public'",
        "UPDATE energy_costs SET effective_at = effective_at",
        "DELETE FROM energy_costs",
        "DELETE FROM energy_costs WHERE target_name = 'screen'",
    ],
)
def test_a_price_in_the_books_can_not_be_touched(raw: Any, statement: str) -> None:
    raw.refused(statement, "does not change", "never deleted")


def test_an_upsert_or_a_truncation_changes_nothing(raw: Any) -> None:
    row = "VALUES ('action', 'screen', 0, 0.1, 0)"
    columns = "(target_type, target_name, revision, cost, floor)"
    key = "(target_type, target_name, revision)"
    upsert = f"INSERT INTO energy_costs {columns} {row} ON CONFLICT {key} DO UPDATE SET cost = 0.1"
    raw.refused(upsert, "only by an approved proposal")
    if not raw.sqlite:
        for table in ("energy_costs", "mcp_tools", "cost_discomfort_log"):
            raw.refused(f"TRUNCATE {table} CASCADE")


@pytest.mark.parametrize("how", ["INSERT", "INSERT OR REPLACE", "INSERT OR IGNORE", "REPLACE"])
@pytest.mark.parametrize("revision", [0, 1, 7])
def test_a_second_price_needs_a_proposal(raw: Any, how: str, revision: int) -> None:
    if how != "INSERT" and not raw.sqlite:
        return
    price = {"target_type": "action", "target_name": "screen", "revision": revision, "cost": 0.1, "floor": 0}
    raw.refused(raw.insert("energy_costs", how=how, **price), "only by an approved proposal", "CHECK")


def test_an_approval_can_not_be_used_twice_nor_for_another_price(
    raw: Any, file_one: Filing, store: CostStore
) -> None:
    done = store.approve(file_one().id)
    rejected = store.reject(file_one("dose_response").id)
    pending = file_one("baseline", suggested_min=1.0, suggested_max=1.5)
    screen = {
        "target_type": "action",
        "target_name": "screen",
        "revision": 2,
        "cost": 0.1,
        "floor": 0,
        "ceiling": 13,
    }
    for proposal in (done, rejected, pending):
        for changes in ({}, {"cost": 3.0}, {"target_name": "dmso", "revision": 1}, {"revision": 3}):
            raw.refused(
                raw.insert(
                    "energy_costs",
                    **{**screen, **changes},
                    category="action",
                    effective_at=raw.now(),
                    proposal_id=proposal.id,
                )
            )
    raw.refused(
        raw.insert("energy_costs", **screen, effective_at=raw.now(), proposal_id=uuid.uuid4()),
        "no approved proposal",
    )


def test_a_price_can_not_be_registered_for_the_past(raw: Any) -> None:
    price = {"target_type": "action", "target_name": "new", "revision": 0, "cost": 1.0, "floor": 0}
    raw.refused(raw.insert("energy_costs", **price, effective_at=raw.now(-3600)), "when it is registered")
    raw.refused(raw.insert("energy_costs", **price, effective_at=raw.now(3600)), "when it is registered")
    if raw.sqlite:  # a text that sorts among the times but is none
        raw.refused(raw.insert("energy_costs", **price, effective_at=raw.now()[1:-1] + "x"), "when it is")
    raw(raw.insert("energy_costs", **price, effective_at=raw.now()))


def test_the_cost_of_a_tool_can_not_be_touched(raw: Any, store: CostStore) -> None:
    store.register_tool("slack:send", energy_cost=4.0, energy_cost_category="send_private")
    for change in ("energy_cost = 0.1", "energy_cost = NULL", "energy_cost = energy_cost - 1"):
        raw.refused(f"UPDATE mcp_tools SET {change}", "only by an approved proposal", "CHECK")
    for change in ("energy_cost_floor = 3.5", "energy_cost_floor = NULL", "energy_cost_category = 'read'"):
        raw.refused(f"UPDATE mcp_tools SET {change}")
    raw.refused("UPDATE mcp_tools SET name = 'slack:other'")
    raw.refused("DELETE FROM mcp_tools", "never deleted")
    again = raw.insert("mcp_tools", name="slack:send", energy_cost=0.1)
    raw.refused(again, "registered already")
    if raw.sqlite:
        raw.refused(again.replace("INSERT", "INSERT OR REPLACE"), "registered already")
    raw.refused(raw.insert("mcp_tools", name="x:y", energy_cost=None), "has a price")
    price = {"target_type": "mcp_tool", "target_name": "x:y", "revision": 0, "cost": 0.1, "floor": 0}
    raw.refused(raw.insert("energy_costs", **price, effective_at=raw.now()), "registered with the tool")
    raw("UPDATE mcp_tools SET description = 'sends to one person'")  # what is no price may be kept up to date


# ------------------------------------------------------------------------- costs never change by themselves


def test_nothing_but_an_approval_changes_a_price(raw: Any, file_one: Filing, store: CostStore) -> None:
    before = raw("SELECT * FROM energy_costs")
    store.reject(file_one().id)
    store.withdraw(file_one().id)
    store.reject(file_one().id, by="timeout")
    file_one()
    store.log_discomfort(
        heartbeat_number=3,
        action_considered="screen",
        energy_cost=4.0,
        energy_available=1.0,
        deferral_reason="insufficient_energy",
    )
    assert raw("SELECT * FROM energy_costs") == before


def test_a_timeout_approves_nothing(raw: Any, file_one: Filing) -> None:
    raw.refused(approval(raw, file_one(), reviewed_by="'timeout'"))


def test_an_approval_by_sql_has_to_be_complete_and_changes_the_price_with_it(
    raw: Any, file_one: Filing, store: CostStore
) -> None:
    proposal = file_one()
    for incomplete in ("reviewed_at", "reviewed_by", "old_cost", "new_cost", "effective_at"):
        raw.refused(approval(raw, proposal, **{incomplete: "NULL"}))
    for wrong in (
        "old_cost = 5.0",
        "new_cost = 1.9",
        "new_cost = 3.1",
        "new_cost = 4.0",
        "reviewed_by = 'agent'",
    ):
        name, _, value = wrong.partition(" = ")
        raw.refused(approval(raw, proposal, **{name: value}))
    for seconds in (-3600, 3600):
        moment = raw.now(seconds)
        raw.refused(approval(raw, proposal, reviewed_at=moment, effective_at=moment), "an approval is now")
    raw(approval(raw, proposal))
    assert store.price("action", "screen").cost == 3.0
    assert store.price("action", "screen").proposal_id == proposal.id


def test_range_and_floor_hold_where_sqlite_checks_are_off(raw: Any, file_one: Filing) -> None:
    if raw.sqlite:
        proposal = file_one()
        with pytest.raises(Exception, match="outside of the suggested range"):
            raw("PRAGMA ignore_check_constraints = ON", approval(raw, proposal, new_cost="0.5"))


# --------------------------------------------------------- public and destructive are never under the floor


@pytest.mark.parametrize(
    ("category", "floor"), [("send_public", 6.0), ("delete", 5.0), ("send_private", 3.0)]
)
def test_public_destructive_and_private_have_their_floor(
    raw: Any, store: CostStore, category: str, floor: float
) -> None:
    under = floor - 0.001
    tool = {"name": "x:y", "energy_cost": 8.0, "energy_cost_category": category}
    raw.refused(raw.insert("mcp_tools", **tool))  # no floor at all
    raw.refused(raw.insert("mcp_tools", **tool, energy_cost_floor=under))
    raw.refused(raw.insert("mcp_tools", **{**tool, "energy_cost": under}, energy_cost_floor=floor))
    price = {"target_type": "action", "target_name": "x", "revision": 0, "category": category}
    raw.refused(raw.insert("energy_costs", **price, cost=8.0, floor=under, effective_at=raw.now()))
    raw.refused(raw.insert("energy_costs", **price, cost=under, floor=floor, effective_at=raw.now()))
    assert (
        store.register_tool("x:y", energy_cost=8.0, energy_cost_category=category).energy_cost_floor == floor
    )
    proposal = {**PROPOSAL, "target_type": "mcp_tool", "target_name": "x:y", "current_cost": 8.0}
    raw.refused(
        raw.insert("energy_cost_proposals", **{**proposal, "suggested_min": under}), "below the floor"
    )


@pytest.mark.parametrize(("verb", "floor"), [("publish_public", 6.0), ("publish_private", 3.0)])
def test_the_verbs_that_publish_keep_their_floor_whatever_they_are_called(
    new_place: Callable[[], str], verb: str, floor: float
) -> None:
    with CostStore(new_place()) as store, pytest.raises(ValueError, match=verb):
        store.register_price("action", verb, floor - 0.5, floor=0.0, category="action")


def test_an_unheard_of_category_does_not_slip_past_the_floors(raw: Any) -> None:
    raw.refused(raw.insert("mcp_tools", name="x:y", energy_cost=0.1, energy_cost_category="public_send"))


# ------------------------------------------------------------------------------------ a proposal and its life


def test_a_proposal_starts_as_pending_and_is_an_argument(raw: Any) -> None:
    for wrong in (
        {"status": "approved"},
        {"status": "open"},
        {"target_type": "thought"},
        {"direction": "sideways"},
        {"direction": "increase"},
        {"confidence": 1.01},
        {"confidence": -0.01},
        {"evidence": "[]"},
        {"evidence": "{}"},
        {"evidence": '"because"'},
        {"rationale": "  "},
        {"suggested_min": 3.5},
        {"suggested_max": 4.5},
        {"suggested_min": -1.0},
        {"target_name": "sing"},
        {"reviewed_by": "user"},
        {"review_notes": "fine"},
        {"reviewed_by": "user", "reviewed_at": raw.now()},
        {"old_cost": 4.0, "new_cost": 3.0, "effective_at": raw.now()},
    ):
        raw.refused(raw.insert("energy_cost_proposals", **{**PROPOSAL, **wrong}))
    infinity = "9e999" if raw.sqlite else "'Infinity'"
    for endless in (infinity, "'NaN'"):
        up = raw.insert(
            "energy_cost_proposals", **{**PROPOSAL, "direction": "increase", "suggested_min": 4.0}
        )
        raw.refused(up.replace("4.0, 3.0", f"4.0, {endless}"))
    raw(raw.insert("energy_cost_proposals", **PROPOSAL))
    (row,) = raw("SELECT status, evidence FROM energy_cost_proposals")
    assert row[0] == "pending"
    raw.refused(raw.insert("energy_cost_proposals", **PROPOSAL), "pending proposal already")
    if raw.sqlite:
        raw.refused(
            raw.insert("energy_cost_proposals", how="REPLACE", **PROPOSAL), "pending proposal already"
        )


def test_the_default_evidence_of_the_source_is_none_and_so_refused(raw: Any) -> None:
    raw.refused(
        raw.insert("energy_cost_proposals", **{k: v for k, v in PROPOSAL.items() if k != "evidence"}),
        "ck_proposals_evidence",
    )


@pytest.mark.parametrize("end", ["approve", "reject", "withdraw"])
def test_a_reviewed_proposal_is_final(raw: Any, file_one: Filing, store: CostStore, end: str) -> None:
    proposal = getattr(store, end)(file_one().id)
    where = f"WHERE id = '{proposal.id.hex}'"
    for change in (
        "status = 'pending', reviewed_at = NULL, reviewed_by = NULL",
        "status = 'approved'",
        "status = 'rejected'",
        "status = 'withdrawn'",
        "review_notes = 'changed my mind'",
        "new_cost = 0.1",
        "rationale = 'another'",
        "id = id",
    ):
        raw.refused(f"UPDATE energy_cost_proposals SET {change} {where}", "is final")
    raw.refused(f"DELETE FROM energy_cost_proposals {where}", "never deleted")
    if raw.sqlite:
        raw.refused(
            raw.insert("energy_cost_proposals", how="REPLACE", id=proposal.id, **PROPOSAL), "filed already"
        )
    else:
        raw.refused("TRUNCATE energy_cost_proposals CASCADE", "never deleted")


@pytest.mark.parametrize(
    "change",
    [
        "suggested_min = 0.5",
        "rationale = 'another'",
        'evidence = \'[{"source": "a", "summary": "b"}]\'',
        "confidence = 1.0",
        "target_name = 'dmso'",
        "heartbeat_refs = NULL",
        "memory_refs = NULL",
        "review_notes = 'hm'",
        "status = 'pending'",
    ],
)
def test_what_a_reviewer_reads_does_not_change_under_their_eyes(
    raw: Any, file_one: Filing, change: str
) -> None:
    file_one()
    raw.refused(f"UPDATE energy_cost_proposals SET {change}", "can only be", "argument")
    rejected = f"status = 'rejected', reviewed_by = 'user', reviewed_at = {raw.now()}"
    if not change.startswith(("status", "review_notes")):
        raw.refused(f"UPDATE energy_cost_proposals SET {rejected}, {change}", "argument")


# ------------------------------------------------------------------------------------------ what is only added to


def test_logs_are_only_added_to(raw: Any, store: CostStore) -> None:
    logged = store.log_discomfort(
        heartbeat_number=3,
        action_considered="screen",
        energy_cost=4.0,
        energy_available=1.0,
        deferral_reason="hoarding",
    )
    store.log_heartbeat(
        episode="a", number=0, opened_at=logged.created_at, closed_at=logged.created_at,
        energy_start=10.0, regenerated=6.0, spent={"exploration": 4.0},
    )  # fmt: skip
    for table in ("cost_discomfort_log", "heartbeats", "intent_summaries"):
        column = "energy" if table == "intent_summaries" else "id"
        raw.refused(f"UPDATE {table} SET {column} = {column}")
        raw.refused(f"DELETE FROM {table}")
    if raw.sqlite:
        line = {"heartbeat_number": 3, "action_considered": "x", "energy_cost": 1, "energy_available": 1}
        raw.refused(
            raw.insert(
                "cost_discomfort_log", how="REPLACE", id=logged.id, **line, deferral_reason="cost_benefit"
            ),
            "logged already",
        )


# ------------------------------------------------------------------------------------------------ roles


def test_a_role_of_the_agents_own_can_file_and_not_review(raw: Any, store: CostStore) -> None:
    """The grants of docs/costs.md, on the database that has roles."""
    if raw.sqlite:
        return
    (_, text), *_ = re.findall(r"```(sql)\n(.*?)```", DOCS.read_text(encoding="utf-8"), flags=re.DOTALL)
    arguments = {**PROPOSAL, "evidence": [{"source": "heartbeat_1", "summary": "deferred"}]}
    role = f"agent_{uuid.uuid4().hex}"
    raw(f"CREATE ROLE {role} LOGIN", *text.replace("TO agent", f"TO {role}").split(";")[:-1])
    try:
        with CostStore(raw.place.replace("solvent@", f"{role}@")) as agents:
            proposal = agents.file_proposal(**arguments)
            for end in (agents.approve, agents.reject, agents.withdraw):
                with pytest.raises(ProposalError, match="permission denied"):
                    end(proposal.id)
            with pytest.raises(StoreError, match="permission denied"):
                agents.register_price("action", "new", 0.1)
        assert store.approve(proposal.id).new_cost == 3.0
    finally:
        raw(f"DROP OWNED BY {role}", f"DROP ROLE {role}")


# --------------------------------------------------------------------------- rules that stand alone


def test_no_proposal_is_born_approved(raw: Any) -> None:
    """Complete in every other way, and not the one pending proposal of its target either."""
    now = raw.now().strip("'")
    review = {
        "reviewed_by": "user",
        "reviewed_at": now,
        "old_cost": 4.0,
        "new_cost": 2.5,
        "effective_at": now,
    }
    raw.refused(
        raw.insert("energy_cost_proposals", **PROPOSAL, status="approved", **review), "starts as pending"
    )


def test_no_range_goes_above_the_ceiling(raw: Any) -> None:
    above = {**PROPOSAL, "direction": "increase", "suggested_min": 5.0, "suggested_max": 13.5}
    raw.refused(raw.insert("energy_cost_proposals", **above), "above the ceiling")


def test_an_approval_is_not_dated_before_the_price_it_replaces(raw: Any, file_one: Filing) -> None:
    earlier = raw.now(-30)  # within what clocks may differ, and before the registration a moment ago
    raw.refused(
        approval(raw, file_one(), reviewed_at=earlier, effective_at=earlier), "after the one before it"
    )


def test_an_approval_names_the_price_in_force(raw: Any, file_one: Filing) -> None:
    raw.refused(approval(raw, file_one(), old_cost="4.5"), "old_cost is not the price")


def test_a_summary_is_not_pushed_out_by_another(raw: Any, store: CostStore) -> None:
    opened = store.price("action", "screen").effective_at
    beat = store.log_heartbeat(
        episode="a", number=0, opened_at=opened, closed_at=opened,
        energy_start=10.0, regenerated=6.0, spent={"exploration": 4.0},
    )  # fmt: skip
    again = raw.insert("intent_summaries", heartbeat_id=beat.id, intent="exploration", energy=0.0)
    raw.refused(again, "summed up already")
    if raw.sqlite:
        raw.refused(again.replace("INSERT", "INSERT OR REPLACE"), "summed up already")
