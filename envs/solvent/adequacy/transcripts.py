"""Read tool calls from the transcripts of two chat formats, as plain dictionaries.

- chat completions: ``tool_calls`` of an assistant's message (``function.name``, ``function.arguments`` as a JSON
  text) and messages of role ``tool`` with the ``tool_call_id``; also the older ``function_call``, answered by a message
  of role ``function`` with the ``name``;
- content blocks: ``tool_use`` (``name``, ``input``) and ``tool_result`` with the ``tool_use_id``; also those of tools
  that the server runs, ``server_tool_use`` and ``web_search_tool_result``, and their kin.

A call without an answer has the result None, "not recorded".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from solvent.adequacy.errors import AdequacyError
from solvent.files import strict_json

__all__ = ["arguments_of", "read_anthropic", "read_openai", "text_of"]

_MESSAGES = "allowed: a list of messages, each a table with a role and its content"


def read_openai(messages: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the calls of a chat-completions transcript, in order.

    Raises:
        AdequacyError: a message or call has another form, or an answer has no call.
    """
    calls: list[dict[str, Any]] = []
    waiting: dict[str, dict[str, Any]] = {}
    for where, message in _messages(messages):
        for i, given in enumerate(_listed(f"{where}.tool_calls", message.get("tool_calls"))):
            call = _openai_call(f"{where}.tool_calls[{i}]", given)
            calls.append(call)
            waiting[str(given.get("id"))] = call
        if message.get("function_call") is not None:
            calls.append(_openai_call(f"{where}.function_call", {"function": message["function_call"]}))
            waiting[f"function {calls[-1]['name']}"] = calls[-1]
        if message.get("role") == "function":
            text = text_of(where, message.get("content"))
            _answer(where, waiting, f"function {message.get('name')}", text)
        if message.get("role") == "tool":
            _answer(where, waiting, message.get("tool_call_id"), text_of(where, message.get("content")))
    return calls


def read_anthropic(messages: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the calls of a transcript of content blocks, in order.

    Raises:
        AdequacyError: a message or block has another form, or an answer has no call.
    """
    calls: list[dict[str, Any]] = []
    waiting: dict[str, dict[str, Any]] = {}
    for where, block in _blocks(messages):
        if str(block.get("type")).endswith("tool_use"):
            call = {"name": block.get("name"), "arguments": block.get("input") or {}, "result": None}
            calls.append(call)
            waiting[str(block.get("id"))] = call
        elif str(block.get("type")).endswith("tool_result"):
            call = _answer(where, waiting, block.get("tool_use_id"), text_of(where, block.get("content")))
            if block.get("is_error"):
                call["error"] = True
    return calls


def text_of(where: str, content: object) -> str:
    """Return the text of a content: a text, nothing, or blocks, whose texts are joined."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise AdequacyError(f"{where}.content: got {content!r:.80}; allowed: a text or a list of blocks")
    parts = [block if isinstance(block, str) else _block_text(where, block) for block in content]
    return "\n".join(part for part in parts if part)


def _block_text(where: str, block: object) -> str:
    if not isinstance(block, Mapping):
        raise AdequacyError(f"{where}.content: got the block {block!r:.80}; allowed: a table with a type")
    text = block.get("text")
    # A picture or a document has no words, but is still an answer.
    return text if isinstance(text, str) else f"[{block.get('type', 'block')}]"


def _messages(messages: object) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Iterable):
        raise AdequacyError(f"messages: got {messages!r:.80}; {_MESSAGES}")
    for i, message in enumerate(messages):
        if not isinstance(message, Mapping):
            raise AdequacyError(f"messages[{i}]: got {message!r:.80}; {_MESSAGES}")
        yield f"messages[{i}]", message


def _blocks(messages: object) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for where, message in _messages(messages):
        content = message.get("content")
        if isinstance(content, list):
            for i, block in enumerate(content):
                if isinstance(block, Mapping):
                    yield f"{where}.content[{i}]", block


def _listed(where: str, given: object) -> list[Any]:
    if given is None:
        return []
    if not isinstance(given, list):
        raise AdequacyError(f"{where}: got {given!r:.80}; allowed: a list of calls")
    return given


def _openai_call(where: str, given: object) -> dict[str, Any]:
    function = given.get("function") if isinstance(given, Mapping) else None
    if not isinstance(function, Mapping):
        raise AdequacyError(f"{where}: got {given!r:.80}; allowed: a call with a function")
    return {
        "name": function.get("name"),
        "arguments": arguments_of(function.get("arguments")),
        "result": None,
    }


def arguments_of(given: object) -> Any:
    """Return arguments given as JSON text; a text that is not JSON is kept under ``text``."""
    if given is None or given == "":
        return {}
    if not isinstance(given, str):
        return given
    try:
        read = strict_json(given)
    except ValueError:
        return {"text": given}
    return read if isinstance(read, dict) else {"value": read}


def _answer(where: str, waiting: dict[str, dict[str, Any]], key: object, text: str) -> dict[str, Any]:
    call = waiting.get(str(key))
    if call is None:
        raise AdequacyError(f"{where}: got an answer to {key!r:.80}; allowed: the id of an earlier call")
    call["result"] = text if call["result"] is None else f"{call['result']}\n{text}"
    return call
