"""The rules of filing a proposal, and the price that an approval sets.

Mechanism (source: *Action Cost: The Energy Model*, "Proposal Trigger" and "Review Process"). A proposal has evidence
from ``EVIDENCE_HEARTBEATS`` heartbeats. Only an approval changes a price ``c``, once a day, and then to

    new cost in [max(suggested_min, floor, c / 2), min(suggested_max, ceiling, 3 c / 2)],

lower for a decrease, higher for an increase (``STEP_LIMIT`` is one half). Cheap and expensive actions thus have the
same freedom, no number of approvals reaches 0, and what is free stays free. The database enforces the same limits.

Known approximation: the source's revision is a withdrawal and a new proposal, so the approved text is the text that the
reviewer read. The source asks for "rate limits on changes" and gives none.
"""

from __future__ import annotations

import datetime
import math
from typing import Any

from solvent.energy.amounts import plain
from solvent.energy.costs.lifecycle import Direction, ProposalError
from solvent.energy.costs.models import EnergyCost, EnergyCostProposal

__all__ = [
    "CHANGE_EVERY",
    "EVIDENCE_HEARTBEATS",
    "STEP_LIMIT",
    "allowed_costs",
    "approved_cost",
    "check_pace",
    "check_proposal",
    "next_change",
]

STEP_LIMIT = 0.5
"""Maximum change of a price by one approval, as a share of it."""

CHANGE_EVERY = datetime.timedelta(days=1)
"""Time between two approvals for one target."""

EVIDENCE_HEARTBEATS = 2
"""Heartbeats of evidence that a proposal takes."""


def check_proposal(proposal: EnergyCostProposal, price: EnergyCost) -> None:
    """Refuse a proposal without evidence or direction, or with a range beyond floor or ceiling.

    Raises:
        ProposalError: the proposal is refused; the message names the first fault.
    """
    if not proposal.evidence:
        raise ProposalError("evidence: got none; allowed: at least one {source, summary}")
    item: Any  # unvalidated input
    for item in proposal.evidence:
        if set(item) != {"source", "summary"} or not all(isinstance(text, str) for text in item.values()):
            raise ProposalError(f"evidence: got {dict(item)!r:.80}; allowed: {{source, summary}}, both texts")
    heartbeats = len(set(proposal.heartbeat_refs or ()))
    if heartbeats < EVIDENCE_HEARTBEATS:
        raise ProposalError(
            f"heartbeat_refs: got {heartbeats} heartbeats; allowed: evidence from at least {EVIDENCE_HEARTBEATS}"
        )
    if proposal.direction not in set(Direction):
        raise ProposalError(f"direction: got {proposal.direction!r}; allowed: {', '.join(Direction)}")
    if proposal.suggested_min < price.floor:
        raise ProposalError(
            f"suggested_min: got {proposal.suggested_min:g}; allowed: at least the floor {price.floor:g}"
        )
    if price.ceiling is not None and proposal.suggested_max > price.ceiling:
        raise ProposalError(
            f"suggested_max: got {proposal.suggested_max:g}; allowed: at most the ceiling {price.ceiling:g}"
        )


def next_change(price: EnergyCost) -> datetime.datetime | None:
    """Return the time from which an approval may change a price again; None if no approval has changed it."""
    return None if price.revision == 0 else price.effective_at + CHANGE_EVERY


def check_pace(price: EnergyCost, moment: datetime.datetime) -> None:
    """Refuse an approval too soon after the one before it.

    Raises:
        ProposalError: the price in force was approved less than ``CHANGE_EVERY`` ago.
    """
    again = next_change(price)
    if again is not None and moment < again:
        raise ProposalError(
            f"cost: {price.target_name!r} changed at {price.effective_at:%Y-%m-%d %H:%M:%S} UTC; allowed: one change "
            f"a day, the next from {again:%Y-%m-%d %H:%M:%S} UTC"
        )


def allowed_costs(proposal: EnergyCostProposal, price: EnergyCost) -> tuple[float, float] | None:
    """Return the lowest and the highest cost that an approval may set now; None if there is none.

    The end nearest to the price may be the price itself, which is no change.
    """
    step = STEP_LIMIT * price.cost
    ceiling = math.inf if price.ceiling is None else price.ceiling
    low = max(proposal.suggested_min, price.floor, price.cost - step)
    high = min(proposal.suggested_max, ceiling, price.cost + step)
    if proposal.direction == Direction.DECREASE:
        high = min(high, price.cost)
        return (low, high) if low <= high and low < price.cost else None
    low = max(low, price.cost)
    return (low, high) if low <= high and high > price.cost else None


def approved_cost(proposal: EnergyCostProposal, price: EnergyCost, asked: float | None = None) -> float:
    """Return the cost that an approval sets: ``asked``, or the end of the allowed range nearest to the price.

    Args:
        proposal: the proposal, for its range and direction.
        price: the price in force, with floor and ceiling.
        asked: the cost that the reviewer asked for, energy.

    Raises:
        ProposalError: the range has no allowed cost, or ``asked`` is not allowed.
    """
    down = proposal.direction == Direction.DECREASE
    way = "below" if down else "above"
    allowed = allowed_costs(proposal, price)
    if allowed is None:
        raise ProposalError(
            f"a price of {price.cost:g} can't {proposal.direction} into {proposal.suggested_min:g} to "
            f"{proposal.suggested_max:g}, by at most {plain(STEP_LIMIT * price.cost)} at once; "
            "allowed: reject the proposal"
        )
    low, high = allowed
    if asked is not None:
        if not low <= asked <= high or asked == price.cost:
            raise ProposalError(
                f"cost: got {asked:g}; allowed: {low:g} to {high:g}, {way} the price of {price.cost:g} and at most "
                f"{plain(STEP_LIMIT * price.cost)} from it"
            )
        return float(asked)
    nearest = high if down else low
    if nearest == price.cost:
        raise ProposalError(
            f"cost: the range {low:g} to {high:g} reaches the price of {price.cost:g}, so its nearest end changes "
            f"nothing; allowed: name a cost {way} it"
        )
    return nearest
