"""What the store does: prices, proposals, discomfort and heartbeats, on both databases."""

from __future__ import annotations

import datetime
import itertools
import re
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from solvent import LabParams
from solvent.energy import ToolEnergy, energy_for_tool
from solvent.energy.costs import (
    CostStore,
    EnergyCostProposal,
    Heartbeat,
    ProposalError,
    StoreError,
)
from solvent.lab.mechanisms.energy import VERB_NAMES

Filing = Callable[..., EnergyCostProposal]
Priced = Callable[[str, float, str], ToolEnergy]


def after(moment: datetime.datetime) -> datetime.datetime:
    return moment + datetime.timedelta(microseconds=1)


def test_everything_of_a_proposal_comes_back(store: CostStore, file_one: Filing) -> None:
    filed = file_one()
    for key in (filed.id, str(filed.id), filed.id.hex, str(filed.id)[:6], filed.id.hex[:3].upper()):
        row = store.proposal(key)
        assert (row.target_type, row.target_name, row.target) == ("action", "screen", "action screen")
        assert (row.current_cost, row.suggested_min, row.suggested_max) == (4.0, 2.0, 3.0)
        assert (row.direction, row.confidence, row.status) == ("decrease", 0.6, "pending")
        assert row.evidence == [{"source": "heartbeat_102", "summary": "deferred, energy cited"}]
        assert row.heartbeat_refs == [102, 109]
        assert row.memory_refs == [uuid.UUID(int=7), store.reflections("ada")[0].id]
        assert row.created_at == filed.created_at
        assert row.created_at.tzinfo is datetime.UTC
        now = datetime.datetime.now(datetime.UTC)
        assert abs(now - row.created_at) < datetime.timedelta(minutes=1)
        nothing = (
            row.reviewed_at,
            row.reviewed_by,
            row.review_notes,
            row.old_cost,
            row.new_cost,
            row.effective_at,
        )
        assert nothing == (None,) * 6


def test_references_may_be_left_out(store: CostStore, file_one: Filing) -> None:
    filed = file_one(memory_refs=None)
    assert store.proposal(filed.id).memory_refs == [store.reflections()[0].id]


def test_an_approval_records_old_cost_new_cost_and_time(store: CostStore, file_one: Filing) -> None:
    approved = store.approve(file_one().id, notes="paid for, mostly")
    assert (approved.status, approved.reviewed_by, approved.review_notes) == (
        "approved",
        "user",
        "paid for, mostly",
    )
    assert (approved.old_cost, approved.new_cost) == (4.0, 3.0)  # the end of the range nearest to the price
    assert approved.effective_at == approved.reviewed_at
    first, second = store.history("action", "screen")
    assert (first.cost, first.proposal_id) == (4.0, None)
    assert (second.cost, second.proposal_id, second.effective_at) == (3.0, approved.id, approved.effective_at)
    assert store.proposal(approved.id).new_cost == 3.0
    assert store.price("action", "screen").cost == 3.0


def test_the_human_names_the_cost_within_the_range(store: CostStore, file_one: Filing) -> None:
    proposal = file_one()
    for cost in (1.9, 3.1, float("nan"), float("inf"), -1.0):
        with pytest.raises(ProposalError, match="allowed: 2 to 3"):
            store.approve(proposal.id, new_cost=cost)
    assert store.approve(proposal.id, new_cost=2.25).new_cost == 2.25


def test_an_increase_is_heard_too(store: CostStore, file_one: Filing) -> None:
    proposal = file_one(direction="increase", suggested_min=5.0, suggested_max=6.0)
    assert store.approve(proposal.id, by="system").new_cost == 5.0


def test_a_second_approval_starts_from_the_first(clock: Any, store: CostStore, file_one: Filing) -> None:
    store.approve(file_one().id)
    clock.pass_(days=1)
    again = file_one(suggested_min=1.0, suggested_max=2.0)
    assert again.current_cost == 3.0
    assert store.approve(again.id).old_cost == 3.0
    assert [row.cost for row in store.history("action", "screen")] == [4.0, 3.0, 2.0]


