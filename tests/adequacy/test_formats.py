"""Transcripts of many agents: who claims them, their turns and calls, and what is said about the rest."""

import copy
import json
import random
import re
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

from solvent.adequacy.formats import MOST_KEPT, read_turns, turn_of
from solvent.adequacy.formats.document import Document, values_in
from solvent.adequacy.formats.registry import claims, formats
from solvent.adequacy.formats.texts import result_of
from solvent.files import InputError
from tests.labs import lines

CASES = Path(__file__).parent / "cases"
FILES, VARIATIONS = lines(CASES / "transcripts.jsonl"), lines(CASES / "variations.jsonl")
FORMATS = {
    path.stem: json.loads(path.read_text("utf-8")) for path in sorted((CASES / "formats").glob("*.json"))
}

ASKED = {"role": "user", "content": "Does it retry?"}
ANSWERED = {"role": "assistant", "content": "It sends once."}
CALLED = {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "Read", "input": {}}]}
RESULT = {
    "role": "user",
    "content": [{"type": "tool_result", "tool_use_id": "t", "content": "def send(): ..."}],
}


def text_of_records(records):
    return "\n".join(one if isinstance(one, str) else json.dumps(one) for one in records) + "\n"


def reading(folder, records):
    path = folder / "s.jsonl"
    path.write_text(text_of_records(records), encoding="utf-8")
    return read_turns(path)


def content_of(case):
    if "document" in case:
        return json.dumps(case["document"], indent=1)
    return text_of_records(case["lines"]) if "lines" in case else case["text"]


def reading_of(case, folder):
    path = folder / "s.jsonl"
    path.write_text(content_of(case), encoding="utf-8")
    return read_turns(path)


def summary(turn):
    calls = [[call.name, call.result if call.recorded else None, call.failed] for call in turn.calls]
    return {"query": turn.query, "response": turn.response, "calls": calls, "unread": turn.unread}


def is_lines_of_objects(case):
    with suppress(ValueError):
        return all(isinstance(json.loads(line), dict) for line in content_of(case).splitlines())
    return False


LINE_CASES = [case for case in (*VARIATIONS, *FORMATS.values()) if is_lines_of_objects(case)]


def expected(case):
    return [{"unread": 0, **turn} for turn in case["turns"]]


def claimed_by(content):
    return [form.NAME for form in claims(Document("s", list(values_in(content, Counter()))))]


def from_claude(kind, content, **fields):
    return {"type": kind, "sessionId": "s", "message": {"role": kind, "content": content}, **fields}


# -- formats


@pytest.mark.parametrize("case", FILES, ids=lambda case: Path(case["file"]).name)
def test_file_has_its_turns(case):
    result = read_turns(CASES / case["file"])
    assert [summary(turn) for turn in result.turns] == case["turns"]
    assert list(result.notes) == case["notes"]


@pytest.mark.parametrize("case", VARIATIONS, ids=lambda case: case["name"])
def test_variation_has_its_turns(case, tmp_path):
    result = reading_of(case, tmp_path)
    assert [summary(turn) for turn in result.turns] == expected(case)
    assert not any("type" in note for note in result.notes)


@pytest.mark.parametrize("name", FORMATS)
def test_format_has_its_turns(name, tmp_path):
    result = reading_of(FORMATS[name], tmp_path)
    assert [summary(turn) for turn in result.turns] == expected(FORMATS[name])
    assert result.notes == ()


@pytest.mark.parametrize("name", FORMATS)
def test_case_of_a_format_is_claimed_by_it_alone(name):
    assert claimed_by(content_of(FORMATS[name]).encode()) == [FORMATS[name]["format"]]


@pytest.mark.parametrize("case", FILES, ids=lambda case: Path(case["file"]).name)
def test_file_is_claimed_by_one_format(case):
    assert len(claimed_by((CASES / case["file"]).read_bytes())) == 1


@pytest.mark.parametrize("case", VARIATIONS, ids=lambda case: case["name"])
def test_variation_is_claimed_by_one_format(case):
    assert len(claimed_by(case["text"].encode())) == 1


def test_every_format_has_a_case():
    contents = [(CASES / case["file"]).read_bytes() for case in FILES]
    contents += [content_of(case).encode() for case in (*VARIATIONS, *FORMATS.values())]
    claimed = {name for content in contents for name in claimed_by(content)}
    assert claimed == {form.NAME for form in formats()}


