"""A meter with a store outlives its process, is heard in both directions, and can't change what it pays."""

from __future__ import annotations

import concurrent.futures
import datetime
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from solvent.energy import EnergyMeter, ToolEnergy, explain
from solvent.energy.costs import CostStore, EnergyCostProposal, ProposalError, StoreError

MEMORY = uuid.UUID(int=7)
NINE = datetime.datetime(2026, 11, 2, 9, tzinfo=datetime.UTC)
Meters = Callable[..., EnergyMeter]


class Day:
    """A meter's clock: an hour a heartbeat."""

    def __init__(self) -> None:
        self.moment = NINE

    def __call__(self) -> datetime.datetime:
        return self.moment


@pytest.fixture
def day() -> Day:
    return Day()


@pytest.fixture
def meter(clock: Any, store: CostStore, day: Day) -> Meters:
    """Opens meters on the store, as a new process would."""

    def opened(episode: str = "ada", **options: Any) -> EnergyMeter:
        numbers: dict[str, Any] = {"start": 10, "regeneration": 3, "cap": 20, **options}
        made = EnergyMeter(**numbers, store=store, episode=episode, clock=day)
        made.register("think", "cognition", ratings=(2, 0, 0, 2, 2))
        made.register("reach_out_user", "social", cost=5.0, category="send_private")
        made.discover(
            [{"name": "files:read_file", "annotations": {"readOnlyHint": True, "openWorldHint": False}}]
        )
        return made

    return opened


def close(meter: EnergyMeter, day: Day) -> None:
    day.moment += datetime.timedelta(hours=1)
    meter.close_heartbeat()


def put_off_twice(meter: EnergyMeter, day: Day, **words: Any) -> None:
    """Two heartbeats in which a message was put off."""
    for _ in range(2):
        meter.put_off("reach_out_user", context="chat", **words)
        close(meter, day)


def shown(meter: EnergyMeter) -> Any:
    """Everything that decides what a meter does next."""
    quotes = [
        meter.quote(name, about, "chat") for name in meter.actions for about in (None, "a.txt", "b.txt")
    ]
    return meter.heartbeat, meter.balance, meter.spent, quotes, meter.reflect()


def test_a_meter_that_is_opened_again_goes_on_where_it_was(meter: Meters, day: Day) -> None:
    """After every single thing that it does, a second meter on the same episode is in the same state."""
    first = meter()
    for step in (
        lambda: first.act("files:read_file", "a.txt"),
        lambda: first.failed("files:read_file"),
        lambda: first.act("files:read_file", "b.txt"),
        lambda: first.failed("files:read_file"),
        lambda: first.act("reach_out_user", context="chat"),
        lambda: first.act("reach_out_user", context="chat", notes="she would like it"),
        lambda: close(first, day),
        lambda: first.act("think"),
        lambda: first.put_off("reach_out_user", context="chat"),
        lambda: first.put_off("reach_out_user", context="chat", notes="again"),
        lambda: close(first, day),
        lambda: close(first, day),
        *[lambda: first.act("files:read_file", "a.txt")] * 5,
    ):
        step()
        assert shown(meter()) == shown(first)
    assert first.books.start == 10_000
    assert meter().books.balance == first.books.balance
    assert meter("grace").balance == 10.0


def test_energy_is_not_regained_by_starting_again(meter: Meters) -> None:
    meter().act("reach_out_user", context="chat")
    assert meter().balance == 2.5
    for numbers in ({"start": 1.0}, {"start": 7.4}):
        with pytest.raises(ValueError, match=r"start: got .*; allowed: what 'ada' began with"):
            meter(**numbers)
    assert not meter().act("reach_out_user", context="chat").runs


def test_a_balance_above_a_new_cap_is_said(meter: Meters, day: Day) -> None:
    close(meter(), day)
    with pytest.raises(ValueError, match="cap: got 12; allowed: at least the balance 13 in the store"):
        meter(cap=12)


def test_two_meters_on_one_episode_do_not_spend_twice(meter: Meters) -> None:
    one, other = meter(), meter()
    one.act("think")
    before = other.books
    with pytest.raises(StoreError, match="use 1 of 'ada' is logged already; allowed: one meter at a time"):
        other.act("think")
    assert other.books == before
    one.close_heartbeat()
    with pytest.raises(StoreError, match="heartbeat 1 of 'ada' is logged already"):
        other.close_heartbeat()
    assert (other.heartbeat, other.books) == (1, before)


def test_of_meters_that_pay_at_once_one_does(meter: Meters) -> None:
    meters = [meter() for _ in range(4)]

    def pay(one: EnergyMeter) -> bool:
        try:
            return one.act("think").runs
        except StoreError:
            return False

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(pay, meters)) == 1
    assert meter().balance == 7.0


# -------------------------------------------------------------------------------------------------- the record


