"""Items of OpenAI's Responses: messages, calls and their outputs side by side."""

from __future__ import annotations

import re
from typing import Any

from solvent.adequacy.formats import chat
from solvent.adequacy.formats.document import Document
from solvent.adequacy.formats.session import Session
from solvent.adequacy.formats.texts import table_of, text_of

NAME = "OpenAI Responses"

_CALL = re.compile(r"(?!tool_call$)\w+_call")
_OUTPUT = re.compile(r"\w+_output")
_SILENT = re.compile(
    r"reasoning|mcp_list_tools|mcp_approval_\w+|compaction|ghost_snapshot|item_reference|world_state"
)
_NAMED = {"function_call", "custom_tool_call", "mcp_call"}


def sniff(document: Document) -> bool:
    if is_rollout(document):
        return False
    entries = (item for one in document.conversations for _, item in one.messages if isinstance(item, dict))
    items = any(_is_call(item) for item in entries)
    return items or not document.block_kinds.isdisjoint(("input_text", "output_text"))


def is_rollout(document: Document) -> bool:
    """Return whether a document of items is a rollout of Codex, from before it put them into envelopes."""
    return any(
        "record_type" in value or {"instructions", "timestamp"} <= value.keys() for value in document.head
    )


def turns(document: Document, session: Session) -> None:
    for item in session.each_of(document.conversations):
        read_item(session, item)


def _is_call(item: dict[str, Any]) -> bool:
    kind = item.get("type")
    return (
        "role" not in item
        and isinstance(kind, str)
        and bool(_CALL.fullmatch(kind) or _OUTPUT.fullmatch(kind))
    )


def read_item(session: Session, item: dict[str, Any]) -> None:
    """Read an item of any type."""
    kind = str(item.get("type", "message"))
    if kind == "message":
        chat.read_message(session, item, chat.block)
    elif _OUTPUT.fullmatch(kind):
        _read_output(session, item)
    elif _CALL.fullmatch(kind):
        _read_call(session, item, kind)
    elif not _SILENT.fullmatch(kind):
        session.unread_block(kind, item)


def _read_call(session: Session, item: dict[str, Any], kind: str) -> None:
    key = item.get("call_id") or item.get("id")
    name = item.get("name") if kind in _NAMED else item.get("name") or kind.removesuffix("_call")
    arguments = next(
        (item[one] for one in ("arguments", "input", "action") if item.get(one) is not None), None
    )
    if arguments is None:
        arguments = {one: item[one] for one in ("code", "query", "queries") if item.get(one)}
    session.call(key, name, arguments)
    inside = ("output", "outputs", "results", "result", "error")
    value = next((item[one] for one in inside if item.get(one) not in (None, [])), None)
    failed = bool(item["error"]) if "error" in item else None
    failed = True if item.get("status") in ("failed", "incomplete") else failed
    if value is not None or item.get("status") == "failed":
        session.result(key, _words(value), failed)


def _read_output(session: Session, item: dict[str, Any]) -> None:
    output = item.get("output", item.get("tools"))
    table = table_of(output)
    failed = table["success"] is False if isinstance(table.get("success"), bool) else None
    value = table["content"] if failed is not None and "content" in table else output
    session.result(item.get("call_id"), value, failed)


def _words(value: Any) -> Any:
    """Return the words of a result inside its call."""
    if isinstance(value, list):
        return "\n".join(text_of(_words(one)) for one in value)
    table = table_of(value)
    words = [
        table[key]
        for key in ("filename", "title", "url", "text", "logs", "message")
        if isinstance(table.get(key), str)
    ]
    return "\n".join(words) if words else value
