"""Calibration: thresholds from percentiles (the source's), or from a budget for false acceptance of negatives.

*Percentiles* (source: *Deterministic Policy Gates for Stochastic Systems*, "Adaptive Policy"): sort the gaps of N
claims and cut at ``tau_p = x[ceil(p N / 100)]``. The threshold then accepts p % of those same N claims *by
construction*: the source's table (P10 -> 10 % accepted) holds for any numbers, even random ones. So a sweep also tells
the share of held-out claims that a threshold accepts, learnt on one half and counted on the other.

*Oracle-relative*: energies up to ``mean + k sigma`` of the oracles' energies ("Gap > k sigma from oracle mean").

*Budgets* (ours): take claims that must not pass, such as those with the evidence of another page or those that people
decline, and choose the largest threshold with

    upper(m, N) = I^-1(0.95; m + 1, N - m) <= budget

where m of N negatives are accepted: the exact binomial upper bound. With 95 % confidence the rate on new claims of the
same kind stays within the budget; nothing follows for other kinds.

Known approximations: the bounds treat claims as independent; splits go by group. Mismatched evidence may support a
claim by chance, and then counts as a false acceptance.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from solvent.gate.data import Sample, other_page, split_by_group
from solvent.gate.embedding import Embedder
from solvent.gate.energy import EXHAUSTED, Gap, GateError, Oracle, energy_gap
from solvent.gate.policy import DECIMALS, SEVERITY, Policy, apply_adaptive_policy_gap, review_limit, rounded
from solvent.gate.reading import read_evidence

__all__ = [
    "CONFIDENCE", "PERCENTILES", "Measured", "adaptive_policies", "checklist", "control_threshold",
    "fewest_negatives", "label_of", "measured", "oracle_policy", "percentile_thresholds", "rank_of", "summary",
    "upper_bound",
]  # fmt: skip

PERCENTILES = (1.0, 5.0, 10.0, 20.0, 30.0)
"""The source's percentiles."""
CONFIDENCE = 0.95
"""Confidence that a budget holds."""
SPLITS = 100
RUNS = 100

Floats: TypeAlias = NDArray[np.float64]


class Measured(NamedTuple):
    """One claim, its numbers to 6 decimals."""

    sample: Sample
    energy: float
    oracle_energy: float
    energy_gap: float
    random_gap: float  #: with the evidence of another group's claim
    cosine: float  #: of its nearest span


def measured(
    samples: Sequence[Sample],
    embedder: Embedder,
    *,
    oracle: Oracle | Sequence[Oracle] = "first",
    seed: int = 0,
) -> list[Measured]:
    """Measure claims with their own evidence and with that of other claims, drawn by ``seed``."""
    rows = []
    for sample, other in zip(samples, other_page(samples, seed), strict=True):
        own, random = (_gap(one, embedder, oracle) for one in (sample, other))
        values = (own.claim.energy, own.oracle_energy, own.energy_gap, random.energy_gap)
        cosine = max(own.claim.scores, default=0.0)
        rows.append(Measured(sample, *(rounded(value) for value in (*values, cosine))))
    return rows


def _gap(sample: Sample, embedder: Embedder, oracle: Oracle | Sequence[Oracle]) -> Gap:
    vectors = embedder.encode([sample.claim, *read_evidence(sample.evidence, embedder).spans])
    return energy_gap(vectors[0], vectors[1:], oracle=oracle)


# -- thresholds ----------------------------------------------------------------------------------


def percentile_thresholds(
    values: ArrayLike, percentiles: Sequence[float] = PERCENTILES
) -> dict[float, float]:
    """Return the threshold at each percentile, always one of ``values`` [n], to 6 decimals (the source's procedure)."""
    x = _sorted(values)
    return {p: float(x[rank_of(p, len(x)) - 1]) for p in percentiles}


def rank_of(percentile: float, count: int) -> int:
    """Return which of ``count`` sorted values is the threshold at a percentile above 0, up to 100; from 1."""
    if not 0.0 < percentile <= 100.0:
        raise GateError(f"percentiles: got {percentile!r}; allowed: above 0, up to 100")
    # 0.07 * 100 is above 7; ranks must not depend on that.
    return max(math.ceil(percentile * count / 100.0 - 1e-9), 1)


def summary(rows: Sequence[Measured], seed: int = 0) -> dict[str, dict[str, Any]]:
    """Return for ``P10`` and its like the threshold, the verdicts on the claims themselves, and the shares accepted.

    ``held_out`` is the share of one half of the claims that a threshold of the other half accepts: mean and central
    95 % of 100 splits. ``random`` is the share of the claims with the evidence of another page.
    """
    gaps, random = (np.array([getattr(row, name) for row in rows]) for name in ("energy_gap", "random_gap"))
    groups, shares = [row.sample.group for row in rows], defaultdict(list)
    for split in range(SPLITS):
        learn, report = split_by_group(groups, np.random.default_rng(seed + split))
        for p, tau in percentile_thresholds(gaps[learn]).items():
            shares[p].append(float((gaps[report] <= tau).mean()))
    by_percentile = {}
    for p, tau in percentile_thresholds(gaps).items():
        verdicts = Counter(apply_adaptive_policy_gap(gap, tau) for gap in gaps)
        by_percentile[label_of("P", p)] = {
            "tau_accept": tau,
            "verdicts": {verdict: verdicts[verdict] for verdict in SEVERITY},
            "held_out": [float(np.mean(shares[p])), *np.quantile(shares[p], (0.025, 0.975)).tolist()],
            "random": float((random <= tau).mean()),
        }
    return by_percentile


