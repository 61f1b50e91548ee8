"""Epistemic debt: the penalty for overclaims.

Mechanism (source: *Epistemic Debt Enforcement*). A claim of ``c`` bits that gains ``g`` bits adds ``max(0, c - g)``
to the debt; accurate claims and underclaims never reduce it. Debt ``d`` multiplies every cost in wells by

    linear     1 + s * d
    two_tier   (1 + 0.02 d) * (1 + s * base / 100 * d)

Above the threshold, actions are refused, except calibrations and the verbs that ``verbs.py`` marks as exempt: they use
no wells and assert nothing. A calibration repays ``repay_per_well`` bits for each of its wells.

Claims earn licence: the part of a gain that was claimed and lies below the compound's lowest entropy so far is
credited to it. Information that is lost and regained earns nothing.

As a heartbeat closes, debt ``d`` below ``interest_cap`` grows by ``min(interest * d, interest_cap - d)``, the
document's "compounding effect". The cap keeps an agent that explores at random from drowning.

Departures from the source document, undone by the preset ``document``: debt bears interest, at a rate that the document
doesn't give; findings can owe; debt is taken off the return; the episode ends with bankruptcy.
"""

from __future__ import annotations

import math
from typing import Any, Literal, Self, get_args

import numpy as np
from pydantic import model_validator

from solvent.lab.codes import REFUSAL_REASONS, Event, Refusal
from solvent.lab.mechanism import Field, Info, Mechanism, columns, derived, detail, split
from solvent.lab.settings import ParamGroup, numbers, setting
from solvent.lab.verbs import CALIBRATIONS

Inflation = Literal["linear", "two_tier"]
INFLATIONS = get_args(Inflation)
TWO_TIER = INFLATIONS.index("two_tier")


class DebtParams(ParamGroup):
    """Epistemic debt: inflation, refusal, repayment and interest."""

    enforced: bool = setting(True, "switch", "off: debt is tracked but has no effect", source="document")
    sensitivity: float = setting(
        0.15, "1/bit", "cost inflation per bit of debt", ge=0.0, le=100.0, source="document"
    )
    threshold: float = setting(
        2.0, "bits", "above it, only calibrations run", ge=0.0, le=1000.0, source="document"
    )
    inflation: Inflation = setting("linear", "rule", "inflation rule", source="document")
    repay_per_well: float = setting(
        0.03, "bits/well", "debt repaid per well of a calibration", ge=0.0, le=100.0
    )
    interest: float = setting(0.15, "1/heartbeat", "share by which debt grows per heartbeat", ge=0.0, le=1.0)
    interest_cap: float | None = setting(
        lambda values: max(4.0, values["threshold"]),
        "bits",
        "debt that interest doesn't raise further; if it isn't given, 4 or the threshold if that is higher",
        ge=0.0,
        le=1000.0,
    )
    of_findings: bool = setting(True, "switch", "what a finding asserts beyond its licence becomes debt")
    bankruptcy: bool = setting(
        True, "switch", "the episode ends where debt blocks and no calibration is affordable"
    )
    scored: bool = setting(True, "switch", "debt is taken off the return")

    @model_validator(mode="after")
    def _agree(self) -> Self:
        capped = self.interest_cap is not None and self.interest_cap >= self.threshold
        # Uncapped interest outgrows every repayment.
        self.check(
            "interest_cap", capped or self.interest == 0.0, f"at least the threshold {self.threshold:g}"
        )
        return self


def debt_rules(params: Any) -> Any:
    """Return the debt settings of a lab as a record of numbers."""
    return numbers(params.debt)


FIELDS = (
    Field("debt", "f8", "", "bits", "epistemic debt"),
    Field("licence", "f8", "M", "bits", "information claimed and gained", project=True),
    *derived(
        Field("refused", "u1", "V", "Refusal", "reason for which each verb would be refused now"),
        Field("inflated_cost", "f8", "V", "wells", "cost of each verb now, after inflation, not rounded"),
        Field("refusals", "i2", "2", "refusals", "refusals by reason, in the order of Refusal"),
        Field("refusals_by_debt", "i2", "", "refusals", "refusals that would have run at zero debt"),
        Field("refusals_in_a_row", "i2", "", "refusals", "refusals since the last action that ran"),
        Field("debt_added", "f8", "", "bits", "debt taken on"),
        Field("debt_interest", "f8", "", "bits", "debt grown by interest"),
        Field("debt_repaid", "f8", "", "bits", "debt repaid"),
        Field("debt_peak", "f8", "", "bits", "highest debt"),
        Field("claimed", "f8", "", "bits", "sum of claims"),
        Field("gained", "f8", "", "bits", "sum of realised gains of explorations"),
        Field("beats_over_threshold", "i2", "", "heartbeats", "heartbeats that ended with debt above the threshold"),
        Field("streak_over_threshold", "i2", "", "heartbeats", "current run of such heartbeats"),
        Field("longest_streak", "i2", "", "heartbeats", "longest run of such heartbeats"),
    ),
)  # fmt: skip

