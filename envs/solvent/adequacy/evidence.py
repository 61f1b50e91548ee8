"""The amount of evidence behind a response, and the signs that it is limited.

Evidence is the number of distinct calls that answered, where a broad call counts twice: 0 none, 1 thin, 2 or 3
reasonable, 4 or more ample (the numbers are the lexicon's). Repeats of a call with the same result count once, failed
calls not at all; a search that found nothing is an answer. A file that the response names was looked at. If the results
are recorded and the response refers to none of them, evidence is at most thin. More calls never lower it.

Source: *Epistemic Adequacy Design*, "Limited evidence signals". Known approximation: it counts the calls and doesn't
weigh their results.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from solvent.adequacy.lexicon import Lexicon
from solvent.adequacy.overlap import ResponseWords, refers
from solvent.adequacy.tools import Evidence, ToolCall, ToolContext

__all__ = ["Gathered", "gather"]


class Gathered(NamedTuple):
    """The evidence, its signals, the calls that count, and for each whether the response refers to it."""

    evidence: Evidence
    signals: tuple[str, ...]
    calls: tuple[ToolCall, ...]
    referred: tuple[bool, ...]


def gather(context: ToolContext, said: ResponseWords, lexicon: Lexicon) -> Gathered:
    """Return the evidence of the calls behind a response."""
    distinct = context.distinct()
    named = frozenset([mark for mark in said.held.marks if "." in mark])
    calls: list[ToolCall] = []
    referred: list[bool] = []
    for call in distinct:
        # An empty result answers a search, and supports a denial.
        if call.answered or (said.denies and not call.error):
            hit = refers(said, call.returned) or (bool(named) and not named.isdisjoint(call.files))
            if hit or not _failed(call, lexicon):
                calls.append(call)
                referred.append(hit)
    evidence = _weigh(calls, referred, lexicon)
    signals = tuple(_signals(context, distinct, calls, referred))
    return Gathered(evidence, signals, tuple(calls), tuple(referred))


def _failed(call: ToolCall, lexicon: Lexicon) -> bool:
    """Return whether the result reads like that of a failed call, although the transcript doesn't flag it."""
    if call.returned.not_run:
        return True
    first = (call.result or "")[:80].split(None, 1)[:1]
    return bool(first) and first[0].lower().strip("<>[]()") in lexicon.words["failures"]


def _weigh(calls: list[ToolCall], referred: list[bool], lexicon: Lexicon) -> Evidence:
    thin, reasonable, ample, broad = lexicon.counts
    count = len(calls) + (broad - 1) * [call.scope for call in calls].count("broad")
    if count < thin:
        return Evidence.NONE
    # A result that wasn't recorded has the benefit of the doubt.
    usable = any(hit or call.result is None for call, hit in zip(calls, referred, strict=True))
    if count < reasonable or not usable:
        return Evidence.THIN
    return Evidence.REASONABLE if count < ample else Evidence.AMPLE


def _signals(
    context: ToolContext, distinct: tuple[ToolCall, ...], calls: list[ToolCall], referred: list[bool]
) -> Iterator[str]:
    if not context.calls:
        yield "no_tool_call"
        return
    if len(calls) == 1:
        yield "single_call"
        if calls[0].scope == "narrow":
            yield "single_narrow_search" if calls[0].returned.is_search else "single_narrow_read"
    if len(distinct) < len(context.calls):
        yield "repeated_call"
    if all(call.error for call in distinct):
        yield "only_errors"
    elif not calls:
        yield "empty_results"
    recorded = [hit for call, hit in zip(calls, referred, strict=True) if call.result is not None]
    if recorded and not any(recorded):
        yield "results_not_referred"
    elif not all(recorded):
        yield "some_results_not_referred"
