"""Epistemic debt: the penalty for overclaims.

Mechanism (source: *Epistemic Debt Enforcement*). A claim of ``c`` bits that gains ``g`` bits adds ``max(0, c - g)``
to the debt; accurate claims and underclaims never reduce it. Debt ``d`` multiplies every cost by

    linear     1 + s * d
    two_tier   (1 + 0.02 d) * (1 + s * base / 100 * d)

Above the threshold, actions that use wells or publish are refused, except calibration. A calibration that gains
``b`` bits about the instrument repays ``min(repay_max, repay_base + min(repay_learnt_max, repay_per_bit * max(0,
b)))``.

Claims earn licence: the part of a gain that was claimed and lies below the compound's lowest entropy so far is
credited to it. For studies, ``licence: gained`` credits all gains regardless of claims, and ``licence: waived``
licenses every finding from the start.

As a heartbeat closes, debt ``d`` below ``interest_cap`` grows by ``min(interest * d, interest_cap - d)``, the
document's "compounding effect". The cap keeps an agent that explores at random from drowning.

Until the reagent lot has been calibrated, a gain earns only the share ``uncalibrated_licence`` of its licence. The rest
is lost, since licence counts only below the lowest entropy.

Departures from the source document, undone by the preset ``source``: a calibration's multiplier is capped, the cost of
the cheapest calibration is kept in reserve, debt bears interest at a rate that the document doesn't give, and an
uncalibrated lot earns less licence.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from solvent.lab.codes import REFUSAL_REASONS, Event, Refusal
from solvent.lab.compiled import compiled, inlined
from solvent.lab.mechanism import (
    Column,
    Field,
    Info,
    Log,
    LogEvent,
    Mechanism,
    count,
    number,
    split,
)
from solvent.lab.mechanisms.assay import charge
from solvent.lab.names import Names, design_id
from solvent.lab.settings import ParamError, ParamGroup, numbers, setting
from solvent.lab.verbs import SPEAKING, VERBS, Verb

# -- settings ----------------------------------------------------------------------------------

INFLATIONS = ("linear", "two_tier")
LICENCES = ("claimed", "gained", "waived")
BANKRUPTCIES = ("terminate", "reset")
TWO_TIER, CLAIMED, RESET = (
    INFLATIONS.index("two_tier"),
    LICENCES.index("claimed"),
    BANKRUPTCIES.index("reset"),
)
WAIVED = 64.0
"""Initial licence if it is waived, bits; no finding can assert more."""


@dataclasses.dataclass(frozen=True)
class DebtParams(ParamGroup):
    """Epistemic debt: inflation, refusal, repayment and bankruptcy."""

    enforced: bool = setting(
        True, unit="switch", source="document", doc="off: debt is tracked but has no effect"
    )
    sensitivity: float = setting(
        0.15, unit="1/bit", low=0.0, high=100.0, source="document", doc="cost inflation per bit of debt"
    )
    threshold: float = setting(
        2.0, unit="bits", low=0.0, high=1000.0, source="document", doc="above it, only calibration runs"
    )
    inflation: str = setting(
        "linear", unit="rule", choices=INFLATIONS, source="document", doc="inflation rule"
    )
    calibration_cap: float | None = setting(
        1.5, unit="1", low=1.0, high=1000.0, doc="maximum multiplier of a calibration; empty: none"
    )
    reserve: bool = setting(True, unit="switch", doc="keep the cost of the cheapest calibration in reserve")
    repay_base: float = setting(0.4, unit="bits", low=0.0, high=100.0, doc="debt repaid by any calibration")
    repay_per_bit: float = setting(
        0.75, unit="bit/bit", low=0.0, high=100.0, doc="debt repaid per bit gained about the instrument"
    )
    repay_learnt_max: float = setting(
        0.75, unit="bits", low=0.0, high=100.0, doc="maximum repayment for bits gained"
    )
    repay_max: float = setting(1.0, unit="bits", low=0.0, high=100.0, doc="maximum repayment")
    licence: str = setting(
        "claimed",
        unit="rule",
        choices=LICENCES,
        doc="gains that license a finding: claimed ones, all, or none needed",
    )
    decay_per_heartbeat: float = setting(
        0.0, unit="1/heartbeat", low=0.0, high=1.0, source="document", doc="share forgiven per heartbeat"
    )
    repay_for_accuracy: float = setting(
        0.0, unit="bit/bit", low=0.0, high=1.0, doc="debt repaid per bit of an accurate claim"
    )
    interest: float = setting(
        0.15, unit="1/heartbeat", low=0.0, high=1.0, doc="share by which debt grows per heartbeat"
    )
    interest_cap: float | None = setting(
        4.0, unit="bits", low=0.0, high=1000.0, doc="debt that interest doesn't raise further"
    )
    uncalibrated_licence: float = setting(
        0.5, unit="1", low=0.0, high=1.0, doc="share of licence earned before the lot's first calibration"
    )
    carry_debt: bool = setting(
        False, unit="switch", source="document", doc="carry unsettled debt into the next episode"
    )
    bankruptcy: str = setting(
        "terminate",
        unit="rule",
        choices=BANKRUPTCIES,
        doc="effect of bankruptcy: end the episode, or settle the debt from the score and continue",
    )
    bankruptcy_after_refusals: int = setting(
        0, unit="refusals", low=0, high=32_767, doc="refusals in a row that cause bankruptcy; 0: never"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.interest > 0.0 and (self.interest_cap is None or self.interest_cap < self.threshold):
            raise ParamError(
                "interest_cap",
                f"got {self.interest_cap!r}; allowed: at least the threshold {self.threshold:g}, and not empty: "
                "uncapped interest outgrows every repayment",
            )


def debt_rules(params: Any) -> Any:
    """Return the debt settings of a lab as a record of numbers."""
    return numbers(params.debt, cheapest_calibration=min(plate.wells for plate in params.plates.controls))


# -- record ------------------------------------------------------------------------------------

FIELDS = (
    Field("debt", "f8", "", "bits", "epistemic debt"),
    Field(
        "licence", "f8", "M", "bits", "information claimed and gained",
        lambda params: WAIVED if params.debt.licence == "waived" else 0.0,
    ),
    Field("refusals", "i2", "3", "refusals", "refusals by reason, in the order of Refusal"),
    Field("refusals_in_a_row", "i2", "", "refusals", "refusals since the last action that ran"),
    Field("settled", "f8", "", "bits", "debt settled from the score"),
    Field("settled_at_end", "f8", "", "bits", "debt settled at the end of the episode"),
    Field("debt_added", "f8", "", "bits", "debt taken on"),
    Field("debt_interest", "f8", "", "bits", "debt grown by interest"),
    Field("debt_repaid", "f8", "", "bits", "debt repaid or forgiven"),
    Field("lot_calibrated", "b1", "", "flag", "a calibration has run in the current reagent lot"),
    Field("debt_at_start", "f8", "", "bits", "debt carried over from the previous episode"),
    Field("debt_peak", "f8", "", "bits", "highest debt"),
    Field("claimed", "f8", "", "bits", "sum of claims"),
    Field("gained", "f8", "", "bits", "sum of realised gains of explorations"),
    Field("bankruptcies", "i2", "", "resets", "bankruptcies that were reset"),
    Field("beats_over_threshold", "i2", "", "heartbeats", "heartbeats that ended with debt above the threshold"),
    Field("streak_over_threshold", "i2", "", "heartbeats", "current run of such heartbeats"),
    Field("longest_streak", "i2", "", "heartbeats", "longest run of such heartbeats"),
)  # fmt: skip

STEP_FIELDS = (
    Field("refusal", "u1", "", "Refusal", "reason for the refusal"),
    Field("blocked_by_threshold", "b1", "", "flag", "debt above the threshold, and not a calibration"),
    Field("blocked_by_cost", "b1", "", "flag", "inflated cost above the wells left"),
    Field("blocked_by_reserve", "b1", "", "flag", "too few wells would be left for a calibration"),
    Field("debt_before", "f8", "", "bits", "debt before the action"),
    Field("inflated_cost", "f8", "", "wells", "cost after inflation, not rounded"),
    Field("claim", "f8", "", "bits", "bits claimed by an experiment or a finding"),
    Field("debt_added", "f8", "", "bits", "new debt"),
    Field("debt_interest", "f8", "", "bits", "interest on the debt"),
    Field("debt_repaid", "f8", "", "bits", "debt repaid by the action or forgiven by time"),
    Field("licence_added", "f8", "", "bits", "licence earned"),
    Field("settled", "f8", "", "bits", "debt settled from the score"),
)

# -- rules -------------------------------------------------------------------------------------

NOT_REFUSED = int(Refusal.NONE)
ACTION_BLOCKED = int(Refusal.EPISTEMIC_DEBT_ACTION_BLOCKED)
BUDGET_EXCEEDED = int(Refusal.EPISTEMIC_DEBT_BUDGET_EXCEEDED)
RESERVE = int(Refusal.INSUFFICIENT_BUDGET_FOR_EPISTEMIC_RECOVERY)

_SMALL_TIER = 0.02
_WHOLE = 1e-9  # tolerance for rounding errors: 100 wells at 1.60 bits cost 124, not 125
_MOST_WELLS = 2.0**30  # more than any lab has, and few enough to count with


@inlined
def overclaim(claim, gain):  # type: ignore[no-untyped-def]
    """Return the debt of a claim, ``max(0, claim - gain)``, in bits."""
    return max(0.0, claim - gain)


@inlined
def licence_credit(rules, claim, lowest_entropy, entropy, lot_calibrated):  # type: ignore[no-untyped-def]
    """Return the licence earned, bits: the entropy reduction below ``lowest_entropy``, capped by the claim if required.

    Information that is lost and regained earns nothing. In an uncalibrated lot only a share is earned.
    """
    progress = lowest_entropy - entropy
    credit = max(0.0, min(claim, progress) if rules.licence == CLAIMED else progress)
    return credit if lot_calibrated else credit * rules.uncalibrated_licence


@inlined
def interest(rules, debt):  # type: ignore[no-untyped-def]
    """Return the interest on ``debt`` for one heartbeat, bits; debt above the cap bears none."""
    if not rules.enforced:
        return 0.0
    return max(0.0, min(rules.interest * debt, rules.interest_cap - debt))


@inlined
def multiplier(rules, debt, base_wells, is_calibration):  # type: ignore[no-untyped-def]
    """Return the cost multiplier, at least 1, of an action of ``base_wells`` wells at ``debt`` bits."""
    if not rules.enforced:
        return 1.0
    if rules.inflation == TWO_TIER:
        factor = (1.0 + _SMALL_TIER * debt) * (1.0 + rules.sensitivity * base_wells / 100.0 * debt)
    else:
        factor = 1.0 + rules.sensitivity * debt
    if is_calibration:
        factor = min(factor, rules.calibration_cap)
    return factor


@inlined
def wells_charged(inflated_cost):  # type: ignore[no-untyped-def]
    """Return an inflated cost rounded up to whole wells."""
    return int(math.ceil(min(inflated_cost, _MOST_WELLS) - _WHOLE))


@inlined
def decide(rules, debt, base_wells, wells_left, is_calibration):  # type: ignore[no-untyped-def]
    """Decide whether debt or wells refuse an action.

    ``base_wells`` is 0 for an action without wells (publishing), which is never blocked by cost. The first reason
    that applies is reported; all flags are returned.

    Returns:
        ``(reason, inflated_cost, blocked_by_threshold, blocked_by_cost, blocked_by_reserve)``.
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
    """Return the debt repaid by a calibration that gained ``bits_learnt`` about the instrument."""
    learnt = min(rules.repay_learnt_max, rules.repay_per_bit * max(0.0, bits_learnt))
    return min(rules.repay_max, rules.repay_base + learnt)