def test_an_argument_about_a_cost_that_has_changed_since_is_held_against_the_price(
    store: CostStore, file_one: Filing
) -> None:
    """A mispriced lab argued about its own cost; the store's price is another."""
    proposal = file_one(current_cost=8.0, suggested_min=5.0, suggested_max=6.0)
    with pytest.raises(ProposalError, match="argues about a cost of 8, the price is 4; allowed: name a cost"):
        store.approve(proposal.id)
    with pytest.raises(ProposalError, match="a price of 4 can't decrease into 5 to 6"):
        store.approve(proposal.id, new_cost=5.0)
    lower = file_one("dose_response", current_cost=12.0, suggested_min=4.0, suggested_max=8.0)
    with pytest.raises(ProposalError, match="4 to 6, below the price of 6"):
        store.approve(lower.id, new_cost=7.0)
    assert store.approve(lower.id, new_cost=5.0).old_cost == 6.0


@pytest.mark.parametrize("end", ["approve", "reject", "withdraw"])
@pytest.mark.parametrize("again", ["approve", "reject", "withdraw"])
def test_who_comes_late_is_told_who_was_first(
    store: CostStore, file_one: Filing, end: str, again: str
) -> None:
    proposal = getattr(store, end)(file_one().id)
    said = f"proposal {str(proposal.id)[:8]} is already {proposal.status} .by {proposal.reviewed_by}, 2"
    with pytest.raises(ProposalError, match=said):
        getattr(store, again)(proposal.id)


