"""VS Code's export of a chat: requests with their rounds of calls, and the response in parts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from solvent.adequacy.formats.document import Document
from solvent.adequacy.formats.session import Session
from solvent.adequacy.formats.texts import list_of, table_of, text_of

NAME = "VS Code chat"


def sniff(document: Document) -> bool:
    return any(_is_request(request) for value in document.head for request in list_of(value.get("requests")))


def turns(document: Document, session: Session) -> None:
    for value in session.each(document.entries):
        session.enter(value.get("sessionId"))
        for place, request in enumerate(list_of(value.get("requests")), start=1):
            session.line = place
            if _is_request(request):
                _read_request(session, request)
            else:
                session.unread_line("request", table_of(request))


def _is_request(request: Any) -> bool:
    return "message" in table_of(request) and isinstance(request.get("response"), list)


def _read_request(session: Session, request: dict[str, Any]) -> None:
    message = request["message"]
    session.ask(text_of(message if isinstance(message, str) else table_of(message).get("text")))
    parts = [table_of(part) for part in request["response"]]
    metadata = table_of(table_of(request.get("result")).get("metadata"))
    rounds = [table_of(one) for one in list_of(metadata.get("toolCallRounds"))]
    calls = [table_of(call) for one in rounds for call in list_of(one.get("toolCalls"))]
    invocations = [part for part in parts if "toolCallId" in part]
    if calls:
        _read_calls(session, calls, invocations, table_of(metadata.get("toolCallResults")))
    else:
        for part in invocations:
            _read_invocation(session, part)
    places = [place for place, part in enumerate(parts) if "toolCallId" in part]
    answer = "".join(map(_words, parts[places[-1] + 1 if places else 0 :]))
    session.say(answer if answer.strip() else text_of(rounds[-1].get("response")) if rounds else "")


def _read_calls(
    session: Session, calls: list[dict[str, Any]], invocations: list[dict[str, Any]], results: dict[str, Any]
) -> None:
    """Read the calls of the rounds; the exit codes stand in the parts of the response."""
    by_id = {str(part["toolCallId"]): part for part in invocations}
    in_order = invocations if len(invocations) == len(calls) else [{}] * len(calls)
    for call, other in zip(calls, in_order, strict=True):
        key = str(call.get("id"))
        session.call(key, call.get("name"), call.get("arguments"))
        result = results.get(key)
        if result is not None:
            code = _code(by_id.get(key, other))
            session.result(
                key, "\n".join(_content(one) for one in list_of(table_of(result).get("content"))), code=code
            )


def _read_invocation(session: Session, part: dict[str, Any]) -> None:
    """Read a call of which only its part in the response was kept."""
    data = table_of(part.get("toolSpecificData"))
    command = table_of(data.get("commandLine")).get("original")
    arguments = {"command": command} if command else table_of(data.get("rawInput"))
    session.call(part["toolCallId"], part.get("toolId"), arguments)
    output = table_of(data.get("terminalCommandOutput")).get("text") or part.get("resultDetails")
    if output or _code(part) is not None:
        session.result(part["toolCallId"], output, code=_code(part))


def _code(part: dict[str, Any]) -> Any:
    return table_of(table_of(part.get("toolSpecificData")).get("terminalCommandState")).get("exitCode")


def _content(one: Any) -> str:
    """Return the text of a part of a result; files are shown as trees of nodes with a ``text`` each."""
    value = table_of(one).get("value", one)
    root = table_of(value).get("node")
    return "".join(_texts(root)) if root else text_of(value)


def _texts(node: Any) -> Iterator[str]:
    yield str(table_of(node).get("text") or "")
    for child in list_of(table_of(node).get("children")):
        yield from _texts(child)


def _words(part: dict[str, Any]) -> str:
    """Return the text of a part of the response: markdown, or the name of what it refers to."""
    kind = part.get("kind", "markdownContent")
    if kind == "inlineReference":
        reference = table_of(part.get("inlineReference"))
        return f"`{reference.get('name') or str(reference.get('path', '')).rpartition('/')[2]}`"
    value = part.get("value", part.get("content")) if kind == "markdownContent" else ""
    return text_of(table_of(value).get("value", value))
