"""Split a response into sentences of tokens, in one pass.

Code and quotations are masked first (``masking``). Tokens are words in lower case, with the marks inside them
(``doesn't``, ``auth.py``, ``dose-response``), numbers, and signs; signs of emphasis are dropped.

A sentence ends at ``. ! ?`` before a space, at a blank line, and before and after a list item, a heading and a table
row. A line that ends with a colon leads the list below it, and a heading the text under it: ``Sentence.lead``.

Known approximation: English abbreviations. A full stop ends a sentence only before a space.
"""

from __future__ import annotations

import re
from itertools import accumulate
from typing import NamedTuple

from solvent.adequacy.masking import CODE, QUOTE, lowered
from solvent.adequacy.memory import Memory

__all__ = ["Document", "Sentence", "read", "without_questions"]

# The first form is a fast case of the second, for plain words before a space.
_TOKEN = re.compile(
    r"[a-z]++ (?![^\S\n])"
    r"|(?:[^\W_]++(?:(?:_++|[.'\-/:@])[^\W_]++)*|[\ue000\ue001]++|[.!?\u2026]++|-++|\*++|_++|#++|~++|[^\s\w])[^\S\n]*+"
    r"|\s++"
)
_STOPS = frozenset(".!?\u2026\u3002\uff01\uff1f\u061f")
_QUESTIONS = frozenset("?\uff1f\u061f")
_DECORATION = frozenset("*_~#")
_CLOSERS = frozenset(")]}*_")
_BULLETS = frozenset(["-", "*", "+", "\u2022", "\u2014", "\u2023", "\u25e6"])
_NUMBER_ENDS = frozenset(".)")
_MASKS = frozenset([CODE, QUOTE])
_WITHOUT_SPACES = "\u2e80"
_WORD, _STOP, _BREAK, _LEFT_OUT, _QUOTATION = range(5)
_LONGEST = 64
_MID_SENTENCE = frozenset(["etc", "al", "inc", "ltd", "no", "jr", "sr"])
# After these abbreviations the sentence goes on unless a capital follows.


class Sentence(NamedTuple):
    """One sentence.

    ``start`` and ``end`` are offsets into the text, ``first`` and ``last`` (not included) its tokens. ``stopped``: a
    full stop or its like ends it. ``lead`` is the index of the sentence that leads it, or -1.
    """

    start: int
    end: int
    first: int
    last: int
    question: bool
    stopped: bool
    heading: bool
    lead: int


class Document(NamedTuple):
    """A text with its tokens (lower case), their offsets, and its sentences."""

    text: str
    tokens: list[str]
    starts: list[int]
    sentences: list[Sentence]


def read(text: str, abbreviations: frozenset[str] = frozenset()) -> Document:
    """Split a text. ``abbreviations`` are words after which a full stop ends no sentence."""
    return _Reader(text, abbreviations).read()


def without_questions(document: Document) -> str:
    """Return the text without its questions, which refer to nothing."""
    if not any(sentence.question for sentence in document.sentences):
        return document.text
    parts, done = [], 0
    for sentence in document.sentences:
        if sentence.question:
            parts.append(document.text[done : sentence.start])
            done = sentence.end
    return " ".join([*parts, document.text[done:]])


def _kind(raw: str) -> int:
    sign = raw[0]
    if sign.isspace():
        return _BREAK
    if sign in _STOPS:
        return _STOP
    if sign in _DECORATION:
        return _LEFT_OUT
    return _QUOTATION if sign == QUOTE else _WORD


# Long tokens rarely recur, so only short ones are kept.
_BARE = Memory(str.rstrip, _LONGEST).__getitem__
_KIND = Memory(_kind, _LONGEST).__getitem__