def test_page_names_formats_that_are_read():
    page = (Path(__file__).parents[2] / "docs/adequacy.md").read_text("utf-8")
    names = re.split(r",\s+|\s+and\s+", re.search(r"among them (.*?)\);", page, re.DOTALL)[1])
    read = ", ".join(form.NAME for form in formats())
    assert [name for name in names if " ".join(name.split()) not in read] == []


@pytest.mark.parametrize("case", LINE_CASES, ids=lambda case: case.get("name", case.get("format")))
def test_unknown_lines_and_keys_change_nothing(case, tmp_path):
    records = [json.loads(line) | {"future": 1} for line in content_of(case).splitlines()]
    noise = [{"type": "future_record", "payload": {}}, {"type": "system", "subtype": "future"}]
    result = reading(tmp_path, [other for one in records for other in (one, *noise)])
    assert [summary(turn) for turn in result.turns] == expected(case)


def places_in(value, place=()):
    """Yield the path to each value in a JSON value."""
    yield place
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield from places_in(one, (*place, key))


def with_value_at(place, new, value):
    if not place:
        return new
    changed = copy.copy(value)
    changed[place[0]] = with_value_at(place[1:], new, value[place[0]])
    return changed


ODD = [None, 1.5, True, [], {}, ["x"], {"type": []}, " ", "[" * 100_000]


@pytest.mark.parametrize("name", FORMATS)
def test_value_of_another_type_ends_no_reading(name, tmp_path):
    records = FORMATS[name].get("lines") or [FORMATS[name]["document"]]
    places = [place for place in places_in(records) if place]
    chance = random.Random(name)
    for place in chance.sample(places, min(40, len(places))):
        damaged = with_value_at(place, chance.choice(ODD), records)
        with suppress(InputError):
            reading(tmp_path, damaged)


# -- rules of reading


def test_history_that_grows_line_by_line_is_read_once(tmp_path):
    first = [ASKED, {**ANSWERED, "refusal": None}]
    second = [
        ASKED,
        ANSWERED,
        {"role": "user", "content": "And then?"},
        {"role": "assistant", "content": "It fails."},
    ]
    turns = reading(tmp_path, [{"messages": first}, {"messages": second}]).turns
    assert [turn.query for turn in turns] == ["Does it retry?", "And then?"]


def test_mark_for_the_cache_does_not_hide_that_a_history_grows(tmp_path):
    marked = {
        "role": "user",
        "content": [{"type": "text", "text": ASKED["content"], "cache_control": {"type": "x"}}],
    }
    later = [
        ASKED,
        ANSWERED,
        {"role": "user", "content": "And then?"},
        {"role": "assistant", "content": "It fails."},
    ]
    turns = reading(tmp_path, [{"messages": [marked], "response": ANSWERED}, {"messages": later}]).turns
    assert [turn.query for turn in turns] == ["Does it retry?", "And then?"]


def test_samples_of_one_prompt_stay_apart(tmp_path):
    other = {"role": "assistant", "content": "It sends twice."}
    turns = reading(tmp_path, [{"messages": [ASKED, ANSWERED]}, {"messages": [ASKED, other]}]).turns
    assert [turn.response for turn in turns] == ["It sends once.", "It sends twice."]


def test_answer_in_a_reply_joins_its_request(tmp_path):
    log = {"request": {"messages": [ASKED]}, "response": {"choices": [{"message": ANSWERED}]}}
    (turn,) = reading(tmp_path, [log]).turns
    assert (turn.query, turn.response) == ("Does it retry?", "It sends once.")


def test_child_run_is_a_turn_and_evidence_of_the_answer_after_it(tmp_path):
    child = {"isSidechain": True, "agentId": "a"}
    records = [
        from_claude("user", "Does it retry?"),
        from_claude("assistant", [{"type": "tool_use", "id": "k", "name": "Task", "input": {}}]),
        from_claude("user", "Look.", **child),
        from_claude("assistant", CALLED["content"], **child),
        from_claude("user", RESULT["content"], **child),
        from_claude("assistant", "It sends once.", **child),
        from_claude("user", [{"type": "tool_result", "tool_use_id": "k", "content": "once"}]),
        from_claude("assistant", "It doesn't retry."),
    ]
    main, run = reading(tmp_path, records).turns
    assert ([call.name for call in main.calls], [call.name for call in main.earlier]) == (["Task"], ["Read"])
    assert ([call.name for call in run.calls], [call.name for call in run.earlier]) == (["Read"], ["Task"])


