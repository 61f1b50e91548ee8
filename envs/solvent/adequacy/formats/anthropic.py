"""Anthropic Messages: blocks ``tool_use`` and ``tool_result``, and the tools that run on the server."""

from __future__ import annotations

from typing import Any

from solvent.adequacy.formats import chat
from solvent.adequacy.formats.document import Document
from solvent.adequacy.formats.session import Session
from solvent.adequacy.formats.texts import PICTURE, table_of, text_of

NAME = "Anthropic Messages"

_CALLS = {"tool_use", "server_tool_use", "mcp_tool_use"}
_WORDS = ("title", "url", "text", "stdout", "stderr", "error_code", "content", "source", "data", "tool_name")


def sniff(document: Document) -> bool:
    kinds = document.block_kinds
    return not _CALLS.isdisjoint(kinds) or any(kind.endswith("tool_result") for kind in kinds)


def turns(document: Document, session: Session) -> None:
    chat.read(document, session, block)


def block(session: Session, one: dict[str, Any]) -> None:
    """Read a call or a result."""
    kind = str(one.get("type"))
    if kind in _CALLS:
        session.call(one.get("id"), one.get("name"), one.get("input"))
    elif kind.endswith("tool_result"):
        content = one.get("content")
        failed = one.get("is_error")
        if str(table_of(content).get("type")).endswith("_error"):
            failed = True
        value = content if isinstance(content, str) else _words(content)
        session.result(one.get("tool_use_id"), value, failed, code=table_of(content).get("return_code"))
    else:
        chat.block(session, one)


def _words(value: Any) -> str:
    """Return the words of a result's blocks."""
    if isinstance(value, list):
        return "\n".join(filter(None, map(_words, value)))
    is_picture = PICTURE.fullmatch(str(table_of(value).get("type")))
    if not isinstance(value, dict) or is_picture or table_of(value.get("source")).get("type") == "base64":
        return text_of(value)
    words = [_words(value[key]) for key in _WORDS if value.get(key)]
    return "\n".join(words) if words or "type" in value else text_of(value)
