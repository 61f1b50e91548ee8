"""Qwen Code's sessions: lines in a tree as Claude Code's, whose messages have the parts of the Gemini API."""

from __future__ import annotations

from solvent.adequacy.formats.branches import rewound_lines
from solvent.adequacy.formats.document import Document
from solvent.adequacy.formats.gemini_api import read_content
from solvent.adequacy.formats.session import Session
from solvent.adequacy.formats.texts import table_of

NAME = "Qwen Code"

_SILENT = ("system", "result", "attachment")


def sniff(document: Document) -> bool:
    return any("type" in value and "parts" in table_of(value.get("message")) for value in document.head)


def turns(document: Document, session: Session) -> None:
    left_out = rewound_lines(document, session)
    for value in session.each(document.entries):
        if session.line in left_out:
            continue
        session.enter(value.get("sessionId"), value.get("agentId") if value.get("isSidechain") else "")
        message = table_of(value.get("message"))
        if "parts" in message:
            read_content(session, message)
        elif value.get("type") not in _SILENT:
            session.unread_line(value.get("type"), value)
