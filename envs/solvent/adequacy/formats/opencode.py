"""opencode: the stream of ``run --format json``, and its ``export`` of messages ``{info, parts}``."""

from __future__ import annotations

import re
from typing import Any

from solvent.adequacy.formats.document import Document
from solvent.adequacy.formats.session import Session
from solvent.adequacy.formats.texts import list_of, table_of, text_of

NAME = "opencode"

_SILENT = re.compile(
    r"step[-_](start|finish)|reasoning|snapshot|patch|file|agent|compaction|retry|subtask|error"
)


def sniff(document: Document) -> bool:
    return any(("part" in value and "type" in value) or _messages(value) for value in document.head)


def turns(document: Document, session: Session) -> None:
    for value in session.each(document.entries):
        if messages := _messages(value):
            info = table_of(value.get("info"))
            name = info.get("sessionID") or (info.get("id") if "messages" in value else "")
            for message in session.each(enumerate(messages, start=1)):
                session.enter(name)
                _read_message(session, message)
        elif "part" in value:
            session.enter(value.get("sessionID"))
            _read_part(session, table_of(value["part"]), "assistant")
        elif not _SILENT.fullmatch(str(value.get("type"))):
            session.unread_line(value.get("type"), value)


def _messages(value: dict[str, Any]) -> list[Any]:
    """Return the messages of an export, or of one message that stands alone."""
    messages = list_of(value.get("messages")) or [value]
    own = any(
        "parts" in table_of(one) and "role" in table_of(one.get("info"))
        for one in messages
        if isinstance(one, dict)
    )
    return messages if own else []


def _read_message(session: Session, message: dict[str, Any]) -> None:
    role = str(table_of(message.get("info")).get("role"))
    for part in map(table_of, list_of(message.get("parts"))):
        _read_part(session, part, role)


def _read_part(session: Session, part: dict[str, Any], role: str) -> None:
    kind = str(part.get("type"))
    if kind == "text" and role == "user":
        session.ask("" if part.get("synthetic") or part.get("ignored") else text_of(part.get("text")))
    elif kind == "text":
        session.say(part.get("text"))
    elif kind == "tool":
        _read_tool(session, part)
    elif not _SILENT.fullmatch(kind):
        session.unread_block(kind, part)


def _read_tool(session: Session, part: dict[str, Any]) -> None:
    state, key = table_of(part.get("state")), part.get("callID")
    session.call(key, part.get("tool"), state.get("input"))
    if state.get("status") in ("completed", "error"):
        failed = True if state["status"] == "error" else None
        code = table_of(state.get("metadata")).get("exit")
        session.result(key, state.get("output") or state.get("error"), failed, code=code)
