"""Tool calls of an agent before its answer: arguments, results, and the results that the answer refers to.

A call is *broad* if it looks at everything (``grep -r`` on the root, a glob of ``**``, a search without a path), and
*narrow* otherwise. ``scope`` and ``overlap`` hold the rules.

Source: *Epistemic Adequacy Design*, "Heuristic approach: tool-use pattern analysis" and "Data collection".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Any

from solvent.adequacy.errors import AdequacyError
from solvent.adequacy.overlap import Marks, ResponseWords, Result, marks_of, refers
from solvent.adequacy.scope import Given, Scope, command_of, files_in, scope_of, targets_of, texts_of
from solvent.adequacy.text import read, without_questions
from solvent.adequacy.transcripts import read_anthropic, read_openai

__all__ = ["Evidence", "Scope", "ToolCall", "ToolContext"]

_ALLOWED = "allowed: {name, arguments, result}, optionally error and scope"
_SEPARATORS = re.compile("[\x7f-\x9f\u2028\u2029]")
_KEYS = {"name", "arguments", "result", "error", "scope"}


class Evidence(IntEnum):
    """Amount of evidence: distinct calls that answered, a broad one counted twice."""

    NONE = 0
    THIN = 1
    REASONABLE = 2
    AMPLE = 3


@dataclass(frozen=True)
class ToolCall:
    """One call of a tool.

    Attributes:
        name: name of the tool.
        arguments: the arguments.
        result: the returned text; ``""`` is an empty result, None is not recorded.
        error: the call failed.
        scope_given: ``narrow`` or ``broad`` if known; by default the arguments decide.

    Raises:
        AdequacyError: the name is missing, the arguments are not a table, the result is not a text, or the scope is
            unknown.
    """

    name: str
    arguments: Mapping[str, Any]
    result: str | None
    error: bool = False
    scope_given: Scope | None = None

    def __post_init__(self) -> None:
        name: object = self.name
        if not isinstance(name, str) or not name.strip():
            raise AdequacyError(f"tool call: name: got {self.name!r:.80}; allowed: a text")
        if type(self.arguments) is not dict and not isinstance(self.arguments, Mapping):
            raise AdequacyError(f"{self.name}: arguments: got {self.arguments!r:.80}; allowed: a table")
        if self.result is not None and not isinstance(self.result, str):
            raise AdequacyError(f"{self.name}: result: got {self.result!r:.80}; allowed: a text or None")
        if not isinstance(self.error, bool):
            raise AdequacyError(f"{self.name}: error: got {self.error!r:.80}; allowed: true or false")
        if self.scope_given not in (None, "narrow", "broad"):
            raise AdequacyError(f"{self.name}: scope: got {self.scope_given!r:.80}; allowed: narrow, broad")

    @cached_property
    def _given(self) -> Given:
        return texts_of(self.arguments)

    @cached_property
    def targets(self) -> tuple[str, ...]:
        """The targets: paths, patterns, addresses, queries, compounds."""
        return targets_of(self._given)

    @cached_property
    def scope(self) -> Scope:
        """``broad`` if the call looked at everything, else ``narrow``."""
        return self.scope_given or scope_of(self.name, self._given)

    @property
    def files(self) -> frozenset[str]:
        """The names of the files that it looked at or changed, in lower case and without folders."""
        return frozenset(name.lower() for name in files_in(self._given))

    @property
    def command(self) -> str:
        """The tool and the program that it ran, or its target; calls alike are attempts at one thing."""
        return command_of(self.name, self._given)

    @cached_property
    def asked(self) -> Marks:
        """The words and marks of the arguments."""
        return marks_of(" ".join(text for _, text in self._given))

    @cached_property
    def returned(self) -> Result:
        """The words and marks of the result that a response may refer to."""
        return Result.of(self.name, self._given, self.result or "")

    @property
    def answered(self) -> bool:
        """True if the call brought an answer, such as a search that found nothing."""
        if self.error:
            return False
        return self.result is None or bool(self.result.strip()) or self.returned.is_search

    def identity(self) -> str:
        """Return name and arguments as one text, equal for equal calls."""
        return f"{self.name} {_written(self.arguments)}"

    def to_dict(self) -> dict[str, Any]:
        """Return the form that ``ToolContext.from_dicts`` reads."""
        told: dict[str, Any] = {"name": self.name, "arguments": dict(self.arguments), "result": self.result}
        if self.error:
            told["error"] = True
        if self.scope_given is not None:
            told["scope"] = self.scope_given
        return told


@dataclass(frozen=True)
class ToolContext:
    """The tool calls of one turn, in order."""

    calls: tuple[ToolCall, ...] = ()

    @classmethod
    def from_dicts(cls, calls: Iterable[Mapping[str, Any]]) -> ToolContext:
        """Return the context of calls ``{name, arguments, result}``, optionally with ``error`` and ``scope``.

        Raises:
            AdequacyError: a call has another form; the message has its place in the list.
        """
        if isinstance(calls, str | bytes | Mapping) or not isinstance(calls, Iterable):
            raise AdequacyError(f"tool calls: got {calls!r:.80}; allowed: a list of calls")
        return cls(tuple([_call(i, given) for i, given in enumerate(calls)]))

    @classmethod
    def from_openai(cls, messages: Iterable[Mapping[str, Any]]) -> ToolContext:
        """Return the calls of a chat-completions transcript: ``tool_calls``, and answers of role ``tool``.

        Raises:
            AdequacyError: the messages have another form.
        """
        return cls.from_dicts(read_openai(messages))

    @classmethod
    def from_anthropic(cls, messages: Iterable[Mapping[str, Any]]) -> ToolContext:
        """Return the calls of a transcript of content blocks, ``tool_use`` and ``tool_result``.

        Raises:
            AdequacyError: the messages have another form.
        """
        return cls.from_dicts(read_anthropic(messages))

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the form that ``from_dicts`` reads."""
        return [call.to_dict() for call in self.calls]

    def distinct(self) -> tuple[ToolCall, ...]:
        """Return the calls without repeats (equal call and result), each where it came first."""
        if len({(call.name, call.result, call.error) for call in self.calls}) == len(self.calls):
            return self.calls
        once: dict[tuple[str, str | None, bool], ToolCall] = {}
        for call in self.calls:
            once.setdefault((call.identity(), call.result, call.error), call)
        return tuple(once.values())

    def referred(self, response: str, query: str | None = None) -> tuple[bool, ...]:
        """Return, for each call, whether the response refers to its result.

        Words of the query or of the call's own arguments are no reference.

        Raises:
            AdequacyError: the response is not a text.
        """
        if not isinstance(response, str):
            raise AdequacyError(f"response: got {response!r:.80}; allowed: a text")
        said = ResponseWords.of(without_questions(read(response)), marks_of(query or ""))
        return tuple(refers(said, call.returned) for call in self.calls)

    def summary(self, most: int = 4000) -> str:
        """Return one line per call with name, arguments and abbreviated result, at most ``most`` characters in all."""
        if not self.calls:
            return "(no tool was called)"[:most]
        share = max(40, most // len(self.calls) - 1)
        lines = [_line(i, call, share) for i, call in enumerate(self.calls, start=1)]
        return "\n".join(_fitting(lines, most))[:most]

    def field(self, has_strong_negative: bool) -> dict[str, Any]:
        """Return the source's ``tool_context`` of a score."""
        return {
            "tool_calls": len(self.calls),
            "tool_types": [call.name for call in self.calls],
            "has_strong_negative": has_strong_negative,
        }


def _call(number: int, given: object) -> ToolCall:
    if (type(given) is not dict and not isinstance(given, Mapping)) or "name" not in given:
        raise AdequacyError(f"tool calls[{number}]: got {given!r:.80}; {_ALLOWED}")
    if not given.keys() <= _KEYS:
        unknown = next(key for key in given if key not in _KEYS)
        raise AdequacyError(f"tool calls[{number}]: got the key {unknown!r:.80}; {_ALLOWED}")
    arguments = given.get("arguments")
    try:
        return ToolCall(
            given["name"],
            {} if arguments is None else arguments,
            given.get("result"),
            given.get("error", False),
            given.get("scope"),
        )
    except AdequacyError as error:
        raise AdequacyError(f"tool calls[{number}]: {error}") from None


def _written(value: object) -> str:
    """Return JSON on one line, also for readers that break lines at U+2028 and the like."""
    return _SEPARATORS.sub(
        lambda sign: f"\\u{ord(sign[0]):04x}",
        json.dumps(value, sort_keys=True, ensure_ascii=False, default=str),
    )


def _line(number: int, call: ToolCall, most: int) -> str:
    given = ", ".join(f"{_one_line(str(key))}={_written(value)}" for key, value in call.arguments.items())
    head = _short(f"{number}. {_one_line(call.name)}({given})", most // 2)
    if call.result is None:
        told = "not recorded"
    else:
        told = _written(_short(call.result, max(8, most - len(head) - 16))) if call.result else "nothing"
    return _short(f"{head} -> {'error: ' if call.error else ''}{told}", most)


def _one_line(text: str) -> str:
    return " ".join(text.splitlines())


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: max(0, most - 3)]}..."


def _fitting(lines: list[str], most: int) -> Iterator[str]:
    if sum(map(len, lines)) + len(lines) <= most:
        yield from lines
        return
    fit = max(2, (most - 40) // max(1, max(map(len, lines)) + 1))
    first, last = fit - fit // 2, fit // 2
    yield from lines[:first]
    yield f"... {len(lines) - first - last} calls left out ..."
    yield from lines[len(lines) - last :]
