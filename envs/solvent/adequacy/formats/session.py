"""The builder of turns: a format's module tells it who says what, and it knows what a turn is.

A turn begins with the user's words and ends before the next. Its response is what was said after its last call. Words
that arrive before there is an answer belong to the same turn, and so does an answer that a hook's feedback asked for,
which replaces the one before. Text that a known program adds in the user's name is ignored. A call that ends the work,
such as ``attempt_completion``, carries the response.

The main agent and each child run have a *track* of turns each.

Source: *Epistemic Adequacy Design*, phase 2.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from solvent.adequacy.calls import Call
from solvent.adequacy.formats.conversations import Conversation
from solvent.adequacy.formats.texts import arguments_of, cut, result_of, text_of
from solvent.adequacy.formats.turns import History, Reading, Turn
from solvent.adequacy.formats.user_words import FEEDBACK, is_program_text, own_words

__all__ = ["EVIDENCE", "SUBMISSION", "Session"]

EVIDENCE = re.compile(r"(?is).*(tool|call|function|result|output|exec|command|observ|invo)")
"""What a kind or a key that is not known looks like, if it is a call or a result."""
_THOUGHT = re.compile(r"(?s)<(think|thinking)>.*?</\1>")
_CLOSING = {
    "submit": (),
    "finish": ("message", "final_thought", "answer", "summary", "output"),
    "attempt_completion": ("result",),
    "plan_mode_respond": ("response",),
    "ask_followup_question": ("question",),
    "complete_task": ("result", "summary", "output"),
}
"""Calls that end a turn, and the arguments that may hold the response."""
SUBMISSION = re.compile(r"(?s)\s*(submit|(echo )?['\"]?COMPLETE_TASK_AND_SUBMIT.*)\s*")
"""A command that ends a turn."""
_LONGEST_ID = 400


@dataclass
class _Call:
    """A call that may still get its result."""

    key: str
    name: str
    arguments: dict[str, Any]
    number: int = 0  # among the calls of the session
    result: str | None = None
    failed: bool | None = None

    @property
    def closes(self) -> bool:
        """Whether the call ends its turn, if nothing follows."""
        return self.name in _CLOSING or SUBMISSION.fullmatch(str(self.arguments.get("command"))) is not None

    @property
    def closing_words(self) -> str:
        words = (self.arguments.get(key) for key in _CLOSING.get(self.name, ()))
        return text_of(next(filter(None, words), "")).strip()

    def answer(self, text: str, failed: bool | None) -> None:
        self.result = text if self.result is None else f"{self.result}\n{text}"
        if failed is not None:
            self.failed = bool(self.failed or failed)

    def finished(self) -> Call:
        result = cut(self.result or "")
        return Call(cut(self.name), cut(self.arguments), result, self.failed, self.result is not None)


@dataclass
class _OpenTurn:
    """A turn under way, or one that has ended and still waits for results."""

    key: str = ""
    line: int = 0  # where it begins
    place: int = 0  # among the turns of the document
    begin: int = 0  # number of calls made in the session before it
    end: int = 0
    query: str = ""
    texts: list[str] = field(default_factory=list)  # said since the last call
    before: list[str] = field(default_factory=list)  # said before the last call
    joins: bool = False  # the next piece of a text continues the last
    replaced: str = ""  # response before a hook's feedback
    calls: list[_Call] = field(default_factory=list)
    by_key: dict[str, list[_Call]] = field(default_factory=dict)
    waiting: list[_Call] = field(default_factory=list)  # calls without a result
    unread: int = 0
    left_open: bool = False  # under way at the end of the file

    @property
    def is_empty(self) -> bool:
        return not (self.query or self.calls or self.final_response or self.unread)

    @property
    def closing(self) -> _Call | None:
        return self.calls[-1] if self.calls and not self.texts and self.calls[-1].closes else None

    @property
    def response(self) -> str:
        if self.closing:
            return self.closing.closing_words or "\n\n".join(self.before)
        return "\n\n".join(filter(None, (text.strip() for text in self.texts)))

    @property
    def final_response(self) -> str:
        return self.response or self.replaced

    @property
    def evidence(self) -> list[_Call]:
        """The calls of the turn, without one that only carries the response."""
        return [call for call in self.calls if call is not self.closing]


@dataclass
class _Track:
    """The turns of one agent."""

    name: str  # of the session
    key: str
    child: bool = False
    line: int = 0  # of the last message
    now: _OpenTurn = field(default_factory=_OpenTurn)
    turns: list[_OpenTurn] = field(default_factory=list)
    earlier_calls: dict[str, _Call] = field(default_factory=dict)  # of turns that have ended, by id

    def end(self, made: int) -> None:
        """End the turn under way, after so many calls in the session."""
        turn, self.now = self.now, _OpenTurn()
        turn.end = made
        self.earlier_calls |= {call.key: call for call in turn.calls if call.key}
        if not turn.is_empty:
            self.turns.append(turn)


class _Evidence:
    """The calls of a session as data, in order. A number is missing where a call only carried a response."""

    def __init__(self, made: Iterable[_Call]) -> None:
        in_order = sorted(made, key=lambda call: call.number)
        self._numbers = [call.number for call in in_order]
        self.calls = [call.finished() for call in in_order]

    def place(self, number: int) -> int:
        """Return the place of a call by its number, or that of the next one."""
        return bisect_left(self._numbers, number)


class Session:
    """Turns in the making."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.line = 1
        self.counts: Counter[str] = Counter()
        self.understood = False
        self._tracks: dict[str, _Track] = {}
        self._track: _Track | None = None
        self._made: Counter[str] = Counter()  # calls by session
        self._begun = 0  # turns
        self._added: list[Turn] = []

    # -- where we are

    def each(self, values: Iterable[tuple[int, Any]]) -> Iterator[dict[str, Any]]:
        """Yield the objects among numbered values, and take their lines as the place; count the others as unread."""
        for line, value in values:
            self.line = line
            if isinstance(value, dict):
                yield value
            elif isinstance(value, str):
                self.unread("lines not read because they are not JSON", value)
            else:
                self.unread("lines not read because they are not JSON objects")

    def each_of(self, conversations: Iterable[Conversation]) -> Iterator[dict[str, Any]]:
        """Yield the messages of conversations, each of which is a session."""
        for conversation in conversations:
            self.enter(conversation.name)
            yield from self.each(conversation.messages)

    def enter(self, name: object = "", child: object = "") -> None:
        """Turn to the main agent of a session, or to a child run of it."""
        main = str(cut(str(name or self.name)[:_LONGEST_ID]))
        key = str(cut(f"{main}/{child}"[:_LONGEST_ID])) if child else main
        if key not in self._tracks:
            self._tracks[key] = _Track(main, key, child=bool(child))
        self._track = self._tracks[key]

    @property
    def track(self) -> _Track:
        """The turns of the agent that is spoken of."""
        if self._track is None:
            self.enter()
        assert self._track is not None
        return self._track

    def _now(self) -> _OpenTurn:
        """Return the turn under way, which begins here if nothing has happened in it."""
        track = self.track
        self.understood = True
        track.line = self.line
        if not track.now.line:
            track.now.line, track.now.key = self.line, track.key
            track.now.begin = self._made[track.name]
            self._begun += 1
            track.now.place = self._begun
        return track.now

    # -- what happens

    def ask(self, *texts: str) -> None:
        """Take the user's words: begin a turn, or add them to one that has no answer yet."""
        self._now()
        kept = [str(cut(text)) for text in texts]  # before any search, which takes long in a long text
        if FEEDBACK.match("\n".join(kept)):
            self.feedback()
            return
        words = own_words(kept)
        if not words:
            return
        now = self._now()
        if now.texts or now.closing or now.replaced:
            self.end()
            now = self._now()
        elif now.query and not now.query.startswith("/"):  # words after a program's command replace it
            words = f"{now.query}\n\n{words}"
        if not now.query:
            now.line = self.line
        now.query = words

    def say(self, text: object, *, piece: bool = False) -> None:
        """Take what the agent says; a ``piece`` of a stream continues the piece before it."""
        now = self._now()
        if not isinstance(text, str):
            return
        if piece:
            if now.joins and now.texts:
                now.texts[-1] += text
            elif text:
                now.texts.append(text)
            now.joins = True
            return
        now.joins = False
        text = _THOUGHT.sub("", cut(text)).strip()
        repeated = [text] == now.texts[-1:]
        if text and not repeated and not is_program_text(text):
            now.texts.append(text)

    def call(self, key: object, name: object, arguments: Any = None) -> None:
        """Take a call of a tool. A call that still waits and is repeated is the same one."""
        if not isinstance(name, str) or not name.strip():
            self.unread("calls not read because they have no name", "call")
            return
        now = self._now()
        call = _Call(_id(key), name.strip(), arguments_of(arguments))
        same_key = now.by_key.setdefault(call.key, []) if call.key else []
        if not any(_same(call, other) for other in same_key):
            call.number = self._made[self.track.name]
            self._made[self.track.name] += 1
            for calls in (now.calls, now.waiting, same_key):
                calls.append(call)
        now.before, now.texts, now.joins = now.texts, [], False

    def result(
        self, key: object, value: Any, *flags: bool | None, code: object = None, name: object = "unknown"
    ) -> None:
        """Give a result to its call: by id, by name, or in order. ``flags`` and ``code`` are as in ``result_of``."""
        text, failed = result_of(value, *flags, code=code)
        tool = (name.strip() if isinstance(name, str) else "") or "unknown"
        call = self._call_of(_id(key), tool)
        if call is None:
            self.counts["results without their call"] += 1
            self.call(key, tool)
            call = self._now().calls[-1]
        call.answer(text, failed)
        now = self._now()
        now.joins, now.waiting = False, [other for other in now.waiting if other is not call]

    def _call_of(self, key: str, name: str) -> _Call | None:
        """Return the call that a result belongs to."""
        now = self._now()
        if own := now.by_key.get(key):
            return next((call for call in own if call.result is None), own[-1])
        if key in self.track.earlier_calls:  # its turn has ended, and the result is evidence from now on
            earlier = self.track.earlier_calls[key]
            self.call(key, earlier.name, earlier.arguments)
            return now.calls[-1]
        free = [call for call in now.waiting if not (key and call.key)]
        return next((call for call in free if call.name == name), free[0] if free else None)

    def complete(self, text: str, failed: bool | None, *, key: str = "", mark: str = "") -> None:
        """Add what a run in the background ended with to its call, known by its id or by a ``mark`` in its result.

        What was said before the run ended gives way to what is said after.
        """
        now = self._now()
        calls = [*self.track.earlier_calls.values(), *now.calls]
        own = [call for call in calls if key and call.key == key]
        own = own or [call for call in calls if mark and mark in (call.result or "")]
        if not own:
            self.counts["results without their call"] += 1
            return
        if own[-1] in now.calls:
            own[-1].answer(text, failed)
            self.feedback()
        else:
            self.call(own[-1].key, own[-1].name, own[-1].arguments)
            now.calls[-1].answer(text, failed)

    def feedback(self) -> None:
        """Let what is said next replace the answer."""
        now = self._now()
        now.replaced = now.final_response
        now.calls = now.evidence
        now.texts, now.joins = [], False

    def add(self, turn: Turn) -> None:
        """Take a turn that stands by itself."""
        self.understood = True
        self._added.append(turn)

    def end(self) -> None:
        """End the turn under way."""
        self.track.end(self._made[self.track.name])

    def unread(self, what: str, looks: str = "") -> None:
        """Count what was not understood. If it looks like a call or a result, the turn is unread."""
        self.counts[what] += 1
        if EVIDENCE.match(looks):
            self._now().unread += 1

    def unread_block(self, kind: object, fields: Mapping[str, Any]) -> None:
        """Count a block or a line of a type that is not known."""
        self.unread(f"blocks of the type {str(kind)[:60]!r} not read", f"{kind} {' '.join(map(str, fields))}")

    def unread_role(self, role: object) -> None:
        """Count a message of a role that is not known."""
        self.unread(f"messages of the role {str(role)[:60]!r} not read", str(role))

    def unread_line(self, kind: object, fields: Mapping[str, Any]) -> None:
        """Count a line of a type that is not known."""
        self.unread(f"lines of the type {str(kind)[:60]!r} not read", f"{kind} {' '.join(map(str, fields))}")

    # -- the end

    def reading(self) -> Reading:
        """Return what was read."""
        for track in self._tracks.values():
            self._end_unfinished(track)
        every = [turn for track in self._tracks.values() for turn in track.turns]
        evidence = self._evidence_by_session(every)
        finished = (self._turn(turn, evidence) for turn in sorted(every, key=lambda turn: turn.place))
        turns = (*(turn for turn in finished if turn.response), *self._added)
        notes = tuple(f"{what}: {count:,}" for what, count in sorted(self.counts.items()) if count)
        return Reading(turns, notes, self._last(evidence))

    def _end_unfinished(self, track: _Track) -> None:
        """End the turn of a track that is under way at the end of the file."""
        turn = track.now
        turn.left_open = True
        self.counts["turns without a response"] += bool(turn.calls) and not turn.final_response
        track.end(self._made[track.name])

    def _evidence_by_session(self, turns: Iterable[_OpenTurn]) -> dict[str, _Evidence]:
        made: dict[str, list[_Call]] = {}
        for turn in turns:
            made.setdefault(self._tracks[turn.key].name, []).extend(turn.evidence)
        return {name: _Evidence(calls) for name, calls in made.items()}

    def _turn(self, turn: _OpenTurn, evidence: Mapping[str, _Evidence]) -> Turn:
        """Return a turn as data; the turns of a session share the list of its calls."""
        of_session = evidence[self._tracks[turn.key].name]
        begin, end = of_session.place(turn.begin), of_session.place(turn.end)
        return Turn(
            id=f"{turn.key}:{turn.line}",
            query=cut(turn.query),
            response=cut(turn.final_response),
            calls=tuple(of_session.calls[of_session.place(call.number)] for call in turn.evidence),
            unread=turn.unread,
            history=History(of_session.calls, begin, end),
        )

    def _last(self, evidence: Mapping[str, _Evidence]) -> Turn | None:
        """Return the last turn of the main agent; under way, it has no response that feedback is to replace."""
        if self._added:
            return self._added[-1]
        tracks = sorted(self._tracks.values(), key=lambda track: (not track.child, track.line))
        if not (tracks and tracks[-1].turns):
            return None
        turn = tracks[-1].turns[-1]
        last = self._turn(turn, evidence)
        return replace(last, response=cut(turn.response)) if turn.left_open else last


def _id(key: object) -> str:
    """Return an id as text; SWE-agent has a list of one."""
    if isinstance(key, list):
        key = key[0] if key else ""
    return "" if key is None else str(key)


def _same(call: _Call, other: _Call) -> bool:
    return (
        (call.key, call.name) == (other.key, other.name)
        and call.arguments == other.arguments
        and other.result is None
    )
