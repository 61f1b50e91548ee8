"""The values of a file, and what the formats are known by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from solvent.adequacy.formats.conversations import Conversation, conversations_in
from solvent.adequacy.formats.texts import list_of
from solvent.files import strict_json

__all__ = ["Document", "is_response", "values_in"]

_HEAD = 1000


@dataclass
class Document:
    """A file of JSON: one value, or one per line.

    Attributes:
        name: of the file, without its suffix.
        values: with their lines; a line that is not JSON is a text.
    """

    name: str
    values: list[tuple[int, Any]]

    @cached_property
    def entries(self) -> list[tuple[int, Any]]:
        """The lines of a file, or the elements of the list that it is."""
        if len(self.values) == 1 and isinstance(self.values[0][1], list):
            return list(enumerate(self.values[0][1], start=1))
        return self.values

    @cached_property
    def head(self) -> list[dict[str, Any]]:
        """The first objects among the entries, by which most formats are known."""
        return [value for _, value in self.entries[:_HEAD] if isinstance(value, dict)]

    @cached_property
    def conversations(self) -> list[Conversation]:
        """The conversations in the document, if it is one of messages; the lines of a file of responses are none."""
        entries = [entry for entry in self.entries if not is_response(entry[1])]
        return conversations_in(entries, self.name)

    @cached_property
    def messages(self) -> list[dict[str, Any]]:
        """The messages with a role in all conversations."""
        every = (message for one in self.conversations for _, message in one.messages)
        return [
            message for message in every if isinstance(message, dict) and isinstance(message.get("role"), str)
        ]

    @cached_property
    def block_kinds(self) -> frozenset[str]:
        """The types of the blocks in the messages; of blocks without a type, their keys."""
        kinds: set[str] = set()
        for message in self.messages:
            for block in (*list_of(message.get("content")), *list_of(message.get("parts"))):
                if isinstance(block, dict):
                    kind = block.get("type")
                    kinds |= {kind} if isinstance(kind, str) else set(block)
        return frozenset(kinds)

    @cached_property
    def message_keys(self) -> frozenset[str]:
        """The keys of the messages that have a value."""
        return frozenset(key for message in self.messages for key, value in message.items() if value)


def is_response(value: Any) -> bool:
    """Return whether a value is a line of a file of responses."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("response"), str)
        and value.keys().isdisjoint(("role", "type"))
    )


def values_in(content: bytes, counts: Counter[str]) -> Iterator[tuple[int, Any]]:
    """Yield the values in a file with their lines: one document, or one per line; a broken line as its text."""
    with suppress(ValueError):
        yield 1, strict_json(content)
        return
    keys: dict[str, str] = {}
    end = len(content.rstrip())
    number = begin = 0
    while begin < end:
        stop = content.find(b"\n", begin, end)
        stop = end if stop < 0 else stop
        line, number, begin = content[begin:stop], number + 1, stop + 1
        text = line.decode("utf-8-sig", "replace").strip()
        counts["lines with bytes that are not UTF-8"] += "\ufffd" in text and b"\xef\xbf\xbd" not in line
        try:
            if text:
                yield number, _with_shared_keys(strict_json(text), keys)
        except ValueError:
            if begin < end:
                yield number, text
            else:  # a session under way
                counts["lines at the end that are not JSON, or not finished"] += 1


def _with_shared_keys(value: Any, keys: dict[str, str]) -> Any:
    """Return a value whose keys are those of the lines before it: a quarter of a session's memory are its keys."""
    if isinstance(value, dict):
        return {keys.setdefault(key, key): _with_shared_keys(inner, keys) for key, inner in value.items()}
    if isinstance(value, list):
        return [_with_shared_keys(inner, keys) for inner in value]
    return value
