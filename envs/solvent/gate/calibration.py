"""Calibration: thresholds from percentiles (the source's), or from a budget for false acceptance of negative controls.

*Percentiles* (source: *Deterministic Policy Gates for Stochastic Systems*, "Adaptive Policy"): sort the gaps of N
claims and cut at ``tau_p = x[ceil(p N / 100)]``. The threshold then accepts p % of those same N claims *by
construction*: the source's table (P10 -> 10 % accepted) holds for any numbers, even random ones. ``held_out_shares``
learns on one half and reports on the other.

*Negative controls* (ours): take claims with evidence of another group (``pairs``), or claims labelled unsupported.
Choose the largest threshold with

    upper(m, N) = I^-1(0.95; m + 1, N - m) <= budget

where m of N negatives are accepted: the exact binomial upper bound of the rate. This is the distribution-free tolerance
limit of an order statistic: with 95 % confidence, the rate on new pairs of the same kind stays within the budget.
``negative_control`` learns on one half and reports on the other with the exact (Clopper-Pearson) bound.

Known approximation: the bounds treat pairs as independent. Splits go by group, but within a side the bound is slightly
too narrow if groups are large.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv

from solvent.gate.errors import GateError
from solvent.gate.pairs import codes_of, split_by_group
from solvent.gate.policy import DECIMALS, Policy, rounded

__all__ = [
    "PERCENTILES",
    "NegativeControl",
    "Rate",
    "acceptance",
    "adaptive_policies",
    "budget_label",
    "clopper_pearson",
    "control_threshold",
    "fewest_negatives",
    "held_out_shares",
    "negative_control",
    "oracle_policy",
    "percentile_thresholds",
    "rate",
    "sample_sha256",
    "upper_bound",
]

PERCENTILES = (1.0, 5.0, 10.0, 20.0, 30.0)
"""The source's percentiles."""

CONFIDENCE = 0.95
"""Confidence that a budget holds."""

_STEP = 10.0**-DECIMALS
_ROUNDING = 1e-9  # 0.07 * 100 is above 7 and 0.29 * 100 below 29; counts must not depend on that

Floats = NDArray[np.float64]
Groups = Sequence[Hashable] | NDArray[Any]


@dataclasses.dataclass(frozen=True)
class Rate:
    """``accepted`` of ``count``, the exact 95 % interval ``low`` to ``high``, and the one-sided bound ``upper``."""

    accepted: int
    count: int
    share: float
    low: float
    high: float
    upper: float


