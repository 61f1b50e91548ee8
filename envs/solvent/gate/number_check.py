"""The number check: numbers and dates of a claim that its evidence does not state.

The evidence states

- a number without a unit by the same value
- a number with a unit by the same quantity in a unit of the family (``0.5 uM`` is ``500 nM``), or by the bare number
  if that has no unit and counts nothing else (``10 men``)
- a time of the day by the same time (``5:30 pm`` is ``17:30``), or by its bare hour and minute
- a date by all of its parts in one date, or by its month and day without a year and the year elsewhere
- a decade by one of its years
- a number inside a name by the same name

Known approximation: no arithmetic. The check misses a count, a sum, an age or a rounded value that the evidence only
implies. All spans form one pool, so two facts may lend each other their numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from solvent.gate.quantities import CLOCK, Date, Mention, keys, mentions, names
from solvent.gate.wording import plain

__all__ = ["Stated", "missing"]


class Stated:
    """The numbers and dates that some texts state, indexed for lookup."""

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
        # Any of its years states a decade; a decade states only its first.
        values = mention.values[:1] if mention.decade else mention.values
        values += mention.parts
        self.numbers.update(values)
        if not mention.units and not mention.counts:
            self.bare.update(values)
        if _is_time(mention) and ":" in mention.text and mention.text[-1].isdecimal():
            # 3:45 may be minutes and seconds; 3:45 pm is a time.
            self.bare.update(mention.parts)
        self.quantities.update(_quantities(mention))
        for year, month, day in mention.dates:
            self.dates |= {(y, month, d) for y in (0, year) for d in (0, day)}
            if not year:
                self.yearless |= {(0, month, 0), (0, month, day)}
            said = keys(float(part) for part in (year, day) if part)
            self.numbers.update(said)
            self.bare.update(said)

    def holds(self, mention: Mention) -> bool:
        """Return true if these texts state the mention."""
        if mention.name and mention.name in self.names:
            return True
        if mention.dates:
            return any(self._holds_date(date) for date in mention.dates)
        if _is_time(mention):
            return bool(_quantities(mention) & self.quantities) or self.bare.issuperset(mention.parts)
        if mention.units:
            return bool(_quantities(mention) & self.quantities or self.bare.intersection(mention.values))
        return not self.numbers.isdisjoint(mention.values)

    def _holds_date(self, date: Date) -> bool:
        year, month, day = date
        apart = (0, month, day) in self.yearless and f"{year}" in self.numbers
        return date in self.dates or (year > 0 and apart)


def _is_time(mention: Mention) -> bool:
    return any(family == CLOCK for family, _ in mention.units)


def _quantities(mention: Mention) -> set[tuple[str, str]]:
    """Return the possible quantities of a mention, in base units."""
    return {
        (family, key)
        for family, size in mention.units
        for value in map(float, mention.values)
        if math.isfinite(value)
        for key in [f"{value * size:.9g}"]
    }


def missing(claim: str, evidence: Iterable[str]) -> list[Mention]:
    """Return the numbers and dates of a claim that the evidence does not state, in linear time."""
    asked = [mention for mention in mentions(claim) if not mention.idle]
    if not asked:
        return []
    stated = Stated(evidence)
    return [mention for mention in asked if not stated.holds(mention)]
