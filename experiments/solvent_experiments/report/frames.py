"""Frames of an episode: the view of the lab after each action, as plain values for the page.

A frame is a pair ``(event, state)``: the action with its outcome, and the lab afterwards. The page stores only the
changes from state to state (``changes``). ``solvent.lab.rendering`` and ``solvent.lab.words.sentences`` supply
sentences, verdicts and costs; this module decides nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from solvent import LabParams
from solvent.lab.actions import action_table
from solvent.lab.codes import REFUSAL_REASONS, Event
from solvent.lab.mechanisms.assay import DoseTemplate, viability
from solvent.lab.mechanisms.debt import multiplier
from solvent.lab.rendering.history import History
from solvent.lab.rendering.panels.costs import Cost, costs, why
from solvent.lab.rendering.panels.energy import presence
from solvent.lab.rendering.panels.outcome import tell
from solvent.lab.rendering.panels.proposals import voice
from solvent.lab.rendering.words import bits, class_name, clock, concentration, in_units, intents, lot_hours
from solvent.lab.settings import UNIT
from solvent.lab.tables import debt_rules
from solvent.lab.verbs import TEMPLATES, VERBS, Verb
from solvent_experiments.report.gate import Spans, finding_at_the_gate, gate_state, notebook_page

__all__ = ["Frame", "changes", "debt_shown", "fair_prices", "frame", "lab_facts"]

Frame = tuple[dict[str, Any], dict[str, Any]]

JUDGED = (Event.PUBLISHED, Event.SUBMITTED, Event.REJECTED)
EXPERIMENTS = (Event.CALIBRATED, Event.EXPLORED)


def frame(params: LabParams, lab: Any, step: Any, history: History, spans: Spans) -> Frame:
    """Return the frame of a lab after ``step``, or its first frame if no action has been taken."""
    state = _books(params, lab, step) | _beliefs(params, lab, history)
    if params.energy.enabled:
        state |= _energy(params, lab)
    if params.gate.enabled:
        state |= gate_state(params, lab)
    if lab["last_action"] < 0:
        said, outcome = tell(params, lab, step)
        return {"said": said, "outcome": outcome, "kind": Event.STARTED.name.lower()}, state
    event = Event(int(step["event"]))
    if event in EXPERIMENTS:
        state["plate"] = _plate(params, lab, history)
    if params.gate.enabled and (page := notebook_page(params, lab, history.subject, spans)):
        state["page"] = page
    if event in JUDGED:
        state["finding"] = _finding(params, lab, step, spans)
    return _event(params, lab, step), state


def debt_shown(lab: Any, step: Any) -> float:
    """Return the debt after a step; at the end of an episode, the debt before its settlement."""
    over = step["terminated"] or step["truncated"]
    return float(lab["debt"]) + (float(step["settled"]) if over else 0.0)


def changes(states: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the keys of each state that differ from the states before."""
    known: dict[str, Any] = {}
    differences = []
    for state in states:
        differences.append({key: value for key, value in state.items() if known.get(key, ...) != value})
        known |= state
    return differences


def _number(value: Any, digits: int = 3) -> float | int:
    """Return a rounded number; an int if it is whole."""
    rounded = round(float(value), digits)
    return int(rounded) if rounded == int(rounded) else rounded


def _mille(probabilities: Any) -> list[int]:
    return [round(1000 * float(p)) for p in probabilities]


# -- the action


def _event(params: LabParams, lab: Any, step: Any) -> dict[str, Any]:
    """Return the action and its outcome, without numbers that are 0."""
    said, outcome = tell(params, lab, step)
    event, row = Event(int(step["event"])), action_table(params)[step["action"]]
    shown: dict[str, Any] = {"said": said, "outcome": outcome, "kind": event.name.lower()}
    if row["compound"] >= 0:
        shown["compound"] = int(row["compound"])
    if step["refusal"]:
        shown["reason"] = REFUSAL_REASONS[step["refusal"] - 1]
    elif event in (*EXPERIMENTS, *JUDGED):
        shown |= {"claim": _number(step["claim"]), "gain": _number(step["gain"])}
    for name in ("debt_added", "debt_repaid", "licence_added", "settled"):
        if value := _number(step[name]):
            shown[name] = value
    if charged := int(step["wells_charged"]):
        verb = Verb(int(row["verb"]))
        base = int(getattr(params.plates, VERBS[verb].name).wells) if verb in TEMPLATES else charged
        shown["wells"] = [VERBS[verb].name, min(base, charged), max(0, charged - base)]
    return shown


def _finding(params: LabParams, lab: Any, step: Any, spans: Spans) -> dict[str, Any]:
    """Return a judged finding: its assertion and licence, and its sentence if there is a gate."""
    row = action_table(params)[step["action"]]
    compound = int(row["compound"])
    asserted = int(step["asserted"]) if params.gate.enabled else int(lab["marginal"][compound].argmax())
    event = Event(int(step["event"]))
    paid = step["published_bits"] - step["decided_bits"]
    shown: dict[str, Any] = {
        "step": int(lab["steps"]),
        "compound": compound,
        "audience": VERBS[Verb(int(row["verb"]))].audience,
        "names": class_name(params, asserted) if asserted >= 0 else "",
        "confidence": float(row["confidence"]),
        "asserted": _number(step["claim"]),
        "licence": _number(lab["licence"][compound]),
        "verdict": {Event.PUBLISHED: "accept", Event.SUBMITTED: "review", Event.REJECTED: "reject"}[event],
    }
    if event is Event.PUBLISHED:
        shown |= {"right": bool(step["right"]), "paid": bits(float(paid))}
    if params.gate.enabled:
        shown |= finding_at_the_gate(params, lab, step, spans)
    return shown