@inlined
def is_bankrupt(rules, debt, wells_left, refusals_in_a_row):  # type: ignore[no-untyped-def]
    """Return whether the lab is bankrupt.

    It is if its debt is above the threshold and no calibration is affordable, or after ``bankruptcy_after_refusals``
    refusals in a row, unless that is 0. If debt is not enforced, it never is.
    """
    if not rules.enforced:
        return False
    if 0 < rules.bankruptcy_after_refusals <= refusals_in_a_row:
        return True
    cheapest = rules.cheapest_calibration * multiplier(rules, debt, rules.cheapest_calibration, True)
    return debt > rules.threshold and wells_charged(cheapest) > wells_left


# -- effects -----------------------------------------------------------------------------------

REFUSED = int(Event.REFUSED)
REST, TERMINATE, REFLECT, PROPOSE = int(Verb.REST), int(Verb.TERMINATE), int(Verb.REFLECT), int(Verb.PROPOSE)


@inlined
def is_free(verb):  # type: ignore[no-untyped-def]
    """Return whether the verb is exempt from debt: it uses no wells and asserts nothing."""
    return verb == REST or verb == TERMINATE or verb == REFLECT or verb == PROPOSE


@inlined
def decide_step(lab, verb, tables, step):  # type: ignore[no-untyped-def]
    """Record in ``step`` whether debt refuses the verb, and the reason."""
    reason, inflated, by_threshold, by_cost, by_reserve = decide(
        tables.debt, lab.debt, tables.wells[verb], lab.wells, tables.is_calibration[verb]
    )
    step.refusal = reason
    step.blocked_by_threshold = by_threshold
    step.blocked_by_cost = by_cost
    step.blocked_by_reserve = by_reserve
    step.inflated_cost = inflated


