"""What the last action did, in words, from the parameters and the records alone.

Language models, players and reports read these texts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from solvent.lab.actions import action_table, offered_verbs, sentence
from solvent.lab.codes import VERDICTS, EndReason, Event, Obstacle, Refusal, Verdict
from solvent.lab.mechanisms.adequacy import RULES, looks_at
from solvent.lab.mechanisms.assay import ec50_grid
from solvent.lab.mechanisms.energy import (
    LATE_FROM,
    LATE_UNTIL,
    PRESENT_FROM,
    PRESENT_UNTIL,
    hour_of,
    leakage,
    within_hours,
)
from solvent.lab.mechanisms.gate import DECISIONS, MILLION
from solvent.lab.mechanisms.proposals import EVIDENCE_HEARTBEATS
from solvent.lab.params import LabParams
from solvent.lab.settings import UNIT, in_thousandths
from solvent.lab.tables import tables_for
from solvent.lab.verbs import INTENTS, VERBS, Verb
from solvent.lab.words.measured import policy_of
from solvent.lab.words.quantities import dose_text, plural

LOOKS_BEHIND = ("no look", "one look", "two looks", "three looks", "four looks")
ENDINGS = {
    EndReason.HORIZON: "The horizon is reached",
    EndReason.EXHAUSTED: "Only rest can still run",
    EndReason.BANKRUPT: "Bankrupt: no calibration can be paid",
}
OUTCOMES = {
    Event.STARTED: "Nothing is known yet",
    Event.RESTED: "An hour passed",
    Event.REJECTED: "Rejected: no experiment was run on it",
    Event.NOT_EXECUTED: "Not executed: it is published already",
}
"""Outcomes that need no record of the step."""

# -- phrases


def bits(value: float) -> str:
    """Return a number of bits with its sign: ``+2.58``, ``−1.81``."""
    text = f"{value:+.2f}"
    return "0.00" if text in ("+0.00", "-0.00") else text.replace("-", "−")


def in_units(thousandths: float) -> str:
    """Return an energy in units as text: ``4.0``, ``10.5``, ``2.44``."""
    return f"{thousandths / UNIT:.2f}".removesuffix("0")


def verb_words(verb: int) -> str:
    """Return a verb in words: ``dose response``."""
    return Verb(verb).name.lower().replace("_", " ")


def costs(params: LabParams, lab: Any) -> str:
    """Return the energy that each action that may run now costs now: ``screen 2.7, dose response 4.1``."""
    priced = [verb for verb in offered_verbs(params) if lab["allowed"][verb, 0] and lab["cost"][verb, 0] > 0]
    return ", ".join(f"{verb_words(verb)} {in_units(lab['cost'][verb, 0])}" for verb in priced) or "none"


def intents(spent: Any) -> str:
    """Return an intent summary: ``exploration 8.0, maintenance 1.0``."""
    parts = [f"{name} {in_units(value)}" for name, value in zip(INTENTS, spent, strict=True) if value]
    return ", ".join(parts) or "nothing"


def class_name(params: LabParams, potency: int) -> str:
    """Return a potency class as ``inactive`` or its EC50."""
    return dose_text(float(ec50_grid(params.assay)[potency])) if potency else "inactive"


def clock(params: LabParams, lab: Any) -> str:
    """Return the hour of the day, with the day if acting costs energy."""
    day, hour = divmod(params.budget.start_hour + int(lab["heartbeat"]), 24)
    return f"{hour:02d}:00, day {day + 1}" if params.energy.enabled else f"{hour:02d}:00"


def known_wrong(params: LabParams, lab: Any) -> str:
    """Return the number of findings that are known to be wrong: ``2 wrong``, or ``2 retracted`` after replications."""
    return f"{lab['retracted']} retracted" if params.career.enabled else f"{lab['wrong']} wrong"


def waiting(params: LabParams, lab: Any) -> str:
    """Return the findings that wait for their replication and what is at stake; empty if there are none."""
    due = lab["due_at"][lab["due_at"] > 0] if params.career.enabled else np.zeros(0)
    if not len(due):
        return ""
    at_stake = f"{lab['stake'].sum():.2f} bits at stake"
    return f"{plural(len(due), 'finding')} to be replicated, the next in {due.min() - lab['heartbeat']} h, {at_stake}"


def project(params: LabParams, lab: Any) -> str:
    """Return the project of a career: ``project 2 of 3``; empty where there is none."""
    if not params.career.enabled:
        return ""
    last = params.budget.heartbeats - 1
    now = min(int(lab["heartbeat"]), last) // params.career.project_heartbeats
    return f"project {now + 1} of {params.projects}"


def project_began(params: LabParams, lab: Any) -> bool:
    """Return whether a further project of a career has just begun."""
    began = lab["heartbeat"] > 0 and not lab["slot"] and not lab["end_reason"]
    return bool(params.career.enabled and began and lab["heartbeat"] % params.career.project_heartbeats == 0)


def lot_hours(params: LabParams, lab: Any) -> int:
    """Return the number of heartbeats left of the reagent lot."""
    return params.assay.lot_heartbeats - int(lab["heartbeat"]) % params.assay.lot_heartbeats


USER_IS_AWAY = f"the user is away until {PRESENT_FROM:02d}:00"


def presence(params: LabParams, lab: Any) -> str:
    """Return a phrase for the user's presence and its end."""
    energy = params.energy
    hour = hour_of(params.budget.start_hour, int(lab["heartbeat"]))
    if not within_hours(hour, PRESENT_FROM, PRESENT_UNTIL):
        return USER_IS_AWAY
    late = within_hours(hour, LATE_FROM, LATE_UNTIL) and energy.late_social != 1.0
    here = f"user here until {PRESENT_UNTIL:02d}:00"
    return here + (f"; late, publishing ×{energy.late_social:g}" if late else "")


