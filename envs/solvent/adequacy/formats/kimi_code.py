"""Kimi Code's ``wire.jsonl``: events of a context; and the wire messages of Kimi CLI before it."""

from __future__ import annotations

import re
from typing import Any

from solvent.adequacy.formats import chat
from solvent.adequacy.formats.document import Document
from solvent.adequacy.formats.session import Session
from solvent.adequacy.formats.texts import table_of

NAME = "Kimi Code"

_SILENT = re.compile(
    r"metadata|turn\..*|context\.(?!append_).*|session\..*|config\..*|usage\..*|step\..*|permission\..*|tools\..*"
)
_SILENT_EVENT = re.compile(r"step\..*|turn\..*|tool\.(progress|delta).*|usage.*|status.*")
_WIRE = ("TurnBegin", "StepBegin", "ContentPart", "ToolCall", "ToolResult", "ToolCallPart", "StatusUpdate")


def sniff(document: Document) -> bool:
    return any(
        str(value.get("type")).startswith(("context.append_", "turn.prompt"))
        or table_of(value.get("message")).get("type") in _WIRE
        for value in document.head
    )


def turns(document: Document, session: Session) -> None:
    for value in session.each(document.entries):
        kind = str(value.get("type"))
        if kind == "context.append_message":
            _read_message(session, table_of(value.get("message")))
        elif kind == "context.append_loop_event":
            _read_event(session, table_of(value.get("event")))
        elif "payload" in table_of(value.get("message")):
            _read_wire(session, str(value["message"].get("type")), table_of(value["message"]["payload"]))
        elif not _SILENT.fullmatch(kind):
            session.unread_line(kind, value)


def _read_message(session: Session, message: dict[str, Any]) -> None:
    """Read a message of the user; those of a program have another origin."""
    if table_of(message.get("origin")).get("kind", "user") == "user":
        chat.read_message(session, {key: message.get(key) for key in ("role", "content")}, chat.block)


def _read_event(session: Session, event: dict[str, Any]) -> None:
    kind, part = str(event.get("type")), table_of(event.get("part"))
    if kind == "content.part" and part.get("type") == "text":
        session.say(part.get("text"))
    elif kind == "tool.call":
        session.call(event.get("toolCallId"), event.get("name"), event.get("args"))
    elif kind == "tool.result":
        result = table_of(event.get("result"))
        session.result(
            event.get("toolCallId"), result.get("output", event.get("result")), result.get("isError")
        )
    elif kind != "content.part" and not _SILENT_EVENT.fullmatch(kind):
        session.unread_block(kind, event)


def _read_wire(session: Session, kind: str, payload: dict[str, Any]) -> None:
    if kind == "TurnBegin":
        session.ask(*chat.texts_in(payload.get("user_input")))
    elif kind == "ContentPart" and payload.get("type") == "text":
        session.say(payload.get("text"))
    elif kind == "ToolCall":
        function = table_of(payload.get("function"))
        session.call(payload.get("id"), function.get("name"), function.get("arguments"))
    elif kind == "ToolResult":
        value = table_of(payload.get("return_value"))
        session.result(
            payload.get("tool_call_id"), value.get("output") or value.get("message"), value.get("is_error")
        )
    elif kind == "SubagentEvent":
        event = table_of(payload.get("event"))
        session.enter(child=payload.get("task_tool_call_id") or payload.get("parent_tool_call_id") or "child")
        _read_wire(session, str(event.get("type")), table_of(event.get("payload")))
        session.enter()
    elif kind not in _WIRE and re.search("Tool|Call", kind):
        session.unread_block(kind, payload)
