"""Data sets of claims with evidence: JSON lines, plain or FEVEROUS's, read into ``Sample``.

- plain: ``{"claim", "evidence": [text], "label"}`` per line; a span may be ``{"text": ...}``, the evidence one text.
  ``id`` and ``page`` are optional.
- FEVEROUS (Aly et al. 2021): the evidence is sets of ids (``Page_sentence_0``), whose text stands in its SQLite
  database, a table ``wiki(id, data)`` of pages as JSON. Of alternative sets the first counts. A cell's text begins with
  the header cells that the annotators listed.

Samples that share a page, a span or a claim form one *group*. Splits and mismatched evidence keep groups apart, so that
no text is on both sides of a split and no control has the claim's own evidence.

Known approximation: spans are compared as text; of FEVEROUS's markup only links are removed.
"""

from __future__ import annotations

import dataclasses
import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from functools import lru_cache
from os import PathLike
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, BeforeValidator, Field, StringConstraints, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from solvent.files import first_problem, input_lines, strict_json
from solvent.gate.checks import WORDS
from solvent.gate.energy import GateError

__all__ = ["Sample", "WikiPages", "load_dataset", "other_page", "split_by_group"]

LONGEST = 100_000
"""Maximum length of a claim or a text of the evidence, characters."""

_LABELS = {word: label for label, words in WORDS["labels"].items() for word in words.split()}
_LINK = re.compile(r"\[\[([^\[\]|]*)(?:\|(\[?[^\[\]]*))?\]\]")
_ELEMENT = re.compile(
    r"(?P<page>.+?)_(?P<key>(?:sentence|section)_\d+|(?:header_)?cell_\d+_\d+_\d+|table_caption_\d+|item_\d+_\d+|title)"
)


def _listed(value: Any) -> Any:
    return value if isinstance(value, list | tuple) else [] if value is None else [value]


def _texts(value: Any) -> Any:
    parts = [part.get("text", part) if isinstance(part, dict) else part for part in _listed(value)]
    return [part for part in parts if not isinstance(part, str) or part.strip()]


def _label(value: Any) -> Any:
    """Return the label for a published word (``SUPPORTS``, ``not enough info``, ...); an unknown word is ``other``."""
    if not isinstance(value, bool | str) or not (word := re.sub(r"[\W_]+", "", str(value).lower())):
        return value or None
    return _LABELS.get(word, "other")


Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST)]


@dataclass(frozen=True)
class Sample:
    """A claim with its evidence. ``label`` is ``supported``, ``refuted``, ``nei``, ``other`` or None."""

    id: Annotated[str, Field(coerce_numbers_to_str=True)]
    claim: Text
    evidence: Annotated[tuple[Text, ...], BeforeValidator(_texts)]
    label: Annotated[str | None, BeforeValidator(_label)] = None
    pages: Annotated[tuple[str, ...], BeforeValidator(_listed)] = ()
    group: str = ""


class _Sets(BaseModel):
    """FEVEROUS's evidence: sets of ids, and for each id those of its titles and headers."""

    class Set(BaseModel):
        content: list[str]
        context: dict[str, list[str]] = {}

    evidence: list[Set]


def load_dataset(
    path: str | PathLike[str], *, wiki_db: str | PathLike[str] | None = None, skip_broken: bool = False
) -> tuple[list[Sample], list[str]]:
    """Return the samples of a file in order, and the broken lines that were left out, with the reasons.

    Args:
        path: the file.
        wiki_db: FEVEROUS's database of pages, for evidence given as ids.
        skip_broken: leave broken lines out, instead of refusing the file.

    Raises:
        GateError: a line can't be read (the message has its number), or there is no sample.
        OSError: the file can't be read.
    """
    pages = None if wiki_db is None else WikiPages(wiki_db)
    samples: list[Sample] = []
    skipped: list[str] = []
    for number, line in input_lines(path):
        if not line.strip():
            continue
        try:
            fields = strict_json(line)
            if not isinstance(fields, dict):
                raise GateError("allowed: an object with claim, evidence and label")
            if fields.get("claim") == fields.get("evidence") == "":
                continue  # the first line of FEVEROUS's files
            if any(isinstance(part, dict) and "text" not in part for part in _listed(fields.get("evidence"))):
                fields |= _feverous(_Sets.model_validate(fields).evidence[0], pages)
            known = {key: fields[key] for key in ("claim", "evidence", "label") if key in fields}
            known |= {"id": fields.get("id") or f"line-{number}", "pages": fields.get("page")}
            samples.append(_SAMPLE.validate_python(known))
        except ValueError as error:  # of JSON, of pydantic or our own
            said = first_problem(error) if isinstance(error, ValidationError) else str(error)
            skipped.append(f"line {number}: {said:.300}")
            if not skip_broken:
                raise GateError(f"{path}, {skipped[0]} (--skip-broken leaves such lines out)") from None
    if not samples:
        also = f" ({len(skipped)} broken lines skipped)" if skipped else ""
        raise GateError(f"{path}: holds no sample{also}; allowed: at least one claim with evidence")
    return _grouped(samples), skipped


_SAMPLE = TypeAdapter(Sample)


# -- FEVEROUS ------------------------------------------------------------------------------------


