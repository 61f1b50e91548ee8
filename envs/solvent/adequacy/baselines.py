"""Rules too simple to be a detector of epistemic adequacy: what a heuristic must beat to have added anything.

Four constants and counts for labelled responses, and three numbers for search traces:

- ``always_1``: 1 is at most one point from 0, 1 and 2, so the accuracy within one point flatters it;
- ``majority``: the most frequent label of the very responses evaluated, the best constant for exact accuracy;
- ``calls_only``: the source's table without its language: no call 3, one 2, two or three 1, four or more 0;
- ``length_only``: words without evidence, by number: the shorter the response, the higher. Its limits are the quartiles
  of the responses of ``labelled_dev.jsonl``.

For traces, all turned so that more should mean less evidence: ``few_searches``, ``short_answer`` (number of words of
the response, negative), and ``answer_not_found`` (the share of the answer's words that no search result has).
Source: the table of "Epistemic Adequacy Design" for ``calls_only``; the others are the usual controls.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from solvent.adequacy.labelled import Example
from solvent.adequacy.seekbench import Trace

__all__ = ["EXAMPLE_BASELINES", "LENGTH_LIMITS", "TRACE_BASELINES"]

LENGTH_LIMITS = (9, 13, 22)
"""Words up to which ``length_only`` says 3, 2 and 1: the quartiles of the dev half."""

_WORD = re.compile(r"\w+")
# Words that are in every text say nothing about whether the answer is.
_EMPTY = frozenset(
    ["a", "an", "and", "at", "by", "for", "in", "is", "no", "of", "on", "or", "the", "to", "was", "yes"]
)


def _always_1(examples: Sequence[Example], _labels: Sequence[int]) -> list[int]:
    return [1] * len(examples)


def _majority(examples: Sequence[Example], labels: Sequence[int]) -> list[int]:
    most = max(sorted(set(labels)), key=Counter(labels).__getitem__)
    return [most] * len(examples)


def _calls_only(examples: Sequence[Example], _labels: Sequence[int]) -> list[int]:
    counts = [len(example.context.calls) for example in examples]
    return [3 if n == 0 else 2 if n == 1 else 1 if n < 4 else 0 for n in counts]


def _length_only(examples: Sequence[Example], _labels: Sequence[int]) -> list[int]:
    counts = [len(example.response.split()) for example in examples]
    return [sum(count <= limit for limit in LENGTH_LIMITS) for count in counts]


EXAMPLE_BASELINES: Mapping[str, Callable[[Sequence[Example], Sequence[int]], list[int]]] = {
    "always_1": _always_1,
    "majority": _majority,
    "calls_only": _calls_only,
    "length_only": _length_only,
}
"""Examples and their labels to ratings; only ``majority`` looks at the labels."""


def _few_searches(trace: Trace) -> float:
    return -float(len(trace.context.calls))


def _short_answer(trace: Trace) -> float:
    return -float(len(trace.response.split()))


def _answer_not_found(trace: Trace) -> float:
    wanted = _words(trace.answer or "")
    found = _words(" ".join(call.result or "" for call in trace.context.calls))
    return len(wanted - found) / len(wanted) if wanted else 0.0


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.lower())) - _EMPTY


TRACE_BASELINES: Mapping[str, Callable[[Trace], float]] = {
    "few_searches": _few_searches,
    "short_answer": _short_answer,
    "answer_not_found": _answer_not_found,
}
"""A trace to a number that should be higher where the evidence is insufficient."""