def test_calls_of_earlier_turns_are_evidence_and_later_ones_are_not(tmp_path):
    turns = reading(
        tmp_path, [ASKED, CALLED, RESULT, ANSWERED, ASKED, ANSWERED, ASKED, CALLED, RESULT, ANSWERED]
    ).turns
    assert [len(turn.earlier) for turn in turns] == [0, 1, 1]
    assert turns[1].earlier == turns[0].calls


def test_turns_of_a_session_share_one_list_of_calls(tmp_path):
    turns = reading(tmp_path, [ASKED, CALLED, RESULT, ANSWERED] * 3).turns
    assert len({id(turn.history.calls) for turn in turns}) == 1


def test_pieces_of_a_stream_are_one_text(tmp_path):
    pieces = [
        {"type": "message", "role": "assistant", "content": text, "delta": True}
        for text in ("It se", "nds ", "once.")
    ]
    (turn,) = reading(
        tmp_path, [{"type": "message", "role": "user", "content": "Why?", "timestamp": "t"}, *pieces]
    ).turns
    assert turn.response == "It sends once."


@pytest.mark.parametrize(
    "text", ['<invoke name="Bash">\n<parameter name="command">ls</parameter>\n</invoke>', "remember(x=1)"]
)
def test_call_text_is_text_where_calls_are_native(tmp_path, text):
    leaked = {"role": "assistant", "content": [{"type": "text", "text": text}]}
    turns = reading(tmp_path, [ASKED, CALLED, RESULT, leaked, ASKED, ANSWERED]).turns
    assert [(len(turn.calls), turn.response) for turn in turns] == [(1, text), (0, "It sends once.")]


def test_lines_that_follow_each_other_in_a_circle_are_read(tmp_path):
    tree = [("1", None), ("2", "1"), ("3", "4"), ("4", "3")]
    records = [
        from_claude(kind, kind, uuid=key, parentUuid=parent)
        for kind, (key, parent) in zip(("user", "assistant", "user", "assistant"), tree, strict=True)
    ]
    assert [turn.query for turn in reading(tmp_path, records).turns] == ["user", "user"]


def test_call_text_that_no_observation_follows_is_text(tmp_path):
    leaked = {"role": "assistant", "content": '<tool_call>{"name": "read", "arguments": {}}</tool_call>'}
    turns = reading(tmp_path, [ASKED, leaked, {"role": "user", "content": "Thanks."}, ANSWERED]).turns
    assert [turn.query for turn in turns] == ["Does it retry?", "Thanks."]
    assert not any(turn.calls for turn in turns)


@pytest.mark.parametrize(("status", "failed"), [("failed", True), ("completed", False)])
def test_end_of_a_background_run_belongs_to_its_call(tmp_path, status, failed):
    started = [{"type": "tool_result", "tool_use_id": "t", "content": "running with ID: b7"}]
    fields = f"<task-id>b7</task-id><status>{status}</status><summary>It {status}.</summary>"
    end = f"<task-notification>{fields}</task-notification>"
    records = [
        *(
            from_claude("user", "Run it."),
            from_claude("assistant", CALLED["content"]),
            from_claude("user", started),
        ),
        *(
            from_claude("assistant", "It runs."),
            from_claude("user", end),
            from_claude("assistant", "It is done."),
        ),
    ]
    (turn,) = reading(tmp_path, records).turns
    assert (turn.query, turn.response, turn.calls[0].failed) == ("Run it.", "It is done.", failed)
    assert turn.calls[0].result == f"running with ID: b7\nIt {status}."


def test_background_run_that_ends_in_a_later_turn_is_a_call_of_that_turn(tmp_path):
    fields = "<tool-use-id>t</tool-use-id><status>failed</status><summary>exit code 2</summary>"
    end = f"<task-notification>{fields}</task-notification>"
    records = [
        *(
            from_claude("user", "Run it."),
            from_claude("assistant", CALLED["content"]),
            from_claude("user", RESULT["content"]),
        ),
        *(from_claude("assistant", "It runs."), from_claude("user", "Why?"), from_claude("user", end)),
        from_claude("assistant", "It failed."),
    ]
    first, second = reading(tmp_path, records).turns
    assert (first.calls[0].failed, second.calls[0].failed) == (None, True)


