"""Everything the compiled step looks up: parameters as numbers, likelihoods as arrays. Built once, cached, read-only.

Letters: ``A`` actions, ``V`` verbs, ``R`` most readouts of a plate, ``B`` bins, ``N`` instrument states, ``G`` potency classes. Tables of controls and of
dosed plates share the axis ``V``; what a verb does not have is padding that is never read.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from solvent.actions import TEMPLATES, Verb, action_table
from solvent.mechanisms.assay import bin_probabilities, viability
from solvent.mechanisms.debt import DebtRules
from solvent.params import ControlTemplate, DoseTemplate, LabParams

__all__ = ["Tables", "tables_for"]


class Tables(NamedTuple):
    """What the step looks up."""

    verb: Any  # [A] Verb
    compound: Any  # [A] compound, -1 for none
    claim: Any  # [A] bits
    confidence: Any  # [A] probability
    wells: Any  # [V] wells, base cost
    readouts: Any  # [V] readouts on the plate
    is_calibration: Any  # [V] no compound in the wells
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


def _templates(params: LabParams) -> dict[Verb, ControlTemplate | DoseTemplate]:
    return {verb: getattr(params.plates, verb.name.lower()) for verb in TEMPLATES}


def _debt_rules(params: LabParams) -> DebtRules:
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
    )


@functools.lru_cache(maxsize=64)
def tables_for(params: LabParams) -> Tables:
    """The tables of a lab. Takes some milliseconds the first time for a set of parameters."""
    assay = params.assay
    templates = _templates(params)
    n_verbs = len(Verb)
    most_readouts = max(t.readouts for t in templates.values())
    n, g, b = assay.instrument_states, assay.potency_classes, assay.bins

    wells = np.zeros(n_verbs, np.int64)
    readouts = np.zeros(n_verbs, np.int64)
    is_calibration = np.zeros(n_verbs, np.bool_)
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

    actions = action_table(params)
    tables = Tables(
        verb=actions["verb"].astype(np.int64),
        compound=actions["compound"].astype(np.int64),
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
        debt=_debt_rules(params),
    )
    for table in tables:
        if isinstance(table, np.ndarray):
            table.setflags(write=False)
    return tables