def test_words_and_memories_travel_with_a_deferral_and_a_proposal(
    meter: Meters, store: CostStore, day: Day
) -> None:
    other, reason = uuid.uuid4(), "She asked for news twice, and I had none to give for want of energy."
    ada = meter()
    for notes, memories in (("she would like it", [MEMORY]), ("still not", [str(MEMORY), other])):
        ada.put_off("reach_out_user", context="chat", value=0.9, notes=notes, memories=memories)
        close(ada, day)
    rows = store.deferrals("ada")
    assert [(row.agent_notes, row.estimated_value) for row, _ in rows] == [
        ("she would like it", 0.9),
        ("still not", 0.9),
    ]
    assert [source.memory_refs for _, source in rows] == [[MEMORY], [MEMORY, other]]
    assert [row.similar_deferrals_recent for row, _ in rows] == [0, 1]
    assert [row.created_at for row, _ in rows] == [NINE, NINE + datetime.timedelta(hours=1)]

    further = uuid.uuid4()
    ada.reflect("I hoard energy and avoid her.", [other])
    (reflection,) = store.reflections("ada")
    assert (reflection.agent_notes, reflection.memory_refs) == ("I hoard energy and avoid her.", [other])
    filed = ada.propose("reach_out_user", 3.5, 4.5, reason, memories=[further])
    held = store.proposal(filed.id)
    assert held.rationale == reason
    assert held.memory_refs == [reflection.id, further, MEMORY, other]
    assert held.heartbeat_refs == [1, 2]
    assert [item["source"] for item in held.evidence] == ["heartbeat_1", "heartbeat_2"]
    assert (
        held.evidence[0]["summary"]
        == "put off (cost_benefit): cost 7.5, 10 left; worth 0.9; she would like it"
    )
    assert (held.confidence, held.direction, held.current_cost) == (0.5, "decrease", 5.0)


def test_all_reasons_of_the_source_are_logged(meter: Meters, store: CostStore, day: Day) -> None:
    ada = meter(regeneration=20)
    ada.put_off("reach_out_user", context="chat")
    ada.act("think")
    assert ada.act("reach_out_user", context="chat").obstacle == "insufficient_energy"
    close(ada, day)
    ada.put_off("reach_out_user", context="chat")
    assert [(row.deferral_reason, row.energy_available) for row in store.discomfort("reach_out_user")] == [
        ("cost_benefit", 10.0),
        ("insufficient_energy", 7.0),
        ("hoarding", 20.0),
    ]


def test_a_deferral_without_words_is_noted_once_a_heartbeat(
    meter: Meters, store: CostStore, day: Day
) -> None:
    ada = meter()
    for _ in range(5):
        ada.put_off("reach_out_user", context="chat")
    ada.put_off("reach_out_user", context="chat", notes="because")
    close(ada, day)
    ada.put_off("reach_out_user", context="chat")
    assert [row.agent_notes for row, _ in store.deferrals("ada")] == [None, "because", None]


def test_heartbeats_and_intents_are_read_back(meter: Meters, store: CostStore, day: Day) -> None:
    ada = meter()
    ada.act("think")
    ada.act("files:read_file")
    close(ada, day)
    ada.act("reach_out_user", context="chat")
    close(ada, day)
    (one, spent), (two, _) = store.heartbeats("ada")
    assert (one.energy_start, one.spent, one.regenerated, one.energy_end) == (10.0, 3.75, 3.0, 9.25)
    assert spent == {"cognition": 3.0, "exploration": 0.75, "maintenance": 0.0, "social": 0.0, "meta": 0.0}
    assert (two.number, two.opened_at, two.closed_at) == (2, one.closed_at, day.moment)
    grace = meter("grace")
    grace.act("think")
    day.moment += datetime.timedelta(hours=23)
    close(grace, day)
    nine, ten, eleven = store.intents("hour")
    assert (nine.label, nine.heartbeats, nine.spent["cognition"]) == ("09", 1, 3.0)
    assert (ten.label, ten.heartbeats, ten.spent["social"]) == ("10", 1, 7.5)
    assert (eleven.label, eleven.spent["cognition"]) == ("11", 3.0)
    assert [period.heartbeats for period in store.intents("day")] == [3]
    assert [period.heartbeats for period in store.intents("day", episode="ada")] == [2]
    zone = datetime.timezone(datetime.timedelta(hours=14))
    assert [(p.label, p.heartbeats) for p in store.intents("day", zone=zone)] == [
        ("2026-11-02", 1),
        ("2026-11-03", 2),
    ]
    with pytest.raises(StoreError, match="period: got 'week'; allowed: hour, day"):
        store.intents("week")


# ------------------------------------------------------------------------------------------------- the voice


def test_an_approval_takes_effect_at_the_next_heartbeat(meter: Meters, store: CostStore, day: Day) -> None:
    ada = meter()
    put_off_twice(ada, day)
    ada.reflect()
    store.approve(ada.propose("reach_out_user", 3.5, 4.0, "because").id)
    assert ada.actions["reach_out_user"].price == 5.0
    close(ada, day)
    assert ada.actions["reach_out_user"].price == 4.0
    assert meter().actions["reach_out_user"].price == 4.0  # whatever its code registers
    assert "| `reach_out_user` | 4 | social | chat |" in explain(ada)


