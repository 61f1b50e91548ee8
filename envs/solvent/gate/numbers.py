"""Quantities of a text: numbers with their sign and unit, what they belong to, and months.

    value = sign * number * scale * factor of the unit        -5 km = -5,000 m, 30k euros = 30,000 euros

so that *2 kg* equals *2,000 grams*, while 5 km, 5 m, 5 %, 5 and -5 are five quantities. Both ends of a range have its
unit (*2 to 3 kg*). A number alone, in a cell or after a colon, leaves its unit to a heading: any unit fits.

Source: our addition to *Deterministic Policy Gates for Stochastic Systems*.

Known approximations: units and spelled numbers are the English ones of ``words.toml``; any other unit (*rooms*) counts
as none. Roman numerals, fractions in words other than halves, and sums are not understood.
"""

from __future__ import annotations

import calendar
import datetime
import re
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

__all__ = ["SPELLED", "WORDS", "Quantity", "Stated", "months", "quantities"]

WORDS = tomllib.loads(Path(__file__).with_name("words.toml").read_text("utf-8"))
_TENS = {word: 10.0 * value for value, word in enumerate(WORDS["tens"].split(), 2)}
_ONES = {word: float(value) for value, word in enumerate(WORDS["ones"].split())}
_ORDINALS = {word: float(value) for value, word in enumerate(WORDS["ordinals"].split(), 1)}
_SCALES = WORDS["scales"]
_VALUES = _ONES | _ORDINALS | _TENS | WORDS["values"]
_UNITS = {
    name: (kind, factor)
    for kind, sizes in WORDS["units"].items()
    for names, factor in sizes.items()
    for name in names.split()
}
SPELLED = _VALUES.keys() | _SCALES.keys() | _UNITS.keys()
"""Words that are numbers, units, or parts of one."""
_IGNORED = frozenset(WORDS["ignored"].split())
_IDLE = frozenset(WORDS["idle"].split())
_LINKS = frozenset(WORDS["links"].split())
_RANGES = frozenset(WORDS["ranges"].split())
_MONTH_NAMES = {name.casefold() for name in (*calendar.month_name[1:], *calendar.month_abbr[1:])}
_ARTICLES, _AND_A_HALF = ("a", "an"), ["and", "a", "half"]
_NAMING = (":", "=", "|")
_REACH = 3  # tokens between a number and the word that it belongs to

# A month that is also a word counts only beside a number or after a preposition.
_MONTH = re.compile(
    r"\b(?:(Jan|Feb|Apr|Jun|Jul|Aug|Sep|Oct|Nov|Dec)(?:uary|ruary|il|e|y|ust|t|tember|ober|ember)?\b"
    r"|(?:(?<=\d )|(?<=th )|(?<=in )|(?<=of )|(?<=since ))(Mar|May)(?:ch)?\b|(Mar|May)(?:ch)?(?=\.? \d))"
)
_ISO_DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b")
# Spellings of a unit or a scale that are more than one word, or depend on a sign before the number.
_SPELLINGS = (
    (re.compile(r"\u00b0\s?C\b|\bdegrees? Celsius\b", re.IGNORECASE), " celsius"),
    (re.compile(r"\u00b0\s?F\b|\bdegrees? Fahrenheit\b", re.IGNORECASE), " fahrenheit"),
    (re.compile(r"\bper cent\b", re.IGNORECASE), "percent"),
    (re.compile(r"(?<=[$\u20ac\u00a3\u00a5])(\d[\d.,]*)\s?m\b", re.IGNORECASE), r"\1 million"),
)
_GROUPED = re.compile(r"(?<=\d)[,\u00a0\u202f](?=\d{3}\b)")
_NUMERAL = r"(?:(?<![\w)\]%-])-)?\d+(?:\.\d+)?(?!\.?\d)"
_TOKEN = re.compile(rf"{_NUMERAL}|\d+|[^\W\d_]+|[^\w\s]|\n")


class Quantity(NamedTuple):
    """A number of a text."""

    text: str  #: its words
    number: float  #: with sign and scale, in its own unit
    value: float  #: in the base unit of its kind
    kind: str = ""  #: what its unit measures; empty without a unit
    alone: bool = False  #: whether it stands alone, so that its unit may be elsewhere
    idle: bool = False  #: whether it is a word such as "one", which no evidence has to state
    roles: tuple[str, ...] = ()  #: the words next to it


class Stated:
    """The quantities that a text states; ``in`` asks whether a quantity is one of them."""

    def __init__(self, stated: Iterable[Quantity]) -> None:
        stated = list(stated)
        self._values = {(one.kind, one.value) for one in stated}
        self._numbers = {one.number for one in stated}
        self._alone = {one.number for one in stated if one.alone}

    def __contains__(self, one: Quantity) -> bool:
        return (
            (one.kind, one.value) in self._values
            or one.number in self._alone
            or (one.alone and one.number in self._numbers)
        )


