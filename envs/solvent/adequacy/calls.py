"""Calls of tools as evidence: what was asked, what was answered, and what failed.

A call that failed is an observation too: it shows that something failed. A failed *check* (a test run, a linter, a
build) stands until the same check succeeds; another failed attempt is also settled by a later call that does the same
job another way. Source: *Epistemic Adequacy Design*, "Limited evidence signals".

Known approximation: a failure is known from the program's flag, an exit code, a count ("3 failing") or the words of
common programs. A shell line is split into its commands without the rules of quoting in full.
"""

from __future__ import annotations

import functools
import json
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from solvent.adequacy.words import lexicon, pattern, word_set
from solvent.files import InputError

__all__ = [
    "Call",
    "calls_of",
    "failed",
    "failure",
    "is_broad",
    "is_full_check",
    "is_look",
    "is_search",
    "open_failures",
    "stem",
    "stems",
]


@dataclass(frozen=True)
class Call:
    """A call of a tool in a turn.

    Attributes:
        name: the tool.
        arguments: what it was called with; text that is not a JSON object stands under ``input``.
        result: what it answered, as text.
        failed: the program flagged the answer as an error; None if the format has no such flag.
        recorded: False if the format does not keep results, which has the benefit of the doubt.
    """

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    result: str = ""
    failed: bool | None = None
    recorded: bool = True

    @property
    def asked(self) -> str:
        """The values of the arguments as one text."""
        return " ".join(_values(self.arguments))

    @property
    def command(self) -> str:
        """The shell command, if the tool runs one."""
        given = next(
            (self.arguments[key] for key in ("command", "cmd", "script") if self.arguments.get(key)), ""
        )
        return shlex.join(_values(given)) if isinstance(given, list | tuple) else str(given)


def calls_of(rows: Iterable[Any]) -> tuple[Call, ...]:
    """Return the calls of rows ``{name, arguments?, result?, error?}``; a ``result`` of None was not recorded.

    Raises:
        InputError: a row is something else.
    """
    found = []
    for row in rows:
        if not isinstance(row, Mapping) or not isinstance(row.get("name"), str):
            raise InputError(f"tool_calls: got {row!r:.80}; allowed: objects with name, arguments and result")
        asked: Any = row.get("arguments") or {}
        asked = asked if isinstance(asked, Mapping) else {"input": str(asked)}
        result, error = row.get("result", ""), row.get("error")
        text = result if isinstance(result, str) else "" if result is None else json.dumps(result)
        said, flag = text or (error if isinstance(error, str) else ""), None if error is None else bool(error)
        found.append(Call(row["name"], asked, said, flag, result is not None))
    return tuple(found)


def _values(given: Any) -> list[str]:
    if isinstance(given, Mapping):
        given = list(given.values())
    if isinstance(given, list | tuple):
        return [text for value in given for text in _values(value)]
    return [] if given is None else [str(given)]


# -- words in common -----------------------------------------------------------------------------

_WORD = re.compile(r"[A-Z]{2,}(?=s\b)|[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+(?:\.\d+)?")
_SUFFIX = re.compile(r"(?:ies|y|ing|ed|es|e|(?<!s)s|er|ers|or|ors)$")
_NUMBERS = {word: str(i) for i, word in enumerate(lexicon()["words"]["numbers"].split(), 1)}


def stem(word: str) -> str:
    """Return what the forms of a word share, ``retr`` of retry and retries; a number in digits."""
    word = word.lower()
    short = _SUFFIX.sub("", word)
    return (_NUMBERS.get(word) or (short if len(short) > 2 else word)[:5]) if word.isalpha() else word


@functools.lru_cache(maxsize=2**12)
def stems(text: str) -> frozenset[str]:
    """Return the stems of the words that say something; names are split at their parts."""
    words, stop = _WORD.findall(re.sub(r"(?<=\d),(?=\d{3})", "", text)), word_set("stop")
    said = (word for word in words if word.lower() not in stop and (len(word) > 1 or word.isdigit()))
    return frozenset(map(stem, said))


# -- what kind of call ---------------------------------------------------------------------------

_WHOLE = {".", "./", "/"}


class _Command(NamedTuple):
    """A program (with its task, if it has many) and what it is applied to."""

    program: str
    targets: tuple[str, ...]

    @property
    def is_check(self) -> bool:
        """Whether it checks something: runs tests, lints, builds."""
        return bool(pattern("check").search(self.program))


def is_search(call: Call) -> bool:
    """Return whether a call looks for something, so that an empty answer says that it isn't there."""
    return bool(
        pattern("search").search(call.name)
        or pattern("query").match(call.asked)
        or (call.command and any(one.program in word_set("searching") for one in _commands(call)))
    )


