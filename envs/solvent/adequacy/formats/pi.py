"""Sessions of Pi and OpenClaw: lines ``{type: message}`` with ``toolCall`` blocks and ``toolResult`` messages."""

from __future__ import annotations

from typing import Any

from solvent.adequacy.formats import chat
from solvent.adequacy.formats.document import Document
from solvent.adequacy.formats.session import Session
from solvent.adequacy.formats.texts import list_of, table_of

NAME = "Pi, OpenClaw"

_SILENT = ("session", "session_info", "model_change", "thinking_level_change", "compaction", "branch_summary")
_EXTENSIONS = ("custom", "custom_message", "label")


def sniff(document: Document) -> bool:
    return any(
        (value.get("type") == "session" and "id" in value) or _is_own(table_of(value.get("message", value)))
        for value in document.head
    )


def turns(document: Document, session: Session) -> None:
    for value in session.each(document.entries):
        if value.get("type") == "session":
            session.enter(value.get("id"))
        message = table_of(value.get("message", value))
        if "role" in message:
            _read_message(session, message)
        elif value.get("type") not in (*_SILENT, *_EXTENSIONS):
            session.unread_line(value.get("type"), value)


def _is_own(message: dict[str, Any]) -> bool:
    calls = any(table_of(block).get("type") == "toolCall" for block in list_of(message.get("content")))
    return calls or message.get("role") in ("toolResult", "bashExecution")


def _read_message(session: Session, message: dict[str, Any]) -> None:
    role = message.get("role")
    if role == "toolResult":
        name, failed = message.get("toolName"), message.get("isError")
        session.result(message.get("toolCallId"), message.get("content"), failed, name=name)
    elif role in ("user", "assistant"):
        chat.read_message(session, message, _block)
    elif role not in ("bashExecution", "custom", "compactionSummary", "branchSummary", "hookMessage"):
        chat.read_message(session, message, chat.block)


def _block(session: Session, block: dict[str, Any]) -> None:
    if block.get("type") == "toolCall":
        session.call(block.get("id"), block.get("name"), block.get("arguments"))
    else:
        chat.block(session, block)