@pytest.mark.parametrize(
    "text",
    [
        "Exit code 2\nboom",
        "Chunk ID: 1\nProcess exited with code 2\nOutput:\nboom",
        "boom\nExit Code: 2",
        "boom\n<exited with exit code 2>",
        "<returncode>2</returncode>\n<output>boom</output>",
        "boom\nCommand failed with exit code: 2.",
        '{"output": "boom", "exit_code": 2}',
        '{"stdout": "boom", "metadata": {"exit_code": 2}}',
    ],
)
def test_exit_code_in_a_result_is_a_failure(text):
    assert result_of(text)[1] is True
    assert result_of(text.replace("2", "0"))[1] is False


def test_exit_code_in_a_field_is_put_into_the_text():
    assert result_of("boom", code=2) == ("Exit code 2\nboom", True)
    assert result_of("boom\nCommand exited with code 2", code=2)[0] == "boom\nCommand exited with code 2"
    assert result_of("fine", code=0) == ("fine", False)


def test_exit_code_that_a_result_only_shows_is_no_failure():
    log = "\n".join(["line"] * 10 + ["Exit code 2"] + ["line"] * 10)
    assert result_of(log) == (log, None)
    assert result_of("The docs say: exit code 2 means misuse.")[1] is None


def test_call_in_a_block_and_in_tool_calls_is_one(tmp_path):
    call = {"id": "c", "type": "function", "function": {"name": "read", "arguments": '{"path": "a"}'}}
    block = {"type": "tool_call", "tool_call_id": "c", "name": "read", "arguments": {"path": "a"}}
    called = {"role": "assistant", "content": [block], "tool_calls": [call]}
    (turn,) = reading(
        tmp_path, [ASKED, called, {"role": "tool", "tool_call_id": "c", "content": "x"}, ANSWERED]
    ).turns
    assert [call.result for call in turn.calls] == ["x"]


@pytest.mark.parametrize(("kind", "unread"), [("tool_invocation_v9", 1), ("poem", 0)])
def test_unknown_call_leaves_its_turn_unread_and_unknown_text_does_not(tmp_path, kind, unread):
    unknown = {"role": "assistant", "content": [{"type": kind, "payload": {"name": "grep"}}]}
    result = reading(tmp_path, [ASKED, unknown, ANSWERED, ASKED, CALLED, RESULT, ANSWERED])
    assert [turn.unread for turn in result.turns] == [unread, 0]
    assert result.notes == (f"blocks of the type '{kind}' not read: 1",)


CUSTOMER = {"role": "customer", "content": "Hello"}
CUSTOMER_SPAN = {
    "traceId": "t",
    "attributes": {
        "gen_ai.input.messages": [{"role": "customer", "parts": [{"type": "text", "content": "Hello"}]}],
        "gen_ai.output.messages": [{"role": "assistant", "parts": [{"type": "text", "content": "Hi."}]}],
    },
}


@pytest.mark.parametrize("records", [[CUSTOMER, ASKED, ANSWERED], [CUSTOMER_SPAN]], ids=["chat", "otel"])
def test_message_of_an_unknown_role_is_noted(records, tmp_path):
    assert reading(tmp_path, records).notes == ("messages of the role 'customer' not read: 1",)


@pytest.mark.parametrize(
    "broken",
    [{"content": [{"type": "tool_use"}]}, {"tool_calls": "read"}, {"content": [], "function_calls": [1]}],
)
def test_broken_call_leaves_its_turn_unread(tmp_path, broken):
    (turn,) = reading(tmp_path, [ASKED, {"role": "assistant", **broken}, ANSWERED]).turns
    assert (turn.response, turn.unread, turn.calls) == ("It sends once.", 1, ())


@pytest.mark.parametrize("text", ["No response requested.", "API Error: 529", "Prompt is too long"])
def test_text_of_a_program_in_the_models_name_is_no_answer(tmp_path, text):
    (turn,) = reading(tmp_path, [ASKED, ANSWERED, {"role": "assistant", "content": text}]).turns
    assert turn.response == "It sends once."


