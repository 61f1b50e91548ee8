"""The conversations in JSON values: messages one per line, lists of them, requests with their replies.

A list that begins with an earlier conversation is its continuation: logs of requests hold in each line the
conversation so far.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from solvent.adequacy.formats.texts import list_of, table_of

__all__ = ["Conversation", "conversations_in"]

_LISTS = ("messages", "history", "conversation", "items", "contents")
_REQUESTS = ("request", "inputs", "input")
_REPLIES = ("outputs", "output", "response", "choices", "candidates", "generations")
_SAME = ("role", "content", "parts", "tool_calls", "tool_call_id")


@dataclass
class Conversation:
    """Messages in order, with their lines or their places in a list.

    Attributes:
        name: of the session; empty if it has none but the file's.
        messages: numbered; a line that is not JSON is a text.
    """

    name: str
    messages: list[tuple[int, Any]] = field(default_factory=list)


def conversations_in(entries: Iterable[tuple[int, Any]], file: str) -> list[Conversation]:
    """Return the conversations in the lines of a file, or in the elements of a list."""
    bare = Conversation("")
    conversations = [bare]
    by_end: dict[int, Conversation] = {}  # by the mark of all its messages
    for number, value in entries:
        messages = _messages(value)
        if messages is None:
            bare.messages.append((number, _unwrapped(value)))
            continue
        marks = _marks(messages)
        known = next((place for place in range(len(marks), 0, -1) if marks[place - 1] in by_end), 0)
        if known:
            conversation = by_end.pop(marks[known - 1])
        else:
            conversation = Conversation(_name(value) or (f"{file}:{number}" if number > 1 else ""))
            conversations.append(conversation)
        conversation.messages += list(enumerate(messages, start=1))[known:]
        if marks:
            by_end[marks[-1]] = conversation
    return [conversation for conversation in conversations if conversation.messages]


def _name(value: Any) -> str:
    table = table_of(value)
    return str(table.get("sessionId") or table.get("session_id") or table.get("id") or "")


def _messages(value: Any) -> list[Any] | None:
    """Return the messages in a list or an object, in order; None if it isn't a conversation."""
    if isinstance(value, list):
        return _elements(value)
    if not isinstance(value, dict) or "role" in value or isinstance(value.get("content"), str):
        return None
    own: list[Any] = next((value[key] for key in _LISTS if list_of(value.get(key))), [])
    if "type" in value and not own:  # an item or an event
        return None
    return _messages_of_object(value, own) or None


def _messages_of_object(value: dict[str, Any], own: list[Any]) -> list[Any]:
    """Return the messages of a request, of an object's own list and of a reply, each once."""
    messages = [message for key in _REQUESTS for message in _request(key, value.get(key))]
    messages = _joined(messages, _messages(own) or [])
    for key in _REPLIES:
        messages = _joined(messages, _reply(value.get(key)))
    if messages and "role" in table_of(value.get("message")):
        messages.append(value["message"])
    return messages


def _elements(values: list[Any]) -> list[Any]:
    """Return the messages in a list, those of lists in it at their place."""
    nested = [_elements(value) if isinstance(value, list) else [_unwrapped(value)] for value in values]
    return [message for messages in nested for message in messages]


def _request(key: str, value: Any) -> list[Any]:
    if key == "input" and isinstance(value, str):
        return [{"role": "user", "content": value}]
    return _messages(value) or []


def _reply(value: Any) -> list[Any]:
    """Return the messages of a reply: those of its first choice, or the one that it is or holds."""
    first = table_of(value[0]) if isinstance(value, list) and value else table_of(value)
    for message in (value, first.get("message"), first.get("content")):
        if "role" in table_of(message):
            return [message]
    return _messages(value) or []


def _joined(request: list[Any], reply: list[Any]) -> list[Any]:
    """Return the messages of a request and its reply, which may repeat the request."""
    return reply if request and reply[: len(request)] == request else request + reply


def _unwrapped(value: Any) -> Any:
    """Return the message in an object that only wraps it, as Strands does, or the value itself."""
    table = table_of(value)
    wraps = "role" in table_of(table.get("message")) and table.keys().isdisjoint(("role", "type"))
    return table["message"] if wraps else value


def _marks(messages: list[Any]) -> list[int]:
    """Return a mark for each beginning of a conversation, by which it is known when it is repeated."""
    marks, mark = [], 0
    for message in messages:
        mark = hash((mark, json.dumps(_essence(message), sort_keys=True)))
        marks.append(mark)
    return marks


def _essence(message: Any) -> Any:
    """Return what a log repeats of a message: a reply has fields that the next request leaves out."""
    essence = {
        key: table_of(message)[key] for key in _SAME if table_of(message).get(key) not in (None, [], "")
    }
    if isinstance(content := essence.get("content"), list):
        blocks = list(map(_without_mark_for_cache, content))
        essence["content"] = blocks[0]["text"] if _is_one_text(blocks) else blocks
    return essence or message


def _without_mark_for_cache(block: Any) -> Any:
    """Return a block of a message without the mark that moves on from request to request."""
    if not isinstance(block, dict):
        return block
    return {key: value for key, value in block.items() if key != "cache_control"}


def _is_one_text(blocks: list[Any]) -> bool:
    return len(blocks) == 1 and isinstance(blocks[0], dict) and blocks[0].keys() == {"type", "text"}
