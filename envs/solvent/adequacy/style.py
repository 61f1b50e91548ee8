"""The source's four style fields of a score: word count, padding, information density, and the type of the query.

    word_count     words outside of fenced code; a word is a run of letters and digits, joined inside by ' - . or _
    padding_count  phrases of the padding lexicon: fillers and closings anywhere, openings where the response begins
    info_density   share of the words that are neither function words nor part of padding; 0 where there are no words
    query_type     the first type whose phrases fit the query; ``other`` if none does, ``none`` without a query

Lexicon and types are data, ``style.toml``. Source: "Epistemic Adequacy Design", "Data collection", which names the
fields and does not define them; style is what adequacy is recorded *beside*, and no part of its score.

Known approximation: counts of English words and phrases, not a parse. "Of course" counts as padding whatever it means,
a query's type is read off its first words, and fences are three backticks or tildes at the start of a line.
"""

from __future__ import annotations

import functools
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from solvent.adequacy.errors import AdequacyError

__all__ = ["STYLE", "Style", "StyleRules", "load_style", "style_of"]

STYLE = Path(__file__).with_name("style.toml")
"""The lexicon that is used where none is given."""

DECIMALS = 4

_WORD = re.compile(r"[^\W_]+(?:['\-._][^\W_]+)*")
_QUOTES = str.maketrans("\u2018\u2019", "''")
_FENCES = ("```", "~~~")
_SHAPE = {
    "padding": ("filler", "opening", "closing"),
    "density": ("function_words",),
}


@dataclass(frozen=True)
class Style:
    """The four fields. ``info_density``: share of the words, 4 decimals."""

    word_count: int
    padding_count: int
    info_density: float
    query_type: str


@dataclass(frozen=True)
class StyleRules:
    """The lexicon, ready to match: phrases as patterns, types in their order."""

    anywhere: re.Pattern[str]
    opening: re.Pattern[str]
    function_words: frozenset[str]
    types: tuple[tuple[str, re.Pattern[str] | None, re.Pattern[str] | None], ...]

    def query_type(self, query: str | None) -> str:
        """The type of a query: the first that fits, ``other``, or ``none`` for None."""
        if query is None:
            return "none"
        text = " ".join(_plain(query).split())
        for name, starts, holds in self.types:
            if (starts and starts.match(text)) or (holds and holds.search(text)):
                return name
        return "other"

    def padding(self, text: str) -> list[tuple[int, int]]:
        """Where the padding stands in a plain text: openings first, then the others, none inside another."""
        found, at = [], 0
        while match := self.opening.match(text, at):
            found.append(match.span(1))
            at = match.end()
        return found + [match.span() for match in self.anywhere.finditer(text, at)]


def style_of(response: str, query: str | None = None, rules: StyleRules | None = None) -> Style:
    """The style fields of a response and the type of its query.

    Raises:
        AdequacyError: a response or a query that is no text.
    """
    for name, value in (("response", response), ("query", query)):
        if not isinstance(value, str) and not (name == "query" and value is None):
            raise AdequacyError(f"{name}: got {value!r:.80}; allowed: a text")
    rules = load_style() if rules is None else rules
    text = _plain(_without_code(response))
    words = [match.span() for match in _WORD.finditer(text)]
    padding = rules.padding(text)
    telling = sum(text[start:end] not in rules.function_words for start, end in _outside(words, padding))
    density = round(telling / len(words), DECIMALS) if words else 0.0
    return Style(len(words), len(padding), density, rules.query_type(query))


def _plain(text: str) -> str:
    return text.translate(_QUOTES).casefold()


def _without_code(text: str) -> str:
    kept, fence = [], ""
    for line in text.split("\n"):
        mark = line.lstrip()[:3]
        if fence:
            fence = "" if mark == fence else fence
        elif mark in _FENCES:
            fence = mark
        else:
            kept.append(line)
    return "\n".join(kept)


