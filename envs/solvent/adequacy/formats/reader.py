"""A transcript as turns: the file is read, a format is found, and its module tells a session what happens."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from solvent.adequacy.formats import response_lines
from solvent.adequacy.formats.document import Document, values_in
from solvent.adequacy.formats.registry import claims, formats
from solvent.adequacy.formats.session import Session
from solvent.adequacy.formats.turns import Reading, Turn
from solvent.files import InputError, nearest_path, read_input

__all__ = ["read_turns", "turn_of"]

_MOST_OF_FILE = 2**30
_MOST_OF_KEYS = 120


def read_turns(path: str | Path) -> Reading:
    """Read the turns of a transcript, or of a file of responses.

    Raises:
        InputError: the file can't be read, or nothing in it has a known form.
    """
    path = Path(path)
    session = Session(path.stem)
    try:
        content = read_input(path, _MOST_OF_FILE)
    except OSError as error:
        allowed = nearest_path(path) or "; allowed: a transcript, or JSON lines of responses"
        raise InputError(f"{path}: not read, {error.strerror}{allowed}") from None
    document = Document(path.stem, list(values_in(content, session.counts)))
    del content
    claimed = claims(document)
    for form in claimed[:1]:
        form.turns(document, session)
    if not session.understood:
        kind = f"{claimed[0].NAME}, but nobody says anything in it" if claimed else _seen(document)
        raise InputError(f"{path}: {kind}; {_allowed()}")
    return session.reading()


def turn_of(line: Mapping[str, Any]) -> Turn:
    """Return the turn in a line of a file of responses, which has a ``response``."""
    session = Session("response")
    response_lines.turns(Document("response", [(1, dict(line))]), session)
    return session.reading().turns[0]


def _seen(document: Document) -> str:
    """Return what is in a document of no known format."""
    values = [value for _, value in document.entries if not isinstance(value, str)]
    if not values:
        return "neither JSON lines nor one JSON document in UTF-8"
    first = document.head[0] if document.head else None
    keys = ", ".join(map(str, first)) if first is not None else type(values[0]).__name__
    return f"unknown format, its first value has the keys {keys!r:.{_MOST_OF_KEYS}}"


def _allowed() -> str:
    return "allowed: " + ", ".join(sorted(form.NAME for form in formats()))
