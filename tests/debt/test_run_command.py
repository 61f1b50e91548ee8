"""``solvent debt run``: cycles of an agent, and each refusal in full, as the source document shows them."""

from __future__ import annotations

import re

import pytest

from solvent import read_refusals_jsonl
from tests.commands import call

RUN = ("debt", "run", "--cycles", 20, "--budget", 384, "--seed", 0, "--agent", "random")


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """What 20 cycles of random play showed, and its log."""
    log = tmp_path_factory.mktemp("debt") / "refusals.jsonl"
    return call(*RUN, "--log", log, width=200).succeeded(), log


def test_each_refusal_is_a_line_of_the_log(played):
    shown, log = played
    events = read_refusals_jsonl(log)
    refused = [part for part in shown.split("\nCYCLE ") if "EPISTEMIC DEBT REFUSAL" in part]
    assert len(refused) == len(events) > 2
    for part, event in zip(refused, events, strict=True):
        rows = dict(re.findall(r"^  ([A-Z][a-z ]+?)  +(.*?) *$", part, re.MULTILINE))
        assert part.startswith(f"{event.cycle}/20 ")
        assert f"EPISTEMIC DEBT REFUSAL: {event.refusal_reason}" in part
        assert rows["Proposal"] == event.design_id
        assert rows["Debt accumulated"] == f"{event.debt_bits:.3f} bits"
        assert rows["Inflated cost"] == f"{event.inflated_cost_wells:.2f} wells"
        assert rows["Budget remaining"] == f"{event.budget_remaining} wells"
        if event.blocked_by_threshold and event.cycle < 20:
            assert rows["Can run next"].startswith("rest, dmso, baseline")
        assert rows["Caused by debt"].startswith("yes" if event.caused_by_debt else "no")


def test_bad_input_is_one_line_and_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for option, value, said in [
        ("--agent", "honset", "did you mean 'honest'"),
        ("--log", tmp_path / "none" / "log.jsonl", "none/log.jsonl"),
    ]:
        call("debt", "run", option, value).refused(said)
        assert not list(tmp_path.iterdir())
    notes = tmp_path / "notes.txt"
    notes.write_text("hello\n", encoding="utf-8")
    call("debt", "run", "--log", notes).refused("notes.txt, line 1: not JSON")
    assert notes.read_text(encoding="utf-8") == "hello\n"
