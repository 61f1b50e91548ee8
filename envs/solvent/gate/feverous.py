"""FEVEROUS: claims whose evidence is ids of sentences, table cells, captions and list items of Wikipedia pages.

FEVEROUS's SQLite database has the text of each id in a table ``wiki(id, data)``. ``data`` is the page as JSON:
``sentence_0`` is a text; ``table_0`` has a ``caption`` and a ``table`` of rows of cells with ``id`` and ``value``;
``list_0`` has a ``list`` of items; ``section_0`` has a ``value``. A cell alone says little ("1984"), so its text
begins with the header cells that the annotators listed as its context. Evidence given as text is used unchanged.

Source: Aly et al. 2021, FEVEROUS. Known approximation: only links are removed from the markup.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from os import PathLike
from pathlib import Path
from typing import Any, Self

from solvent.files import strict_json
from solvent.gate.claim_records import BrokenRecordError, Record, kind_of, record_of
from solvent.gate.errors import GateError

__all__ = ["Element", "WikiPages", "element_of", "feverous_record", "is_feverous", "without_links"]

_ID = re.compile(
    r"(?P<page>.+?)_(?P<kind>sentence|header_cell|cell|table_caption|item|section|title)(?P<place>(?:_\d{1,9})*)"
)
_PARTS = {"sentence": 1, "header_cell": 3, "cell": 3, "table_caption": 1, "item": 2, "section": 1, "title": 0}
_LINK = re.compile(r"\[\[([^\[\]|]*)(?:\|(\[?[^\[\]]*))?\]\]")


@dataclass(frozen=True)
class Element:
    """A piece of a page: its ``kind`` and its place, such as table, row and column."""

    page: str
    kind: str
    place: tuple[int, ...]

    @property
    def key(self) -> str:
        """Its name within the page: ``cell_0_1_2``."""
        return "_".join([self.kind, *map(str, self.place)])


def element_of(name: str) -> Element | None:
    """Return the element of an id, or None if the text is not an id."""
    found = _ID.fullmatch(name)
    if found is None:
        return None
    place = tuple(int(number) for number in found["place"].split("_")[1:])
    if len(place) != _PARTS[found["kind"]]:
        return None
    return Element(found["page"], found["kind"], place)


def without_links(text: str) -> str:
    """Return the text with ``[[Page|words]]`` replaced by ``words`` and ``[[A_page]]`` by ``A page``."""
    return _LINK.sub(lambda link: link[2] or link[1].replace("_", " "), text)


def is_feverous(fields: Mapping[str, Any]) -> bool:
    """Return true for a record with sets of evidence, and for the empty first record of the official files."""
    evidence = fields.get("evidence")
    if isinstance(evidence, list):
        return any(isinstance(part, Mapping) and "text" not in part for part in evidence)
    return evidence == "" == fields.get("claim")


def feverous_record(fields: Mapping[str, Any], pages: WikiPages | None) -> Record | None:
    """Return the record of an official line with its first set of evidence as text, or None for the empty record.

    Raises:
        BrokenRecordError: a field has another format, or the database lacks an id.
        GateError: the evidence has an id, but there is no database.
    """
    if not fields.get("claim") and not fields.get("evidence"):
        return None
    sets = fields.get("evidence")
    if not isinstance(sets, list) or not all(isinstance(part, Mapping) for part in sets):
        raise BrokenRecordError(f"evidence: got {kind_of(sets)}; allowed: a list of sets with `content`")
    # Each set suffices on its own; the size of the union would reveal the number of annotators.
    first: Mapping[str, Any] = sets[0] if sets else {}
    content, context = first.get("content", []), first.get("context") or {}
    if not isinstance(content, list) or not all(isinstance(name, str) for name in content):
        raise BrokenRecordError(f"content: got {kind_of(content)}; allowed: a list of ids or texts")
    if not isinstance(context, Mapping):
        raise BrokenRecordError(
            f"context: got {kind_of(context)}; allowed: a mapping from ids to lists of ids"
        )
    spans, titles = [], []
    for name in content:
        element = element_of(name)
        titles += [element.page] if element else []
        spans.append(_resolved(name, context.get(name), pages) if element else without_links(name))
    return record_of(fields, spans, titles)


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


class WikiPages:
    """Pages of a FEVEROUS database, opened read-only."""

    def __init__(self, path: str | PathLike[str]) -> None:
        file = Path(path)
        if not file.is_file():
            raise GateError(f"{file}: no such file; allowed: FEVEROUS's SQLite database of pages")
        try:
            self._connection = sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)
            try:
                self._connection.execute("SELECT id, data FROM wiki LIMIT 1").fetchone()
            except BaseException:
                self._connection.close()
                raise
        except sqlite3.Error as error:
            raise GateError(f"{file}: {error}; allowed: SQLite with a table wiki(id, data)") from None
        self._page = lru_cache(maxsize=256)(self._read)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def text(self, name: str, context: Sequence[str] = ()) -> str | None:
        """Return the text of an id, or None if it has none; a cell's text begins with its headers in ``context``."""
        element = element_of(name)
        page = self._page(element.page) if element else None
        if element is None or page is None:
            return None
        if element.kind == "title":
            return element.page
        found = _element(page, element)
        if found is None or element.kind != "cell":
            return None if found is None else without_links(found)
        named = [other for other in map(element_of, context) if other and other.kind == "header_cell"]
        headers = [
            text for text in (_element(page, other) for other in named if other.page == element.page) if text
        ]
        return ": ".join(without_links(part) for part in (" ".join(headers), found) if part)

    def _read(self, title: str) -> Mapping[str, Any] | None:
        try:
            with closing(self._connection.execute("SELECT data FROM wiki WHERE id = ?", (title,))) as rows:
                row = rows.fetchone()
            page = None if row is None else strict_json(row[0])
        except (sqlite3.Error, ValueError, TypeError):
            return None
        return page if isinstance(page, Mapping) else None


def _element(page: Mapping[str, Any], element: Element) -> str | None:
    if element.kind in ("sentence", "section"):
        found = page.get(element.key)
        return _value(found.get("value") if isinstance(found, Mapping) else found)
    if element.kind == "table_caption":
        table = page.get(f"table_{element.place[0]}")
        return _value(table.get("caption") if isinstance(table, Mapping) else None)
    container = "list" if element.kind == "item" else "table"
    block = page.get(f"{container}_{element.place[0]}")
    for cell in _cells(block.get(container) if isinstance(block, Mapping) else None):
        if cell.get("id") == element.key:
            return _value(cell.get("value"))
    return None


def _cells(block: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the cells of a table or the items of a list."""
    for part in block if isinstance(block, list) else []:
        if isinstance(part, Mapping):
            yield part
        else:
            yield from _cells(part)


def _value(value: Any) -> str | None:
    return value if isinstance(value, str) and value.strip() else None
