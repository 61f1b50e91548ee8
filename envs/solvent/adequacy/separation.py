"""How well a number tells two groups apart, and what it explains of the difference between them.

The area under the ROC curve for values s of positives and negatives, ties counted half:

    AUROC = P(s+ > s-) + P(s+ = s-) / 2.

How much of the difference in an outcome between the groups a discrete score explains: with d the raw difference and d_s
the one among those of score s, weighted by m_s = n_s+ n_s- / n_s (Mantel and Haenszel),

    explained = 1 - (sum_s m_s d_s / sum_s m_s) / d.

It is 0 where the groups differ as much within each score, 1 where they no longer do, and negative where they differ
more. Every value has a percentile bootstrap interval: cases are drawn with replacement, seeded; where cases come in
clusters (several answers to one question), clusters are drawn whole.

Source: the usual definitions. Known approximation: the strata count as they are; a score that splits the cases into
strata of one group alone leaves nothing to compare, and such strata are left out. Resamples of clusters differ in size.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from solvent.adequacy.agreement import CONFIDENCE, RESAMPLES, Estimate
from solvent.adequacy.errors import AdequacyError

__all__ = ["auroc_estimate", "explained_estimate", "mean_estimate"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def auroc_estimate(values: Floats, positive: Bools, clusters: Sequence[Hashable] | None = None) -> Estimate:
    """The area under the ROC curve of ``values`` [n] for telling the positive ones; ``clusters`` [n] are drawn whole.

    Raises:
        AdequacyError: unequal lengths, or one group alone.
    """
    _require_groups(positive, len(values))
    found = [_auroc(values[rows], positive[rows]) for rows in _resamples(len(values), clusters)]
    return _estimate(_auroc(values, positive), np.array(found))


def explained_estimate(
    scores: Floats, positive: Bools, outcome: Bools, clusters: Sequence[Hashable] | None = None
) -> Estimate:
    """Share of the negatives' advantage in ``outcome`` [n] that ``scores`` [n] explain.

    NaN where they have no advantage, or no score is shared by the groups.

    Raises:
        AdequacyError: unequal lengths, or one group alone.
    """
    _require_groups(positive, len(scores), len(outcome))
    draws = _resamples(len(scores), clusters)
    shares = [_share(scores[rows], positive[rows], outcome[rows]) for rows in draws]
    return _estimate(_share(scores, positive, outcome), np.array(shares))


def mean_estimate(values: Floats, clusters: Sequence[Hashable] | None = None) -> Estimate:
    """The mean of ``values`` [n]."""
    means = [values[rows].mean() for rows in _resamples(len(values), clusters)]
    return _estimate(values.mean(), np.array(means))


def _auroc(values: Floats, positive: Bools) -> float:
    """The area by mean ranks; NaN of one group alone."""
    n = int(positive.sum())
    pairs = n * (len(positive) - n)
    above = stats.rankdata(values)[positive].sum() - n * (n + 1) / 2
    return float(above / pairs) if pairs else math.nan


def _share(scores: Floats, positive: Bools, outcome: Bools) -> float:
    raw = _advantage(positive, outcome)
    weight = total = 0.0
    for value in np.unique(scores):
        at = scores == value
        within = _advantage(positive[at], outcome[at])
        if not math.isnan(within):
            m = positive[at].sum() * (~positive[at]).sum() / at.sum()
            weight, total = weight + m, total + m * within
    return 1.0 - total / weight / raw if raw > 0 and weight else math.nan


def _advantage(positive: Bools, outcome: Bools) -> float:
    if positive.all() or not positive.any():
        return math.nan
    return float(outcome[~positive].mean() - outcome[positive].mean())


def _require_groups(positive: Bools, *lengths: int) -> None:
    if any(length != len(positive) for length in lengths):
        raise AdequacyError(f"groups: got {len(positive)} for {lengths[0]} values; allowed: one for each")
    if positive.all() or not positive.any():
        raise AdequacyError(f"groups: got {positive.sum()} of {len(positive)}; allowed: some of either")


def _resamples(n: int, clusters: Sequence[Hashable] | None) -> list[NDArray[np.int64]]:
    """Cases drawn with replacement, whole clusters of them, the same for every measure."""
    members: dict[Hashable, list[int]] = {}
    for row, name in enumerate(range(n) if clusters is None else clusters):
        members.setdefault(name, []).append(row)
    if sum(map(len, members.values())) != n:
        raise AdequacyError(f"clusters: got other than {n}; allowed: one for each value")
    drawn = np.random.default_rng(0).integers(len(members), size=(RESAMPLES, len(members)))
    rows = [np.array(one, dtype=np.int64) for one in members.values()]
    return [np.concatenate([rows[i] for i in draw]) for draw in drawn]


def _estimate(value: float, resampled: Floats) -> Estimate:
    defined = resampled[~np.isnan(resampled)]
    if math.isnan(value) or not len(defined):
        return Estimate(float(value), math.nan, math.nan)
    tail = (1.0 - CONFIDENCE) / 2.0
    low, high = np.quantile(defined, [tail, 1.0 - tail])
    return Estimate(float(value), float(low), float(high))
