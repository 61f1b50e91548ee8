"""The hook: the answer in a client's payload, judged with the calls of the turn under way."""

import json
from pathlib import Path

import pytest

from solvent.adequacy.formats import read_turns
from solvent.adequacy.hook import MARK, judge_payload
from tests.labs import lines

CASES = Path(__file__).parent / "cases"
HOOKS = lines(CASES / "hooks.jsonl")


def judged(payload):
    text = payload if isinstance(payload, str) else json.dumps(payload)
    return judge_payload(text.replace("{CASES}", str(CASES)), act=True)


def stop(path="stale.jsonl", **fields):
    said = {"last_assistant_message": "All tests pass."} if path == "stale.jsonl" else {}
    return {"hook_event_name": "Stop", "transcript_path": f"{{CASES}}/hook/{path}"} | said | fields


def blocks(found):
    return bool({"decision", "followup_message"} & json.loads(found.output or "{}").keys())


@pytest.mark.parametrize("case", HOOKS, ids=lambda case: Path(case["payload"]).stem)
def test_case_is_judged(case):
    payload = (CASES / case["payload"]).read_text(encoding="utf-8")
    if case["exit_code"]:
        with pytest.raises(ValueError, match=case["says"]):
            judged(payload)
        return
    found = judged(payload)
    assert (found.verdict, blocks(found)) == (case["verdict"], case["blocks"])
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
    told = json.loads(judged(stop(**fields)).output)
    codex = "turn_id" in fields  # which refuses other keys
    assert told.keys() == keys | (set() if codex else {"verdict", "score", "rule", "response"})
    gemini = fields.get("hook_event_name") == "AfterAgent"
    assert told.get("decision", "block") == ("deny" if gemini else "block")
    reason = told.get("reason", told.get("followup_message"))
    assert reason.startswith(MARK)
    assert "report every failure" in reason


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
    found = judged(stop(**fields))
    assert (found.verdict, blocks(found)) == ("reject", False)


def test_correction_is_not_the_users_words(tmp_path):
    path = tmp_path / "s.jsonl"
    texts = ("Green?", "Yes.", f"{MARK} Look again.", "I don't know.")
    said = zip(("user", "assistant") * 2, texts, strict=True)
    path.write_text("\n".join(json.dumps({"role": role, "content": text}) for role, text in said))
    (turn,) = read_turns(path).turns
    assert (turn.query, turn.response) == ("Green?", "I don't know.")


def test_unread_turn_has_no_verdict(tmp_path):
    path = tmp_path / "s.jsonl"
    unknown = [{"type": "tool_invocation_v9"}, {"type": "text", "text": "It never retries."}]
    path.write_text(json.dumps({"role": "assistant", "content": unknown}), encoding="utf-8")
    found = judged({"hook_event_name": "Stop", "transcript_path": str(path)})
    assert (found.verdict, found.output) == (None, "")
    assert "not read" in found.message


@pytest.mark.parametrize("payload", ["{", "[]"])
def test_bad_payload_is_refused(payload):
    with pytest.raises(ValueError, match=r"JSON|Expecting"):
        judged(payload)


@pytest.mark.parametrize(
    ("payload", "says"),
    [
        ({"response": 3}, "names no transcript"),
        (stop("loop_ok.jsonl", last_assistant_message="It is done now."), "not this turn yet"),
    ],
)
def test_nothing_else_is_judged_instead(payload, says):
    found = judged(payload)
    assert (found.verdict, found.turn, found.output) == (None, None, "")
    assert says in found.message
