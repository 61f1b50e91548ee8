"""The verity gate in the step: a finding's semantic residual from inner products, and the verdict on it.

Mechanism. A finding is a sentence ``c``, its evidence the sentences ``e_1..e_n`` on the compound's page, all as unit
vectors. What of the finding lies outside of the evidence's span is its hallucination energy,

    energy = 1 - sum_i (c . u_i)^2,   u_1..u_n an orthonormal basis of span(e_1..e_n),

a measure of verifiability, not of truth. Only inner products enter, so the step works on a tabulated Gram matrix and
loads no model: the basis is built row by row (Cholesky), and the finding is one more row. The verdict is ``accept`` up
to a threshold, ``review`` up to a second one, ``reject`` above. Energies are whole millionths: sums of floating point
can differ in their last digits between processors, verdicts must not.

Source: "Deterministic Policy Gates for Stochastic Systems". Known approximation: a page has twelve sentences at most,
as many as the source's ``top_k``, and the basis keeps them all (the source keeps eight directions); then a control
claim taken from the page has energy 0, and the gap to it is the energy itself.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from solvent.lab.compiled import inlined

__all__ = [
    "ACCEPT",
    "MILLION",
    "REJECT",
    "REVIEW",
    "STRENGTHS",
    "WORDINGS",
    "GateRules",
    "add_direction",
    "finding_row",
    "fit_row",
    "in_millionths",
    "readout_row",
    "strength_at",
    "verdict_on",
]

ACCEPT, REVIEW, REJECT = 0, 1, 2
MILLION = 1_000_000
WORDINGS = ("hedged", "plain", "definitive")
"""How a finding can be worded, from the weakest to the strongest."""
STRENGTHS = ("poor", "rough", "good", "precise")
"""How good a fit can be. Each but the poor one bears out one wording."""
N_WORDINGS = len(WORDINGS)
DEPENDENT = 1e-8
"""Squared length of what a sentence adds to the span below which it adds nothing: no direction is made of noise."""


class GateRules(NamedTuple):
    """The gate's parameters as numbers."""

    enabled: bool
    enforced: bool
    numbers: bool
    governance: bool
    start: int  # level of the policy in force at the start; 0 is the laxest
    review_heartbeats: int
    calm_heartbeats: int
    rough: float  # probability
    good: float  # probability
    precise: float  # probability
    readouts: int  # rows of readouts among a compound's sentences
    bins: int


@inlined
def strength_at(peak, rough, good, precise):  # type: ignore[no-untyped-def]
    """How good a fit is whose class is believed with probability ``peak``: an index of ``STRENGTHS``."""
    if peak < rough:
        return 0
    if peak < good:
        return 1
    return 2 if peak < precise else 3


@inlined
def add_direction(gram, rows, i, row, factor, inverse):  # type: ignore[no-untyped-def]
    """Coordinates of sentence ``row`` in the basis of ``rows[0..i-1]``, into ``factor[i]``; return what is left of it.

    ``gram`` of shape ``(T, T)`` has the inner products, ``factor`` of shape ``(n, n)`` and ``inverse`` of shape
    ``(n,)`` are the basis so far. What is left is the squared length outside of the span, in [0, 1].
    """
    left = gram[row, row]
    for j in range(i):
        coordinate = gram[row, rows[j]]
        for k in range(j):
            coordinate -= factor[i, k] * factor[j, k]
        coordinate *= inverse[j]
        factor[i, j] = coordinate
        left -= coordinate * coordinate
    if not left >= 0.0:
        # A hair below zero is rounding. What is no number at all explains nothing.
        left = 0.0 if left < 0.0 else 1.0
    factor[i, i] = math.sqrt(left)
    inverse[i] = 1.0 / factor[i, i] if left > DEPENDENT else 0.0
    return left


@inlined
def in_millionths(energy):  # type: ignore[no-untyped-def]
    """An energy in [0, 1] as whole millionths, rounded to the nearest."""
    return int(min(1.0, max(0.0, energy)) * MILLION + 0.5)


@inlined
def verdict_on(gap, accept, review):  # type: ignore[no-untyped-def]
    """The policy: deterministic, plain numbers in, verdict out; all in millionths."""
    if gap <= accept:
        return ACCEPT
    return REVIEW if gap <= review else REJECT


@inlined
def readout_row(dose, observed, bins):  # type: ignore[no-untyped-def]
    """Row of the sentence of a readout: ``dose`` of the catalogue's doses, ``observed`` of ``bins``."""
    return dose * bins + observed


@inlined
def fit_row(readouts, strength, named, classes):  # type: ignore[no-untyped-def]
    """Row of a fit's sentence, after ``readouts`` rows of readouts; a poor fit (strength 0) names no class."""
    return readouts if strength == 0 else readouts + 1 + (strength - 1) * classes + named


@inlined
def finding_row(readouts, wording, named, classes):  # type: ignore[no-untyped-def]
    """Row of a finding's sentence, after those of the fits."""
    return readouts + 1 + (N_WORDINGS + wording) * classes + named
