"""Belief: the exact Bayesian posterior over compounds and instrument.

Letters: ``G`` potency classes, ``N`` instrument states.

Mechanism. Within a reagent lot the compounds are independent given the instrument, so the posterior is ``p(nu) *
prod_m p(theta_m | nu)``. A readout of compound ``m`` multiplies ``p(theta_m | nu)`` by the likelihood of its bin; the
row sums are the evidence for ``nu``. A readout of vehicle wells multiplies ``p(nu)`` only. The marginal is
``p(theta_m) = sum_nu p(nu) p(theta_m | nu)``; its entropy is in bits.

Known approximation: at a lot change each compound keeps only its marginal; correlations between compounds through the
old instrument are lost. Probabilities below 1e-30 are set to 0.
"""

from __future__ import annotations

import math
from operator import attrgetter
from typing import Any

import numpy as np

from solvent.lab.mechanism import Field, Mechanism, derived
from solvent.lab.mechanisms.assay import draw_bin

_PRIOR, _PRIOR_ENTROPY = attrgetter("assay.class_prior"), attrgetter("assay.prior_entropy")

FIELDS = (
    Field(
        "instrument_belief", "f8", "N", "probability", "p(instrument)",
        lambda params: 1.0 / params.assay.instrument_states,
    ),
    Field(
        "conditional", "f4", "M,N,G", "probability", "p(class | instrument), a row for each instrument", _PRIOR,
        project=True,
    ),
    Field("lowest_entropy", "f8", "M", "bits", "lowest entropy reached so far", _PRIOR_ENTROPY, project=True),
    Field(
        "coupled", "u1", "M", "flag", "had an experiment in this lot, so the belief depends on the instrument",
        project=True,
    ),
    *derived(
        Field(
            "instrument_entropy", "f8", "", "bits", "entropy of p(instrument)",
            lambda params: math.log2(params.assay.instrument_states),
        ),
        Field("marginal", "f8", "M,G", "probability", "p(class)", _PRIOR, project=True),
        Field(
            "named", "i1", "M", "class", "most probable class, the lowest of a tie",
            lambda params: np.argmax(params.assay.class_prior), project=True,
        ),
        Field("entropy", "f8", "M", "bits", "entropy of p(class)", _PRIOR_ENTROPY, project=True),
    ),
)  # fmt: skip

# -- rules -------------------------------------------------------------------------------------

_NEGLIGIBLE = 1e-30


def entropy_bits(distribution):
    """Return the entropy of ``distribution``, shape ``(K,)``, in bits, with 0 log 0 = 0."""
    total = 0.0
    for k in range(distribution.shape[0]):
        p = distribution[k]
        if p > 0.0:
            total -= p * math.log2(p)
    return max(0.0, total)


def most_probable(marginal):
    """Return the most probable class, the lowest index in case of a tie."""
    best = 0
    for g in range(1, marginal.shape[0]):
        if marginal[g] > marginal[best]:
            best = g
    return best


def condition_instrument(belief, likelihood):
    """Update ``belief`` by ``likelihood``, both of shape ``(N,)``, with Bayes' rule.

    If the evidence has probability zero under every instrument, the belief is unchanged.
    """
    total = 0.0
    for n in range(belief.shape[0]):
        total += belief[n] * likelihood[n]
    if total > 0.0:
        for n in range(belief.shape[0]):
            p = belief[n] * likelihood[n] / total
            belief[n] = p if p > _NEGLIGIBLE else 0.0


def condition_compound(conditional, likelihood, bins, n_readouts, scratch):
    """Update ``conditional``, shape ``(N, G)``, by the readouts of a plate; return the evidence for each instrument.

    ``likelihood`` has shape ``(R, bins, N, G)`` and ``bins`` holds the readouts. The evidence is the sum of an
    instrument's row before it is normalised. A row that sums to zero is unchanged, since that instrument is ruled out.
    ``scratch`` holds two arrays of shapes ``(G,)`` and ``(N,)``; the second is returned.
    """
    row, evidence = scratch
    for n in range(conditional.shape[0]):
        for g in range(conditional.shape[1]):
            row[g] = conditional[n, g]
        for r in range(n_readouts):
            for g in range(conditional.shape[1]):
                row[g] *= likelihood[r, bins[r], n, g]
        total = 0.0
        for g in range(conditional.shape[1]):
            total += row[g]
        evidence[n] = total
        if total > 0.0:
            for g in range(conditional.shape[1]):
                p = row[g] / total
                conditional[n, g] = p if p > _NEGLIGIBLE else 0.0
    return evidence