def test_answer_about_an_error_of_an_interface_is_an_answer(tmp_path):
    answer = {"role": "assistant", "content": "API Error handling now retries.\nSee client.py."}
    assert reading(tmp_path, [ASKED, answer]).turns[0].response == answer["content"]


def test_answer_after_feedback_replaces_the_one_before(tmp_path):
    feedback = from_claude("user", "Stop hook feedback:\nno", isMeta=True)
    records = [
        from_claude("user", "Why?"),
        from_claude("assistant", "No."),
        feedback,
        from_claude("assistant", "Maybe."),
    ]
    assert [turn.response for turn in reading(tmp_path, records).turns] == ["Maybe."]


def test_feedback_leaves_no_earlier_answer_open(tmp_path):
    feedback = from_claude("user", "Stop hook feedback:\nno", isMeta=True)
    result = reading(tmp_path, [from_claude("user", "Why?"), from_claude("assistant", "No."), feedback])
    assert [turn.response for turn in result.turns] == ["No."]
    assert result.last.response == ""


def test_text_of_a_program_alone_is_no_turn(tmp_path):
    program = from_claude("user", "<local-command-stdout>x</local-command-stdout>")
    assert reading(tmp_path, [program]).last is None


def test_turn_keeps_its_id_as_it_grows(tmp_path):
    before = reading(tmp_path, [ASKED, ANSWERED, ASKED, CALLED]).last
    after = reading(tmp_path, [ASKED, ANSWERED, ASKED, CALLED, RESULT, ANSWERED]).turns[-1]
    assert before.id == after.id == "s:3"


# -- a file of responses


def test_line_of_a_file_of_responses_is_a_turn():
    turn = turn_of(
        {"response": "It sends once.", "query": "Why?", "tool_calls": [{"name": "read", "result": "x"}]}
    )
    assert (turn.query, turn.response, turn.calls[0].result) == ("Why?", "It sends once.", "x")


@pytest.mark.parametrize("more", [{"tools": [{}]}, {"tool_output": {"a": 1}}, {"tool_calls": ["Read"]}])
def test_other_keys_leave_a_response_unread(tmp_path, more):
    assert reading(tmp_path, [{"response": "It sends once.", **more}]).turns[0].unread == 1


def test_arguments_are_read_as_objects(tmp_path):
    calls = [
        {"id": "1", "function": {"name": "read", "arguments": '{"path": "a.py"}'}},
        {"id": "2", "function": {"name": "read", "arguments": '{"path": "a'}},
        {"id": "3", "type": "custom", "custom": {"name": "shell", "input": "cat a.py"}},
    ]
    (turn,) = reading(
        tmp_path, [ASKED, {"role": "assistant", "content": None, "tool_calls": calls}, ANSWERED]
    ).turns
    arguments = [call.arguments for call in turn.calls]
    assert arguments == [{"path": "a.py"}, {"input": '{"path": "a'}, {"input": "cat a.py"}]
    assert not any(call.recorded for call in turn.calls)


# -- files


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"\0" * 1000, "UTF-8"),
        (b"", "JSON"),
        (b"[" * 100_000, "JSON"),
        (b'{"colour": "red"}\n{"colour": "blue"}\n', "colour"),
        (b"[1, 2]", "int"),
    ],
    ids=["null bytes", "empty", "deep", "other objects", "numbers"],
)
def test_other_file_is_refused_in_one_line(tmp_path, content, word):
    (tmp_path / "s.jsonl").write_bytes(content)
    with pytest.raises(InputError, match=word) as caught:
        read_turns(tmp_path / "s.jsonl")
    assert "\n" not in str(caught.value)


def test_known_format_in_which_nothing_is_said_is_named(tmp_path):
    with pytest.raises(InputError, match=r"Codex, but nobody"):
        reading(tmp_path, [{"type": "session_meta", "payload": {"id": "x"}}])


def test_refusal_names_every_format(tmp_path):
    with pytest.raises(InputError) as caught:
        reading(tmp_path, [{"colour": "red"}])
    assert all(form.NAME in str(caught.value) for form in formats())


@pytest.mark.parametrize(("line", "unread"), [('{"role": "user", "co', 0), ('{"type": "tool_use", "na', 1)])
def test_broken_line_costs_no_turn(tmp_path, line, unread):
    result = reading(tmp_path, [ASKED, CALLED, RESULT, line, ANSWERED])
    (turn,) = result.turns
    assert (turn.response, len(turn.calls), turn.unread) == ("It sends once.", 1, unread)
    assert any("not JSON" in note for note in result.notes)


