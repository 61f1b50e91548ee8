"""SWE-agent and mini-swe-agent without native calls: a command in a fence, its output as the user's next message."""

from __future__ import annotations

import re
from typing import Any

from solvent.adequacy.formats import chat
from solvent.adequacy.formats.document import Document
from solvent.adequacy.formats.session import SUBMISSION, Session
from solvent.adequacy.formats.text_calls import OBSERVATION, precedes_observation, text_in

NAME = "SWE-agent, mini-swe-agent"

_FENCE = re.compile(r"(?s)```(?:bash|sh|shell|mswea_bash_command)?[ \t]*\n(.*?)\n?```")
_MARKUP = re.compile(r"<tool_call>|<function=|<(?:\w+:)?invoke ")


def sniff(document: Document) -> bool:
    return precedes_observation(
        document, lambda text: len(_FENCE.findall(text)) == 1 and not _MARKUP.search(text)
    )


def turns(document: Document, session: Session) -> None:
    for conversation in document.conversations:
        session.enter(conversation.name)
        command = ""
        for message in session.each(conversation.messages):
            command = _read_message(session, message, command)


def _read_message(session: Session, message: dict[str, Any], command: str) -> str:
    """Read a message after a command that may still get its output; return the command that waits after it."""
    role, text = chat.ROLES.get(str(message.get("role"))), text_in(message)
    has_output = isinstance(message.get("message_type"), str) or OBSERVATION.match(text)
    if command and role == "user" and has_output:
        session.call("", "bash", {"command": command})
        session.result("", text)
        return ""
    if role != "assistant" or message.get("is_demo"):
        chat.read_message(session, message, chat.block)
        return "" if role == "user" else command
    action, fences = message.get("action"), _FENCE.findall(text)
    command = action if isinstance(action, str) else fences[0] if len(fences) == 1 else ""
    if SUBMISSION.fullmatch(command):
        session.say(_FENCE.sub("", text))
        session.call("", "submit", {})
        return ""
    session.say(text)
    return command.strip()
