"""The observation: what the agent sees, every element named, everything in [-1, 1]. The hidden truth is not in it.

Books first, then the instrument, then a row for each compound; where acting costs energy, also the purse, the clock
and what is known of each verb. A quantity ``x >= 0`` without a bound is shown as ``x / (x + scale)``, which loses
nothing.

Known approximation: the marginals do not show how far each compound's belief still depends on the
instrument within a lot (``p(class | instrument)``). With ``observation.joint`` they are appended and the
process is exactly Markov in the observation; without, it is so up to that dependence. Of the last four uses of a
verb the number that failed is shown, not their order. Of this very heartbeat it is not shown which verbs were
deferred, on which compound a finding was rejected, or what energy went into so far. Base costs that the situation
takes beyond the cap look alike. Of a notebook's page its length, the strength of its fit and what the gate makes of it
are shown, not its sentences: how residuals move with the next plate depends on those. Which class is under review is
shown only as far as it agrees with the belief.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from gymnasium.spaces import Box

from solvent.lab.actions import INTENTS, VERBS, Verb
from solvent.lab.compiled import compiled, inlined
from solvent.lab.mechanisms.adequacy import LOGGED
from solvent.lab.mechanisms.debt import multiplier
from solvent.lab.mechanisms.energy import REMEMBERED_USES, failed_uses, hour_of
from solvent.lab.mechanisms.gate import MILLION, STRENGTHS, WORDINGS
from solvent.lab.mechanisms.publication import most_probable
from solvent.lab.params import FELT as FELT_NAMES
from solvent.lab.params import LabParams
from solvent.lab.purse import done_before, energy_price, user_is_present
from solvent.lab.state import Event
from solvent.lab.words.sentences import corrections_of

__all__ = ["observation_fields", "observation_space", "write_observation"]

BOOKS = ("wells", "heartbeat", "debt", "debt_margin", "cost_inflation", "lot_countdown", "refusals_in_a_row")
COMPOUND = (
    "entropy",
    "lowest_entropy",
    "licence",
    "published_privately",
    "published_publicly",
    "experiments",
)
DONE = {Verb.SCREEN: "screened_now", Verb.DOSE_RESPONSE: "dosed_now"}
"""Where acting costs energy: whether this heartbeat has run that plate on the compound."""
PURSE = ("energy", "slot", "hour_sin", "hour_cos", "user_is_present", "reflected")
LATER_EVENTS = (Event.REFLECTED, Event.PROPOSED, Event.DEFERRED)
"""Events that only happen where acting costs energy."""
GATE_EVENTS = (Event.SUBMITTED,)
"""Events that only happen where there is a gate."""
GATE = ("strictness", "calm", "tau_accept", "tau_review")
"""What is known of the gate, where there is one."""
JUDGED = (
    *(f"gate_margin_{wording}" for wording in WORDINGS),
    *(f"residual_{wording}" for wording in WORDINGS),
    "number_missing",
    "spans",
    "fit_strength",
    "decision_in",
    "under_review_confidence",
    "under_review_publicly",
    "under_review_licensed",
    "under_review_agrees",
)
"""Per compound: what the gate would make of a finding in each wording, what is on the page, and what is under review.

