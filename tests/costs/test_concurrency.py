"""Two reviewers at once: exactly one wins, the other is told who."""

from __future__ import annotations

import concurrent.futures
import functools
import threading
from collections.abc import Callable
from typing import Any

import pytest

from solvent.energy.costs import CostStore, EnergyCostProposal, ProposalError
from tests.commands import launching

Filing = Callable[..., EnergyCostProposal]


def at_once(*calls: Callable[[], object]) -> list[object]:
    """What calls return or raise that start together, each on a thread of its own."""
    barrier = threading.Barrier(len(calls))

    def begin(call: Callable[[], object]) -> object:
        barrier.wait()
        try:
            return call()
        except ProposalError as error:
            return error

    with concurrent.futures.ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(begin, calls))


@pytest.mark.parametrize(
    "ends", [("approve", "approve"), ("approve", "reject"), ("withdraw", "approve", "reject")]
)
def test_exactly_one_of_several_reviewers_wins(
    clock: Any, store: CostStore, place: str, file_one: Filing, ends: tuple[str, ...]
) -> None:
    """Each with connections of its own; five rounds."""
    others = [CostStore(place) for _ in ends]
    try:
        for _ in range(5):
            clock.pass_(days=1)
            before = store.price("action", "screen").cost
            proposal = file_one(suggested_min=0.5 * before, suggested_max=0.75 * before)
            calls = [getattr(other, end) for other, end in zip(others, ends, strict=True)]
            outcomes = at_once(*(functools.partial(call, proposal.id) for call in calls))
            (winner,) = (outcome for outcome in outcomes if isinstance(outcome, EnergyCostProposal))
            held = store.proposal(proposal.id)
            assert held.status == winner.status
            for loser in outcomes:
                if loser is not winner:
                    assert isinstance(loser, ProposalError)
                    assert f"is already {winner.status} (by {winner.reviewed_by}, 2" in str(loser)
            after = store.price("action", "screen")
            assert (after.cost != before) == (winner.status == "approved")
            assert (after.proposal_id == proposal.id) == (winner.status == "approved")
    finally:
        for other in others:
            other.close()
    assert len(store.history("action", "screen")) == 1 + len(store.proposals("approved"))


def test_exactly_one_of_twenty_reviewers_wins(store: CostStore, place: str, file_one: Filing) -> None:
    others = [CostStore(place) for _ in range(20)]
    proposal = file_one()
    try:
        outcomes = at_once(*(functools.partial(other.approve, proposal.id) for other in others))
    finally:
        for other in others:
            other.close()
    assert sum(isinstance(outcome, EnergyCostProposal) for outcome in outcomes) == 1
    assert sum("is already approved (by user, 2" in str(outcome) for outcome in outcomes) == 19
    assert [row.cost for row in store.history("action", "screen")] == [4.0, 3.0]


def test_a_revision_and_an_approval_at_once_are_one_of_them(
    clock: Any, store: CostStore, place: str, file_one: Filing
) -> None:
    """The price is that of the text that was read, or the revised text waits; five rounds."""
    with CostStore(place) as agent, CostStore(place) as person:
        for _ in range(5):
            clock.pass_(days=1)
            before = store.price("action", "screen").cost
            old = file_one(suggested_min=0.5 * before, suggested_max=0.75 * before)
            new = EnergyCostProposal(
                target_type="action",
                target_name="screen",
                current_cost=before,
                suggested_min=0.8 * before,
                suggested_max=0.9 * before,
                direction="decrease",
                rationale="less",
                confidence=0.5,
                evidence=old.evidence,
                heartbeat_refs=old.heartbeat_refs,
                memory_refs=old.memory_refs,
            )
            revise, approve = (
                functools.partial(agent.revise, old.id, new),
                functools.partial(person.approve, old.id),
            )
            lost = [outcome for outcome in at_once(revise, approve) if isinstance(outcome, ProposalError)]
            waiting = store.proposals("pending")
            assert len(lost) == 1
            assert "is already" in str(lost[0])
            if store.proposal(old.id).status == "approved":
                assert waiting == []
                assert store.price("action", "screen").cost == 0.75 * before
            else:
                (revised,) = waiting
                assert (revised.rationale, store.price("action", "screen").cost) == ("less", before)
                store.reject(revised.id)


def test_exactly_one_of_several_who_file_wins(store: CostStore, file_one: Filing) -> None:
    """One store shared between threads."""
    outcomes = at_once(*[file_one] * 4)
    (filed,) = (outcome for outcome in outcomes if isinstance(outcome, EnergyCostProposal))
    assert [row.id for row in store.proposals()] == [filed.id]


@pytest.mark.slow
def test_exactly_one_of_two_processes_wins(
    place: str, store: CostStore, file_one: Filing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two commands, as two people would type them."""
    proposal = file_one()
    monkeypatch.setenv("SOLVENT_STORE", place)
    with launching() as start:
        command = ("proposals", "approve", proposal.id, "--cost")
        running = [start(*command, cost) for cost in ("2.5", "2.75")]
        said = [process.communicate(timeout=120) for process in running]
    codes = [process.returncode for process in running]
    assert sorted(codes) == [0, 2], said
    won, lost = codes.index(0), codes.index(2)
    assert "approved" in said[won][0]
    assert "is already approved (by user, 2" in said[lost][1]
    assert store.price("action", "screen").cost == (2.5, 2.75)[won]