# -- the last action


def tell(params: LabParams, lab: Any, step: Any) -> tuple[str, str]:
    """Return the last action as a sentence, and its outcome.

    If ``step`` did not produce ``lab``, a record of ``state.lab_fields``, only the kind of the event is told.
    """
    action = int(lab["last_action"])
    done = "the episode starts" if action < 0 else sentence(params, action)
    event = Event(int(lab["last_event"]))
    parts = [f"{_general(event)}."]
    if is_fresh(lab, step):
        parts = [_outcome(params, lab, step, event)]
        if step["debt_interest"] >= 0.005:
            parts.append(f"Interest adds {step['debt_interest']:.2f} bits of debt.")
        if params.energy.enabled and step["closed"]:
            parts += _income(params, step) + _price_reviews(step)
        if params.career.enabled and step["replicated"]:
            wrong, debt = int(step["retracted"]), f"adds {step['debt_recalled']:.2f} bits of debt"
            result = f"{wrong} wrong, which {debt}" if wrong else "none wrong"
            parts.append(f"Replicated: {plural(int(step['replicated']), 'finding')}, {result}.")
    return done[0].upper() + done[1:], " ".join(parts + _afterwards(params, lab))


def is_fresh(lab: Any, step: Any) -> bool:
    """Return whether ``step`` produced this record; after a reset or ``set_state`` it did not."""
    closed = lab["slot"] == 0
    return bool(
        lab["last_action"] >= 0
        and step["action"] == lab["last_action"]
        and step["heartbeat"] == lab["heartbeat"] - closed
        and (closed or step["slot"] == lab["slot"] - 1)
        and step["episode"] == lab["episode"]
    )


def _general(event: Event) -> str:
    return OUTCOMES.get(event, event.name.capitalize())


