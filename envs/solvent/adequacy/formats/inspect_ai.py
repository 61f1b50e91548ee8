"""Logs of Inspect in JSON: samples with the messages of a chat, whose calls have the function as text."""

from __future__ import annotations

from typing import Any

from solvent.adequacy.formats import chat
from solvent.adequacy.formats.document import Document
from solvent.adequacy.formats.session import Session
from solvent.adequacy.formats.texts import list_of, table_of

NAME = "Inspect"


def sniff(document: Document) -> bool:
    samples = (sample for value in document.head for sample in (*list_of(value.get("samples")), value))
    return any(_is_sample(table_of(sample)) for sample in samples)


def turns(document: Document, session: Session) -> None:
    for value in session.each(document.entries):
        for sample in map(table_of, list_of(value.get("samples")) or [value]):
            session.enter(
                f"{sample.get('id')}/{sample['epoch']}" if sample.get("epoch") else sample.get("id")
            )
            for message in session.each(enumerate(list_of(sample.get("messages")), start=1)):
                _read_message(session, message)


def _is_sample(sample: dict[str, Any]) -> bool:
    own = "epoch" in sample or "scores" in sample or "target" in sample
    return own and any("role" in table_of(message) for message in list_of(sample.get("messages")))


def _read_message(session: Session, message: dict[str, Any]) -> None:
    if message.get("role") != "tool":
        chat.read_message(session, message, chat.block)
        return
    error = table_of(message.get("error"))
    value = message.get("content") or error.get("message")
    name = str(message.get("function") or "unknown")
    session.result(message.get("tool_call_id"), value, True if error else None, name=name)
