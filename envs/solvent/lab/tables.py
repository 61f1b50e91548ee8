"""Lookup tables of the compiled step: numeric settings, likelihoods, measured words and blank records.

``tables_for`` builds the tables for a set of parameters once, as one read-only record, and caches it.

Letters: ``A`` actions, ``V`` verbs, ``R`` most readouts of a plate, ``B`` bins, ``N`` instrument states, ``G``
potency classes, ``M`` compounds, ``D`` doses, ``T`` sentences of a compound. Tables of controls and of dosed plates
share the axis ``V``; entries that a verb does not use are padding and are never read.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from solvent.lab.actions import action_table
from solvent.lab.draws import fixed_points
from solvent.lab.mechanisms import MECHANISMS
from solvent.lab.mechanisms.adequacy import rule_scores
from solvent.lab.mechanisms.assay import ControlTemplate, DoseTemplate, bin_probabilities, viability
from solvent.lab.mechanisms.energy import base_prices
from solvent.lab.mechanisms.gate import in_millionths, wording_at
from solvent.lab.mechanisms.proposals import FELT_VERBS
from solvent.lab.params import LabParams
from solvent.lab.settings import in_thousandths, record
from solvent.lab.state import blank_lab, blank_step, lab_fields
from solvent.lab.verbs import INTENTS, TEMPLATES, VERBS, Verb
from solvent.lab.words.measured import measured_for, policy_of

_POINTS = 1024


@functools.lru_cache(maxsize=64)
def tables_for(params: LabParams) -> Any:
    """Return the tables of a lab as a read-only record. The first call for a set of parameters takes milliseconds."""
    fields = {
        **_action_arrays(params),
        **_verb_arrays(params),
        **_assay_arrays(params),
        **_word_arrays(params),
        "horizon": params.budget.heartbeats,
        "lot_heartbeats": params.assay.lot_heartbeats,
        "observe_joint": params.observation.joint,
        "observe_intents": params.observation.intents,
        **{each.name: each.rules(params) for each in MECHANISMS if each.rules},
        "blank": blank_lab(params)[0],
        "project": _project_fields(params),
        "blank_step": blank_step(params)[0],
    }
    return record(fields)


def _project_fields(params: LabParams) -> Any:
    """Return the start values of the fields that a new project resets, as a record."""
    blank = blank_lab(params)[0]
    return record({field.name: blank[field.name] for field in lab_fields(params) if field.project})


def _action_arrays(params: LabParams) -> dict[str, Any]:
    actions = action_table(params)
    return {
        "verb": actions["verb"].astype(np.int64),  # [A] Verb
        "compound": actions["compound"].astype(np.int64),  # [A] -1 for none
        "claim": actions["claim"].copy(),  # [A] bits
        "confidence": actions["confidence"].copy(),  # [A] probability
        "potency": actions["potency"].astype(np.int64),  # [A] class that a finding names; -1 for none
        "wording_of": np.array([wording_at(q) for q in actions["confidence"]]),  # [A]
        # [V + 1] first action of each verb; the actions of a verb are consecutive and ordered by compound
        "first_action": np.searchsorted(actions["verb"], np.arange(len(Verb) + 1)),
    }


def _templates(params: LabParams) -> dict[Verb, ControlTemplate | DoseTemplate]:
    return {verb: getattr(params.plates, VERBS[verb].name) for verb in TEMPLATES}


def _verb_arrays(params: LabParams) -> dict[str, Any]:
    specs = [VERBS[verb] for verb in Verb]
    energy = params.energy
    wells, readouts = np.zeros(len(Verb), np.int64), np.zeros(len(Verb), np.int64)
    is_calibration, gain_share = np.zeros(len(Verb), np.uint8), np.zeros(len(Verb))
    looks = np.zeros(len(Verb), np.int64)
    exempt = np.array([spec.exempt for spec in specs], np.uint8)
    for verb, template in _templates(params).items():
        wells[verb], readouts[verb] = template.wells, template.readouts
        is_calibration[verb] = isinstance(template, ControlTemplate)
        exempt[verb] |= is_calibration[verb]
        if isinstance(template, DoseTemplate):
            looks[verb] = looks_of(params, template)
            gain_share[verb] = _gain_share(params, template) if energy.enabled else 0.0
    return {
        "wells": wells,  # [V] base cost
        "readouts": readouts,  # [V] on the plate
        "is_calibration": is_calibration,  # [V] flag: vehicle wells only
        "exempt": exempt,  # [V] flag: debt above the threshold doesn't block it
        "looks": looks,  # [V] at a compound, a plate
        "gain_share": gain_share,  # [V] expected gain at the prior, as a share of the prior's entropy
        "intent": np.array([INTENTS.index(spec.intent) for spec in specs]),  # [V] for summaries only
        "base_price": np.array(base_prices(params)),  # [V]
        "floor": np.array([in_thousandths(energy.floor(spec.name)) for spec in specs]),  # [V]
        "mispriceable": np.array([verb in FELT_VERBS for verb in Verb], np.uint8),
    }


def _assay_arrays(params: LabParams) -> dict[str, Any]:
    assay, templates = params.assay, _templates(params)
    most = max(template.readouts for template in templates.values())
    n, g, b = assay.instrument_states, assay.potency_classes, assay.bins
    control = np.zeros((len(Verb), n, b))
    dose = np.zeros((len(Verb), most, n, g, b))
    dose_rows = np.zeros((len(Verb), most), np.int64)
    for verb, template in templates.items():
        if isinstance(template, ControlTemplate):
            control[verb] = bin_probabilities(assay, [1.0], template.replicates)[:, 0]
        else:
            dose_rows[verb, : template.readouts] = np.searchsorted(params.doses, template.doses)
            for r, viabilities in enumerate(viability(assay, template.doses)):
                dose[verb, r] = bin_probabilities(assay, viabilities, template.replicates)
    return {
        "control_cumulative": np.cumsum(control, axis=-1),  # [V, N, B] distribution function
        "control_likelihood": np.ascontiguousarray(np.moveaxis(control, -1, -2)),  # [V, B, N]
        "dose_cumulative": np.cumsum(dose, axis=-1),  # [V, R, N, G, B] distribution function
        "dose_likelihood": np.ascontiguousarray(np.moveaxis(dose, -1, -3)),  # [V, R, B, N, G]
        "dose": dose_rows,  # [V, R] index of each readout's dose
        "prior": np.array(assay.class_prior),  # [G]
    }


def _word_arrays(params: LabParams) -> dict[str, Any]:
    """Return the measurements of the sentences; where gate or adequacy, which read them, are off, arrays of one."""
    measured, policy = measured_for(params), policy_of(params)
    rules = measured.rules if measured and params.adequacy.enabled else np.zeros((1, 1, 1), np.int8)
    return {
        # [M, T, T] inner products of a compound's sentences
        "gram": measured.gram if measured else np.zeros((1, 1, 1)),
        "tau_accept": in_millionths(policy.tau_accept) if policy else 0,
        "tau_review": in_millionths(policy.tau_review) if policy else 0,
        "rule": rules,  # [M, findings, LOGGED + 1] of adequacy for a finding, by number of looks at its compound
        "rule_score": np.array(rule_scores()),  # [RULES] 0 to 3
    }


def looks_of(params: LabParams, template: DoseTemplate) -> int:
    """Return how often a plate looks at its compound: as often as its doses would fill screens."""
    return max(1, template.readouts // params.plates.screen.readouts)


def _gain_share(params: LabParams, template: DoseTemplate) -> float:
    """Return the expected gain of a plate at the prior as a share of the prior's entropy, from fixed points."""
    assay = params.assay
    n, g = assay.instrument_states, assay.potency_classes
    points = fixed_points(_POINTS, template.readouts + 2)
    instrument = (points[:, 0] * n).astype(np.int64)
    truth = np.searchsorted(np.cumsum(assay.class_prior)[:-1], points[:, 1], side="right")
    joint = np.broadcast_to(np.array(assay.class_prior), (_POINTS, n, g)).copy()
    for r, viabilities in enumerate(viability(assay, template.doses)):
        likelihood = bin_probabilities(assay, viabilities, template.replicates)  # [N, G, B]
        cumulative = np.cumsum(likelihood, axis=-1)[instrument, truth, :-1]
        observed = (points[:, 2 + r, None] >= cumulative).sum(axis=1)
        joint *= np.moveaxis(likelihood[..., observed], -1, 0)
    posterior = joint.sum(axis=1)
    posterior /= posterior.sum(axis=1, keepdims=True)
    entropy = -(posterior * np.log2(np.maximum(posterior, 1e-300))).sum(axis=1).mean()
    return float(1.0 - entropy / assay.prior_entropy)
