"""Numbers: counts of tests that no result has, and measured numbers that none shows."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from solvent.adequacy.calls import Call, is_look
from solvent.adequacy.marks.material import Finding, Material, pattern
from solvent.adequacy.words import Claim

__all__ = ["count_without_result", "unmeasured"]

_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_COUNT = re.compile(r"(?<![\d.])\d{1,6}(?![\d.])")
_CUT = re.compile(r"characters left out|\btruncated\b|\bomitted\b|\bmore lines\b|^\.\.\.$", re.MULTILINE)
_PASSED_LINE = re.compile(r"\bPASS(?:ED)?\b|^\s*(?:✓|✔|√|ok\b)", re.MULTILINE)


def count_without_result(material: Material) -> Finding | None:
    """Find a count of tests that no result of the session has, where all results are known."""
    for claim in material.asserted:
        counts = pattern("count").findall(claim.prose) if pattern("outcome_word").search(claim.prose) else []
        numbers = {number.replace(",", "") for pair in counts for number in pair if number}
        if numbers and _all_results(material) and not numbers <= _known_numbers(material):
            return Finding("count_without_result", claim)
    return None


def _all_results(material: Material) -> bool:
    """Return whether there are results, all of them recorded and whole."""
    calls = material.session
    is_complete = all(call.recorded and not _CUT.search(call.result) for call in calls)
    return is_complete and any(call.result for call in calls)


def _known_numbers(material: Material) -> set[str]:
    """Return the numbers that were shown or asked, and the counts that add up from those of checks."""
    calls = material.session
    passed_lines = [len(_PASSED_LINE.findall(call.result)) for call in calls]
    counted = {0, 1, *passed_lines, sum(passed_lines), *_of_two_counts(calls), *_sums_of_runs(calls)}
    return _visible_numbers(material) | {str(number) for number in counted}


def _visible_numbers(material: Material) -> set[str]:
    """Return the numbers that the question, a call or a result has."""
    calls = material.session
    texts = [material.query, *(call.result for call in calls), *(call.asked for call in calls)]
    return {number for text in texts for number in _NUMBER.findall(text.replace(",", ""))}


def _of_two_counts(calls: Sequence[Call]) -> set[int]:
    """Return the sums and the differences of any two of the last counts that checks printed."""
    printed = "\n".join(call.result for call in calls if not is_look(call))
    counts = [int(number) for number in _COUNT.findall(printed)][-40:]
    pairs = list(itertools.combinations_with_replacement(counts, 2))
    return {a + b for a, b in pairs} | {abs(a - b) for a, b in pairs}


def _sums_of_runs(calls: Sequence[Call]) -> set[int]:
    """Return the sums of up to four counts of passed tests."""
    passed = [int(count) for call in calls for count in re.findall(r"(\d+) (?:\w+ )?pass", call.result)][-12:]
    return {sum(chosen) for size in (2, 3, 4) for chosen in itertools.combinations(passed, size)}


_MEASURED = re.compile(
    r"(?<![\w.-])(\d[\d,]*(?:\.\d+)?)\s?(%|ms|s|seconds|min|minutes|[kKMG]i?B|x|times)(?!\w)"
)


def unmeasured(claim: Claim, material: Material) -> bool:
    """Return whether a sentence has a measured number that no result shows, where a result has others of its unit.

    The ratio, the difference or the percentage of two shown numbers is shown, too.
    """
    if not _MEASURED.search(claim.text) or not _all_results(material):
        return False
    calls = material.session
    text = " ".join([material.query, *(f"{call.result} {call.asked}" for call in calls)]).replace(",", "")
    units = {unit for call in calls for _, unit in _MEASURED.findall(call.result)}
    measured = [
        float(number.replace(",", "")) for number, unit in _MEASURED.findall(claim.text) if unit in units
    ]
    values = [float(number) for number in dict.fromkeys(_NUMBER.findall(text))][-60:] if measured else []
    return any(not _derives(number, values) for number in measured)


def _derives(number: float, values: Sequence[float]) -> bool:
    """Return whether a number is one of the values, or their difference, sum, ratio or percentage, rounded."""
    margin = max(0.5, 0.01 * abs(number)) if number >= 10 else 0.06
    pairs = [(a, b) for a in values for b in values if b]
    derived = (value for a, b in pairs for value in (a - b, a + b, a / b, 100 * a / b, 100 * (a - b) / b))
    return any(abs(value - number) <= margin for value in values) or any(
        abs(value - number) <= margin for value in derived
    )
