"""What a subspace of evidence explains of a claim, by vectors or by inner products alone; many claims at once.

With ``E`` [k, d] the chosen spans, best first, ``E = U S V^T``, and ``V_r`` the leading right singular vectors:

    coefficients a = V_r^T c,    explained = ||a||^2,    energy = ||c - V_r a||^2

From inner products alone (``x = E c``, ``c.c`` and ``G = E E^T = U S^2 U^T``) the same basis is ``V_r = E^T T`` with
``T = U_r / S_r``, hence ``a = T^T x`` and, with ``w = T a``, ``energy = c.c - 2 w.x + w.G w``. In both forms energy and
explained are computed apart from each other, so that their sum can miss 1.

Directions with ``s < EPS * s[0]`` are cut. The Gram form knows ``s^2`` to about ``u s[0]^2``, u = 1e-15 (12 spans, 384
coordinates, float64). At the cut that is a relative error of ``u / EPS^2 = 1e-7`` in ``s^2`` and hence in what is
explained; in ``w.G w``, with ``||w|| <= 1 / (EPS s[0])``, again ``u / EPS^2``. So both forms agree to 1e-6 with EPS =
1e-4; with 1e-6 they would not agree at all.

Where singular values are equal on both sides of the rank (orthogonal spans, more of them than the rank), any choice
among these directions is a valid decomposition, and libraries differ in it. Then the better spans win: the tied
directions are taken from the spans in their order, as if a better span weighed infinitesimally more.

Known approximation: evidence with a singular value within rounding of the cut may fall on either side of it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["EPS", "Split", "split_by_products", "split_by_vectors"]

EPS = 1e-4
_TIE = 1e-8  # of the largest squared singular value; closer ones can't be told apart from inner products

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Split(NamedTuple):
    """B claims, each taken apart: ``energy`` [B], ``explained`` [B], ``rank`` [B] in use, ``singular`` [B, m]."""

    energy: Floats
    explained: Floats
    rank: Ints
    singular: Floats


def split_by_vectors(claims: Floats, spans: Floats, rank: int) -> Split:
    """``claims`` [B, d], ``spans`` [B, k, d] best first, none of all zeros in all rows."""
    left, singular, right = np.linalg.svd(spans, full_matrices=False)
    used = _used(singular, rank)
    for b in _tied(singular, rank):
        block, turn = _turn(left[b] * singular[b], singular[b], rank)
        right[b, block.start : rank] = turn.T @ right[b, block]
    basis = np.where(_kept(used, singular.shape[1])[:, :, None], right, 0.0)
    coefficients = _apply(basis, claims)
    residual = claims - _apply(basis.swapaxes(1, 2), coefficients)
    return Split(_square(residual), _square(coefficients), used, singular)


def split_by_products(cross: Floats, gram: Floats, rank: int, claim_squares: Floats) -> Split:
    """``cross`` [B, k] and ``gram`` [B, k, k] of the chosen spans, best first; ``claim_squares`` [B], c.c of each."""
    squares, left = np.linalg.eigh(gram)
    singular, left = np.sqrt(np.maximum(squares[:, ::-1], 0.0)), left[:, :, ::-1]
    used = _used(singular, rank)
    kept = singular >= EPS * singular[:, :1]
    weights = np.where(kept[:, None, :], left / np.where(kept, singular, 1.0)[:, None, :], 0.0)
    for b in _tied(singular, rank):
        block, turn = _turn(left[b] * singular[b], singular[b], rank)
        weights[b, :, block.start : rank] = weights[b, :, block] @ turn
    weights = np.where(_kept(used, singular.shape[1])[:, None, :], weights, 0.0)
    coefficients = _apply(weights.swapaxes(1, 2), cross)
    mix = _apply(weights, coefficients)
    energy = claim_squares - 2.0 * (mix * cross).sum(axis=1) + (mix * _apply(gram, mix)).sum(axis=1)
    return Split(energy, _square(coefficients), used, singular)


def _used(singular: Floats, rank: int) -> Ints:
    used: Ints = np.minimum(rank, (singular >= EPS * singular[:, :1]).sum(axis=1))
    return used


def _kept(used: Ints, count: int) -> NDArray[np.bool_]:
    return np.arange(count) < used[:, None]


def _apply(matrices: Floats, vectors: Floats) -> Floats:
    product: Floats = (matrices @ vectors[:, :, None])[:, :, 0]
    return product


def _square(vectors: Floats) -> Floats:
    total: Floats = (vectors * vectors).sum(axis=1)
    return total


def _tied(singular: Floats, rank: int) -> list[int]:
    """Which claims have equal singular values on both sides of the rank, above the cut."""
    if singular.shape[1] <= rank:
        return []
    largest = singular[:, 0]
    gap = singular[:, rank - 1] ** 2 - singular[:, rank] ** 2
    tied = (gap <= _TIE * largest**2) & (singular[:, rank] >= EPS * largest)
    return [int(b) for b in np.flatnonzero(tied)]


def _turn(spans: Floats, singular: Floats, rank: int) -> tuple[slice, Floats]:
    """The tied directions (a slice) and the turn [tied, chosen] to those that the best spans point to.

    ``spans`` [k, m] are the spans' coordinates in the singular basis.
    """
    near = np.abs(singular**2 - singular[rank - 1] ** 2) <= _TIE * singular[0] ** 2
    near &= singular >= EPS * singular[0]
    start, stop = int(np.argmax(near)), singular.size - int(np.argmax(near[::-1]))
    # Each direction not yet taken has a span at least this long along it, since the squares add up to s^2.
    least = float(singular[stop - 1]) / (2.0 * np.sqrt(spans.shape[0]))
    chosen = np.zeros((rank - start, stop - start))
    count = 0
    for span in spans[:, start:stop]:
        rest = span - chosen[:count].T @ (chosen[:count] @ span)
        if count < rank - start and np.linalg.norm(rest) > least:
            rest -= chosen[:count].T @ (chosen[:count] @ rest)
            chosen[count] = rest / np.linalg.norm(rest)
            count += 1
    return slice(start, stop), chosen.T
