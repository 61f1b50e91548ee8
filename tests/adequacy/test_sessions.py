"""The transcripts that agents write: each turn becomes a response with its own calls, in bounded memory."""

from __future__ import annotations

import json
import tracemalloc

import pytest

from solvent.adequacy.errors import AdequacyError
from solvent.adequacy.heuristic import score
from solvent.adequacy.responses import read_responses
from solvent.adequacy.sessions import MOST_CALLS, MOST_KEPT

FAILED = "F..\n1 failed, 2 passed in 0.31s"


def enveloped(role, content, **more):
    return {"type": role, "sessionId": "s1", "message": {"role": role, "content": content}, **more}


def item(kind, **fields):
    return {"timestamp": "2026-01-01T00:00:00Z", "type": "response_item", "payload": {"type": kind, **fields}}


ENVELOPES = [
    {"type": "summary", "summary": "a session", "leafUuid": "x"},
    enveloped("user", "Fix the test."),
    enveloped("assistant", [{"type": "text", "text": "I'll look."}]),
    enveloped(
        "assistant", [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "pytest"}}]
    ),
    enveloped("user", [{"type": "tool_result", "tool_use_id": "t1", "content": FAILED}]),
    enveloped("user", "<local-command-stdout>ok</local-command-stdout>"),
    enveloped("user", "not a person", isMeta=True),
    enveloped("assistant", [{"type": "thinking", "thinking": "hm"}]),
    enveloped("assistant", [{"type": "text", "text": "All tests pass."}]),
    enveloped("user", [{"type": "text", "text": "Really?"}]),
    enveloped("assistant", [{"type": "text", "text": "I don't know."}]),
]
ITEMS = [
    {"type": "session_meta", "payload": {"id": "s1", "cwd": "."}},
    item("message", role="developer", content=[{"type": "input_text", "text": "rules"}]),
    item("message", role="user", content=[{"type": "input_text", "text": "<env>x</env>"}]),
    item("message", role="user", content=[{"type": "input_text", "text": "Fix the test."}]),
    {"type": "event_msg", "payload": {"type": "agent_message", "message": "I'll look."}},
    item("reasoning", summary=[]),
    item("function_call", name="Bash", arguments='{"command": "pytest"}', call_id="t1"),
    item("function_call_output", call_id="t1", output=FAILED),
    item("message", role="assistant", content=[{"type": "output_text", "text": "All tests pass."}]),
    item("message", role="user", content=[{"type": "input_text", "text": "Really?"}]),
    item("message", role="assistant", content=[{"type": "output_text", "text": "I don't know."}]),
]
CHAT = [
    {"role": "system", "content": "rules"},
    {"role": "user", "content": "Fix the test."},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "t1", "function": {"name": "Bash", "arguments": '{"command": "pytest"}'}}],
    },
    {"role": "tool", "tool_call_id": "t1", "content": FAILED},
    {"role": "assistant", "content": "All tests pass."},
    {"role": "user", "content": "Really?"},
    {"role": "assistant", "content": "I don't know."},
]
TYPED = [
    {"type": "session", "id": "s1"},
    {"type": "message", "message": {"role": "user", "content": [{"type": "text", "text": "Fix the test."}]}},
    {
        "type": "message",
        "message": {
            "role": "assistant",
            "content": [{"type": "toolCall", "id": "t1", "name": "Bash", "arguments": {"command": "pytest"}}],
        },
    },
    {
        "type": "message",
        "message": {"role": "toolResult", "toolCallId": "t1", "content": [{"type": "text", "text": FAILED}]},
    },
    {
        "type": "message",
        "message": {"role": "assistant", "content": [{"type": "text", "text": "All tests pass."}]},
    },
    {"type": "message", "message": {"role": "user", "content": [{"type": "text", "text": "Really?"}]}},
    {
        "type": "message",
        "message": {"role": "assistant", "content": [{"type": "text", "text": "I don't know."}]},
    },
]
BARE_ITEMS = [line.get("payload", line) for line in ITEMS if line["type"] == "response_item"]


def written(tmp_path, lines, name="s1.jsonl"):
    path = tmp_path / name
    text = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("\n".join(text) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "lines",
    [ENVELOPES, ITEMS, CHAT, TYPED, BARE_ITEMS],
    ids=["envelopes", "items", "chat", "typed", "bare-items"],
)
def test_every_form_has_the_same_turns(tmp_path, lines):
    first, second = read_responses(written(tmp_path, lines)).all
    assert (first.query, first.text) == ("Fix the test.", "All tests pass.")
    assert (second.query, second.text) == ("Really?", "I don't know.")
    (call,) = first.context.calls
    assert (call.name, call.arguments, call.result) == ("Bash", {"command": "pytest"}, FAILED)
    assert second.context.calls == ()
    assert first.session == second.session == "s1"
    assert first.id == f"s1:{len(lines) - 2}"
    # Each response is scored against its own calls: one is contradicted, one adequate.
    scores = [score(one.text, one.context, one.query) for one in (first, second)]
    assert [found.score for found in scores] == [3, 0]
    assert "claim_contradicted" in scores[0].signals


