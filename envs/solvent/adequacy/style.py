"""The source's four style fields of a score: word count, padding, information density, and type of the query.

    word_count     words outside fenced code; a word is a run of letters and digits, joined inside by ' - . or _
    padding_count  phrases of the padding lexicon: fillers and closings anywhere, openings at the start of the response
    info_density   share of the words that are neither function words nor padding; 0 without words
    query_type     the first type whose phrases match the query; ``other`` if none does, ``none`` without a query

Lexicon and types are data, ``style.toml``. Source: "Epistemic Adequacy Design", "Data collection", which names the
fields and does not define them. Style is recorded *beside* adequacy and is not part of its score.

Known approximation: it counts English words and phrases and parses nothing. "Of course" counts as padding whatever it
means, a query's type depends on its first words, and fences are three backticks or tildes at the start of a line.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from solvent.adequacy.errors import AdequacyError

__all__ = ["Style", "style_of"]

DECIMALS = 4

_WORD = re.compile(r"[^\W_]+(?:['\-._][^\W_]+)*")
_QUOTES = str.maketrans("\u2018\u2019", "''")
_FENCES = ("```", "~~~")


@dataclass(frozen=True)
class Style:
    """The four fields. ``info_density`` is rounded to 4 decimals."""

    word_count: int
    padding_count: int
    info_density: float
    query_type: str


@dataclass(frozen=True)
class _Lexicon:
    anywhere: re.Pattern[str]
    opening: re.Pattern[str]
    function_words: frozenset[str]
    types: tuple[tuple[str, re.Pattern[str] | None, re.Pattern[str] | None], ...]

    def query_type(self, query: str | None) -> str:
        """Return the first matching type of a query, ``other``, or ``none`` for None."""
        if query is None:
            return "none"
        text = " ".join(_plain(query).split())
        for name, starts, holds in self.types:
            if (starts and starts.match(text)) or (holds and holds.search(text)):
                return name
        return "other"

    def padding(self, text: str) -> list[tuple[int, int]]:
        """Return the spans of padding in a plain text, none inside another, openings first."""
        found, at = [], 0
        while match := self.opening.match(text, at):
            found.append(match.span(1))
            at = match.end()
        return found + [match.span() for match in self.anywhere.finditer(text, at)]


def style_of(response: str, query: str | None = None) -> Style:
    """Return the style fields of a response and its query.

    Raises:
        AdequacyError: the response or the query is not a text.
    """
    for name, value in (("response", response), ("query", query)):
        if not isinstance(value, str) and not (name == "query" and value is None):
            raise AdequacyError(f"{name}: got {value!r:.80}; allowed: a text")
    lexicon = _lexicon()
    text = _plain(_without_code(response))
    words = [match.span() for match in _WORD.finditer(text)]
    padding = lexicon.padding(text)
    telling = sum(text[start:end] not in lexicon.function_words for start, end in _outside(words, padding))
    density = round(telling / len(words), DECIMALS) if words else 0.0
    return Style(len(words), len(padding), density, lexicon.query_type(query))


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
    i = 0
    for start, end in words:
        while i < len(padding) and padding[i][1] <= start:
            i += 1
        if i == len(padding) or end <= padding[i][0]:
            yield start, end


@functools.cache
def _lexicon() -> _Lexicon:
    document = tomllib.loads(Path(__file__).with_name("style.toml").read_text(encoding="utf-8"))
    padding = document["padding"]
    return _Lexicon(
        anywhere=re.compile(_either([*padding["filler"], *padding["closing"]])),
        opening=re.compile(rf"\W*({_either(padding['opening'])})"),
        function_words=frozenset(document["density"]["function_words"]),
        types=tuple(
            (
                kind["name"],
                *(re.compile(_either(kind[key])) if kind[key] else None for key in ("starts", "holds")),
            )
            for kind in document["query_type"]
        ),
    )


def _either(phrases: Iterable[str]) -> str:
    """Return one pattern for whole phrases, the longest first, with any white space between words."""
    ordered = sorted(phrases, key=lambda phrase: (-len(phrase), phrase))
    parts = [r"\s+".join(map(re.escape, phrase.split())) for phrase in ordered]
    return rf"(?<![\w'])(?:{'|'.join(parts)})(?![\w'])"