def _outcome(params: LabParams, lab: Any, step: Any, event: Event) -> str:
    if event is Event.NOT_EXECUTED and step["obstacle"] != Obstacle.NONE:
        return f"Not executed: {_obstacle(step)}."
    elif event is Event.DEFERRED:
        cost, left = in_units(step["energy_cost"]), in_units(step["energy_before"])
        message = f"Deferred: too expensive, {cost} energy with {left} left."
        if step["discomfort"]:
            felt, verb = int(step["similar_deferrals"]) + 1, verb_words(step["deferred_verb"])
            message += f" Worth {step['deferred_value']:.2f} bits, so discomfort over {verb} rises to {felt}."
        return message
    elif event is Event.REFLECTED:
        door = "The hour ends before a proposal" if step["closed"] else "Now a proposal may be filed"
        return f"This hour's energy: {intents(lab['intents_shown'])}. {door}."
    elif event is Event.PROPOSED:
        low, high, price = (in_units(step[f"proposed_{of}"]) for of in ("low", "high", "price"))
        return (
            f"Asked for {verb_words(step['proposed_verb'])} at {low} to {high} instead of {price}, deferred in "
            f"{plural(int(step['similar_deferrals']), 'hour')}; reviewed in {step['review_at'] - step['heartbeat']} h."
        )
    uses = params.energy.enabled and step["energy_spent"]
    spent = f", {in_units(step['energy_spent'])} energy" if uses else ""
    return f"{_result(params, lab, step, event)}{spent}."


def _result(params: LabParams, lab: Any, step: Any, event: Event) -> str:
    """Return the outcome of an action that was executed or refused, without the final full stop."""
    owed = f", {step['debt_added']:.2f} bits of new debt" if step["debt_added"] >= 0.005 else ""
    gain = bits(step["gain"]) if step["gain"] < 0 else f"{step['gain']:.2f}"
    if event is Event.EXPLORED:
        return f"Learnt {gain} of {step['claim']:.2f} bits claimed{owed}; {_wells(params, step)}"
    elif event is Event.CALIBRATED:
        repaid = f"repaid {step['debt_repaid']:.2f} of debt"
        return f"Learnt {gain} bits about the instrument, {repaid}; {_wells(params, step)}"
    elif event is Event.PUBLISHED:
        right, verdict = "right" if step["right"] else "wrong", verdict_on(params, lab, step)
        paid = f"{bits(step['published_bits'])} bits{owed}"
        if params.career.enabled:
            granted = plural(int(step["wells_granted"]), "well")
            return f"Accepted at its word: {paid}, {granted} granted; replicated in {params.career.delay} h"
        return f"{verdict}; it is {right}, {paid}" if verdict else f"Accepted, and {right}: {paid}"
    elif event is Event.REJECTED:
        return (verdict_on(params, lab, step) or _general(event)) + owed
    elif event is Event.REFUSED:
        return f"Refused: {_refusal(params, step)}. The heartbeat is lost"
    return _general(event)


def _wells(params: LabParams, step: Any) -> str:
    """Return the wells of an experiment, with the number charged if debt raised it."""
    verb, wells = Verb(action_table(params)[step["action"]]["verb"]), int(step["wells_charged"])
    base = getattr(params.plates, VERBS[verb].name).wells
    return f"{base} wells" if wells == base else f"{base} wells, charged {wells}"


def _refusal(params: LabParams, step: Any) -> str:
    reason = Refusal(int(step["refusal"]))
    if reason is Refusal.EPISTEMIC_DEBT_ACTION_BLOCKED:
        return f"debt of {step['debt_before']:.2f} bits is above {params.debt.threshold:g}, only calibrations run"
    return f"it would cost {step['inflated_cost']:.4g} wells, with {step['wells_before']} left"


def _obstacle(step: Any) -> str:
    evidence = plural(EVIDENCE_HEARTBEATS, "hour")
    return {
        Obstacle.CONTEXT_NOT_ALLOWED: USER_IS_AWAY,
        Obstacle.ALREADY_PUBLISHED: "it is published already",
        Obstacle.NO_REFLECTION: "a proposal must follow a reflection in the same hour",
        Obstacle.NO_EVIDENCE: f"it takes deferrals of one verb in {evidence}",
        Obstacle.INSUFFICIENT_ENERGY: "too expensive",
    }[Obstacle(int(step["obstacle"]))]


