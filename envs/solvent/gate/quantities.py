"""Numbers, dates and quantities of a text, read in one pass over its tokens.

``1,000`` is 1000, ``1.5 million`` is 1500000, ``twenty-five`` and ``25th`` are 25, ``1990s`` is a decade, and ``5
March 1990``, ``March 5, 1990`` and ``1990-03-05`` are equal. A number inside a name (``MG-132``) carries that name.
``-5`` is negative unless something directly precedes the sign (``3-2``, ``1990-95``). ``.5`` and ``1/2`` are 0.5,
``1e5`` is 100000, ``two and a half`` is 2.5, and ``half a kilogram`` is 0.5 kg. ``5:30 pm`` and ``17:30`` are one time
of the day. ``IV`` and other Roman numerals up to 39 are numbers, except ``I``, ``V`` and ``X``. They, ``one``,
``first``, ``second``, ``both`` and ``twice`` are ``idle``: parts of names, seldom numbers, or counts that a text need
not state.

Known approximation: English. Ambiguous notation (``5/3/1990``, ``1.000``) keeps every reading.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
from collections.abc import Iterable
from typing import NamedTuple

from solvent.gate.units import CURRENCIES, MONTHS, ORDINALS, SCALES, SPELLED, UNITS, WORD_UNITS
from solvent.gate.wording import content_stems, plain, words

__all__ = ["CLOCK", "Date", "Mention", "Unit", "keys", "mentioned_words", "mentions", "names"]

_TOKEN = re.compile(r"\d+(?:[.,]\d+)*(?:[eE][+-]?\d+(?!\w))?|[^\W\d_]+|[^\w\s]|_")
_CHUNK = re.compile(r"(?<!\S)[^\s\d]*\d\S*")  # with a digit in it
_DIGIT = re.compile(r"\d")
_EDGES = "".join(chr(c) for c in range(33, 127) if not chr(c).isalnum())
# An ordinary space separates groups only before 000: "in 1990 250 people" has two numbers.
_SPACED_GROUP = re.compile("(?<=\\d)(?:[\u00a0\u2009\u202f](?=\\d{3}(?!\\d))| (?=000(?!\\d)))")
_GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_GROUPED_BY_DOTS = re.compile(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?")
_DECIMAL = re.compile(r"\d+[.,]\d+")
_ORDINAL_ENDINGS = frozenset({"st", "nd", "rd", "th"})
_JOINS = frozenset({"-", "to", "and", "or"})
_IDLE = frozenset({"one", "first", "second", "both", "twice", "thrice"})
_ROMAN = re.compile("(?=..)(X{0,3})(IX|IV|V?I{0,3})")
_ROMAN_ONES = {"": 0, "I": 1, "II": 2, "III": 3, "IV": 4, "V": 5, "VI": 6, "VII": 7, "VIII": 8, "IX": 9}
_HALF = {"half": 0.5, "quarter": 0.25}
_NUMBER_WORDS = SPELLED.keys() | ORDINALS.keys() | SCALES.keys() | _HALF.keys()
_POUNDS = frozenset({"pound", "pounds"})
"""Of weight or of money."""
_PER = {"hour": 1e-3, "second": 3.6}
CLOCK = "clock"
"""Family of times of the day, in minutes since midnight."""
_ALONE = frozenset(month for month in MONTHS if len(month) > 4 and month != "march")
_LONGEST_NUMBER = 15  # digits that a float holds exactly; longer numbers are compared as text
_PADDING = 8
_POWER = re.compile(r"\d+(?:\.\d+)?[eE][+-]?\d{1,3}", re.ASCII)
_HALVES = {"am": "am", "AM": "am", "pm": "pm", "PM": "pm"}
_FIRST_YEAR, _LAST_YEAR = 1000, 2999
_SQUARES = {"square": "2", "sq": "2", "cubic": "3"}
_MONEY_SCALES = {"k": 1e3, "K": 1e3, "m": 1e6, "M": 1e6, "b": 1e9, "B": 1e9}

Unit = tuple[str, float]
Date = tuple[int, int, int]  # year, month, day; 0 if not stated


class Token(NamedTuple):
    """A number, a word or a sign, with its place in the text."""

    text: str
    start: int
    end: int

    @property
    def is_number(self) -> bool:
        """True if it is written in digits."""
        return self.text[0].isdecimal()

    @property
    def whole(self) -> int:
        """Its value if it has at most four digits, else -1."""
        return int(self.text) if self.text.isdecimal() and len(self.text) <= 4 else -1


@dataclasses.dataclass(slots=True)
class Mention:
    """A number or a date in a text.

    Attributes:
        text: the text as written.
        values: possible values; several if the notation is ambiguous.
        units: possible units.
        dates: possible dates; ``values`` is then empty.
        name: the name that contains it (``mg132``), or empty.
        decade: true if ``values`` are the years of a decade, the first year first.
        idle: true if it is seldom a number and is not looked up.
        parts: numerator and denominator of a fraction, hour and minute of a time.
        counts: true if it counts the next word (``10 men``), so that a unit elsewhere can't be its own.
        first, last: indices of its tokens.
    """

    text: str
    values: tuple[str, ...] = ()
    units: tuple[Unit, ...] = ()
    dates: tuple[Date, ...] = ()
    name: str = ""
    decade: bool = False
    idle: bool = False
    parts: tuple[str, ...] = ()
    counts: bool = False
    first: int = 0
    last: int = 0


def mentions(text: str) -> list[Mention]:
    """Return all numbers and dates of a text, in order."""
    text = _SPACED_GROUP.sub("", plain(text))
    tokens = [Token(match.group(), *match.span()) for match in _TOKEN.finditer(text)]
    found = _Reader(text, tokens).read()
    _share_units(found, tokens)
    return found


def mentioned_words(text: str) -> set[str]:
    """Return the words in lower case that a text's numbers and dates are made of, with their units."""
    return {word for mention in mentions(text) for word in words(mention.text)}


