"""Transcripts of many agents: the turns, their calls, and what is said about the rest."""

import json
from pathlib import Path

import pytest

from solvent.adequacy.transcripts import MOST_KEPT, read_turns
from solvent.files import InputError
from tests.labs import lines

CASES = Path(__file__).parent / "cases"
FILES, VARIATIONS = lines(CASES / "transcripts.jsonl"), lines(CASES / "variations.jsonl")

ASKED = {"role": "user", "content": "Does it retry?"}
ANSWERED = {"role": "assistant", "content": "It sends once."}
CALLED = {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "Read", "input": {}}]}
RESULT = {
    "role": "user",
    "content": [{"type": "tool_result", "tool_use_id": "t", "content": "def send(): ..."}],
}


def reading(folder, records):
    path = folder / "s.jsonl"
    texts = [one if isinstance(one, str) else json.dumps(one) for one in records]
    path.write_text("\n".join(texts) + "\n", encoding="utf-8")
    return read_turns(path)


def told(turn):
    calls = [[call.name, call.result if call.recorded else None, call.failed] for call in turn.calls]
    return {"query": turn.query, "response": turn.response, "calls": calls, "unread": turn.unread}


@pytest.mark.parametrize("case", FILES, ids=lambda case: Path(case["file"]).name)
def test_case_has_its_turns(case):
    found = read_turns(CASES / case["file"])
    assert [told(turn) for turn in found.turns] == case["turns"]
    assert list(found.notes) == case["notes"]


@pytest.mark.parametrize("case", VARIATIONS, ids=lambda case: case["name"])
def test_variation_has_its_turns(case, tmp_path):
    (tmp_path / "s.jsonl").write_text(case["text"], encoding="utf-8")
    found = read_turns(tmp_path / "s.jsonl")
    assert [told(turn) for turn in found.turns] == [{**turn, "unread": 0} for turn in case["turns"]]
    assert not any("type" in note for note in found.notes)


@pytest.mark.parametrize("case", VARIATIONS, ids=lambda case: case["name"])
def test_unknown_lines_and_keys_change_nothing(case, tmp_path):
    try:
        records = [json.loads(line) | {"future": 1} for line in case["text"].splitlines()]
    except (ValueError, TypeError):
        pytest.skip("one document, or a line that is not JSON")
    noise = [{"type": "future_record", "payload": {}}, {"type": "system", "subtype": "future"}]
    found = reading(tmp_path, [other for one in records for other in (one, *noise)])
    assert [told(turn) for turn in found.turns] == [{"unread": 0, **turn} for turn in case["turns"]]


def test_arguments_are_read_as_tables(tmp_path):
    calls = [
        {"id": "1", "function": {"name": "read", "arguments": '{"path": "a.py"}'}},
        {"id": "2", "function": {"name": "read", "arguments": '{"path": "a'}},
        {"id": "3", "type": "custom", "custom": {"name": "shell", "input": "cat a.py"}},
    ]
    called = {"role": "assistant", "content": None, "tool_calls": calls}
    (turn,) = reading(tmp_path, [ASKED, called, ANSWERED]).turns
    arguments = [call.arguments for call in turn.calls]
    assert arguments == [{"path": "a.py"}, {"input": '{"path": "a'}, {"input": "cat a.py"}]
    assert not any(call.recorded for call in turn.calls)
    (turn,) = read_turns(CASES / "transcripts/mini_swe_agent.jsonl").turns
    assert turn.calls[0].arguments == {"command": "cat src/client.py"}


@pytest.mark.parametrize(("kind", "unread"), [("tool_invocation_v9", 1), ("poem", 0)])
def test_unknown_call_leaves_its_turn_unread_and_unknown_text_does_not(tmp_path, kind, unread):
    unknown = {"role": "assistant", "content": [{"type": kind, "payload": {"name": "grep"}}]}
    found = reading(tmp_path, [ASKED, unknown, ANSWERED, ASKED, CALLED, RESULT, ANSWERED])
    assert [turn.unread for turn in found.turns] == [unread, 0]
    assert found.notes == (f"blocks of the type '{kind}' not read: 1",)