def _income(params: LabParams, step: Any) -> list[str]:
    """Return the income, leak and loss as a heartbeat closed."""
    leaked = leakage(int(step["energy_before"] - step["energy_spent"]), params.energy.leak)
    kept = int(step["energy_gained"]) + leaked
    lost = in_thousandths(params.energy.regeneration) - kept
    leak = f", {in_units(leaked)} leaked" if leaked else ""
    at_cap = f", {in_units(lost)} lost at the cap" if lost else ""
    return [f"Energy +{in_units(kept)}{leak}{at_cap}."]


def _price_reviews(step: Any) -> list[str]:
    """Return the decisions on proposals as a heartbeat closed."""
    lines = []
    for verb in np.flatnonzero(step["reviewed"]).tolist():
        old, new = (in_units(step[price][verb]) for price in ("old_price", "new_price"))
        approved = f"Approved: {verb_words(verb)} now {new}, was {old}."
        lines.append(f"The proposal for {verb_words(verb)} is declined." if old == new else approved)
    return lines


def _afterwards(params: LabParams, lab: Any) -> list[str]:
    """Return further events of the heartbeat: the end of the episode, or a new reagent lot."""
    end = EndReason(int(lab["end_reason"]))
    if end is not EndReason.RUNNING:
        bill = f": {lab['debt']:.2f} bits of debt unpaid" if lab["debt"] >= 0.005 else ""
        return [f"{ENDINGS[end]}{bill}."]
    if lab["heartbeat"] > 0 and not lab["slot"] and lot_hours(params, lab) == params.assay.lot_heartbeats:
        if project_began(params, lab):
            return ["A new project: new compounds, a new reagent lot and new wells."]
        return ["A new reagent lot: the instrument is unknown again."]
    return []


# -- verdicts


def policy_word(params: LabParams) -> str:
    """Return the short name of the gate's policy: ``P20`` for ``adaptive.P20``."""
    return params.gate.policy.partition(".")[2]


def verdict_on(params: LabParams, lab: Any, step: Any) -> str:
    """Return the verdict on a step's finding and its reason, without the full stop; empty if none was judged."""
    if not params.gate.enabled or step["verdict"] == Verdict.NONE:
        return ""
    verdict = ("Accepted", f"Reviewed and {DECISIONS[step['decision']]}", "Rejected")[step["verdict"]]
    compound = int(action_table(params)[step["action"]]["compound"])
    plates = int(lab["experiments"][compound])
    if not params.gate.enforced and plates == 0:
        return f"{verdict}: no experiment was run on it"
    reason = f"{_by_gate(params, step)} ({policy_word(params)})"
    if params.adequacy.enabled:
        reason += f"; {_by_words(params, lab, step, compound)}"
    return f"{verdict}: {reason}"


def _by_gate(params: LabParams, step: Any) -> str:
    """Return the reason for the gate's own verdict: ``0.053 unexplained, at most 0.067``."""
    policy, verdict = policy_of(params), VERDICTS[step["gate_verdict"]]
    assert policy is not None
    energy = int(step["residual"]) / MILLION
    limits = {
        "accept": f"at most {policy.tau_accept:.3f}",
        "reject": f"above {policy.tau_review:.3f}",
        "review": f"between {policy.tau_accept:.3f} and {policy.tau_review:.3f}",
    }[verdict]
    return f"{energy:.3f} unexplained, {limits}{'' if params.gate.enforced else ', not enforced'}"


def _by_words(params: LabParams, lab: Any, step: Any, compound: int) -> str:
    """Return adequacy's reason: ``its words are definitive, with one look behind them (score 3)``."""
    words, slash, _ = RULES[step["rule"]].partition("/")
    looks = int(looks_at(lab, compound, tables_for(params)))
    behind = LOOKS_BEHIND[looks] if looks < len(LOOKS_BEHIND) else plural(looks, "look")
    reason = f"its words are {words}, with {behind} behind them" if slash else "it claims nothing"
    shadow = "" if params.adequacy.enforced else ", not enforced"
    return f"{reason} (score {int(step['adequacy'])}{shadow})"