@inlined
def refuse(lab, step):  # type: ignore[no-untyped-def]
    """Record a refusal. It costs only the rest of the heartbeat."""
    step.event = REFUSED
    lab.refusals[step.refusal - 1] += 1
    lab.refusals_in_a_row += 1


@compiled
def charge_inflated(lab, step):  # type: ignore[no-untyped-def]
    """Subtract the inflated cost from the wells."""
    charge(lab, wells_charged(step.inflated_cost), step)


@compiled
def add_debt(lab, bits, step):  # type: ignore[no-untyped-def]
    """Add ``bits`` to the debt."""
    step.debt_added = bits
    lab.debt += bits
    lab.debt_added += bits
    lab.debt_peak = max(lab.debt_peak, lab.debt)


@inlined
def credit_calibration(lab, tables, step):  # type: ignore[no-untyped-def]
    """Repay debt with a calibration that gained ``step.gain`` bits; the lot is calibrated from now on."""
    repay_debt(lab, repayment(tables.debt, step.gain), step)
    lab.lot_calibrated = True


@compiled
def repay_debt(lab, bits, step):  # type: ignore[no-untyped-def]
    """Repay up to ``bits`` of the debt."""
    paid = min(lab.debt, bits)
    step.debt_repaid += paid
    lab.debt -= paid
    lab.debt_repaid += paid


