"""Layer 0, reading: which spans a claim is measured against, and what a model can't read.

    spans = texts of the evidence  +  their sentences, clauses and lines  +  cells of their tables  +  settings of code

A whole paragraph, table or function is one vector in which a single fact hardly counts. Its pieces follow the texts, so
that the first span, the source's oracle, stays what it was. A text longer than the model reads is given by its
sentences alone, and one of words that the model does not know is left out.

Source: our addition to *Deterministic Policy Gates for Stochastic Systems*, which begins with spans.

Known approximations: sentences end as in English. A table has one line for each row, cells between bars, tabs or
commas, and its headings in the first row; headings over two rows and joined cells are not understood.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from solvent.gate.embedding import Embedder, unread_by
from solvent.gate.energy import GateError

__all__ = ["MOST_UNKNOWN", "Cell", "Reading", "cells", "has_word", "pieces", "read_evidence", "sentences"]

MOST_UNKNOWN = 0.2
"""Maximum share of a text's characters that the model doesn't know."""

_END = re.compile(r"(?<=[.!?])[\"'\u201d\u2019)\]]*\s+(?=[\"'\u201c\u2018(\[]*[^\W_a-z])|\n\s*\n")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\"'])(?:[^\W\d_]|[A-Z]\.[A-Z]|(?:Mr|Mrs|Ms|Dr|Prof|St|Mt|Ft|Sr|Jr|Gen|Col|Sgt|Lt|Capt|Rev|Hon|Gov|Sen"
    r"|Rep|No|Nos|Vol|Fig|Inc|Ltd|Co|Corp|vs|cf|al|ca|approx|e\.g|i\.e"
    r"|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec))\.$"
)
_CLAUSE_OR_LINE = re.compile(r";\s|\n")
# Where an identifier's words meet: snake_case, camelCase.
_JOINT = re.compile(r"(?<=[^\W_])_+(?=[^\W_])|(?<=[a-z])(?=[A-Z])")
_SETTING = re.compile(r"\b(\w+) ?(?<![=!<>])=(?!=) ?(\"[^\"]*\"|'[^']*'|[^\s,;()=]+)")
_FIELD = re.compile(r"(?:^|; |, )\W{0,4}(\w[\w ()/-]{0,40}): ([^;\n]{1,80})")
_RULE = re.compile(r"[\s|:+-]+")  # the line below a table's headings
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")
_LONGEST_CELL = 60


class Cell(NamedTuple):
    """A cell of a table: the first cell of its row, the heading of its column, and what it holds.

    A named value, such as a setting, is a cell without a row.
    """

    row: str
    column: str
    text: str

    def __str__(self) -> str:
        return f"{', '.join(filter(None, (self.row, self.column)))}: {self.text}"


class Reading(NamedTuple):
    """Evidence as it was read."""

    texts: list[str]  #: those that the model knows
    spans: list[str]  #: what a claim is measured against
    notes: list[str]  #: which texts are split or left out


def read_evidence(evidence: Sequence[str], embedder: Embedder) -> Reading:
    """Read the evidence of a claim.

    Raises:
        GateError: the evidence is one text.
    """
    if isinstance(evidence, str):
        raise GateError("evidence: got a text; allowed: a list of texts")
    texts = [text for text in evidence if has_word(text)]  # a table cell may have only a dash
    known: list[str] = []
    spans: list[str] = []
    split = 0
    for text in texts:
        unread = unread_by(embedder, text)
        if unread.share > MOST_UNKNOWN:
            continue
        known.append(text)
        split += bool(unread.rest)
        spans += _halves(text, embedder) if unread.rest else [text]
    added = [piece for piece in pieces(known) if has_word(piece) and not unread_by(embedder, piece).rest]
    counts = {
        f"of {len(evidence)} evidence texts longer than the model reads, split into sentences": split,
        "evidence texts of words that the model does not know, left out": len(texts) - len(known),
        "evidence texts without a word, left out": len(evidence) - len(texts),
    }
    notes = [f"{count} {what}" for what, count in counts.items() if count]
    return Reading(known, list(dict.fromkeys([*spans, *added])), notes)


def pieces(texts: Sequence[str]) -> list[str]:
    """Return what the texts state piece by piece: sentences, clauses, lines, cells of tables, settings of code."""
    parts = [part for text in texts for part in sentences(text)]
    lines = [line.strip() for part in parts for line in _CLAUSE_OR_LINE.split(part)]
    split_names = [spaced for line in lines if (spaced := _JOINT.sub(" ", line)) != line]
    return [*parts, *lines, *map(str, cells(texts)), *split_names]


def sentences(text: str) -> list[str]:
    """Return the sentences of a text, at least one; pieces without a word stay with the sentence before."""
    kept: list[str] = []
    start = 0
    for end in [*(match.end() for match in _END.finditer(text)), len(text)]:
        piece = text[start:end].strip()
        if end < len(text) and _ABBREVIATION.search(piece):
            continue
        start = end
        if has_word(piece) or not kept:
            kept.append(piece)
        elif piece:
            kept[-1] = f"{kept[-1]} {piece}"
    return kept


def has_word(text: str) -> bool:
    """Return whether a text has a letter or a digit."""
    return any(map(str.isalnum, text))


def _halves(text: str, embedder: Embedder) -> list[str]:
    """Return the sentences of a text; one that the model does not read to its end is halved."""
    if not unread_by(embedder, text).rest:
        return [text]
    parts, words = sentences(text), text.split()
    if len(parts) == 1:
        half = len(words) // 2
        parts = [" ".join(words[:half]), " ".join(words[half:])] if half else []
    return [part for sentence in parts for part in _halves(sentence, embedder)] or [text]


# -- tables --------------------------------------------------------------------------------------


def cells(texts: Iterable[str]) -> list[Cell]:
    """Return the cells of the tables in some texts, and what ``name: value`` and ``name = value`` state.

    A table is two lines or more with equally many cells; each of its lines may be one text.
    """
    lines = [line for text in texts for line in text.splitlines() if not _RULE.fullmatch(line)]
    tables = [list(table) for width, table in groupby(map(_row, lines), key=len) if width > 1]
    stated = [match for line in lines for match in (*_FIELD.findall(line), *_SETTING.findall(line))]
    return [
        *(cell for table in tables for cell in _cells_of_table(table)),
        *(Cell("", _JOINT.sub(" ", name), value) for name, value in stated),
    ]


def _row(line: str) -> tuple[str, ...]:
    """Return the cells of a line; a line of prose, which may have commas, has none."""
    for sign in ("|", "\t"):
        if sign in line:
            return tuple(cell.strip() for cell in line.strip().strip(sign).split(sign))
    if ", " in line or "," not in line or line.rstrip().endswith((".", "!", "?", ";", "{", "(", "[")):
        return ()
    row = tuple(cell.strip() for cell in next(csv.reader([line])))
    return row if all(len(cell) <= _LONGEST_CELL for cell in row) else ()


def _cells_of_table(rows: list[tuple[str, ...]]) -> list[Cell]:
    if len(rows) == 1:
        return []
    numbers = [cell for cell in rows[0][1:] if re.search(r"\d", cell) and not _YEAR.fullmatch(cell)]
    # A first row of numbers is a row like the others: the table has no headings.
    headings, body = (("",) * len(rows[0]), rows) if numbers else (rows[0], rows[1:])
    return [
        Cell(label, heading, text)
        for label, *others in body
        for heading, text in zip(headings[1:], others, strict=True)
        if text
    ]
