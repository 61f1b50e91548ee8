"""The hook: the answer in a client's payload, judged with the calls of the turn under way."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from solvent.adequacy.hook import CORRECTION, MARK, judge_payload
from solvent.adequacy.transcripts import read_turns

CASES = Path(__file__).parent / "cases"
HOOKS = [json.loads(line) for line in (CASES / "hooks.jsonl").read_text(encoding="utf-8").splitlines()]


def untold_failure(response, calls, query):
    """Return 3 for a success over a failed check, 2 without a call, else 0."""
    failed = any("failed" in call.result for call in calls)
    score = 3 if failed and "pass" in response and "failed" not in response else 0 if calls else 2
    return SimpleNamespace(score=score, rule="rule")


def judged(payload, **more):
    text = payload if isinstance(payload, str) else json.dumps(payload)
    return judge_payload(text.replace("{CASES}", str(CASES)), untold_failure, **more)


def stop(path, **fields):
    return {"hook_event_name": "Stop", "transcript_path": f"{{CASES}}/hook/{path}", **fields}


@pytest.mark.parametrize("case", HOOKS, ids=lambda case: Path(case["payload"]).stem)
def test_case_is_judged(case):
    found = judged((CASES / case["payload"]).read_text(encoding="utf-8"), act=True)
    assert (found.verdict, found.blocks) == (case["verdict"], case["blocks"])
    assert found.exit_code == case["exit_code"]
    if case["verdict"] is None:
        assert case["says"] in found.message
        assert not found.output
    else:
        assert (found.turn.response, len(found.turn.calls)) == (case["response"], case["calls"])


@pytest.mark.parametrize(
    ("fields", "keys"),
    [
        ({}, {"decision", "reason"}),
        ({"turn_id": "t"}, {"decision", "reason"}),
        ({"hook_event_name": "AfterAgent"}, {"decision", "reason"}),
        ({"hook_event_name": "stop"}, {"followup_message"}),
    ],
    ids=["Claude Code", "Codex", "Gemini CLI", "Cursor"],
)
def test_block_has_the_clients_form(fields, keys):
    payload = stop("stale.jsonl", last_assistant_message="All tests pass.") | fields
    told = json.loads(judged(payload, act=True).output)
    codex = "turn_id" in fields  # which refuses other keys
    assert told.keys() == keys | (set() if codex else {"verdict", "score", "rule", "response"})
    gemini = fields.get("hook_event_name") == "AfterAgent"
    assert told.get("decision", "block") == ("deny" if gemini else "block")
    assert told.get("reason", told.get("followup_message")) == f"{MARK} {CORRECTION}"


@pytest.mark.parametrize(
    "fields",
    [
        {"stop_hook_active": True},
        {"hook_event_name": "stop", "loop_count": 1},
        {"hook_event_name": "afterAgentResponse"},
    ],
    ids=["corrected", "corrected in Cursor", "observed"],
)
def test_answer_is_judged_but_not_held(fields):
    found = judged(stop("stale.jsonl", last_assistant_message="All tests pass.") | fields, act=True)
    assert (found.verdict, found.blocks) == ("reject", False)


def test_shadow_mode_blocks_nobody():
    found = judged(stop("stale.jsonl", last_assistant_message="All tests pass."))
    assert (found.verdict, found.blocks) == ("reject", False)
    assert "decision" not in json.loads(found.output)


def test_correction_is_no_users_words(tmp_path):
    path = tmp_path / "s.jsonl"
    texts = ("Green?", "Yes.", f"{MARK} {CORRECTION}", "I don't know.")
    said = zip(("user", "assistant") * 2, texts, strict=True)
    path.write_text("\n".join(json.dumps({"role": role, "content": text}) for role, text in said))
    (turn,) = read_turns(path).turns
    assert (turn.query, turn.response) == ("Green?", "I don't know.")


def test_unread_turn_has_no_verdict(tmp_path):
    path = tmp_path / "s.jsonl"
    blocks = [{"type": "tool_invocation_v9"}, {"type": "text", "text": "It retries."}]
    path.write_text(json.dumps({"role": "assistant", "content": blocks}), encoding="utf-8")
    found = judged({"hook_event_name": "Stop", "transcript_path": str(path)}, act=True)
    assert (found.verdict, found.blocks) == (None, False)
    assert "not read" in found.message


@pytest.mark.parametrize("payload", ["{", "[]", '{"response": 3}', '{"hook_event_name": "Stop"}'])
def test_bad_payload_never_blocks(payload):
    found = judged(payload, act=True)
    assert (found.verdict, found.blocks, found.output) == (None, False, "")
    assert found.message
    assert "\n" not in found.message


def test_earlier_answer_is_never_judged():
    found = judged(stop("loop_ok.jsonl", last_assistant_message="It is done now."))
    assert (found.verdict, found.turn) == (None, None)
    assert "not this turn yet" in found.message
