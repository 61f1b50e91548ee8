"""The life of a proposal, as a state machine, and which price an approval sets.

Mechanism (source: *Action Cost: The Energy Model*, "Review Process"): a proposal is filed as pending and leaves that
state once, to approved, rejected or withdrawn. Nothing leads out of those three. Only an approval changes a price:

    new cost in [max(suggested_min, floor), min(suggested_max, ceiling)], lower for a decrease, higher for an increase.

This file is the machine in Python, for clear messages; the triggers of ``migrations/`` hold the same rules inside of
the database. Known approximation: a revision (the source allows one) is a withdrawal and a new proposal, so that what a
reviewer has read is what is approved.
"""

from __future__ import annotations

import enum
import math

__all__ = [
    "COST_LIMIT",
    "FINAL",
    "TRANSITIONS",
    "Direction",
    "ProposalError",
    "Reviewer",
    "Status",
    "StoreError",
    "approved_cost",
    "floor_of_category",
]

COST_LIMIT = 1e6
"""Highest cost that the store takes, energy; far above any lab. It keeps out infinity and what is not a number."""


class StoreError(ValueError):
    """The store can't be used, or what was asked of it. The message is one line: what, where, what is allowed."""


class ProposalError(StoreError):
    """A proposal that can't be filed, found or reviewed as asked."""


class Status(enum.StrEnum):
    """Where a proposal is in its life."""

    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    WITHDRAWN = "withdrawn"


class Reviewer(enum.StrEnum):
    """Who ended a proposal's life: a person, a rule of the system, or nobody in time."""

    USER = "user"
    SYSTEM = "system"
    TIMEOUT = "timeout"


class Direction(enum.StrEnum):
    """Which way a proposal asks the cost to go."""

    INCREASE = "increase"
    DECREASE = "decrease"


FINAL = frozenset({Status.APPROVED, Status.REJECTED, Status.WITHDRAWN})
TRANSITIONS = {Status.PENDING: FINAL, **{status: frozenset[Status]() for status in FINAL}}
"""From each status, those that it can turn into."""

_FLOORS = {"send_public": 6.0, "delete": 5.0, "send_private": 3.0}


def floor_of_category(category: str | None) -> float:
    """Least floor, energy, that a category of action may have: public 6, destructive 5, private 3, others 0."""
    return _FLOORS.get(category or "", 0.0)


def approved_cost(
    price: float,
    suggested_min: float,
    suggested_max: float,
    direction: str,
    *,
    floor: float = 0.0,
    ceiling: float | None = None,
    asked: float | None = None,
) -> float:
    """The price that an approval sets, energy: ``asked``, or the allowed end of the range nearest to ``price``.

    Args:
        price: the price now.
        suggested_min: lower end of the proposal's range.
        suggested_max: upper end of the proposal's range.
        direction: ``increase`` or ``decrease``, from the price now.
        floor: least price of the target.
        ceiling: highest price of the target; None for no ceiling.
        asked: what the reviewer named, if anything.

    Raises:
        ProposalError: nothing in the range is allowed, or ``asked`` is not.
    """
    low = max(suggested_min, floor)
    high = min(suggested_max, math.inf if ceiling is None else ceiling)
    down = direction == Direction.DECREASE
    # Strictly: an approval that leaves the price where it is would be a change that is none.
    reachable = low < price if down else high > price
    if low > high or not reachable:
        raise ProposalError(
            f"a price of {price:g} can't {direction} into {low:g} to {high:g}; allowed: reject the proposal"
        )
    way = "below" if down else "above"
    if asked is not None:
        if not (low <= asked <= high and (asked < price if down else asked > price)):
            raise ProposalError(
                f"cost: got {asked:g}; allowed: {low:g} to {high:g} and {way} the price of {price:g}"
            )
        return float(asked)
    nearest = high if down else low
    if not (nearest < price if down else nearest > price):
        raise ProposalError(
            f"cost: the range {low:g} to {high:g} reaches the price of {price:g}, so its nearest end changes nothing; "
            f"allowed: name a cost {way} it"
        )
    return nearest
