"""Codex' rollouts: items of Responses, in envelopes ``{type, payload}`` since autumn 2025, bare before."""

from __future__ import annotations

from solvent.adequacy.formats import openai_responses
from solvent.adequacy.formats.document import Document
from solvent.adequacy.formats.session import Session
from solvent.adequacy.formats.texts import table_of

NAME = "Codex"

_ENVELOPES = {"session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state"}


def sniff(document: Document) -> bool:
    return openai_responses.is_rollout(document) or any(
        str(value.get("type")) in _ENVELOPES and isinstance(value.get("payload"), dict)
        for value in document.head
    )


def turns(document: Document, session: Session) -> None:
    name = ""
    for value in session.each(document.entries):
        payload = table_of(value.get("payload"))
        if value.get("type") == "session_meta":
            name = str(payload.get("id") or name)
        session.enter(name)
        if value.get("type") == "response_item":
            openai_responses.read_item(session, payload)
        elif payload.get("type") == "thread_rolled_back":
            session.counts["turns rolled back by the user, read all the same"] += 1
        elif "payload" not in value and "type" in value:
            openai_responses.read_item(session, value)
        elif "type" in value and str(value["type"]) not in _ENVELOPES:
            session.unread_line(value["type"], value)
