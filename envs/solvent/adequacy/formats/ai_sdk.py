"""Messages of the AI SDK: model messages with ``tool-call`` and ``tool-result``, messages of its user interface."""

from __future__ import annotations

from typing import Any

from solvent.adequacy.formats import chat
from solvent.adequacy.formats.document import Document
from solvent.adequacy.formats.session import Session
from solvent.adequacy.formats.texts import list_of, table_of, text_of

NAME = "AI SDK"

_SILENT = (
    *("step-start", "reasoning", "file", "source-url", "source-document"),
    *("tool-approval-request", "tool-approval-response"),
)


def sniff(document: Document) -> bool:
    kinds = document.block_kinds
    own = any(kind.startswith("tool-") or kind in ("step-start", "dynamic-tool") for kind in kinds)
    return own or "toolInvocations" in document.message_keys


def turns(document: Document, session: Session) -> None:
    for message in session.each_of(document.conversations):
        _read_message(session, message)


def _read_message(session: Session, message: dict[str, Any]) -> None:
    """Read a message; older ones have their invocations beside the text, newer ones both there and as parts."""
    parts = list_of(message.get("parts"))
    if message.get("role") == "tool":
        for block in list_of(message.get("content")):
            _block(session, table_of(block))
        return
    if parts:
        message = {key: value for key, value in message.items() if key != "content"}
    elif invocations := list_of(message.get("toolInvocations")):
        for invocation in invocations:
            _read_part(session, table_of(invocation))
    chat.read_message(session, message, _block)


def _block(session: Session, block: dict[str, Any]) -> None:
    kind = str(block.get("type"))
    key, name = block.get("toolCallId"), block.get("toolName")
    if kind in _SILENT or kind.startswith("data-"):
        return
    if kind == "tool-call":
        session.call(key, name, block.get("input", block.get("args")))
    elif kind in ("tool-result", "tool-error"):
        _read_result(session, block, kind)
    elif kind == "tool-invocation":
        _read_part(session, table_of(block.get("toolInvocation")))
    elif (kind.startswith("tool-") or kind == "dynamic-tool") and key is not None:
        _read_part(session, {"toolName": kind.removeprefix("tool-"), **block})
    else:
        chat.block(session, block)


def _read_result(session: Session, block: dict[str, Any], kind: str) -> None:
    value = block.get("output", block.get("result", block.get("error")))
    typed, failed = table_of(value), block.get("isError")
    form = str(typed.get("type"))
    if "type" in typed and "value" in typed:
        value = typed["value"]
    if form == "execution-denied":
        value = typed.get("reason") or "denied"
    if kind == "tool-error" or form.startswith("error") or form == "execution-denied":
        failed = True
    session.result(block.get("toolCallId"), value, failed, name=block.get("toolName"))


def _read_part(session: Session, part: dict[str, Any]) -> None:
    """Read a call with its state and its result in one part."""
    key, state = part.get("toolCallId"), part.get("state")
    session.call(key, part.get("toolName"), part.get("input", part.get("args")))
    if state in ("output-error", "output-denied"):
        session.result(key, text_of(part.get("errorText")), True)
    elif "output" in part or "result" in part:
        session.result(key, part.get("output", part.get("result")))
