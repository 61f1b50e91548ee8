"""OpenTelemetry's conventions for generative AI: messages in parts, in attributes of spans or as bare lists.

A span holds the conversation so far, and its answer in ``gen_ai.output.messages``.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from solvent.adequacy.formats import chat
from solvent.adequacy.formats.document import Document
from solvent.adequacy.formats.session import Session
from solvent.adequacy.formats.texts import list_of, table_of, text_of
from solvent.files import strict_json

NAME = "OpenTelemetry GenAI"

_INPUT, _OUTPUT = "gen_ai.input.messages", "gen_ai.output.messages"
_INNER = ("data", "events", "logRecords", "scopeLogs", "resourceLogs", "spans", "scopeSpans", "resourceSpans")
_HEAD = 1000
_BROKEN = {"role": "tool", "parts": [{"type": "calls and results that are not JSON"}]}
"""Stands for messages in a text that is not JSON, such as one that a limit of the exporter cut off."""
_SILENT = ("reasoning", "blob", "file", "uri")


def sniff(document: Document) -> bool:
    bare = any(_is_part(part) for message in document.messages for part in list_of(message.get("parts")))
    return bare or any(_INPUT in span or _OUTPUT in span for span in islice(_spans(document), _HEAD))


def turns(document: Document, session: Session) -> None:
    requests = [
        (_trace(span), [*_decoded(span.get(_INPUT)), *_decoded(span.get(_OUTPUT))])
        for span in _spans(document)
        if _INPUT in span or _OUTPUT in span
    ]
    if not requests:
        requests = [(one.name, [message for _, message in one.messages]) for one in document.conversations]
    values = [
        (place, {"id": name or None, "messages": messages})
        for place, (name, messages) in enumerate(requests, 1)
    ]
    for conversation in Document(document.name, values).conversations:
        session.enter(conversation.name)
        for message in session.each(conversation.messages):
            _read_message(session, message)


def _is_part(part: Any) -> bool:
    kind = table_of(part).get("type")
    return (kind == "text" and "content" in part) or kind in ("tool_call", "tool_call_response")


def _spans(document: Document) -> Iterator[dict[str, Any]]:
    """Yield the attributes of the spans and their events, however deep they stand in an export."""
    waiting: list[Any] = [value for _, value in reversed(document.entries)]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting += reversed(value)
        elif isinstance(value, dict):
            trace = value.get("traceId") or table_of(value.get("context")).get("trace_id")
            yield {"trace": trace, **value, **_attributes(value.get("attributes", value.get("Attributes")))}
            waiting += [value[key] for key in _INNER if isinstance(value.get(key), list | dict)]


def _attributes(attributes: Any) -> dict[str, Any]:
    """Return attributes as an object; an export in JSON has a list of keys and typed values."""
    if isinstance(attributes, list):
        return {str(one.get("key")): _value(one.get("value")) for one in map(table_of, attributes)}
    return table_of(attributes)


def _value(value: Any) -> Any:
    """Return the value in an object that names its type: ``{stringValue: ...}``."""
    kind, inner = next(iter(table_of(value).items()), ("", None))
    if kind == "arrayValue":
        return [_value(one) for one in list_of(table_of(inner).get("values"))]
    return _attributes(table_of(inner).get("values")) if kind == "kvlistValue" else inner


def _trace(span: dict[str, Any]) -> str:
    return str(span.get("gen_ai.conversation.id") or span.get("trace") or "")


def _decoded(messages: Any) -> list[Any]:
    if isinstance(messages, str) and messages.strip():
        try:
            messages = strict_json(messages)
        except ValueError:
            return [_BROKEN]
    return list_of(messages)


def _read_message(session: Session, message: dict[str, Any]) -> None:
    role = chat.ROLES.get(str(message.get("role")))
    for part in map(table_of, list_of(message.get("parts"))):
        kind, text = str(part.get("type")), text_of(part.get("content"))
        if kind == "text" and role == "user":
            session.ask(text)
        elif kind == "text" and role == "assistant":
            session.say(text)
        elif kind == "tool_call":
            session.call(part.get("id"), part.get("name"), part.get("arguments"))
        elif kind == "tool_call_response":
            value = part.get("response", part.get("result"))
            session.result(part.get("id"), value, part.get("is_error"), name=part.get("name"))
        elif kind == "text" and role is None:
            session.unread_role(message.get("role"))
        elif kind not in _SILENT and kind != "text":
            session.unread_block(kind, part)
