"""Calls of tools as evidence: what ran, on what, and what the call itself says of its outcome.

An outcome comes from marks alone: the client's flag, an exit code, a count in a check's own summary, a shell's own
"command not found". Words of failure in text that a tool only shows do not count. Source: *Epistemic Adequacy
Design*, "Limited evidence signals".

Known approximation: checks are known by the names of common programs; a shell line is split without the rules of
quoting in full.
"""

from __future__ import annotations

import enum
import functools
import json
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from solvent.adequacy.words import vocabulary
from solvent.files import InputError

__all__ = [
    "Call", "Command", "Outcome", "calls_of", "commands", "empty_result", "is_check", "is_look", "is_narrow",
    "is_search", "open_failures", "outcome", "ran", "stems",
]  # fmt: skip


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
        for key in ("command", "cmd", "script", "keystrokes"):
            if given := self.arguments.get(key):
                return shlex.join(_values(given)) if isinstance(given, list | tuple) else str(given)
        return ""


def calls_of(rows: Iterable[Any]) -> tuple[Call, ...]:
    """Return the calls of rows ``{name, arguments?, result?, error?}``; a ``result`` of None was not recorded.

    Raises:
        InputError: a row is something else.
    """
    calls = []
    for row in rows:
        if not isinstance(row, Mapping) or not isinstance(row.get("name"), str):
            raise InputError(f"tool_calls: got {row!r:.80}; allowed: objects with name, arguments and result")
        arguments: Any = row.get("arguments") or {}
        if not isinstance(arguments, Mapping):
            arguments = {"input": str(arguments)}
        result, error = row.get("result", ""), row.get("error")
        text = result if isinstance(result, str) else "" if result is None else json.dumps(result)
        if not text and isinstance(error, str):
            text = error
        failed = None if error is None else bool(error)
        calls.append(Call(row["name"], arguments, text, failed, result is not None))
    return tuple(calls)


def _values(value: Any) -> list[str]:
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return [text for inner in value for text in _values(inner)]
    return [] if value is None else [str(value)]


# -- words in common -----------------------------------------------------------------------------

_WORD = re.compile(r"[A-Z]{2,}(?=s\b)|[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+(?:\.\d+)?")
_SUFFIX = re.compile(r"(?:ies|y|ing|ed|es|e|(?<!s)s|er|ers|or|ors)$")
_NUMBERS = {word: str(i) for i, word in enumerate(vocabulary()["words"]["numbers"].split(), 1)}


def _stem(word: str) -> str:
    """Return what the forms of a word share, ``retr`` of retry and retries; a number in digits."""
    word = word.lower()
    if not word.isalpha():
        return word
    short = _SUFFIX.sub("", word)
    return _NUMBERS.get(word) or (short if len(short) > 2 else word)[:5]


@functools.lru_cache(maxsize=2**12)
def stems(text: str) -> frozenset[str]:
    """Return the stems of the words that say something; names are split at their parts."""
    stop = frozenset(vocabulary()["words"]["stop"].split())
    words = _WORD.findall(re.sub(r"(?<=\d),(?=\d{3})", "", text))
    return frozenset(
        _stem(word) for word in words if word.lower() not in stop and (len(word) > 1 or word.isdigit())
    )


# -- what kind of call ---------------------------------------------------------------------------


class Command(NamedTuple):
    """A program (with its task, if it has many) and what it is applied to."""

    program: str
    targets: tuple[str, ...]


@functools.cache
def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(vocabulary()["patterns"][name], re.MULTILINE | re.VERBOSE)


@functools.cache
def _programs(name: str) -> frozenset[str]:
    return frozenset(vocabulary()["programs"][name].split())


def commands(call: Call) -> list[Command]:
    """Return what a call runs: the commands of its shell line, or the tool itself."""
    if call.command:
        return _parse(call.command)
    return [Command(call.name.lower(), tuple(_values(call.arguments)))]


@functools.lru_cache(maxsize=2**10)
def _parse(line: str) -> list[Command]:
    line = re.sub(
        r"<<-?\s*['\"]?(\w+)['\"]?\n.*?^\1$", " ", line, flags=re.DOTALL | re.MULTILINE
    )  # a here-document
    lexer = shlex.shlex(line.replace("\n", " ; "), posix=True, punctuation_chars="();<>|&")
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        words = list(lexer)
    except ValueError:  # a quotation that doesn't end
        words = re.findall(r"[;|&]+|[^\s;|&]+", line)
    parts: list[list[str]] = [[]]
    for word in words:
        if set(word) <= set(";|&()"):
            parts.append([])
        elif not set(word) <= set("<>&") and not re.fullmatch(r"\d|[A-Z_]+=.*", word):
            parts[-1].append(word)
    result = []
    for part in parts:
        if len(part) > 2 and part[0].rpartition("/")[2] in ("bash", "sh", "zsh") and part[1].startswith("-"):
            result += _parse(part[2])
        elif command := _command(part):
            result.append(command)
    return result


def _command(words: list[str]) -> Command | None:
    while len(words) > 1 and (words[0] in _programs("wrappers") or words[0].startswith("-")):
        words = words[1:]
    if not words or words[0] in _programs("silent"):
        return None
    program = words[0].rpartition("/")[2]
    rest = [word for word in words[1:] if not word.startswith("-") and word != "run"]
    has_tasks = not _checks(Command(program, ())) and program not in _programs("looking") | _programs(
        "searching"
    )
    if has_tasks and rest and re.fullmatch(r"[a-z][a-z:-]+", rest[0]):
        program = f"{program}:{rest.pop(0)}"
    return Command(program, tuple(rest))


