"""LangChain's messages: by type, in ``data``, or as constructors of their classes."""

from __future__ import annotations

from typing import Any

from solvent.adequacy.formats import chat
from solvent.adequacy.formats.document import Document
from solvent.adequacy.formats.session import Session
from solvent.adequacy.formats.texts import list_of, table_of, text_of

NAME = "LangChain"

_ROLES = {
    **dict.fromkeys(("human", "HumanMessage", "HumanMessageChunk"), "user"),
    **dict.fromkeys(("ai", "AIMessage", "AIMessageChunk"), "assistant"),
    **dict.fromkeys(("tool", "function", "ToolMessage", "FunctionMessage"), "tool"),
    **dict.fromkeys(("system", "SystemMessage", "remove", "RemoveMessage"), "program"),
}


def sniff(document: Document) -> bool:
    messages = (table_of(message) for one in document.conversations for _, message in one.messages)
    return any(_role(message) in ("user", "assistant", "tool") for message in messages)


def turns(document: Document, session: Session) -> None:
    for message in session.each_of(document.conversations):
        _read_message(session, message)


def _fields(message: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a message, which may stand in ``data``, or in ``kwargs`` of a constructor."""
    inner = message.get("message") if "lc" in table_of(message.get("message")) else message  # of a generation
    inner = table_of(inner)
    return table_of(inner.get("data")) or table_of(inner.get("kwargs")) or inner


def _class(message: dict[str, Any]) -> str:
    """Return the type of a message, or the class that constructs it."""
    inner = table_of(message["message"]) if "lc" in table_of(message.get("message")) else message
    path = list_of(inner.get("id"))
    return str(path[-1] if path and inner.get("type") == "constructor" else inner.get("type"))


def _role(message: dict[str, Any]) -> str | None:
    inner = table_of(message["message"]) if "lc" in table_of(message.get("message")) else message
    if "role" in inner or not ("content" in _fields(message) or "tool_calls" in _fields(message)):
        return None
    return _ROLES.get(_class(message))


def _read_message(session: Session, message: dict[str, Any]) -> None:
    role, fields = _role(message), _fields(message)
    content = fields.get("content")
    texts = chat.texts_in(content)
    if role == "user":
        session.ask(*texts)
    elif role == "assistant":
        for text in texts:
            session.say(text, piece=_class(message) == "AIMessageChunk")
        for call in list_of(fields.get("tool_calls")) + list_of(fields.get("invalid_tool_calls")):
            session.call(table_of(call).get("id"), table_of(call).get("name"), table_of(call).get("args"))
        more = table_of(fields.get("additional_kwargs"))
        if not fields.get("tool_calls"):
            chat.read_calls(
                session, more.get("tool_calls") or [one for one in [more.get("function_call")] if one]
            )
            _read_blocks(session, content)
    elif role == "tool":
        failed = True if fields.get("status") == "error" else None
        session.result(fields.get("tool_call_id"), text_of(content), failed, name=fields.get("name"))
    elif role is None:
        session.unread_line(message.get("type"), message)


def _read_blocks(session: Session, content: Any) -> None:
    for block in content if isinstance(content, list) else [content]:
        if table_of(block).get("type") == "tool_use":
            session.call(block.get("id"), block.get("name"), block.get("input"))
        elif (
            isinstance(block, dict) and chat.text_in(block) is None and not chat.is_silent(block.get("type"))
        ):
            session.unread_block(block.get("type"), block)
