"""Whether a response refers to what a tool returned: does it share something distinctive with the result?

Both are cut into words, numbers, identifiers and paths (their pieces too). What the query or the call's own arguments
already hold doesn't count, nor do function words. A shared *mark* (a number of two digits or more, an identifier, a
path, a name) counts two, any other shared word one, compared by its first letters so that *potent* finds *potency*. A
result of up to 60 words is referred to from a sum of two on, a longer one, with which words agree by chance, from three
or four. A result that says nothing was found is referred to by a response that denies something.

Sets of tokens throughout, kept with each call: linear in the lengths.

Known approximation: no synonyms, and a paraphrase that shares no word is not seen.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from solvent.adequacy.scope import Given, is_search

__all__ = ["NOTHING", "Marks", "Result", "Said", "denies", "marks_of", "refers", "words_of"]

_SIGNS = {
    ord(sign): " " for sign in "\t\n\r!\"#$&'()*+,/:;<=>?@[\\]^`{|}~\u2018\u2019\u201c\u201d\u2026\u2014"
}
_EDGES = ".-_%"
_FOUND_NOTHING = re.compile(
    r"\b(?:no|zero|0) (?:\w+ )?(?:match|matches|results?|hits?|files?|records?|rows?|entries|documents?|found)\b"
    r"|\bnot found\b|\bnothing (?:was )?found\b|\bnone found\b|^\s*(?:\[\s*\]|\{\s*\}|none|null|empty|0)\s*$"
)
_HINTS = frozenset(["no", "zero", "0", "not", "nothing", "none", "null", "empty"])
_DENIALS = frozenset(
    "no not none nothing never cannot without nowhere missing absent nobody lacks unused unavailable empty zero".split()  # noqa: SIM905
)
_COMMON = frozenset(
    """a about above after again against all also although am an and any are as at be because been before being below
    between both but by can could did do does doing done down during each either else ever every few for from further
    get gets got had has have having he her here him his how i if in into is it its itself just like made make may me
    might more most much must my near neither next no none nor not nothing now of off on once one only onto or other
    our out over own per same see several she should since so some such than that the their them then there these they
    this those though through to too under until up upon us use used uses using very via was we well were what when
    where whether which while who whom whose why will with within without would yes yet you your it's i've i'm there's
    don't doesn't isn't didn't can't that's error result results file files line lines found find check checked
    value values true false null data text""".split()  # noqa: SIM905
)
_NUMBERS = {
    word: str(i)
    for i, word in enumerate("zero one two three four five six seven eight nine ten eleven twelve".split())  # noqa: SIM905
}
_PREFIX = 5
_SHORT, _LONG = 60, 400
_LONGEST = 64
_TERSE = 25
_MEASURED = re.compile(r"(\d+(?:\.\d+)?)(?:%|[a-z\u00b5\u03bc\u00b0]{1,3})?\Z")
_PIECE = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[^\W\d_a-zA-Z]+")


class Marks(NamedTuple):
    """The words of a text: beginnings of ordinary ones, and marks, which are distinctive by themselves."""

    stems: frozenset[str]
    marks: frozenset[str]


NOTHING = Marks(frozenset(), frozenset())
"""Of no text."""


class Result(NamedTuple):
    """What a call returned: all of it, and what is ``held`` of it without what its arguments say already."""

    all: Marks
    held: Marks
    is_search: bool
    found_nothing: bool

    @classmethod
    def of(cls, name: str, given: Given, result: str) -> Result:
        """Read a result and the arguments that led to it."""
        words = result.translate(_SIGNS).split()
        whole = _marks(words)
        held = _without(whole, marks_of(" ".join([text for _, text in given])))
        nothing = not words or (len(words) <= _TERSE and _is_nothing(result, words))
        return cls(whole, held, is_search(name, given), nothing)


class Said(NamedTuple):
    """What a response says, without what the query says already."""

    held: Marks
    denies: bool

    @classmethod
    def of(cls, response: str, asked: Marks = NOTHING) -> Said:
        """Read a response to a query that holds the marks ``asked``."""
        words = response.translate(_SIGNS).split()
        return cls(_without(_marks(words), asked), _denies(response, words))


def denies(text: str) -> bool:
    """Whether a text denies something."""
    return _denies(text, text.translate(_SIGNS).split())


def _denies(text: str, words: list[str]) -> bool:
    if not _DENIALS.isdisjoint(words) or not _DENIALS.isdisjoint(map(str.lower, words)):
        return True
    low = text.lower()
    return "n't" in low or "n\u2019t" in low


def words_of(text: str) -> list[str]:
    """The words of a text in lower case, without signs at their edges."""
    return [word.strip(_EDGES) for word in text.lower().translate(_SIGNS).split()]


def refers(said: Said, returned: Result) -> bool:
    """Whether the response shares something distinctive with the result."""
    if returned.found_nothing and said.denies:
        return True
    held = returned.held
    weight = 2 * len(said.held.marks & held.marks) + len(said.held.stems & held.stems)
    size = len(held.stems)
    return weight >= (2 if size <= _SHORT else 3 if size <= _LONG else 4)


def marks_of(text: str) -> Marks:
    """Cut a text into its words."""
    return _marks(text.translate(_SIGNS).split())


def _is_nothing(result: str, words: list[str]) -> bool:
    """Whether a short result says that nothing was found."""
    return not _HINTS.isdisjoint(map(str.lower, words)) and _FOUND_NOTHING.search(result.lower()) is not None


def _marks(words: list[str]) -> Marks:
    stems: set[str] = set()
    marks: set[str] = set()
    once = set(words)
    if max(map(len, once), default=0) > _LONGEST:
        marks.update(word.lower() for word in once if len(word) > _LONGEST)
        once = {word for word in once if len(word) <= _LONGEST}
    for begun, forms in map(_read, once):
        if begun:
            stems.update(begun)
        if forms:
            marks.update(forms)
    return Marks(frozenset(stems), frozenset(marks))


@lru_cache(maxsize=1 << 16)
def _read(word: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The stems of a word and its forms as a mark; empty where it has none."""
    word = word.strip(_EDGES)
    low = word.lower()
    if low in _COMMON or not low:
        return (), ()
    if low in _NUMBERS or (low.isdecimal() and len(low) == 1):
        return (_NUMBERS.get(low, low),), ()
    if low.isalpha():
        if word[1:] != low[1:]:
            return _pieces(word) or _stem(low), (low,)
        return _stem(low), (low,) if word != low and len(low) > 2 else ()
    return _pieces(word), _forms(low)


def _stem(low: str) -> tuple[str, ...]:
    """The beginning of an ordinary word, by which its forms agree."""
    return (low.rstrip("s")[:_PREFIX],) if len(low) > 1 else ()


def _pieces(word: str) -> tuple[str, ...]:
    """The stems of the words in an identifier: ``close_after_use`` and ``maxSize`` hold three and two."""
    pieces = [piece.lower() for piece in _PIECE.findall(word)]
    stems = [_stem(piece)[0] for piece in pieces if len(piece) > 2 and piece not in _COMMON]
    return tuple(stems) if len(pieces) > 1 else ()


def _forms(low: str) -> tuple[str, ...]:
    """A mark and what it may be rounded to: ``12.47`` and ``12.5``, ``30d`` and ``30``."""
    measured = _MEASURED.match(low)
    number = measured[1] if measured else low
    try:
        value = float(number)
    except ValueError:
        return (low,)
    return (number, f"{value:.3g}", f"{value:.2g}") if "." in number else (number,)


def _without(held: Marks, given: Marks) -> Marks:
    stems = held.stems if held.stems.isdisjoint(given.stems) else held.stems - given.stems
    marks = held.marks if held.marks.isdisjoint(given.marks) else held.marks - given.marks
    return Marks(stems, marks)
