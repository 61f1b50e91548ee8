"""Statuses: "running" over a table that says ``Pending``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from solvent.adequacy.calls import Outcome, is_look, outcome, stems
from solvent.adequacy.marks.material import Finding, Material, denies, tells_of_failure
from solvent.adequacy.words import Claim, vocabulary

__all__ = ["status_contradicted"]

_STATES = (
    r"(?:\b(?:is|are|status|state|still|again|back|now|all|both|and|as|conclusion)\W+(?:\w+ ){0,2}?|`|\|\s*)"
)


def status_contradicted(material: Material) -> Finding | None:
    """Find a status that the last table of the turn contradicts."""
    if tells_of_failure(material.claims):
        return None
    for good, bad in vocabulary()["statuses"].values():
        calls = [call for call in material.calls if is_look(call) or outcome(call) is not Outcome.FAILED]
        tables = [rows for call in calls if (rows := list(_status_rows(call.result, f"{good}|{bad}")))]
        for claim in material.asserted if tables else ():
            states = re.search(rf"{_STATES}(?:{good})\b", claim.text, re.IGNORECASE)
            if not states or denies(claim.prose):
                continue
            if _is_another_status(claim, tables[-1], good, bad):
                return Finding("status_contradicted", claim)
    return None


def _is_another_status(claim: Claim, rows: Sequence[tuple[str, str]], good: str, bad: str) -> bool:
    """Return whether the rows that a claim is about, by a cell, by a word or all of them, have another status."""
    named = [
        row for row in rows if any(cell in claim.text for cell in re.findall(r"\w[\w.-]{2,}\d\b", row[0]))
    ]
    if not named and re.search(r"(?i)\b(?:all|every|both|everything|each)\b", claim.text):
        return any(re.fullmatch(bad, status) for _, status in rows)
    subject = stems(claim.text) - stems(good.replace("|", " "))
    about = named or [row for row in rows if stems(row[0]) & subject] or rows
    return all(re.fullmatch(bad, status) for _, status in about)


def _status_rows(result: str, statuses: str) -> Iterator[tuple[str, str]]:
    """Yield the lines of a table or of JSON that have a status as a cell, with the status."""
    for line in re.split(r"\n|(?<=[,}])", result):
        cells = re.split(r"\s{2,}|\t|[:=]\s*|[\"',|{}\[\]]+", line.strip().lower())
        matches = (re.match(rf"[●✗✓•×*\s]*({statuses})\b(?!\s\w+\s\w+\s\w+\s\w)", cell) for cell in cells[1:])
        if match := next(filter(None, matches), None):
            yield line, match[1]
