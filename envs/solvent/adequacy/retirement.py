"""Retired corrections: a person's decision, appended to a file; the table itself is never edited by code.

``retired.jsonl`` has a line a decision, ``retired`` or ``reinstated``, with who, why and when; the last about a
correction holds. A retired row is passed over where corrections are looked up (``CorrectionTable.without``), so the
next most specific answers. The default row can't be retired: every failure has an answer. Source: "Epistemic Adequacy
Design", phase 5; that a person decides is ours.

Known approximation: ``by`` is what the caller gives. It names who answers for the decision, and proves nothing.
"""

from __future__ import annotations

import os
from pathlib import Path

from solvent.adequacy.corrections import CorrectionTable, load_corrections
from solvent.adequacy.errors import AdequacyError
from solvent.adequacy.jsonl import append_lines, read_lines
from solvent.adequacy.scores import now

__all__ = ["reinstate", "retire", "retired"]

_FIELDS = {"correction", "decision", "by", "reason", "time"}


def retire(
    path: str | os.PathLike[str], correction: str, by: str, reason: str, table: CorrectionTable | None = None
) -> None:
    """Append a person's decision that a correction is no longer given.

    Args:
        path: the file of decisions; made where it does not exist.
        correction: the id.
        by: who decides.
        reason: why.
        table: the corrections; None: the shipped ones.

    Raises:
        AdequacyError: an unknown id, the default row, retired already, no name or reason, a row without which two
            others would tie, or a file that can't be written.
    """
    table = load_corrections() if table is None else table
    gone = retired(path)
    if correction in gone:
        raise AdequacyError(
            f"correction: got {correction!r:.80}, retired already; allowed: one that is given"
        )
    table.without({*gone, table[correction].id})
    _decide(path, correction, "retired", by, reason)


def reinstate(path: str | os.PathLike[str], correction: str, by: str, reason: str) -> None:
    """Append a person's decision that a retired correction is given again.

    Raises:
        AdequacyError: it is not retired, no name or reason, or a file that can't be written.
    """
    if correction not in retired(path):
        raise AdequacyError(f"correction: got {correction!r:.80}; allowed: one that is retired")
    _decide(path, correction, "reinstated", by, reason)


def retired(path: str | os.PathLike[str]) -> frozenset[str]:
    """The ids that are retired now; none where there is no file.

    Raises:
        AdequacyError: a file that can't be read, or a line that is no decision; the message has its number.
    """
    if not Path(path).exists():
        return frozenset()
    last: dict[str, str] = {}
    for place, fields in read_lines(path, appended=True):
        texts = all(isinstance(value, str) and value.strip() for value in fields.values())
        if set(fields) != _FIELDS or not texts or fields["decision"] not in ("retired", "reinstated"):
            got = f"{place}: got {fields!r:.80}"
            raise AdequacyError(
                f"{got}; allowed: correction, decision (retired, reinstated), by, reason, time"
            )
        last[fields["correction"]] = fields["decision"]
    return frozenset(name for name, decision in last.items() if decision == "retired")


def _decide(path: str | os.PathLike[str], correction: str, decision: str, by: object, reason: object) -> None:
    for name, value in (("by", by), ("reason", reason)):
        if not isinstance(value, str) or not value.strip():
            raise AdequacyError(f"{name}: got {value!r:.80}; allowed: a text")
    line = {"correction": correction, "decision": decision, "by": by, "reason": reason, "time": now()}
    append_lines(path, [line])