def clopper_pearson(successes: int, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """Return the exact two-sided interval of a rate; 0 to 1 without trials."""
    _require_counts(successes, trials, confidence)
    tail = (1.0 - confidence) / 2.0
    low = float(betaincinv(successes, trials - successes + 1, tail)) if successes else 0.0
    return low, upper_bound(successes, trials, 1.0 - tail)


def upper_bound(successes: int, trials: int, confidence: float = 0.95) -> float:
    """Return the exact one-sided upper bound of a rate; 1 if every trial is a success or there are none."""
    _require_counts(successes, trials, confidence)
    return float(betaincinv(successes + 1, trials - successes, confidence)) if successes < trials else 1.0


def acceptance(values: ArrayLike, tau_accept: float) -> Rate:
    """Return the rate at which a threshold accepts ``values`` [n]."""
    x, tau = _sample("values", values, least=0), rounded(tau_accept)
    if math.isnan(tau):
        raise GateError(f"tau_accept: got {tau_accept!r}; allowed: a finite number")
    return rate(int((x <= tau).sum()), len(x))


def rate(accepted: int, count: int) -> Rate:
    """Return the rate of ``accepted`` among ``count``, with its exact intervals."""
    low, high = clopper_pearson(accepted, count)
    share = accepted / count if count else 0.0
    return Rate(accepted, count, share, low, high, upper_bound(accepted, count))


def fewest_negatives(budget: float) -> int:
    """Return the number of negatives that a budget needs: none of them passes, and the bound is the budget."""
    if not 0.0 < budget < 1.0:
        raise GateError(f"budget: got {budget!r}; allowed: a number between 0 and 1")
    return math.ceil(math.log(1.0 - CONFIDENCE) / math.log1p(-budget))


def percentile_thresholds(
    values: ArrayLike, percentiles: Sequence[float] = PERCENTILES
) -> dict[float, float]:
    """Return the threshold at each percentile, always one of ``values`` [n], to 6 decimals (the source's procedure)."""
    return _percentiles(np.sort(_sample("values", values)), percentiles)


def _percentiles(x: Floats, percentiles: Sequence[float]) -> dict[float, float]:
    for p in percentiles:
        if not 0.0 < p <= 100.0:
            raise GateError(f"percentiles: got {p!r}; allowed: above 0, up to 100")
    return {float(p): float(x[max(math.ceil(p * len(x) / 100.0 - _ROUNDING), 1) - 1]) for p in percentiles}


def held_out_shares(
    values: ArrayLike,
    groups: Groups | None = None,
    percentiles: Sequence[float] = PERCENTILES,
    *,
    splits: int = 1,
    seed: int = 0,
) -> dict[float, list[float]]:
    """Return, by percentile, the shares of one half that a threshold learnt on the other accepts, one per split.

    Groups stay whole. Split i is drawn with the seed ``seed + i``.
    """
    x = _sample("values", values)
    codes = codes_of(groups, len(x))
    shares: dict[float, list[float]] = {float(p): [] for p in percentiles}
    for split in range(splits):
        learn, report = split_by_group(codes, np.random.default_rng(seed + split))
        for p, tau in _percentiles(np.sort(x[learn]), percentiles).items():
            shares[p].append(int((x[report] <= tau).sum()) / len(report))
    return shares


def adaptive_policies(
    gaps: ArrayLike,
    *,
    domain: str,
    model: str,
    percentiles: Sequence[float] = PERCENTILES,
    **fields: Any,
) -> tuple[Policy, ...]:
    """Return ``adaptive.P<p>.v1`` for each percentile; ``fields`` are other fields of ``Policy``, or ``version``."""
    sample = {"calibration_sha256": sample_sha256(gaps), "calibration_count": np.size(gaps)}
    return tuple(
        Policy.learnt(label(p), tau, domain=domain, model=model, **(sample | fields))
        for p, tau in percentile_thresholds(gaps, percentiles).items()
    )


def label(percentile: float) -> str:
    """Return ``P10``, or ``P2_5`` for 2.5 %, because dots separate the parts of a policy's name."""
    return f"P{percentile:g}".replace(".", "_")


def budget_label(budget: float) -> str:
    """Return ``FA5`` for a budget of 5 % false acceptance."""
    return "FA" + label(100.0 * budget)[1:]


def oracle_policy(
    oracle_energies: ArrayLike, *, domain: str, model: str, k: float = 2.0, version: int = 1, **fields: Any
) -> Policy:
    """Return a policy that accepts energies up to ``mean + k sigma`` of the oracles' energies.

    It reviews up to ``mean + 1.25 k sigma``; ``sigma`` is the sample's (n - 1). Source: "Gap > k sigma from oracle
    mean", which calls k = 2 "safe".
    """
    x = _sample("oracle_energies", oracle_energies, least=2)
    if not (math.isfinite(k) and k > 0.0):
        raise GateError(f"k: got {k!r}; allowed: a number above 0")
    mean, reach = float(x.mean()), k * float(x.std(ddof=1))
    sample: dict[str, Any] = {"calibration_sha256": sample_sha256(x), "calibration_count": len(x)}
    return Policy(
        name=f"oracle.{label(k).replace('P', 'k')}.v{version}",
        kind="oracle",
        tau_accept=rounded(mean + reach),
        tau_review=rounded(mean + 1.25 * reach),
        measure="energy",
        domain=domain,
        model=model,
        **(sample | fields),
    )


@dataclasses.dataclass(frozen=True)
class NegativeControl:
    """A threshold learnt under a budget, and its rates on pairs that it was not learnt from.

    Attributes:
        tau_accept: the threshold.
        budget: share of negatives that may be accepted.
        confidence: confidence that the budget holds.
        learnt: acceptance of the negatives used for learning.
        negatives: acceptance of the held-out negatives; ``negatives.upper`` is the bound to quote.
        positives: acceptance of the held-out matched claims, or None if none were given.
        calibration_sha256: hash of the negatives used for learning.
    """

    tau_accept: float
    budget: float
    confidence: float
    learnt: Rate
    negatives: Rate
    positives: Rate | None
    calibration_sha256: str

    def policy(self, kind: str, promise: str, *, domain: str, model: str, **fields: Any) -> Policy:
        """Return ``adaptive.FA5.<kind>.v1`` for a budget of 5 % false acceptance of negatives of this kind.

        ``promise`` says what holds for which negatives; ``fields`` as in ``Policy.learnt``.
        """
        sample = {"calibration_sha256": self.calibration_sha256, "calibration_count": self.learnt.count}
        label = f"{budget_label(self.budget)}.{kind}"
        about: dict[str, Any] = {"domain": domain, "model": model, "promise": promise}
        return Policy.learnt(label, self.tau_accept, **(about | sample | fields))


def control_threshold(negatives: ArrayLike, budget: float) -> float:
    """Return the largest threshold that keeps accepted negatives within the budget, just below the next negative.

    Args:
        negatives: gaps or energies [n] of mismatched or unsupported claims.
        budget: share that may be accepted, between 0 and 1.

    Raises:
        GateError: the budget or the confidence is not between 0 and 1, or the negatives are too few for it.
    """
    x = np.sort(_sample("negatives", negatives))
    fewest = fewest_negatives(budget)
    allowed = _allowed(len(x), budget)
    if allowed < 0:
        raise GateError(
            f"negatives: got {len(x)}, too few to be sure of {budget:g}; allowed: {fewest} or more"
        )
    return rounded(float(x[allowed]) - _STEP)


def _allowed(count: int, budget: float) -> int:
    """Return the number of ``count`` negatives that may be accepted, or -1 if not even 0 is safe."""
    low, high = -1, count - 1
    while low < high:  # bisection, since the bound rises with the count
        middle = (low + high + 1) // 2
        low, high = (middle, high) if upper_bound(middle, count, CONFIDENCE) <= budget else (low, middle - 1)
    return low


def negative_control(
    negatives: ArrayLike,
    groups: Groups | None = None,
    *,
    budget: float = 0.05,
    positives: ArrayLike | None = None,
    positive_groups: Groups | None = None,
    seed: int = 0,
) -> NegativeControl:
    """Learn a threshold on one half of the negatives, with 95 % confidence, and report it on the other.

    Args:
        negatives: gaps or energies [n] of mismatched or unsupported claims.
        groups: group labels [n]; None puts each claim in its own group.
        budget: share of negatives that may be accepted.
        positives: the same measure of matched claims [m]. The report leaves out those of groups used for learning.
        positive_groups: group labels [m] of the positives, required with ``groups``.
        seed: seed of the split.
    """
    x = _sample("negatives", negatives, least=2)
    learn, report = split_by_group(codes_of(groups, len(x)), np.random.default_rng(seed))
    tau = control_threshold(x[learn], budget)
    matched = None
    if positives is not None:
        y = _sample("positives", positives)
        matched = acceptance(y[_unseen(groups, learn, positive_groups, len(y))], tau)
    return NegativeControl(
        tau_accept=tau,
        budget=float(budget),
        confidence=CONFIDENCE,
        learnt=acceptance(x[learn], tau),
        negatives=acceptance(x[report], tau),
        positives=matched,
        calibration_sha256=sample_sha256(x[learn]),
    )


def _unseen(
    groups: Groups | None, learn: NDArray[np.int64], positive_groups: Groups | None, count: int
) -> NDArray[np.bool_]:
    if groups is None:
        return np.ones(count, dtype=bool)
    if positive_groups is None or len(positive_groups) != count:
        raise GateError(f"positive_groups: allowed: one label a positive, {count}, as groups is given")
    seen = {groups[i] for i in learn}
    return np.array([group not in seen for group in positive_groups], dtype=bool)


def sample_sha256(values: ArrayLike) -> str:
    """Return the SHA-256 of a calibration set: its values to 6 decimals, sorted so that their order doesn't matter."""
    x = np.sort(_sample("values", values))
    return hashlib.sha256("\n".join(f"{value:.{DECIMALS}f}" for value in x).encode("ascii")).hexdigest()


def _sample(where: str, values: ArrayLike, least: int = 1) -> Floats:
    """Return a copy [n], finite and rounded to ``DECIMALS``."""
    try:
        x = np.asarray(values)
    except (TypeError, ValueError):
        x = np.empty((0, 0))
    real = x.dtype.kind in "fiu" or x.size == 0
    if not real or x.ndim != 1 or len(x) < least or not np.isfinite(x).all():
        raise GateError(f"{where}: allowed: {least} or more finite numbers in one row")
    return np.array([rounded(value) for value in x], dtype=np.float64)


def _require_counts(successes: int, trials: int, confidence: float) -> None:
    if not 0 <= successes <= trials:
        raise GateError(f"successes: got {successes!r} of {trials!r}; allowed: 0 to the number of trials")
    if not 0.0 < confidence < 1.0:
        raise GateError(f"confidence: got {confidence!r}; allowed: a number between 0 and 1")
