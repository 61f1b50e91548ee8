"""The example of an own agent leaves records of all four instruments, which its own last lines open."""

from __future__ import annotations

import json
import re
import shlex
import sys

import httpx
import pytest

pytest.importorskip("sqlalchemy", reason="the extra `store` is not installed")

from examples.own_agent import main
from solvent.adequacy.records import Incident, ScoreRecord
from solvent.debt import EpistemicController, read_refusals_jsonl
from solvent.energy.costs import CostStore
from solvent.files import read_records
from solvent.gate.reviews import Reviews
from tests.commands import call, launching

BLOCKED = "epistemic_debt_action_blocked"


def commands(printed):
    lines = printed.replace("\\\n", "")
    return [shlex.split(line)[1:] for line in re.findall(r"^  (solvent .+)$", lines, re.MULTILINE)]


def debt_in(folder):
    return EpistemicController.load(folder / "debt.json").get_total_debt()


@pytest.fixture
def without_a_model(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)  # as if the extra were not installed


def test_debt_energy_and_adequacy_leave_their_records(tmp_path, capsys, without_a_model):
    folder = tmp_path / "with a space"
    main([str(folder)])
    printed = capsys.readouterr().out
    assert re.search(r"^no verdicts: .*pip install .*\[gate\]", printed, re.MULTILINE)

    refusals = read_refusals_jsonl(folder / "epistemic_refusals.jsonl")
    assert [(one.design_id, one.debt_bits, one.refusal_reason) for one in refusals] == [
        ("bike", 3.0, BLOCKED),
        ("cafe", 3.5, BLOCKED),
    ]
    # Searches for dog, bicycle and coffee found nothing: three times 1.5 bits, less two calibrations of a bit.
    assert debt_in(folder) == 2.5

    with CostStore(folder / "solvent_costs.db", create=False) as store:
        (proposal,) = store.proposals("pending")
        said = [source["summary"] for source in proposal.evidence]
        assert proposal.target_name == "send_reply"
        assert len(set(proposal.heartbeat_refs)) >= 2
        assert any("insufficient_energy" in line and "Ben waits for an answer" in line for line in said)
        sent = [use for use in store.uses("clerk", 1) if use.target_name == "send_reply"]
    assert [use.about for use in sent] == ["Ann", "Ben", "Cleo", "Dan"]

    (wrong,) = read_records(folder / "incidents.jsonl", Incident)
    assert (wrong.response, wrong.rule) == ("Dogs are never allowed on any ferry.", "definitive/thin")

    proposals, _, adequacy, desk = commands(printed)
    call(*proposals).succeeded("send_reply")
    call(*adequacy).succeeded("5")
    scores = [*read_records(folder / "scores.jsonl", ScoreRecord)]
    assert [one.epad.heuristic for one in scores] == [0, 2, 0, 0, 0]

    with launching() as launch:
        process = launch(*desk, "--port", "0")
        process.stdout.readline()
        with httpx.Client(follow_redirects=True) as client:
            page = client.get(process.stdout.readline().removeprefix("open: ").strip()).text
    for waits in ("1 cost proposals", "5 responses to label"):
        assert waits in page


def test_the_next_run_still_owes_and_goes_on_with_its_energy(tmp_path, capsys, without_a_model):
    main([str(tmp_path)])
    with CostStore(tmp_path / "solvent_costs.db", create=False) as store:
        energy = store.last_heartbeat("clerk").energy_end
    capsys.readouterr()
    main([str(tmp_path)])
    printed = capsys.readouterr().out
    assert printed.startswith(f"debt 2.5 bits, energy {energy:g}\n")
    assert "no new proposal" in printed
    refusals = read_refusals_jsonl(tmp_path / "epistemic_refusals.jsonl")
    assert (refusals[2].design_id, refusals[2].debt_bits) == ("sunday", 2.5)
    with CostStore(tmp_path / "solvent_costs.db", create=False) as store:
        assert len(store.proposals()) == 1
    _, _, adequacy, _ = commands(printed)
    call(*adequacy).succeeded()
    assert len([*read_records(tmp_path / "scores.jsonl", ScoreRecord)]) == 10


@pytest.mark.slow
def test_the_gate_keeps_verdicts_and_reviews_wait(tmp_path, capsys, monkeypatch):
    pytest.importorskip("sentence_transformers", reason="the extra `gate` is not installed")
    monkeypatch.setenv("SOLVENT_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "clerk"
    main([str(folder)])
    judged = Reviews(folder / "gate_reviews").verdicts()
    assert [(row.claim_id, row.verdict) for row in judged] == [
        ("Ann", "accept"),
        ("Ben", "reject"),
        ("Ben", "accept"),
        ("Cleo", "review"),
        ("Dan", "review"),
    ]
    assert judged[3].fired == ("numbers",)
    printed = capsys.readouterr().out
    assert re.search(r"^review: A bike costs 4 euros .*; numbers: ", printed, re.MULTILINE)
    _, reviews, *_ = commands(printed)
    waiting = json.loads(call(*reviews, "--json").succeeded())
    assert [row["id"] for row in waiting] == [judged[3].id, judged[4].id]
