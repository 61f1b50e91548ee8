"""Pydantic AI's ``ModelMessage`` lists: requests and responses in parts of a ``part_kind``."""

from __future__ import annotations

from typing import Any

from solvent.adequacy.formats.document import Document
from solvent.adequacy.formats.session import Session
from solvent.adequacy.formats.texts import list_of, table_of, text_of

NAME = "Pydantic AI"

_SILENT = ("system-prompt", "thinking", "file")


def sniff(document: Document) -> bool:
    messages = (message for one in document.conversations for _, message in one.messages)
    return any(_is_message(table_of(message)) for message in messages)


def turns(document: Document, session: Session) -> None:
    for message in session.each_of(document.conversations):
        if not _is_message(message):
            session.unread_line(message.get("kind", message.get("type")), message)
        for part in map(table_of, list_of(message.get("parts"))):
            _read_part(session, part)


def _is_message(message: dict[str, Any]) -> bool:
    parts = map(table_of, list_of(message.get("parts")))
    return message.get("kind") in ("request", "response") and any("part_kind" in part for part in parts)


def _read_part(session: Session, part: dict[str, Any]) -> None:
    kind, key = str(part.get("part_kind")), part.get("tool_call_id")
    content = part.get("content")
    if kind == "user-prompt":
        blocks = content if isinstance(content, list) else [content]
        session.ask(
            *(
                block if isinstance(block, str) else text_of(table_of(block).get("content"))
                for block in blocks
            )
        )
    elif kind == "text":
        session.say(content)
    elif kind.endswith("tool-call"):
        session.call(key, part.get("tool_name"), part.get("args"))
    elif kind.endswith("tool-return"):
        failed = True if part.get("outcome") in ("failed", "denied") else None
        session.result(key, content, failed, name=part.get("tool_name"))
    elif kind == "retry-prompt" and part.get("tool_name"):
        session.result(key, content, True, name=part["tool_name"])
    elif kind == "retry-prompt":  # of the output: what is said next replaces the answer
        session.feedback()
    elif kind not in _SILENT:
        session.unread_block(kind, part)
