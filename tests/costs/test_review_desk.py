"""The review desk's decisions on cost proposals, on SQLite and on PostgreSQL, and when the price has moved."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from solvent.energy.costs import CostStore, EnergyCostProposal
from tests.desks import Running, field, open_all, running, send

Filing = Callable[..., EnergyCostProposal]
SAID = {"who": "Ann", "why": "borne out"}


@pytest.fixture
def desk(store: CostStore, tmp_path: Path) -> Iterator[Running]:
    with running(open_all(tmp_path, store)) as served:
        yield served


@pytest.fixture
def client(desk: Running) -> Iterator[httpx.Client]:
    with desk.client() as client:
        yield client


def test_a_proposal_is_seen_and_approved(client: httpx.Client, store: CostStore, file_one: Filing) -> None:
    filed = file_one()
    assert "1</strong> cost proposal to decide" in client.get("/").text
    assert str(filed.id) in client.get("/costs").text
    said = send(client, f"/costs/{filed.id}", decision="approve", cost="", **SAID)
    assert "approved: 4 becomes 3" in said.text
    assert "Ann: borne out" in said.text
    assert store.price("action", "screen").cost == 3.0
    assert "No proposal is pending." in client.get("/costs").text
    assert str(filed.id) in client.get("/costs?state=approved").text


def test_who_comes_second_is_shown_the_first_decision(
    client: httpx.Client, desk: Running, store: CostStore, file_one: Filing
) -> None:
    path = f"/costs/{file_one().id}"
    with desk.client() as other:
        open_form = {
            "csrf": field(other.get(path).text, "csrf"),
            "decision": "approve",
            "who": "Bob",
            "why": "no",
        }
        assert send(client, path, decision="reject", **SAID).status_code == 200
        late = other.post(path, data=open_form)
    assert late.status_code == 409
    assert "Ann: borne out" in late.text
    assert store.proposal(path.rsplit("/", 1)[1]).status == "rejected"
    assert store.price("action", "screen").cost == 4.0


def test_a_price_that_just_changed_says_from_when(
    client: httpx.Client, store: CostStore, file_one: Filing
) -> None:
    store.approve(file_one().id)
    again = file_one(suggested_min=2.0, suggested_max=2.5)
    path = f"/costs/{again.id}"
    assert "can change again from" in client.get(path).text
    said = send(client, path, decision="approve", **SAID)
    assert said.status_code == 422
    assert "one change a day" in said.text
    assert send(client, path, decision="withdraw", **SAID).status_code == 200
    assert store.proposal(again.id).status == "withdrawn"


def test_the_record_behind_an_argument_is_shown(
    client: httpx.Client, store: CostStore, file_one: Filing, deferred: Callable[..., object]
) -> None:
    store.log_discomfort(deferred(agent_notes="<i>worth it</i>"))  # type: ignore[arg-type]
    page = client.get(f"/costs/{file_one().id}").text
    assert "insufficient_energy, cost 4 of 1 energy" in page
    assert "&lt;i&gt;worth it&lt;/i&gt;" in page