def is_look(call: Call) -> bool:
    """Return whether a call only looks at files: it reads, lists or searches."""
    looking = word_set("looking") | word_set("searching")
    if call.command and ">" not in call.command.replace("2>", ""):
        return all(one.program in looking for one in _commands(call))
    return bool(pattern("look").search(call.name))


def is_broad(call: Call) -> bool:
    """Return whether a call searches everything."""
    if call.command:
        where = [set(targets[1:]) for program, targets in _commands(call) if program in word_set("searching")]
        return bool(pattern("deep").search(call.command)) and any(one <= _WHOLE for one in where)
    deep = re.search("grep|codebase", call.name, re.IGNORECASE)
    return bool(deep) and str(call.arguments.get("path") or ".") in _WHOLE


def is_full_check(call: Call) -> bool:
    """Return whether a call is a full check, such as a run of the whole test suite."""
    checks = [one for one in _commands(call) if one.is_check]
    whole = any(not re.search(r"\w[/.]\w", " ".join(one.targets)) for one in checks)
    return whole and not pattern("narrow").search(call.command)


def _commands(call: Call) -> list[_Command]:
    if not call.command:
        return [_Command(call.name.lower(), tuple(_values(call.arguments)))]
    return _commands_in(call.command)


def _commands_in(text: str) -> list[_Command]:
    text = text.replace("\n", " ; ")
    lexer = shlex.shlex(text, posix=True, punctuation_chars="();<>|&")
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        words = list(lexer)
    except ValueError:  # a quotation that doesn't end
        words = re.findall(r"[;|&]+|[^\s;|&]+", text)
    parts: list[list[str]] = [[]]
    for word in words:
        if set(word) <= set(";|&()"):
            parts.append([])
        elif not set(word) <= set("<>&") and not (word.isdigit() or re.match(r"[A-Z_]+=", word)):
            parts[-1].append(word)
    found = []
    for part in parts:
        if len(part) > 2 and part[0] in ("bash", "sh", "zsh") and part[1].startswith("-"):
            found += _commands_in(part[2])
        elif (one := _command(part)) is not None:
            found.append(one)
    return found


def _command(words: list[str]) -> _Command | None:
    while len(words) > 1 and words[0] in word_set("wrappers"):
        words = words[1:]
    if not words or words[0] in word_set("silent"):
        return None
    program, rest = words[0].rpartition("/")[2], [word for word in words[1:] if not word.startswith("-")]
    if program in word_set("families") and rest:
        program = f"{program}-{rest.pop(0)}"
    return _Command(program, tuple(rest))


# -- what failed ---------------------------------------------------------------------------------


def failure(call: Call) -> str:
    """Return the line in which a call says that it failed; empty if it did not fail."""
    reported = call.failed or re.match(r"\W*error", call.result, re.IGNORECASE)
    if pattern("writes").search(call.name) and not reported:  # it shows what was written
        return ""
    result = pattern("none_failed").sub("", call.result).replace("\\n", "\n")  # JSON within text
    codes = [int(found[1]) for found in pattern("exit_code").finditer(result)]
    found = pattern("failure_count").search(result) or (
        None if codes and not any(codes) else pattern("failure_words").search(result)
    )
    if found is None:
        return (result.strip()[:500] or "failed") if call.failed or any(codes) else ""
    return result[: found.end()].rpartition("\n")[2] + result[found.end() :].partition("\n")[0]


def failed(call: Call) -> bool:
    """Return whether a call failed: by its flag, an exit code, a count, or the words of common programs."""
    return bool(call.failed or failure(call))


def open_failures(calls: Sequence[Call]) -> list[Call]:
    """Return the calls that failed and that no later call settles, in order; what only looks at files is left out."""
    standing: list[tuple[Call, _Command]] = []
    for call in calls:
        if is_look(call):
            continue
        commands = _commands(call)
        if failed(call):
            checks = [one for one in commands if one.is_check]
            standing += [(call, one) for one in checks or commands[-1:]]
        else:
            standing = [one for one in standing if not any(_settles(command, *one) for command in commands)]
    return list({id(call): call for call, _ in standing}.values())


def _settles(later: _Command, call: Call, command: _Command) -> bool:
    """Return whether a command that succeeded settles one that failed in ``call``."""
    same = later.program == command.program
    if command.is_check:  # a narrower check settles what the failed one named
        return same and (not later.targets or any(one in call.asked + call.result for one in later.targets))
    # What names the same thing may have done the job of an attempt another way.
    common = {target for target in command.targets if len(target) > 2} & set(later.targets)
    free = any(re.search(r"[\s(]", target) for target in command.targets)  # a script, a query, a message
    return bool(common) or (same and (free or not command.targets))
