"""Claude Code's sessions and the stream of its SDK: lines ``{type, message}`` with Anthropic's blocks.

Branches that the user has given up are left out (``branches``). A child run is marked by ``isSidechain`` or
``parent_tool_use_id``. A ``<task-notification>`` in the user's name is the end of a call that runs in the background.
"""

from __future__ import annotations

import re
from typing import Any

from solvent.adequacy.formats import anthropic, chat
from solvent.adequacy.formats.branches import rewound_lines
from solvent.adequacy.formats.document import Document
from solvent.adequacy.formats.session import Session
from solvent.adequacy.formats.texts import result_of, table_of
from solvent.adequacy.formats.user_words import FEEDBACK

NAME = "Claude Code"

_SILENT = re.compile(
    r"system|summary|result|attachment|progress|queue-operation|file-history-\w+|last-prompt|(custom|ai)-title|agent-\w+"
    r"|tag|.*mode|pr-link|stream_event|rate_limit_event|tool_progress|tool_use_summary|model_change|thinking_.*"
)
_NOTIFICATION = re.compile(r"(?s)<task-notification>(.*?)</task-notification>")
_FIELD = re.compile(r"(?s)<([\w-]+)>(.*?)</\1>")
_CODE = re.compile(r"exit code (-?\d+)")
_ENDED = {"completed": False, "failed": True, "killed": True, "stopped": True, "error": True}


def sniff(document: Document) -> bool:
    kinds = {str(value.get("type")) for value in document.head}
    return "tool_call" not in kinds and any(_is_message(value) for value in document.head)


def turns(document: Document, session: Session) -> None:
    left_out = rewound_lines(document, session)
    roots: dict[str, str] = {}  # of side chains without a name
    for value in session.each(document.entries):
        if session.line not in left_out:
            session.enter(value.get("sessionId") or value.get("session_id"), _child(value, roots))
            _read_line(session, value)


def _is_message(value: dict[str, Any]) -> bool:
    return value.get("type") in ("user", "assistant") and "content" in table_of(value.get("message"))


def _child(value: dict[str, Any], roots: dict[str, str]) -> str:
    """Return the name of the child run of a line, empty for the main agent."""
    if not value.get("isSidechain"):
        return str(value.get("parent_tool_use_id") or "")
    root = roots.get(str(value.get("parentUuid")), str(value.get("uuid")))
    roots[str(value.get("uuid"))] = root
    return str(value.get("agentId") or root)


def _read_line(session: Session, value: dict[str, Any]) -> None:
    message, attachment = table_of(value.get("message")), table_of(value.get("attachment"))
    if message:
        _read_message(session, value, message)
    elif attachment.get("type") == "hook_blocking_error" and "Stop" in str(attachment.get("hookEvent")):
        session.feedback()
    elif attachment.get("type") == "queued_command":
        _read_user(session, {"content": attachment.get("prompt")})
    elif not _SILENT.fullmatch(str(value.get("type"))):
        session.unread_line(value.get("type"), value)


def _read_message(session: Session, value: dict[str, Any], message: dict[str, Any]) -> None:
    by_program = ("isCompactSummary", "isReplay", "isApiErrorMessage")
    if any(value.get(key) for key in by_program) or message.get("model") == "<synthetic>":
        return
    if message.get("role", value.get("type")) != "user":
        chat.read_message(session, {"role": "assistant", **message}, anthropic.block)
    elif not value.get("isMeta") or FEEDBACK.match("\n".join(chat.texts_in(message.get("content")))):
        _read_user(session, message)


def _read_user(session: Session, message: dict[str, Any]) -> None:
    for text in chat.texts_in(message.get("content")):
        for notification in _NOTIFICATION.findall(text):
            _complete(session, notification)
    chat.read_message(session, {**message, "role": "user"}, anthropic.block)


def _complete(session: Session, notification: str) -> None:
    """Take the end of a call that ran in the background."""
    fields = dict(_FIELD.findall(notification))
    summary = "\n".join(filter(None, (fields.get("summary"), fields.get("result"))))
    code = _CODE.search(fields.get("summary", ""))
    text, failed = result_of(
        summary, _ENDED.get(fields.get("status", "").strip()), code=int(code[1]) if code else None
    )
    session.complete(text, failed, key=fields.get("tool-use-id", ""), mark=fields.get("task-id", ""))