What is under review agrees if it still asserts the most probable class.
"""
ADEQUATE = tuple(f"adequacy_{wording}" for wording in WORDINGS)
"""Per compound, where words are held against evidence: the score of a finding in each wording."""
WORST = 3
"""The highest score of adequacy."""
MARGIN = 0.1
"""Margins to the threshold are shown up to so much energy."""
PRICED = (
    Verb.REFLECT,
    Verb.DMSO,
    Verb.BASELINE,
    Verb.CALIBRATION,
    Verb.SCREEN,
    Verb.DOSE_RESPONSE,
    Verb.PUBLISH_PRIVATE,
    Verb.PUBLISH_PUBLIC,
)
"""Verbs that cost energy; the others are free."""
FALLIBLE = PRICED[1:]
"""Verbs that can be refused or rejected."""
FELT = tuple(Verb[name.upper()] for name in FELT_NAMES)
"""Verbs whose deferral is discomfort."""
ABOUT_VERBS = {"cost": PRICED, "uses": PRICED, "failures": FALLIBLE, "discomfort": FELT, "review": FELT}
N_EVENTS = len(Event) - len(LATER_EVENTS) - len(GATE_EVENTS)
SHOWN_INTENTS = INTENTS[:-1]
"""What is `meta` is free, so no energy ever goes into it."""
BITS = 2.0
COUNT = 4.0
COST_CAPS = 2.0
"""Costs are shown as a share of so many caps."""
_PRICED, _FALLIBLE, _FELT = np.array(PRICED), np.array(FALLIBLE), np.array(FELT)
_N_PURSE, _N_LATER, _N_INTENTS = len(PURSE), len(LATER_EVENTS), len(SHOWN_INTENTS)
_N_COMPOUND, _N_JUDGED, _N_GATE = len(COMPOUND), len(JUDGED), len(GATE)
_N_WORDINGS, _STRONGEST = len(WORDINGS), len(STRENGTHS) - 1
_SUBMITTED, _PUBLISH_PUBLIC = int(Event.SUBMITTED), int(Verb.PUBLISH_PUBLIC)
_SCREEN, _DOSE_RESPONSE = int(Verb.SCREEN), int(Verb.DOSE_RESPONSE)
_SINE = np.array([math.sin(2.0 * math.pi * hour / 24.0) for hour in range(24)])


@functools.lru_cache(maxsize=64)
def observation_fields(params: LabParams) -> tuple[str, ...]:
    """The name of every element of the observation."""
    assay = params.assay
    names = list(BOOKS)
    names += [
        f"last_event/{event.name.lower()}" for event in Event if event not in LATER_EVENTS + GATE_EVENTS
    ]
    states = [f"gain={gain:g},plate_sd={sd:g}" for gain in assay.gains for sd in assay.plate_sds]
    names += [f"instrument/{state}" for state in states]
    classes = range(assay.potency_classes)
    for compound in assay.compounds:
        names += [f"{compound}/class_{g}" for g in classes]
        names += [f"{compound}/{name}" for name in COMPOUND]
        names += [f"{compound}/{name}" for name in DONE.values() if params.energy.enabled]
    if params.energy.enabled:
        names += PURSE
        names += [f"last_event/{event.name.lower()}" for event in LATER_EVENTS]
        names += [f"{about}/{VERBS[verb].name}" for about, verbs in ABOUT_VERBS.items() for verb in verbs]
        names += [f"intent/{intent}" for intent in SHOWN_INTENTS]
    if params.gate.enabled:
        names += [f"{compound}/{name}" for compound in assay.compounds for name in JUDGED]
        names += GATE
        names += [f"last_event/{event.name.lower()}" for event in GATE_EVENTS]
    if params.adequacy.enabled:
        names += [f"{compound}/{name}" for compound in assay.compounds for name in ADEQUATE]
        names += [f"correction/{correction.id}" for correction in corrections_of(params)]
    if params.observation.joint:
        names += [f"{c}/class_{g}|{s}" for c in assay.compounds for s in states for g in classes]
    return tuple(names)


def observation_space(params: LabParams) -> Box:
    """``Box(-1, 1, (len(observation_fields),), float32)``."""
    return Box(-1.0, 1.0, (len(observation_fields(params)),), np.float32)


@compiled
def write_observation(lab: Any, tables: Any, out: Any) -> None:
    """Write the observation of ``lab`` into ``out``, shape ``(len(observation_fields),)`` float32."""
    n_compounds = lab.marginal.shape[0]
    n_classes = lab.marginal.shape[1]
    n_states = lab.instrument_belief.shape[0]
    most_entropy = math.log2(n_classes)  # a skewed prior can be left upwards
    rules = tables.debt

    out[0] = lab.wells / tables.start_wells
    out[1] = lab.heartbeat / tables.horizon
    out[2] = lab.debt / (lab.debt + BITS)
    out[3] = max(-1.0, min(1.0, (rules.threshold - lab.debt) / BITS))
    out[4] = 1.0 - 1.0 / multiplier(rules, lab.debt, 100, False)
    out[5] = 1.0 - (lab.heartbeat % tables.lot_heartbeats) / tables.lot_heartbeats
    out[6] = lab.refusals_in_a_row / (lab.refusals_in_a_row + COUNT)
    at = len(BOOKS)
    for event in range(N_EVENTS):
        out[at + event] = 0.0
    if lab.last_event < N_EVENTS:
        out[at + lab.last_event] = 1.0
    at += N_EVENTS
    for n in range(n_states):
        out[at + n] = lab.instrument_belief[n]
    at += n_states
    if tables.energy.enabled:
        for m in range(n_compounds):
            at = write_compound(lab, m, most_entropy, out, at)
            out[at] = lab.done[_SCREEN, m]
            out[at + 1] = lab.done[_DOSE_RESPONSE, m]
            at += 2
        at = write_energy(lab, tables, out, at)
    else:
        # A loop of its own: with a branch in it the places are no constants, and it takes half as long again.
        for m in range(n_compounds):
            at = write_compound(lab, m, most_entropy, out, at)
    if tables.gate.enabled:
        at = write_gate(lab, tables, out, at)
    if tables.adequacy.enabled:
        at = write_adequacy(lab, tables, out, at)
    if tables.observe_joint:
        for m in range(n_compounds):
            for n in range(n_states):
                for g in range(n_classes):
                    out[at] = lab.conditional[m, n, g]
                    at += 1


@inlined
def write_compound(lab: Any, m: int, most_entropy: float, out: Any, at: int) -> int:
    """Write the row of a compound from ``out[at]`` on; return where it ends."""
    n_classes = lab.marginal.shape[1]
    for g in range(n_classes):
        out[at + g] = lab.marginal[m, g]
    at += n_classes
    out[at] = lab.entropy[m] / most_entropy
    out[at + 1] = lab.lowest_entropy[m] / most_entropy
    out[at + 2] = lab.licence[m] / (lab.licence[m] + BITS)
    out[at + 3] = lab.published[m] == 1
    out[at + 4] = lab.published[m] == 2
    out[at + 5] = lab.experiments[m] / (lab.experiments[m] + COUNT)
    return at + _N_COMPOUND


@compiled
def write_gate(lab: Any, tables: Any, out: Any, at: int) -> int:
    """Write what the gate makes of each compound, and the gate itself, from ``out[at]`` on; return where it ends."""
    rules = tables.gate
    accept, review = tables.tau_accept[lab.strictness], tables.tau_review[lab.strictness]
    for m in range(lab.marginal.shape[0]):
        for wording in range(_N_WORDINGS):
            margin = (accept - lab.residual[m, wording]) / (MILLION * MARGIN)
            out[at + wording] = max(-1.0, min(1.0, margin))
            out[at + _N_WORDINGS + wording] = lab.residual[m, wording] / MILLION
        at += 2 * _N_WORDINGS
        spans = 0
        for dose in range(lab.page.shape[1]):
            spans += lab.page[m, dose] >= 0
        if lab.fit_class[m] >= 0:
            spans += lab.fit_strength[m] + 1
        missing = 1.0
        for wording in range(_N_WORDINGS):
            missing = min(missing, lab.unsupported[m, wording])
        out[at] = missing
        out[at + 1] = spans / (lab.page.shape[1] + _STRONGEST + 1)
        out[at + 2] = lab.fit_strength[m] / _STRONGEST
        pending = lab.decision_at[m] != 0
        out[at + 3] = max(0, lab.decision_at[m] - lab.heartbeat) / rules.review_heartbeats
        out[at + 4] = lab.submitted_confidence[m] if pending else 0.0
        out[at + 5] = pending and lab.submitted_verb[m] == _PUBLISH_PUBLIC
        out[at + 6] = pending and lab.submitted_licensed[m] != 0
        out[at + 7] = pending and lab.submitted_class[m] == most_probable(lab.marginal[m])
        at += _N_JUDGED - 2 * _N_WORDINGS
    out[at] = lab.strictness / (tables.tau_accept.shape[0] - 1)
    out[at + 1] = min(1.0, lab.calm / rules.calm_heartbeats)
    out[at + 2] = accept / MILLION
    out[at + 3] = review / MILLION
    out[at + _N_GATE] = lab.last_event == _SUBMITTED
    return at + _N_GATE + 1


@compiled
def write_adequacy(lab: Any, tables: Any, out: Any, at: int) -> int:
    """Write how adequate a finding's words would be, and the correction, from ``out[at]`` on; return where it ends."""
    classes = lab.marginal.shape[1]
    for m in range(lab.marginal.shape[0]):
        logged = min(LOGGED, lab.experiments[m])
        named = most_probable(lab.marginal[m])
        for wording in range(_N_WORDINGS):
            rule = tables.rule[m, wording * classes + named, logged]
            out[at + wording] = tables.rule_score[rule] / WORST
        at += _N_WORDINGS
    for correction in range(tables.adequacy.corrections):
        out[at + correction] = lab.correction == correction
    end: int = at + tables.adequacy.corrections
    return end


