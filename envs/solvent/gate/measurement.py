"""Layer 2, measurement: how much of a claim its evidence leaves unexplained. A diagnostic, not a truth score.

For a claim ``c`` and evidence spans ``E``, all of length 1: take the ``top_k`` spans nearest to ``c`` by cosine, the
leading ``rank_r`` directions ``V_r`` of what they span (singular value decomposition), and measure

    explained = ||V_r^T c||^2      energy = ||c - V_r V_r^T c||^2      identity_error = |1 - (explained + energy)|

Energy is 0 where the spans explain the claim, 1 where they are orthogonal to it or where there are none. The oracle is
one of the spans, measured as if it were the claim; ``energy_gap = energy - oracle_energy``.

Source: *Deterministic Policy Gates for Stochastic Systems*, "Core Metric" and "The Oracle Gap". Added to it: small
singular values are cut (see ``subspace``), and the oracle is the medoid, the span with the most cosine to all others.

Order: in the vector form spans of equal cosine are sorted by their coordinates, so the order in which they are given
doesn't matter. The Gram form has no coordinates, and takes spans of exactly equal cosine in the given order.

Known approximations: duplicates weigh more in the decomposition, so with more spans than rank they can change which
directions count (with no more spans than rank they change nothing). With no more spans than rank the oracle's energy
is 0, and the gap is the energy (``trivial``).
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

# A claim whose length is off by less than this is measured, and the identity error shows it (0.01 is off by 0.5 %).
_LENGTH = 0.1
_SAME = 1e-9  # mean cosines closer than this are equal, and the medoid is the first of them
_SYMMETRIC = 1e-6


@dataclass(frozen=True)
class EnergyResult:
    """One claim measured against its evidence.

    Attributes:
        energy: unexplained share of the claim, 0 to 1, from the residual vector.
        explained: explained share, from the coefficients.
        identity_error: ``|1 - (explained + energy)|`` before either is held to 0..1; above 0.01 nothing is to be
            believed of the vectors.
        effective_rank: directions in use, at most ``rank_r``.
        singular_values: of the chosen spans, largest first, those that were cut included.
        topk_scores: cosines of the chosen spans, best first.
        used: indices of the chosen spans, best first; spans of all zeros are never chosen.
        span_count: spans given.
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
        energy_gap: the claim's energy less the oracle's, -1 to 1.
        oracle_index: index of the span, -1 for none.
        exhausted: ``oracle_energy > 0.01``: the evidence does not even explain its own span.
        trivial: no more spans than rank, or no oracle: its energy is 0 and the gap is the energy.
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
    """Measure a claim [d] against evidence [n, d], all of length 1. No evidence: energy 1.

    Rows of all zeros span nothing and are left out. ``top_k`` and ``rank_r`` below 1 count as 1.
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
    """The same from inner products: ``cross`` [n] of spans and claim, ``gram`` [n, n] of the spans.

    ``claim_square`` is the claim's product with itself. Agrees with ``hallucination_energy`` to 1e-6; singular values
    below 1e-7 of the largest are noise.
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
    """A claim's energy less that of an oracle: the spans' ``medoid``, the ``first`` (the source's) or ``none``."""
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
    """``oracle_gap`` from inner products alone; arguments and errors as of ``gram_energy``."""
    x, G = _products(cross, gram)
    top_k, rank_r = _at_least_one("top_k", top_k), _at_least_one("rank_r", rank_r)
    measured = _by_products(x, G, top_k, rank_r, _square_of_claim(claim_square))
    index = _product_oracle(G, _oracle(oracle))
    energy = _by_products(G[index], G, top_k, rank_r, G[index, index]).energy if index >= 0 else 0.0
    return _gap(measured, energy, index, rank_r)


# --------------------------------------------------------------------------------------------- measuring


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


# ---------------------------------------------------------------------------------------------- choosing


def _scores(spans: Floats, claim: Floats) -> Floats:
    # Not a matrix product: its last bits depend on a row's place, and equal spans must have equal scores.
    scores: Floats = (spans * claim).sum(axis=1)
    return scores


def _nearest(spans: Floats, scores: Floats, top_k: int) -> NDArray[np.intp]:
    """Indices of the ``top_k`` best spans, best first; equal scores by coordinates, zeros left out."""
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    if (ranked[1:] == ranked[:-1]).any():
        by_content = sorted(range(len(scores)), key=lambda i: (-scores[i], spans[i].tobytes()))
        order = np.array(by_content, dtype=np.intp)
    return order[spans[order].any(axis=1)][:top_k]


def _vector_oracle(spans: Floats, oracle: Oracle) -> int:
    """The index of the oracle, -1 for none. In a fixed order of the spans, since sums depend on their order."""
    if oracle != "medoid":
        there = np.flatnonzero(spans.any(axis=1))
        return int(there[0]) if oracle == "first" and there.size else -1
    order = sorted(range(len(spans)), key=lambda i: spans[i].tobytes())
    ranked = spans[order]
    # The mean cosine to all spans is that with their mean: a product for every pair would outgrow the memory.
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
    """The first of those ``there`` whose mean cosine is the largest, -1 for none."""
    if not there.size:
        return -1
    return int(there[np.argmax(means[there] >= means[there].max() - _SAME)])


# ---------------------------------------------------------------------------------------------- checking


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
