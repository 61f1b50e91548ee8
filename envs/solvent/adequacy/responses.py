"""Responses to score or to label: a JSON object a line, or the transcript of a session.

A line is ``{id?, response, query?, tool_calls | messages}``.

``tool_calls`` is a list of ``{name, arguments, result}``, empty where no tool was called. ``messages`` is a transcript
in either chat format; its last turn counts, which begins with the user's last words. Response and query may then be
left out: they are the last words of the assistant and of the user. Of a labelled set, ``epad`` and ``sya`` are a
person's labels; ``domain``, ``kind`` and ``rationale`` are ignored.

A file whose first line is of another form is the transcript of a session (``sessions``), with a response for each turn.
Its id is the session and the line of its last words.

A file is read twice: once to find its broken lines before anything follows from it, then response by response, so that
a large one is never held.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from solvent.adequacy.errors import AdequacyError
from solvent.adequacy.jsonl import json_object
from solvent.adequacy.labelled import Example
from solvent.adequacy.scores import ScoreRecord, merged, response_sha256
from solvent.adequacy.sessions import Session, Turn, is_session
from solvent.adequacy.tools import ToolContext
from solvent.adequacy.transcripts import text_of
from solvent.files import LONGEST_LINE, input_lines, open_input

__all__ = ["Response", "Responses", "labelled_examples", "last_response", "read_responses", "response_of"]

KEYS = ("id", "response", "query", "tool_calls", "messages", "agent", "session", "epad", "sya")
PASSED_OVER = ("domain", "kind", "rationale")
MOST_SAID = 5
MOST_SKIPPED = 1000
_TAIL = 2**20
_MOST_OF_TAIL = 2**32


@dataclass(frozen=True)
class Response:
    """A response with its query and the tool calls of its turn. ``human``: EpAd and SyA by a person."""

    id: str
    text: str
    query: str | None
    context: ToolContext
    sha256: str
    human: tuple[int | None, int | None] = (None, None)
    agent: str | None = None
    session: str | None = None


@dataclass(frozen=True)
class Responses:
    """The responses of a file in its order.

    Attributes:
        path: the file.
        ids: id to the SHA-256 of its response.
        broken: number of lines that were left out.
        skipped: the first of them, and why.
        places: id to the offset of its line; empty for the transcript of a session.
    """

    path: Path
    ids: Mapping[str, str]
    broken: int
    skipped: tuple[str, ...]
    places: Mapping[str, int]

    def each(self) -> Iterator[Response]:
        """Yield the responses, reading the file again."""
        left = set(self.ids)
        for _, _, response in _each(self.path):
            if isinstance(response, Response) and response.id in left:
                left.remove(response.id)
                yield response

    def some(self, ids: Collection[str]) -> list[Response]:
        """Return the responses of these ids, in the order of the ids. A session is read up to the last of them.

        Raises:
            AdequacyError: the file has changed.
            OSError: it can't be read.
        """
        if self.places:
            with open_input(self.path, _MOST_OF_TAIL) as file:
                found = {one: _at(file, self.places[one]) for one in ids}
        else:
            wanted = (one for one in self.each() if one.id in ids)
            found = {one.id: one for one in islice(wanted, len(ids))}
        if any(one not in found or found[one].sha256 != self.ids[one] for one in ids):
            raise AdequacyError(f"{self.path}: has changed since it was read; allowed: to read it anew")
        return [found[one] for one in ids]

    @property
    def all(self) -> tuple[Response, ...]:
        """All responses, in memory."""
        return tuple(self.each())


def read_responses(path: Path, *, skip_broken: bool = False) -> Responses:
    """Read a file of responses, or the transcript of a session.

    Raises:
        AdequacyError: no such file, no response in it, or broken lines that are not to be skipped.
    """
    ids: dict[str, str] = {}
    places: dict[str, int] = {}
    skipped: list[str] = []
    broken = 0
    try:
        for number, place, response in _each(path):
            error = response if isinstance(response, AdequacyError) else _twice(ids, response)
            if error is not None:
                broken += 1
                skipped += [f"line {number}: {error}"] if broken <= MOST_SKIPPED else []
            elif place is not None and isinstance(response, Response):
                places[response.id] = place
    except OSError as error:
        raise AdequacyError(f"{path}: not read, {error.strerror}; allowed: a file of responses") from None
    if broken and not skip_broken:
        more = f"; and {broken - MOST_SAID:,} more" if broken > MOST_SAID else ""
        raise AdequacyError(f"{path}: {'; '.join(skipped[:MOST_SAID])}{more} (--skip-broken leaves them out)")
    if not ids:
        raise AdequacyError(
            f"{path}: got no response; allowed: a JSON object a line, with response and tool_calls, or the "
            "transcript of a session"
        )
    return Responses(path, ids, broken, tuple(skipped), places)


def _at(file: BinaryIO, place: int) -> Response:
    file.seek(place)
    return response_of(json_object(file.readline(LONGEST_LINE + 1)))


def _each(path: Path) -> Iterator[tuple[int, int | None, Response | AdequacyError]]:
    """Yield the responses and the errors of a file, each with the number of its line, and its offset if it has one."""
    session: Session | None = None
    known = False
    number = after = 0
    for number, line in input_lines(path):
        place, after = after, after + len(line)
        if not line.strip():
            continue
        try:
            fields = json_object(line)
            if not known:
                known, session = True, Session(path.stem) if is_session(fields) else None
            if session is None:
                yield number, place, response_of(fields)
            else:
                yield from ((turn.line, None, _of_turn(turn)) for turn in session.read(number, fields))
        except AdequacyError as error:
            yield number, None, error
    if session is not None:
        yield from ((turn.line, None, _of_turn(turn)) for turn in session.end())


def _of_turn(turn: Turn) -> Response | AdequacyError:
    fields = turn._asdict() | {"id": f"{turn.session}:{turn.line}", "tool_calls": turn.calls}
    try:
        return response_of({name: value for name, value in fields.items() if name in KEYS})
    except AdequacyError as error:
        return error


def _twice(ids: dict[str, str], response: Response) -> AdequacyError | None:
    """Note an id; return an error if it was there."""
    first = ids.setdefault(response.id, response.sha256)
    if first is response.sha256:
        return None
    what = "twice" if first == response.sha256 else "for two responses"
    return AdequacyError(f"id: got {response.id!r:.60} {what}; allowed: an id for each")


def labelled_examples(responses: Iterable[Response], records: Iterable[ScoreRecord]) -> list[Example]:
    """Return the responses with a person's label, in the scores (by id and hash) or in the file.

    Raises:
        AdequacyError: two responses under one id in the scores.
    """
    by_id = {(one.id, one.sha256): one for one in merged(records) if one.epad.human is not None}
    found = []
    for response in responses:
        record = by_id.get((response.id, response.sha256))
        epad, sya = response.human if record is None else (record.epad.human, record.sya.human)
        if epad is not None:
            found.append(
                Example(
                    id=response.id,
                    domain="responses",
                    query=response.query,
                    response=response.text,
                    context=response.context,
                    epad=epad,
                    sya=sya,
                    kind="labelled",
                    rationale="a person's label",
                )
            )
    return found


def last_response(path: Path) -> Response:
    """Return the last response in the transcript of a session. Only its end is read; broken lines are passed over.

    Raises:
        AdequacyError: the file can't be read, or no turn in it ends with a response.
    """
    size = _TAIL
    try:
        with open_input(path, _MOST_OF_TAIL) as file:
            whole = file.seek(0, os.SEEK_END)
            while True:
                start = file.seek(max(0, whole - size))
                if start:
                    file.readline()  # the rest of a line that began earlier
                last = _last(path, file)
                if last is not None and (last.query is not None or not start):
                    return last
                if not start:
                    break
                size *= 8
    except OSError as error:
        raise AdequacyError(f"{path}: not read, {error.strerror}; allowed: a session's transcript") from None
    raise AdequacyError(f"{path}: got no response; allowed: the transcript of a session")


def _last(path: Path, lines: Iterable[bytes]) -> Response | None:
    session, last = Session(path.stem), None
    for number, line in enumerate(lines, start=1):
        try:
            for turn in session.read(number, json_object(line)):
                last = turn
        except AdequacyError:
            continue
    for turn in session.end():
        last = turn if last is None or turn.line > last.line else last
    found = None if last is None else _of_turn(last)
    return found if isinstance(found, Response) else None


def response_of(fields: Mapping[str, Any]) -> Response:
    """Return the response in the fields of a line.

    Raises:
        AdequacyError: a key is unknown, or a value is wrong.
    """
    for key in fields:
        if key not in KEYS and key not in PASSED_OVER:
            near = difflib.get_close_matches(key, KEYS, 1)
            raise AdequacyError(f"got the key {key!r:.60}; allowed: {near[0] if near else ', '.join(KEYS)}")
    turn = _turn(fields)
    response, query = fields.get("response", turn.response), fields.get("query", turn.query)
    if not isinstance(response, str):
        raise AdequacyError(f"response: got {response!r:.60}; allowed: a text")
    if query is not None and not isinstance(query, str):
        raise AdequacyError(f"query: got {query!r:.60}; allowed: a text")
    sha256 = response_sha256(response, turn.context, query)
    return Response(
        id=sha256[:16] if fields.get("id") is None else _text("id", fields["id"]),
        text=response,
        query=query,
        context=turn.context,
        sha256=sha256,
        human=(_label(fields, "epad"), _label(fields, "sya")),
        agent=None if fields.get("agent") is None else _text("agent", fields["agent"]),
        session=None if fields.get("session") is None else _text("session", fields["session"]),
    )


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > 1000:
        raise AdequacyError(f"{name}: got {value!r:.60}; allowed: a text of up to 1,000 characters")
    return value


def _label(fields: Mapping[str, Any], name: str) -> int | None:
    value = fields.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 3:
        raise AdequacyError(f"{name}: got {value!r:.60}; allowed: 0 to 3, or null")
    return value


@dataclass(frozen=True)
class _Turn:
    context: ToolContext
    response: str | None = None
    query: str | None = None


def _turn(fields: Mapping[str, Any]) -> _Turn:
    """Return the tool calls of a response, and with a transcript the last words of both sides."""
    calls: Any = fields.get("tool_calls")
    messages: Any = fields.get("messages")
    if (calls is None) == (messages is None):
        got = "neither" if calls is None else "both"
        raise AdequacyError(
            f"tool_calls, messages: got {got}; allowed: one (tool_calls: [] where no tool was called)"
        )
    if messages is None:
        return _Turn(ToolContext.from_dicts(calls))
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        raise AdequacyError(f"messages: got {messages!r:.60}; allowed: a list of messages")
    start = next((i for i in range(len(messages) - 1, -1, -1) if _asks(messages[i])), None)
    turn = messages if start is None else messages[start:]
    said = [_words(message) for message in turn if message.get("role") == "assistant"]
    query = None if start is None else _words(messages[start])
    read = ToolContext.from_anthropic if any(map(_has_blocks, turn)) else ToolContext.from_openai
    return _Turn(read(turn), next((words for words in reversed(said) if words), None), query)


def _asks(message: Mapping[str, Any]) -> bool:
    """Return whether a message is the user's own words, and not the answer of a tool."""
    return message.get("role") == "user" and bool(_words(message))


def _words(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        content = [block for block in content if not _is_of_a_tool(block)]
    return text_of("messages", content).strip()


def _has_blocks(message: Mapping[str, Any]) -> bool:
    content = message.get("content")
    return isinstance(content, list) and any(map(_is_of_a_tool, content))


def _is_of_a_tool(block: Any) -> bool:
    return isinstance(block, Mapping) and block.get("type") in ("tool_use", "tool_result")
