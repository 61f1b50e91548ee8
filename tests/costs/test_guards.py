"""What the database itself guards against SQL from outside, and what an approval alone can do."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from solvent.energy import ToolEnergy, energy_for_tool
from solvent.energy.costs import (
    CostStore,
    DeferralSource,
    EnergyCostProposal,
    EnergyUse,
    Heartbeat,
    ProposalError,
    Reflection,
    StoreError,
)

DOCS = Path(__file__).resolve().parents[2] / "docs" / "costs.md"
Filing = Callable[..., EnergyCostProposal]
Priced = Callable[[str, float, str], ToolEnergy]
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


def grounds(raw: Any, store: CostStore) -> dict[str, str]:
    """The references that a proposal has, as literals."""
    reflection = store.log_reflection(Reflection(episode="ada", heartbeat_number=2)).id
    return {
        "heartbeat_refs": "[1, 2]" if raw.sqlite else "{1, 2}",
        "memory_refs": f'["{reflection}"]' if raw.sqlite else f"{{{reflection}}}",
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
    raw.refused(statement, "append-only")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE solvent_costs_version SET version_num = '0001'",
        "UPDATE solvent_costs_version SET version_num = '0999'",
        "DELETE FROM solvent_costs_version",
        "INSERT INTO solvent_costs_version (version_num) VALUES ('0999')",
    ],
)
def test_the_version_of_the_schema_can_not_be_touched(raw: Any, statement: str) -> None:
    raw.refused(statement, "only a migration")


def test_an_upsert_changes_nothing(raw: Any) -> None:
    row = "VALUES ('action', 'screen', 0, 0.1, 0)"
    columns = "(target_type, target_name, revision, cost, floor)"
    key = "(target_type, target_name, revision)"
    upsert = f"INSERT INTO energy_costs {columns} {row} ON CONFLICT {key} DO UPDATE SET cost = 0.1"
    raw.refused(upsert, "append-only")


@pytest.mark.parametrize("revision", [0, 1, 7])
def test_a_second_price_needs_a_proposal(raw: Any, revision: int) -> None:
    price = {"target_type": "action", "target_name": "screen", "revision": revision, "cost": 0.1, "floor": 0}
    raw.refused(raw.insert("energy_costs", **price))


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
    raw.refused(raw.insert("energy_costs", **screen, effective_at=raw.now(), proposal_id=uuid.uuid4()))


def test_nothing_but_an_approval_changes_a_price(
    raw: Any, file_one: Filing, store: CostStore, deferred: Any
) -> None:
    before = raw("SELECT * FROM energy_costs")
    store.reject(file_one().id)
    store.withdraw(file_one().id)
    store.reject(file_one().id, by="timeout")
    file_one()
    store.log_discomfort(deferred())
    assert raw("SELECT * FROM energy_costs") == before


def test_a_timeout_approves_nothing(raw: Any, file_one: Filing) -> None:
    raw.refused(approval(raw, file_one(), reviewed_by="'timeout'"))


def test_an_approval_by_sql_has_to_be_complete_and_changes_no_price(
    raw: Any, file_one: Filing, store: CostStore
) -> None:
    proposal = file_one()
    for incomplete in ("reviewed_at", "reviewed_by", "old_cost", "new_cost", "effective_at"):
        raw.refused(approval(raw, proposal, **{incomplete: "NULL"}))
    for wrong in ("new_cost = 1.9", "new_cost = 3.1", "new_cost = 4.0", "reviewed_by = 'agent'"):
        name, _, value = wrong.partition(" = ")
        raw.refused(approval(raw, proposal, **{name: value}))
    raw(approval(raw, proposal))
    assert store.price("action", "screen").cost == 4.0


# --------------------------------------------------------- public and destructive are never under the floor


@pytest.mark.parametrize(
    ("category", "floor"), [("send_public", 6.0), ("delete", 5.0), ("send_private", 3.0)]
)
def test_public_destructive_and_private_have_their_floor(
    raw: Any, store: CostStore, file_one: Filing, priced: Priced, category: str, floor: float
) -> None:
    under = floor - 0.001
    tool = {"name": "x:y", "energy_cost": 8.0, "energy_cost_category": category}
    raw.refused(raw.insert("mcp_tools", **tool))  # no floor at all
    raw.refused(raw.insert("mcp_tools", **tool, energy_cost_floor=under))
    raw.refused(raw.insert("mcp_tools", **{**tool, "energy_cost": under}, energy_cost_floor=floor))
    price = {"target_type": "action", "target_name": "x", "revision": 0, "category": category}
    raw.refused(raw.insert("energy_costs", **price, cost=8.0, floor=under, effective_at=raw.now()))
    raw.refused(raw.insert("energy_costs", **price, cost=under, floor=floor, effective_at=raw.now()))
    with pytest.raises(StoreError, match="floor"):
        store.register_tool(ToolEnergy("x:y", category, 8.0, None, {}, ("chat",)))
    store.register_tool(priced("x:y", 8.0, category))
    with pytest.raises(ProposalError, match=f"at least the floor {floor:g}"):
        file_one("x:y", suggested_min=under)


@pytest.mark.parametrize(("verb", "floor"), [("publish_public", 6.0), ("publish_private", 3.0)])
def test_the_verbs_that_publish_keep_their_floor_whatever_they_are_called(
    new_place: Callable[[], str], verb: str, floor: float
) -> None:
    with CostStore(new_place()) as store, pytest.raises(ValueError, match=verb):
        store.register_action(verb, floor - 0.5, floor=0.0, category="action")


def test_an_unheard_of_category_does_not_slip_past_the_floors(raw: Any) -> None:
    raw.refused(raw.insert("mcp_tools", name="x:y", energy_cost=0.1, energy_cost_category="public_send"))


# ------------------------------------------------------------------------------------ a proposal and its life


def test_a_proposal_starts_as_pending_and_is_an_argument(raw: Any, store: CostStore) -> None:
    sound = {**PROPOSAL, **grounds(raw, store)}
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
        {"reviewed_by": "user"},
        {"review_notes": "fine"},
        {"reviewed_by": "user", "reviewed_at": raw.now()},
        {"old_cost": 4.0, "new_cost": 3.0, "effective_at": raw.now()},
    ):
        raw.refused(raw.insert("energy_cost_proposals", **{**sound, **wrong}), "ck_")
    infinity = "9e999" if raw.sqlite else "'Infinity'"
    for endless in (infinity, "'NaN'"):
        up = raw.insert("energy_cost_proposals", **{**sound, "direction": "increase", "suggested_min": 4.0})
        raw.refused(up.replace("4.0, 3.0", f"4.0, {endless}"))
    raw(raw.insert("energy_cost_proposals", **sound))
    (row,) = raw("SELECT status, evidence FROM energy_cost_proposals")
    assert row[0] == "pending"
    raw.refused(raw.insert("energy_cost_proposals", **sound), "idx_proposals_one_pending", "UNIQUE")


def test_the_default_evidence_of_the_source_is_none_and_so_refused(raw: Any, store: CostStore) -> None:
    sound = {**PROPOSAL, **grounds(raw, store)}
    raw.refused(
        raw.insert("energy_cost_proposals", **{k: v for k, v in sound.items() if k != "evidence"}),
        "ck_proposals_evidence",
    )


def test_a_proposal_by_sql_has_two_heartbeats_and_a_reflection(raw: Any, store: CostStore) -> None:
    sound = {**PROPOSAL, **grounds(raw, store)}
    stranger = str(uuid.uuid4())
    one, twice, other = (
        ("[1]", "[1, 1]", f'["{stranger}"]') if raw.sqlite else ("{1}", "{1, 1}", f"{{{stranger}}}")
    )
    for refs in (None, one, twice):
        raw.refused(
            raw.insert("energy_cost_proposals", **{**sound, "heartbeat_refs": refs}), "two heartbeats"
        )
    for refs in (None, other):
        raw.refused(raw.insert("energy_cost_proposals", **{**sound, "memory_refs": refs}), "reflection")
    raw(raw.insert("energy_cost_proposals", **sound))


# ----------------------------------------------------------------------- how far and how often a cost may move


def price_by_sql(
    raw: Any, store: CostStore, revision: int, cost: float, *, old: float, **changes: Any
) -> str:
    """A forged approval, complete as the database wants it, and the price of it that is still to be entered."""
    proposal, moment = uuid.uuid4(), changes.pop("effective_at", raw.now())
    up = cost > old
    forged = {
        **PROPOSAL,
        **grounds(raw, store),
        "id": proposal,
        "direction": "increase" if up else "decrease",
        "current_cost": old,
        "suggested_min": old if up else 0.0,
        "suggested_max": 100.0 if up else old,
        "status": "approved",
        "reviewed_at": raw.now(),
        "reviewed_by": "user",
        "old_cost": old,
        "new_cost": cost,
        "effective_at": moment,
    }
    raw(raw.insert("energy_cost_proposals", **forged))
    price = {
        "target_type": "action",
        "target_name": "screen",
        "floor": 0,
        "ceiling": 13,
        "category": "action",
    }
    return str(
        raw.insert(
            "energy_costs",
            **{
                **price,
                "revision": revision,
                "cost": cost,
                "effective_at": moment,
                "proposal_id": proposal,
                **changes,
            },
        )
    )


@pytest.mark.parametrize("cost", [0.1, 1.99, 6.01, 13.0])
def test_no_approval_moves_a_cost_by_more_than_half_of_it(raw: Any, store: CostStore, cost: float) -> None:
    raw.refused(price_by_sql(raw, store, 1, cost, old=4.0), "half of itself")


@pytest.mark.parametrize("cost", [2.0, 6.0])
def test_half_of_it_is_allowed(raw: Any, store: CostStore, cost: float) -> None:
    raw(price_by_sql(raw, store, 1, cost, old=4.0))
    assert store.price("action", "screen").cost == cost


def test_eight_approvals_in_a_second_move_a_cost_once(store: CostStore, file_one: Filing) -> None:
    store.approve(file_one().id)
    for attempt in range(7):
        proposal = file_one(suggested_min=1.5, suggested_max=2.9)
        with pytest.raises(
            ProposalError, match=r"'screen' changed at .*; allowed: one change a day, the next from"
        ):
            store.approve(proposal.id, by=("user", "system")[attempt % 2])
        store.withdraw(proposal.id)
    assert store.price("action", "screen").cost == 3.0
    store.approve(file_one("dose_response", suggested_min=4.0, suggested_max=5.0).id)  # another target


def test_neither_by_sql(raw: Any, store: CostStore, file_one: Filing) -> None:
    store.approve(file_one().id)
    raw.refused(price_by_sql(raw, store, 2, 2.5, old=3.0), "once a day")
    raw.refused(
        price_by_sql(raw, store, 2, 2.5, old=3.0, effective_at=raw.now(86_300)),
        "once a day",
        "takes effect now",
    )
    later = price_by_sql(raw, store, 2, 2.5, old=3.0, effective_at=raw.now(86_500))
    raw.refused(later, "takes effect now")
    raw.refused(price_by_sql(raw, store, 3, 2.5, old=3.0), "the one before it", "once a day")
    if raw.sqlite:
        raw.refused(
            price_by_sql(raw, store, 2, 2.5, old=3.0, effective_at="'soon'"), "takes effect now", "once a day"
        )


def test_a_day_later_it_may_move_again(clock: Any, store: CostStore, file_one: Filing) -> None:
    clock.pass_(days=1)
    store.approve(file_one().id)
    clock.pass_(hours=23)
    proposal = file_one(suggested_min=1.5, suggested_max=2.0)
    with pytest.raises(ProposalError, match="one change a day"):
        store.approve(proposal.id)
    clock.pass_(hours=1)
    assert store.approve(proposal.id).new_cost == 2.0


@pytest.mark.parametrize("changes", [{"floor": 1}, {"ceiling": 14}, {"ceiling": None}, {"category": "read"}])
def test_the_terms_of_a_price_stay(raw: Any, store: CostStore, changes: dict[str, Any]) -> None:
    raw.refused(price_by_sql(raw, store, 1, 3.0, old=4.0, **changes), "floor, ceiling and category")


def test_the_cost_of_a_tool_is_its_price(raw: Any, store: CostStore, priced: Priced) -> None:
    store.register_tool(priced("x:y", 1.0, "read"))
    raw.refused("UPDATE mcp_tools SET energy_cost = 0.5", "price in force")
    raw("UPDATE mcp_tools SET description = 'reads', energy_cost = 1.0")


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
        raw.refused(f"UPDATE energy_cost_proposals SET {change} {where}", "append-only")
    raw.refused(f"DELETE FROM energy_cost_proposals {where}", "append-only")


# ------------------------------------------------------------------------------------------------ roles


def test_a_role_of_the_agents_own_can_file_and_not_review(
    raw: Any, store: CostStore, argue: Callable[[CostStore], EnergyCostProposal], deferred: Any
) -> None:
    """The grants of docs/costs.md, on the database that has roles."""
    if raw.sqlite:
        return
    (_, text), *_ = re.findall(r"```(sql)\n(.*?)```", DOCS.read_text(encoding="utf-8"), flags=re.DOTALL)
    role = f"agent_{uuid.uuid4().hex}"
    raw(f"CREATE ROLE {role} LOGIN", *text.replace("TO agent", f"TO {role}").split(";")[:-1])
    opened = store.price("action", "screen").effective_at
    place = raw.place.replace("solvent@", f"{role}@")
    try:
        with CostStore(place) as agents:
            proposal = argue(agents)
            agents.log_discomfort(deferred(deferral_reason="hoarding"), source=DeferralSource(episode="a"))
            beat = Heartbeat(
                episode="a", number=0, opened_at=opened, closed_at=opened, energy_start=10.0, regenerated=6.0
            )
            agents.log_heartbeat(beat, {"exploration": 4.0})
            agents.log_use(
                EnergyUse(episode="a", number=1, heartbeat_number=0, target_type="action", target_name="screen",
                          intent="exploration", cost=4.0)
            )  # fmt: skip
            agents.mark_failed("a", 1)
            assert [use.failed for use in agents.uses("a")] == [True]
            for end in (agents.approve, agents.reject, agents.withdraw):
                with pytest.raises(ProposalError, match="permission denied"):
                    end(proposal.id)
            with pytest.raises(StoreError, match="permission denied"):
                agents.register_action("new", 0.1)
            with pytest.raises(StoreError, match="permission denied"):
                agents.register_tool(energy_for_tool("get_time"))
        now = raw.now().strip("'")
        approved = {"status": "approved", "reviewed_by": "user", "reviewed_at": now, "effective_at": now}
        forged = raw.insert(
            "energy_cost_proposals", **PROPOSAL, **grounds(raw, store), **approved, old_cost=4.0, new_cost=2.5
        )
        with pytest.raises(psycopg.errors.InsufficientPrivilege), psycopg.connect(place) as connection:
            connection.execute(forged)
        assert store.approve(proposal.id).new_cost == 3.0
    finally:
        raw(f"DROP OWNED BY {role}", f"DROP ROLE {role}")
