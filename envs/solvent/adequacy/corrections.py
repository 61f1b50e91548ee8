"""Corrections: sentences for an agent after a failure, chosen by severity and kind; the most specific one is given.

A row names a severity and a *kind*: the cell words/evidence of the heuristic's matrix that fired, such as
``definitive/thin``. If the evidence at hand said the opposite, or reported a failure that the response left out, its
amount is beside the point, and the kind is ``definitive/contradicted`` (``kind_of``). ``*`` matches any level. Of the
rows that match, the one with the highest

    specificity = (number of words and evidence that it names, whether it names the severity)

is given, so the kind of failure outranks its severity: ``high definitive/thin`` precedes ``* definitive/thin``, then
come ``high */thin``, ``* */thin`` and the default ``* */*``. Rows that tie, or are never the answer, are errors when
the table is loaded. Source: "Epistemic Adequacy Design", phase 5: correction strategies for epistemic drift.

Known approximation: one sentence answers for a whole cell of the matrix. Its effect is measured in ``fitness``, not
assumed. The table is data that a person edits; no code writes it.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import os
import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from solvent.adequacy.errors import AdequacyError
from solvent.files import read_input
from solvent.lab.mechanisms.adequacy import EVIDENCE, WORDS

__all__ = [
    "ANY",
    "CONTRADICTED",
    "CORRECTIONS",
    "EVIDENCE",
    "NOTHING_ASSERTED",
    "SEVERITIES",
    "WORDS",
    "Correction",
    "CorrectionTable",
    "cell_of",
    "correction_for",
    "kind_of",
    "load_corrections",
]

ANY = "*"
SEVERITIES = ("low", "medium", "high")
NOTHING_ASSERTED = "nothing_asserted"
"""The heuristic's rule for a response without a claim. Only ``*/*`` rows match it."""

CONTRADICTED = "contradicted"
"""The level of evidence that the response contradicts, beside those of its amount."""

CORRECTIONS = Path(__file__).with_name("corrections.toml")
"""The shipped table, which is the default."""

_FIELDS = {"id", "severity", "words", "evidence", "text"}
_EVIDENCE = (*EVIDENCE, CONTRADICTED)
_LEVELS = {"severity": SEVERITIES, "words": WORDS, "evidence": _EVIDENCE}
_ID = re.compile(r"[a-z][a-z0-9_]{0,63}", re.ASCII)
_KIND = re.compile(r"([a-z]+)/([a-z]+)(?:/[a-z_]+)?", re.ASCII)
_LONGEST = 200
_MOST = 2**20  # bytes


@dataclass(frozen=True)
class Correction:
    """A row of the table. ``severity``, ``words`` and ``evidence`` are a level's name, or ``*`` for any."""

    id: str
    severity: str
    words: str
    evidence: str
    text: str

    @property
    def specificity(self) -> tuple[int, int]:
        """The precedence of the row: words and evidence that it names, then whether it names the severity."""
        return (self.words != ANY) + (self.evidence != ANY), int(self.severity != ANY)

    @property
    def pattern(self) -> str:
        """The failures that the row answers: ``high definitive/thin``."""
        return f"{self.severity} {self.words}/{self.evidence}"

    def fits(self, severity: str, words: str, evidence: str) -> bool:
        """Return whether the row matches a failure. Only ``*`` matches an empty level."""
        return (
            self.severity in (ANY, severity)
            and self.words in (ANY, words)
            and self.evidence in (ANY, evidence)
        )


@dataclass(frozen=True)
class CorrectionTable:
    """The rows in the file's order, and the SHA-256 of the file."""

    rows: tuple[Correction, ...]
    sha256: str

    def find(self, severity: str, kind: str) -> Correction:
        """Return the most specific row.

        Raises:
            AdequacyError: the severity or the kind is unknown.
        """
        if severity not in SEVERITIES:
            raise AdequacyError(f"severity: got {severity!r:.80}; allowed: {', '.join(SEVERITIES)}")
        return self._best(severity, *cell_of(kind))[0]

    def __getitem__(self, correction: str) -> Correction:
        for row in self.rows:
            if row.id == correction:
                return row
        raise AdequacyError(f"correction: got {correction!r:.80}; allowed: {', '.join(self.ids)}")

    @property
    def ids(self) -> tuple[str, ...]:
        """The rows' ids."""
        return tuple(row.id for row in self.rows)

    def without(self, retired: Collection[str]) -> CorrectionTable:
        """Return the table without the rows of these ids. Unknown ids are ignored.

        Raises:
            AdequacyError: an id is the default row's, or without these rows two others tie.
        """
        for row in self.rows:
            if row.id in retired and row.pattern == "* */*":
                raise AdequacyError(f"correction: got {row.id!r}, the default; allowed: any other row")
        left = CorrectionTable(tuple(row for row in self.rows if row.id not in retired), self.sha256)
        if faults := left.faults():
            raise AdequacyError(f"corrections without {', '.join(sorted(retired))!s:.80}: {faults[0]}")
        return left

    def _best(self, severity: str, words: str, evidence: str) -> list[Correction]:
        fitting = [row for row in self.rows if row.fits(severity, words, evidence)]
        top = max(row.specificity for row in fitting)
        return [row for row in fitting if row.specificity == top]

    def faults(self) -> list[str]:
        """Return the faults of the table: no default, ties, rows that are never the answer."""
        if not any(row.pattern == "* */*" for row in self.rows):
            return ["no default row; allowed: one with severity, words and evidence '*'"]
        cells = [("", ""), *itertools.product(WORDS, _EVIDENCE)]
        answers = [
            (f"{severity} {words or '-'}/{evidence or '-'}", self._best(severity, words, evidence))
            for severity, (words, evidence) in itertools.product(SEVERITIES, cells)
        ]
        ties = [
            f"{best[0].id!r} and {best[1].id!r} tie at {cell}; allowed: one most specific row everywhere"
            for cell, best in answers
            if len(best) > 1
        ]
        given = {row.id for _, best in answers for row in best}
        dead = [row for row in self.rows if row.id not in given and row.pattern != "* */*"]
        return ties + [f"{row.id!r} ({row.pattern}) is never the most specific row anywhere" for row in dead]


