"""One record of a data set: a claim, its evidence as text, and its label.

A plain record is ``{"claim", "evidence": [text], "label"}``; a span may also be
``{"text": ...}``. With optional ``id`` and ``page`` (or ``group``,
``title``), a text or a list of texts. ``feverous`` reads the other format. An unreadable record raises
``BrokenRecordError``; the caller adds the line number.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from solvent.gate.errors import GateError

__all__ = [
    "BrokenRecordError",
    "Record",
    "fields_of",
    "folded",
    "kind_of",
    "label_of",
    "plain_record",
    "record_of",
]

_WORDS = {
    "supported": "supports supported support entailment entailed entails true attributable fullyattributable",
    "refuted": "refutes refuted refute contradiction contradicted contradicts contradictory false",
    "nei": "nei notenoughinfo notenoughinformation neutral unverifiable unsupported notsupported notattributable "
    "notfullyattributable insufficient unknown",
}
_LABEL_OF = {word: label for label, words in _WORDS.items() for word in words.split()}


class BrokenRecordError(GateError):
    """A record that can't be read."""


@dataclass(frozen=True)
class Record:
    """A sample before it has a line number and a group. ``pages`` are the sources of the evidence."""

    id: str
    claim: str
    evidence: tuple[str, ...]
    label: str | None
    pages: tuple[str, ...]

    def keys(self) -> list[str]:
        """Return the pages, spans and claim that the sample may share with others."""
        spans = [f"text {folded(text)}" for text in (self.claim, *self.evidence)]
        return [f"page {folded(page)}" for page in self.pages] + spans


def label_of(value: Any) -> str | None:
    """Return the label for a published word (``SUPPORTS``, ``not enough info``, ...), or None for no label.

    An unknown word gives ``other``.
    """
    if value is None:
        return None
    if isinstance(value, bool):
        return "supported" if value else "refuted"
    if not isinstance(value, str):
        raise BrokenRecordError(
            f"label: got {value!r:.40}; allowed: a word such as supported, refuted or nei"
        )
    word = re.sub(r"[\W_]+", "", value.lower())
    return _LABEL_OF.get(word, "other") if word else None


def plain_record(fields: Mapping[str, Any]) -> Record:
    """Return the record of a plain JSON line."""
    evidence = fields.get("evidence")
    if isinstance(evidence, str):
        evidence = [evidence]
    if isinstance(evidence, list):
        evidence = [span["text"] if isinstance(span, dict) and "text" in span else span for span in evidence]
    if not isinstance(evidence, list) or not all(isinstance(span, str) for span in evidence):
        raise BrokenRecordError(
            f"evidence: got {kind_of(evidence)}; allowed: a list of texts, or of objects with a text"
        )
    named = [fields.get(key) for key in ("page", "group", "title")]
    pages = chain.from_iterable(page if isinstance(page, list) else [page] for page in named)
    return record_of(
        fields, evidence, [str(page) for page in pages if isinstance(page, str | int) and page != ""]
    )


def record_of(fields: Mapping[str, Any], evidence: list[str], pages: list[str]) -> Record:
    """Return the record with this evidence, without blank spans."""
    claim, name = fields.get("claim"), fields.get("id")
    if not isinstance(claim, str) or not claim.strip():
        got = "an empty text" if isinstance(claim, str) else kind_of(claim)
        raise BrokenRecordError(f"claim: got {got}; allowed: a text")
    # A lone surrogate can't be encoded in a file.
    identifier = "" if name is None else str(name).encode("utf-8", "replace").decode()
    spans = tuple(text.strip() for text in evidence if text.strip())
    return Record(identifier, claim.strip(), spans, label_of(fields.get("label")), tuple(pages))


def fields_of(value: Any) -> Mapping[str, Any]:
    """Return ``value`` if it is a JSON object, else raise ``BrokenRecordError``."""
    if not isinstance(value, Mapping):
        raise BrokenRecordError(f"got {kind_of(value)}; allowed: an object with claim, evidence and label")
    return value


def kind_of(value: Any) -> str:
    """Return the type of a JSON value in words, for an error message."""
    if value is None:
        return "nothing"
    names = {str: "a text", list: "a list", dict: "an object", int: "a number", float: "a number"}
    if isinstance(value, list) and value:
        return f"a list with {kind_of(next((v for v in value if not isinstance(v, str)), ''))}"
    return names.get(type(value), str(value))


def folded(text: str) -> str:
    """Return a text without case, underscores and repeated spaces, for comparison."""
    return " ".join(text.casefold().replace("_", " ").split())