class _Reader:
    """One pass over the tokens, with a bounded number of looks at each."""

    def __init__(self, text: str, tokens: list[Token]) -> None:
        self.text, self.tokens = text, tokens
        # Padding: a look beyond either end (-1 to -4 as well) finds an empty text.
        self.texts = [token.text for token in tokens] + [""] * _PADDING
        self.lower = [token.casefold() for token in self.texts]
        joined = [a.end == b.start for a, b in itertools.pairwise(tokens)]
        self.joined = [False, *joined] + [False] * _PADDING
        self.names = names(text)
        self.taken: set[int] = set()
        self.found: list[Mention] = []

    def read(self) -> list[Mention]:
        numbers = [i for i, text in enumerate(self.texts) if text[:1].isdecimal()]
        spelled = [i for i, word in enumerate(self.lower) if word in MONTHS or word in _NUMBER_WORDS]
        romans = [i for i, text in enumerate(self.texts) if _ROMAN.fullmatch(text) and not self._attached(i)]
        for i in sorted(numbers + spelled):
            if self.tokens[i].is_number:
                self._numeric_date(i)
            elif self.lower[i] in MONTHS:
                self._written_date(i)
        end = 0
        for i in sorted(numbers + spelled + romans):
            if i >= end and i not in self.taken:
                end = self._number(i)
        return sorted(self.found, key=lambda mention: mention.first)

    def at(self, i: int) -> str:
        return self.texts[i]

    def low(self, i: int) -> str:
        return self.lower[i]

    def touches(self, i: int) -> bool:
        """Return true if token ``i`` follows the previous one without a space."""
        return self.joined[i]

    def whole(self, i: int) -> int:
        free = 0 <= i < len(self.tokens) and i not in self.taken
        return self.tokens[i].whole if free else -1

    def add(self, first: int, last: int, mention: Mention) -> None:
        mention.text = self.text[self.tokens[first].start : self.tokens[last].end]
        mention.first, mention.last = first, last
        mention.name = self.names.get(self.tokens[first].start, "")
        self.found.append(mention)

    def _date(self, first: int, last: int, *dates: Date) -> None:
        self.taken.update(range(first, last + 1))
        self.add(first, last, Mention("", dates=dates))

    def _numeric_date(self, i: int) -> None:
        """Read ``1990-03-05``, ``5/3/1990``, ``5.3.1990``; the day and the month may be ambiguous."""
        parts = self.tokens[i].text.split(".", 3)
        last = i
        if len(parts) != 3:
            apart = all(map(self.touches, range(i + 1, i + 5)))
            if not apart or self.at(i + 1) not in ("-", "/") or self.at(i + 1) != self.at(i + 3):
                return
            parts, last = [self.at(i), self.at(i + 2), self.at(i + 4)], i + 4
        if not all(part.isdecimal() and len(part) <= 4 for part in parts):
            return
        a, b, c = map(int, parts)
        readings = [(a, b, c)] if len(parts[0]) == 4 else [(c, b, a), (c, a, b)]
        dates = [date for date in readings if _is_date(*date)]
        if dates and i not in self.taken:
            self._date(i, last, *dates)

    def _written_date(self, i: int) -> None:
        """Read ``5 March 1990``, ``5th of March``, ``March 5, 1990``, ``March 1990``, ``March``."""
        first, last, year = i, i, 0
        day, first = self._day_before(i)
        j = i + 2 if self.at(i + 1) == "." and len(self.at(i)) <= 4 else i + 1
        if not day and 1 <= self.whole(j) <= 31 and len(self.at(j)) <= 2:
            day, last = self.whole(j), j
            j = j + 2 if self.touches(j + 1) and self.low(j + 1) in _ORDINAL_ENDINGS else j + 1
            last = j - 1
        if self.at(j) in (",", "of"):
            j += 1
        if _FIRST_YEAR <= self.whole(j) <= _LAST_YEAR:
            year, last = self.whole(j), j
        if day or year or (self.low(i) in _ALONE and self.at(i)[0].isupper()):
            self._date(first, last, (year, MONTHS[self.low(i)], day))

    def _day_before(self, i: int) -> tuple[int, int]:
        j = i - 1 if self.low(i - 1) != "of" else i - 2
        if self.low(j) in _ORDINAL_ENDINGS and self.touches(j):
            j -= 1
        elif j != i - 1:
            return 0, i
        day = self.whole(j)
        return (day, j) if 1 <= day <= 31 and len(self.at(j)) <= 2 else (0, i)

    def _number(self, i: int) -> int:
        """Read the number at token ``i``, if there is one, and return the next index."""
        if self.tokens[i].is_number:
            return self._digits(i)
        if roman := _ROMAN.fullmatch(self.at(i)):
            value = 10.0 * len(roman[1]) + _ROMAN_ONES[roman[2]]
            self.add(i, i, Mention("", keys([value]), idle=True))
            return i + 1
        word = self.low(i)
        if word in _HALF:
            return self._half_a_unit(i)
        begins = word in SPELLED or word in ORDINALS or (word in SCALES and self.low(i - 1) == "a")
        return self._spelled(i) if begins else i + 1

    def _digits(self, i: int) -> int:
        if end := self._fraction(i) or self._time(i):
            return end
        text, j = self.tokens[i].text, i + 1
        values = readings(text)
        head, negative = self._head(i)
        if self.at(i - 1) == "." and head < i and text.isdecimal():
            values = [float(f"0.{text}")] if len(text) < _LONGEST_NUMBER else []
        if negative:
            values = [-value for value in values]
        if self.touches(j) and self.low(j) in _ORDINAL_ENDINGS:
            self.add(i, j, Mention("", keys(values)))
            return j + 1
        if (decade := self.tokens[i].whole) >= _FIRST_YEAR and decade % 10 == 0:
            end = j + 1 if self.at(j) == "'" and self.touches(j) else j
            if self.touches(end) and self.low(end) == "s":
                self.add(i, end, Mention("", keys([float(decade + year) for year in range(10)]), decade=True))
                return end + 1
        money = CURRENCIES.get(self.at(i - 1), "") or CURRENCIES.get(self.at(head), "")
        factor, j = self._scale(j, money)
        if factor != 1.0:
            values = [value * factor for value in values]
        units: tuple[Unit, ...] = ((money, 1.0),) if money else ()
        if not money:
            more, j = self._and_a_half(j)
            values = [value + more for value in values]
            units, j = self._unit(j)
        # A number too long for a float keeps its digits as text.
        literal = () if values else (text,)
        self.add(
            head, j - 1, Mention("", keys(values) + literal, units, counts=not units and self._counts(j))
        )
        self.found[-1].first = i
        return j

    def _head(self, i: int) -> tuple[int, bool]:
        """Return the first token of the number at ``i`` (sign, currency or point), and true if it is negative."""
        head, negative = i, False
        if self.at(i - 1) == "." and self.touches(i) and (self.at(i - 2) == "-" or not self._attached(i - 1)):
            head = i - 1
        if self.at(head - 1) in CURRENCIES and self.touches(head) and self.at(head - 2) == "-":
            head -= 1
        if self.at(head - 1) == "-" and self.touches(head) and not self._attached(head - 1):
            # A dash before a year, as in (-1990), or between two numbers marks a range.
            ranged = self.at(head - 2)[:1].isdecimal()
            if not ranged and not _FIRST_YEAR <= self.tokens[i].whole <= _LAST_YEAR:
                head, negative = head - 1, True
        return head, negative

    def _attached(self, i: int) -> bool:
        """Return true if a letter, a digit or another point or dash directly precedes token ``i``."""
        before = self.at(i - 1)
        return self.touches(i) and (before[:1].isalnum() or before in (".", "-", "_", ")", "/"))

    def _fraction(self, i: int) -> int:
        """Read ``1/2`` at token ``i``, unless it is part of something longer, and return the next index, or 0."""
        over = self.at(i + 1) == "/" and self.touches(i + 1) and self.touches(i + 2)
        above, below = self.tokens[i].whole, self.whole(i + 2) if over else -1
        longer = self.touches(i + 3) and (self.at(i + 3) == "/" or self.at(i + 3)[:1].isalpha())
        if not 0 < above < below <= 100 or self._attached(i) or longer:
            return 0
        units, end = self._unit(i + 3)
        parts = keys([float(above), float(below)])
        self.add(i, end - 1, Mention("", keys([above / below]), units, parts=parts))
        return end

    def _time(self, i: int) -> int:
        """Read ``17:30``, ``5:30 pm`` or ``5 p.m.`` at token ``i``, and return the next index, or 0."""
        hour, minute, j = self.tokens[i].whole, 0, i + 1
        written = self.at(j) == ":" and self.touches(j) and self.touches(j + 1) and len(self.at(j + 1)) == 2
        if written:
            minute, j = self.whole(j + 1), j + 2
        half, j = self._half_of_day(j)
        longer = self.at(j) == ":" and self.touches(j)  # 1:30:05
        if not 0 <= hour < 24 or not 0 <= minute < 60 or longer or self._attached(i) or not (written or half):
            return 0
        hours = (
            [hour] if hour > 12 else [hour % 12 + 12 * late for late in (0, 1) if half != ("pm", "am")[late]]
        )
        times = keys(60.0 * h + minute for h in hours)
        parts = keys([float(hour)] + [float(minute)] * (minute > 0))
        self.add(i, j - 1, Mention("", times, ((CLOCK, 1.0),), parts=parts))
        return j

    def _half_of_day(self, j: int) -> tuple[str, int]:
        """Return ``am`` or ``pm`` if token ``j`` begins one of them, and the next index."""
        if half := _HALVES.get(self.at(j)):
            return half, j + 1
        spaced = self.low(j) in ("a", "p") and self.at(j + 1) == "." and self.low(j + 2) == "m"
        return (f"{self.low(j)}m", j + 3) if spaced and self.touches(j + 2) else ("", j)

    def _and_a_half(self, j: int) -> tuple[float, int]:
        """Return 0.5 for ``and a half`` at token ``j``, and the next index."""
        if self.low(j) == "and" and self.low(j + 1) == "a" and self.low(j + 2) in _HALF:
            return _HALF[self.low(j + 2)], j + 3
        return 0.0, j

    def _half_a_unit(self, i: int) -> int:
        """Read ``half a kilogram`` or ``a quarter of an hour`` at token ``i``, and return the next index."""
        j = i + 2 if self.low(i + 1) == "of" else i + 1
        units, end = self._unit(j + 1) if self.low(j) in ("a", "an") else ((), i + 1)
        if units:
            self.add(i, end - 1, Mention("", keys([_HALF[self.low(i)]]), units))
        return end

    def _counts(self, j: int) -> bool:
        """Return true if the number before token ``j`` counts a content word, and no unit follows soon."""
        word = self.at(j)
        if not (word.isalpha() and word.islower()) or self.touches(j) or not content_stems(word):
            return False
        return not any(self._unit(k)[0] for k in range(j + 1, j + 4))

    def _scale(self, j: int, money: str) -> tuple[float, int]:
        factor = 1.0
        if self.at(j)[:1].isdecimal() or not self.at(j):
            return factor, j
        if money and self.touches(j) and self.at(j) in _MONEY_SCALES:
            return _MONEY_SCALES[self.at(j)], j + 1
        for _ in range(3):
            k = j + 1 if self.at(j) == "-" else j
            if self.low(k) not in SCALES:
                break
            factor, j = factor * SCALES[self.low(k)], k + 1
        return factor, j

    def _unit(self, j: int) -> tuple[tuple[Unit, ...], int]:
        """Return the unit at token ``j`` or after a hyphen there, and the next index."""
        if self.at(j)[:1].isdecimal() or not self.at(j):
            return (), j
        k = j + 1 if self.at(j) == "-" and self.touches(j) else j
        if self.low(k) == "per" and self.low(k + 1) == "cent":
            return (UNITS["%"],), k + 2
        if (power := _SQUARES.get(self.low(k), "")) and (unit := self._named(k + 1)):
            return (_raised(unit, power),), k + 2
        for size in (3, 2, 1):  # km/h, °C, %
            joined = "".join(map(self.at, range(k, k + size)))
            if joined in UNITS and not joined.isalpha() and self.at(k + size - 1):
                return (UNITS[joined],), k + size
        if self.low(k) in _POUNDS:
            return (WORD_UNITS["pound"], (CURRENCIES["£"], 1.0)), k + 1
        unit = self._named(k)
        if not unit:
            return (), j
        if unit[0] == "m" and self.low(k + 1) in ("per", "an", "a") and (time := _PER.get(self.low(k + 2))):
            return (("km/h", unit[1] * time),), k + 3
        if unit[0] == "m" and self.touches(k + 1) and self.at(k + 1) in ("2", "3"):
            return (_raised(unit, self.at(k + 1)),), k + 2
        return (unit,), k + 1

    def _named(self, k: int) -> Unit | None:
        return UNITS.get(self.at(k)) or WORD_UNITS.get(self.low(k))

    def _spelled(self, i: int) -> int:
        total, current, previous, j, ordinal = 0.0, 0.0, "start", i, False
        while not ordinal:
            k = j + 1 if j > i and self.at(j) == "-" else j
            if self.low(k) == "and" and previous == "scale":
                k += 1
            word = self.low(k)
            ordinal = word in ORDINALS
            if word in SPELLED or ordinal:
                value = SPELLED.get(word, 0) or ORDINALS.get(word, 0)
                if previous == "unit" or (previous == "tens" and not 0 < value < 10):
                    ordinal = False
                    break
                current += value
                previous = "tens" if value >= 20 else "unit"
            elif word in SCALES:
                current = max(current, 1.0) * SCALES[word]
                if SCALES[word] >= 1e3:
                    total, current = total + current, 0.0
                previous = "scale"
            else:
                break
            j = k + 1
        more, j = (0.0, j) if ordinal else self._and_a_half(j)
        units, end = self._unit(j) if not ordinal else ((), j)
        total += more
        idle = end - i == 1 and self.low(i) in _IDLE
        self.add(i, end - 1, Mention("", keys([total + current]), units, idle=idle))
        return end


