"""Data sets of claims with evidence: JSON lines, plain or FEVEROUS's, read into ``Sample``.

- plain: ``{"claim", "evidence": [text], "label"}`` per line; a span may be ``{"text": ...}``, the evidence one text.
  ``id`` and ``page`` (or ``group``, ``title``) are optional.
- FEVEROUS (Aly et al. 2021): the evidence is sets of ids (``Page_sentence_0``), whose text stands in its SQLite
  database, a table ``wiki(id, data)`` of pages as JSON. Of alternative sets the first counts. A cell's text begins with
  the header cells that the annotators listed.

Samples that share a page, a span or a claim form one *group*. Splits and mismatched evidence keep groups apart, so that
no text is on both sides of a split and no control has the claim's own evidence.

Known approximation: spans are compared as text; of FEVEROUS's markup only links are removed.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import lru_cache
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvent.files import input_lines, strict_json
from solvent.gate.energy import GateError

__all__ = ["Dataset", "Sample", "WikiPages", "load_dataset", "other_page", "same_page", "split_by_group"]

_WORDS = {
    "supported": "supports supported support entailment entailed entails true attributable fullyattributable",
    "refuted": "refutes refuted refute contradiction contradicted contradicts contradictory false",
    "nei": "nei notenoughinfo notenoughinformation neutral unverifiable unsupported notsupported notattributable "
    "notfullyattributable insufficient unknown",
}
_LABELS = {word: label for label, words in _WORDS.items() for word in words.split()}
_LINK = re.compile(r"\[\[([^\[\]|]*)(?:\|(\[?[^\[\]]*))?\]\]")
_ELEMENT = re.compile(
    r"(?P<page>.+?)_(?P<key>(?:sentence|section)_\d+|(?:header_)?cell_\d+_\d+_\d+|table_caption_\d+|item_\d+_\d+|title)"
)


@dataclass(frozen=True)
class Sample:
    """A claim with its evidence. ``label`` is ``supported``, ``refuted``, ``nei``, ``other`` or None."""

    id: str
    claim: str
    evidence: tuple[str, ...]
    label: str | None = None
    pages: tuple[str, ...] = ()
    group: str = ""


@dataclass(frozen=True)
class Dataset:
    """The samples of a file in order; ``skipped`` lists the lines left out, with the reasons."""

    name: str
    samples: tuple[Sample, ...]
    skipped: tuple[str, ...] = ()
    sha256: str = field(default="", compare=False)

    def drawn(self, n: int, seed: int) -> Dataset:
        """Return ``n`` samples drawn without replacement, in the file's order; all of them if ``n`` is 0."""
        if not 0 < n < len(self.samples):
            return self
        places = np.sort(np.random.default_rng(seed).permutation(len(self.samples))[:n])
        return replace(self, samples=tuple(self.samples[i] for i in places))


def load_dataset(
    path: str | PathLike[str], *, wiki_db: str | PathLike[str] | None = None, skip_broken: bool = False
) -> Dataset:
    """Read a data set.

    Args:
        path: the file.
        wiki_db: FEVEROUS's database of pages, for evidence given as ids.
        skip_broken: list broken lines and leave them out, instead of refusing the file.

    Raises:
        GateError: a line can't be read (the message has its number), or there is no sample.
        OSError: the file can't be read.
    """
    pages = None if wiki_db is None else WikiPages(wiki_db)
    samples: list[Sample] = []
    skipped: list[str] = []
    names: Counter[str] = Counter()
    digest = hashlib.sha256()
    for number, line in input_lines(path):
        digest.update(line)
        if not line.strip():
            continue
        try:
            sample = _sample(strict_json(line), f"line-{number}", pages)
        except ValueError as error:  # GateError, UnicodeDecodeError and JSONDecodeError are some
            if not skip_broken:
                own = isinstance(error, GateError)
                said = (
                    f"{error!s:.300}" if own else f"{error!s:.200}; allowed: one JSON object per line, UTF-8"
                )
                raise GateError(
                    f"{path}, line {number}: {said} (--skip-broken leaves such lines out)"
                ) from None
            skipped.append(f"line {number}: {error!s:.200}")
            continue
        if sample is not None:
            names[sample.id] += 1
            twin = names[sample.id] > 1
            samples.append(replace(sample, id=f"{sample.id}#{names[sample.id]}") if twin else sample)
    if not samples:
        also = f" ({len(skipped)} broken lines skipped)" if skipped else ""
        raise GateError(f"{path}: holds no sample{also}; allowed: at least one claim with evidence")
    return Dataset(Path(path).stem, _grouped(samples), tuple(skipped), digest.hexdigest())