def marginalise(marginal, conditional, instrument_belief, row):
    """Write ``p(class)`` into ``marginal``, shape ``(G,)``, and return its entropy in bits. ``row`` is scratch."""
    for g in range(marginal.shape[0]):
        row[g] = 0.0
    for n in range(conditional.shape[0]):
        weight = instrument_belief[n]
        for g in range(marginal.shape[0]):
            row[g] += weight * np.float64(conditional[n, g])
    total = 0.0
    for g in range(marginal.shape[0]):
        total += row[g]
    for g in range(marginal.shape[0]):
        marginal[g] = row[g] / total
    return entropy_bits(marginal)


# -- effects -----------------------------------------------------------------------------------


def read_controls(lab, verb, uniforms, tables, scratch):
    """Read a plate of vehicle wells and update the belief about the instrument. ``scratch`` is as in ``read_doses``."""
    for r in range(tables.readouts[verb]):
        observed = draw_bin(tables.control_cumulative[verb, lab.instrument], uniforms[r])
        lab.last_bins[r] = observed
        condition_instrument(lab.instrument_belief, tables.control_likelihood[verb, observed])
    refresh_belief(lab, scratch[0])


def read_doses(lab, verb, compound, uniforms, tables, scratch):
    """Read a plate of one compound and update the beliefs about it and about the instrument.

    ``scratch`` holds two arrays of shapes ``(G,)`` and ``(N,)``.
    """
    truth = lab.potency[compound]
    for r in range(tables.readouts[verb]):
        lab.last_bins[r] = draw_bin(tables.dose_cumulative[verb, r, lab.instrument, truth], uniforms[r])
    evidence = condition_compound(
        lab.conditional[compound], tables.dose_likelihood[verb], lab.last_bins, tables.readouts[verb], scratch
    )
    condition_instrument(lab.instrument_belief, evidence)
    lab.coupled[compound] = 1
    refresh_belief(lab, scratch[0])


def refresh_belief(lab, row):
    """Update the instrument's entropy and the marginals of all compounds that depend on the instrument."""
    lab.instrument_entropy = entropy_bits(lab.instrument_belief)
    for m in range(lab.entropy.shape[0]):
        if lab.coupled[m]:
            lab.entropy[m] = marginalise(lab.marginal[m], lab.conditional[m], lab.instrument_belief, row)
            lab.lowest_entropy[m] = min(lab.lowest_entropy[m], lab.entropy[m])
            lab.named[m] = most_probable(lab.marginal[m])


def change_lot(lab, uniform, tables):
    """Draw a new instrument and reset the belief about it; each compound keeps its marginal."""
    n_states = lab.instrument_belief.shape[0]
    lab.instrument = int(uniform * n_states)
    for n in range(n_states):
        lab.instrument_belief[n] = tables.blank.instrument_belief[n]
    lab.instrument_entropy = tables.blank.instrument_entropy
    for m in range(lab.coupled.shape[0]):
        if lab.coupled[m]:
            lab.coupled[m] = 0
            for n in range(n_states):
                for g in range(lab.marginal.shape[1]):
                    lab.conditional[m, n, g] = lab.marginal[m, g]


def observed(params: Any) -> tuple[str, ...]:
    """Return the names of what ``observe`` writes."""
    if params.observation.belief != "posterior":
        return ()  # ``measurements`` is in its place
    assay, compounds = params.assay, params.assay.compounds
    states = [f"gain={gain:g},plate_sd={sd:g}" for gain in assay.gains for sd in assay.plate_sds]
    classes = [f"class_{g}" for g in range(assay.potency_classes)]
    joint = [f"{g}|{state}" for state in states for g in classes] if params.observation.joint else []
    return (
        *(f"instrument/{state}" for state in states),
        *(f"{name}/{g}" for name in compounds for g in classes),
        *(f"{name}/entropy" for name in compounds),
        *(f"{name}/lowest_entropy" for name in compounds),
        *(f"{name}/{g}" for name in compounds for g in joint),
    )


def observe(lab, tables, out, at):
    """Write ``p(instrument)``, ``p(class)``, entropies as shares of ``log2(G)`` and, if wanted, the joint belief."""
    for n in range(lab.instrument_belief.shape[0]):
        out[at + n] = lab.instrument_belief[n]
    at += lab.instrument_belief.shape[0]
    n_compounds, n_classes = lab.marginal.shape
    most_entropy = math.log2(n_classes)  # not the prior's, which a posterior can exceed
    for m in range(n_compounds):
        for g in range(n_classes):
            out[at + g] = lab.marginal[m, g]
        at += n_classes
    for m in range(n_compounds):
        out[at + m] = lab.entropy[m] / most_entropy
        out[at + n_compounds + m] = lab.lowest_entropy[m] / most_entropy
    at += 2 * n_compounds
    if tables.observe_joint:
        for m in range(n_compounds):
            for n in range(lab.conditional.shape[1]):
                for g in range(n_classes):
                    out[at] = lab.conditional[m, n, g]
                    at += 1
    return at


MECHANISM = Mechanism(name="belief", fields=FIELDS, observed=observed)
