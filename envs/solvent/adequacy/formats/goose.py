"""Goose's sessions: messages with ``toolRequest`` and ``toolResponse``, whose values stand beside a status."""

from __future__ import annotations

from typing import Any

from solvent.adequacy.formats import chat
from solvent.adequacy.formats.document import Document
from solvent.adequacy.formats.session import Session
from solvent.adequacy.formats.texts import table_of, text_of

NAME = "Goose"

_MARKS = ("toolRequest", "toolResponse", "frontendToolRequest")
_SILENT = ("toolConfirmationRequest", "summarizationRequested", "contextLengthExceeded", "systemNotification")


def sniff(document: Document) -> bool:
    header = any({"working_dir", "message_count"} <= value.keys() for value in document.head)
    return header or not document.block_kinds.isdisjoint(_MARKS)


def turns(document: Document, session: Session) -> None:
    for message in session.each_of(document.conversations):
        if "working_dir" not in message:
            chat.read_message(session, message, _block)


def _block(session: Session, block: dict[str, Any]) -> None:
    kind, key = block.get("type"), block.get("id")
    if kind in ("toolRequest", "frontendToolRequest"):
        call = table_of(block.get("toolCall"))
        value = table_of(call.get("value"))
        if call.get("status") == "error":
            session.call(key, "unknown", {})
            session.result(key, text_of(call.get("error")), True)
        else:
            session.call(key, value.get("name"), value.get("arguments"))
    elif kind == "toolResponse":
        result = table_of(block.get("toolResult"))
        answer = table_of(result.get("value"))
        failed = True if result.get("status") == "error" else answer.get("isError")
        content = answer.get("content", result.get("value"))
        session.result(key, content if content is not None else result.get("error"), failed)
    elif kind not in _SILENT:
        chat.block(session, block)