STEP_FIELDS = (
    Field("refusal", "u1", "", "Refusal", "reason for the refusal"),
    Field("blocked_by_threshold", "b1", "", "flag", "debt above the threshold, and the verb not exempt"),
    Field("blocked_by_cost", "b1", "", "flag", "inflated cost above the wells left"),
    Field("caused_by_debt", "b1", "", "flag", "the refused action would have run at zero debt"),
    Field("debt_before", "f8", "", "bits", "debt before the action"),
    Field("inflated_cost", "f8", "", "wells", "cost after inflation, not rounded"),
    Field("claim", "f8", "", "bits", "bits claimed by an experiment or a finding"),
    Field("debt_added", "f8", "", "bits", "new debt"),
    Field("debt_interest", "f8", "", "bits", "interest on the debt"),
    Field("debt_repaid", "f8", "", "bits", "debt repaid by the action"),
    Field("licence_added", "f8", "", "bits", "licence earned"),
)

# -- rules -------------------------------------------------------------------------------------

NOT_REFUSED = int(Refusal.NONE)
ACTION_BLOCKED = int(Refusal.EPISTEMIC_DEBT_ACTION_BLOCKED)
BUDGET_EXCEEDED = int(Refusal.EPISTEMIC_DEBT_BUDGET_EXCEEDED)

_SMALL_TIER = 0.02
_TOLERANCE = 1e-9  # for rounding errors: 100 wells at 1.60 bits cost 124, not 125
_MOST_WELLS = 2.0**30  # more than any lab has, and few enough to count with


def overclaim(claim, gain):
    """Return the debt of a claim, ``max(0, claim - gain)``, in bits."""
    return max(0.0, claim - gain)


def licence_credit(claim, lowest_entropy, entropy):
    """Return the licence earned, bits: the claimed part of the fall of the entropy below ``lowest_entropy``."""
    return max(0.0, min(claim, lowest_entropy - entropy))


def interest(rules, debt):
    """Return the interest on ``debt`` for one heartbeat, bits; debt above the cap bears none."""
    if not rules.enforced:
        return 0.0
    return max(0.0, min(rules.interest * debt, rules.interest_cap - debt))


def multiplier(rules, debt, base_wells):
    """Return the cost multiplier, at least 1, of an action of ``base_wells`` wells at ``debt`` bits."""
    if not rules.enforced:
        return 1.0
    if rules.inflation == TWO_TIER:
        return (1.0 + _SMALL_TIER * debt) * (1.0 + rules.sensitivity * base_wells / 100.0 * debt)
    return 1.0 + rules.sensitivity * debt


def wells_charged(inflated_cost):
    """Return an inflated cost rounded up to whole wells."""
    return int(math.ceil(min(inflated_cost, _MOST_WELLS) - _TOLERANCE))


def should_refuse(rules, debt, base_wells, wells_left, exempt):
    """Decide whether debt or wells refuse an action.

    ``base_wells`` is 0 for an action without wells (publishing), which is never blocked by cost. One that is
    ``exempt``, such as a calibration, is never blocked by the threshold. The first reason that applies is reported;
    both flags are returned.

    Returns:
        ``(reason, inflated_cost, blocked_by_threshold, blocked_by_cost)``.
    """
    inflated = base_wells * multiplier(rules, debt, base_wells)
    by_threshold = rules.enforced and debt > rules.threshold and not exempt
    by_cost = wells_charged(inflated) > wells_left
    reason = NOT_REFUSED
    if by_threshold:
        reason = ACTION_BLOCKED
    elif by_cost:
        reason = BUDGET_EXCEEDED
    return reason, inflated, by_threshold, by_cost


def repayment(rules, base_wells):
    """Return the debt repaid by a calibration of ``base_wells`` wells, bits."""
    return rules.repay_per_well * base_wells


# -- effects -----------------------------------------------------------------------------------

REFUSED = int(Event.REFUSED)
_CALIBRATIONS = np.array(CALIBRATIONS)


def decide_refusal(lab, verb, tables):
    """Write whether debt or wells refuse the verb now, and its cost in wells."""
    reason, inflated, _, _ = should_refuse(
        tables.debt, lab.debt, tables.wells[verb], lab.wells, tables.exempt[verb]
    )
    lab.refused[verb] = reason
    lab.inflated_cost[verb] = inflated


