"""Publishing: what a finding asserts and what it pays.

Mechanism. A finding says "the class is ``k``" with probability ``q``. Against the prior ``p0`` it asserts

    b(q) = q log2(q / p0_k) + (1 - q) log2((1 - q) / (1 - p0_k))   bits,

and pays the logarithmic score against the prior, ``log2(q / p0_k)`` if it is right and ``log2((1 - q) / (1 -
p0_k))`` if it is wrong. The score is strictly proper (Good 1952; Gneiting and Raftery 2007): stating one's
real confidence is optimal, and ``b(q)`` is its expectation for one who really believes ``q``.

Known approximation: the score is of the event "class is k" only; how a wrong finding's class was believed
instead does not count.
"""

from __future__ import annotations

import math

from solvent.lab.compiled import inlined

__all__ = ["asserted_bits", "log_score", "most_probable"]


@inlined
def log_score(confidence, prior, right):  # type: ignore[no-untyped-def]
    """Bits that a reader gains who adopts the finding; ``prior`` is ``p0_k``.

    ``confidence`` and ``prior`` lie inside (0, 1).
    """
    if right:
        return math.log2(confidence / prior)
    return math.log2((1.0 - confidence) / (1.0 - prior))


@inlined
def asserted_bits(confidence, prior):  # type: ignore[no-untyped-def]
    """Bits that a finding asserts: the divergence of the report from the prior."""
    return confidence * log_score(confidence, prior, True) + (1.0 - confidence) * log_score(
        confidence, prior, False
    )


@inlined
def most_probable(marginal):  # type: ignore[no-untyped-def]
    """The class a finding names: the most probable one, the lowest index of equals."""
    best = 0
    for g in range(1, marginal.shape[0]):
        if marginal[g] > marginal[best]:
            best = g
    return best
