"""Factory Droid's sessions, lines ``{type: message, message}`` with Anthropic's blocks, and its ``stream-json``."""

from __future__ import annotations

import re

from solvent.adequacy.formats import anthropic, chat
from solvent.adequacy.formats.document import Document
from solvent.adequacy.formats.session import Session
from solvent.adequacy.formats.texts import list_of, table_of, text_of

NAME = "Factory Droid"

_SILENT = re.compile(r"session_(start|end)|system|completion|result|(todo|compaction)_state|reasoning")


def sniff(document: Document) -> bool:
    kinds = {str(value.get("type")) for value in document.head}
    blocks = {
        str(table_of(block).get("type"))
        for value in document.head
        if value.get("type") == "message"
        for block in list_of(table_of(value.get("message")).get("content"))
    }
    stream = any(value.get("type") == "tool_call" and "toolName" in value for value in document.head)
    return "session_start" in kinds or stream or not blocks.isdisjoint(("tool_use", "tool_result"))


def turns(document: Document, session: Session) -> None:
    for value in session.each(document.entries):
        kind = value.get("type")
        if kind == "session_start" or (kind == "system" and value.get("session_id")):
            session.enter(value.get("id") or value.get("session_id"))
        if kind == "message" and "message" in value:
            chat.read_message(session, table_of(value["message"]), anthropic.block)
        elif kind == "message":
            chat.read_message(session, {"role": value.get("role"), "content": value.get("text")}, chat.block)
        elif kind == "tool_call":
            session.call(value.get("id"), value.get("toolName"), value.get("parameters"))
        elif kind == "tool_result":
            session.result(
                value.get("id"), text_of(value.get("value", value.get("error"))), value.get("isError")
            )
        elif not _SILENT.fullmatch(str(kind)):
            session.unread_line(kind, value)
