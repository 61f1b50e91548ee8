"""A file of responses: ``{response, query?, id?, tool_calls | messages}`` on each line.

``tool_calls`` has ``{name, arguments, result, error}`` each; ``messages`` are those of any format.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from solvent.adequacy.formats import chat
from solvent.adequacy.formats.document import Document, is_response
from solvent.adequacy.formats.registry import claims
from solvent.adequacy.formats.session import Session
from solvent.adequacy.formats.texts import cut, list_of, text_of
from solvent.adequacy.formats.turns import Turn

NAME = "JSON lines with response and tool_calls"

_KEYS = ("response", "query", "id", "tool_calls", "messages")


def sniff(document: Document) -> bool:
    return any(is_response(value) for value in document.head)


def turns(document: Document, session: Session) -> None:
    for value in session.each(document.entries):
        if is_response(value):
            session.add(_turn(value, session))
        else:
            session.unread_line(value.get("type"), value)


def _turn(value: dict[str, Any], session: Session) -> Turn:
    inner = Session(session.name)
    messages = Document(session.name, [(1, list_of(value.get("messages")))])
    for form in claims(messages)[:1]:
        form.turns(messages, inner)
    chat.read_calls(inner, value.get("tool_calls"))
    chat.note_unknown_keys(inner, value, _KEYS)
    session.counts += inner.counts
    turn = inner.reading().last or Turn("", "", "")
    key = text_of(value.get("id"))[:400] or f"{session.name}:{session.line}"
    query = text_of(value.get("query")) or turn.query
    return replace(turn, id=cut(key), query=cut(query), response=cut(value["response"]))