def test_agents_of_one_file_have_turns_of_their_own(tmp_path):
    side = {"isSidechain": True, "agentId": "a2"}
    lines = [
        enveloped("user", "Do it."),
        enveloped("user", "Look it up.", **side),
        enveloped("assistant", [{"type": "tool_use", "id": "t9", "name": "Grep", "input": {}}], **side),
        enveloped("assistant", "Done."),
        enveloped("user", [{"type": "tool_result", "tool_use_id": "t9", "content": "x"}], **side),
        enveloped("assistant", "It is in x.", **side),
    ]
    found = {one.session: one for one in read_responses(written(tmp_path, lines)).all}
    assert set(found) == {"s1", "s1/a2"}
    assert found["s1"].context.calls == ()
    assert found["s1/a2"].text == "It is in x."
    assert len(found["s1/a2"].context.calls) == 1


def test_a_flagged_error_is_an_error_and_a_turn_that_ends_in_a_call_has_no_response(tmp_path):
    lines = [
        *CHAT[1:2],
        enveloped("assistant", [{"type": "tool_use", "id": "t2", "name": "Bash", "input": {"command": "x"}}]),
        enveloped("user", [{"type": "tool_result", "tool_use_id": "t2", "content": "no", "is_error": True}]),
        enveloped("assistant", "It failed."),
        enveloped("user", "Again."),
        enveloped("assistant", [{"type": "tool_use", "id": "t3", "name": "Bash", "input": {"command": "x"}}]),
    ]
    (only,) = read_responses(written(tmp_path, lines)).all
    assert only.context.calls[0].error
    assert only.text == "It failed."


BROKEN = [
    ('{"type": "user", ', "Expecting property name"),
    ("[1]", "got [1]"),
    (
        enveloped("user", [{"type": "tool_result", "tool_use_id": "t8", "content": "x"}]),
        "got an answer to 't8'",
    ),
    (enveloped("assistant", [{"type": "tool_use", "id": "t8", "name": 7, "input": {}}]), "name: got 7"),
    (enveloped("assistant", 7), "content: got 7"),
    (enveloped("assistant", [7]), "got the block 7"),
    ({"role": "assistant", "tool_calls": [7]}, "tool_calls: got 7"),
    ('{"role": "user", "role": "user"}', "a key is given twice"),
]


@pytest.mark.parametrize(("line", "said"), BROKEN, ids=[said for _, said in BROKEN])
def test_a_broken_line_is_named_and_the_rest_is_read_on_request(tmp_path, line, said):
    path = written(tmp_path, [*ENVELOPES[:4], line, *ENVELOPES[4:]])
    with pytest.raises(AdequacyError) as refused:
        read_responses(path)
    assert "line 5: " in str(refused.value)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)
    found = read_responses(path, skip_broken=True)
    assert [one.text for one in found.all] == ["All tests pass.", "I don't know."]
    assert found.broken == len(found.skipped) == 1


def test_a_file_that_is_neither_is_one_line(tmp_path):
    for lines in ([{"type": "zebra"}], [{"stripes": 7}], [""]):
        with pytest.raises(AdequacyError, match="response"):
            read_responses(written(tmp_path, lines))


def test_a_large_transcript_is_never_held(tmp_path):
    """20 MB of results in few turns: what is held doesn't grow with the file."""
    path = tmp_path / "large.jsonl"
    big = "word " * 20_000
    with path.open("w", encoding="utf-8") as file:
        for turn in range(10):
            file.write(json.dumps({"role": "user", "content": f"Question {turn}?"}) + "\n")
            for call in range(20):
                use = {"id": f"{turn}-{call}", "function": {"name": "Read", "arguments": "{}"}}
                file.write(json.dumps({"role": "assistant", "content": "", "tool_calls": [use]}) + "\n")
                answer = {"role": "tool", "tool_call_id": f"{turn}-{call}", "content": big}
                file.write(json.dumps(answer) + "\n")
            file.write(json.dumps({"role": "assistant", "content": f"Answer {turn}."}) + "\n")
    assert path.stat().st_size > 2e7
    tracemalloc.start()
    found = read_responses(path)
    count = 0
    for response in found.each():
        count += 1
        assert all(len(call.result) < 1.01 * MOST_KEPT for call in response.context.calls)
        assert "characters left out" in response.context.calls[0].result
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 10
    assert peak < 5e6


def test_a_turn_of_very_many_calls_keeps_the_last(tmp_path):
    lines = [{"role": "user", "content": "Go."}]
    for i in range(MOST_CALLS + 10):
        use = {"id": str(i), "function": {"name": "Read", "arguments": json.dumps({"path": f"{i}.py"})}}
        lines += [
            {"role": "assistant", "content": "", "tool_calls": [use]},
            {"role": "tool", "tool_call_id": str(i), "content": "x"},
        ]
    lines.append({"role": "assistant", "content": "Done."})
    (only,) = read_responses(written(tmp_path, lines)).all
    assert len(only.context.calls) == MOST_CALLS
    assert only.context.calls[-1].arguments == {"path": f"{MOST_CALLS + 9}.py"}
