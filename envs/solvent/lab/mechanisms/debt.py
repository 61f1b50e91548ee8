"""Epistemic debt: what an overclaim costs, and what it forbids.

Mechanism (source: *Epistemic Debt Enforcement*). A claim of ``c`` bits that gained ``g`` bits adds
``max(0, c - g)`` to the debt; accurate claims and underclaims never subtract. Debt ``d`` multiplies every cost:

    linear     1 + s * d
    two_tier   (1 + 0.02 d) * (1 + s * base / 100 * d)

and above the threshold refuses everything that is not calibration. A calibration that taught ``b`` bits about
the instrument repays ``min(repay_max, repay_base + min(repay_learnt_max, repay_per_bit * max(0, b)))``.

Claims buy licence: of a gain, what was claimed and lies below the lowest entropy reached so far is credited
to the compound. For studies ``licence: gained`` credits it whatever was claimed, and ``licence: waived`` licenses every
finding from the start.

Departures from the document (``params.PRESETS["source"]`` undoes them): a calibration's multiplier is capped,
and the cost of the cheapest calibration is kept in reserve.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from solvent.lab.compiled import inlined

__all__ = [
    "ACTION_BLOCKED",
    "BUDGET_EXCEEDED",
    "NOT_REFUSED",
    "RESERVE",
    "DebtRules",
    "decide",
    "is_bankrupt",
    "licence_credit",
    "multiplier",
    "overclaim",
    "repayment",
    "wells_charged",
]

NOT_REFUSED = 0
ACTION_BLOCKED = 1
BUDGET_EXCEEDED = 2
RESERVE = 3

_SMALL_TIER = 0.02
_WHOLE = 1e-9  # 100 wells at 1.60 bits cost 124, not 125: binary fractions must not round a whole number up


class DebtRules(NamedTuple):
    """The numbers of the debt rules as the compiled functions take them (see ``params.DebtParams`` for units)."""

    enforced: bool
    sensitivity: float
    threshold: float
    two_tier: bool
    calibration_cap: float
    reserve: bool
    repay_base: float
    repay_per_bit: float
    repay_learnt_max: float
    repay_max: float
    decay_per_heartbeat: float
    repay_for_accuracy: float
    carry_debt: bool
    reset_bankrupt: bool
    bankruptcy_after_refusals: int
    cheapest_calibration: int
    claims_license: bool
    licence_at_start: float


@inlined
def overclaim(claim, gain):  # type: ignore[no-untyped-def]
    """Debt of a claim, bits: what was claimed and not gained."""
    return max(0.0, claim - gain)


@inlined
def licence_credit(rules, claim, lowest_entropy, entropy):  # type: ignore[no-untyped-def]
    """Licence bought, bits: progress below ``lowest_entropy``, up to the claim where licence is bought by claims.

    Noise that is undone and redone buys nothing.
    """
    progress = lowest_entropy - entropy
    return max(0.0, min(claim, progress) if rules.claims_license else progress)


@inlined
def multiplier(rules, debt, base_wells, is_calibration):  # type: ignore[no-untyped-def]
    """Cost multiplier, at least 1, of an action of ``base_wells`` wells at ``debt`` bits."""
    if not rules.enforced:
        return 1.0
    if rules.two_tier:
        factor = (1.0 + _SMALL_TIER * debt) * (1.0 + rules.sensitivity * base_wells / 100.0 * debt)
    else:
        factor = 1.0 + rules.sensitivity * debt
    if is_calibration:
        factor = min(factor, rules.calibration_cap)
    return factor


@inlined
def wells_charged(inflated_cost):  # type: ignore[no-untyped-def]
    """Whole wells for an inflated cost: rounded up."""
    return int(math.ceil(inflated_cost - _WHOLE))


@inlined
def decide(rules, debt, base_wells, wells_left, is_calibration):  # type: ignore[no-untyped-def]
    """Refuse or allow, before anything runs.

    Returns ``(reason, inflated_cost, blocked_by_threshold, blocked_by_cost, blocked_by_reserve)``. The first
    reason that holds counts; all flags are returned. ``base_wells`` is 0 for an action that uses none
    (publishing), and such an action is never blocked by cost.
    """
    inflated = base_wells * multiplier(rules, debt, base_wells, is_calibration)
    cost = wells_charged(inflated)
    by_threshold = rules.enforced and debt > rules.threshold and not is_calibration
    by_cost = cost > wells_left
    by_reserve = False
    if rules.enforced and rules.reserve and base_wells > 0 and not is_calibration:
        recovery = rules.cheapest_calibration * multiplier(rules, debt, rules.cheapest_calibration, True)
        by_reserve = wells_left - cost < wells_charged(recovery)
    reason = NOT_REFUSED
    if by_threshold:
        reason = ACTION_BLOCKED
    elif by_cost:
        reason = BUDGET_EXCEEDED
    elif by_reserve:
        reason = RESERVE
    return reason, inflated, by_threshold, by_cost, by_reserve


@inlined
def repayment(rules, bits_learnt):  # type: ignore[no-untyped-def]
    """Bits that a calibration repays which taught ``bits_learnt`` about the instrument."""
    learnt = min(rules.repay_learnt_max, rules.repay_per_bit * max(0.0, bits_learnt))
    return min(rules.repay_max, rules.repay_base + learnt)


@inlined
def is_bankrupt(rules, debt, wells_left, refusals_in_a_row):  # type: ignore[no-untyped-def]
    """Debt above the threshold and no calibration affordable; or, where asked for, too many refusals in a row."""
    if not rules.enforced:
        return False
    if 0 < rules.bankruptcy_after_refusals <= refusals_in_a_row:
        return True
    cheapest = rules.cheapest_calibration * multiplier(rules, debt, rules.cheapest_calibration, True)
    return debt > rules.threshold and wells_charged(cheapest) > wells_left