def upper_bound(successes: int, trials: int) -> float:
    """Return the exact one-sided 95 % upper bound of a rate; 1 if every trial is a success or there are none."""
    from scipy.special import betaincinv

    if successes >= trials:
        return 1.0
    return float(betaincinv(successes + 1, trials - successes, CONFIDENCE))


def fewest_negatives(budget: float) -> int:
    """Return the number of negatives that a budget needs if none of them passes."""
    if not 0.0 < budget < 1.0:
        raise GateError(f"budget: got {budget!r}; allowed: a number between 0 and 1")
    return math.ceil(math.log(1.0 - CONFIDENCE) / math.log1p(-budget))


def control_threshold(negatives: ArrayLike, budget: float) -> float:
    """Return the largest threshold that keeps accepted negatives within the budget, just below the next negative.

    Raises:
        GateError: the negatives are too few for the budget.
    """
    fewest, count = fewest_negatives(budget), np.size(negatives)
    if count < fewest:
        raise GateError(
            f"negatives: got {count}, too few for a budget of {budget:g}; allowed: {fewest} or more"
        )
    # The bound rises with the count, and at 0 of ``fewest`` it is within the budget.
    allowed = 0
    while allowed + 1 < count and upper_bound(allowed + 1, count) <= budget:
        allowed += 1
    return rounded(float(_sorted(negatives)[allowed]) - 10.0**-DECIMALS)


def _sorted(values: ArrayLike) -> Floats:
    x = np.asarray(values, dtype=np.float64)
    if x.ndim != 1 or not len(x) or not np.isfinite(x).all():
        raise GateError("values: allowed: finite numbers in one row, at least one")
    return np.sort(np.round(x, DECIMALS) + 0.0)


# -- policies ------------------------------------------------------------------------------------


def adaptive_policies(
    gaps: ArrayLike, percentiles: Sequence[float] = PERCENTILES, **about: Any
) -> list[Policy]:
    """Return ``adaptive.P<p>`` for each percentile of ``gaps``; ``about`` are further fields of ``Policy``.

    Among them are the domain, the model and the oracle of the gaps.
    """
    about |= {"kind": "adaptive", "calibration_count": np.size(gaps)}
    return [
        Policy(label=label_of("P", p), tau_accept=tau, **about)
        for p, tau in percentile_thresholds(gaps, percentiles).items()
    ]


def oracle_policy(oracle_energies: ArrayLike, k: float = 2.0, **about: Any) -> Policy:
    """Return a policy that accepts energies up to ``mean + k sigma`` of the oracles', reviews up to 1.25 k sigma."""
    x = _sorted(oracle_energies)
    if len(x) < 2 or not 0.0 < k < math.inf:
        raise GateError(
            f"k, oracle_energies: got {k!r}, {len(x)}; allowed: a number above 0, 2 energies or more"
        )
    mean, reach = float(x.mean()), k * float(x.std(ddof=1))
    if mean + reach > 1.0:
        raise GateError(
            f"k: got {k:g}, a threshold of {mean + reach:g}; allowed: a k that keeps it at 1 or less"
        )
    about |= {"kind": "oracle", "measure": "energy", "calibration_count": len(x)}
    return Policy(
        label=label_of("k", k),
        tau_accept=mean + reach,
        tau_review=min(mean + 1.25 * reach, review_limit(1.0)),
        **about,
    )


def label_of(prefix: str, number: float) -> str:
    """Return ``P10``, or ``P2_5``: dots separate the parts of a policy's name."""
    return f"{prefix}{number:g}".replace(".", "_")


# -- the source's checklist ----------------------------------------------------------------------


def checklist(rows: Sequence[Measured], embedder: Embedder) -> dict[str, tuple[bool, str]]:
    """Return whether claims pass each item of the source's "Empirical Validation Checklist", and what was found.

    Determinism: up to 100 claims are measured again from their text, with an ``embedder`` that has not read them.
    """
    gaps = np.array([row.energy_gap for row in rows])
    taus = percentile_thresholds(gaps)
    rates = [float((gaps <= tau).mean()) for tau in taus.values()]
    rejected = [apply_adaptive_policy_gap(gap, taus[30.0]) for gap in gaps].count("reject") / len(gaps)
    sane = float(np.mean([row.oracle_energy < EXHAUSTED for row in rows]))
    again = [(row, _gap(row.sample, embedder, "first").claim.energy) for row in reversed(rows[:RUNS])]
    moved = sum(rounded(energy) != row.energy for row, energy in again)
    return {
        "monotonicity": (
            all(a < b for a, b in pairwise(rates)),
            f"accepted {', '.join(f'{rate:.1%}' for rate in rates)}; each more than the one before",
        ),
        "non-collapse": (rejected >= 0.6, f"P30 rejects {rejected:.1%}; at least 60%"),
        "stability": (
            len(gaps) >= 100 and float(gaps.var()) < 0.05,
            f"variance {gaps.var():.4f} of {len(gaps)} claims; below 0.05 of 100",
        ),
        "oracle sanity": (sane >= 0.95, f"below {EXHAUSTED:g} in {sane:.1%}; in 95%"),
        "determinism": (not moved, f"{moved} of {len(again)} energies moved; none"),
    }
