"""AutoGen AgentChat: messages and events by type, as a list or as the ``messages`` of a task's result."""

from __future__ import annotations

from typing import Any

from solvent.adequacy.formats.document import Document
from solvent.adequacy.formats.session import Session
from solvent.adequacy.formats.texts import list_of, table_of, text_of

NAME = "AutoGen"

_TEXTS = ("TextMessage", "MultiModalMessage", "StopMessage", "HandoffMessage", "StructuredMessage")
_SILENT = ("ThoughtEvent", "MemoryQueryEvent", "UserInputRequestedEvent", "SelectSpeakerEvent")


def sniff(document: Document) -> bool:
    messages = (table_of(message) for one in document.conversations for _, message in one.messages)
    kinds = (*_TEXTS, "ToolCallRequestEvent", "ToolCallExecutionEvent", "ToolCallSummaryMessage")
    return any(message.get("type") in kinds and "source" in message for message in messages)


def turns(document: Document, session: Session) -> None:
    for message in session.each_of(document.conversations):
        _read_message(session, message)


def _read_message(session: Session, message: dict[str, Any]) -> None:
    kind, content = message.get("type"), message.get("content")
    if kind in _TEXTS and str(message.get("source")).lower() in ("user", "user_proxy", "human"):
        session.ask(text_of(content))
    elif kind in _TEXTS:
        session.say(text_of(content))
    elif (
        kind == "ToolCallSummaryMessage"
    ):  # the results as the answer of an agent that does not reflect on them
        session.say(content)
    elif kind == "ToolCallRequestEvent":
        for call in map(table_of, list_of(content)):
            session.call(call.get("id"), call.get("name"), call.get("arguments"))
    elif kind == "ToolCallExecutionEvent":
        for result in map(table_of, list_of(content)):
            session.result(
                result.get("call_id"),
                result.get("content"),
                result.get("is_error"),
                name=result.get("name"),
            )
    elif kind not in _SILENT and not str(kind).endswith("StreamingChunkEvent"):
        session.unread_line(kind, message)