def months(text: str) -> dict[str, str]:
    """Return the months of a text by their first three letters, each with its words."""
    return {"".join(filter(None, month.groups())): month[0] for month in _MONTH.finditer(_normal(text))}


def quantities(text: str) -> list[Quantity]:
    """Return the quantities of a text in order."""
    tokens = _TOKEN.findall(_GROUPED.sub("", _normal(text)).casefold())
    places: list[tuple[int, int, float]] = []  # first token, token after the last, number
    at = 0
    while at < len(tokens):
        end, number = _number_at(tokens, at)
        if end > at:
            places.append((at, end, number))
        at = max(end, at + 1)
    units = [_unit_of(tokens, start, end) for start, end, _ in places]
    for i in reversed(range(len(places) - 1)):
        between = tokens[places[i][1] : places[i + 1][0]]
        if not units[i] and len(between) == 1 and between[0] in _RANGES:
            units[i] = units[i + 1]
    return [_quantity(tokens, *place, unit) for place, unit in zip(places, units, strict=True)]


def _normal(text: str) -> str:
    """Return a text with dates such as 1931-05-03 in words, and with one spelling each of some units."""

    def spelled(match: re.Match[str]) -> str:
        try:
            date = datetime.date.fromisoformat(match[0])
        except ValueError:
            return match[0]
        return f"{date.day} {date:%b} {date.year}"

    text = _ISO_DATE.sub(spelled, text)
    for pattern, spelling in _SPELLINGS:
        text = pattern.sub(spelling, text)
    return text


def _number_at(tokens: list[str], at: int) -> tuple[int, float]:
    """Return the token after the number that begins at a token, and the number; ``at`` if none begins there."""
    token = tokens[at]
    following = tokens[at + 1] if at + 1 < len(tokens) else ""
    if token[-1].isdecimal():
        number, end = float(token), at + 1
    elif token in _TENS and following == "-" and at + 2 < len(tokens) and tokens[at + 2] in _ONES:
        number, end = _TENS[token] + _ONES[tokens[at + 2]], at + 3
    elif token in _TENS and 0 < _ONES.get(following, 0.0) < 10:
        number, end = _TENS[token] + _ONES[following], at + 2
    elif token in _VALUES:
        number, end = _VALUES[token], at + 1
    elif token == "half" and following in _ARTICLES:
        number, end = 0.5, at + 2
    elif token in _ARTICLES and following in _UNITS and tokens[at + 2 : at + 5] == _AND_A_HALF:
        number, end = 1.5, at + 1
    else:
        return at, 0.0
    if tokens[end : end + 3] == _AND_A_HALF:
        number, end = number + 0.5, end + 3
    while end < len(tokens) and tokens[end] in _SCALES:
        number, end = number * _SCALES[tokens[end]], end + 1
    if at > 0 and tokens[at - 1] == "minus":
        number = -number
    return end, number


def _unit_of(tokens: Sequence[str], start: int, end: int) -> str:
    """Return the unit of the number in these tokens: the next token, the one after a hyphen, or a sign before it."""
    after = [*tokens[end : end + 2], "", ""]
    name = after[1] if after[0] == "-" and after[1] in _UNITS else after[0]
    before = tokens[start - 1] if start else ""
    if before in _UNITS and not before.isalpha() and before != "%":
        return before
    return name if name in _UNITS else ""


def _quantity(tokens: Sequence[str], start: int, end: int, number: float, unit: str) -> Quantity:
    kind, factor = _UNITS.get(unit, ("", 1.0))
    words = tokens[start:end]
    before = tokens[start - 1] if start else "\n"
    after = tokens[end] if end < len(tokens) else "\n"
    return Quantity(
        text=" ".join([*words, unit]).strip(),
        number=float(f"{number:.9g}"),
        value=float(f"{number * factor:.9g}"),
        kind=kind,
        alone=before in ":=|,(\n" and after in ".|,;)]}\n",
        idle=words[0] in _IDLE or (not number and before == ":"),
        roles=tuple(
            f"{side} {word}"
            for side, word in (
                ("after", _neighbour(tokens[max(start - _REACH, 0) : start][::-1])),
                ("before", _neighbour([token for token in tokens[end : end + _REACH] if token != unit])),
            )
            if word
        ),
    )


def _neighbour(tokens: Sequence[str]) -> str:
    """Return the first word that a number can belong to, or the link to another number; nothing beyond a mark."""
    for at, token in enumerate(tokens):
        if token in _NAMING and "".join(tokens[at + 1 : at + 2]).isalpha():
            continue  # the name of what is stated stands before it
        if token in _LINKS:
            return token
        if not token.isalpha() or token in SPELLED or token in _MONTH_NAMES:
            return ""
        if token not in _IGNORED:
            return token
    return ""