@pytest.mark.parametrize(
    "broken",
    [{"content": [{"type": "tool_use"}]}, {"tool_calls": "read"}, {"content": [], "function_calls": [1]}],
)
def test_broken_call_leaves_its_turn_unread(tmp_path, broken):
    (turn,) = reading(tmp_path, [ASKED, {"role": "assistant", **broken}, ANSWERED]).turns
    assert (turn.response, turn.unread, turn.calls) == ("It sends once.", 1, ())


@pytest.mark.parametrize("more", [{"tools": [{}]}, {"tool_output": "def"}, {"tool_calls": ["Read"]}])
def test_other_keys_leave_a_response_unread(tmp_path, more):
    assert reading(tmp_path, [{"response": "It sends once.", **more}]).turns[0].unread == 1


@pytest.mark.parametrize(("line", "unread"), [('{"role": "user", "co', 0), ('{"type": "tool_use", "na', 1)])
def test_broken_line_costs_no_turn(tmp_path, line, unread):
    found = reading(tmp_path, [ASKED, CALLED, RESULT, line, ANSWERED])
    (turn,) = found.turns
    assert (turn.response, len(turn.calls), turn.unread) == ("It sends once.", 1, unread)
    assert any("not JSON" in note for note in found.notes)


def test_turn_keeps_its_id_as_it_grows(tmp_path):
    before = reading(tmp_path, [ASKED, ANSWERED, ASKED, CALLED]).last
    after = reading(tmp_path, [ASKED, ANSWERED, ASKED, CALLED, RESULT, ANSWERED]).turns[-1]
    assert before.id == after.id == "s:3"


def test_long_texts_are_cut(tmp_path):
    result = {**RESULT, "content": [{**RESULT["content"][0], "content": "a" * MOST_KEPT + "end"}]}
    (turn,) = reading(tmp_path, [ASKED, CALLED, result, ANSWERED]).turns
    assert turn.calls[0].result.endswith("end")
    assert len(turn.calls[0].result) < MOST_KEPT + 100


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"\0" * 1000, "UTF-8"),
        (b"", "JSON"),
        (b"[" * 100_000, "JSON"),
        (b'{"colour": "red"}\n{"colour": "blue"}\n', "unknown format"),
    ],
    ids=["null bytes", "empty", "deep", "other objects"],
)
def test_other_file_is_refused_in_one_line(tmp_path, content, word):
    (tmp_path / "s.jsonl").write_bytes(content)
    with pytest.raises(InputError, match=word) as caught:
        read_turns(tmp_path / "s.jsonl")
    assert "\n" not in str(caught.value)


def test_bad_bytes_are_replaced_and_told(tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_bytes(b'{"role":"user","content":"caf\xe9"}\r\n{"role":"assistant","content":"Oui."}\r\n')
    found = read_turns(path)
    assert found.turns[0].query == "caf\ufffd"
    assert found.notes == ("lines with bytes that are not UTF-8: 1",)


def test_long_texts_take_no_time(tmp_path):
    long = {"role": "user", "content": "<skill>`" * 2**18}
    assert len(reading(tmp_path, [long, CALLED, RESULT, ANSWERED]).turns[0].query) < MOST_KEPT + 100


def test_feedback_leaves_no_earlier_answer_open(tmp_path):
    message = {"role": "user", "content": "Stop hook feedback:\nno"}
    feedback = {"type": "user", "isMeta": True, "message": message}
    found = reading(tmp_path, [{"type": "user", "message": ASKED}, {"message": ANSWERED}, feedback])
    assert [turn.response for turn in found.turns] == ["It sends once."]
    assert found.last.response == ""
