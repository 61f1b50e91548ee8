"""Sessions of Hermes: a chat in an object with its ``platform``; the result of a command is JSON with its exit code."""

from __future__ import annotations

from typing import Any

from solvent.adequacy.formats import chat
from solvent.adequacy.formats.document import Document
from solvent.adequacy.formats.session import Session

NAME = "Hermes"


def sniff(document: Document) -> bool:
    return any(_is_header(value) for value in document.head)


def turns(document: Document, session: Session) -> None:
    for message in session.each_of(document.conversations):
        if not _is_header(message):
            chat.read_message(session, message, chat.block)


def _is_header(value: dict[str, Any]) -> bool:
    return {"session_id", "platform", "session_start"} <= value.keys()
