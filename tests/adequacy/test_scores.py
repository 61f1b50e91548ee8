"""scores.jsonl: the source's fields to the letter, whole lines whoever writes, and errors that name the line."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import logging
import multiprocessing
import time

import pytest

from solvent.adequacy.errors import AdequacyError
from solvent.adequacy.heuristic import score
from solvent.adequacy.jsonl import append_lines, read_lines
from solvent.adequacy.scores import (
    Ratings,
    ScoreRecord,
    append_scores,
    merged,
    read_scores,
    record_of,
    response_sha256,
)
from solvent.adequacy.style import style_of
from solvent.adequacy.tools import ToolContext

RESPONSE = "Sure! It's worth noting that the function `parse_rows` does not exist. I hope this helps."
CONTEXT = ToolContext.from_dicts(
    [{"name": "Read", "arguments": {"path": "rows.py"}, "result": "def load_rows(): ..."}]
)
QUERY = "Does parse_rows exist?"
MOMENT = "2026-01-31T12:00:00+00:00"


Pair = tuple[int | None, int | None]


def record(judge=(None, None), human=(None, None), **changes):
    made = record_of(RESPONSE, CONTEXT, QUERY, score(RESPONSE, CONTEXT, QUERY))
    epad = dataclasses.replace(made.epad, judge=judge[0], human=human[0])
    sya = dataclasses.replace(made.sya, judge=judge[1], human=human[1])
    return dataclasses.replace(made, **{"epad": epad, "sya": sya, "time": MOMENT, "id": "r1", **changes})


# ------------------------------------------------------------------------------------------------- style


def test_the_style_fields_by_hand():
    # 15 words: sure it's worth noting that the function parse_rows does not exist i hope this helps.
    style = style_of(RESPONSE, QUERY)
    assert (style.word_count, style.padding_count, style.query_type) == (15, 3, "factual")
    assert style.info_density == round(3 / 15, 4)  # function, parse_rows, exist


@pytest.mark.parametrize(
    ("text", "words", "padding"),
    [
        ("", 0, 0),
        ("...", 0, 0),
        ("Well-known it's v1.2.3 foo_bar", 4, 0),
        ("Sure. Okay. Great question! Yes", 5, 3),
        ("Make sure it runs", 4, 0),  # an opening word inside of the text opens nothing
        ("The pad of coursework", 4, 0),
        ("Of course it does, of course", 6, 2),
        ("Hope  this\nhelps", 3, 1),
        ("before\n```python\nbasically = 1\n```\nafter", 2, 0),
        ("before\n```\nnever closed", 1, 0),
        ("it\u2019s worth noting", 3, 1),
    ],
)
def test_words_and_padding(text, words, padding):
    style = style_of(text)
    assert (style.word_count, style.padding_count) == (words, padding)
    assert 0.0 <= style.info_density <= 1.0


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        ("What is the retry limit?", "factual"),
        ("How does it retry?", "factual"),
        ("Why is it slow?", "diagnostic"),
        ("Is this the cause of the crash?", "diagnostic"),
        ("How do I add a retry?", "procedural"),
        ("Should we retry?", "evaluative"),
        ("Fix the bug in auth.py", "directive"),
        ("I think the bug is in auth.py", "statement"),
        ("It retries twice, right?", "statement"),
        ("Whatever", "other"),
        ("", "other"),
        (None, "none"),
    ],
)
def test_query_types(query, kind):
    assert style_of("x", query).query_type == kind


def test_style_grows_with_the_length_alone():
    long = ["sure " * 200_000, "```\n" * 200_000, "a-" * 400_000, "it is worth " * 80_000, "' " * 400_000]
    start = time.perf_counter()
    for text in long:
        style_of(text, text)
    assert time.perf_counter() - start < 15.0


# ------------------------------------------------------------------------------------------------ records


def test_the_fields_are_those_of_the_source_and_ours():
    fields = record().to_dict()
    assert list(fields) == [
        *("id", "word_count", "padding_count", "info_density", "query_type", "tool_context"),
        *("epad", "sya", "rule", "signals", "escalate", "shadow", "time", "sha256"),
    ]
    assert fields["tool_context"] == {
        "tool_calls": 1,
        "tool_types": ["Read"],
        "has_strong_negative": True,
    }
    adequacy = score(RESPONSE, CONTEXT, QUERY)
    assert fields["epad"] == {"heuristic": adequacy.score, "judge": None, "human": None}
    assert fields["rule"] == adequacy.rule
    assert fields["shadow"] is True
    assert record(shadow=False).to_dict()["shadow"] is False


def test_a_record_comes_back_as_it_was(tmp_path):
    path = tmp_path / "scores.jsonl"
    kept = [
        record(),
        record(id="r2", judge=(2, 0), human=(3, None), shadow=False, agent="a", session="s"),
    ]
    assert append_scores(path, kept[:1]) == append_scores(path, kept[1:]) == 1
    assert append_scores(path, []) == 0
    assert read_scores(path) == kept
    assert path.read_bytes().count(b"\n") == 2


def test_the_hash_ties_the_record_to_response_tools_and_query():
    same = response_sha256(RESPONSE, CONTEXT, QUERY)
    again = ToolContext.from_dicts(CONTEXT.to_dicts())
    assert record().sha256 == same == response_sha256(RESPONSE, again, QUERY)
    others = [
        response_sha256(RESPONSE + " ", CONTEXT, QUERY),
        response_sha256(RESPONSE, ToolContext(), QUERY),
        response_sha256(RESPONSE, CONTEXT, "Is it there?"),
        response_sha256(RESPONSE, CONTEXT, None),
    ]
    assert len({same, *others}) == 5
    assert response_sha256(RESPONSE, CONTEXT, "") == others[-1]  # not known
    text = json.dumps([RESPONSE, CONTEXT.to_dicts(), QUERY], sort_keys=True)
    assert same == hashlib.sha256(text.encode()).hexdigest()
    assert record_of(RESPONSE, CONTEXT, QUERY, score(RESPONSE, CONTEXT, QUERY)).id == same[:16]


def test_later_lines_add_to_earlier_ones():
    lines = [record(), record(id="r2"), record(human=(2, 1)), record(judge=(3, None), human=(1, None))]
    first, second = merged(lines)
    heuristic = lines[0].epad.heuristic
    assert first.epad == Ratings(heuristic, judge=3, human=1)
    assert first.sya.human == 1
    assert second == lines[1]
    made = record_of("Other.", CONTEXT, QUERY, score("Other.", CONTEXT, QUERY))
    other = dataclasses.replace(made, id="r1")
    with pytest.raises(AdequacyError, match="id: got 'r1' for two responses"):
        merged([lines[0], other])


def test_what_the_heuristic_says_is_that_of_its_last_line():
    first = record(agent="a")
    later = dataclasses.replace(
        record(time="2026-02-01T12:00:00+00:00"),
        epad=Ratings(heuristic=0),
        rule="hedged/thin",
        signals=("trigger:only Read",),
        escalate=not first.escalate,
        tool_context={**first.tool_context, "has_strong_negative": False},
        session="s",
    )
    label = dataclasses.replace(
        first, epad=Ratings(human=1), sya=Ratings(human=2), time="2026-03-01T12:00:00+00:00"
    )
    (found,) = merged([first, later, label])
    names = ("rule", "signals", "escalate", "tool_context", "time")
    assert [getattr(found, name) for name in names] == [getattr(later, name) for name in names]
    assert found.epad == Ratings(heuristic=0, human=1)
    assert found.sya == Ratings(heuristic=first.sya.heuristic, human=2)
    assert (found.agent, found.session) == ("a", "s")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("id", ""),
        ("word_count", -1),
        ("word_count", True),
        ("padding_count", 1.5),
        ("info_density", 1.01),
        ("query_type", None),
        ("tool_context", {"tool_calls": 2, "tool_types": ["Read"], "has_strong_negative": True}),
        ("tool_context", {"tool_calls": 1, "tool_types": ["Read"]}),
        ("tool_context", {"tool_calls": 1, "tool_types": [1], "has_strong_negative": True}),
        ("epad", {"heuristic": 4, "judge": None, "human": None}),
        ("epad", {"heuristic": 1, "judge": None}),
        ("sya", {"heuristic": 1.0, "judge": None, "human": None}),
        ("signals", "single_call"),
        ("escalate", 1),
        ("shadow", None),
        ("time", "2026-01-31T12:00:00"),
        ("time", "2026-01-31T12:00:00+02:00"),
        ("time", "yesterday"),
        ("sha256", "abc"),
        ("agent", 3),
    ],
)
def test_a_wrong_field_is_named_with_its_line(field, value, tmp_path):
    path = tmp_path / "scores.jsonl"
    append_lines(path, [record().to_dict(), {**record().to_dict(), field: value}])
    with pytest.raises(AdequacyError) as refused:
        read_scores(path)
    assert str(refused.value).startswith(f"{path}, line 2: {field}: got ")
    assert "allowed: " in str(refused.value)


def test_missing_and_unknown_fields_are_named(tmp_path):
    path = tmp_path / "scores.jsonl"
    fields = record().to_dict()
    append_lines(path, [{name: value for name, value in fields.items() if name != "rule"}])
    with pytest.raises(AdequacyError, match="line 1: rule is missing"):
        read_scores(path)
    with pytest.raises(AdequacyError, match="got the field 'extra'; allowed: id, word_count"):
        ScoreRecord.from_dict({**fields, "extra": 1})
    with pytest.raises(AdequacyError, match="epad: got"):
        record(judge=(7, None))
    with pytest.raises(AdequacyError, match="response: got 3"):
        style_of(3)


# -------------------------------------------------------------------------------------------------- files


def test_an_unfinished_line_is_left_and_said(tmp_path, caplog):
    path = tmp_path / "scores.jsonl"
    append_scores(path, [record()])
    torn = json.dumps(record(id="r2").to_dict())[:100]
    with path.open("a", encoding="utf-8") as opened:
        opened.write(torn)
    with caplog.at_level(logging.WARNING):
        append_scores(path, [record(id="r3"), record(id="r4")])
    assert caplog.text.count("the last line is unfinished") == 1
    assert path.read_text(encoding="utf-8").split("\n")[1] == torn
    assert "line 2" not in caplog.text
    assert [kept.id for kept in read_scores(path)] == ["r1", "r3", "r4"]
    assert caplog.text.count("line 2") == 1
    with pytest.raises(AdequacyError, match=r"line 2: .*allowed: a JSON object"):
        list(read_lines(path))


def test_a_record_may_be_cut_off_anywhere(tmp_path, caplog):
    path = tmp_path / "scores.jsonl"
    append_scores(path, [record()])
    whole = path.read_bytes()
    second = json.dumps(record(id="a } b", agent='"{"').to_dict()).encode()
    for end in range(1, len(second)):
        path.write_bytes(whole + second[:end])
        assert [kept.id for kept in read_scores(path)] == ["r1"], second[:end]
    path.write_bytes(whole + second)  # all but its newline: nothing is missing
    assert [kept.id for kept in read_scores(path)] == ["r1", "a } b"]
    assert caplog.text.count("left out") == len(second) - 1


@pytest.mark.parametrize(
    "line",
    [b"[1]", b"hello", b'{"a": 1 "b": 2}', b'{"a": NaN}', b'{"a": 1, "a": 2}', b"[" * 100_000],
    ids=["list", "word", "comma", "nan", "double", "deep"],
)
def test_what_is_broken_otherwise_is_an_error_in_a_log_too(line, tmp_path):
    path = tmp_path / "scores.jsonl"
    append_scores(path, [record()])
    path.write_bytes(path.read_bytes() + line)
    with pytest.raises(AdequacyError, match="line 2: "):
        read_scores(path)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"[1]", "got [1]; allowed: a JSON object"),
        (b"{", "allowed: a JSON object"),
        (b'{"a": NaN}', "got NaN, no finite number"),
        (b'{"a": 1, "a": 2}', "a key is given twice"),
        (b'{"a": "\xff"}', "allowed: a JSON object in UTF-8"),
        (b"[" * 100_000, "allowed: a JSON object"),
    ],
    ids=["list", "open", "nan", "double", "bytes", "deep"],
)
def test_a_broken_line_is_refused_with_its_number(line, said, tmp_path):
    path = tmp_path / "lines.jsonl"
    path.write_bytes(b'{"a": 1}\n\n' + line + b"\n")
    with pytest.raises(AdequacyError) as refused:
        list(read_lines(path))
    assert f"{path}, line 3: " in str(refused.value)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_what_can_not_be_written_or_read_is_said(tmp_path):
    with pytest.raises(AdequacyError, match="not written, No such file"):
        append_lines(tmp_path / "none" / "x.jsonl", [{"a": 1}])
    with pytest.raises(AdequacyError, match="not read, No such file"):
        list(read_lines(tmp_path / "none.jsonl"))
    for value in (float("nan"), {1, 2}):
        with pytest.raises(AdequacyError, match="allowed: values that JSON can hold"):
            append_lines(tmp_path / "x.jsonl", [{"a": 1}, {"a": value}])
    assert not (tmp_path / "x.jsonl").exists()


def write_many(path, writer, count, start):
    start.wait()
    for i in range(count):
        # Lines of very different lengths, some of many pages.
        append_lines(path, [{"writer": writer, "i": i, "text": "x" * (i % 50) * 997}])


@pytest.mark.slow
def test_processes_that_append_to_one_file_lose_nothing(tmp_path):
    path, writers, count = tmp_path / "shared.jsonl", 4, 150
    processes = multiprocessing.get_context("spawn")
    start = processes.Barrier(writers)
    running = [
        processes.Process(target=write_many, args=(str(path), writer, count, start))
        for writer in range(writers)
    ]
    for process in running:
        process.start()
    for process in running:
        process.join(120)
        assert process.exitcode == 0
    read = [(value["writer"], value["i"], len(value["text"])) for _, value in read_lines(path)]
    assert len(read) == writers * count
    for writer in range(writers):
        own = [(i, size) for who, i, size in read if who == writer]
        assert own == [(i, i % 50 * 997) for i in range(count)]
