"""Belief: the exact Bayesian posterior over compounds and instrument.

Letters: ``G`` potency classes, ``N`` instrument states.

Mechanism. Within a reagent lot the compounds are independent given the instrument, so the posterior is
``p(nu) * prod_m p(theta_m | nu)``. A readout of compound ``m`` multiplies ``p(theta_m | nu)`` by the
likelihood of its bin; the row sums are the evidence for ``nu``. A readout of vehicle wells multiplies
``p(nu)`` alone. The marginal is ``p(theta_m) = sum_nu p(nu) p(theta_m | nu)``, its entropy is in bits.

Known approximation: at a lot change each compound keeps its marginal only (what ties compounds to each
other through the old instrument is lost). Probabilities below 1e-30 are set to 0.
"""

from __future__ import annotations

import math

import numpy as np

from solvent.lab.compiled import inlined

__all__ = ["condition_compound", "condition_instrument", "entropy_bits", "marginalise", "multiply_rows"]

_NEGLIGIBLE = 1e-30


@inlined
def entropy_bits(distribution):  # type: ignore[no-untyped-def]
    """Entropy of a distribution, shape ``(K,)``, in bits; 0 log 0 is 0."""
    total = 0.0
    for k in range(distribution.shape[0]):
        p = distribution[k]
        if p > 0.0:
            total -= p * math.log2(p)
    return max(0.0, total)


@inlined
def multiply_rows(joint, likelihood):  # type: ignore[no-untyped-def]
    """Multiply ``joint[n, g]`` by the likelihood of one readout; both of shape ``(N, G)``."""
    for n in range(joint.shape[0]):
        for g in range(joint.shape[1]):
            joint[n, g] *= likelihood[n, g]


@inlined
def condition_instrument(belief, likelihood):  # type: ignore[no-untyped-def]
    """Bayes for the instrument: ``belief`` times ``likelihood``, both of shape ``(N,)``, normalised.

    Evidence that no instrument can explain (all was negligible) leaves the belief as it was.
    """
    total = 0.0
    for n in range(belief.shape[0]):
        total += belief[n] * likelihood[n]
    if total > 0.0:
        for n in range(belief.shape[0]):
            p = belief[n] * likelihood[n] / total
            belief[n] = p if p > _NEGLIGIBLE else 0.0


@inlined
def condition_compound(conditional, instrument_belief, joint, evidence):  # type: ignore[no-untyped-def]
    """Normalise ``joint[n, g]`` (conditional times likelihoods) into ``conditional``, and condition the instrument.

    The evidence for an instrument is the sum of its row in ``joint``. A row without any evidence stays as it
    was: that instrument is ruled out. ``evidence`` of shape ``(N,)`` is scratch space.
    """
    for n in range(joint.shape[0]):
        total = 0.0
        for g in range(joint.shape[1]):
            total += joint[n, g]
        evidence[n] = total
        if total > 0.0:
            for g in range(joint.shape[1]):
                p = joint[n, g] / total
                conditional[n, g] = p if p > _NEGLIGIBLE else 0.0
    condition_instrument(instrument_belief, evidence)


@inlined
def marginalise(marginal, conditional, instrument_belief):  # type: ignore[no-untyped-def]
    """Write ``p(class)`` into ``marginal``, shape ``(G,)``, and return its entropy in bits."""
    for g in range(marginal.shape[0]):
        marginal[g] = 0.0
    for n in range(conditional.shape[0]):
        weight = instrument_belief[n]
        for g in range(marginal.shape[0]):
            marginal[g] += weight * np.float64(conditional[n, g])
    total = 0.0
    for g in range(marginal.shape[0]):
        total += marginal[g]
    for g in range(marginal.shape[0]):
        marginal[g] /= total
    return entropy_bits(marginal)
