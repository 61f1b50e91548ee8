"""Validation of the gate's vectors: finite, of one width, of length 1."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from solvent.gate.errors import GateError

__all__ = ["array_of", "checked_vectors", "lengths", "numbers", "require_unit"]

Floats = NDArray[np.float64]

_UNIT = 1e-3  # tolerance of an embedder's lengths; single precision is off by 1e-7


def checked_vectors(vecs: ArrayLike, *, dimension: int | None = None, where: str = "vectors") -> Floats:
    """Return ``vecs`` as float64 [n, d], with finite values and rows of length 1 to a thousandth, or raise an error."""
    rows = numbers(where, vecs, 2)
    if dimension is not None and rows.shape[1] != dimension:
        raise GateError(f"{where}: got the width {rows.shape[1]}; allowed: {dimension}")
    require_unit(where, lengths(rows), within=_UNIT)
    return rows


def array_of(where: str, values: ArrayLike) -> NDArray[Any]:
    """Return ``values`` as an array, or raise an error if rows differ in width."""
    try:
        return np.asarray(values)
    except (TypeError, ValueError):
        raise GateError(
            f"{where}: got rows of different widths; allowed: numbers in rows of one width"
        ) from None


def numbers(where: str, values: ArrayLike, ndim: int) -> Floats:
    """Return a copy of ``values`` as finite float64 with ``ndim`` dimensions, 1 or 2, without negative zeros."""
    array = array_of(where, values)
    if array.dtype.kind not in "fiu":
        raise GateError(f"{where}: got {array.dtype} values; allowed: real numbers")
    if array.ndim != ndim:
        allowed = "[n, d]" if ndim == 2 else "one row"
        raise GateError(f"{where}: got the shape {array.shape}; allowed: {allowed}")
    with np.errstate(over="ignore"):  # a longdouble may overflow
        # Spans are compared by their bytes; adding 0 turns -0 into 0.
        doubles: Floats = np.ascontiguousarray(array, dtype=np.float64) + 0.0
    if not np.isfinite(doubles).all():
        raise GateError(f"{where}: got values that are not finite; allowed: finite numbers")
    return doubles


def lengths(rows: Floats) -> Floats:
    """Return the Euclidean lengths [n] of ``rows`` [n, d]."""
    with np.errstate(over="ignore"):  # an overflow gives an infinite length
        norms: Floats = np.linalg.norm(rows, axis=1)
    return norms


def require_unit(where: str, norms: Floats, *, within: float, zero: bool = False) -> None:
    """Raise an error for lengths that differ from 1 by more than ``within``; ``zero`` also allows exactly 0."""
    wrong = np.abs(norms - 1.0) > within
    if zero:
        wrong &= norms > 0.0
    if wrong.any():
        allowed = "1, or 0 for a span that says nothing" if zero else "1"
        raise GateError(f"{where}: got a vector of length {norms[wrong][0]:.6g}; allowed: {allowed}")
