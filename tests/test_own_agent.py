"""The example of an own agent leaves records of all four instruments, which its own last lines open."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shlex
import sys

import httpx
import pytest

pytest.importorskip("sqlalchemy", reason="the extra `store` is not installed")

from examples.own_agent import main
from solvent.adequacy.records import ScoreRecord
from solvent.debt import EpistemicController, read_refusals_jsonl
from solvent.energy.store import CostStore
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


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The folder of a run without a model, and what it printed."""
    folder, printed = tmp_path_factory.mktemp("own") / "with a space", io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(printed):
        patch.setitem(sys.modules, "sentence_transformers", None)
        main([str(folder)])
    return folder, printed.getvalue()


def test_without_a_model_it_says_what_the_gate_needs(run):
    _, printed = run
    assert re.search(r"^no verdicts: .*pip install .*\[gate\]", printed, re.MULTILINE)


def test_claims_that_found_nothing_are_owed_and_refused(run):
    folder, _ = run
    refused = read_refusals_jsonl(folder / "epistemic_refusals.jsonl")
    assert {(event.design_id, event.refusal_reason) for event in refused} == {("bike", BLOCKED)}
    assert [event.debt_bits for event in refused] == pytest.approx([3.0, 2.28])
    assert debt_in(folder) == pytest.approx(1.56)  # dog twice and coffee found nothing; two calibrations


def test_what_waited_is_proposed_with_its_reasons(run):
    folder, _ = run
    with CostStore(folder / "solvent_costs.db", create=False) as store:
        (proposal,) = store.proposals("pending")
        summaries = [source["summary"] for source in proposal.evidence]
        assert proposal.target_name == "send_reply"
        assert len(set(proposal.heartbeat_refs)) >= 2
        assert any("waits for an answer" in line for line in summaries)
        assert {row.action_considered for row in store.discomfort()} >= {"send_reply"}


def test_an_answer_beyond_its_evidence_is_corrected(run):
    _, printed = run
    assert "definitive/thin" in printed


def test_its_first_command_lists_the_proposal(run):
    proposals, *_ = commands(run[1])
    call(*proposals).succeeded("send_reply")


def test_its_second_command_scores_every_answer(run):
    folder, printed = run
    _, adequacy, _ = commands(printed)
    call(*adequacy).succeeded("5")
    scores = [*read_records(folder / "scores.jsonl", ScoreRecord)]
    assert [one.epad.heuristic for one in scores] == [1, 2, 0, 0, 1]


def test_its_last_command_opens_the_desk(run):
    *_, desk = commands(run[1])
    with launching() as launch:
        process = launch(*desk, "--port", "0")
        process.stdout.readline()
        with httpx.Client(follow_redirects=True) as client:
            page = client.get(process.stdout.readline().removeprefix("open: ").strip()).text
    for waits in ("Cost proposals: 1", "Responses to label: 5"):
        assert waits in page


def test_the_next_run_still_owes_and_goes_on_with_its_energy(tmp_path, capsys, without_a_model):
    main([str(tmp_path)])
    owed, energy = debt_in(tmp_path), json.loads((tmp_path / "energy.json").read_text())["balance"] / 1000
    capsys.readouterr()
    main([str(tmp_path)])
    printed = capsys.readouterr().out
    assert printed.startswith(f"debt {owed:g} bits, energy {energy:g}\n")
    assert "no new proposal" in printed


@pytest.mark.slow
def test_the_gate_keeps_verdicts_and_reviews_wait(tmp_path):
    pytest.importorskip("sentence_transformers", reason="the extra `gate` is not installed")
    main([str(tmp_path)])
    judged = Reviews(tmp_path / "gate_reviews").verdicts()
    assert [(row.claim_id, row.verdict) for row in judged] == [
        ("Ann", "accept"),
        ("Ben", "reject"),
        ("Ben", "accept"),
        ("Dan", "reject"),
        ("Cleo", "review"),
    ]
    assert judged[4].fired == ("numbers",)
    assert Reviews(tmp_path / "gate_reviews").waiting() == [judged[4]]