def test_half_a_last_line_is_noted(tmp_path):
    result = reading(tmp_path, [ASKED, ANSWERED, '{"role": "assi'])
    assert [turn.response for turn in result.turns] == ["It sends once."]
    assert result.notes == ("lines at the end that are not JSON, or not finished: 1",)


def test_byte_order_mark_and_carriage_returns_change_nothing(tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + text_of_records([ASKED, ANSWERED]).replace("\n", "\r\n").encode())
    assert read_turns(path).turns[0].query == "Does it retry?"


def test_bad_bytes_are_replaced_and_noted(tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_bytes(b'{"role":"user","content":"caf\xe9"}\r\n{"role":"assistant","content":"Oui."}\r\n')
    result = read_turns(path)
    assert result.turns[0].query == "caf\ufffd"
    assert result.notes == ("lines with bytes that are not UTF-8: 1",)


def test_deep_nesting_costs_no_turn(tmp_path):
    deep = '{"role": "user", "content": ' + "[" * 200 + "]" * 200 + "}"
    assert len(reading(tmp_path, [ASKED, deep, ANSWERED]).turns) == 1


def test_result_of_a_tool_without_a_name_is_evidence_all_the_same(tmp_path):
    nameless = {"role": "tool", "name": " ", "content": "1 failed"}
    (turn,) = reading(tmp_path, [ASKED, nameless, ANSWERED]).turns
    assert [(call.name, call.result) for call in turn.calls] == [("unknown", "1 failed")]


@pytest.mark.parametrize("text", ["[" * 100_000, "[{"], ids=["deep", "cut off"])
def test_messages_in_a_broken_text_leave_their_turn_unread(tmp_path, text):
    answer = [{"role": "assistant", "parts": [{"type": "text", "content": "All tests pass."}]}]
    span = {"gen_ai.input.messages": text, "gen_ai.output.messages": answer}
    (turn,) = reading(tmp_path, [{"traceId": "t", "attributes": span}]).turns
    assert (turn.response, turn.unread) == ("All tests pass.", 1)


def test_kind_with_a_line_break_looks_like_a_call_to_every_reader(tmp_path):
    more = {"role": "assistant", "content": "", "new\ntool_uses": [{"x": 1}]}
    (turn,) = reading(tmp_path, [ASKED, more, ANSWERED]).turns
    assert turn.unread == 1


def test_half_a_surrogate_pair_can_be_written(tmp_path):
    (turn,) = reading(tmp_path, [ASKED, '{"role": "assistant", "content": "ok \\ud83d"}']).turns
    assert turn.response.encode("utf-8") == b"ok ?"


def test_repeated_ids_are_answered_in_order(tmp_path):
    calls = [{"id": "", "function": {"name": "read", "arguments": {"path": name}}} for name in "ab"]
    results = [{"role": "tool", "tool_call_id": "", "content": text} for text in ("one", "two")]
    (turn,) = reading(tmp_path, [ASKED, {"role": "assistant", "tool_calls": calls}, *results, ANSWERED]).turns
    assert [call.result for call in turn.calls] == ["one", "two"]


def test_long_texts_are_cut(tmp_path):
    result = {"role": "user", "content": [{**RESULT["content"][0], "content": "a" * MOST_KEPT + "end"}]}
    (turn,) = reading(tmp_path, [ASKED, CALLED, result, ANSWERED]).turns
    assert turn.calls[0].result.endswith("end")
    assert len(turn.calls[0].result) < MOST_KEPT + 100


def test_long_arguments_in_json_are_read_before_they_are_cut(tmp_path):
    arguments = json.dumps({"path": "a.py", "content": "a" * 2 * MOST_KEPT})
    called = {
        "role": "assistant",
        "tool_calls": [{"id": "1", "function": {"name": "write", "arguments": arguments}}],
    }
    (turn,) = reading(tmp_path, [ASKED, called, ANSWERED]).turns
    assert turn.calls[0].arguments["path"] == "a.py"


def test_long_texts_take_no_time(tmp_path):
    long = {"role": "user", "content": "<skill>`" * 2**18}
    assert len(reading(tmp_path, [long, CALLED, RESULT, ANSWERED]).turns[0].query) < MOST_KEPT + 100
