"""``solvent proposals`` as a person meets it."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from solvent.energy.costs import CostStore, EnergyCostProposal
from solvent_experiments.instruments.energy import proposals
from tests.commands import call
from tests.labs import ASKED_FOR

Filing = Callable[..., EnergyCostProposal]
COMMANDS = sorted(command.name or command.callback.__name__ for command in proposals.app.registered_commands)


@pytest.fixture
def solvent(place: str, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """What the command says, if it ends with ``code``; the store is named by the environment variable."""
    monkeypatch.setenv("SOLVENT_STORE", place)

    def run(*arguments: str, code: int = 0) -> str:
        ended = call("proposals", *arguments, width=200)
        return ended.refused() if code else ended.succeeded()

    return run


def test_from_a_ledger_to_a_price(solvent: Callable[..., str], tmp_path: Path) -> None:
    row = {**ASKED_FOR, "rationale": "worth [bold]0.6 bits[/bold] each"}
    ledger = tmp_path / "proposals.jsonl"
    ledger.write_text(json.dumps(row) + "\n" + json.dumps({**row, "status": "rejected"}) + "\n")
    said = solvent("file", str(ledger))
    assert "screen 4" in said
    assert "filed 1, skipped 1; 1 wait for a review" in said
    assert "line 2: is rejected in the ledger" in said

    (proposal,) = json.loads(solvent("list", "--status", "pending", "--json"))
    key = proposal["id"][:8]
    assert key in solvent("list")
    page = solvent("show", key)
    for words in (
        "allowed     2.4 to 3.2",
        "decrease to 2.4 – 3.2",
        "worth [bold]0.6 bits[/bold] each",
        "71%",
        "2.1 energy, 4 needed",
    ):
        assert words in page
    assert json.loads(solvent("show", key, "--json"))["heartbeat_refs"] == [3, 5]

    assert "allowed: 2.4 to 3.2" in solvent("approve", key, "--cost", "5", code=2)
    assert "action screen costs 3.2 instead of 4" in solvent("approve", key, "--notes", "fair")
    assert "is already approved (by user, 2" in solvent("reject", key, code=2)
    prices = {row["target_name"]: row["cost"] for row in json.loads(solvent("prices", "--json"))}
    assert prices["screen"] == 3.2
    assert [row["cost"] for row in json.loads(solvent("history", "screen", "--json"))] == [4.0, 3.2]
    assert key in solvent("history", "screen")
    assert "changed     from 4 to 3.2" in solvent("show", key)


HOSTILE = "\x1b[2J\x9b31m\u202eevil\n\r[/bold]\a"
ESCAPED = r"\x1b[2J\x9b31m\u202eevil"


def test_an_agents_text_does_not_drive_the_terminal(solvent: Callable[..., str], file_one: Filing) -> None:
    proposal = file_one(rationale=HOSTILE, evidence=[{"source": HOSTILE, "summary": HOSTILE}] * 2)
    key = str(proposal.id)[:8]
    for said in (
        solvent("list"),
        solvent("show", key),
        solvent("reject", key, "--notes", HOSTILE),
        solvent("show", key),
    ):
        assert all(character.isprintable() for line in said.splitlines() for character in line)
    assert ESCAPED in said
    assert json.loads(solvent("show", key, "--json"))["rationale"] == HOSTILE


def test_a_reviewer_sees_what_may_be_set_and_from_when(
    solvent: Callable[..., str], file_one: Filing, store: CostStore
) -> None:
    store.approve(file_one().id)
    key = str(file_one(suggested_min=1.0, suggested_max=2.0).id)[:8]
    again = store.price("action", "screen").effective_at + datetime.timedelta(days=1)
    assert f"allowed     1.5 to 2 from {again:%Y-%m-%d %H:%M:%S} UTC" in solvent("show", key)
    assert "allowed: one change a day" in solvent("approve", key, code=2)
    store.withdraw(key)
    far = str(file_one(suggested_min=0.5, suggested_max=1.0).id)[:8]
    assert "allowed     nothing now, the price is out of reach" in solvent("show", far)


def test_a_person_revises_the_range(solvent: Callable[..., str], file_one: Filing, store: CostStore) -> None:
    key, told = str(file_one().id), ("--by", "Ann", "--reason", "half of it was paid for")
    assert "allowed" in solvent("revise", key, "--least", "5", "--most", "6", *told, code=2)
    assert "filed" in solvent("revise", key, "--least", "3", "--most", "3.5", *told)
    assert store.proposal(key).status == "withdrawn"
    (new,) = store.proposals("pending")
    assert (new.suggested_min, new.suggested_max) == (3.0, 3.5)
    assert new.rationale.endswith("Revised by Ann: half of it was paid for")
    assert new.evidence == store.proposal(key).evidence
    assert "already withdrawn" in solvent("revise", key, "--least", "3", "--most", "3.5", *told, code=2)


def test_rejected_withdrawn_expired(solvent: Callable[..., str], file_one: Filing, store: CostStore) -> None:
    assert "the cost of action screen stays" in solvent("reject", str(file_one().id), "--notes", "no")
    assert "withdrew" in solvent("withdraw", str(file_one().id))
    file_one()
    assert "no proposal has waited" in solvent("expire")
    assert "by timeout" in solvent("expire", "--days", "1e-9")
    assert {row.status for row in store.proposals()} == {"rejected", "withdrawn"}
    assert "no pending proposals" in solvent("list", "--status", "pending")
    assert "every verb has a price already" in solvent("register")


def test_discomfort_is_read_in(solvent: Callable[..., str], store: CostStore, tmp_path: Path) -> None:
    ledger = tmp_path / "discomfort.jsonl"
    ledger.write_text(
        '{"heartbeat_number": 3, "action_considered": "screen", "energy_cost": 4, "energy_available": 2,'
        ' "deferral_reason": "cost_benefit"}\n'
    )
    assert "logged 1, skipped 0" in solvent("log", str(ledger))
    assert len(store.discomfort()) == 1


def test_wrong_input_is_one_line(solvent: Callable[..., str], store: CostStore) -> None:
    for arguments, said in (
        (("lst",), "Did you mean 'list'"),
        (("show", "xyz"), "allowed: its id"),
        (("show", "abc"), "no id begins with 'abc'"),
        (("list", "--status", "open"), "pending, approved, rejected, withdrawn"),
        (("history", "sing"), "'sing' has no price"),
        (("prices", "--as-of", "2999-01-01"), "in the future"),
        (("prices", "--as-of", "soon"), "a date or time such as"),
        (("expire", "--days", "0"), "above 0"),
        (("expire", "--days", "nan"), "above 0"),
        (("file", "nowhere.jsonl"), "nowhere.jsonl"),
        (("list", "--store", "nowhere.db"), "nowhere.db: no such store"),
        (("list", "--store", "postgresql://a:s3cret@127.0.0.1:1/x"), "a:***@127.0.0.1"),
    ):
        line = solvent(*arguments, code=2)
        assert said in line
        assert "s3cret" not in line


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_and_an_example(solvent: Callable[..., str], command: str) -> None:
    assert "Example" in solvent(command, "--help")
    assert f" {command} " in solvent()


def test_lines_that_are_skipped_for_one_reason_are_said_once(
    solvent: Callable[..., str], tmp_path: Path
) -> None:
    ledger = tmp_path / "reviews.jsonl"
    ledger.write_text('{"target_name": "screen", "status": "rejected"}\n' * 9)
    said = solvent("file", str(ledger))
    assert "skipped reviews.jsonl, lines 1, 2, 3, 4, 5, ...: is rejected" in said
    assert said.count("skipped reviews") == 1
    assert "filed 0, skipped 9" in said


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("file", "ledger.jsonl"), None),
        (("file", "ledger.jsonl"), "{"),
        (("file", "ledger.jsonl"), "[" * 100_000),
        (("file", "ledger.jsonl", "--env", "Solvent/None-v0"), '{"status": "rejected"}'),
        (("log", "ledger.jsonl"), None),
        (("log", "ledger.jsonl"), "{}"),
        (("register", "--env", "Solvent/None-v0"), None),
    ],
)
def test_a_command_that_fails_leaves_no_new_store(
    arguments: tuple[str, ...], line: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if line is not None:
        (tmp_path / "ledger.jsonl").write_text(f"{line}\n")
    call("proposals", *arguments, "--store", "new.db").refused()
    assert not list(tmp_path.glob("new.db*"))