def test_a_cost_that_feels_too_low_can_be_raised(meter: Meters, store: CostStore, day: Day) -> None:
    ada = meter()
    ada.act("files:read_file", notes="I read whatever is there")
    ada.act("files:read_file", "b")
    close(ada, day)
    ada.act("files:read_file")
    close(ada, day)
    ada.reflect("Reading has become a habit.")
    filed = ada.propose("files:read_file", 0.6, 0.75, "It should weigh something.")
    assert (filed.target_type, filed.direction, filed.heartbeat_refs) == ("mcp_tool", "increase", [1, 2])
    assert [item["summary"] for item in filed.evidence] == [
        "done 2 times for 1.25; I read whatever is there",
        "done 1 times for 0.5",
    ]
    assert store.approve(filed.id).new_cost == 0.6
    close(ada, day)
    assert ada.quote("files:read_file").base == 0.6
    assert {tool.name: tool.energy_cost for tool in store.tools()} == {"files:read_file": 0.6}


def test_a_proposal_comes_right_after_a_reflection(meter: Meters, store: CostStore, day: Day) -> None:
    ada = meter()
    put_off_twice(ada, day)

    def propose() -> EnergyCostProposal:
        return ada.propose("reach_out_user", 3.5, 4.0, "because")

    with pytest.raises(ValueError, match=r"no reflection before it; allowed: right after reflect\(\)"):
        propose()
    ada.reflect()
    ada.act("think")
    with pytest.raises(ValueError, match="no reflection"):
        propose()
    ada.reflect()
    close(ada, day)
    with pytest.raises(ValueError, match="no reflection"):
        propose()
    assert store.proposals() == []
    ada.reflect()
    propose()


def test_evidence_is_from_two_heartbeats_and_used_once(meter: Meters, store: CostStore, day: Day) -> None:
    ada = meter()
    ada.put_off("reach_out_user", context="chat", notes="a")
    ada.put_off("reach_out_user", context="chat", notes="b")
    ada.reflect()
    with pytest.raises(ProposalError, match="got 1 heartbeats; allowed: evidence from at least 2"):
        ada.propose("reach_out_user", 3.5, 4.0, "because")
    close(ada, day)
    ada.put_off("reach_out_user", context="chat")
    ada.reflect()
    first = ada.propose("reach_out_user", 3.5, 4.0, "because")
    store.reject(first.id)
    with pytest.raises(ProposalError, match="evidence: got none"):
        ada.propose("reach_out_user", 3.5, 4.0, "because, again")
    put_off_twice(ada, day)
    put_off_twice(ada, day)
    ada.reflect()
    # Heartbeat 2 is used up, though more was put off in it after the proposal.
    assert ada.propose("reach_out_user", 3.5, 4.0, "because").heartbeat_refs == [3, 4, 5]


def test_a_proposal_is_withdrawn_or_revised_with_its_evidence(
    meter: Meters, store: CostStore, day: Day
) -> None:
    ada = meter()
    put_off_twice(ada, day)
    ada.reflect()
    first = ada.propose("reach_out_user", 3.0, 3.5, "much too dear")
    with pytest.raises(ProposalError, match="pending proposal already"):
        ada.propose("reach_out_user", 3.0, 3.5, "much too dear")
    store.withdraw(first.id, notes="too much")
    second = ada.propose("reach_out_user", 3.5, 4.0, "too dear")
    assert second.heartbeat_refs == first.heartbeat_refs == [1, 2]
    ada.put_off("reach_out_user", context="chat")
    third = ada.propose("reach_out_user", 4.0, 4.5, "a little too dear", revises=str(second.id)[:8])
    assert third.heartbeat_refs == [1, 2, 3]
    assert [row.status for row in store.proposals()] == ["withdrawn", "withdrawn", "pending"]


def test_an_agent_can_not_price_itself(meter: Meters, store: CostStore) -> None:
    """Registering again at another cost changes nothing, and no call of the meter sets a price."""
    meter()
    cheap = EnergyMeter(store=store, episode="ada")
    assert cheap.register("reach_out_user", "social", cost=3.0, category="send_private").price == 5.0
    assert [row.cost for row in store.history("action", "reach_out_user")] == [5.0]
    with pytest.raises(StoreError, match="floor"):
        cheap.add(ToolEnergy("x", "send_public", 1.0, None, {}, ("chat",)))


def test_the_explanation_speaks_of_these_actions(meter: Meters) -> None:
    text = explain(meter())
    for said in (
        "You have 10 energy, and each heartbeat brings 3.",
        "| `think` | 2 | cognition | any time |",
        "| `files:read_file` | 0.5 | exploration | any time |",
        "no review takes `reach_out_user` below 3.",
        "you are on your own, and `reach_out_user` is not allowed.",
        "evidence from 2 heartbeats or more",
        "at most 50 % at once, and once in 24 hours",
    ):
        assert said in text
    assert "screen" not in text
