"""SeekBench's traces: their published numbers, and how one becomes a response with tool calls."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from solvent.adequacy.errors import AdequacyError
from solvent.adequacy.seekbench import FORM, Trace, halves, load_traces, question_of

FILE = Path("seekbench") / "seekbench_data.jsonl"


def reasoning(text: str) -> dict[str, Any]:
    return {"type": "reasoning", "content": text}


def search(query: str) -> dict[str, Any]:
    return {"type": "search", "query": query}


def result(quality: str | None, *pages: tuple[str, str]) -> dict[str, Any]:
    step = {"type": "search_result", "documents": [{"title": t, "content": c} for t, c in pages]}
    return (
        step if quality is None else step | {"annotation": {"attributes": {"information_quality": quality}}}
    )


STEPS = [
    reasoning("First I need his birthplace."),
    search("born where"),
    result("Insufficient", ("Leo", "was a cricketer"), ("Ann", "was not")),
    reasoning("Let's refine."),
    search("Leo born"),
    result("Sufficient", ("Leo", "born in Bray")),
    search("Bray river"),
    result(None),
    search("river of Bray"),
    reasoning("It seems to be the Thames."),
    {"type": "CorrectAnswer", "content": " River Thames "},
]


def file_of(path: Path, *traces: list[dict[str, Any]], **changes: Any) -> Path:
    records = [
        {
            "id": i,
            "dataset": "d",
            "model": "m",
            "question": "Which river?",
            "is_correct": True,
            "trace": steps,
        }
        | changes
        for i, steps in enumerate(traces, 1)
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_a_trace_is_a_response_with_tool_calls(tmp_path: Path) -> None:
    (trace,) = load_traces(file_of(tmp_path / "s.jsonl", STEPS))
    assert (trace.id, trace.query, trace.answer, trace.correct) == ("1", "Which river?", "River Thames", True)
    assert trace.sufficient
    assert [call.arguments["query"] for call in trace.context.calls] == [
        "born where",
        "Leo born",
        "Bray river",
        "river of Bray",
    ]
    assert trace.context.calls[0].result == "Leo: was a cricketer\nAnn: was not"
    assert [call.result for call in trace.context.calls[2:]] == ["", None]  # found nothing; never came back
    assert [call.error for call in trace.context.calls] == [False, False, False, True]


def test_the_form_decides_which_words_are_the_response(tmp_path: Path) -> None:
    path = file_of(tmp_path / "s.jsonl", STEPS)
    assert load_traces(path, "answer")[0].response == "The answer is River Thames."
    said = "It seems to be the Thames. The answer is River Thames."
    assert load_traces(path, "conclusion")[0].response == said
    everything = f"First I need his birthplace. Let's refine. {said}"
    assert load_traces(path, "reasoning")[0].response == everything
    assert load_traces(path)[0] == load_traces(path, FORM)[0]


def test_a_result_after_the_answer_counts_for_nothing(tmp_path: Path) -> None:
    late = [search("x"), STEPS[-1], result("Sufficient", ("Leo", "born in Bray"))]
    (trace,) = load_traces(file_of(tmp_path / "s.jsonl", late))
    assert not trace.sufficient
    assert trace.context.calls[0].error


def test_a_trace_without_an_answer_has_no_response(tmp_path: Path) -> None:
    (trace,) = load_traces(file_of(tmp_path / "s.jsonl", STEPS[:6]))
    assert (trace.answer, trace.response) == (None, "")


@pytest.mark.parametrize(
    "line",
    [
        "",
        "[]",
        "{",
        "{}",
        '{"trace": 1}',
        '{"trace": [{}]}',
        json.dumps({"trace": [{"type": "dance"}]}),
        json.dumps(
            {"id": 1, "dataset": "d", "model": "m", "question": "q", "is_correct": 1, "trace": STEPS[-1:]}
        ),
        json.dumps({"trace": [{"type": "CorrectAnswer", "content": None}]}),
    ],
    ids=["empty", "list", "cut", "no-keys", "no-steps", "no-type", "step", "is-correct", "no-content"],
)
def test_another_file_is_refused_in_one_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(f"{line}\n")
    with pytest.raises(AdequacyError, match=r"s\.jsonl.*; allowed: ") as refused:
        load_traces(path)
    assert "\n" not in str(refused.value)


def test_an_unknown_form_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AdequacyError, match="form: got 'poem'; allowed: answer, conclusion, reasoning"):
        load_traces(file_of(tmp_path / "s.jsonl", STEPS), "poem")  # type: ignore[arg-type]


def test_halves_depend_on_the_questions_and_keep_each_whole(tmp_path: Path) -> None:
    made = load_traces(file_of(tmp_path / "s.jsonl", *[STEPS] * 41))
    traces = [replace(trace, query=f"Which river, {i // 3}?") for i, trace in enumerate(made)]
    traces[1] = replace(traces[1], query="WHICH  river, 0? ")
    tune, report = halves(traces)
    assert abs(len(tune) - len(report)) <= 3
    assert sorted(trace.id for trace in (*tune, *report)) == sorted(trace.id for trace in traces)
    assert {question_of(trace) for trace in tune}.isdisjoint(question_of(trace) for trace in report)
    assert halves(reversed(traces)) == (tune, report)
    assert halves(replace(trace, model="other") for trace in traces)[0] == [
        replace(trace, model="other") for trace in tune
    ]
    alone = halves(made)  # one question, which no half can share
    assert [len(half) for half in alone] == [41, 0]


# --------------------------------------------------------------------------------------- the published set


@pytest.fixture
def published(public_data: Path) -> list[Trace]:
    return load_traces(public_data / FILE)


@pytest.mark.public_data
def test_the_published_numbers(published: list[Trace]) -> None:
    answered = [trace for trace in published if trace.answer is not None]
    assert (len(published), len(answered)) == (190, 188)
    lacking = [trace for trace in answered if not trace.sufficient]
    having = [trace for trace in answered if trace.sufficient]
    assert (len(lacking), len(having)) == (70, 118)
    right = [sum(trace.correct for trace in group) / len(group) for group in (lacking, having)]
    assert [round(100 * share) for share in right] == [16, 63]


@pytest.mark.public_data
def test_every_search_of_the_set_is_a_call(published: list[Trace], public_data: Path) -> None:
    lines = (public_data / FILE).read_text(encoding="utf-8").splitlines()
    steps = Counter(step["type"] for line in lines for step in json.loads(line)["trace"])
    calls = [call for trace in published for call in trace.context.calls]
    assert len(calls) == steps["search"] == 529
    assert sum(not call.error for call in calls) == steps["search_result"] == 490


@pytest.mark.public_data
def test_both_halves_of_the_set_hold_both_groups(published: list[Trace]) -> None:
    answered = [trace for trace in published if trace.answer is not None]
    tune, report = halves(answered)
    assert abs(len(tune) - len(report)) <= 4
    for half in (tune, report):
        assert 25 <= sum(not trace.sufficient for trace in half) <= 45
    assert {question_of(trace) for trace in tune}.isdisjoint(question_of(trace) for trace in report)


@pytest.mark.public_data
def test_the_leak_of_the_recorded_halves_is_as_the_documentation_has_it(published: list[Trace]) -> None:
    answered = [trace for trace in published if trace.answer is not None]
    by_trace = sorted(answered, key=lambda trace: hashlib.sha256(trace.id.encode()).hexdigest())
    tune, report = by_trace[:94], by_trace[94:]  # as the recorded result halved them
    seen = {question_of(trace) for trace in tune}
    shared = sum(question_of(trace) in seen for trace in report)
    questions = len({question_of(trace) for trace in answered})
    assert (len(answered), questions, len(report), shared) == (188, 155, 94, 17)
    text = (Path(__file__).resolve().parents[2] / "docs" / "adequacy.md").read_text(encoding="utf-8")
    said = "188 traces that answer have 155 questions, and 17 of the 94 of the report half share theirs"
    assert said in " ".join(text.split())
