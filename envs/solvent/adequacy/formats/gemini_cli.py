"""Gemini CLI's sessions: messages of the type ``user`` or ``gemini``, as one document or one per line.

A later line with the same id replaces the earlier one, and ``$rewindTo`` takes back a message and all after it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from solvent.adequacy.formats.document import Document
from solvent.adequacy.formats.gemini_api import response_words
from solvent.adequacy.formats.session import Session
from solvent.adequacy.formats.texts import list_of, table_of, text_of

NAME = "Gemini CLI"

_FAILED = ("error", "cancelled")
_SILENT = ("info", "error", "warning", "system")


def sniff(document: Document) -> bool:
    lines = [
        *document.head,
        *(table_of(one) for value in document.head for one in list_of(value.get("messages"))),
    ]
    return any(_is_message(line) or "$set" in line for line in lines)


def turns(document: Document, session: Session) -> None:
    for _, value in document.entries:
        if "messages" in table_of(value):
            session.enter(value.get("sessionId"))
            _read(session, enumerate(list_of(value["messages"]), start=1))
        elif "projectHash" in table_of(value) or "startTime" in table_of(value):
            session.enter(value.get("sessionId"))
    _read(session, ((line, value) for line, value in document.entries if "messages" not in table_of(value)))


def _is_message(value: dict[str, Any]) -> bool:
    own = value.get("type") == "gemini" or (value.get("type") in ("user", *_SILENT) and "id" in value)
    return own and "message" not in value and isinstance(value.get("content"), str | list)


def _read(session: Session, values: Iterable[tuple[int, Any]]) -> None:
    latest: dict[str, tuple[int, Any]] = {}
    for line, value in values:
        table = table_of(value)
        if "$rewindTo" in table:
            kept = list(latest)
            target = str(table["$rewindTo"])
            place = kept.index(target) if target in latest else len(kept)
            latest = {key: latest[key] for key in kept[:place]}
            continue
        for message in list_of(table_of(table.get("$set")).get("messages")) or [value]:
            key = str(table_of(message).get("id") or f"line {line}")
            latest[key] = (latest[key][0] if key in latest else line, message)
    for message in session.each(latest.values()):
        _read_message(session, message)


def _read_message(session: Session, message: dict[str, Any]) -> None:
    kind = message.get("type")
    if kind == "user":
        session.ask(_words(message.get("content")))
    elif kind == "gemini":
        session.say(_words(message.get("content")))
        for call in list_of(message.get("toolCalls")):
            _read_call(session, table_of(call))
    elif kind not in _SILENT and "$set" not in message and "sessionId" not in message:
        session.unread_line(kind, message)


def _words(content: Any) -> str:
    parts = [part for part in list_of(content) if not table_of(part).get("thought")]
    return text_of(parts if isinstance(content, list) else content)


def _read_call(session: Session, call: dict[str, Any]) -> None:
    key, status = call.get("id"), call.get("status")
    session.call(key, call.get("name"), call.get("args"))
    responses = [
        table_of(table_of(part).get("functionResponse")).get("response")
        for part in list_of(call.get("result"))
    ]
    results = [response_words(response) for response in responses if response is not None]
    failed = True if status in _FAILED or any(flag for _, flag in results) else None
    if results or failed:
        session.result(key, "\n".join(text_of(value) for value, _ in results), failed)
