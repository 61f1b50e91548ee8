"""What a record of each form of data set says: one claim, its evidence as text, its label.

A reader gets a decoded record and returns a ``Record``, None for a record that is none (FEVEROUS's empty first line),
or raises ``BrokenRecordError`` with what is wrong and what is allowed. Where it stood is for the caller to say.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from solvent.gate.errors import GateError
from solvent.gate.wikipages import WikiPages, element_of, plain

__all__ = ["LABELS", "READERS", "BrokenRecordError", "Record", "form_of", "label_of", "sentences"]

LABELS = ("supported", "refuted", "nei", "other")
"""Labels of a sample, besides None for an unlabelled one; ``nei`` is not enough information, or not attributable."""

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
    """A sample before its place in the file is known. ``pages`` name where the evidence comes from."""

    id: str
    claim: str
    evidence: tuple[str, ...]
    label: str | None
    pages: tuple[str, ...] = ()

    def keys(self) -> list[str]:
        """What ties it to other samples: pages, spans, and the claim."""
        spans = [f"text {_folded(text)}" for text in (self.claim, *self.evidence)]
        return [f"page {_folded(page)}" for page in self.pages] + spans


def label_of(value: Any) -> str | None:
    """One of ``LABELS`` for the words in use (``SUPPORTS``, ``not enough info``, ...), None for none.

    A word that isn't known is ``other``.

    Raises:
        BrokenRecordError: a number or a structure, whose meaning can't be told.
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


def form_of(record: Any) -> str:
    """Which form a record has."""
    if isinstance(record, Mapping):
        evidence = record.get("evidence")
        if "begin_label" in record:
            return "begin"
        if isinstance(evidence, list) and any(isinstance(part, Mapping) for part in evidence):
            return "feverous"
        if "gold_label" in record or "evidence_sentence" in record:
            return "fever_symmetric"
        if isinstance(evidence, str) and "\t" in evidence:
            return "programfc"
        if evidence == "" and record.get("claim") == "":  # the official files begin with an empty record
            return "feverous"
    return "jsonl"


def _plain_record(value: Any, _: WikiPages | None) -> Record:
    fields = _mapping(value)
    evidence = fields.get("evidence")
    if isinstance(evidence, str):
        evidence = [evidence]
    if not isinstance(evidence, list) or not all(isinstance(span, str) for span in evidence):
        raise BrokenRecordError(f"evidence: got {_kind(evidence)}; allowed: a list of texts")
    named = [fields.get(key) for key in ("page", "group", "title")]
    return Record(
        _id(fields),
        _claim(fields),
        _spans(evidence),
        label_of(fields.get("label")),
        tuple(str(name) for name in named if isinstance(name, str | int) and name != ""),
    )


def _feverous_record(value: Any, pages: WikiPages | None) -> Record | None:
    fields = _mapping(value)
    if not fields.get("claim") and not fields.get("evidence"):
        return None
    sets = fields.get("evidence")
    if not isinstance(sets, list) or not all(isinstance(part, Mapping) for part in sets):
        raise BrokenRecordError(f"evidence: got {_kind(sets)}; allowed: a list of sets with `content`")
    # Each set is enough on its own; the union would tell claims apart by how many annotators there were.
    first: Mapping[str, Any] = sets[0] if sets else {}
    content, context = first.get("content", []), first.get("context") or {}
    if not isinstance(content, list) or not all(isinstance(name, str) for name in content):
        raise BrokenRecordError(f"content: got {_kind(content)}; allowed: a list of ids or texts")
    if not isinstance(context, Mapping):
        raise BrokenRecordError(f"context: got {_kind(context)}; allowed: a mapping from ids to lists of ids")
    spans, named = [], []
    for name in content:
        element = element_of(name)
        named += [element.page] if element else []
        spans.append(_resolved(name, context.get(name), pages) if element else plain(name))
    return Record(_id(fields), _claim(fields), _spans(spans), label_of(fields.get("label")), tuple(named))


def _resolved(name: str, context: Any, pages: WikiPages | None) -> str:
    if pages is None:
        raise GateError(
            f"evidence is given as ids ({name!r:.80}) without text; allowed: --wiki-db with FEVEROUS's database of"
            " pages, or a file with the text of the evidence"
        )
    headers = [str(other) for other in context] if isinstance(context, list) else []
    text = pages.text(name, headers)
    if text is None:
        raise BrokenRecordError(f"evidence: {name!r:.80} is not in the database of pages")
    return text


