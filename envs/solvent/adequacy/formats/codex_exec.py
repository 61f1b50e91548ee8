"""The stream of ``codex exec --json``: lines ``{type: item.completed, item}``."""

from __future__ import annotations

import re
from typing import Any

from solvent.adequacy.formats.document import Document
from solvent.adequacy.formats.session import Session
from solvent.adequacy.formats.texts import table_of, text_of

NAME = "codex exec"

_SILENT_ITEMS = {"reasoning", "todo_list", "error"}
_SILENT_LINES = re.compile(r"thread\..*|turn\..*|item\.(started|updated)|error")


def sniff(document: Document) -> bool:
    return any(re.fullmatch(r"item\.\w+|thread\.started", str(value.get("type"))) for value in document.head)


def turns(document: Document, session: Session) -> None:
    for value in session.each(document.entries):
        if value.get("type") == "thread.started":
            session.enter(value.get("thread_id"))
        if value.get("type") == "item.completed":
            _read_item(session, table_of(value.get("item")))
        elif not _SILENT_LINES.fullmatch(str(value.get("type"))):
            session.unread_line(value.get("type"), value)


def _read_item(session: Session, item: dict[str, Any]) -> None:
    kind, key = str(item.get("type")), item.get("id")
    failed = True if item.get("status") in ("failed", "declined") else None
    if kind == "agent_message":
        session.say(item.get("text"))
    elif kind == "user_message":
        session.ask(text_of(item.get("text")))
    elif kind == "command_execution":
        session.call(key, kind, {"command": item.get("command")})
        session.result(key, item.get("aggregated_output"), failed, code=item.get("exit_code"))
    elif kind == "mcp_tool_call":
        session.call(key, item.get("tool"), item.get("arguments"))
        error = table_of(item.get("error")).get("message")
        result = item.get("result")
        session.result(
            key, error or table_of(result).get("content", result), failed or (True if error else None)
        )
    elif kind == "web_search":
        session.call(key, kind, {"query": item.get("query")})
    elif kind == "file_change":
        session.call(key, kind, {"changes": item.get("changes")})
        if failed:
            session.result(key, "", failed)
    elif kind not in _SILENT_ITEMS:
        session.unread_block(kind, item)