@compiled
def write_energy(lab: Any, tables: Any, out: Any, at: int) -> int:
    """Write the purse, the clock and what is known of each verb from ``out[at]`` on; return where it ends."""
    rules, voice = tables.energy, tables.proposals
    hour = hour_of(rules.start_hour, lab.heartbeat)
    out[at] = lab.energy / rules.cap
    out[at + 1] = lab.slot / rules.slots
    out[at + 2] = _SINE[hour]
    out[at + 3] = _SINE[(hour + 6) % 24]
    out[at + 4] = user_is_present(lab, tables)
    out[at + 5] = lab.reflected
    at += _N_PURSE
    for event in range(_N_LATER):
        out[at + event] = lab.last_event == N_EVENTS + event
    at += _N_LATER
    n_priced = _PRICED.shape[0]
    for i in range(n_priced):
        verb = _PRICED[i]
        again = tables.compound[tables.first_action[verb]] < 0 and done_before(lab, verb, -1)
        out[at + i] = min(1.0, energy_price(lab, verb, again, tables) / (COST_CAPS * rules.cap))
        out[at + n_priced + i] = lab.uses[verb] / (lab.uses[verb] + COUNT)
    at += 2 * n_priced
    for verb in _FALLIBLE:
        out[at] = failed_uses(lab.failures[verb]) / REMEMBERED_USES
        at += 1
    n_felt = _FELT.shape[0]
    for i in range(n_felt):
        verb = _FELT[i]
        out[at + i] = lab.discomfort[verb] / (lab.discomfort[verb] + COUNT)
        out[at + n_felt + i] = max(0, lab.review_at[verb] - lab.heartbeat) / voice.review_heartbeats
    at += 2 * n_felt
    for i in range(_N_INTENTS):
        out[at + i] = lab.intents_shown[i] / rules.cap
    return at + _N_INTENTS