@inlined
def resolve_claim(lab, compound, lowest, tables, step):  # type: ignore[no-untyped-def]
    """Compare the step's claim with its gain: overclaimed bits become debt, claimed gains licence.

    ``lowest`` is the compound's lowest entropy before the plate.
    """
    claim = step.claim
    add_debt(lab, overclaim(claim, step.gain), step)
    if step.debt_added == 0.0:
        repay_debt(lab, tables.debt.repay_for_accuracy * claim, step)
    step.licence_added = licence_credit(tables.debt, claim, lowest, lab.entropy[compound], lab.lot_calibrated)
    lab.licence[compound] += step.licence_added
    lab.claimed += claim
    lab.gained += step.gain


@inlined
def close_debt(lab, tables, step):  # type: ignore[no-untyped-def]
    """Apply decay and interest at the end of a heartbeat and count heartbeats above the threshold."""
    if tables.debt.decay_per_heartbeat > 0.0:
        repay_debt(lab, tables.debt.decay_per_heartbeat * lab.debt, step)
    if tables.debt.interest > 0.0:
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


@compiled
def settle(lab, step):  # type: ignore[no-untyped-def]
    """Settle the whole debt from the score."""
    step.settled += lab.debt
    lab.settled += lab.debt
    lab.debt = 0.0


