"""The rules of filing a proposal, and the price that an approval sets.

Mechanism (source: *Action Cost: The Energy Model*, "Review Process"). Only an approval changes a price:

    new cost in [max(suggested_min, floor), min(suggested_max, ceiling)], lower for a decrease, higher for an increase.

Known approximation: the source's revision is a withdrawal and a new proposal, so the approved text is the text that the
reviewer read.
"""

from __future__ import annotations

import math
from typing import Any

from solvent.energy.costs.lifecycle import Direction, ProposalError
from solvent.energy.costs.models import EnergyCost, EnergyCostProposal

__all__ = ["approved_cost", "check_proposal"]


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


def approved_cost(proposal: EnergyCostProposal, price: EnergyCost, asked: float | None = None) -> float:
    """Return the cost that an approval sets: ``asked``, or the end of the allowed range nearest to the price.

    Args:
        proposal: the proposal, for its range and direction.
        price: the price in force, with floor and ceiling.
        asked: the cost that the reviewer asked for, energy.

    Raises:
        ProposalError: the range has no allowed cost, or ``asked`` is not allowed.
    """
    low = max(proposal.suggested_min, price.floor)
    high = min(proposal.suggested_max, math.inf if price.ceiling is None else price.ceiling)
    down = proposal.direction == Direction.DECREASE

    def changes(cost: float) -> bool:
        return cost < price.cost if down else cost > price.cost

    if low > high or not changes(low if down else high):
        raise ProposalError(
            f"a price of {price.cost:g} can't {proposal.direction} into {low:g} to {high:g}; "
            "allowed: reject the proposal"
        )
    way = "below" if down else "above"
    if asked is not None:
        if not (low <= asked <= high and changes(asked)):
            raise ProposalError(
                f"cost: got {asked:g}; allowed: {low:g} to {high:g} and {way} the price of {price.cost:g}"
            )
        return float(asked)
    nearest = high if down else low
    if not changes(nearest):
        raise ProposalError(
            f"cost: the range {low:g} to {high:g} reaches the price of {price.cost:g}, so its nearest end changes "
            f"nothing; allowed: name a cost {way} it"
        )
    return nearest
