"""Events of GitHub Copilot: its command line, and the agent in VS Code."""

from __future__ import annotations

import re
from typing import Any

from solvent.adequacy.formats.chat import read_calls
from solvent.adequacy.formats.document import Document
from solvent.adequacy.formats.session import Session
from solvent.adequacy.formats.texts import list_of, table_of, text_of

NAME = "GitHub Copilot"

_SILENT = re.compile(
    r"session\..*|assistant\.(turn_\w+|reasoning.*|intent|usage|message_start|streaming.*)|tool\.(execution_(start|progress|partial_\w+)"
    r"|user_requested)|subagent\..*|skill\..*|hook\..*|permission\..*|system\..*|abort|user_input\..*|mcp\..*"
)


def sniff(document: Document) -> bool:
    kinds = ("session.start", "user.message", "assistant.message", "tool.execution_complete")
    return any(value.get("type") in kinds and isinstance(value.get("data"), dict) for value in document.head)


def turns(document: Document, session: Session) -> None:
    name = ""
    for event in session.each(document.entries):
        data = table_of(event.get("data"))
        if event.get("type") == "session.start":
            name = str(data.get("sessionId") or name)
        session.enter(name, data.get("parentToolCallId"))
        _read_event(session, str(event.get("type")), data)


def _read_event(session: Session, kind: str, data: dict[str, Any]) -> None:
    if kind == "user.message":
        session.ask(text_of(data.get("content")))
    elif kind == "assistant.message":
        session.say(data.get("content"))
        read_calls(
            session, list_of(data.get("toolRequests")) and [_request(one) for one in data["toolRequests"]]
        )
    elif kind == "assistant.message_delta":
        session.say(data.get("deltaContent"), piece=True)
    elif kind == "tool.execution_start":
        session.call(data.get("toolCallId"), data.get("toolName"), data.get("arguments"))
    elif kind == "tool.execution_complete":
        _read_result(session, data)
    elif not _SILENT.fullmatch(kind):
        session.unread_line(kind, data)


def _request(request: Any) -> Any:
    return {**request, "id": request.get("toolCallId")} if isinstance(request, dict) else request


def _read_result(session: Session, data: dict[str, Any]) -> None:
    result = table_of(data.get("result"))
    error = table_of(data.get("error"))
    value = result.get("content") if result else error.get("message", data.get("error"))
    failed = not data["success"] if isinstance(data.get("success"), bool) else None
    # A call that ran is a success to Copilot, whatever its exit code was.
    session.result(data.get("toolCallId"), value, failed or None, code=result.get("exitCode"))
