"""The part of a claim that a subspace of evidence explains, from vectors or from inner products alone.

With ``E`` [k, d] the chosen spans, best first, ``E = U S V^T``, and ``V_r`` the leading right singular vectors:

    coefficients a = V_r^T c,    explained = ||a||^2,    energy = ||c - V_r a||^2

From inner products alone (``x = E c``, ``c.c`` and ``G = E E^T = U S^2 U^T``) the same basis is ``V_r = E^T T`` with
``T = U_r / S_r``. Hence ``a = T^T x`` and, with ``w = T a``, ``energy = c.c - 2 w.x + w.G w``. Both forms compute
energy and explained part independently, so their sum can miss 1.

Directions with ``s < EPS * s[0]`` are cut. The Gram form knows ``s^2`` to about ``u s[0]^2`` with u = 1e-15 (12 spans,
384 coordinates, float64), which at the cut is a relative error of ``u / EPS^2 = 1e-7``. With EPS = 1e-4 both forms
therefore agree to 1e-6.

If singular values are equal on both sides of the rank (more orthogonal spans than the rank), the spans in their order
choose among the tied directions, as if a better span had infinitesimally more weight.

Known approximation: rounding decides on which side of the cut a singular value very close to it falls.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["EPS", "Split", "split_by_products", "split_by_vectors"]

EPS = 1e-4
_TIE = 1e-8  # share of the largest squared singular value; inner products can't resolve less

Floats = NDArray[np.float64]


class Split(NamedTuple):
    """The parts of a claim, the rank used, and the singular values [m] of the spans."""

    energy: float
    explained: float
    rank: int
    singular: Floats


def split_by_vectors(claim: Floats, spans: Floats, rank: int) -> Split:
    """Split ``claim`` [d] by ``spans`` [k, d], best first and without zeros."""
    left, singular, right = np.linalg.svd(spans, full_matrices=False)
    used = _used(singular, rank)
    if _tied(singular, rank):
        block, turn = _turn(left * singular, singular, rank)
        right[block.start : rank] = turn.T @ right[block]
    basis = np.where(np.arange(singular.size)[:, None] < used, right, 0.0)
    coefficients = _apply(basis, claim)
    return Split(_square(claim - _apply(basis.T, coefficients)), _square(coefficients), used, singular)


def split_by_products(cross: Floats, gram: Floats, rank: int, claim_square: float) -> Split:
    """Split a claim by ``cross`` [k] and ``gram`` [k, k] of the chosen spans, best first; ``claim_square`` is c.c."""
    squares, left = np.linalg.eigh(gram)
    singular, left = np.sqrt(np.maximum(squares[::-1], 0.0)), left[:, ::-1]
    used = _used(singular, rank)
    kept = singular >= EPS * singular[0]
    weights = np.where(kept, left / np.where(kept, singular, 1.0), 0.0)
    if _tied(singular, rank):
        block, turn = _turn(left * singular, singular, rank)
        weights[:, block.start : rank] = weights[:, block] @ turn
    weights = np.where(np.arange(singular.size) < used, weights, 0.0)
    coefficients = _apply(weights.T, cross)
    mix = _apply(weights, coefficients)
    energy = claim_square - 2.0 * (mix * cross).sum() + (mix * _apply(gram, mix)).sum()
    return Split(float(energy), _square(coefficients), used, singular)


def _used(singular: Floats, rank: int) -> int:
    return int(min(rank, (singular >= EPS * singular[0]).sum()))


def _apply(matrix: Floats, vector: Floats) -> Floats:
    product: Floats = (matrix @ vector[:, None])[:, 0]
    return product


def _square(vector: Floats) -> float:
    return float((vector * vector).sum())


def _tied(singular: Floats, rank: int) -> bool:
    """Return true for equal singular values on both sides of the rank, above the cut."""
    if singular.size <= rank:
        return False
    gap = singular[rank - 1] ** 2 - singular[rank] ** 2
    return bool(gap <= _TIE * singular[0] ** 2 and singular[rank] >= EPS * singular[0])


def _turn(spans: Floats, singular: Floats, rank: int) -> tuple[slice, Floats]:
    """Return the tied directions (a slice) and their rotation [tied, chosen] towards the best spans.

    ``spans`` [k, m] are the spans' coordinates in the singular basis.
    """
    near = np.abs(singular**2 - singular[rank - 1] ** 2) <= _TIE * singular[0] ** 2
    near &= singular >= EPS * singular[0]
    start, stop = int(np.argmax(near)), singular.size - int(np.argmax(near[::-1]))
    # The squares add up to s^2, so each free direction has a span at least this long along it.
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
