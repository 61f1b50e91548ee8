"""Where the numbers of a claim belong: beside which words, in which row and column.

*41 of 412* has the numbers of *412 of 41*, each where the other is. A number is *swapped* if the evidence has another
number of the claim beside the same word, and never this one; *misplaced* if the tables of the evidence have it only in
rows or columns that the claim does not name, while it names others of the same table.

Source: our addition to *Deterministic Policy Gates for Stochastic Systems*.

Known approximation: a number belongs to the next word on either side, or to the link between two numbers. A wrong
number that the evidence states of something else, and that is alone in the claim, is missed outside of tables.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

from solvent.gate.numbers import Quantity, Stated, quantities
from solvent.gate.reading import Cell, cells
from solvent.gate.wording import content

__all__ = ["misplaced", "swapped"]


def swapped(ours: Sequence[Quantity], theirs: Sequence[Quantity]) -> list[str]:
    """Return the numbers that stand where the evidence has another number of the claim: 41 of 412, 412 of 41."""
    values = {quantity.value for quantity in ours}
    by_role: dict[str, set[float]] = defaultdict(set)
    for quantity in theirs:
        for role in quantity.roles:
            by_role[role].add(quantity.value)
    return [
        quantity.text
        for quantity in ours
        for role in quantity.roles
        if quantity.value not in by_role[role] and by_role[role] & values
    ]


def misplaced(claim: str, ours: Sequence[Quantity], texts: Sequence[str]) -> list[str]:
    """Return the numbers whose cells are in other rows or columns than those that the claim names."""
    words, table = content(claim).keys(), cells(texts)
    rows = _named({cell.row for cell in table}, words)
    columns = _named({cell.column for cell in table}, words)
    named = [
        cell
        for cell in table
        if (not rows or not cell.row or cell.row in rows) and (not columns or cell.column in columns)
    ]
    anywhere, where_named = _stated(table), _stated(named)
    return [one.text for one in ours if one in anywhere and one not in where_named]


def _stated(table: Iterable[Cell]) -> Stated:
    return Stated(quantity for cell in table for quantity in quantities(f": {cell.text}"))


def _named(labels: Iterable[str], words: Collection[str]) -> set[str]:
    """Return the labels whose words are all among the words of a claim."""
    return {label for label in labels if content(label) and content(label).keys() <= set(words)}
