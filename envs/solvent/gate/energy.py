"""The hallucination energy: the share of a claim that its evidence leaves unexplained, and the gap to an oracle.

For a claim ``c`` [d] and evidence ``E`` [n, d], all of length 1, take the ``top_k`` spans nearest to ``c`` by cosine
and the leading ``rank_r`` right singular vectors ``V_r`` of these spans:

    explained = ||V_r^T c||^2      energy = ||c - V_r V_r^T c||^2      identity_error = |1 - (explained + energy)|

An oracle is a control claim that the evidence supports. It is measured like the claim:

    energy_gap = energy - mean(oracle energies)

Source: *Deterministic Policy Gates for Stochastic Systems*, "Core Metric", "The Oracle Gap" and "Research Extensions"
(multi-oracle ensembles). Energy measures verifiability against the given evidence, never truth.

Known approximations: directions whose singular value is below ``CUT`` of the largest are rounding and are left out.
With no more spans than ``rank_r`` an oracle among the spans has energy 0, so that the gap equals the energy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from solvent.errors import SolventError

__all__ = [
    "CUT", "EXHAUSTED", "NAMED_ORACLES", "RANK_R", "TOP_K", "Energy", "Gap", "GateError", "Oracle", "energy_gap",
    "hallucination_energy", "name_of",
]  # fmt: skip

TOP_K = 12
RANK_R = 8
CUT = 1e-4
EXHAUSTED = 0.01
_LENGTH = 0.1  # largest deviation of a vector's length from 1; beyond 0.005 the identity error tells it
_SAME = 1e-9  # mean cosines closer than this are equal, and the first span wins

Floats: TypeAlias = NDArray[np.float64]
Oracle: TypeAlias = str | Callable[[Floats], ArrayLike]
"""``first`` (the document's), ``medoid``, or a function of the evidence [n, d] that returns a unit vector [d]."""


NAMED_ORACLES = ("first", "medoid")
"""The oracles that a name is enough for."""


class GateError(SolventError, ValueError):
    """Input that the gate can't use. The message is one line: what, got what, allowed what."""


class Energy(NamedTuple):
    """One measurement."""

    energy: float  #: unexplained share, 0 to 1; 1 without evidence
    explained: float = 0.0  #: explained share, computed independently
    identity_error: float = 0.0  #: ``|1 - (explained + energy)|``
    rank: int = 0  #: number of directions used
    used: tuple[int, ...] = ()  #: indices of the chosen spans, best first
    scores: tuple[float, ...] = ()  #: their cosines with the claim


class Gap(NamedTuple):
    """A claim's energy relative to its oracles."""

    claim: Energy  #: the claim's own measurement
    oracle_energy: float  #: mean energy of the oracles, 0 to 1; 0 without evidence
    oracle_spread: float  #: standard deviation over the oracles; 0 with a single one
    energy_gap: float  #: the claim's energy minus ``oracle_energy``, -1 to 1

    @property
    def exhausted(self) -> bool:
        """Whether the evidence does not explain its own control claim: ``oracle_energy > 0.01``."""
        return self.oracle_energy > EXHAUSTED


def hallucination_energy(
    claim_vec: ArrayLike, evidence_vecs: ArrayLike, top_k: int = TOP_K, rank_r: int = RANK_R
) -> Energy:
    """Measure a claim [d] against evidence [n, d]. ``top_k`` and ``rank_r`` below 1 count as 1.

    Raises:
        GateError: vectors of different widths, not finite, or not of length 1 (within 10 %).
    """
    claim, spans = np.asarray(claim_vec, dtype=np.float64), np.asarray(evidence_vecs, dtype=np.float64)
    if not spans.size:
        spans = np.empty((0, claim.size))
    if claim.ndim != 1 or spans.ndim != 2 or spans.shape[1] != claim.size:
        raise GateError(f"vectors: got the shapes {claim.shape} and {spans.shape}; allowed: [d] and [n, d]")
    lengths = np.linalg.norm(np.vstack([claim, spans]), axis=1)
    if not (np.abs(lengths - 1.0) <= _LENGTH).all():
        raise GateError("vectors: allowed: finite ones of length 1")
    scores = (spans * claim).sum(axis=1)
    order = np.argsort(-scores, kind="stable")[: max(1, int(top_k))]
    if not order.size:
        return Energy(1.0)
    _, singular, right = np.linalg.svd(spans[order], full_matrices=False)
    rank = min(max(1, int(rank_r)), int((singular >= CUT * singular[0]).sum()))
    basis = right[:rank]
    coefficients = basis @ claim
    rest = claim - basis.T @ coefficients
    explained, energy = float(coefficients @ coefficients), float(rest @ rest)
    error = abs(1.0 - (explained + energy))
    return Energy(
        min(energy, 1.0), explained, error, rank, tuple(order.tolist()), tuple(scores[order].tolist())
    )


def energy_gap(
    claim_vec: ArrayLike,
    evidence_vecs: ArrayLike,
    top_k: int = TOP_K,
    rank_r: int = RANK_R,
    oracle: Oracle | Sequence[Oracle] = "first",
) -> Gap:
    """Measure a claim and its oracle, or the mean of several oracles; arguments as in ``hallucination_energy``."""
    measured = hallucination_energy(claim_vec, evidence_vecs, top_k, rank_r)
    energies = [0.0]
    if measured.used:
        spans = np.asarray(evidence_vecs, dtype=np.float64)
        oracles = [oracle] if isinstance(oracle, str) or callable(oracle) else oracle
        controls = [_control(one, spans) for one in oracles]
        energies = [hallucination_energy(control, spans, top_k, rank_r).energy for control in controls]
    mean = float(np.mean(energies))
    return Gap(measured, mean, float(np.std(energies)), measured.energy - mean)


def name_of(oracle: Oracle | Sequence[Oracle]) -> str:
    """Return the name of an oracle: a text is one, a callable has one, several are joined by ``+``."""
    if isinstance(oracle, str):
        return oracle
    if callable(oracle):
        return str(getattr(oracle, "__name__", type(oracle).__name__))
    return "+".join(map(name_of, oracle))


def _control(oracle: Oracle, spans: Floats) -> ArrayLike:
    if callable(oracle):
        return oracle(spans)
    if oracle == "first":
        return np.asarray(spans[0])
    if oracle == "medoid":
        means = spans @ spans.mean(axis=0)
        return np.asarray(spans[int(np.argmax(means >= means.max() - _SAME))])
    raise GateError(f"oracle: got {oracle!r:.60}; allowed: first, medoid, or a callable")
