"""Contents of the Gemini API: ``{role, parts}`` with ``functionCall`` and ``functionResponse``."""

from __future__ import annotations

from typing import Any

from solvent.adequacy.formats import chat
from solvent.adequacy.formats.document import Document
from solvent.adequacy.formats.session import Session
from solvent.adequacy.formats.texts import list_of, table_of, text_of

NAME = "Gemini API"

_MARKS = ("functionCall", "functionResponse", "function_call", "function_response")


def sniff(document: Document) -> bool:
    typed = any(
        "type" in table_of(part) for message in document.messages for part in list_of(message.get("parts"))
    )
    in_parts = any(list_of(message.get("parts")) for message in document.messages)
    return not typed and (in_parts or not document.block_kinds.isdisjoint(_MARKS))


def turns(document: Document, session: Session) -> None:
    for message in session.each_of(document.conversations):
        read_content(session, message)


def read_content(session: Session, content: dict[str, Any]) -> None:
    """Read a content of the user or of the model."""
    parts = [table_of(part) for part in list_of(content.get("parts"))]
    role, words = chat.ROLES.get(str(content.get("role"))), _words(parts)
    for part in parts:
        if "text" not in part:
            _read_part(session, part)
    if role == "user" and words:
        session.ask(*words)
    elif role == "assistant":
        calls = any("functionCall" in part or "function_call" in part for part in parts)
        session.say("".join(words) if not calls else "")
    elif role is None:
        session.unread_line(content.get("type", content.get("role")), content)


def _words(parts: list[dict[str, Any]]) -> list[str]:
    """Return the texts of parts, without thoughts."""
    texts = [part.get("text") for part in parts if not part.get("thought")]
    return [text for text in texts if isinstance(text, str)]


def _read_part(session: Session, part: dict[str, Any]) -> None:
    call = table_of(part.get("functionCall") or part.get("function_call"))
    response = table_of(part.get("functionResponse") or part.get("function_response"))
    code = table_of(part.get("executableCode") or part.get("executable_code"))
    ran = table_of(part.get("codeExecutionResult") or part.get("code_execution_result"))
    if call:
        session.call(call.get("id"), call.get("name"), call.get("args"))
    elif response:
        value, failed = response_words(response.get("response"))
        session.result(response.get("id"), value, failed, name=response.get("name"))
    elif code:
        session.call(code.get("id"), "executableCode", {"code": code.get("code")})
    elif ran:
        failed = None if "outcome" not in ran else not str(ran["outcome"]).endswith("OK")
        session.result(ran.get("id"), ran.get("output"), failed, name="executableCode")
    elif not any(map(chat.is_silent, part)) and not part.get("thought"):
        session.unread_block(" ".join(list(part)[:4]) or "none", part)


def response_words(response: Any) -> tuple[Any, bool | None]:
    """Return the words of a function's response, and whether they tell of an error."""
    table = table_of(response)
    if table.get("error"):
        return text_of(table["error"]), True
    alone = next(
        (
            table[key]
            for key in ("output", "result", "content")
            if set(table) <= {key, "error"} and key in table
        ),
        response,
    )
    return alone, None
