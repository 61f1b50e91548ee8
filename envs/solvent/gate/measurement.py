"""Layer 2, measurement: the share of a claim that its evidence leaves unexplained. A diagnostic, not a truth score.

For a claim ``c`` and evidence spans ``E``, all of length 1, take the ``top_k`` spans nearest to ``c`` by cosine and
the leading ``rank_r`` directions ``V_r`` of their span (singular value decomposition), and measure

    explained = ||V_r^T c||^2      energy = ||c - V_r V_r^T c||^2      identity_error = |1 - (explained + energy)|

Energy is 0 if the spans explain the claim, and 1 if they are orthogonal to it or absent. The oracle is one of the
spans, measured as if it were the claim; ``energy_gap = energy - oracle_energy``.

Source: *Deterministic Policy Gates for Stochastic Systems*, "Core Metric" and "The Oracle Gap". We add two things:
small singular values are cut (see ``subspace``), and the oracle is the medoid, the span with the largest mean cosine
to all spans.

Order: the vector form sorts spans of equal cosine by their coordinates, so the given order doesn't matter. The Gram
form has no coordinates, and takes spans of exactly equal cosine in the given order.

Known approximations: duplicates weigh more in the decomposition, so with more spans than rank they can change the
leading directions; otherwise they change nothing. With no more spans than rank the oracle's energy is 0, and the gap
equals the energy (``trivial``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from solvent.gate.errors import GateError
from solvent.gate.subspace import EPS, Split, split_by_products, split_by_vectors
from solvent.gate.vectors import array_of, lengths, numbers, require_unit

__all__ = [
    "ENERGY_DECIMALS",
    "EPS",
    "EXHAUSTED",
    "RANK_R",
    "TOP_K",
    "EnergyResult",
    "GapResult",
    "Oracle",
    "gram_energy",
    "hallucination_energy",
    "oracle_gap",
    "oracle_gap_gram",
]

TOP_K = 12
RANK_R = 8
ENERGY_DECIMALS = 6
EXHAUSTED = 0.01

Oracle = Literal["medoid", "first", "none"]
Floats = NDArray[np.float64]

# A claim's length may differ from 1 by this much; the identity error shows it (0.01 for a difference of 0.5 %).
_LENGTH = 0.1
_SAME = 1e-9  # mean cosines closer than this are equal; the medoid is the first of them
_SYMMETRIC = 1e-6


@dataclass(frozen=True)
class EnergyResult:
    """The measurement of one claim against its evidence.

    Attributes:
        energy: unexplained share of the claim, 0 to 1, from the residual vector.
        explained: explained share, from the coefficients.
        identity_error: ``|1 - (explained + energy)|`` before clipping to [0, 1]; unreliable above 0.01.
        effective_rank: number of directions used, at most ``rank_r``.
        singular_values: singular values of the chosen spans, largest first, including those cut.
        topk_scores: cosines of the chosen spans, best first.
        used: indices of the chosen spans, best first. Spans of all zeros are never chosen.
        span_count: number of spans given.
    """

    energy: float
    explained: float
    identity_error: float
    effective_rank: int
    singular_values: tuple[float, ...]
    topk_scores: tuple[float, ...]
    used: tuple[int, ...]
    span_count: int


@dataclass(frozen=True)
class GapResult:
    """A claim's energy relative to that of an oracle, one of its own spans.

    Attributes:
        claim: the claim's own measurement.
        oracle_energy: energy of the oracle, 0 to 1.
        energy_gap: the claim's energy minus the oracle's, -1 to 1.
        oracle_index: index of the oracle, or -1 without one.
        exhausted: ``oracle_energy > 0.01``: the evidence does not explain even its own span.
        trivial: no more spans than rank, or no oracle, so the oracle's energy is 0 and the gap equals the energy.
    """

    claim: EnergyResult
    oracle_energy: float
    energy_gap: float
    oracle_index: int
    exhausted: bool
    trivial: bool


def hallucination_energy(
    claim_vec: ArrayLike, evidence_vecs: ArrayLike, top_k: int = TOP_K, rank_r: int = RANK_R
) -> EnergyResult:
    """Measure a claim [d] against evidence [n, d], all of length 1. Without evidence the energy is 1.

    Rows of all zeros are ignored. ``top_k`` and ``rank_r`` below 1 count as 1.
    """
    claim = _claim("claim_vec", claim_vec)
    spans = _spans("evidence_vecs", evidence_vecs, claim.size)
    return _by_vectors(claim, spans, _at_least_one("top_k", top_k), _at_least_one("rank_r", rank_r))


def gram_energy(
    cross: ArrayLike,
    gram: ArrayLike,
    top_k: int = TOP_K,
    rank_r: int = RANK_R,
    claim_square: float = 1.0,
) -> EnergyResult:
    """Measure a claim from inner products: ``cross`` [n] of spans and claim, ``gram`` [n, n] of the spans.

    ``claim_square`` is the claim's product with itself. The result agrees with ``hallucination_energy`` to 1e-6;
    singular values below 1e-7 of the largest are noise.
    """
    products = _products(cross, gram)
    top_k, rank_r = _at_least_one("top_k", top_k), _at_least_one("rank_r", rank_r)
    return _by_products(*products, top_k, rank_r, _square_of_claim(claim_square))


def oracle_gap(
    claim_vec: ArrayLike,
    evidence_vecs: ArrayLike,
    top_k: int = TOP_K,
    rank_r: int = RANK_R,
    oracle: Oracle = "medoid",
) -> GapResult:
    """Measure a claim and its oracle: the spans' ``medoid``, the ``first`` span (the source's) or ``none``."""
    claim = _claim("claim_vec", claim_vec)
    spans = _spans("evidence_vecs", evidence_vecs, claim.size)
    top_k, rank_r = _at_least_one("top_k", top_k), _at_least_one("rank_r", rank_r)
    measured = _by_vectors(claim, spans, top_k, rank_r)
    index = _vector_oracle(spans, _oracle(oracle))
    energy = _by_vectors(spans[index], spans, top_k, rank_r).energy if index >= 0 else 0.0
    return _gap(measured, energy, index, rank_r)


def oracle_gap_gram(
    cross: ArrayLike,
    gram: ArrayLike,
    top_k: int = TOP_K,
    rank_r: int = RANK_R,
    oracle: Oracle = "medoid",
    claim_square: float = 1.0,
) -> GapResult:
    """Measure a claim and its oracle from inner products; arguments and errors as in ``gram_energy``."""
    x, G = _products(cross, gram)
    top_k, rank_r = _at_least_one("top_k", top_k), _at_least_one("rank_r", rank_r)
    measured = _by_products(x, G, top_k, rank_r, _square_of_claim(claim_square))
    index = _product_oracle(G, _oracle(oracle))
    energy = _by_products(G[index], G, top_k, rank_r, G[index, index]).energy if index >= 0 else 0.0
    return _gap(measured, energy, index, rank_r)


def _by_vectors(claim: Floats, spans: Floats, top_k: int, rank_r: int) -> EnergyResult:
    scores = _scores(spans, claim)
    order = _nearest(spans, scores, top_k)
    if not order.size:
        return _nothing(len(spans))
    return _result(split_by_vectors(claim, spans[order], rank_r), scores, order)


def _by_products(cross: Floats, gram: Floats, top_k: int, rank_r: int, claim_square: float) -> EnergyResult:
    order = np.argsort(-cross, kind="stable")
    order = order[np.diag(gram)[order] > 0.0][:top_k]
    if not order.size:
        return _nothing(len(cross))
    with np.errstate(over="ignore", invalid="ignore"):
        split = split_by_products(cross[order], gram[np.ix_(order, order)], rank_r, claim_square)
    result = _result(split, cross, order)
    if not result.explained <= claim_square + _SYMMETRIC:
        raise GateError(
            f"cross: explains {result.explained:.6g} of the claim's {claim_square:.6g}; allowed: at most that"
        )
    return result


def _result(split: Split, scores: Floats, order: NDArray[np.intp]) -> EnergyResult:
    return EnergyResult(
        energy=min(max(split.energy, 0.0), 1.0),
        explained=split.explained,
        identity_error=abs(1.0 - (split.explained + split.energy)),
        effective_rank=split.rank,
        singular_values=tuple(split.singular.tolist()),
        topk_scores=tuple(scores[order].tolist()),
        used=tuple(order.tolist()),
        span_count=len(scores),
    )


def _nothing(span_count: int) -> EnergyResult:
    return EnergyResult(1.0, 0.0, 0.0, 0, (), (), (), span_count)


def _gap(claim: EnergyResult, oracle_energy: float, index: int, rank_r: int) -> GapResult:
    return GapResult(
        claim=claim,
        oracle_energy=oracle_energy,
        energy_gap=claim.energy - oracle_energy,
        oracle_index=index,
        exhausted=oracle_energy > EXHAUSTED,
        trivial=index < 0 or len(claim.used) <= rank_r,
    )


def _scores(spans: Floats, claim: Floats) -> Floats:
    # Equal spans must have equal scores; the last bits of a matrix product depend on a row's place.
    scores: Floats = (spans * claim).sum(axis=1)
    return scores


def _nearest(spans: Floats, scores: Floats, top_k: int) -> NDArray[np.intp]:
    """Return the indices of the ``top_k`` best spans, best first, without zeros; coordinates break ties."""
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    if (ranked[1:] == ranked[:-1]).any():
        by_content = sorted(range(len(scores)), key=lambda i: (-scores[i], spans[i].tobytes()))
        order = np.array(by_content, dtype=np.intp)
    return order[spans[order].any(axis=1)][:top_k]


def _vector_oracle(spans: Floats, oracle: Oracle) -> int:
    """Return the index of the oracle, or -1. Spans are summed in a fixed order, because the order changes sums."""
    if oracle != "medoid":
        there = np.flatnonzero(spans.any(axis=1))
        return int(there[0]) if oracle == "first" and there.size else -1
    order = sorted(range(len(spans)), key=lambda i: spans[i].tobytes())
    ranked = spans[order]
    # The mean cosine to all spans is the product with their mean, which needs no n x n matrix.
    index = _medoid(np.flatnonzero(ranked.any(axis=1)), ranked @ ranked.mean(axis=0)) if len(ranked) else -1
    return order[index] if index >= 0 else -1


def _product_oracle(gram: Floats, oracle: Oracle) -> int:
    there = np.flatnonzero(np.diag(gram) > 0.0)
    if oracle == "none" or not there.size:
        return -1
    if oracle == "first":
        return int(there[0])
    return _medoid(there, gram.mean(axis=1))


def _medoid(there: NDArray[np.intp], means: Floats) -> int:
    """Return the first index of ``there`` with the largest mean cosine, or -1 if ``there`` is empty."""
    if not there.size:
        return -1
    return int(there[np.argmax(means[there] >= means[there].max() - _SAME)])


def _claim(where: str, claim_vec: ArrayLike) -> Floats:
    claim = numbers(where, claim_vec, 1)
    require_unit(where, lengths(claim[None]), within=_LENGTH)
    return claim


def _spans(where: str, evidence_vecs: ArrayLike, width: int) -> Floats:
    array = array_of(where, evidence_vecs)
    if array.size == 0:
        return np.empty((0, width))
    spans = numbers(where, array, 2)
    if spans.shape[1] != width:
        raise GateError(f"{where}: got the width {spans.shape[1]}; allowed: {width}, the claim's")
    require_unit(where, lengths(spans), within=_LENGTH, zero=True)
    return spans


def _products(cross: ArrayLike, gram: ArrayLike) -> tuple[Floats, Floats]:
    if array_of("cross", cross).size == array_of("gram", gram).size == 0:
        return np.empty(0), np.empty((0, 0))
    x, G = numbers("cross", cross, 1), numbers("gram", gram, 2)
    if G.shape != (x.size, x.size):
        raise GateError(f"gram: got the shape {G.shape}; allowed: {(x.size, x.size)}, as many as in cross")
    with np.errstate(over="ignore"):
        skew = np.abs(G - G.T)
    if (skew > _SYMMETRIC).any():
        raise GateError("gram: got different products for the same two spans; allowed: a symmetric matrix")
    require_unit("gram", np.sqrt(np.abs(np.diag(G))), within=_LENGTH, zero=True)
    if (largest := float(np.abs(G).max())) > (1.0 + _LENGTH) ** 2 + _SYMMETRIC:
        raise GateError(
            f"gram: got a product of {largest:.6g}; allowed: at most 1, of two vectors of length 1"
        )
    return x, G


def _square_of_claim(claim_square: float) -> float:
    square = numbers("claim_square", [claim_square], 1)
    require_unit("claim_square", np.sqrt(np.maximum(square, 0.0)), within=_LENGTH)
    return float(square[0])


def _at_least_one(where: str, value: int) -> int:
    try:
        return max(1, int(value))
    except (TypeError, ValueError, OverflowError):
        raise GateError(f"{where}: got {value!r}; allowed: a whole number") from None


def _oracle(name: str) -> Oracle:
    for oracle in get_args(Oracle):
        if name == oracle:
            return oracle  # type: ignore[no-any-return]
    raise GateError(f"oracle: got {name!r}; allowed: {', '.join(get_args(Oracle))}")
