"""Energy: the situational price of acting, and how it comes back.

Mechanism (source: *Action Cost: The Energy Model*). Five ratings ``0..4`` of an action give its base cost: the three
dimensions that weigh high (consequence, reversibility, exposure) count twice the two that weigh medium (attention,
commitment), and the highest of all costs ``MOST``:

    base = MOST * (2 (consequence + reversibility + exposure) + attention + commitment) / (8 * HIGHEST)

The situation multiplies it, within bounds, so that no situation makes an action cheaper than its base:

    effective = base * clip(first_use * error_rate * late_social * similar, 1, multiplier_cap)

Each heartbeat that closes brings ``regeneration``, and what is above ``cap`` is lost. One pool for everything, never
negative. Energy is counted in whole thousandths (``UNIT``), as wells are whole: sums are exact, whatever their order.

Known approximation: a use is remembered by whether it failed, not by why; the source names no window for "recent", here
it is the heartbeat.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from solvent.lab.compiled import inlined

__all__ = [
    "DIMENSIONS",
    "HIGHEST",
    "MANY_FAILURES",
    "MOST",
    "REMEMBERED_USES",
    "UNIT",
    "WEIGHTS",
    "EnergyRules",
    "base_cost",
    "effective_cost",
    "error_prone",
    "failed_uses",
    "hour_of",
    "in_thousandths",
    "multiplier",
    "payable",
    "regenerate",
    "remember_use",
    "within_hours",
]

UNIT = 1000
"""Thousandths in a unit of energy."""

DIMENSIONS = ("consequence", "reversibility", "exposure", "attention", "commitment")
WEIGHTS = (2.0, 2.0, 2.0, 1.0, 1.0)
"""High and medium of the source, as numbers."""
HIGHEST = 4.0
MOST = 8.0
"""Energy of an action that is rated highest in everything: the top of the source's most expensive category."""

REMEMBERED_USES = 4
MANY_FAILURES = 2
"""Half of the uses that are remembered."""


class EnergyRules(NamedTuple):
    """The energy rules as the compiled functions take them; energies in thousandths (``params.EnergyParams``)."""

    enabled: bool
    start: int
    regeneration: int
    cap: int
    slots: int
    start_hour: int
    present_from: int
    present_until: int
    late_from: int
    late_until: int
    first_use: float
    error_rate: float
    late_social: float
    similar: float
    multiplier_cap: float


def base_cost(ratings: Any) -> float:
    """Energy of an action by its five ratings, each 0 to 4, in the order of ``DIMENSIONS``."""
    weighted: float = sum(weight * rating for weight, rating in zip(WEIGHTS, ratings, strict=True))
    return MOST * weighted / (HIGHEST * sum(WEIGHTS))


def in_thousandths(energy: float) -> int:
    """Energy as whole thousandths, to the nearest."""
    return round(energy * UNIT)


@inlined
def multiplier(rules, first_use, errors, late_social, similar):  # type: ignore[no-untyped-def]
    """What the situation makes of a cost, in ``[1, multiplier_cap]``; the four arguments are flags."""
    factor = 1.0
    if first_use:
        factor *= rules.first_use
    if errors:
        factor *= rules.error_rate
    if late_social:
        factor *= rules.late_social
    if similar:
        factor *= rules.similar
    return max(1.0, min(factor, rules.multiplier_cap))


@inlined
def effective_cost(base, factor):  # type: ignore[no-untyped-def]
    """A base cost in thousandths times a multiplier, to the nearest thousandth (halves up)."""
    return int(math.floor(base * factor + 0.5))


@inlined
def payable(cost, base, cap):  # type: ignore[no-untyped-def]
    """An effective cost that can be paid out of a full purse: no situation takes it above the cap.

    What can never be paid could never be used again, nor argued about.
    """
    return min(cost, max(base, cap))


@inlined
def regenerate(energy, income, cap):  # type: ignore[no-untyped-def]
    """Energy after a heartbeat's income, and what the cap lost of it, thousandths."""
    lost = max(0, energy + income - cap)
    return energy + income - lost, lost


@inlined
def hour_of(start_hour, heartbeat):  # type: ignore[no-untyped-def]
    """Hour of the day, 0 to 23."""
    return (start_hour + heartbeat) % 24


@inlined
def within_hours(hour, begins, ends):  # type: ignore[no-untyped-def]
    """Whether ``hour`` lies in ``begins`` (inclusive) to ``ends`` (exclusive), over midnight where it must."""
    if begins <= ends:
        return begins <= hour < ends
    return hour >= begins or hour < ends


@inlined
def failed_uses(record):  # type: ignore[no-untyped-def]
    """How many of the last four uses failed; ``record`` has a bit a use, the latest lowest."""
    failed = 0
    for use in range(REMEMBERED_USES):
        failed += (record >> use) & 1
    return failed


@inlined
def error_prone(record):  # type: ignore[no-untyped-def]
    """Whether half or more of the last four uses failed."""
    return failed_uses(record) >= MANY_FAILURES


@inlined
def remember_use(record, failed):  # type: ignore[no-untyped-def]
    """The record with one more use in it."""
    return ((record << 1) | (1 if failed else 0)) & ((1 << REMEMBERED_USES) - 1)
