"""Bedrock Converse, which Strands keeps its sessions in: blocks ``toolUse`` and ``toolResult`` without a type."""

from __future__ import annotations

from typing import Any

from solvent.adequacy.formats import chat
from solvent.adequacy.formats.document import Document
from solvent.adequacy.formats.session import Session
from solvent.adequacy.formats.texts import list_of, table_of, text_of

NAME = "Bedrock Converse"


def sniff(document: Document) -> bool:
    return not document.block_kinds.isdisjoint(("toolUse", "toolResult"))


def turns(document: Document, session: Session) -> None:
    chat.read(document, session, _block)


def _block(session: Session, block: dict[str, Any]) -> None:
    use, result = table_of(block.get("toolUse")), table_of(block.get("toolResult"))
    if use:
        session.call(use.get("toolUseId"), use.get("name"), use.get("input"))
    elif result:
        parts = [
            part["json"] if "json" in table_of(part) else part for part in list_of(result.get("content"))
        ]
        failed = True if result.get("status") == "error" else None
        session.result(result.get("toolUseId"), "\n".join(map(text_of, parts)), failed)
    else:
        chat.block(session, block)
