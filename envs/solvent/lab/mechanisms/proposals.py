"""Proposals: how an agent that finds a cost wrong is heard, and why it can't set a cost itself.

Mechanism (source: *Action Cost: The Energy Model*, "Cost Change Proposals"). A proposal is an argument, not an
instruction: it names a *range* below the current price ``c``,

    [max(floor, share_low * c), max(floor, share_high * c)],     confidence n / (n + 2)

with ``n`` the heartbeats in which the action was deferred for want of energy. Some heartbeats later a reviewer, who
knows what the action's consequences were worth each time it was paid for, forms an estimate of the fair cost by
credibility (Buehlmann 1967): ``w = e / (e + half)`` of what uses showed, the rest of what the price is. Both what was
paid for and what was deferred count as experience, neither without the other:

    e = paid * n / (n + 2),     estimate = c + w (fair - c).

So deferrals alone, with nothing paid, leave the estimate at the price. The proposal is approved if the estimate is not
above its range; the new price is the point of the range nearest the estimate, moved by at most ``step_limit`` and never
under the floor. Prices change in no other way.

Known approximation: the reviewer sees the fair cost without noise; what it lacks is only trust in little experience. A
``step_limit`` that is shorter than the way to the range wins over the range.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from solvent.lab.compiled import inlined

__all__ = ["ProposalRules", "confidence", "estimate", "reviewed_price", "suggested_range"]


class ProposalRules(NamedTuple):
    """The rules of proposals as the compiled functions take them (see ``params.ProposalParams`` for units)."""

    enabled: bool
    evidence_heartbeats: int
    review_heartbeats: int
    share_low: float
    share_high: float
    step_limit: int
    half: float
    gain_floor: float
    mispriced_least: int
    mispriced_most: int
    factor_low: float
    factor_high: float
    upwards: float
    fair_spread: float


@inlined
def suggested_range(rules, price, floor):  # type: ignore[no-untyped-def]
    """Lowest and highest suggested price, in thousandths of energy as ``price`` and ``floor`` are."""
    low = max(floor, int(math.floor(rules.share_low * price + 0.5)))
    high = max(floor, int(math.floor(rules.share_high * price + 0.5)))
    return low, high


@inlined
def confidence(heartbeats):  # type: ignore[no-untyped-def]
    """Confidence of a proposal, in [0, 1), by the heartbeats of its evidence."""
    return heartbeats / (heartbeats + 2.0)


@inlined
def estimate(price, fair, paid, heartbeats, half):  # type: ignore[no-untyped-def]
    """The reviewer's estimate of the fair cost, after ``paid`` uses and deferrals in so many ``heartbeats``.

    Experience of ``half`` would be trusted by half.
    """
    experience = paid * confidence(heartbeats)
    return price + (fair - price) * (experience / (experience + half))


@inlined
def reviewed_price(rules, price, low, high, fair, paid, heartbeats, floor):  # type: ignore[no-untyped-def]
    """The price after review: lower if the estimate supports the range ``low..high``, else as it was."""
    guess = estimate(price, fair, paid, heartbeats, rules.half)
    if guess > high or high >= price:
        return price
    nearest = max(low, int(math.floor(guess + 0.5)))
    return max(floor, nearest, price - rules.step_limit)
