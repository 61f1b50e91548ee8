"""SeekBench's traces of search agents, read as responses with tool calls.

SeekBench (190 traces, each search result annotated by experts as sufficient or insufficient) has what our own labelled
set has not: real agents, real results, and whether the final answer was right. A trace becomes

- the *query*: the question;
- the *tool calls*: a ``search`` with its ``query`` each; the result is the documents, ``title: text`` a line. A search
  that never got a result before the answer counts as failed, an empty list of documents as a result that is empty;
- the *response*: the words of the agent that lead to the answer, and the answer. The bare answer ("River Thames") has
  no words of confidence at all, and the plans before a search ("First, I need to find out ...") are addressed to the
  agent itself. So ``conclusion``, the default, takes what was said after the last search and then states the answer
  as what it is to a user: an assertion. ``answer`` states the answer alone, ``reasoning`` takes every word of the
  trace. The choice among the three was made on the tune half of then (see ``halves``);
- ``sufficient``: whether any search result before the answer was annotated as sufficient; ``correct``: as published.

Several traces answer one question, by different agents: halves and resamples take a question as a whole.
Source of the question asked of them: "Epistemic Adequacy Design", phase 3 (validation). Known approximation: sufficient
for one step of a question with several steps is not sufficient for the answer.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from solvent.adequacy.errors import AdequacyError
from solvent.adequacy.jsonl import read_lines
from solvent.adequacy.tools import ToolCall, ToolContext

__all__ = ["FORM", "Form", "Trace", "halves", "load_traces", "question_of"]

Form = Literal["answer", "conclusion", "reasoning"]

FORM: Form = "conclusion"
"""Which words of a trace are the response; chosen on the tune half."""

_ANSWERS = ("CorrectAnswer", "IncorrectAnswer")
_STEPS = ("reasoning", "search", "search_result", *_ANSWERS)


@dataclass(frozen=True)
class Trace:
    """One trace. ``answer`` is None, and ``response`` empty, where the agent gave no answer."""

    id: str
    dataset: str
    model: str
    query: str
    response: str
    answer: str | None
    context: ToolContext
    sufficient: bool
    correct: bool


def load_traces(path: str | os.PathLike[str], form: Form = FORM) -> list[Trace]:
    """The traces of ``seekbench_data.jsonl`` in its order, those without an answer among them.

    Args:
        path: the file.
        form: which words are the response.

    Raises:
        AdequacyError: no such file, no trace in it, a line of another form (with its number), or an unknown ``form``.
    """
    if form not in get_args(Form):
        raise AdequacyError(f"form: got {form!r:.80}; allowed: {', '.join(get_args(Form))}")
    traces = []
    for place, record in read_lines(path):
        try:
            traces.append(_trace(record, form))
        except (KeyError, TypeError, AttributeError) as error:
            raise AdequacyError(f"{place}: {error!s:.80}; allowed: a trace as SeekBench has it") from None
    if not traces:
        raise AdequacyError(f"{path}: holds no trace; allowed: a JSON object a line")
    return traces


def question_of(trace: Trace) -> str:
    """What a trace was asked, whatever its case and spacing: the traces of one question belong together."""
    return " ".join(trace.query.casefold().split())


def halves(traces: Iterable[Trace]) -> tuple[list[Trace], list[Trace]]:
    """The tune half and the report half, by the hash of the question: the same for every machine and order of the file.

    The recorded result (``docs/results/adequacy_heuristic.json``) is *not* of these halves. It halved by trace, so that
    17 of its 94 report traces share their question with a tune trace. What it reported on is used up: in these halves
    neither is unseen.
    """
    by_hash = sorted(traces, key=lambda trace: (_digest(question_of(trace)), _digest(trace.id)))
    middle = len(by_hash) // 2
    while 0 < middle < len(by_hash) and question_of(by_hash[middle - 1]) == question_of(by_hash[middle]):
        middle += 1
    return by_hash[:middle], by_hash[middle:]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _trace(record: Mapping[str, Any], form: Form) -> Trace:
    steps = record["trace"]
    if unknown := [step["type"] for step in steps if step["type"] not in _STEPS]:
        raise TypeError(f"got a step of type {unknown[0]!r}")
    answers = [i for i, step in enumerate(steps) if step["type"] in _ANSWERS]
    before = steps[: answers[0]] if answers else steps
    answer = steps[answers[0]]["content"].strip() if answers else None
    if not isinstance(record["is_correct"], bool):
        raise TypeError(f"is_correct: got {record['is_correct']!r}")
    return Trace(
        id=str(record["id"]),
        dataset=record["dataset"],
        model=record["model"],
        query=record["question"],
        response="" if answer is None else _response(before, answer, form),
        answer=answer,
        context=ToolContext(tuple(_calls(before))),
        sufficient=any(_is_sufficient(step) for step in before),
        correct=record["is_correct"],
    )


def _calls(steps: Sequence[Mapping[str, Any]]) -> Iterable[ToolCall]:
    """Each search with the result that comes before the next search."""
    starts = [i for i, step in enumerate(steps) if step["type"] == "search"]
    for start, end in zip(starts, [*starts[1:], len(steps)], strict=True):
        found = [step for step in steps[start:end] if step["type"] == "search_result"]
        text = "\n".join(
            f"{page['title']}: {page['content']}" for step in found for page in step["documents"]
        )
        yield ToolCall("search", {"query": steps[start]["query"]}, text if found else None, error=not found)


def _is_sufficient(step: Mapping[str, Any]) -> bool:
    """Results of searches that returned nothing have no annotation: nothing is not sufficient."""
    quality = step.get("annotation", {}).get("attributes", {}).get("information_quality")
    return bool(step["type"] == "search_result" and quality == "Sufficient")


def _response(steps: Sequence[Mapping[str, Any]], answer: str, form: Form) -> str:
    searches = [i for i, step in enumerate(steps) if step["type"] in ("search", "search_result")]
    first = {"answer": len(steps), "reasoning": 0, "conclusion": max(searches, default=-1) + 1}[form]
    said = [step["content"].strip() for step in steps[first:] if step["type"] == "reasoning"]
    stated = f"The answer is {answer}"
    return " ".join([*said, stated if stated.endswith((".", "!", "?")) else f"{stated}."])
