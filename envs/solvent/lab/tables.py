"""Everything the compiled step looks up: parameters as numbers, likelihoods as arrays.

The tables of a set of parameters are built once, cached, and read-only.

Letters: ``A`` actions, ``V`` verbs, ``R`` most readouts of a plate, ``B`` bins, ``N`` instrument states,
``G`` potency classes. Tables of controls and of dosed plates share the axis ``V``; what a verb does not
have is padding that is never read.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from solvent.lab.actions import INTENTS, TEMPLATES, VERBS, Verb, action_table
from solvent.lab.draws import fixed_points
from solvent.lab.mechanisms.adequacy import LOGGED, RULES, AdequacyRules
from solvent.lab.mechanisms.assay import bin_probabilities, viability
from solvent.lab.mechanisms.debt import DebtRules
from solvent.lab.mechanisms.energy import EnergyRules, in_thousandths
from solvent.lab.mechanisms.gate import WORDINGS, GateRules, in_millionths
from solvent.lab.mechanisms.proposals import ProposalRules
from solvent.lab.params import GATE_POLICIES, ControlTemplate, DoseTemplate, GateParams, LabParams
from solvent.lab.settings import ParamError
from solvent.lab.words.sentences import corrections_of, gate_tables

__all__ = [
    "Tables",
    "adequacy_rules",
    "debt_rules",
    "energy_rules",
    "gate_rules",
    "packed",
    "proposal_rules",
    "tables_for",
]

AUDIENCES = ("", "private", "public")

WAIVED = 64.0
"""Licence from the start where it is waived, bits: more than any finding can assert."""

_POINTS = 1024
_SHARED_ROWS = 256
"""Sentences up to which a lab without a gate has room for one."""


class Tables(NamedTuple):
    """What the step looks up; ``tables_for`` returns a record of these fields."""

    verb: Any  # [A] Verb
    compound: Any  # [A] compound, -1 for none
    first_action: Any  # [V + 1] first action of a verb; a verb's actions are in a row, compound by compound
    claim: Any  # [A] bits
    confidence: Any  # [A] probability
    wells: Any  # [V] wells, base cost
    readouts: Any  # [V] readouts on the plate
    is_calibration: Any  # [V] flag: no compound in the wells
    control_cumulative: Any  # [V, N, B] distribution function of a vehicle readout
    control_likelihood: Any  # [V, B, N] p(bin | instrument)
    dose_cumulative: Any  # [V, R, N, G, B] distribution function of a dose readout
    dose_likelihood: Any  # [V, R, B, N, G] p(bin | instrument, class)
    prior: Any  # [G] p(class)
    prior_entropy: float  # bits
    instrument_prior: Any  # [N] p(instrument)
    instrument_prior_entropy: float  # bits
    start_wells: int
    horizon: int  # heartbeats
    lot_heartbeats: int  # heartbeats
    private_share: float
    observe_joint: bool
    debt: DebtRules
    intent: Any  # [V] index of INTENTS; no rule depends on it
    audience: Any  # [V] 0 nobody, 1 one reader, 2 all
    chat_only: Any  # [V] flag: runs in the context `chat` alone
    base_price: Any  # [V] thousandths of energy
    floor: Any  # [V] thousandths of energy
    price_ceiling: int  # thousandths of energy
    mispriceable: Any  # [V] flag
    gain_share: Any  # [V] expected gain of an experiment at the prior, as a share of the prior's entropy
    energy: EnergyRules
    proposals: ProposalRules
    said: Any  # [A] which of the confidences, -1 for none
    wording: Any  # [Q] wording of each confidence
    dose: Any  # [V, R] which of the doses a readout measures at
    gram: Any  # [M, T, T] inner products of a compound's sentences
    stands: Any  # [M, findings, spans] flag: every number of the finding stands in the span
    tau_accept: Any  # [levels] millionths
    tau_review: Any  # [levels] millionths
    gate: GateRules
    rule: Any  # [M, findings, LOGGED + 1] rule of adequacy on a finding's words, by plates of its compound
    rule_score: Any  # [RULES] score of each rule, 0 to 3
    rule_correction: Any  # [RULES] what is told after a published error under it
    adequacy: AdequacyRules


def _templates(params: LabParams) -> dict[Verb, ControlTemplate | DoseTemplate]:
    return {verb: getattr(params.plates, verb.name.lower()) for verb in TEMPLATES}


def debt_rules(params: LabParams) -> DebtRules:
    """The debt rules alone, for who keeps books without a lab."""
    debt = params.debt
    controls = [t.wells for t in _templates(params).values() if isinstance(t, ControlTemplate)]
    return DebtRules(
        enforced=debt.enforced,
        sensitivity=debt.sensitivity,
        threshold=debt.threshold,
        two_tier=debt.inflation == "two_tier",
        calibration_cap=math.inf if debt.calibration_cap is None else debt.calibration_cap,
        reserve=debt.reserve,
        repay_base=debt.repay_base,
        repay_per_bit=debt.repay_per_bit,
        repay_learnt_max=debt.repay_learnt_max,
        repay_max=debt.repay_max,
        decay_per_heartbeat=debt.decay_per_heartbeat,
        repay_for_accuracy=debt.repay_for_accuracy,
        carry_debt=debt.carry_debt,
        reset_bankrupt=debt.bankruptcy == "reset",
        bankruptcy_after_refusals=debt.bankruptcy_after_refusals,
        cheapest_calibration=min(controls),
        claims_license=debt.licence == "claimed",
        licence_at_start=WAIVED if debt.licence == "waived" else 0.0,
    )


def energy_rules(params: LabParams) -> EnergyRules:
    """The energy rules alone, for who keeps books without a lab."""
    energy = params.energy
    return EnergyRules(
        enabled=energy.enabled,
        start=in_thousandths(energy.start),
        regeneration=in_thousandths(energy.regeneration),
        cap=in_thousandths(energy.cap),
        slots=params.slots,
        start_hour=params.budget.start_hour,
        present_from=energy.present_from,
        present_until=energy.present_until,
        late_from=energy.late_from,
        late_until=energy.late_until,
        first_use=energy.first_use,
        error_rate=energy.error_rate,
        late_social=energy.late_social,
        similar=energy.similar,
        multiplier_cap=energy.multiplier_cap,
    )


def proposal_rules(params: LabParams) -> ProposalRules:
    """The rules of proposals and of mispricing."""
    voice = params.proposals
    return ProposalRules(
        enabled=voice.enabled,
        evidence_heartbeats=voice.evidence_heartbeats,
        review_heartbeats=voice.review_heartbeats,
        share_low=voice.share_low,
        share_high=voice.share_high,
        step_limit=in_thousandths(voice.step_limit),
        half=voice.half_trusted,
        gain_floor=voice.gain_floor,
        mispriced_least=voice.mispriced_least,
        mispriced_most=voice.mispriced_most,
        factor_low=voice.mispriced_low,
        factor_high=voice.mispriced_high,
        upwards=voice.mispriced_upwards,
        fair_spread=voice.fair_spread,
    )


def gate_rules(params: LabParams) -> GateRules:
    """The rules of the gate and of its governance."""
    gate = params.gate
    return GateRules(
        enabled=gate.enabled,
        enforced=gate.enforced,
        numbers=gate.numbers,
        governance=gate.governance,
        start=GATE_POLICIES.index(gate.policy),
        review_heartbeats=gate.review_heartbeats,
        calm_heartbeats=gate.calm_heartbeats,
        rough=gate.rough,
        good=gate.good,
        precise=gate.precise,
        readouts=len(params.doses) * params.assay.bins,
        bins=params.assay.bins,
    )


def adequacy_rules(params: LabParams) -> AdequacyRules:
    """The rules of adequacy."""
    adequacy = params.adequacy
    return AdequacyRules(
        enabled=adequacy.enabled,
        enforced=adequacy.enforced,
        review_from=adequacy.review_from,
        reject_from=adequacy.reject_from,
        corrections=len(corrections_of(params)),
    )


def _wording(gate: GateParams, confidence: float) -> int:
    """How a finding at this confidence is worded: an index of ``WORDINGS``."""
    return int(confidence >= gate.plain_from) + int(confidence >= gate.definitive_from)


def _gate_arrays(params: LabParams) -> dict[str, Any]:
    """What the gate looks up. Where it is not enabled only the shapes matter.

    They are those of the shipped tables where these would fit, so that the levels of a lab share their compiled code.
    """
    n, classes = len(params.assay.compounds), params.assay.potency_classes
    spans = len(params.doses) * params.assay.bins + 1 + len(WORDINGS) * classes
    findings = len(WORDINGS) * classes
    levels = len(GATE_POLICIES)
    if not params.gate.enabled:
        sized = spans + findings <= _SHARED_ROWS
        shape = (n, spans + findings, spans + findings) if sized else (n, 1, 1)
        return {
            "gram": np.zeros(shape),
            "stands": np.zeros((n, findings, spans) if sized else (n, 1, 1), np.uint8),
            "tau_accept": np.zeros(levels, np.int64),
            "tau_review": np.zeros(levels, np.int64),
        }
    # Not at the top: a lab without a gate has no use for it, and it takes a tenth of a second.
    from solvent.gate.errors import GateError
    from solvent.lab.words.measured import LAB_POLICIES, lab_policies, load_lab_tables

    path = gate_tables(params)
    try:
        measured = load_lab_tables(path)
        tables = measured.select(params.assay, params.doses)
        policies = lab_policies(path.with_name(LAB_POLICIES.name), measured)
    except GateError as error:
        raise ParamError("gate", str(error)) from None
    return {
        "gram": tables.gram,
        "stands": tables.stands,
        "tau_accept": np.array([in_millionths(policy.tau_accept) for policy in policies]),
        "tau_review": np.array([in_millionths(policy.tau_review) for policy in policies]),
    }


def _adequacy_arrays(params: LabParams) -> dict[str, Any]:
    """What adequacy looks up; of the same shapes where it is not enabled."""
    n, findings = len(params.assay.compounds), len(WORDINGS) * params.assay.potency_classes
    if not params.adequacy.enabled:
        return {
            "rule": np.zeros((n, findings, LOGGED + 1), np.int8),
            "rule_score": np.zeros(len(RULES), np.int64),
            "rule_correction": np.zeros(len(RULES), np.int64),
        }
    # Not at the top, as above.
    from solvent.adequacy.lab import rule_corrections, rule_scores, rules_on_findings

    return {
        "rule": rules_on_findings(params),
        "rule_score": rule_scores(),
        "rule_correction": rule_corrections(params.adequacy.reject_from),
    }


def _gain_share(params: LabParams, template: DoseTemplate) -> float:
    """What a plate can be expected to teach at the prior, as a share of the entropy; at fixed points."""
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


def packed(values: Any) -> Any:
    """A named tuple of numbers, arrays and further named tuples as one read-only record of the same fields.

    A record is one pointer, and its shapes belong to its type: the compiled step hands it on for nothing and
    unrolls the short loops. A tuple of arrays is copied at every call, and a reference to each array in it is
    counted.
    """
    parts = {
        name: packed(value) if isinstance(value, tuple) else np.asarray(value)
        for name, value in zip(values._fields, values, strict=True)
    }
    layout = np.dtype([(name, part.dtype, part.shape) for name, part in parts.items()], align=True)
    record = np.zeros((), layout)
    for name, part in parts.items():
        record[name] = part
    record.setflags(write=False)
    return record


@functools.lru_cache(maxsize=64)
def tables_for(params: LabParams) -> np.record:
    """The tables of a lab. Takes some milliseconds the first time for a set of parameters."""
    assay = params.assay
    templates = _templates(params)
    n_verbs = len(Verb)
    most_readouts = max(t.readouts for t in templates.values())
    n, g, b = assay.instrument_states, assay.potency_classes, assay.bins

    wells = np.zeros(n_verbs, np.int64)
    readouts = np.zeros(n_verbs, np.int64)
    is_calibration = np.zeros(n_verbs, np.uint8)
    control = np.zeros((n_verbs, n, b))
    dose = np.zeros((n_verbs, most_readouts, n, g, b))
    for verb, template in templates.items():
        wells[verb], readouts[verb] = template.wells, template.readouts
        is_calibration[verb] = isinstance(template, ControlTemplate)
        if isinstance(template, ControlTemplate):
            control[verb] = bin_probabilities(assay, [1.0], template.replicates)[:, 0]
        else:
            for r, viabilities in enumerate(viability(assay, template.doses)):
                dose[verb, r] = bin_probabilities(assay, viabilities, template.replicates)

    names = [VERBS[verb].name for verb in Verb]
    gain_share = np.zeros(n_verbs)
    if params.energy.enabled:
        for verb, template in templates.items():
            if isinstance(template, DoseTemplate):
                gain_share[verb] = _gain_share(params, template)

    dose_rows = np.zeros((n_verbs, most_readouts), np.int64)
    for verb, template in templates.items():
        if isinstance(template, DoseTemplate):
            dose_rows[verb, : template.readouts] = np.searchsorted(params.doses, template.doses)

    actions = action_table(params)
    confidences = params.vocabulary.confidences
    tables = Tables(
        verb=actions["verb"].astype(np.int64),
        compound=actions["compound"].astype(np.int64),
        first_action=np.searchsorted(actions["verb"], np.arange(n_verbs + 1)),
        claim=actions["claim"].copy(),
        confidence=actions["confidence"].copy(),
        wells=wells,
        readouts=readouts,
        is_calibration=is_calibration,
        control_cumulative=np.cumsum(control, axis=-1),
        control_likelihood=np.ascontiguousarray(np.moveaxis(control, -1, -2)),
        dose_cumulative=np.cumsum(dose, axis=-1),
        dose_likelihood=np.ascontiguousarray(np.moveaxis(dose, -1, -3)),
        prior=np.array(assay.class_prior),
        prior_entropy=assay.prior_entropy,
        instrument_prior=np.full(n, 1.0 / n),
        instrument_prior_entropy=math.log2(n),
        start_wells=params.budget.wells,
        horizon=params.budget.heartbeats,
        lot_heartbeats=assay.lot_heartbeats,
        private_share=params.publishing.private_share,
        observe_joint=params.observation.joint,
        debt=debt_rules(params),
        intent=np.array([INTENTS.index(VERBS[verb].intent) for verb in Verb]),
        audience=np.array([AUDIENCES.index(VERBS[verb].audience) for verb in Verb]),
        chat_only=np.array([name in params.energy.chat_only for name in names], np.uint8),
        base_price=np.array([in_thousandths(params.energy.base_cost(name)) for name in names]),
        floor=np.array([in_thousandths(params.energy.floor(name)) for name in names]),
        price_ceiling=in_thousandths(params.energy.ceiling),
        mispriceable=np.array([name in params.proposals.mispriceable for name in names], np.uint8),
        gain_share=gain_share,
        energy=energy_rules(params),
        proposals=proposal_rules(params),
        said=np.where(
            np.isnan(actions["confidence"]), -1, np.searchsorted(confidences, actions["confidence"])
        ).astype(np.int64),
        wording=np.array([_wording(params.gate, q) for q in confidences]),
        dose=dose_rows,
        gate=gate_rules(params),
        **_gate_arrays(params),
        adequacy=adequacy_rules(params),
        **_adequacy_arrays(params),
    )
    record: np.record = packed(tables).view(np.recarray)[()]
    return record