def _programfc_record(value: Any, _: WikiPages | None) -> Record:
    fields = _mapping(value)
    evidence = fields.get("evidence")
    if not isinstance(evidence, str):
        raise BrokenRecordError(
            f"evidence: got {_kind(evidence)}; allowed: lines of a page, a tab and a sentence"
        )
    pairs = [line.partition("\t") for line in evidence.split("\n") if line.strip()]
    return Record(
        _id(fields),
        _claim(fields),
        _spans([plain(text if tab else page) for page, tab, text in pairs]),
        label_of(fields.get("label")),
        tuple(page for page, tab, _ in pairs if tab and page),
    )


def _fever_symmetric_record(value: Any, _: WikiPages | None) -> Record:
    fields = _mapping(value)
    evidence = fields.get("evidence", fields.get("evidence_sentence"))
    if not isinstance(evidence, str):
        raise BrokenRecordError(f"evidence: got {_kind(evidence)}; allowed: a text")
    label = label_of(fields.get("gold_label", fields.get("label")))
    return Record(_id(fields), _claim(fields), _spans([evidence]), label)


def _begin_record(value: Any, _: WikiPages | None) -> Record:
    fields = _mapping(value)
    for key in ("knowledge", "response", "begin_label"):
        if not isinstance(fields.get(key), str):
            raise BrokenRecordError(f"{key}: got {_kind(fields.get(key))}; allowed: a text")
    claim = _claim({"claim": fields["response"]})
    return Record("", claim, _spans(sentences(fields["knowledge"])), label_of(fields["begin_label"]))


READERS: Mapping[str, Callable[[Any, WikiPages | None], Record | None]] = {
    "begin": _begin_record,
    "fever_symmetric": _fever_symmetric_record,
    "feverous": _feverous_record,
    "jsonl": _plain_record,
    "programfc": _programfc_record,
}
"""Name of a form -> what reads its records."""

# Behind a stop that stands alone, as in tokenised text, or before what begins like a sentence.
_END = re.compile(r"(?<=\s[.!?])\s+|(?<=[\w)\]\"'%][.!?]|[.!?][\"')])\s+(?=[\"'(\[]?[A-Z0-9])")
_SHORT = "Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|No|vs|ca|c|approx|Lt|Gen|Col"
_ABBREVIATED = re.compile(rf"(?:^|[\s(])(?:[A-Z]|[A-Z]\.[A-Z]|{_SHORT})\.$")


def sentences(text: str) -> list[str]:
    """A text cut into sentences, by punctuation alone."""
    parts: list[str] = []
    for part in _END.split(text):
        if parts and _ABBREVIATED.search(parts[-1]):
            parts[-1] += f" {part}"
        else:
            parts.append(part)
    return [part.strip() for part in parts if part.strip()]


def _mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise BrokenRecordError(f"got {_kind(value)}; allowed: an object with claim, evidence and label")
    return value


def _id(fields: Mapping[str, Any]) -> str:
    value = fields.get("id")
    # Half of a surrogate pair is no character, and no file could hold it.
    return "" if value is None else str(value).encode("utf-8", "replace").decode()


def _claim(fields: Mapping[str, Any]) -> str:
    claim = fields.get("claim")
    if not isinstance(claim, str) or not claim.strip():
        got = "an empty text" if isinstance(claim, str) else _kind(claim)
        raise BrokenRecordError(f"claim: got {got}; allowed: a text")
    return claim.strip()


def _spans(texts: list[str]) -> tuple[str, ...]:
    return tuple(text.strip() for text in texts if text.strip())


def _folded(text: str) -> str:
    return " ".join(text.casefold().replace("_", " ").split())


def _kind(value: Any) -> str:
    if value is None:
        return "nothing"
    names = {str: "a text", list: "a list", dict: "an object", int: "a number", float: "a number"}
    if isinstance(value, list) and value:
        return f"a list with {_kind(next((v for v in value if not isinstance(v, str)), ''))}"
    return names.get(type(value), str(value))