def test_one_pending_proposal_a_target(store: CostStore, file_one: Filing) -> None:
    first = file_one()
    with pytest.raises(ProposalError, match=f"pending proposal already .{str(first.id)[:8]}"):
        file_one()
    file_one("dose_response")
    store.withdraw(first.id)
    file_one()
    assert [len(store.proposals(status)) for status in (None, "pending", "withdrawn")] == [3, 2, 1]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"evidence": []}, "at least one"),
        ({"evidence": [{"source": "a"}]}, "source, summary"),
        ({"heartbeat_refs": None}, "got 0 heartbeats; allowed: evidence from at least 2"),
        ({"heartbeat_refs": [102, 102]}, "got 1 heartbeats"),
        ({"evidence": [{"source": "a", "summary": 3}]}, "both texts"),
        ({"target": "sing"}, "'sing' has no price"),
        ({"target": "publish_public", "suggested_min": 5.9, "suggested_max": 6.5}, "at least the floor 6"),
        ({"target": "publish_private", "suggested_min": 2.9}, "at least the floor 3"),
        ({"direction": "increase", "suggested_min": 5.0, "suggested_max": 13.5}, "at most the ceiling 13"),
        ({"direction": "up"}, "increase, decrease"),
        ({"direction": "increase"}, "ck_proposals_suggestion"),
        ({"confidence": 1.5}, "ck_proposals_confidence"),
        ({"rationale": " "}, "ck_proposals_rationale"),
        ({"suggested_max": 1.0}, "ck_proposals_suggested_max"),
    ],
)
def test_what_can_not_be_filed(
    store: CostStore, file_one: Filing, changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(ProposalError, match=said) as refusal:
        file_one(**changes)
    assert "\n" not in str(refusal.value)
    assert store.proposals() == store.reflections() == []


def test_what_can_not_be_asked_of_the_store(store: CostStore, file_one: Filing) -> None:
    proposal = file_one()
    for key in ("", "%", "xyz", "' OR 1=1", "0" * 33, "f" * 32):
        with pytest.raises(ProposalError, match="proposal: "):
            store.approve(key)
    with pytest.raises(ProposalError, match="allowed for an approval: user, system"):
        store.approve(proposal.id, by="timeout")
    with pytest.raises(ProposalError, match="user, system, timeout"):
        store.reject(proposal.id, by="agent")
    with pytest.raises(ProposalError, match="user, system"):
        store.withdraw(proposal.id, by="agent")
    with pytest.raises(ProposalError, match="pending, approved, rejected, withdrawn"):
        store.proposals("open")
    with pytest.raises(ProposalError, match="above 0"):
        store.expire(datetime.timedelta(0))
    with pytest.raises(StoreError, match="only by an approved proposal"):
        store.register_action("screen", 1.0)
    with pytest.raises(StoreError, match="ck_energy_costs_cost"):
        store.register_action("new", -1.0)
    with pytest.raises(ProposalError, match="has no price"):
        store.history("action", "new")


def test_a_ceiling_of_nan_is_no_missing_ceiling(store: CostStore) -> None:
    with pytest.raises(StoreError, match="got nan; allowed: a number") as refusal:
        store.register_action("nap", 1.0, ceiling=float("nan"))
    assert "\n" not in str(refusal.value)
    with pytest.raises(StoreError):
        store.register_action("nap", 1.0, floor=float("nan"))
    assert "nap" not in {row.target_name for row in store.prices()}


def test_names_that_are_no_text_are_one_line(store: CostStore, deferred: Any) -> None:
    half = "\ud800"  # one half of a pair, which UTF-8 can't write
    for attempt in (
        lambda: store.register_action(half, 1.0),
        lambda: store.price("action", half),
        lambda: store.history("mcp_tool", half),
        lambda: store.discomfort(half),
        lambda: store.log_discomfort(deferred(agent_notes=half)),
        lambda: store.knows(half),
    ):
        with pytest.raises(StoreError, match=r"got '\\ud800'; allowed: text in Unicode") as refusal:
            attempt()
        assert "\n" not in str(refusal.value)
    assert store.discomfort() == []


def test_several_ids_that_begin_alike_are_not_guessed_at(store: CostStore, file_one: Filing) -> None:
    for n in range(17):  # seventeen ids, sixteen first digits
        store.register_action(f"verb-{n}", 4.0)
    firsts = [str(file_one(f"verb-{n}").id)[0] for n in range(17)]
    twice = next(digit for digit in firsts if firsts.count(digit) > 1)
    with pytest.raises(ProposalError, match="several ids begin"):
        store.proposal(twice)


def test_what_nobody_reviews_in_time_is_rejected_and_changes_nothing(
    store: CostStore, file_one: Filing
) -> None:
    proposal = file_one()
    assert store.expire(datetime.timedelta(days=1)) == []
    (expired,) = store.expire(datetime.timedelta(microseconds=1))
    assert (expired.id, expired.status, expired.reviewed_by) == (proposal.id, "rejected", "timeout")
    assert store.price("action", "screen").cost == 4.0
    assert store.expire(datetime.timedelta(microseconds=1)) == []


def test_the_lines_of_the_documentation_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (Path(__file__).resolve().parents[2] / "docs" / "costs.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "docs/costs.md", "exec"), {})
    assert capsys.readouterr().out.splitlines() == re.findall(r"print\(.*\)  # (.*)", code)


# ---------------------------------------------------------------------------------------------- price lists


def test_a_price_list_of_the_past_stays_as_it_was(clock: Any, store: CostStore, file_one: Filing) -> None:
    start = store.price("action", "screen").effective_at
    lists = {start: store.price_list(start).costs}
    for high in (3.0, 2.5, 2.25):
        clock.pass_(days=1)
        moment = store.approve(file_one(suggested_max=high).id).effective_at
        assert moment is not None
        lists[moment] = store.price_list(moment).costs
    assert [listed["screen"] for listed in lists.values()] == [4.0, 3.0, 2.5, 2.25]
    for (moment, listed), later in itertools.pairwise([*lists.items(), (None, None)]):  # type: ignore[list-item]
        assert store.price_list(moment).costs == store.price_list(after(moment)).costs == listed
        assert later is not None
    assert set(lists[start]) == set(VERB_NAMES)
    assert store.price_list() == (
        moment,
        lists[moment],
    )  # dated by the last change, so the same until the next


def test_moments_that_have_no_price_list(store: CostStore) -> None:
    start = store.price("action", "screen").effective_at
    with pytest.raises(StoreError, match="no price of a lab's verb as of"):
        store.price_list(start - datetime.timedelta(microseconds=1))
    with pytest.raises(StoreError, match="in the future"):
        store.price_list(start + datetime.timedelta(hours=1))
    with pytest.raises(StoreError, match="without a zone"):
        store.price_list(start.replace(tzinfo=None))


def test_a_lab_can_be_run_at_the_listed_prices(store: CostStore, file_one: Filing) -> None:
    store.approve(file_one().id)
    params = LabParams.from_mapping({"energy": {"prices": store.price_list().costs}}, base=LabParams())
    assert params.energy.base_cost("screen") == 3.0
    assert params.energy.base_cost("dose_response") == LabParams().energy.base_cost("dose_response")


def test_registering_a_lab_twice_changes_nothing(store: CostStore, file_one: Filing) -> None:
    store.approve(file_one().id)
    assert store.register_verbs(LabParams()) == []
    assert store.price("action", "screen").cost == 3.0


# ---------------------------------------------------------------------------------------------------- tools


def test_a_discovered_tool_gets_a_row_and_a_price(store: CostStore, file_one: Filing) -> None:
    energy = energy_for_tool("slack:send_message", None, {"properties": {"channel": {}, "text": {}}})
    store.register_tool(energy, "Sends a message")
    (tool,) = store.tools()
    assert (tool.name, tool.description) == ("slack:send_message", "Sends a message")
    row = energy.to_row()
    assert {name: getattr(tool, name) for name in row} == row
    price = store.price("mcp_tool", "slack:send_message")
    assert (price.cost, price.category) == (energy.energy_cost, energy.category)
    assert price.floor == (energy.energy_cost_floor or 0.0)
    with pytest.raises(StoreError, match="registered already"):
        store.register_tool(energy_for_tool("slack:send_message", {"readOnlyHint": True}))


def test_an_approval_moves_the_cost_of_a_tool_with_its_price(
    store: CostStore, file_one: Filing, priced: Priced
) -> None:
    store.register_tool(priced("mail:send", 5.0, "send_private"))
    store.register_tool(priced("mail:list", 1.0, "read"))
    proposal = file_one("mail:send", suggested_min=3.5, suggested_max=4.0)
    assert proposal.target == "tool mail:send"
    store.approve(proposal.id)
    assert [tool.energy_cost for tool in store.tools()] == [1.0, 4.0]
    assert [row.cost for row in store.history("mcp_tool", "mail:send")] == [5.0, 4.0]
    assert "mail:send" not in store.price_list().costs  # the lab has no such verb


def test_the_defaults_of_the_source(store: CostStore, raw: Any) -> None:
    raw("INSERT INTO mcp_tools (name) VALUES ('x:y')")
    (tool,) = store.tools()
    assert (tool.energy_cost, tool.energy_cost_category, tool.energy_cost_floor) == (2.0, None, None)
    assert tool.allowed_contexts == ["chat"]
    assert tool.id.version == 4


# ----------------------------------------------------------------------------------- discomfort, heartbeats


def test_discomfort_is_logged(store: CostStore, deferred: Any) -> None:
    lab_time = datetime.datetime(2025, 1, 1, 9, tzinfo=datetime.timezone(datetime.timedelta(hours=2)))
    for beat, action in ((4, "screen"), (3, "dose_response")):
        told = {"estimated_value": 0.6, "similar_deferrals_recent": 1, "created_at": lab_time}
        store.log_discomfort(deferred(heartbeat_number=beat, action_considered=action, **told))
    assert [row.heartbeat_number for row in store.discomfort()] == [3, 4]
    (row,) = store.discomfort("screen")
    assert (row.estimated_value, row.agent_notes, row.similar_deferrals_recent) == (0.6, None, 1)
    assert row.created_at == lab_time
    for wrong in ({"deferral_reason": "tired"}, {"heartbeat_number": -1}, {"energy_cost": float("inf")}):
        with pytest.raises(StoreError, match="ck_discomfort"):
            store.log_discomfort(deferred(**wrong))


def test_heartbeats_carry_their_intent_summary_and_balance(store: CostStore) -> None:
    opened = datetime.datetime(2025, 1, 1, 6, tzinfo=datetime.UTC)
    beat: dict[str, Any] = {
        "episode": "run/seed-0/0",
        "number": 2,
        "opened_at": opened,
        "closed_at": opened + datetime.timedelta(hours=1),
        "energy_start": 12.5,
        "regenerated": 10.0,
    }
    store.log_heartbeat(Heartbeat(**beat), {"cognition": 2.0, "exploration": 4.5})
    ((row, summary),) = store.heartbeats("run/seed-0/0")
    assert summary == {"cognition": 2.0, "exploration": 4.5}
    assert (row.spent, row.energy_end, row.opened_at) == (6.5, 16.0, opened)
    assert store.heartbeats("another") == []
    for spent, said in (
        ({"cognition": 2.0}, "logged already"),
        ({"cognition": -1.0}, "ck_"),
        ({"cognition": 23.0}, "energy_end"),
        ({"sleep": 1.0}, "ck_intent_summaries_intent"),
    ):
        number = 2 if said == "logged already" else 3
        with pytest.raises(StoreError, match=said):
            store.log_heartbeat(Heartbeat(**{**beat, "number": number}), spent)
    assert len(store.heartbeats()) == 1  # nothing of what was refused is left behind
    with pytest.raises(StoreError, match="without a zone"):
        store.log_heartbeat(Heartbeat(**{**beat, "number": 3, "opened_at": opened.replace(tzinfo=None)}), {})


# -------------------------------------------------------------------------------------------------- revisions


def cheaper(**changes: Any) -> EnergyCostProposal:
    arguments: dict[str, Any] = {
        "target_type": "action",
        "target_name": "screen",
        "current_cost": 4.0,
        "suggested_min": 3.0,
        "suggested_max": 3.5,
        "direction": "decrease",
        "rationale": "less than I asked for before",
        "confidence": 0.7,
        "evidence": [{"source": "heartbeat_111", "summary": "deferred again"}],
        "heartbeat_refs": [109, 111],
    }
    return EnergyCostProposal(**{**arguments, **changes})


def test_a_revision_takes_the_place_of_a_proposal(store: CostStore, file_one: Filing) -> None:
    old = file_one()
    new = store.revise(old.id, cheaper(memory_refs=old.memory_refs))
    assert (new.status, new.rationale, new.suggested_min) == ("pending", "less than I asked for before", 3.0)
    held = store.proposal(old.id)
    assert (held.status, held.reviewed_by, held.review_notes) == (
        "withdrawn",
        "system",
        f"revised as {new.id}",
    )
    assert held.rationale == old.rationale
    assert store.count_proposals() == {"pending": 1, "approved": 0, "rejected": 0, "withdrawn": 1}
    assert store.approve(new.id).new_cost == 3.5
    with pytest.raises(ProposalError, match="is already approved"):
        store.revise(new.id, cheaper(memory_refs=old.memory_refs))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"heartbeat_refs": [111]}, "got 1 heartbeats"),
        ({"memory_refs": [uuid.UUID(int=8)]}, "memory_refs: got no reflection"),
        ({"memory_refs": None}, "memory_refs: got no reflection"),
        ({"target_name": "dmso"}, "allowed: action screen"),
        ({"suggested_max": 14.0, "direction": "increase"}, "at most the ceiling 13"),
        ({"confidence": 2.0}, "ck_proposals_confidence"),
    ],
)
def test_a_revision_that_can_not_be_filed_withdraws_nothing(
    store: CostStore, file_one: Filing, changes: dict[str, Any], said: str
) -> None:
    old = file_one()
    with pytest.raises(ProposalError, match=said):
        store.revise(old.id, cheaper(**{"memory_refs": old.memory_refs, **changes}))
    assert [row.id for row in store.proposals("pending")] == [old.id]
    assert len(store.proposals()) == 1


def test_proposals_are_paged(store: CostStore, file_one: Filing) -> None:
    ids = []
    for _ in range(5):
        ids.append(file_one().id)
        store.withdraw(ids[-1])
    dear = file_one("dose_response")
    pages = [store.proposals("withdrawn", limit=2, offset=offset) for offset in (0, 2, 4, 6)]
    assert [row.id for page in pages for row in page] == ids
    assert [row.id for row in store.proposals(target_name="dose_response")] == [dear.id]
    assert [len(page) for page in pages] == [2, 2, 1, 0]