def _sample(fields: Any, name: str, pages: WikiPages | None) -> Sample | None:
    if not isinstance(fields, dict):
        raise GateError(f"got {type(fields).__name__}; allowed: an object with claim, evidence and label")
    claim, evidence = fields.get("claim"), fields.get("evidence")
    if claim == evidence == "":  # the first line of FEVEROUS's files
        return None
    if not isinstance(claim, str) or not claim.strip():
        raise GateError(f"claim: got {claim!r:.60}; allowed: a text")
    named = [fields.get(key) for key in ("page", "group", "title")]
    titles = [str(title) for some in named for title in (some if isinstance(some, list) else [some]) if title]
    if isinstance(evidence, str):
        evidence = [evidence]
    if not isinstance(evidence, list):
        raise GateError(f"evidence: got {evidence!r:.60}; allowed: a list of texts")
    spans = [part["text"] if isinstance(part, dict) and "text" in part else part for part in evidence]
    if any(isinstance(part, dict) for part in spans):
        spans, titles = _feverous(spans, pages)
    if not all(isinstance(span, str) for span in spans):
        wrong = next(span for span in spans if not isinstance(span, str))
        raise GateError(f"evidence: got {wrong!r:.60}; allowed: texts, or objects with a text")
    texts = tuple(span.strip() for span in spans if span.strip())
    identity = fields.get("id")
    # A lone surrogate can't be written to a file.
    known = name if identity is None else str(identity).encode("utf-8", "replace").decode()
    return Sample(known, claim.strip(), texts, _label(fields.get("label")), tuple(titles))


def _label(value: Any) -> str | None:
    """Return the label for a published word (``SUPPORTS``, ``not enough info``, ...); an unknown word is ``other``."""
    if value is None or value == "":
        return None
    if isinstance(value, bool):
        return "supported" if value else "refuted"
    if not isinstance(value, str):
        raise GateError(f"label: got {value!r:.40}; allowed: a word such as supported, refuted or nei")
    return _LABELS.get(re.sub(r"[\W_]+", "", value.lower()), "other")


# -- FEVEROUS ------------------------------------------------------------------------------------


class WikiPages:
    """Pages of a FEVEROUS database, opened read-only."""

    def __init__(self, path: str | PathLike[str]) -> None:
        file = Path(path)
        if not file.is_file():
            raise GateError(f"{file}: no such file; allowed: FEVEROUS's SQLite database of pages")
        self._uri = f"{file.resolve().as_uri()}?mode=ro"
        try:
            with closing(sqlite3.connect(self._uri, uri=True)) as connection:
                connection.execute("SELECT id, data FROM wiki LIMIT 1").fetchone()
        except sqlite3.Error as error:
            raise GateError(f"{file}: {error}; allowed: SQLite with a table wiki(id, data)") from None
        self._page = lru_cache(maxsize=256)(self._read)

    def text(self, name: str, context: Sequence[str] = ()) -> str | None:
        """Return the text of an id, or None if it has none; a cell's text begins with its headers in ``context``."""
        if not (match := _ELEMENT.fullmatch(name)):
            return None
        page, key = match["page"], match["key"]
        if key == "title":
            return page
        found = self._page(page).get(key)
        if found is None or not key.startswith("cell"):
            return found
        named = [other["key"] for other in map(_ELEMENT.fullmatch, context) if other]
        headers = [self._page(page).get(key) for key in named if key.startswith("header_cell")]
        return ": ".join(filter(None, (" ".join(filter(None, headers)), found)))

    def _read(self, title: str) -> dict[str, str]:
        """Return the texts of a page by key."""
        with closing(sqlite3.connect(self._uri, uri=True)) as connection:
            row = connection.execute("SELECT data FROM wiki WHERE id = ?", (title,)).fetchone()
        try:
            page = strict_json(row[0]) if row else {}
        except (ValueError, TypeError):
            return {}
        return dict(_texts(page)) if isinstance(page, dict) else {}


