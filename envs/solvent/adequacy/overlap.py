"""The words that a response shares with the results of tools: does the response refer to a result?

Both are cut into words, numbers, identifiers and paths (and their pieces). Words of the query or of the call's own
arguments don't count, nor do function words. A shared *mark* (a number of two digits or more, an identifier, a path, a
name) counts as two, another shared word as one. Words are compared by their first letters, so *potent* matches
*potency*. A response refers to a result of up to 60 words if the sum is two or more; a longer result, which shares
words by chance, requires three or four. A response that denies something refers to a result that reports nothing found.

Calls keep their words as sets, so the time is linear in the lengths.

Known approximation: no synonyms; a paraphrase that shares no word is missed.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import NamedTuple

from solvent.adequacy.memory import Memory
from solvent.adequacy.scope import Given, is_search

__all__ = ["NOTHING", "Marks", "ResponseWords", "Result", "cut", "denies", "marks_of", "refers", "words_of"]

_SIGNS = {
    ord(sign): " " for sign in "\t\n\r!\"#$&'()*+,/:;<=>?@[\\]^`{|}~\u2018\u2019\u201c\u201d\u2026\u2014"
}
_ASCII_SIGNS = bytes(_SIGNS.get(code, chr(code)).encode("latin-1")[0] for code in range(256))
_EDGES = ".-_%"
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
# The pattern begins with a set of signs, so that the search skips to them.
_FOUND_NOTHING = re.compile(
    r"[nz0](?:(?:(?<=\bn)o|(?<=\bz)ero|(?<=\b0)) (?:\w+ )?"
    r"(?:match|matches|results?|hits?|files?|records?|rows?|entries|documents?|found)\b"
    r"|(?<=\bn)(?:ot|othing|othing was|one) found\b)"
)
_BLANK = frozenset(["[]", "{}", "none", "null", "empty", "0"])
_NOT_RUN = (
    "command not found",
    "not recognized as",
    "permission denied",
    "cannot execute",
    "could not be executed",
)
_PROGRAMS = frozenset(["grep", "egrep", "fgrep", "rg", "ag", "ack"])
_COMPLAINTS = ("no such file", "a directory", "invalid", "unrecognized", "error", "unmatched")
_HINTS = frozenset(["no", "zero", "0", "not", "nothing", "none", "null", "empty"])
_DENIALS = frozenset(
    "no not none nothing never cannot without nowhere missing absent nobody lacks unused unavailable empty zero".split()  # noqa: SIM905
)
_CONTRACTED = ("n't", "n\u2019t", "N'T", "N\u2019T", "N't", "n'T", "N\u2019t", "n\u2019T")
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
    """The words of a text: stems of ordinary ones, and marks, which are distinctive by themselves."""

    stems: frozenset[str]
    marks: frozenset[str]


NOTHING = Marks(frozenset(), frozenset())
"""The marks of an empty text."""


class Result(NamedTuple):
    """The words of a call's result: all of them, and those ``held`` that its arguments don't have.

    ``not_run``: the result is a message that the program didn't run.
    """

    all: Marks
    held: Marks
    is_search: bool
    found_nothing: bool
    not_run: bool

    @classmethod
    def of(cls, name: str, given: Given, result: str) -> Result:
        """Return the words of a result, given the arguments that led to it."""
        words = cut(result)
        whole = _marks(words)
        given_words = cut(" ".join([text for _, text in given]))
        held = Marks(
            whole.stems.difference(*map(_STEMS, given_words)),
            whole.marks.difference(*map(_MARKS, given_words)),
        )
        not_run = nothing = False
        if len(words) <= _TERSE:
            low = result.lower()
            not_run = _is_not_run(low)
            nothing = not words or (not not_run and _is_nothing(low, words))
        return cls(whole, held, is_search(name, given), nothing, not_run)


class ResponseWords(NamedTuple):
    """The words of a response that the query doesn't have."""

    held: Marks
    denies: bool

    @classmethod
    def of(cls, response: str, asked: Marks = NOTHING) -> ResponseWords:
        """Return the words of a response to a query with the marks ``asked``."""
        words = cut(response)
        return cls(_without(_marks(words), asked), _denies(response, words))


def cut(text: str) -> list[str]:
    """Split a text into words; signs that join no word are removed, and so are commas within a number."""
    if "," in text:
        text = _THOUSANDS.sub("", text)
    if text.isascii():
        # The same table for bytes takes a fifth of the time.
        return text.encode("ascii").translate(_ASCII_SIGNS).decode("ascii").split()
    return text.translate(_SIGNS).split()


def denies(text: str) -> bool:
    """Return whether a text denies something."""
    return _denies(text, cut(text))


def _denies(text: str, words: list[str]) -> bool:
    if not _DENIALS.isdisjoint(words) or not _DENIALS.isdisjoint(map(str.lower, words)):
        return True
    return any(form in text for form in _CONTRACTED)


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case, without signs at their edges."""
    return [word.strip(_EDGES) for word in cut(text.lower())]


def refers(said: ResponseWords, returned: Result) -> bool:
    """Return whether a response shares something distinctive with a result."""
    if returned.found_nothing and said.denies:
        return True
    held = returned.held
    weight = 2 * len(said.held.marks & held.marks) + len(said.held.stems & held.stems)
    size = len(held.stems)
    return weight >= (2 if size <= _SHORT else 3 if size <= _LONG else 4)


def marks_of(text: str) -> Marks:
    """Return the words of a text as stems and marks."""
    return _marks(cut(text))


def _is_not_run(low: str) -> bool:
    """Return whether a short result is a message of a program or the shell that it didn't run."""
    for sign in _NOT_RUN:
        if sign in low:
            return True
    program, _, said = low.lstrip().partition(": ")
    return program in _PROGRAMS and any(complaint in said for complaint in _COMPLAINTS)


def _is_nothing(low: str, words: list[str]) -> bool:
    if "".join(low.split()) in _BLANK:
        return True
    if "found" not in low and "no " not in low and "0 " not in low and "zero " not in low:
        return False
    return not _HINTS.isdisjoint(map(str.lower, words)) and _FOUND_NOTHING.search(low) is not None


def _marks(words: list[str]) -> Marks:
    return Marks(
        frozenset(chain.from_iterable(map(_STEMS, words))), frozenset(chain.from_iterable(map(_MARKS, words)))
    )


def _read(word: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the stems of a word and its forms as a mark; empty if it has none."""
    if len(word) > _LONGEST:
        return (), (word.lower(),)
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
    """Return the first letters of an ordinary word, which its forms share."""
    return (low.rstrip("s")[:_PREFIX],) if len(low) > 1 else ()


def _pieces(word: str) -> tuple[str, ...]:
    """Return the stems of the words in an identifier: three in ``close_after_use``, two in ``maxSize``."""
    pieces = [piece.lower() for piece in _PIECE.findall(word)]
    stems = [_stem(piece)[0] for piece in pieces if len(piece) > 2 and piece not in _COMMON]
    return tuple(stems) if len(pieces) > 1 else ()


def _forms(low: str) -> tuple[str, ...]:
    """Return a mark and its rounded forms: ``12.47`` and ``12.5``, ``30d`` and ``30``."""
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


_STEMS = Memory(lambda word: _read(word)[0], _LONGEST).__getitem__
_MARKS = Memory(lambda word: _read(word)[1], _LONGEST).__getitem__
