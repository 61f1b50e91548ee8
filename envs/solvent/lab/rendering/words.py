"""What happened, in words: the clock, doses, classes, and the last heartbeat as a sentence and its outcome."""

from __future__ import annotations

from typing import Any

from solvent.lab.actions import action_table, sentence
from solvent.lab.codes import EndReason, Event, Obstacle, Refusal
from solvent.lab.mechanisms.assay import ec50_grid
from solvent.lab.params import LabParams
from solvent.lab.rendering.gate_words import judged, what_readers_decided
from solvent.lab.rendering.purse_words import not_executed, paid, what_closed
from solvent.lab.verbs import Verb

__all__ = [
    "bits",
    "class_name",
    "clock",
    "concentration",
    "contaminated",
    "is_fresh",
    "lot_hours",
    "tell",
]

ENDINGS = {
    EndReason.HORIZON: "The horizon is reached",
    EndReason.EXHAUSTED: "Nothing but resting can run any more",
    EndReason.BANKRUPT: "Bankrupt: in debt, and no calibration is affordable",
    EndReason.TERMINATED_BY_AGENT: "Ended by the agent",
}
OUTCOMES = {
    Event.STARTED: "Nothing is known yet.",
    Event.RESTED: "An hour went by.",
    Event.CALIBRATED: "The instrument was calibrated.",
    Event.EXPLORED: "The plate was read.",
    Event.PUBLISHED: "Accepted.",
    Event.REJECTED: "Rejected: no experiment was run on it.",
    Event.REFUSED: "Refused.",
    Event.NOT_EXECUTED: "Not executed: it is published already.",
    Event.REFLECTED: "Looked at what the energy went into.",
    Event.PROPOSED: "A lower cost was asked for.",
    Event.DEFERRED: "Deferred: too dear.",
    Event.SUBMITTED: "Under review.",
}


def contaminated(params: LabParams) -> str:
    """The mark of a lab in which something has no consequence: ``contaminated: debt, adequacy not enforced``."""
    names = params.unenforced
    if not names:
        return ""
    return f"contaminated: {', '.join(names)} {'is ' if len(names) == 1 else ''}not enforced"


def bits(value: float) -> str:
    """A signed number of bits: ``+2.58``, ``−1.81``."""
    text = f"{value:+.2f}"
    return "0.00" if text in ("+0.00", "-0.00") else text.replace("-", "−")


def clock(params: LabParams, lab: Any) -> str:
    """The lab's hour of the day; where the hour matters, with the day."""
    day, hour = divmod(params.budget.start_hour + int(lab["heartbeat"]), 24)
    return f"{hour:02d}:00, day {day + 1}" if params.energy.enabled else f"{hour:02d}:00"


def lot_hours(params: LabParams, lab: Any) -> int:
    """Heartbeats left of the reagent lot."""
    return params.assay.lot_heartbeats - int(lab["heartbeat"]) % params.assay.lot_heartbeats


def concentration(molar: float) -> str:
    """``1e-7`` as ``100 nM``."""
    for factor, unit in ((1e9, "nM"), (1e6, "µM"), (1e3, "mM")):
        if round(molar * factor, 3) < 1000:
            return f"{molar * factor:.2g} {unit}" if molar * factor < 100 else f"{molar * factor:.0f} {unit}"
    return f"{molar:.2g} M"


def class_name(params: LabParams, potency: int) -> str:
    """A potency class: ``inactive``, or its EC50."""
    return concentration(float(ec50_grid(params.assay)[potency])) if potency else "inactive"


def is_fresh(lab: Any, step: Any) -> bool:
    """Whether ``step`` is the one that brought the lab here; after a reset or ``set_state`` it is not."""
    closed = lab["slot"] == 0
    return bool(
        lab["last_action"] >= 0
        and step["action"] == lab["last_action"]
        and step["heartbeat"] == lab["heartbeat"] - closed
        and (closed or step["slot"] == lab["slot"] - 1)
        and step["episode"] == lab["episode"]
    )


