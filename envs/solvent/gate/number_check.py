"""The number check: numbers and dates of a claim that its evidence does not state.

A mention is *found* when the texts hold the same value; with a unit, the same quantity in a unit of the family
(``0.5 uM`` is ``500 nM``), or the bare number with no unit at all, if it counts nothing else (``10 men``); a date, when
they hold all that is said of it in one date, or its month and day without a year and the year elsewhere; a decade,
when they hold one of its years; a number inside a name, when they hold that very name.

Known approximation: no arithmetic. A count, a sum, an age or a rounded value that the texts merely imply is not
found. All texts are one pool, so two facts may lend each other their numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from solvent.gate.quantities import Date, Mention, keys, mentions, names
from solvent.gate.wording import plain

__all__ = ["Stated", "missing"]


class Stated:
    """Numbers and dates that some texts state, ready to be looked up."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.numbers: set[str] = set()
        self.bare: set[str] = set()
        self.quantities: set[tuple[str, str]] = set()
        self.dates: set[Date] = set()
        self.yearless: set[Date] = set()
        self.names: set[str] = set()
        for text in texts:
            self.names.update(names(plain(text)).values())
            for mention in mentions(text):
                self._take(mention)

    def _take(self, mention: Mention) -> None:
        # A decade is held by any of its years, and holds none of them.
        values = mention.values[:1] if mention.decade else mention.values
        values += mention.parts
        self.numbers.update(values)
        if not mention.units and not mention.counts:
            self.bare.update(values)
        self.quantities.update(_quantities(mention))
        for year, month, day in mention.dates:
            self.dates |= {(y, month, d) for y in (0, year) for d in (0, day)}
            if not year:
                self.yearless |= {(0, month, 0), (0, month, day)}
            said = keys(float(part) for part in (year, day) if part)
            self.numbers.update(said)
            self.bare.update(said)

    def holds(self, mention: Mention) -> bool:
        """True if a number or date of a claim stands in these texts."""
        if mention.name and mention.name in self.names:
            return True
        if mention.dates:
            return any(self._holds_date(date) for date in mention.dates)
        if mention.units:
            return bool(_quantities(mention) & self.quantities or self.bare.intersection(mention.values))
        return not self.numbers.isdisjoint(mention.values)

    def _holds_date(self, date: Date) -> bool:
        year, month, day = date
        apart = (0, month, day) in self.yearless and f"{year}" in self.numbers
        return date in self.dates or (year > 0 and apart)


def _quantities(mention: Mention) -> set[tuple[str, str]]:
    """The quantities a mention may mean, in base units."""
    return {
        (family, key)
        for family, size in mention.units
        for value in map(float, mention.values)
        if math.isfinite(value)
        for key in [f"{value * size:.9g}"]
    }


def missing(claim: str, evidence: Iterable[str]) -> list[Mention]:
    """Numbers and dates of a claim that stand nowhere in the evidence. Linear in the length of the texts."""
    asked = [mention for mention in mentions(claim) if not mention.idle]
    if not asked:
        return []
    stated = Stated(evidence)
    return [mention for mention in asked if not stated.holds(mention)]