def _texts(page: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key, part in page.items():
        said = part.get("value") if isinstance(part, dict) else part
        if isinstance(said, str) and said.strip():
            yield key, _without_links(said)
        if isinstance(part, dict):
            if isinstance(caption := part.get("caption"), str) and caption.strip():
                yield key.replace("table_", "table_caption_"), _without_links(caption)
            for cell in _cells([part.get("table"), part.get("list")]):
                if isinstance(value := cell.get("value"), str) and value.strip():
                    yield str(cell.get("id")), _without_links(value)


def _cells(block: Any) -> Iterator[Mapping[str, Any]]:
    for part in block if isinstance(block, list) else []:
        if isinstance(part, dict):
            yield part
        else:
            yield from _cells(part)


def _without_links(text: str) -> str:
    return _LINK.sub(lambda link: link[2] or link[1].replace("_", " "), text)


def _feverous(sets: list[Any], pages: WikiPages | None) -> tuple[list[str], list[str]]:
    """Return texts and pages of the first set; the size of the union would reveal the number of annotators."""
    first = sets[0]
    content = first.get("content") if isinstance(first, dict) else None
    context = (first.get("context") if isinstance(first, dict) else None) or {}
    if not isinstance(content, list) or not all(isinstance(name, str) for name in content):
        raise GateError(
            "evidence: got objects without a text; allowed: texts, or FEVEROUS's sets with `content`"
        )
    spans, titles = [], []
    for name in content:
        match = _ELEMENT.fullmatch(name)
        if match is None:
            spans.append(_without_links(name))
            continue
        if pages is None:
            said = "allowed: --wiki-db with FEVEROUS's database of pages, or evidence as text"
            raise GateError(f"evidence: got the id {name!r:.80} without text; {said}")
        listed = context.get(name) if isinstance(context, dict) else None
        text = pages.text(name, [str(other) for other in listed] if isinstance(listed, list) else [])
        if text is None:
            raise GateError(f"evidence: {name!r:.80} is not in the database of pages")
        spans.append(text)
        titles.append(match["page"])
    return spans, titles


# -- groups and mismatched evidence --------------------------------------------------------------


def _folded(text: str) -> str:
    return " ".join(text.casefold().replace("_", " ").split())


def _grouped(samples: Sequence[Sample]) -> tuple[Sample, ...]:
    """Name each sample's group: the first sample connected to it through pages, spans and claims."""
    root = list(range(len(samples)))

    def find(i: int) -> int:
        while root[i] != i:
            root[i] = root[root[i]]
            i = root[i]
        return i

    owner: dict[tuple[str, str], int] = {}
    for i, sample in enumerate(samples):
        keys: Iterable[tuple[str, str]] = [
            *(("page", _folded(page)) for page in sample.pages),
            *(("text", _folded(text)) for text in (sample.claim, *sample.evidence)),
        ]
        for key in keys:
            a, b = find(owner.setdefault(key, i)), find(i)
            root[max(a, b)] = min(a, b)
    return tuple(replace(sample, group=f"group-{find(i) + 1}") for i, sample in enumerate(samples))


def other_page(samples: Sequence[Sample], seed: int) -> tuple[Sample, ...]:
    """Return the same claims, each with the evidence of another group's sample; each list of evidence is used once.

    Raises:
        GateError: there are fewer than two samples, or a group has more than half of them.
    """
    rng = np.random.default_rng(seed)
    codes = _codes([sample.group for sample in samples])
    largest, n = int(np.bincount(codes, minlength=1).max()), len(samples)
    if n < 2 or 2 * largest > n:
        said = f"{largest} of {n} share a page or a text" if n > 1 else f"got {n}"
        raise GateError(f"claims: {said}; allowed: 2 or more, of which at most half share one")
    # If groups are contiguous, a shift by the largest group's size leaves every group.
    order = np.lexsort((rng.random(n), rng.permutation(codes.max() + 1)[codes]))
    donor = np.empty(n, dtype=np.int64)
    donor[order] = np.roll(order, -largest)
    for i, j in zip(rng.permutation(n), rng.integers(n, size=n), strict=True):  # else groups meet in blocks
        if codes[i] != codes[donor[j]] and codes[j] != codes[donor[i]]:
            donor[i], donor[j] = donor[j], donor[i]
    return tuple(
        replace(one, evidence=samples[j].evidence) for one, j in zip(samples, donor.tolist(), strict=True)
    )


def same_page(samples: Sequence[Sample], seed: int) -> tuple[Sample | None, ...]:
    """Return the same claims, each with other evidence of one of its pages, *hard negatives*; None where there is none.

    The evidence is another claim's, and has no span in common with any evidence of this claim.
    """
    rng = np.random.default_rng(seed)
    on_page: defaultdict[str, list[int]] = defaultdict(list)
    own: defaultdict[str, set[str]] = defaultdict(set)
    for i, sample in enumerate(samples):
        own[_folded(sample.claim)].update(map(_folded, sample.evidence))
        for page in sample.pages:
            on_page[_folded(page)].append(i)
    found: list[Sample | None] = []
    for i, sample in enumerate(samples):
        near = sorted({j for page in sample.pages for j in on_page[_folded(page)]} - {i})
        others = (samples[int(j)] for j in rng.permutation(near))
        fitting = (
            other
            for other in others
            if other.evidence
            and own[_folded(sample.claim)].isdisjoint(map(_folded, other.evidence))
            and _folded(other.claim) != _folded(sample.claim)
        )
        other = next(fitting, None)
        found.append(None if other is None else replace(sample, evidence=other.evidence))
    return tuple(found)


def split_by_group(
    groups: Sequence[str], rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the indices for learning and those for reporting, about half each; each group is on one side."""
    codes = _codes(groups)
    if len(codes) == 0 or codes.max() < 1:
        raise GateError("claims: all share a page or a text; allowed: two groups or more, one for each side")
    shuffled = rng.permutation(codes.max() + 1)
    sizes = np.bincount(codes)[shuffled].cumsum()
    border = int(np.argmin(np.abs(sizes[:-1] - 0.5 * len(codes)))) + 1
    first = np.isin(codes, shuffled[:border])
    return np.flatnonzero(first), np.flatnonzero(~first)


def _codes(groups: Sequence[str]) -> NDArray[np.int64]:
    seen: dict[str, int] = {}
    return np.array([seen.setdefault(group, len(seen)) for group in groups], dtype=np.int64)
