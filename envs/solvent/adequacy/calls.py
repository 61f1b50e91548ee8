"""Calls of tools as evidence: what was asked, what was answered, and what failed.

A call that failed is an observation too: it shows that something failed. A failed *check* (a test run, a linter, a build)
stands until the same check succeeds; another failed attempt is also settled by a later call that does the same job another
way. Source: *Epistemic Adequacy Design*, "Limited evidence signals".

Known approximation: a failure is known from the program's flag, an exit code, a count ("3 failing") or the words of common
programs. A shell line is split into its commands without the rules of quoting in full.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

__all__ = [
    "STOP",
    "Call",
    "calls_of",
    "failed",
    "failure",
    "is_broad",
    "is_look",
    "is_search",
    "open_failures",
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
        return " ".join(_values(given))


def calls_of(rows: Iterable[Mapping[str, Any]]) -> tuple[Call, ...]:
    """Return the calls of rows ``{name, arguments?, result?, error?}``; a ``result`` of None was not recorded.

    Raises:
        ValueError: a row is something else.
    """
    found = []
    for row in rows:
        if not isinstance(row, Mapping) or not isinstance(row.get("name"), str):
            raise ValueError(f"tool_calls: got {row!r:.80}; allowed: objects with name, arguments and result")
        asked, result, error = row.get("arguments") or {}, row.get("result", ""), row.get("error")
        asked = asked if isinstance(asked, Mapping) else {"input": str(asked)}
        text = result if isinstance(result, str) else "" if result is None else json.dumps(result)
        said = text or (error if isinstance(error, str) else "")
        found.append(
            Call(row["name"], asked, said, None if error is None else bool(error), result is not None)
        )
    return tuple(found)


def _values(given: Any) -> list[str]:
    if isinstance(given, Mapping):
        given = list(given.values())
    if isinstance(given, list | tuple):
        return [text for value in given for text in _values(value)]
    return [] if given is None else [str(given)]


# -- words in common -----------------------------------------------------------------------------

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+(?:\.\d+)?")
_SUFFIX = re.compile(r"(?:ies|y|ing|ed|es|e|s|er|ers|or|ors)$")
_NUMBERS = dict(
    zip(["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"], map(str, range(1, 11)), strict=True)
)
STOP = frozenset(
    ["a", "about", "above", "after", "again", "against", "all", "also", "although", "am", "an", "and", "any", "are", "as", "at", "be", "because", "been", "before", "being", "below", "between", "both", "but", "by", "can", "could", "did", "do", "does", "doing", "done", "down", "during", "each", "either", "else", "ever", "every", "few", "for", "from", "further", "get", "gets", "got", "had", "has", "have", "having", "he", "her", "here", "him", "his", "how", "i", "if", "in", "into", "is", "it", "its", "itself", "just", "like", "made", "make", "may", "me", "might", "more", "most", "much", "must", "my", "near", "neither", "next", "no", "none", "nor", "not", "nothing", "now", "of", "off", "on", "once", "only", "onto", "or", "other", "our", "out", "over", "own", "per", "same", "see", "several", "she", "should", "since", "so", "some", "such", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this", "those", "though", "through", "to", "too", "under", "until", "up", "upon", "us", "use", "used", "uses", "using", "very", "via", "was", "we", "well", "were", "what", "when", "where", "whether", "which", "while", "who", "whom", "whose", "why", "will", "with", "within", "without", "would", "yes", "yet", "you", "your", "error", "result", "results", "file", "files", "line", "lines", "found", "find", "check", "checked", "value", "values", "true", "false", "null", "data", "text"]
)


def stem(word: str) -> str:
    """Return what the forms of a word share, ``retr`` of retry and retries; a number in digits."""
    word = word.lower()
    short = _SUFFIX.sub("", word)
    return (_NUMBERS.get(word) or (short if len(short) > 2 else word)[:5]) if word.isalpha() else word


def stems(text: str) -> set[str]:
    """Return the stems of the words that say something; names are split at their parts."""
    words = _WORD.findall(re.sub(r"(?<=\d),(?=\d{3})", "", text))
    return {stem(word) for word in words if word.lower() not in STOP and (len(word) > 1 or word.isdigit())}


# -- what kind of call ---------------------------------------------------------------------------

_SEARCH = re.compile(r"grep|search|find|glob|query|list|select|lookup|retriev", re.IGNORECASE)
_LOOK = re.compile(rf"{_SEARCH.pattern}|read|view|open|cat|fetch|page|browse|show", re.IGNORECASE)
_SELECT = re.compile(r"\s*(?:select|match|with)\s", re.IGNORECASE)
_SEARCHING = frozenset(("grep", "egrep", "rg", "ag", "find", "fd", "ls", "tree", "git grep", "git ls-files"))
_LOOKING = _SEARCHING | frozenset(
    ("head", "tail", "less", "cat", "wc", "stat", "file", "sed", "awk", "which", "sort", "uniq")
)
_STATUS = re.compile(r" (?:status|log|logs|diff|show|get|list|ls|ps|describe|inspect|branch|view)$")
_WHOLE = {".", "./", "/"}


class _Command(NamedTuple):
    """A program (with its task, if it has many) and what it is applied to."""

    program: str
    targets: tuple[str, ...]


def is_search(call: Call) -> bool:
    """Return whether a call looks for something, so that an empty answer says that it isn't there."""
    searches = call.command and any(one.program in _SEARCHING for one in _commands(call))
    return bool(searches or _SEARCH.search(call.name) or _SELECT.match(call.asked))


def is_look(call: Call) -> bool:
    """Return whether a call only looks at files: it reads, lists or searches."""
    only = (
        call.command and ">" not in call.command and all(one.program in _LOOKING for one in _commands(call))
    )
    return bool(only or _LOOK.search(call.name))


