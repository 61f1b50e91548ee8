"""Turns of an agent's transcript: the user's words, the calls that followed, and what was answered in the end.

A file is JSON lines or one JSON document. ``shapes.toml`` lists what roles, fields and kinds are called in the formats:

- a line of a file of responses: ``{response, query?, id?, tool_calls | messages}``;
- messages ``{role, content | parts}``, bare, in an envelope or in a list: Claude Code and its SDK's stream, Codex, chat
  completions, Responses, Messages, Bedrock Converse, Gemini CLI, Qwen Code, Cursor, LangChain, AI SDK;
- events ``{action | observation}``: OpenHands;
- calls in text: elements (Cline, Roo Code), ``<tool_call>``, ``<function=>``, commands (SWE-agent, mini-swe-agent).

A turn begins with the user's words and ends before the next. Its response is what was said after its last call. Words
that arrive before there is an answer belong to the same turn, and so does an answer that a hook's feedback asked for,
which replaces the one before. What a known program writes in the user's name is nobody's words.

What is not understood is counted in ``Reading.notes``. If it looks like a call or a result, its turn is ``unread``.

Source: *Epistemic Adequacy Design*, phase 2. Known approximation: a response that rests on the calls of an earlier turn
is read without them, as the source has it ("in the same turn").
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from solvent.adequacy.calls import Call
from solvent.files import InputError, read_input, strict_json

__all__ = ["MOST_KEPT", "Reading", "Turn", "read_turns", "turn_of"]

MOST_KEPT = 20_000
"""Characters kept of a text, half of them from its end."""

_MOST_OF_FILE = 2**30
_ALLOWED = "allowed: a transcript in a known format, or JSON lines with response and tool_calls"


@dataclass(frozen=True)
class Turn:
    """What was asked, what was answered, and the calls in between.

    Attributes:
        id: the id of the line, or the session and the line where the turn begins.
        query: the user's words; empty if the file doesn't have them.
        response: what was said after the last call; empty if there is no response yet.
        calls: the calls of the turn, in order.
        unread: number of blocks that look like calls or results and were not understood.
    """

    id: str
    query: str
    response: str
    calls: tuple[Call, ...] = ()
    unread: int = 0


@dataclass(frozen=True)
class Reading:
    """The turns of a file that have a response.

    Attributes:
        turns: in the order in which they begin.
        notes: what was not read or was left out, a line for each kind.
        last: the last turn of the main agent, which may have no response yet.
    """

    turns: tuple[Turn, ...]
    notes: tuple[str, ...] = ()
    last: Turn | None = None


# -- shapes

_SHAPES = tomllib.loads(Path(__file__).with_name("shapes.toml").read_text(encoding="utf-8"))
_FIELDS = _SHAPES["fields"]
_ROLES = {name: role for role, names in _SHAPES["roles"].items() for name in names}
_KINDS = {name: re.compile(pattern) for name, pattern in _SHAPES["kinds"].items()}
_PATTERNS = {name: re.compile(pattern) for name, pattern in _SHAPES["patterns"].items()}
_CALLS_IN_TEXT = [_PATTERNS[name] for name in ("call_json", "call_function", "call_element")]


def _is(kind: str, name: object) -> bool:
    return isinstance(name, str) and _KINDS[kind].fullmatch(name.lower().replace("-", "_")) is not None


def _first(item: Mapping[str, Any], keys: Iterable[str]) -> Any:
    return next((item[key] for key in keys if item.get(key) is not None), None)


def _table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _cut(value: Any) -> Any:
    """Return a JSON value with its texts cut to ``MOST_KEPT`` characters that can be printed."""
    if isinstance(value, dict):
        return {_cut(key): _cut(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_cut(inner) for inner in value]
    if not isinstance(value, str):
        return value
    text = value.encode("utf-8", "replace").decode()  # half a pair of surrogates can't be printed
    left_out, half = len(text) - MOST_KEPT, MOST_KEPT // 2
    if left_out <= 0:
        return text
    return f"{text[:half]}\n[... {left_out:,} characters left out ...]\n{text[-half:]}"


def _decoded(value: Any) -> Any:
    """Return the table that a text holds as JSON, else the value itself."""
    with suppress(ValueError):
        if isinstance(value, str) and value.lstrip().startswith("{"):
            return strict_json(value)
    return value


def _key(item: Mapping[str, Any]) -> str:
    key = _first(item, _FIELDS["key"])
    return str(key[0] if isinstance(key, list) and key else "" if key is None else key)


def _arguments(item: Mapping[str, Any]) -> dict[str, Any]:
    given = _decoded(_first(item, _FIELDS["arguments"]))
    if given in (None, ""):
        return {key: item[key] for key in _FIELDS["single"] if item.get(key)}
    return given if isinstance(given, dict) else {"input": given}


def _text(value: Any) -> str:
    """Return the words of a result."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, list):
        return "\n".join(filter(None, map(_text, value)))
    if not isinstance(value, dict):
        return json.dumps(value)
    if _is("picture", value.get("type")) or _table(value.get("source")).get("type") == "base64":
        return f"[{value.get('type') or 'picture'}]"
    if "functionResponse" in value:
        return _text(_table(value["functionResponse"]).get("response"))
    words = [_text(value[key]) for key in _FIELDS["words"] if value.get(key) is not None]
    if words and value.keys() <= {*_FIELDS["aside"], *_FIELDS["words"]}:
        return "\n".join(filter(None, words))
    return json.dumps(value, ensure_ascii=False)