def refuse(lab, verb, tables, step):
    """Record a refusal. It costs only the rest of the heartbeat."""
    _, _, by_threshold, by_cost = should_refuse(
        tables.debt, lab.debt, tables.wells[verb], lab.wells, tables.exempt[verb]
    )
    step.event = REFUSED
    step.blocked_by_threshold = by_threshold
    step.blocked_by_cost = by_cost
    lab.refusals[step.refusal - 1] += 1
    lab.refusals_by_debt += step.caused_by_debt
    lab.refusals_in_a_row += 1


def add_debt(lab, bits, step):
    """Add ``bits`` to the debt."""
    step.debt_added = bits
    lab.debt += bits
    lab.debt_added += bits
    lab.debt_peak = max(lab.debt_peak, lab.debt)


def repay_debt(lab, bits, step):
    """Repay up to ``bits`` of the debt."""
    paid = min(lab.debt, bits)
    step.debt_repaid = paid
    lab.debt -= paid
    lab.debt_repaid += paid


def resolve_claim(lab, compound, lowest, step):
    """Compare the step's claim with its gain: overclaimed bits become debt, claimed gains licence.

    ``lowest`` is the compound's lowest entropy before the plate.
    """
    add_debt(lab, overclaim(step.claim, step.gain), step)
    step.licence_added = licence_credit(step.claim, lowest, lab.entropy[compound])
    lab.licence[compound] += step.licence_added
    lab.claimed += step.claim
    lab.gained += step.gain


def close_debt(lab, tables, step):
    """Add the interest at the end of a heartbeat and count heartbeats above the threshold."""
    step.debt_interest = interest(tables.debt, lab.debt)
    lab.debt += step.debt_interest
    lab.debt_interest += step.debt_interest
    lab.debt_peak = max(lab.debt_peak, lab.debt)
    if lab.debt > tables.debt.threshold:
        lab.beats_over_threshold += 1
        lab.streak_over_threshold += 1
        lab.longest_streak = max(lab.longest_streak, lab.streak_over_threshold)
    else:
        lab.streak_over_threshold = 0


def is_bankrupt(lab, tables):
    """Return whether debt is above the threshold and no calibration is affordable."""
    rules = tables.debt
    if not (rules.enforced and rules.bankruptcy) or lab.debt <= rules.threshold:
        return False
    for verb in _CALIBRATIONS:
        if lab.refused[verb] == NOT_REFUSED:
            return False
    return True


def change(lab, tables, step):
    """Return the change of the debt in this step, bits, which its reward loses; 0 if debt doesn't count."""
    counts = tables.debt.enforced and tables.debt.scored
    return lab.debt - step.debt_before if counts else 0.0


BITS, COUNT = 2.0, 4.0
"""Scales of bits and counts: an unbounded ``x`` is shown as ``x / (x + scale)``."""


def observed(params: Any) -> tuple[str, ...]:
    """Return the names of what ``observe`` writes."""
    licences = [f"{name}/licence" for name in params.assay.compounds]
    return ("debt", "debt_margin", "cost_inflation", "refusals_in_a_row", *licences)


def observe(lab, tables, out, at):
    """Write debt, its distance to the threshold, inflation of a large plate, refusals and licences."""
    out[at] = lab.debt / (lab.debt + BITS)
    out[at + 1] = max(-1.0, min(1.0, (tables.debt.threshold - lab.debt) / BITS))
    out[at + 2] = 1.0 - 1.0 / multiplier(tables.debt, lab.debt, 100)
    out[at + 3] = lab.refusals_in_a_row / (lab.refusals_in_a_row + COUNT)
    at += 4
    for m in range(lab.licence.shape[0]):
        out[at + m] = lab.licence[m] / (lab.licence[m] + BITS)
    return at + lab.licence.shape[0]


_REASONS = np.array(("", *REFUSAL_REASONS), dtype=object)

MECHANISM = Mechanism(
    name="debt",
    rules=debt_rules,
    fields=FIELDS,
    step_fields=STEP_FIELDS,
    observed=observed,
    info=lambda _: (
        Info("cost", "debt_added"),
        Info("cost_debt", "debt_added"),
        Info("cost_refusal", "refusal", lambda refusal: (refusal != NOT_REFUSED) * 1.0),
        Info("refusal", "refusal", _REASONS.__getitem__),
        Info("caused_by_debt", "caused_by_debt"),
        *map(detail, ("claim", "licence_added", "debt_interest", "debt_repaid")),
    ),
    columns=(
        split("refusals", "refusals", REFUSAL_REASONS),
        *columns(FIELDS, "refusals_by_debt"),
        *columns(FIELDS, "debt", "debt_added", "debt_interest", "debt_repaid", "debt_peak"),
        *columns(FIELDS, "claimed", "gained", "beats_over_threshold", "longest_streak"),
    ),
)
