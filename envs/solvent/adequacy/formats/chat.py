"""Messages ``{role, content, tool_calls}`` of chat completions, and what the formats share that are built on them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

from solvent.adequacy.formats.document import Document
from solvent.adequacy.formats.session import EVIDENCE, Session
from solvent.adequacy.formats.texts import PICTURE, cut, list_of, table_of

NAME = "chat completions"
GENERAL = True

Block = Callable[[Session, dict[str, Any]], None]
"""Reads a block of a message that is not text."""

ROLES = {
    **dict.fromkeys(("user", "human"), "user"),
    **dict.fromkeys(("assistant", "model", "ai", "agent"), "assistant"),
    **dict.fromkeys(("tool", "function", "ipython"), "tool"),
    **dict.fromkeys(("system", "developer", "exit", "info"), "program"),
}
_TEXT = {"text", "input_text", "output_text", "refusal"}
_SILENT = re.compile(
    r"(?i).*(thinking|reasoning|thought|document|snapshot|refusal|upload|cache_?point).*|file|input_file|source.*"
)
_KEYS = (
    *("role", "content", "parts", "name", "tool_calls", "function_call", "tool_call_id", "tool_call_ids"),
    *("toolInvocations", "toolUseResult", "tool_call_chunks", "invalid_tool_calls"),
)


def sniff(document: Document) -> bool:
    return any(
        message["role"] in ROLES and not message.keys().isdisjoint(("content", "parts", "tool_calls"))
        for message in document.messages
    )


def turns(document: Document, session: Session) -> None:
    read(document, session, block)


def read(document: Document, session: Session, read_block: Block) -> None:
    """Read the conversations of a document whose blocks ``read_block`` knows."""
    for message in session.each_of(document.conversations):
        read_message(session, message, read_block)


def read_message(session: Session, message: dict[str, Any], read_block: Block) -> None:
    """Read a message of any role."""
    if message.get("is_demo") or message.get("message_type") == "demonstration":  # of SWE-agent
        return
    role = ROLES.get(str(message.get("role")))
    if role == "user":
        _read_question(session, message, read_block)
    elif role == "assistant":
        _read_answer(session, message, read_block)
    elif role == "tool":
        read_result(session, message)
    elif role is None and "role" in message:
        session.unread_role(message["role"])
    elif role is None:
        session.unread_line(message.get("type", ", ".join(list(message)[:4])), message)


def _read_question(session: Session, message: dict[str, Any], read_block: Block) -> None:
    blocks = _blocks_of(message)
    for one in blocks:
        if text_in(one) is None:
            _read_block(session, one, read_block)
    session.ask(*texts_in(blocks))


def _read_answer(session: Session, message: dict[str, Any], read_block: Block) -> None:
    commentary = message.get("phase") == "commentary"  # of Codex
    for one in _blocks_of(message):
        text = text_in(one)
        if text is None:
            _read_block(session, one, read_block)
        elif not commentary:
            session.say(text)
    session.say(message.get("refusal"))
    read_calls(session, message.get("tool_calls"))
    if function := message.get("function_call"):
        read_calls(session, [function])
    note_unknown_keys(session, message, _KEYS)


def _blocks_of(message: dict[str, Any]) -> list[Any]:
    """Return the content of a message as a list."""
    content = message.get("content")
    if content is None:
        content = message.get("parts")
    if content is None:
        return []
    return content if isinstance(content, list) else [content]


def read_calls(session: Session, calls: Any) -> None:
    """Read the calls of an assistant's message, some of which have their result inside."""
    if calls and not isinstance(calls, list):
        session.unread("calls not read because they are not JSON objects", "call")
    for call in list_of(calls):
        if not isinstance(call, dict):
            session.unread("calls not read because they are not JSON objects", "call")
            continue
        inner = table_of(call.get("function")) or table_of(call.get("custom")) or call
        name = inner.get("name") or call.get("function")
        arguments = next(
            (inner[key] for key in ("arguments", "input", "args") if inner.get(key) is not None), None
        )
        key = call.get("id") or call.get("call_id")
        session.call(key, name, arguments)
        value, error = call.get("result", call.get("output")), call.get("error")
        if value is not None or error:
            value = error if value is None and isinstance(error, str) else value
            session.result(key, value, None if error is None else bool(error), name=name)


def read_result(session: Session, message: dict[str, Any]) -> None:
    """Read a message of a tool."""
    key = message.get("tool_call_id") or message.get("tool_call_ids") or message.get("call_id")
    flags = [bool(message[name]) for name in ("is_error", "isError") if name in message]
    flags += [True] if message.get("status") == "error" else []
    code = table_of(message.get("extra")).get("returncode")  # of mini-swe-agent
    session.result(key, message.get("content"), *flags, code=code, name=message.get("name"))


def block(session: Session, one: dict[str, Any]) -> None:
    """Read a call or a result that a converter has made a block of a message."""
    kind = one.get("type")
    if kind == "tool_call":
        session.call(one.get("tool_call_id") or one.get("id"), one.get("name"), one.get("arguments"))
    elif kind in ("tool_output", "tool_result"):
        session.result(one.get("tool_call_id") or one.get("id"), one.get("text", one.get("content")))
    else:
        session.unread_block(kind if isinstance(kind, str) else " ".join(list(one)[:4]) or "none", one)


def text_in(one: Any) -> str | None:
    """Return the text of a block, or None if it is another block."""
    if isinstance(one, str):
        return str(cut(one))
    if not isinstance(one, dict) or str(one.get("type", "text")) not in _TEXT:
        return None
    text = one.get("text", one.get("refusal"))
    return str(cut(text)) if isinstance(text, str) else None


def texts_in(content: Any) -> list[str]:
    """Return the texts of a message's content, which is a text, a block or a list of both."""
    blocks = content if isinstance(content, list) else [content]
    return [text for text in map(text_in, blocks) if text]


def note_unknown_keys(session: Session, table: Mapping[str, Any], known: Collection[str]) -> None:
    """Note the keys that look like calls and are not known."""
    for key, value in table.items():
        if key not in known and value and isinstance(value, list | dict) and EVIDENCE.match(key):
            session.unread(f"keys not read: {key[:60]!r}", key)


def _read_block(session: Session, one: Any, read_block: Block) -> None:
    if not isinstance(one, dict):
        session.unread_block(type(one).__name__, {})
    elif not (is_silent(one.get("type")) or (one.get("type") is None and any(map(is_silent, one)))):
        read_block(session, one)


def is_silent(kind: object) -> bool:
    """Return whether a block of this type says nothing that counts: a thought, a picture, an attached file."""
    return isinstance(kind, str) and bool(_SILENT.fullmatch(kind) or PICTURE.fullmatch(kind))