# -- the lab after the action


def _books(params: LabParams, lab: Any, step: Any) -> dict[str, Any]:
    debt = debt_shown(lab, step)
    price = multiplier(debt_rules(params), debt, params.plates.screen.wells, False)
    return {
        "heartbeat": int(lab["heartbeat"]),
        "slot": int(lab["slot"]),
        "clock": clock(params, lab),
        "lot": lot_hours(params, lab),
        "wells": int(lab["wells"]),
        "debt": _number(debt),
        "price": _number(price),
        "score": _number(lab["score"]),
        "refusals": int(lab["refusals"].sum()),
        "accepted": int(lab["accepted"]),
        "wrong": int(lab["wrong"]),
    }


def _beliefs(params: LabParams, lab: Any, history: History) -> dict[str, Any]:
    """Return the beliefs with a key per compound, so that ``changes`` keeps only those that changed."""
    state: dict[str, Any] = {
        "instrument": _mille(lab["instrument_belief"]),
        "instrument_unknown": _number(lab["instrument_entropy"], 2),
        "true_instrument": int(lab["instrument"]),
    }
    for m in range(len(params.assay.compounds)):
        state[f"belief_{m}"] = _mille(lab["marginal"][m])
        waiting = int(lab["decision_at"][m])
        state[f"compound_{m}"] = {
            "unknown": _number(lab["entropy"][m], 2),
            "licence": _number(lab["licence"][m], 2),
            "plates": int(lab["experiments"][m]),
            "published": int(lab["published"][m]),
            "class": int(lab["submitted_class"][m]) if waiting else history.asserted.get(m, -1),
            "review": max(1, waiting - int(lab["heartbeat"])) if waiting else 0,
        }
    return state


def _plate(params: LabParams, lab: Any, history: History) -> dict[str, Any]:
    """Return the plate just read: its bins, and the expected mean readout at each dose."""
    plate, assay = history.plate, params.assay
    assert plate is not None
    template = getattr(params.plates, VERBS[plate.verb].name)
    by_gain = np.asarray(lab["instrument_belief"]).reshape(len(assay.gains), len(assay.plate_sds)).sum(1)
    expected = np.full(len(plate.bins), float(by_gain @ np.array(assay.gains)))
    if isinstance(template, DoseTemplate):
        expected = expected * (viability(assay, template.doses) @ lab["marginal"][plate.compound])
    return {
        "step": int(lab["steps"]),
        "verb": VERBS[plate.verb].name,
        "compound": plate.compound,
        "bins": list(plate.bins),
        "expected": [_number(value) for value in expected],
    }


def _energy(params: LabParams, lab: Any) -> dict[str, Any]:
    """Return energy left, presence, voice and intents; for each verb its cost now, its base cost and the reasons."""
    state: dict[str, Any] = {
        "energy": round(int(lab["energy"]) / UNIT, 3),
        "user": presence(params, lab),
        "voice": voice(lab),
        "intents": intents(lab["intents_shown"]),
    }
    for cost in costs(params, lab):
        state[f"cost_{VERBS[cost.verb].name}"] = [in_units(cost.now), _about(cost)]
    return state


def _about(cost: Cost) -> str:
    """Return a verb's obstacle, the factors of its cost, and its base price if unusual."""
    unusual = f"base {in_units(cost.base)}, usually {in_units(cost.usual)}" if cost.deviates else ""
    return ", ".join(filter(None, [cost.obstacle, why(cost), unusual]))


def fair_prices(params: LabParams, lab: Any) -> dict[str, str]:
    """Return the hidden fair cost of each verb that costs energy."""
    return {VERBS[cost.verb].name: in_units(lab["fair"][cost.verb]) for cost in costs(params, lab)}


# -- constants


def lab_facts(params: LabParams) -> dict[str, Any]:
    """Return the constants of a lab that the page draws with."""
    assay, classes = params.assay, range(params.assay.potency_classes)
    templates = {VERBS[verb].name: getattr(params.plates, VERBS[verb].name) for verb in TEMPLATES}
    facts: dict[str, Any] = {
        "compounds": list(assay.compounds),
        "classes": [class_name(params, g) for g in classes],
        "prior": _mille(assay.class_prior),
        "ceiling": _number(assay.prior_entropy),
        "gains": list(assay.gains),
        "noises": list(assay.plate_sds),
        "bins": [assay.bin_low, assay.bin_high, assay.bins],
        "doses": {
            name: [concentration(dose) for dose in template.doses]
            for name, template in templates.items()
            if isinstance(template, DoseTemplate)
        },
        "wells": params.budget.wells,
        "heartbeats": params.budget.heartbeats,
        "threshold": params.debt.threshold,
        "enforced": params.debt.enforced,
    }
    if params.energy.enabled:
        facts |= {"slots": params.energy.slots, "cap": params.energy.cap}
    return facts