@inlined
def declare_bankruptcy(lab, tables, step):  # type: ignore[no-untyped-def]
    """Return whether bankruptcy ends the episode; under ``RESET``, settle the debt and continue instead."""
    if not is_bankrupt(tables.debt, lab.debt, lab.wells, lab.refusals_in_a_row):
        return False
    if tables.debt.bankruptcy != RESET:
        return True
    settle(lab, step)
    lab.bankruptcies += 1
    lab.refusals_in_a_row = 0
    return False


@inlined
def settle_at_end(lab, tables, step):  # type: ignore[no-untyped-def]
    """Settle the debt at the end of the episode unless it is carried over or not enforced."""
    if tables.debt.enforced and not tables.debt.carry_debt:
        lab.settled_at_end = lab.debt
        settle(lab, step)


PLATES_LEFT, FINDINGS_LEFT, NOTHING_LEFT = 2, 1, 0


@compiled
def left_to_do(lab, tables):  # type: ignore[no-untyped-def]
    """Return whether plates, only findings, or nothing can still run, given debt and wells.

    If decay or a bankruptcy reset can clear the debt, the debt counts as zero.
    """
    rules = tables.debt
    forgiven = rules.decay_per_heartbeat > 0.0 or (
        rules.bankruptcy == RESET and rules.bankruptcy_after_refusals > 0
    )
    debt = 0.0 if forgiven else lab.debt
    for verb in range(tables.wells.shape[0]):
        if tables.wells[verb] > 0:
            reason, _, _, _, _ = decide(
                rules, debt, tables.wells[verb], lab.wells, tables.is_calibration[verb]
            )
            if reason == NOT_REFUSED:
                return PLATES_LEFT
    reason, _, _, _, _ = decide(rules, debt, 0, lab.wells, False)
    return FINDINGS_LEFT if reason == NOT_REFUSED else NOTHING_LEFT


# -- mask --------------------------------------------------------------------------------------


@inlined
def mask_refused(lab, tables, mask):  # type: ignore[no-untyped-def]
    """Write into ``mask`` the actions that debt and wells allow."""
    for verb in range(tables.wells.shape[0]):
        executes = True
        if not is_free(verb):
            reason, _, _, _, _ = decide(
                tables.debt, lab.debt, tables.wells[verb], lab.wells, tables.is_calibration[verb]
            )
            executes = reason == NOT_REFUSED
        for action in range(tables.first_action[verb], tables.first_action[verb + 1]):
            mask[action] = executes


# -- observation -------------------------------------------------------------------------------

BOOKS = ("debt", "debt_margin", "cost_inflation")
REFUSALS = ("refusals_in_a_row",)
LOT = ("lot_calibrated",)
"""Shown only where it matters: if ``uncalibrated_licence`` is below 1."""
COMPOUND = ("licence",)
BITS, COUNT = 2.0, 4.0
"""Scales of bits and counts: an unbounded ``x`` is shown as ``x / (x + scale)``."""


@inlined
def observe_books(lab, tables, out, at):  # type: ignore[no-untyped-def]
    """Write ``BOOKS`` to ``out[at:]``; return the next index."""
    rules = tables.debt
    out[at] = lab.debt / (lab.debt + BITS)
    out[at + 1] = max(-1.0, min(1.0, (rules.threshold - lab.debt) / BITS))
    out[at + 2] = 1.0 - 1.0 / multiplier(rules, lab.debt, 100, False)
    return at + 3


@inlined
def observe_refusals(lab, out, at):  # type: ignore[no-untyped-def]
    """Write ``REFUSALS`` to ``out[at:]``; return the next index."""
    out[at] = lab.refusals_in_a_row / (lab.refusals_in_a_row + COUNT)
    return at + 1


@inlined
def observe_lot(lab, tables, out, at):  # type: ignore[no-untyped-def]
    """Write ``LOT`` to ``out[at:]`` if it matters; return the next index."""
    if tables.debt.uncalibrated_licence >= 1.0:
        return at
    out[at] = lab.lot_calibrated
    return at + 1


@inlined
def observe_compound(lab, m, out, at):  # type: ignore[no-untyped-def]
    """Write ``COMPOUND`` of one compound to ``out[at:]``; return the next index."""
    out[at] = lab.licence[m] / (lab.licence[m] + BITS)
    return at + 1


# -- what is told ------------------------------------------------------------------------------