def is_search(call: Call) -> bool:
    """Return whether a call looks for something, so that an empty answer says that it isn't there."""
    if call.command:
        return any(command.program in _programs("searching") for command in commands(call))
    return bool(_pattern("search_tool").search(call.name))


def is_look(call: Call) -> bool:
    """Return whether a call only looks at something: it reads, lists or searches."""
    if not call.command:
        return bool(_pattern("look_tool").search(call.name))
    if re.search(r"(?<![\d&])>(?!&)|\bsed -i", call.command):
        return False
    return all(_looks(command.program) for command in commands(call))


def _looks(program: str) -> bool:
    """Return whether a program, or its task, only shows something."""
    return program in _programs("looking") | _programs("searching") or program.partition(":")[2] in _programs(
        "tasks"
    )


def is_check(call: Call) -> bool:
    """Return whether a call checks something: runs tests, lints, builds."""
    return not is_look(call) and any(_checks(command) for command in commands(call))


def _checks(command: Command) -> bool:
    """Return whether a command checks something, by its program or one of its first words."""
    first = [target for target in command.targets[:2] if re.fullmatch(r"[\w:-]+(?:\.jar)?", target)]
    words = re.findall(r"[A-Z]?[a-z]+", " ".join([command.program, *first]))
    return any(_pattern("checking").fullmatch(word.lower()) for word in words)


# -- outcomes ------------------------------------------------------------------------------------


class Outcome(enum.Enum):
    """What a call says of itself."""

    PASSED = enum.auto()
    FAILED = enum.auto()
    NOTHING_RAN = enum.auto()
    RUNNING = enum.auto()


@functools.lru_cache(maxsize=2**10)
def _outcome(result: str, failed: bool | None, check: bool, piped: bool) -> Outcome:
    if _pattern("running").search(result[:400]):
        return Outcome.FAILED if failed else Outcome.RUNNING
    summary, code = "\n".join(result.rstrip().splitlines()[-30:]), _exit_code(result)
    if failed or code or _pattern("shell_error").search(summary):
        return Outcome.FAILED
    return _outcome_of_check(summary, green=code == 0 and not piped) if check else Outcome.PASSED


def _exit_code(result: str) -> int | None:
    """Return the exit code that a result states."""
    stated = _pattern("exit_code").search(result)
    return int(next(filter(None, stated.groups()))) if stated else None


def _outcome_of_check(summary: str, *, green: bool) -> Outcome:
    """Return the outcome of a check by the end of its output; ``green`` if its own exit code is 0."""
    if _is_empty_run(summary):
        return Outcome.NOTHING_RAN
    if green or _pattern("settled").search(summary):
        return Outcome.PASSED
    if _pattern("failure_count").search(summary) or _pattern("failure_mark").search(summary):
        return Outcome.FAILED
    return Outcome.PASSED


def _is_empty_run(summary: str) -> bool:
    return bool(_pattern("nothing_ran").search(summary)) and not _pattern("passed").search(summary)


def outcome(call: Call) -> Outcome:
    """Return what the marks of a call say: its flag, its exit code, the counts in a check's own summary."""
    return _outcome(call.result, call.failed, is_check(call), "|" in call.command)


def is_narrow(call: Call) -> bool:
    """Return whether a check is limited to a part: a path, a test, a filter."""
    targets = [target for command in commands(call) if _checks(command) for target in command.targets]
    return any(re.search(r"\w[/.:]\w", target) for target in targets) or bool(
        _pattern("narrow").search(call.command)
    )


def ran(call: Call) -> bool:
    """Return whether a check ran at all: its own summary counts something, or names what failed."""
    return bool(_pattern("counted").search(call.result) or _pattern("failure_mark").search(call.result))


def open_failures(calls: Sequence[Call]) -> list[Call]:
    """Return the calls that failed and that no later call settles, in order; what only looks at something is left out.

    A check that ran and failed stands until the same program is green on the same target or on a broader one. Another
    failure is a failed attempt: any later success of the same program or on the same target settles it, and so does a
    later green check, if it was to check something.
    """
    standing: list[Call] = []
    for call in calls:
        if is_look(call):
            continue
        if outcome(call) is Outcome.FAILED:
            standing = [failed for failed in standing if commands(failed) != commands(call)] + [call]
        elif outcome(call) is Outcome.PASSED:
            standing = [failed for failed in standing if not _settles(call, failed)]
    return standing


def _settles(later: Call, failed: Call) -> bool:
    if is_check(failed) and ran(failed):
        checks = [command for command in commands(failed) if _checks(command)]
        return all(any(_covers(new, old, failed) for new in commands(later)) for old in checks)
    if is_check(failed) and ran(later):
        return True
    pairs = [(new, old) for new in commands(later) for old in commands(failed)]
    return any(new.program == old.program or _share_a_target(new, old) for new, old in pairs)


def _share_a_target(new: Command, old: Command) -> bool:
    return any(len(target) > 2 and target in new.targets for target in old.targets)


def _covers(new: Command, old: Command, failed: Call) -> bool:
    """Return whether a green run covers a failed one: all there is, a folder above, the same, or what failed."""
    if new.program != old.program:
        return False
    folders = [target.removesuffix("...").removeprefix("./").rstrip("/.") for target in new.targets]
    if "" in folders or not folders:
        return True
    targets = [target.removeprefix("./") for target in old.targets]
    if targets and all(target.startswith(tuple(folders)) for target in targets):
        return True
    failed_tests = re.findall(r"^FAILED (\S+)", failed.result, re.MULTILINE)
    if failed_tests:
        return all(test.startswith(tuple(folders)) for test in failed_tests)
    return all(target in failed.result for target in new.targets)


def empty_result(call: Call) -> bool:
    """Return whether a call that looks for something says that it isn't there."""
    return call.recorded and bool(_pattern("absent").search(call.result[:300]))