class WikiPages:
    """Pages of a FEVEROUS database, opened read-only."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self._uri = f"{Path(path).resolve().as_uri()}?mode=ro"
        self._page = lru_cache(maxsize=256)(self._read)
        try:
            self._page("")
        except sqlite3.Error as error:
            raise GateError(
                f"{path}: {error}; allowed: SQLite with FEVEROUS's table wiki(id, data)"
            ) from None

    def text(self, name: str, context: Sequence[str] = ()) -> str:
        """Return the text of an id; a cell's text begins with its headers in ``context``.

        Raises:
            GateError: there is none.
        """
        page, key = _element(name)
        texts = self._page(page)
        if not (found := texts.get(key)):
            raise GateError(f"evidence: {name!r:.80} is not in the database of pages")
        keys = [other for _, other in map(_element, context) if key.startswith("cell")]
        headers = " ".join(texts.get(other, "") for other in keys if other.startswith("header_cell")).strip()
        return f"{headers}: {found}" if headers else found

    def _read(self, title: str) -> dict[str, str]:
        """Return the texts of a page by key."""
        with closing(sqlite3.connect(self._uri, uri=True)) as connection:
            row = connection.execute("SELECT data FROM wiki WHERE id = ?", (title,)).fetchone()
        texts = {"title": title}
        for key, part in strict_json(row[0]).items() if row else ():
            if isinstance(part, str):
                texts[key] = part
            elif isinstance(part, dict):  # a section, a table or a list
                texts[key.replace("table_", "table_caption_")] = part.get("caption", "")
                texts[key] = part.get("value", "")
                cells = [*part.get("list", ()), *(cell for line in part.get("table", ()) for cell in line)]
                texts |= {cell["id"]: cell["value"] for cell in cells}
        return {key: _without_links(text).strip() for key, text in texts.items()}


def _element(name: str) -> tuple[str, str]:
    """Return page and key of an id; two empty texts if it is none."""
    match = _ELEMENT.fullmatch(name)
    return (match["page"], match["key"]) if match else ("", "")


def _without_links(text: str) -> str:
    return _LINK.sub(lambda link: link[2] or link[1].replace("_", " "), text)


def _feverous(first: _Sets.Set, pages: WikiPages | None) -> dict[str, list[str]]:
    """Return the texts and pages of the first set: the size of the union would reveal the number of annotators."""
    spans, titles = [], []
    for name in first.content:
        page, _ = _element(name)
        if not page:  # a text
            spans.append(_without_links(name))
            continue
        if pages is None:
            said = "allowed: --wiki-db with FEVEROUS's database of pages, or evidence as text"
            raise GateError(f"evidence: got the id {name!r:.80} without text; {said}")
        spans.append(pages.text(name, first.context.get(name, ())))
        titles.append(page)
    return {"evidence": spans, "page": titles}


# -- groups and mismatched evidence --------------------------------------------------------------


def _grouped(samples: Sequence[Sample]) -> list[Sample]:
    """Name each sample's group: those connected through pages, spans and claims."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    node: dict[tuple[bool, str], int] = {}
    links = []
    for i, sample in enumerate(samples):
        keys = [(True, page) for page in sample.pages]
        keys += [(False, text) for text in (sample.claim, *sample.evidence)]
        for is_page, key in keys:
            folded = is_page, " ".join(key.casefold().replace("_", " ").split())
            links.append((i, node.setdefault(folded, len(samples) + len(node))))
    size = len(samples) + len(node)
    graph = coo_array((np.ones(len(links)), np.transpose(links)), shape=(size, size))
    groups = connected_components(graph, directed=False)[1]
    return [
        dataclasses.replace(one, group=f"group-{group}") for one, group in zip(samples, groups, strict=False)
    ]


def other_page(samples: Sequence[Sample], seed: int) -> list[Sample]:
    """Return the same claims, each with the evidence of another group's sample; each list of evidence is used once.

    Raises:
        GateError: a group has more than half of the samples.
    """
    rng = np.random.default_rng(seed)
    codes = _codes([sample.group for sample in samples])
    largest, n = int(np.bincount(codes).max()), len(samples)
    if 2 * largest > n:
        raise GateError(
            f"claims: {largest} of {n} share a page or a text; allowed: 2 or more, of which at most half share one"
        )
    # If groups are contiguous, a shift by the largest group's size leaves every group.
    order = np.lexsort((rng.random(n), rng.permutation(codes.max() + 1)[codes]))
    donor = np.empty(n, dtype=np.int64)
    donor[order] = np.roll(order, -largest)
    for i, j in zip(rng.permutation(n), rng.integers(n, size=n), strict=True):  # else groups meet in blocks
        if codes[i] != codes[donor[j]] and codes[j] != codes[donor[i]]:
            donor[i], donor[j] = donor[j], donor[i]
    return [
        dataclasses.replace(one, evidence=samples[int(j)].evidence)
        for one, j in zip(samples, donor, strict=True)
    ]


def split_by_group(
    groups: Sequence[str], rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the indices for learning and those for reporting, about half each; each group is on one side."""
    codes = _codes(groups)
    if codes.max() < 1:
        raise GateError("claims: all share a page or a text; allowed: two groups or more, one for each side")
    shuffled = rng.permutation(codes.max() + 1)
    sizes = np.bincount(codes)[shuffled].cumsum()
    border = int(np.argmin(np.abs(sizes[:-1] - 0.5 * len(codes)))) + 1
    first = np.isin(codes, shuffled[:border])
    return np.flatnonzero(first), np.flatnonzero(~first)


def _codes(groups: Sequence[str]) -> NDArray[np.int64]:
    seen: dict[str, int] = {}
    return np.array([seen.setdefault(group, len(seen)) for group in groups], dtype=np.int64)