_REASONS = np.array((None, *REFUSAL_REASONS), dtype=object)


def info(_: Names) -> tuple[Info, ...]:
    """Report new debt and refusals at every step; claim, licence and repayment with ``detailed_info``."""
    return (
        Info("cost", "debt_added", "action", -1),
        Info("cost_debt", "debt_added", "action", -1),
        Info("cost_refusal", "refusal", "action", -1, lambda refusal: (refusal != NOT_REFUSED) * 1.0),
        Info("refusal", "refusal", "refusal", NOT_REFUSED, _REASONS.__getitem__),
        *(
            Info(name, name, "action", -1, np.float64, True)
            for name in ("settled", "claim", "licence_added", "debt_interest", "debt_repaid")
        ),
    )


COLUMNS = (
    split("refusals", "refusals", REFUSAL_REASONS),
    Column("debt", "bits", lambda of: of("settled_at_end") + of("debt")),  # unpaid at the end
    *(
        number(name)
        for name in (
            "settled",
            "debt_added",
            "debt_interest",
            "debt_repaid",
            "debt_peak",
            "claimed",
            "gained",
        )
    ),
    count("bankruptcies", "resets"),
    count("beats_over_threshold", "heartbeats"),
    count("longest_streak", "heartbeats"),
)


@dataclasses.dataclass(frozen=True)
class RefusalEvent(LogEvent):
    """The record of an action refused because of epistemic debt.

    The fields are the source document's, in its order, and ``blocked_by_reserve``: the document has no reserve rule.
    """

    cycle: int
    timestamp: str
    refusal_reason: str
    proposed_template: str
    proposed_hypothesis: str
    proposed_wells: int
    debt_bits: float
    base_cost_wells: int
    inflated_cost_wells: float
    budget_remaining: int
    debt_threshold: float
    blocked_by_cost: bool
    blocked_by_threshold: bool
    blocked_by_reserve: bool = False
    design_id: str = ""


def refusal_events(names: Names, step: Any, _: Any, lab_index: int | None = None) -> list[RefusalEvent]:
    """Return the event of a refused step; ``lab_index`` identifies the lab of a vector."""
    row = names.actions[step["action"]]
    verb, compound = Verb(row["verb"]), int(row["compound"])
    template, cycle = VERBS[verb].name, int(step["heartbeat"]) + 1
    subject = f"_{names.compounds[compound].replace(' ', '-')}" if compound >= 0 else ""
    plate = getattr(names.params.plates, template, None)
    wells = plate.wells if plate is not None else 0
    return [
        RefusalEvent(
            cycle=cycle,
            timestamp=names.when(step),
            refusal_reason=REFUSAL_REASONS[step["refusal"] - 1],
            proposed_template=template,
            proposed_hypothesis=_hypothesis(names, template, compound, row),
            proposed_wells=wells,
            debt_bits=float(step["debt_before"]),
            base_cost_wells=wells,
            inflated_cost_wells=float(step["inflated_cost"]),
            budget_remaining=int(step["wells_before"]),
            debt_threshold=names.params.debt.threshold,
            blocked_by_cost=bool(step["blocked_by_cost"]),
            blocked_by_threshold=bool(step["blocked_by_threshold"]),
            blocked_by_reserve=bool(step["blocked_by_reserve"]),
            design_id=design_id(f"{template}{subject}", cycle, lab_index),
        )
    ]


def _hypothesis(names: Names, template: str, compound: int, row: Any) -> str:
    if compound < 0:
        return "The vehicle wells show the state of the instrument"
    name = names.compounds[compound]
    if template in SPEAKING:
        return f"The most probable potency class of {name} is right with probability {row['confidence']:g}"
    return (
        f"{name} changes A549 viability with its dose; this plate tells {row['claim']:g} bits about its EC50"
    )


MECHANISM = Mechanism(
    name="debt",
    active=lambda _: True,
    fields=FIELDS,
    step_fields=STEP_FIELDS,
    info=info,
    columns=COLUMNS,
    logs=(Log("refusals", "epistemic_refusals.jsonl", lambda steps: steps["refusal"] != 0, refusal_events),),
)