def _result(item: Mapping[str, Any], value: Any) -> tuple[str, bool | None]:
    """Return the text of a result, and whether ``item``, the block around it, or the result says that it failed."""
    if isinstance(_table(_decoded(value)).get("metadata"), dict):
        value = _decoded(value)
    text, tables = _text(value), [item, _table(value)]
    flags = [bool(table[key]) for table in tables for key in ("is_error", "isError", "error") if key in table]
    flags += [table["success"] is False for table in tables if "success" in table]
    flags += [
        True for table in tables for key in ("status", "state", "type") if _is("failed", table.get(key))
    ]
    flags += [True] if text.startswith("The tool execution failed") else []  # Cline
    for name in ("extras", "metadata"):
        tables += [_table(table.get(name)) for table in tables]
    codes = [table[key] for table in tables for key in _FIELDS["code"] if isinstance(table.get(key), int)]
    if codes and codes[0]:
        text = f"Exit code {codes[0]}\n{text}"
    elif not codes and (found := _PATTERNS["exit"].search(text)):
        codes = [int(next(filter(None, found.groups())))]
    flags += [code != 0 for code in codes[:1]]
    return text, any(flags) if flags else None


def _kind(block: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the kind of a block, and the table with its fields."""
    kind = block.get("type")
    if isinstance(kind, str) and kind != "tool-invocation":
        return kind, block
    for key in _FIELDS["wrapper"]:
        if isinstance(block.get(key), dict):
            return key, {"id": block.get("id"), **block[key]}
    return " ".join(list(block)[:4]) or "none", block


def _said(block: Any) -> str | None:
    """Return the words of a text block, none for a thought; None for another block."""
    if isinstance(block, str):
        return str(_cut(block))
    text, kind = _first(_table(block), ("text", "refusal")), _table(block).get("type", "text")
    if not isinstance(text, str) or not _is("text", kind):
        return None
    return "" if block.get("thought") else str(_cut(text))


def _role(kind: str, value: Mapping[str, Any], inner: Mapping[str, Any]) -> str | None:
    """Return whose message a line is; None if it has no role."""
    source = value.get("source") if kind == "MessageEvent" else kind  # as in OpenHands
    role = inner.get("role") or value.get("role") or (source if str(source) in _ROLES else None)
    if kind == "constructor":  # LangChain has the class in its id
        role = [None, *_list(value.get("id"))][-1]
    return None if role is None else str(_ROLES.get(str(role), role))


def _words(text: str) -> str:
    """Return the user's own words in a text."""
    if command := _PATTERNS["command"].findall(text):
        return " ".join(found for _, found in command if found)
    for name in ("result_of", "codex_request", "program"):
        text = _PATTERNS[name].sub("", text)
    text = text.strip()
    task = _PATTERNS["from_cline"].fullmatch(text)
    return "" if _PATTERNS["program_begins"].match(text) else task[2] if task else text


def _messages(value: Any) -> list[Any]:
    """Return the messages in a document, in order: those of a request, and those that answered it."""
    if isinstance(value, list):
        lists = [_messages(inner) if isinstance(inner, list) else [inner] for inner in value]
        return [message for inner in lists for message in inner]
    table = dict(_table(value))
    if isinstance(table.get("input"), str):
        table["input"] = [{"role": "user", "content": table["input"]}]
    own = [key for key in _FIELDS["messages"] if isinstance(table.get(key), list)]
    messages: list[Any] = []
    for key in (*_FIELDS["request"], *own[:1], *_FIELDS["reply"]):
        part = [table[key]] if key == "message" and key in table else _messages(table.get(key, []))
        repeats = bool(messages) and part[: len(messages)] == messages  # the request with its answer
        messages = part if repeats else messages + part
    return messages


# -- turns


@dataclass
class _Call:
    """A call that may still get its result."""

    key: str
    name: str
    arguments: dict[str, Any]
    result: str | None = None
    failed: bool | None = None

    @property
    def closes(self) -> bool:
        """Whether the call ends its turn, if nothing follows."""
        command = str(self.arguments.get("command"))
        return _is("closing", self.name) or _PATTERNS["submitted"].fullmatch(command) is not None

    def answer(self, text: str, failed: bool | None) -> None:
        self.result = text if self.result is None else f"{self.result}\n{text}"
        self.failed = failed if self.failed is None else self.failed or failed

    def done(self) -> Call:
        result = _cut(self.result or "")
        return Call(_cut(self.name), _cut(self.arguments), result, self.failed, self.result is not None)


def _calls_in(text: str) -> list[_Call]:
    """Return the calls that a model has written into its text."""
    calls = []
    for pattern in _CALLS_IN_TEXT:
        for name, inner in pattern.findall(text):
            table, parameters = _table(_decoded(inner)), dict(_PATTERNS["parameter"].findall(inner))
            if isinstance(table.get("name"), str):
                calls.append(_Call("", table["name"], _arguments(table)))
            elif name and (parameters or not inner.strip()):
                calls.append(_Call("", name, parameters))
    return calls


@dataclass
class _Open:
    """A turn under way."""

    prompt: str | None = None  # id of the user's message
    query: str = ""
    said: list[str] = field(default_factory=list)
    before: list[str] = field(default_factory=list)  # said before the last call
    line: int = 0  # of its beginning
    replaced: str = ""  # response before a hook's feedback
    calls: list[_Call] = field(default_factory=list)
    in_text: list[_Call] = field(default_factory=list)  # the user's next words are their results
    command: str = ""  # in a fence; a call if the user's next words are a terminal's
    unread: int = 0

    @property
    def closing(self) -> _Call | None:
        return self.calls[-1] if self.calls and not self.said and self.calls[-1].closes else None

    @property
    def response(self) -> str:
        words = _text(_first(self.closing.arguments, _FIELDS["closing"])).strip() if self.closing else ""
        return words or "\n\n".join(self.before if self.closing else self.said)

    def turn(self, key: str, response: str) -> Turn:
        calls = tuple(call.done() for call in self.calls if call is not self.closing)
        return Turn(f"{key}:{self.line}", _cut(self.query), _cut(response), calls, self.unread)


class _Track:
    """The turns of one agent."""

    def __init__(self, key: str, *, side: bool = False) -> None:
        self.key, self.side, self.line = key, side, 0
        self.tip: str | None = None  # id of the last message
        self.now = _Open()
        self.turns: list[tuple[int, str | None, Turn]] = []

    def ask(self, words: str, prompt: str | None) -> None:
        """Begin a turn, or add the words to one that has no answer yet."""
        now = self.now
        if now.said or now.closing or now.replaced:
            self.end()
        elif now.query and not now.query.startswith("/"):  # words after a program's command replace it
            words = f"{now.query}\n\n{words}"
        if not self.now.query:
            self.now.line = self.line
        self.now.query, self.now.prompt = words, prompt

    def say(self, text: str) -> None:
        if text.strip() and [text.strip()] != self.now.said[-1:]:
            self.now.said.append(text.strip())

    def call(self, call: _Call) -> _Call:
        """Add a call and return it, or the same one that still waits: some formats repeat calls."""
        same = [one for one in self.now.calls if call.key and one == call]
        self.now.calls += [] if same else [call]
        self.now.before, self.now.said = self.now.said, []
        return (same or [call])[0]

    def answer(self, result: _Call) -> bool:
        """Give a result to its call, by id, by name or in order; return False if there is none."""
        calls = self.now.calls
        own = [one for one in calls if result.key and one.key == result.key]
        free = [one for one in calls if one.result is None and not (result.key and one.key)]
        found = [one for one in own if one.result is None] or own[-1:]
        found = found or [one for one in free if one.name == result.name] or free
        if found:
            found[0].answer(result.result or "", result.failed)
        else:
            calls.append(result)
        return bool(found)

    def feedback(self) -> None:
        """Let what is said next replace the answer."""
        now = self.now
        now.replaced = now.response
        now.calls = [call for call in now.calls if call is not now.closing]
        now.said = []

    def end(self) -> None:
        now, self.now = self.now, _Open()
        turn = now.turn(self.key, now.response or now.replaced)
        if turn.response:
            self.turns.append((now.line, now.prompt, turn))


class _Reader:
    """Turns values into turns."""

    def __init__(self, session: str) -> None:
        self.session = session
        self.tracks: dict[str, _Track] = {}
        self.track = _Track(session)  # of the last line
        self.own: list[tuple[int, Turn]] = []
        self.parents: dict[str, str] = {}
        self.roots: dict[str, str] = {}  # of sidechains without a name
        self.counts: Counter[str] = Counter()
        self.known = 0

    def unread(self, what: str, looks: str = "") -> None:
        """Count what was not understood. If it looks like a call or a result, the turn is unread."""
        self.counts[what] += 1
        self.track.now.unread += _is("evidence", looks)

    def other_keys(self, table: Mapping[str, Any], known: str) -> None:
        """Count the keys of a response or a message that look like calls and are not among the ``known`` fields."""
        likely = [key for key in table if key not in _FIELDS[known] and _is("evidence", key)]
        for key in likely:
            if table[key] and isinstance(table[key], list | dict | str):
                self.unread(f"keys not read: {key[:60]!r}", key)

    # -- lines

    def read(self, number: int, value: Any, *, nested: bool = False) -> None:
        """Read a line, a document, or an element of a list."""
        value = {"messages": value} if isinstance(value, list) else value
        if not isinstance(value, dict):
            self.unread("lines not read because they are not JSON objects")
        elif isinstance(value.get("response"), str) and value.keys().isdisjoint(("role", "type")):
            self.known += 1
            self.own_line(number, value)
        elif not self.line(number, value) and not self.conversation(number, value, nested=nested):
            kind = str(_first(value, ("type", "kind", "role")) or ", ".join(list(value)[:4]))
            silent = _is("silent_line", kind) or _is("silent", kind)
            if not silent and (number > 1 or _is("evidence", kind)):  # the first line may be a heading
                self.unread(f"lines of the type {kind[:60]!r} not read", f"{kind} {' '.join(value)}")

    def own_line(self, number: int, value: Mapping[str, Any]) -> None:
        """Read a line of a file of responses."""
        calls = {"role": "assistant", "content": "", "tool_calls": value.get("tool_calls")}
        inner = _Reader(self.session)
        for message in (*_list(value.get("messages")), calls):
            inner.read(number, message)
        inner.other_keys(value, "own")
        self.counts += inner.counts
        last = inner.reading().last or Turn("", "", "")
        key = _text(value.get("id"))[:400] or f"{self.session}:{number}"
        query = _text(value.get("query")) or last.query
        turn = replace(last, id=_cut(key), query=_cut(query), response=_cut(value["response"]))
        self.own.append((number, turn))

    def line(self, number: int, value: dict[str, Any]) -> bool:
        """Read a message, an item or an event in its envelope; return False if it is something else."""
        kind = str(value.get("type") or value.get("kind") or "")
        inner = next((value[key] for key in _FIELDS["envelope"] if isinstance(value.get(key), dict)), value)
        if kind == "session_meta" and inner.get("id"):  # Codex
            self.session = str(inner["id"])[:200]
        if "parentUuid" in value:
            self.follow(value)
        role = _role(kind, value, inner)
        item = inner.get("type") if inner is not value else kind
        hook, update = _table(value.get("attachment")), _is("update_line", kind)
        if role is not None and not inner.keys().isdisjoint(_FIELDS["message"]):
            self.message(self.track_of(number, value), role, inner, value)
        elif (_is("call", item) or _is("result", item) or _is("item_line", kind)) and not update:
            self.block(self.track_of(number, value), inner)
        elif role is None and not value.keys().isdisjoint(_FIELDS["event"]):
            self.event(self.track_of(number, value), value)
        elif hook.get("type") == "hook_blocking_error" and "Stop" in str(hook.get("hookEvent")):
            self.track_of(number, value).feedback()
        elif inner.get("type") == "thread_rolled_back":  # Codex
            self.counts["turns rolled back by the user, read all the same"] += 1
        else:
            return False
        self.known += 1
        return True

    def follow(self, value: Mapping[str, Any]) -> None:
        """Note the message that a line of Claude Code follows."""
        boundary = value.get("isCompactSummary") or value.get("subtype") == "compact_boundary"
        before = value["parentUuid"] or value.get("logicalParentUuid") or ("" if boundary else "start")
        self.parents[str(value.get("uuid"))] = str(before)

    def track_of(self, number: int, value: Mapping[str, Any]) -> _Track:
        """Return the track of a line, by its session and its agent."""
        agent = value.get("parent_tool_use_id")
        if value.get("isSidechain"):
            root = self.roots.get(str(value.get("parentUuid")), str(value.get("uuid")))
            self.roots[str(value.get("uuid"))] = root
            agent = value.get("agentId") or root
        session = str(_first(value, ("sessionId", "session_id")) or self.session)[:200]
        key = _cut(f"{session}/{agent}"[:400] if agent else session)
        track = self.track = self.tracks.setdefault(key, _Track(key, side=bool(agent)))
        track.line, track.now.line = number, track.now.line or number
        return track

    def conversation(self, number: int, value: Mapping[str, Any], *, nested: bool) -> bool:
        """Read a document that holds messages; return False if it is something else."""
        messages, session = _messages(value), self.session
        name = _first(value, ("sessionId", "session_id", "id"))
        if not nested and (name or number > 1):
            self.session = str(name or f"{session}:{number}")[:200]
        for place, message in enumerate(messages, start=1):
            self.read(place, message, nested=True)
        self.session = session
        return bool(messages)

    # -- messages

    def message(self, track: _Track, role: str, item: dict[str, Any], line: Mapping[str, Any]) -> None:
        demo = item.get("is_demo") or item.get("message_type") == "demonstration"
        if demo or any(line.get(key) for key in ("isCompactSummary", "isReplay", "isApiErrorMessage")):
            return
        content = _first(item, ("parts", "content"))
        blocks = content if isinstance(content, list) else [] if content is None else [content]
        track.tip = str(line.get("uuid")) if "parentUuid" in line else None
        if role == "user":
            self.user(track, blocks, line)
        elif role == "assistant" and item.get("model") != "<synthetic>":
            self.assistant(track, blocks, item)
        elif role == "tool":
            has_results = any(_is("result", _kind(_table(block))[0]) for block in blocks)
            for block in blocks if has_results else [{**item, "id": None, "type": "tool_result"}]:
                self.block(track, block)
        elif role not in ("assistant", "program"):
            self.unread(f"messages of the role {role[:60]!r} not read", role)

    def user(self, track: _Track, blocks: list[Any], line: Mapping[str, Any]) -> None:
        texts = [text for text in map(_said, blocks) if text is not None]
        for block in blocks:
            if _said(block) is None:
                self.block(track, block)
        told = "\n".join(texts)
        observed = track.now.command and _PATTERNS["observation"].match(told)
        if told.strip() and (track.now.in_text or observed):
            self.observed(track, _PATTERNS["program"].sub("", told))
        elif _PATTERNS["feedback"].match(told):
            track.feedback()
        elif not line.get("isMeta"):
            cline = _PATTERNS["result_of"].search(told)
            inside = _PATTERNS["from_cline" if cline else "user_query"].findall(told)
            if words := "\n".join([query for _, query in inside] or filter(None, map(_words, texts))):
                before, now = self.parents.get(track.tip or ""), track.now.prompt or ""
                if now != track.tip and before == self.parents.get(now, ""):
                    track.end()  # the user went back, and asks anew
                track.ask(words, track.tip)

    def observed(self, track: _Track, text: str) -> None:
        """Give the user's words to the calls in the text before them."""
        if not track.now.in_text:
            track.call(_Call("", "bash", {"command": track.now.command}))
            track.now.in_text = track.now.calls[-1:]
        pieces = _PATTERNS["result_of"].split(text)[1:] or _PATTERNS["tool_response"].findall(text) or [text]
        for call, piece in zip(track.now.in_text, pieces, strict=False):
            call.answer(*_result({}, piece.strip()))
        track.now.in_text, track.now.command = [], ""

    def assistant(self, track: _Track, blocks: list[Any], item: Mapping[str, Any]) -> None:
        more = _table(item.get("additional_kwargs"))
        given = _first(item, ("tool_calls", "toolCalls")) or _first(more, ("tool_calls", "function_call"))
        in_parts = any(_is("call", _kind(_table(block))[0]) for block in blocks)
        made = [] if in_parts else _list(item.get("toolInvocations"))  # AI SDK; newer ones have both
        blocks = [*({"type": "tool_call", **one} for one in map(_table, made) if one), *blocks]
        calls = [*given] if isinstance(given, list) else [given] if given else []
        calls += filter(None, [item.get("function_call")])
        self.other_keys({key: value for key, value in item.items() if not isinstance(value, str)}, "calls")
        track.now.in_text, track.now.command = [], ""
        for block in [*blocks, *filter(None, [item.get("refusal")])]:
            text = _said(block)
            if text is None:
                self.block(track, block)
            elif calls:
                track.say(_PATTERNS["thought"].sub("", text))
            elif item.get("phase") != "commentary":
                self.spoke(track, _PATTERNS["thought"].sub("", text), item.get("action"))
        for call in calls:
            if isinstance(call, dict):
                self.block(track, {**call, "type": "tool_call"})
            else:
                self.unread("calls not read because they are not JSON objects", "call")

    def spoke(self, track: _Track, text: str, action: object) -> None:
        """Take what the assistant said, with the calls that it wrote into its text."""
        fences = _PATTERNS["fence"].findall(text)
        command = action if isinstance(action, str) else fences[0] if len(fences) == 1 else ""
        calls = _calls_in(text)
        if _PATTERNS["submitted"].fullmatch(command):
            calls, text = [_Call("", "submit", {})], _PATTERNS["fence"].sub("", text)
        elif isinstance(action, str) and command.strip() and not calls:
            calls = [_Call("", "bash", {"command": command.strip()})]
        for pattern in _CALLS_IN_TEXT:
            text = pattern.sub("", text)
        track.say(text)
        for call in calls:
            track.call(call)
        track.now.in_text += [call for call in calls if call is not track.now.closing]
        track.now.command = "" if calls else command

    # -- blocks

    def block(self, track: _Track, block: Any) -> None:
        """Take a block or an item: a call, a result, or a text of the assistant."""
        if (text := _said(block)) is not None:
            track.say(text)
            return
        kind, fields = _kind(_table(block))
        if kind == "message":
            self.message(track, _ROLES.get(str(fields.get("role")), "program"), fields, fields)
        elif _is("result", kind):
            text, failed = _result(fields, _first(fields, _FIELDS["answer"]))
            name = _text(_first(fields, _FIELDS["name"])) or "unknown"
            answered = track.answer(_Call(_key(fields), name, {}, text, failed))
            self.counts["results without their call"] += not answered
        elif _is("call", kind) or (kind.startswith("tool-") and "toolCallId" in fields):
            self.call(track, fields, kind)
        elif not _is("silent", kind):
            self.unread(f"blocks of the type {kind[:60]!r} not read", f"{kind} {' '.join(fields)}")

    def call(self, track: _Track, block: dict[str, Any], kind: str) -> None:
        nested = [block[key] for key in _FIELDS["nested"] if isinstance(block.get(key), dict)]
        block = block | (nested[0] if nested else {})
        name = _first(block, _FIELDS["name"])
        if name is None and not _is("unnamed", kind):
            name = re.sub(r"^tool-|_call$", "", kind)
        if not isinstance(name, str) or not name.strip():
            self.unread("calls not read because they have no name", "call")
            return
        call = track.call(_Call(_key(block), name.strip(), _arguments(block)))
        value = _first(block, _FIELDS["inside"])
        if value not in (None, []) or _is("failed", block.get("status")):
            call.answer(*_result(block, value))

    def event(self, track: _Track, value: dict[str, Any]) -> None:
        """Take an event of OpenHands, whose newer events have tables where the older have names."""
        fields = _table(_first(value, _FIELDS["event"]))
        name = str(_first(value, ("tool_name", "action", "observation")))
        if name == "message":
            text = _text(_first({**value, **fields}, ("content", "message")))
            role = "user" if value.get("source") == "user" else "assistant"
            self.message(track, role, {"content": text}, {})
        elif _is("silent_event", name):
            return
        elif "action" in value:
            given = {key: text for key, text in fields.items() if isinstance(text, str) and key != "thought"}
            call = {"name": _text(fields.get("name")) or name, "id": _first(value, ("tool_call_id", "id"))}
            self.call(track, {**call, "arguments": _table(fields.get("arguments")) or given}, "tool_call")
        else:
            key = _first(value, ("tool_call_id", "cause", "action_id"))
            told = {**value, **fields, "id": None, "call_id": key, "type": "tool_result", "name": name}
            told["content"] = _first(value, ("content", "error")) or fields
            self.block(track, {**told, "status": "error" if "error" in value else name})

    # -- the end

    def reading(self) -> Reading:
        """Return what was read."""
        tracks = sorted(self.tracks.values() or [self.track], key=lambda track: (not track.side, track.line))
        key, now, turns = tracks[-1].key, tracks[-1].now, tracks[-1].turns
        last = turns[-1][2] if turns else None
        if now.query or now.calls or now.said or now.unread:
            last = now.turn(key, now.response)
        found = list(self.own)
        for track in tracks:
            calls, before = len(track.now.calls), len(track.turns)
            track.end()
            self.counts["turns without a response"] += bool(calls) and len(track.turns) == before
            chain = self.chain(track.tip)
            for number, prompt, turn in track.turns:
                if prompt not in chain and self.chain(prompt) & chain:  # the user went back behind it
                    self.counts["turns of a rewound branch left out"] += 1
                else:
                    found.append((number, turn))
        found.sort(key=lambda entry: entry[0])
        notes = tuple(f"{what}: {count:,}" for what, count in sorted(self.counts.items()) if count)
        return Reading(tuple(turn for _, turn in found), notes, self.own[-1][1] if self.own else last)

    def chain(self, tip: str | None) -> set[str]:
        """Return a message and those that it follows."""
        chain: set[str] = set()
        while tip and tip not in chain:
            chain.add(tip)
            tip = self.parents.get(tip)
        return chain


# -- files


def _values(content: bytes, counts: Counter[str]) -> Iterator[tuple[int, Any]]:
    """Yield the values in a file with their lines: one document, or one per line; a broken line as its text."""
    with suppress(ValueError):
        yield 1, strict_json(content)
        return
    lines = content.rstrip().split(b"\n")
    for number, line in enumerate(lines, start=1):
        text = line.decode("utf-8-sig", "replace").strip()
        counts["lines with bytes that are not UTF-8"] += "\ufffd" in text and b"\xef\xbf\xbd" not in line
        try:
            if text:
                yield number, strict_json(text)
        except ValueError:
            if number < len(lines):
                yield number, text
            else:  # a session under way
                counts["lines at the end that are not JSON, or not finished"] += 1


def read_turns(path: str | Path) -> Reading:
    """Read the turns of a transcript, or of a file of responses.

    Raises:
        InputError: the file can't be read, or nothing in it has a known form.
    """
    path = Path(path)
    reader = _Reader(path.stem)
    try:
        content = read_input(path, _MOST_OF_FILE)
    except OSError as error:
        raise InputError(f"{path}: not read, {error.strerror}; {_ALLOWED}") from None
    what = "neither JSON lines nor one JSON document in UTF-8"
    for number, value in _values(content, reader.counts):
        if isinstance(value, str):
            reader.unread("lines not read because they are not JSON", value)
        else:
            reader.read(number, value)
            what = "unknown format"
    if not reader.known:
        raise InputError(f"{path}: {what}; {_ALLOWED}")
    return reader.reading()


def turn_of(line: Mapping[str, Any]) -> Turn:
    """Return the turn in a line of a file of responses, which has a ``response``."""
    reader = _Reader("response")
    reader.own_line(1, line)
    return reader.own[0][1]
