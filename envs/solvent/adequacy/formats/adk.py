"""Sessions of Google's Agent Development Kit: events with an author and the contents of the Gemini API."""

from __future__ import annotations

from typing import Any

from solvent.adequacy.formats.document import Document
from solvent.adequacy.formats.gemini_api import read_content
from solvent.adequacy.formats.session import Session
from solvent.adequacy.formats.texts import list_of, table_of

NAME = "Google ADK"


def sniff(document: Document) -> bool:
    events = (
        event for value in document.head for event in (value, *map(table_of, list_of(value.get("events"))))
    )
    return any(_is_event(event) for event in events)


def turns(document: Document, session: Session) -> None:
    for value in session.each(document.entries):
        if "events" in value:
            session.enter(value.get("id"))
            for event in session.each(enumerate(list_of(value["events"]), start=1)):
                _read_event(session, event)
        else:
            _read_event(session, value)


def _is_event(event: dict[str, Any]) -> bool:
    invocation = "invocationId" in event or "invocation_id" in event
    return "author" in event and (invocation or "parts" in table_of(event.get("content")))


def _read_event(session: Session, event: dict[str, Any]) -> None:
    content = table_of(event.get("content"))
    if event.get("partial"):  # a piece of a stream, which is followed by the whole
        return
    if "parts" in content:
        read_content(session, {**content, "role": "user" if event.get("author") == "user" else "model"})
    elif not _is_event(event):
        session.unread_line(event.get("type"), event)
