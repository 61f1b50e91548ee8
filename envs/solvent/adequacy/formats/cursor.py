"""Cursor's transcripts, lines ``{role, message}`` without results, and the ``stream-json`` of its command line."""

from __future__ import annotations

import re
from typing import Any

from solvent.adequacy.formats import anthropic, chat
from solvent.adequacy.formats.document import Document
from solvent.adequacy.formats.session import Session
from solvent.adequacy.formats.texts import table_of, text_of

NAME = "Cursor"

_SILENT = ("turn_ended", "system", "result", "thinking")


def sniff(document: Document) -> bool:
    return any(_is_line(value) or _is_call(value) for value in document.head)


def turns(document: Document, session: Session) -> None:
    for value in session.each(document.entries):
        session.enter(value.get("session_id"))
        message, kind = table_of(value.get("message")), value.get("type")
        role = value.get("role") or message.get("role")
        if _is_call(value):
            _read_call(session, value)
        elif role is not None and message:
            chat.read_message(session, {**message, "role": role}, anthropic.block)
        elif kind not in _SILENT:
            session.unread_line(kind, value)


def _is_line(value: dict[str, Any]) -> bool:
    return "role" in value and "type" not in value and "content" in table_of(value.get("message"))


def _is_call(value: dict[str, Any]) -> bool:
    return value.get("type") == "tool_call" and isinstance(value.get("tool_call"), dict)


def _read_call(session: Session, value: dict[str, Any]) -> None:
    """Read a call ``{shellToolCall: {args, result: {success | failure | rejected | error}}}``."""
    kind, inner = next(iter(value["tool_call"].items()), ("", {}))
    arguments = table_of(table_of(inner).get("args"))
    name = table_of(inner).get("name") or re.sub(r"ToolCall$", "", kind)
    key = value.get("call_id")
    if value.get("subtype") == "started":
        session.call(key, name, arguments)
        return
    outcome, fields = next(iter(table_of(table_of(inner).get("result")).items()), ("", {}))
    fields = table_of(fields)
    words = [
        fields[one] for one in ("content", "stdout", "stderr", "output", "error", "reason") if fields.get(one)
    ]
    failed = None if not outcome else outcome != "success"
    session.result(
        key, "\n".join(map(text_of, words)) or fields, failed, code=fields.get("exitCode"), name=name
    )