def _outside(words: list[tuple[int, int]], padding: list[tuple[int, int]]) -> Iterable[tuple[int, int]]:
    """The words that lie in no padding; both are in the order of the text."""
    i = 0
    for start, end in words:
        while i < len(padding) and padding[i][1] <= start:
            i += 1
        if i == len(padding) or end <= padding[i][0]:
            yield start, end


# ---------------------------------------------------------------------------------------------- the lexicon


def load_style(path: str | os.PathLike[str] | None = None) -> StyleRules:
    """The lexicon in a file; None: the shipped one, read once.

    Raises:
        AdequacyError: it can't be read, or a list of phrases is missing or holds something else.
    """
    return _shipped() if path is None else _loaded(Path(path))


@functools.cache
def _shipped() -> StyleRules:
    return _loaded(STYLE)


def _loaded(path: Path) -> StyleRules:
    try:
        document = tomllib.loads(path.read_bytes().decode("utf-8"))
    except OSError as error:
        raise AdequacyError(f"{path}: not read, {error.strerror}; allowed: a style lexicon") from None
    except ValueError as error:
        raise AdequacyError(f"{path}: {error}; allowed: a style lexicon in TOML") from None
    if set(document) != {"version", "padding", "density", "query_type"} or document["version"] != 1:
        got = ", ".join(sorted(document))
        raise AdequacyError(f"{path}: got {got!r:.80}; allowed: version = 1, padding, density, query_type")
    lists = {
        name: _phrases(f"{path}: {group}.{name}", document[group], name, least=1)
        for group, names in _SHAPE.items()
        for name in names
    }
    opening = f"\\W*({_either(lists['opening'])})"
    entries = document["query_type"]
    if not isinstance(entries, list):
        raise AdequacyError(f"{path}: query_type: got {entries!r:.80}; allowed: [[query_type]] tables")
    return StyleRules(
        anywhere=re.compile(_either([*lists["filler"], *lists["closing"]])),
        opening=re.compile(opening),
        function_words=frozenset(lists["function_words"]),
        types=tuple(_type(f"{path}: query_type {i}", entry) for i, entry in enumerate(entries, 1)),
    )


def _type(where: str, entry: Any) -> tuple[str, re.Pattern[str] | None, re.Pattern[str] | None]:
    if not isinstance(entry, Mapping) or set(entry) != {"name", "starts", "holds"}:
        raise AdequacyError(f"{where}: got {entry!r:.80}; allowed: name, starts and holds")
    name = entry["name"]
    if not isinstance(name, str) or not name.isidentifier() or name in ("none", "other"):
        raise AdequacyError(f"{where}: name: got {name!r:.80}; allowed: a word, not none or other")
    starts, holds = (
        re.compile(_either(phrases)) if phrases else None
        for phrases in (_phrases(f"{where}: {key}", entry, key) for key in ("starts", "holds"))
    )
    return name, starts, holds


def _phrases(where: str, group: Any, name: str, least: int = 0) -> list[str]:
    phrases = group.get(name) if isinstance(group, Mapping) else None
    if not isinstance(phrases, list) or len(phrases) < least:
        raise AdequacyError(f"{where}: got {phrases!r:.80}; allowed: a list of phrases")
    for phrase in phrases:
        if not isinstance(phrase, str) or not phrase.strip() or phrase != _plain(phrase):
            raise AdequacyError(f"{where}: got {phrase!r:.80}; allowed: a phrase in small letters")
    return phrases


def _either(phrases: Iterable[str]) -> str:
    """One pattern for whole phrases, the longest first; any white space between the words of one."""
    ordered = sorted(phrases, key=lambda phrase: (-len(phrase), phrase))
    parts = [r"\s+".join(map(re.escape, phrase.split())) for phrase in ordered]
    return rf"(?<![\w'])(?:{'|'.join(parts)})(?![\w'])"