class _Reader:
    """The state of the pass. ``raws`` are the tokens with the space after them, ``at`` their offsets."""

    def __init__(self, text: str, abbreviations: frozenset[str]) -> None:
        self.text = text
        self.abbreviations = abbreviations
        self.raws: list[str] = _TOKEN.findall(lowered(text))
        self.bare = list(map(_BARE, self.raws))
        self.at = list(accumulate(map(len, self.raws), initial=0))
        self.tokens: list[str] = []
        self.starts: list[int] = []
        self.sentences: list[Sentence] = []
        self.first = 0
        self.line = ""
        self.heading = self.intro = -1

    def read(self) -> Document:
        raws, bare, at, tokens, starts = self.raws, self.bare, self.at, self.tokens, self.starts
        kinds = list(map(_KIND, raws))
        i = self._line_start(0)
        for special in [k for k, kind in enumerate(kinds) if kind]:
            if special < i:
                continue
            tokens += bare[i:special]
            starts += at[i:special]
            kind = kinds[special]
            i = special + 1
            if kind == _STOP:
                i = self._stop(special)
            elif kind == _BREAK:
                i = self._newline(special)
            elif kind == _QUOTATION:
                tokens.append(bare[special])
                starts.append(at[special])
                self._quotation(special)
        tokens += bare[i:]
        starts += at[i : len(raws)]
        self._flush(len(raws))
        return Document(self.text, tokens, starts, self.sentences)

    def _bare(self, i: int) -> str:
        """Return a token without its space; empty past the end."""
        return self.bare[i] if i < len(self.bare) else ""

    def _stop(self, i: int) -> int:
        """Read a full stop or its like, which ends the sentence before a space or before a bracket and a space."""
        raws, bare = self.raws, self.bare
        after = i + 1
        if raws[i] == ". " and self.tokens and self.tokens[-1] not in self.abbreviations:
            # By far the most common case.
            self._flush(after, stopped=True)
            return after
        while (
            after < len(raws) and len(raws[after - 1]) == len(bare[after - 1]) and bare[after][:1] in _CLOSERS
        ):
            after += 1
        tight = after < len(raws) and bare[after] and len(raws[after - 1]) == len(bare[after - 1])
        if (tight and raws[i][0] < _WITHOUT_SPACES) or self._abbreviated(i):
            return i + 1
        question = not _QUESTIONS.isdisjoint(raws[i])
        self._flush(after, question=question, stopped=True)
        return after

    def _abbreviated(self, i: int) -> bool:
        last = self.tokens[-1] if len(self.tokens) > self.first else ""
        if last not in self.abbreviations or self.bare[i] != "." or not self._bare(i + 1):
            return False
        return last not in _MID_SENTENCE or not self.text[self.at[i + 1]].isupper()

    def _quotation(self, i: int) -> None:
        """End the sentence after a quotation with a full stop if a capital follows."""
        end = self.at[i] + len(self._bare(i))
        following = self.at[i + 1]
        if (
            end - self.at[i] > 2
            and self.text[end - 2] in _STOPS
            and self.text[following : following + 1].isupper()
        ):
            self._flush(i + 1, stopped=True)

    def _newline(self, i: int) -> int:
        """Read the end of a line. If it ends a sentence, skip the marks of the next line."""
        blank = self.raws[i].count("\n") > 1
        led = len(self.tokens) > self.first and self.tokens[-1] == ":"
        opens = self._opens(i + 1)
        if not (blank or led or opens or self.line in ("heading", "row")):
            return i + 1
        known = len(self.sentences)
        self._flush(i)
        if led and len(self.sentences) > known:
            self.intro = known
        elif blank and opens != "item" and self.intro < known:
            self.intro = -1
        return self._line_start(i + 1)

    def _opens(self, i: int) -> str:
        """Return the kind of the line that begins at ``i``: heading, item, row, or empty."""
        token = self._bare(i)
        spaced = bool(token) and self.raws[i] != token
        if token in _BULLETS and spaced:
            return "item"
        if token.isdecimal() and len(token) <= 3 and self._bare(i + 1) in _NUMBER_ENDS and self._bare(i + 1):
            return "item"
        if token[:1] == "#" and spaced:
            return "heading"
        return "row" if token == "|" else ""

    def _line_start(self, i: int) -> int:
        while i < len(self.raws) and not self._bare(i):
            i += 1
        self.line = self._opens(i)
        if self.line in ("item", "heading"):
            i += 2 if self._bare(i).isdecimal() else 1
        return i

    def _flush(self, i: int, *, question: bool = False, stopped: bool = False) -> None:
        """Add the tokens since the last sentence as a sentence that ends before raw token ``i``."""
        tokens, first, last = self.tokens, self.first, len(self.tokens)
        self.first = last
        while first < last and not tokens[first][0].isalnum() and tokens[first][0] not in _MASKS:
            first += 1
        if first == last:
            return
        end = self.at[i - 1] + len(self.bare[i - 1])
        is_heading = self.line == "heading"
        lead = -1 if is_heading else self.intro if self.intro >= 0 else self.heading
        self.sentences.append(
            Sentence(self.starts[first], end, first, last, question, stopped, is_heading, lead)
        )
        if is_heading:
            self.heading, self.intro = len(self.sentences) - 1, -1