def _is_date(year: int, month: int, day: int) -> bool:
    return _FIRST_YEAR <= year <= _LAST_YEAR and 1 <= month <= 12 and 1 <= day <= 31


def _raised(unit: Unit, power: str) -> Unit:
    return f"{unit[0]}{power}", unit[1] ** int(power)


def names(text: str) -> dict[int, str]:
    """Return the name around each number that is part of one (letters first, ``MG-132``), by place in a plain text."""
    places: dict[int, str] = {}
    for match in _CHUNK.finditer(text):
        chunk = match.group()
        core = chunk.strip(_EDGES)
        if core[:1].isalpha() and _DIGIT.search(core):
            name = core.casefold().removesuffix("'s").replace("-", "")
            start = match.start()
            places |= {start + number.start(): name for number in re.finditer(r"\d+(?:[.,]\d+)*", chunk)}
    return places


def readings(digits: str) -> list[float]:
    """Return the possible values of digits with points and commas, or none if a float can't hold them."""
    if digits.isdecimal():  # by far the most common case
        return [float(digits)] if len(digits) <= _LONGEST_NUMBER else []
    if sum(map(str.isdecimal, digits)) > _LONGEST_NUMBER:
        return []
    if _POWER.fullmatch(digits):
        power = float(digits)
        return [power] if math.isfinite(power) else []
    found = []
    if _GROUPED.fullmatch(digits):
        found.append(float(digits.replace(",", "")))
    if _GROUPED_BY_DOTS.fullmatch(digits):
        found.append(float(digits.replace(".", "").replace(",", ".")))
    if _DECIMAL.fullmatch(digits) and not (found and "," in digits):
        found.append(float(digits.replace(",", ".")))
    return found or [float(part) for part in re.split("[.,]", digits)]


def keys(values: Iterable[float]) -> tuple[str, ...]:
    """Return values in a form that ignores a float's rounding."""
    return tuple(f"{value:.12g}" for value in values)


def _share_units(found: list[Mention], tokens: list[Token]) -> None:
    """Give both ends of ``10-15 km`` the unit, and let ``1990-95`` end in 1995."""
    for a, b in itertools.pairwise(found):
        if a.dates or b.dates or b.first - a.last != 2 or tokens[a.last + 1].text.casefold() not in _JOINS:
            continue
        if b.units and not a.units:
            a.units = b.units
        start, end = tokens[a.last].whole, tokens[b.first].whole
        if start >= _FIRST_YEAR and 0 <= end < 100 and tokens[a.last + 1].text == "-":
            b.values += keys([float(start - start % 100 + end)])
