"""Calls that a model without native ones writes into its text: ``<tool_call>``, ``<function=>``, ``<invoke>``.

Such text is read as calls only if the document has no native calls, and an observation follows the first one: in a
program with native calls it is text, and the user's next words are the user's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from solvent.adequacy.formats import chat
from solvent.adequacy.formats.document import Document
from solvent.adequacy.formats.session import Session
from solvent.adequacy.formats.texts import json_object

NAME = "calls in text"

OBSERVATION = re.compile(
    r"(?is)\s*(<returncode>|<output|<observation|<tool_response>|<function_results>|observation:|execution result of \["
    r"|exit code|\[File: )|.*\n?(bash-\$\s*\Z|\((current directory|open file): )"
)
"""Beginning, or end in a terminal, of a program's answer to a call in the text."""

_JSON = re.compile(r"(?s)<tool_call>\s*(\{.*?\})\s*</tool_call>")
_FUNCTION = re.compile(
    r'(?s)<(?:function=|(?:\w+:)?invoke name=")([\w.-]+)"?>(.*?)</(?:\w+:)?(?:function|invoke)>'
)
_PARAMETER = re.compile(
    r'(?s)<(?:parameter=|(?:\w+:)?parameter name=")([\w.-]+)"?>\s*(.*?)\s*</(?:\w+:)?parameter>'
)
_WRAPPER = re.compile(r"</?(?:\w+:)?function_calls>|</?tool_call>")
_RESPONSE = re.compile(r"(?s)<tool_response>\s*(.*?)\s*</tool_response>")

Call = tuple[str, dict[str, Any]]


def sniff(document: Document) -> bool:
    return precedes_observation(document, lambda text: bool(_calls_in(text)[0]))


def turns(document: Document, session: Session) -> None:
    for conversation in document.conversations:
        session.enter(conversation.name)
        waiting = 0
        for message in session.each(conversation.messages):
            waiting = _read_message(session, message, waiting)


def precedes_observation(document: Document, has_call: Callable[[str], bool]) -> bool:
    """Return whether a program's answer follows the first text with a call, in a document without native calls."""
    if not document.message_keys.isdisjoint(("tool_calls", "function_call")):
        return False
    asked = False
    for role, text in _spoken(document):
        if asked:
            return role == "tool" or (role == "user" and OBSERVATION.match(text) is not None)
        asked = role == "assistant" and has_call(text)
    return False


def text_in(message: dict[str, Any]) -> str:
    """Return the text of a message."""
    return "\n".join(chat.texts_in(message.get("content")))


def _spoken(document: Document) -> Iterator[tuple[str, str]]:
    for message in document.messages:
        role = chat.ROLES.get(message["role"])
        if role in ("user", "assistant", "tool") and not message.get("is_demo"):
            yield role, text_in(message)


def _read_message(session: Session, message: dict[str, Any], waiting: int) -> int:
    """Read a message after so many calls without a result; return how many there are now."""
    role, text = chat.ROLES.get(str(message.get("role"))), text_in(message)
    if role == "assistant":
        calls, words = _calls_in(text)
        session.say(words)
        for name, arguments in calls:
            session.call("", name, arguments)
        return len(calls)
    if waiting and (role == "tool" or (role == "user" and OBSERVATION.match(text))):
        pieces = _RESPONSE.findall(text) or [text.strip()]
        for piece in pieces[:waiting]:
            session.result("", piece)
        return waiting - len(pieces)
    chat.read_message(session, message, chat.block)
    return 0 if role == "user" else waiting


def _calls_in(text: str) -> tuple[list[Call], str]:
    """Return the calls in a text, and the text without them."""
    calls: list[Call] = []
    for inner in _JSON.findall(text):
        table = json_object(inner)
        if isinstance(table.get("name"), str):
            calls.append((table["name"], table.get("arguments") or {}))
    for name, inner in _FUNCTION.findall(text):
        parameters = dict(_PARAMETER.findall(inner))
        if parameters or not inner.strip():
            calls.append((name, parameters))
    if not calls:
        return [], text
    return calls, _WRAPPER.sub("", _FUNCTION.sub("", _JSON.sub("", text)))
