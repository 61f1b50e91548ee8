"""The scope of a tool call, everything or a part, and its targets.

These calls are broad: a recursive search of the root (``grep -r``, ``rg`` or ``git grep`` without a path, ``find .``),
a glob that starts with ``**``, a code search without a path, and a query over a whole table. All others are narrow,
including every web search, which shows one page of hits.

Known approximation: it reads names and arguments of common tools; a tool with another name is narrow. A caller that
knows the scope can give it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple

__all__ = [
    "Given",
    "Scope",
    "command_of",
    "files_in",
    "is_search",
    "scope_of",
    "shows_text",
    "targets_of",
    "texts_of",
]

Scope = Literal["narrow", "broad"]

_MOST_TARGETS = 50
_MOST_TEXTS = 1000


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_TARGETS = _set(
    """path paths file files file_path filepath file_name filename filenames dir directory directories
    target_directories folder root cwd pattern patterns glob include regex query queries q search_query
    search_term keyword keywords url urls uri link command cmd script sql statement table tables dataset compound
    compounds symbol function class module package name id ids key host hosts service metric endpoint resource
    plate dose topic title"""
)
_PLACES = _set(
    "path paths dir directory directories target_directories folder root cwd search_path file file_path"
)
_COMMANDS = _set("command cmd script shell code")
_STATEMENTS = _set("sql statement query")
_FILTERS = _set("glob include file_pattern files_to_include")
_WEB = _set(
    "web internet google bing duckduckgo wikipedia wiki browser news scholar arxiv pubmed tavily brave"
)
_SEARCHES = _set(
    """grep ripgrep rg search find glob query lookup locate scan list ls select filter match codesearch websearch
    googlesearch retrieve"""
)
_FILE_SEARCHES = _set("grep ripgrep rg glob codesearch")
_CODE = _set("code codebase repo repository files file workspace project symbol symbols source tree")
_PATTERNS = _set("pattern glob query")
_READERS = _set("read view open cat fetch page browse show document")
_EVERYTHING = _set(". / ./ * ** ~ ./* ** /** ./** repo root")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_PIECE = re.compile(r"""[^\s"'|;&]+|"[^"]*"|'[^']*'|[|;&]+""")
_FILE = re.compile(r"[\w.\-]*\w\.\w{1,8}|\.\w[\w.\-]+")
_WITH_VERBS = (
    ["git"],
    ["npm"],
    ["cargo"],
    ["go"],
    ["kubectl"],
    ["docker"],
    ["gh"],
    ["make"],
    ["python"],
    ["pip"],
)
_FROM = re.compile(r"\bfrom\b", re.IGNORECASE)
_LIMITED = re.compile(r"\b(?:where|limit|top|having|sample|tablesample)\b", re.IGNORECASE)
_LONGEST = 4000


Given = Sequence[tuple[str, str]]
"""Texts and numbers among some arguments, each with its key in lower case."""


def texts_of(value: Mapping[str, Any], depth: int = 4) -> Given:
    """Return the texts and numbers in nested arguments, at most a thousand, each with its key."""
    found: list[tuple[str, str]] = []
    for name, given in value.items():
        if type(given) is not str or len(found) == _MOST_TEXTS:
            break
        found.append((str(name).lower(), given))
    if len(found) == min(len(value), _MOST_TEXTS):
        return found
    found.clear()
    stack: list[tuple[str, object, int]] = [("", value, depth)]
    while stack and len(found) < _MOST_TEXTS:
        key, item, levels = stack.pop()
        if isinstance(item, str):
            found.append((key, item))
        elif isinstance(item, Mapping) and levels:
            stack.extend([(str(k).lower(), v, levels - 1) for k, v in reversed(list(item.items()))])
        elif isinstance(item, list | tuple) and levels:
            stack.extend((key, v, levels - 1) for v in reversed(item[:_MOST_TEXTS]))
        elif isinstance(item, int | float) and not isinstance(item, bool):
            found.append((key, str(item)))
    return found


def targets_of(given: Given) -> tuple[str, ...]:
    """Return the targets of a call in the order of its arguments; all its texts if no key names a target."""
    pairs = [(key, text) for key, text in given if text.strip()]
    known = [text for key, text in pairs if key in _TARGETS]
    return tuple(dict.fromkeys((known or [text for _, text in pairs])[:_MOST_TARGETS]))


def is_search(name: str, given: Given) -> bool:
    """Return whether a call searches, so that finding nothing is an answer."""
    if _named(name).searches:
        return True
    for key, text in given:
        if key in _COMMANDS and not _SEARCHES.isdisjoint(_PIECE.findall(text[:_LONGEST])):
            return True
    return False


def shows_text(name: str) -> bool:
    """Return whether a tool, by its name, only shows text, whose words are no outcome."""
    return _named(name).reads


def command_of(name: str, given: Given) -> str:
    """Return a tool with the program that it ran, or with its first target: calls alike are attempts at one thing."""
    for key, text in given:
        if key in _COMMANDS:
            words = [
                piece for piece in text[:_LONGEST].split() if not piece.startswith("-") and "=" not in piece
            ]
            return " ".join([name, *words[: 2 if words[:1] in _WITH_VERBS else 1]])
    return " ".join([name, *targets_of(given)[:1]])


def files_in(given: Given) -> tuple[str, ...]:
    """Return the names of the files among a call's targets, without their folders."""
    names = [target.rstrip("/").rpartition("/")[2] for target in targets_of(given)]
    return tuple(name for name in names if _FILE.fullmatch(name))


def scope_of(name: str, given: Given) -> Scope:
    """Return ``broad`` or ``narrow``; see the module."""
    named = _named(name)
    if named.web:
        return "narrow"
    for key, text in given:
        if key in _COMMANDS and _is_wide_command(text[:_LONGEST]):
            return "broad"
        if key in _STATEMENTS and _is_whole_table(text[:_LONGEST]):
            return "broad"
    if named.glob:
        patterns = [text for key, text in given if key in _PATTERNS]
        wide = bool(patterns) and all(text.startswith(("**", "./**")) for text in patterns)
        return "broad" if wide and _anywhere(given) else "narrow"
    return "broad" if named.searches_files and _anywhere(given) and _unfiltered(given) else "narrow"


class _Named(NamedTuple):
    reads: bool
    web: bool
    glob: bool
    searches: bool
    searches_files: bool


@lru_cache(maxsize=1024)
def _named(name: str) -> _Named:
    words = {word.casefold() for word in _WORD.findall(name)}
    searches = not _SEARCHES.isdisjoint(words)
    files = not _FILE_SEARCHES.isdisjoint(words) or (searches and not _CODE.isdisjoint(words))
    reads = searches or not _READERS.isdisjoint(words)
    return _Named(reads, not _WEB.isdisjoint(words), "glob" in words, searches, files)


def _under(given: Given, keys: frozenset[str]) -> Iterator[str]:
    return (text for key, text in given if key in keys)


def _anywhere(given: Given) -> bool:
    return all(text.strip() in _EVERYTHING or not text.strip() for text in _under(given, _PLACES))


def _unfiltered(given: Given) -> bool:
    return all("/" not in text.removeprefix("**/") and "*" in text for text in _under(given, _FILTERS))


def _is_wide_command(command: str) -> bool:
    return any(_is_wide(part) for part in _parts(command))


def _parts(command: str) -> Iterator[list[str]]:
    """Yield the programs of a command line with their arguments, except those that read from a pipe."""
    part: list[str] = []
    piped = False
    for piece in _PIECE.findall(command):
        if piece[0] not in "|;&":
            part.append(piece)
            continue
        if part and not piped:
            yield part
        part, piped = [], piece == "|"
    if part and not piped:
        yield part


def _is_wide(part: list[str]) -> bool:
    program = part[0].rpartition("/")[2]
    flags = [piece for piece in part[1:] if piece.startswith("-")]
    plain = [piece.strip("\"'") for piece in part[1:] if not piece.startswith("-")]
    if program == "git" and plain[:1] == ["grep"]:
        return all(place in _EVERYTHING for place in plain[2:])
    if program in ("rg", "ag", "ack"):
        return all(place in _EVERYTHING for place in plain[1:])
    if program in ("grep", "egrep", "fgrep"):
        recursive = any(
            flag in ("--recursive", "-r") or ("r" in flag.casefold() and flag[1] != "-") for flag in flags
        )
        return recursive and all(place in _EVERYTHING for place in plain[1:])
    if program == "find":
        return bool(plain) and plain[0] in _EVERYTHING
    return program == "ls" and any("R" in flag for flag in flags) and all(p in _EVERYTHING for p in plain)


def _is_whole_table(statement: str) -> bool:
    text = statement.lstrip()
    return text[:6].casefold() == "select" and bool(_FROM.search(text)) and not _LIMITED.search(text)
