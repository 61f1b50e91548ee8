"""Read the responses of an agent's session: a transcript of JSON lines, one event a line, as agents write them.

These forms of a line are told apart by their keys; forms may be mixed, and lines of any other kind are passed over:

- ``{"type": "user"|"assistant"|"message", "message": {"role", "content"}}``: a message in an envelope, often with
  ``sessionId``, ``isSidechain`` (another agent in the same file) or ``isMeta`` (nothing that a person said);
- ``{"type": "response_item", "payload": {"type": ...}}``: an item in an envelope, or the item alone: ``message``,
  ``function_call``, ``custom_tool_call`` or ``local_shell_call``, and their ``..._output`` with the ``call_id``;
- ``{"role", "content"}``: a bare message, with ``tool_calls`` and answers of role ``tool``, or with content blocks.

A turn begins with the user's words and has the calls up to the next. Its response is what the assistant said after the
last call; a turn that ends in a call has none. A user's text that is one element (``<environment>...</environment>``)
is the program's and begins no turn.

The file is never held: a turn keeps its last ``MOST_CALLS`` calls, and of each text the beginning and the end, together
``MOST_KEPT`` characters.

Source: *Epistemic Adequacy Design*, phase 2: tool use comes from the transcript. Known approximation: a response that
rests on an earlier turn's calls is scored without them, as the source has it ("in the same turn").
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from solvent.adequacy.errors import AdequacyError
from solvent.adequacy.transcripts import arguments_of, text_of

__all__ = ["MOST_CALLS", "MOST_KEPT", "Session", "Turn", "is_session"]

MOST_CALLS = 500
"""Calls kept of a turn, the last ones."""
MOST_KEPT = 20_000
"""Characters kept of a text."""

_MOST_TRACKS = 64
_MOST_OPEN = 2000
_ITEMS = {
    "message",
    "function_call",
    "custom_tool_call",
    "local_shell_call",
    "function_call_output",
    "custom_tool_call_output",
    "local_shell_call_output",
}
_CALLS = {"tool_use", "server_tool_use", "toolCall"}
_ELEMENT = re.compile(r"\s*<([\w-]+)[^>]*>.*</\1>\s*\Z", re.DOTALL)


class Turn(NamedTuple):
    """A response with its query and the calls of its turn, and the line of its last words."""

    session: str
    agent: str | None
    query: str | None
    response: str
    calls: list[dict[str, Any]]
    line: int


def is_session(line: Mapping[str, Any]) -> bool:
    """Return whether a line is of a session, and no line of a file of responses."""
    return ("role" in line or "type" in line) and line.keys().isdisjoint(("response", "messages"))


@dataclass
class _Track:
    """The turn under way of one agent."""

    query: str | None = None
    agent: str | None = None
    line: int = 0
    said: list[str] = field(default_factory=list)
    calls: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=MOST_CALLS))
    waiting: dict[str, dict[str, Any]] = field(default_factory=dict)

    def asked(self, text: str) -> None:
        self.query, self.line = text, 0
        self.said.clear()
        self.calls.clear()
        self.waiting = {key: call for key, call in self.waiting.items() if call["result"] is None}

    def called(self, key: object, name: object, arguments: Any) -> None:
        if not isinstance(name, str) or not name.strip():
            raise AdequacyError(f"tool call: name: got {name!r:.80}; allowed: a text")
        call = {"name": name, "arguments": _cut(arguments_of(arguments)), "result": None}
        self.said.clear()
        self.calls.append(call)
        if len(self.waiting) >= _MOST_OPEN:
            del self.waiting[next(iter(self.waiting))]
        self.waiting[str(key)] = call

    def answered(self, key: object, text: str, *, error: bool) -> None:
        call = self.waiting.get(str(key))
        if call is None:
            raise AdequacyError(f"got an answer to {key!r:.80}; allowed: the id of an earlier call")
        kept = text if call["result"] is None else f"{call['result']}\n{text}"
        call["result"] = _kept(kept)
        if error:
            call["error"] = True


class Session:
    """Turns the lines of a transcript into turns. ``read`` takes a line, ``end`` the end of the file."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.known = 0
        self._tracks: dict[str, _Track] = {}

    def read(self, number: int, line: Mapping[str, Any]) -> Iterator[Turn]:
        """Yield the turns that a line completes.

        Raises:
            AdequacyError: the line has a known form and wrong values.
        """
        key, kind, item = self._opened(line)
        if item is None:
            return
        self.known += 1
        track = self._tracks.pop(key, None) or _Track()
        self._tracks[key] = track
        if len(self._tracks) > _MOST_TRACKS:
            oldest = next(iter(self._tracks))
            yield from self._finished(oldest, self._tracks.pop(oldest))
        if kind == "message":
            yield from self._message(key, track, number, item)
        elif kind.endswith("_output"):
            output = item.get("output")
            if isinstance(output, Mapping):
                output = output.get("content", "")
            track.answered(item.get("call_id"), text_of("output", output), error=_failed(item))
        else:
            given = item.get("arguments", item.get("input", item.get("action")))
            track.called(item.get("call_id", item.get("id")), item.get("name", "shell"), given)

    def end(self) -> Iterator[Turn]:
        """Yield the turns that the end of the file completes."""
        for key, track in self._tracks.items():
            yield from self._finished(key, track)
        self._tracks.clear()

    def _opened(self, line: Mapping[str, Any]) -> tuple[str, str, Mapping[str, Any] | None]:
        """Return whose turn a line belongs to, the kind of item in it, and the item; None for other lines."""
        inner = line.get("message", line.get("payload", line))
        if isinstance(inner, Mapping) and line.get("type") == "session_meta":
            self.name = str(inner.get("id") or self.name)[:200]
        if not isinstance(inner, Mapping) or line.get("isMeta"):
            return "", "", None
        kind = "message" if "role" in inner else str(inner.get("type"))
        if kind not in _ITEMS or (inner is not line and line.get("type") == "event_msg"):
            return "", "", None
        key = str(line.get("sessionId") or self.name)[:200]
        if line.get("isSidechain"):
            key += f"/{line.get('agentId') or 'side'}"[:200]
        return key, kind, inner

    def _message(self, key: str, track: _Track, number: int, item: Mapping[str, Any]) -> Iterator[Turn]:
        role = item.get("role")
        words: list[str] = []
        if role in ("tool", "toolResult", "function"):
            answer = item.get("tool_call_id", item.get("toolCallId", item.get("name")))
            track.answered(answer, text_of("message", item.get("content")), error=bool(item.get("isError")))
            return
        if role not in ("user", "assistant"):
            return
        content = item.get("content")
        for block in content if isinstance(content, list) else [{"text": text_of("message", content)}]:
            if not isinstance(block, Mapping):
                raise AdequacyError(
                    f"message.content: got the block {block!r:.80}; allowed: a table with a type"
                )
            kind = str(block.get("type", "text"))
            if kind in _CALLS:
                track.called(block.get("id"), block.get("name"), block.get("input", block.get("arguments")))
                words.clear()
            elif kind.endswith("tool_result"):
                told = text_of("tool_result", block.get("content"))
                track.answered(block.get("tool_use_id"), told, error=bool(block.get("is_error")))
            elif isinstance(text := block.get("text"), str) and kind.endswith("text") and text.strip():
                words.append(text.strip())
        if role == "user":
            own = [text for text in words if not _ELEMENT.match(text)]
            if own:
                yield from self._finished(key, track)
                track.asked(_kept("\n".join(own)))
            return
        if words:
            track.said += words
            track.agent, track.line = _name(item.get("model")), number
        for call in item.get("tool_calls") or []:
            function = call.get("function") if isinstance(call, Mapping) else None
            if not isinstance(function, Mapping):
                raise AdequacyError(f"tool_calls: got {call!r:.80}; allowed: a call with a function")
            track.called(call.get("id"), function.get("name"), function.get("arguments"))

    def _finished(self, key: str, track: _Track) -> Iterator[Turn]:
        if track.said:
            response = _kept("\n\n".join(track.said))
            yield Turn(key, track.agent, track.query, response, list(track.calls), track.line)


def _failed(item: Mapping[str, Any]) -> bool:
    """Return whether an output says that its call failed: a flag beside the text."""
    output = item.get("output")
    return isinstance(output, Mapping) and output.get("success") is False


def _name(given: object) -> str | None:
    return given[:200] if isinstance(given, str) and given.strip() else None


def _cut(given: Any) -> Any:
    if isinstance(given, Mapping):
        return {str(key): _kept(value) if isinstance(value, str) else value for key, value in given.items()}
    return {"value": given}


def _kept(text: str) -> str:
    if len(text) <= MOST_KEPT:
        return text
    half = MOST_KEPT // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half:,} characters left out ...]\n{text[-half:]}"
