"""Gemini CLI's ``--output-format stream-json``: messages, ``tool_use`` and ``tool_result``; answers come in pieces."""

from __future__ import annotations

from typing import Any

from solvent.adequacy.formats.document import Document
from solvent.adequacy.formats.session import Session
from solvent.adequacy.formats.texts import table_of, text_of

NAME = "Gemini CLI stream-json"

_SILENT = ("init", "result", "error", "system", "thought")


def sniff(document: Document) -> bool:
    return any(_is_message(value) or "tool_id" in value for value in document.head)


def turns(document: Document, session: Session) -> None:
    for value in session.each(document.entries):
        kind = value.get("type")
        if kind == "init":
            session.enter(value.get("session_id"))
        if kind == "message" and value.get("role") == "user":
            session.ask(text_of(value.get("content")))
        elif kind == "message":
            session.say(text_of(value.get("content")), piece=bool(value.get("delta")))
        elif kind == "tool_use":
            session.call(value.get("tool_id"), value.get("tool_name"), value.get("parameters"))
        elif kind == "tool_result":
            failed = None if "status" not in value else value["status"] == "error"
            error = table_of(value.get("error")).get("message")
            session.result(value.get("tool_id"), value.get("output") or error, failed)
        elif kind not in _SILENT:
            session.unread_line(kind, value)


def _is_message(value: dict[str, Any]) -> bool:
    is_text = value.get("type") == "message" and isinstance(value.get("content"), str)
    return is_text and "role" in value and ("delta" in value or "timestamp" in value)