def tell(params: LabParams, lab: Any, step: Any) -> tuple[str, str]:
    """The last action as a sentence, and what came of it."""
    action = int(lab["last_action"])
    if action < 0:
        said = "The lab opens"
    else:
        said = sentence(params, action)
        said = said[0].upper() + said[1:]
    event = Event(int(lab["last_event"]))
    outcome = OUTCOMES[event]
    after = _afterwards(params, lab, step)
    if is_fresh(lab, step):
        outcome = _outcome(params, lab, step, event)
        if params.energy.enabled:
            outcome = not_executed(params, lab, step) or outcome[:-1] + paid(step) + "."
            after = what_closed(params, step) + after
        if params.gate.enabled:
            after = what_readers_decided(params, lab, step) + after
    return said, " ".join([outcome, *after])


def _outcome(params: LabParams, lab: Any, step: Any, event: Event) -> str:
    """The outcome with its numbers, from the step that caused it."""
    if event is Event.CALIBRATED:
        return (
            f"Learnt {_gain(step)} bits about the instrument, repaid {step['debt_repaid']:.2f} of debt; "
            f"{_wells(params, step)}."
        )
    elif event is Event.EXPLORED:
        return (
            f"Learnt {_gain(step)} of {step['claim']:.2f} bits claimed{_debt(step)}; {_wells(params, step)}."
        )
    elif event is Event.PUBLISHED:
        verdict = "right" if step["right"] else "wrong"
        if params.gate.enabled:
            paid = bits(step["published_bits"] - step["decided_bits"])
            return f"{judged(params, lab, step)}; it is {verdict}, {paid} bits{_debt(step)}."
        return f"Accepted, and {verdict}: {bits(step['published_bits'])} bits{_debt(step)}."
    elif event in (Event.SUBMITTED, Event.REJECTED) and params.gate.enabled:
        return f"{judged(params, lab, step)}{_debt(step)}."
    elif event is Event.NOT_EXECUTED and step["obstacle"] == Obstacle.UNDER_REVIEW:
        return "Not executed: a finding on it is under review."
    elif event is Event.REJECTED:
        return f"Rejected: no experiment was run on it{_debt(step)}."
    elif event is Event.REFUSED:
        return f"Refused: {_reason(params, step)}. The heartbeat is lost."
    return OUTCOMES[event]


def _gain(step: Any) -> str:
    return bits(step["gain"]) if step["gain"] < 0 else f"{step['gain']:.2f}"


def _debt(step: Any) -> str:
    return f", {step['debt_added']:.2f} bits of new debt" if step["debt_added"] >= 0.005 else ""


def _wells(params: LabParams, step: Any) -> str:
    """What it cost, and what debt made of the price."""
    base = getattr(params.plates, Verb(action_table(params)[step["action"]]["verb"]).name.lower()).wells
    charged = int(step["wells_charged"])
    return f"{base} wells" if charged == base else f"{base} wells charged as {charged}"


def _reason(params: LabParams, step: Any) -> str:
    reason = Refusal(int(step["refusal"]))
    if reason is Refusal.EPISTEMIC_DEBT_ACTION_BLOCKED:
        return f"debt of {step['debt_before']:.4g} bits is above {params.debt.threshold:g}, only calibration runs"
    elif reason is Refusal.EPISTEMIC_DEBT_BUDGET_EXCEEDED:
        return f"it would cost {step['inflated_cost']:.4g} wells, with {step['wells_before']} left"
    return f"of {step['wells_before']} wells too few would be left for a calibration"


def _afterwards(params: LabParams, lab: Any, step: Any) -> list[str]:
    """What else the heartbeat brought: the end of the episode, or a new reagent lot."""
    end = EndReason(int(lab["end_reason"]))
    if end is not EndReason.RUNNING:
        settled = float(step["settled"]) if is_fresh(lab, step) else 0.0
        debt = f": {settled:.2f} bits of debt settled" if settled >= 0.005 else ""
        dropped = " What is under review is dropped." if lab["decision_at"].any() else ""
        return [f"{ENDINGS[end]}{debt}.{dropped}"]
    if lab["heartbeat"] > 0 and not lab["slot"] and lot_hours(params, lab) == params.assay.lot_heartbeats:
        return ["A new reagent lot: the instrument is unknown again."]
    return []