def is_broad(call: Call) -> bool:
    """Return whether a call searches everything."""
    if call.command:
        deep = re.search(r"grep (?:-\w+ )*-\w*[rR]|\brg\b|\bag\b|git grep", call.command)
        return bool(deep) and any(
            set(targets[1:]) <= _WHOLE for program, targets in _commands(call) if program in _SEARCHING
        )
    return (
        bool(re.search("grep|codebase", call.name, re.IGNORECASE))
        and str(call.arguments.get("path") or ".") in _WHOLE
    )


_SPLIT = re.compile(r"&&|\|\||[;|\n]")
_WRAPPERS = frozenset(
    ["sudo", "time", "env", "nohup", "npx", "pnpx", "bunx", "uv", "poetry", "pdm", "hatch", "run", "exec", "bundle", "python", "python3", "-m"]
)
_SILENT = frozenset(["cd", "echo", "true", "export", "source", "set", "sleep"])
_FAMILIES = frozenset(
    ["npm", "pnpm", "yarn", "bun", "cargo", "go", "make", "just", "git", "docker", "docker-compose", "kubectl", "terraform", "gradle", "gradlew", "mvn", "dotnet", "pip", "bazel", "helm", "gh", "rake", "composer", "task", "nox", "tox", "conda", "apt", "apt-get", "brew", "systemctl"]
)


def _commands(call: Call) -> list[_Command]:
    if not call.command:
        return [_Command(call.name.lower(), tuple(_values(call.arguments)))]
    found = []
    for part in _SPLIT.split(call.command):
        try:
            words = shlex.split(part, comments=True)
        except ValueError:
            words = part.split()
        words = [word for word in words if not re.match(r"[A-Z_]+=|\d*>", word)]
        while len(words) > 1 and words[0] in _WRAPPERS:
            words.pop(0)
        if not words or words[0] in _SILENT:
            continue
        program, rest = words[0].rpartition("/")[2], [word for word in words[1:] if not word.startswith("-")]
        if program in _FAMILIES and rest:
            rest = rest[1:] if rest[0] in ("run", "exec") and len(rest) > 1 else rest
            program = f"{program} {rest.pop(0)}"
        found.append(_Command(program, tuple(rest)))
    return found


# -- what failed ---------------------------------------------------------------------------------

_NONE_FAILED = re.compile(
    r"\b(?:0|no)\s+(?:\w+\s+)?(?:failed|failing|failures?|errors?|problems?|broken|crashloopbackoff|notready|oomkilled)\b|"
    r"\b(?:failed|failures?|errors?)[\"']?\s*[:=]\s*0\b",
    re.IGNORECASE,
)
_EXIT = re.compile(
    r"(?:exit(?:ed)?[ _]?(?:with|code|status)*|return[ _]?code|\brc)[\"'\s:=>(]*(?:code|status)?\s*(-?\d+)",
    re.IGNORECASE,
)
_COUNT = re.compile(
    r"\b[1-9]\d*\s+(?:\w+\s+)?(?:failed|failing|failures?|errors?|problems?|errored|mismatch(?:es)?|broken)\b|"
    r"\b(?:failed|failures?|errors?|failing)[\"']?\s*[:=]\s*[1-9]|\bFAIL(?:ED|URE)?\b",
    re.IGNORECASE,
)
_SAID = re.compile(
    r"\b[Ff]ail(?:ed|ure)\b|^Traceback|(?:^|\s)(?:error|fatal|panic)(?:\[\w+\]|\s\w+\d+)?:|^\w*(?:Error|Exception): |"
    r"\b(?:NotReady|CrashLoopBackOff|OOMKilled|Segmentation fault)\b|^\s*Killed\s*$|"
    r"\b(?:[Pp]ermission denied|[Cc]onnection refused|[Cc]ommand not found)\b|\"(?:down|degraded|failed|error)\"(?!\s*:)",
    re.MULTILINE,
)
_CHECK = re.compile(
    r"test|spec|check|lint|build|compile|make\b|verify|valid|tox|nox|ruff|mypy|pyright|flake8|clippy|tsc|jest|mocha|\bvet\b|"
    r"\bci\b|playwright|cypress|black|audit|smoke|e2e",
    re.IGNORECASE,
)


def failure(call: Call) -> str:
    """Return the line in which a call says that it failed; empty if it did not fail."""
    result = _NONE_FAILED.sub("", call.result).replace(
        "\\n", "\n"
    )  # JSON within text has its own line breaks
    codes = [int(found[1]) for found in _EXIT.finditer(result)]
    found = _COUNT.search(result) or (None if codes and not any(codes) else _SAID.search(result))
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
            standing += [(call, one) for one in commands if _CHECK.search(one.program)] or [
                (call, one) for one in commands[-1:]
            ]
        else:
            standing = [one for one in standing if not any(_settles(command, *one) for command in commands)]
    return list({id(call): call for call, _ in standing}.values())


def _settles(later: _Command, call: Call, command: _Command) -> bool:
    """Return whether a command that succeeded settles one that failed in ``call``."""
    common = {target for target in command.targets if len(target) > 2} & set(later.targets)
    same = later.program == command.program
    if not _CHECK.search(
        command.program
    ):  # an attempt; what names the same thing may have done the job another way
        return bool(common if not same else common or not command.targets) and not (
            _STATUS.search(later.program) and not same
        )
    if not same or not later.targets:
        return same
    # A narrower check settles what it covers: the failed targets, or those that the failure named.
    covered = command.targets and set(command.targets) <= set(later.targets)
    named = any(
        one in call.result or any(target.startswith(one) for target in command.targets)
        for one in later.targets
    )
    return bool(covered) or named