def cell_of(kind: str) -> tuple[str, str]:
    """Return words and evidence of a kind. A third part, as in ``plain/thin/unsupported``, is ignored.

    Both names are empty for ``nothing_asserted``.

    Raises:
        AdequacyError: the kind has another form or an unknown level.
    """
    if kind == NOTHING_ASSERTED:
        return "", ""
    found = _KIND.fullmatch(str(kind))
    words, evidence = found.groups() if found else ("", "")
    if words not in WORDS or evidence not in _EVIDENCE:
        allowed = f"{'|'.join(WORDS)}/{'|'.join(_EVIDENCE)}, or {NOTHING_ASSERTED}"
        raise AdequacyError(f"kind: got {kind!r:.80}; allowed: {allowed}")
    return words, evidence


def kind_of(rule: str, *, contradicted: bool) -> str:
    """Return the kind of a failure with a rule of the heuristic, such as ``definitive/thin``."""
    words = cell_of(rule)[0]
    return f"{words}/{CONTRADICTED}" if contradicted and words else rule


def correction_for(severity: str, kind: str, table: CorrectionTable | None = None) -> Correction:
    """Return the correction for a failure.

    Args:
        severity: ``low``, ``medium`` or ``high``.
        kind: the heuristic's rule, such as ``definitive/thin``.
        table: the table to search; None: the shipped one.

    Raises:
        AdequacyError: the severity or the kind is unknown.
    """
    return (load_corrections() if table is None else table).find(severity, kind)


def load_corrections(path: str | os.PathLike[str] | None = None) -> CorrectionTable:
    """Return the table in a file; None: the shipped one, read once.

    Raises:
        AdequacyError: the file can't be read, a row has a wrong field, the default is missing, or two rows tie.
    """
    return _shipped() if path is None else _loaded(Path(path))


@functools.cache
def _shipped() -> CorrectionTable:
    return _loaded(CORRECTIONS)


def _loaded(path: Path) -> CorrectionTable:
    try:
        content = read_input(path, _MOST)
        document = tomllib.loads(content.decode("utf-8"))
    except OSError as error:
        raise AdequacyError(f"{path}: not read, {error.strerror}; allowed: a table of corrections") from None
    except (ValueError, RecursionError) as error:
        raise AdequacyError(f"{path}: {error}; allowed: a table of corrections in TOML") from None
    if unknown := sorted(document.keys() - {"version", "correction"}):
        raise AdequacyError(f"{path}: got {unknown[0]!r:.80}; allowed: version and [[correction]] rows")
    if document.get("version") != 1:
        raise AdequacyError(f"{path}: version: got {document.get('version')!r:.80}; allowed: 1")
    entries = document.get("correction")
    if not isinstance(entries, list):
        raise AdequacyError(f"{path}: correction: got {entries!r:.80}; allowed: [[correction]] rows")
    rows = tuple(_row(f"{path}: correction {i}", entry) for i, entry in enumerate(entries, 1))
    table = CorrectionTable(rows, hashlib.sha256(content).hexdigest())
    if doubles := [name for i, name in enumerate(table.ids) if name in table.ids[:i]]:
        raise AdequacyError(f"{path}: id: got {doubles[0]!r} twice; allowed: each id once")
    if faults := table.faults():
        raise AdequacyError(f"{path}: {faults[0]}")
    return table


def _row(where: str, entry: Any) -> Correction:
    if not isinstance(entry, Mapping) or set(entry) != _FIELDS:
        got = ", ".join(sorted(entry)) if isinstance(entry, Mapping) else repr(entry)
        raise AdequacyError(f"{where}: got {got:.120}; allowed: {', '.join(sorted(_FIELDS))}, all of them")
    for field, levels in _LEVELS.items():
        if entry[field] not in (ANY, *levels):
            raise AdequacyError(
                f"{where}: {field}: got {entry[field]!r:.80}; allowed: {', '.join(levels)} or {ANY}"
            )
    if not isinstance(entry["id"], str) or not _ID.fullmatch(entry["id"]):
        raise AdequacyError(f"{where}: id: got {entry['id']!r:.80}; allowed: small letters, digits and _")
    text = entry["text"]
    if not isinstance(text, str) or not text.strip() or not text.isprintable() or len(text) > _LONGEST:
        raise AdequacyError(
            f"{where}: text: got {text!r:.80}; allowed: a line of at most {_LONGEST} characters"
        )
    return Correction(**entry)
