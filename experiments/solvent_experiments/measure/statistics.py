"""Statistics over runs and episodes: interquartile mean, bootstrap intervals, performance profiles.

Definitions follow Agarwal et al. 2021, *Deep Reinforcement Learning at the Edge of the Statistical Precipice*, and
their library ``rliable``. Scores are arrays of shape ``(runs, tasks)``; tasks are the strata within which runs are
resampled.

An agent of an experiment is a list of *groups*: the returns of its evaluation episodes, one group per training seed
(a single group for a script). ``interval`` resamples groups and the episodes within them, so it covers the luck of
both training and evaluation. Few seeds make it coarse: three have only ten different resamples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Bootstrap",
    "Interval",
    "difference",
    "improvement_interval",
    "interquartile_mean",
    "interval",
    "mean_interval",
    "performance_profile",
    "probability_of_improvement",
    "profile_band",
    "ratio",
    "share_difference",
    "share_interval",
    "stratified_bootstrap",
]

Floats = NDArray[np.float64]
CHUNK = 4_000_000  # numbers held at once


class Interval(NamedTuple):
    """A point estimate and its percentile bootstrap interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Bootstrap:
    """Settings of a percentile bootstrap: number of resamples, confidence level and seed."""

    repetitions: int = 2000
    confidence: float = 0.95
    seed: int = 0

    def ends(self, draws: Floats) -> Any:
        """Return the interval's ends; for draws of shape ``(repetitions, n)``, those of each column."""
        tail = 100 * (1 - self.confidence) / 2
        return np.percentile(draws, (tail, 100 - tail), axis=0)

    def interval(self, value: float, draws: Floats) -> Interval:
        """Return ``value`` with the interval of its draws."""
        low, high = self.ends(draws)
        return Interval(value, float(low), float(high))

    def defined(self, value: float, draws: Floats) -> Interval:
        """Return ``value`` with the interval of the draws that are not NaN; NaN if all are."""
        draws = draws[~np.isnan(draws)]
        return self.interval(value, draws) if len(draws) else Interval(np.nan, np.nan, np.nan)


BOOTSTRAP = Bootstrap()


def interquartile_mean(scores: Any, axis: int | None = None) -> Any:
    """Return the mean without the ``floor(n / 4)`` scores at either end, as ``scipy.stats.trim_mean`` does."""
    values = np.asarray(scores, dtype=np.float64)
    values = values.ravel() if axis is None else np.moveaxis(values, axis, 0)
    n = values.shape[0]
    if n == 0:
        raise ValueError("scores: got none; allowed: at least one")
    cut = n // 4
    middle = np.partition(values, (cut, n - cut - 1), axis=0)[cut : n - cut].mean(axis=0)
    return float(middle) if np.ndim(middle) == 0 else middle


def stratified_bootstrap(
    scores: Any,
    statistic: Callable[[Floats], float] = interquartile_mean,
    bootstrap: Bootstrap = BOOTSTRAP,
) -> Interval:
    """Return a statistic of ``scores``, shape ``(runs, tasks)``, with its interval; runs are resampled by task."""
    matrix = _matrix(scores)
    rng = np.random.default_rng(bootstrap.seed)
    draws = np.array([statistic(_drawn(matrix, rng)) for _ in range(bootstrap.repetitions)])
    return bootstrap.interval(float(statistic(matrix)), draws)


def interval(groups: Sequence[Any], bootstrap: Bootstrap = BOOTSTRAP) -> Interval:
    """Return the interquartile mean of all scores; its interval resamples groups and the scores within each.

    The scores are sorted once, and a resample only counts them.
    """
    sizes = _sizes(groups)
    if not sizes or min(sizes) == 0:
        raise ValueError(f"groups: got sizes {sizes}; allowed: at least one group, none empty")
    return bootstrap.interval(*_middle_draws(groups, bootstrap))


def mean_interval(groups: Sequence[Any], bootstrap: Bootstrap = BOOTSTRAP) -> Interval:
    """Return the mean with the same interval, for counts and shares, whose middle half says little."""
    return bootstrap.interval(*_mean_draws(groups, bootstrap))


def difference(
    first: Sequence[Any], second: Sequence[Any], *, middle: bool = False, bootstrap: Bootstrap = BOOTSTRAP
) -> Interval:
    """Return the mean of ``second`` minus that of ``first``, each resampled independently as in ``interval``.

    With ``middle``, the difference is that of interquartile means.
    """
    of = _middle_draws if middle else _mean_draws
    (a, draws_a), (b, draws_b) = of(first, bootstrap), of(second, bootstrap, stream=1)
    return bootstrap.interval(b - a, draws_b - draws_a)


def ratio(first: Sequence[Any], second: Sequence[Any], bootstrap: Bootstrap = BOOTSTRAP) -> Interval:
    """Return the interquartile mean of ``first`` over that of ``second``, each resampled independently."""
    (a, draws_a), (b, draws_b) = _middle_draws(first, bootstrap), _middle_draws(second, bootstrap, stream=1)
    return bootstrap.interval(a / b, draws_a / draws_b)


def share_interval(parts: Sequence[Any], wholes: Sequence[Any], bootstrap: Bootstrap = BOOTSTRAP) -> Interval:
    """Return the sum of ``parts`` over that of ``wholes`` with the same interval; NaN if the wholes sum to 0."""
    return bootstrap.defined(*_share_draws((parts, wholes), bootstrap))


def share_difference(
    first: tuple[Sequence[Any], Sequence[Any]],
    second: tuple[Sequence[Any], Sequence[Any]],
    *,
    paired: bool,
    bootstrap: Bootstrap = BOOTSTRAP,
) -> Interval:
    """Return the share of ``second`` minus that of ``first``, each ``(parts, wholes)`` by training seed.

    With ``paired``, both have the same seeds, which are resampled together. The result is NaN if a whole is 0.
    """
    if paired:
        return bootstrap.defined(*_paired_draws(first, second, bootstrap))
    (a, draws_a), (b, draws_b) = _share_draws(first, bootstrap), _share_draws(second, bootstrap, stream=1)
    return bootstrap.defined(b - a, draws_b - draws_a)


def performance_profile(scores: Any, thresholds: Any) -> Floats:
    """Return the share of scores above each of ``thresholds``."""
    ordered = np.sort(np.asarray(scores, np.float64), axis=None)
    above = ordered.size - np.searchsorted(ordered, np.asarray(thresholds, np.float64), side="right")
    profile: Floats = above / ordered.size
    return profile


def probability_of_improvement(first: Any, second: Any) -> float:
    """Return the probability that a score of ``first`` exceeds one of ``second``, mean over tasks; ties count half."""
    a, b = _matrix(first), _matrix(second)
    shares = []
    for task in range(a.shape[1]):
        ordered = np.sort(b[:, task])
        below = np.searchsorted(ordered, a[:, task], side="left")
        not_above = np.searchsorted(ordered, a[:, task], side="right")
        shares.append(float((below + not_above).mean()) / (2 * ordered.size))
    return float(np.mean(shares))


def improvement_interval(first: Any, second: Any, bootstrap: Bootstrap = BOOTSTRAP) -> Interval:
    """Return ``probability_of_improvement`` with its stratified bootstrap interval."""
    matrices = [_matrix(first), _matrix(second)]
    rng = np.random.default_rng(bootstrap.seed)
    draws = [
        probability_of_improvement(*(_drawn(matrix, rng) for matrix in matrices))
        for _ in range(bootstrap.repetitions)
    ]
    return bootstrap.interval(probability_of_improvement(*matrices), np.array(draws))


def profile_band(
    groups: Sequence[Any], thresholds: Any, bootstrap: Bootstrap = BOOTSTRAP
) -> tuple[Floats, Floats, Floats]:
    """Return the ``performance_profile`` of all scores and the ends of its pointwise band.

    Only groups are resampled: with a thousand episodes each, their scores vary little beside the trainings.
    """
    profiles = np.array([performance_profile(group, thresholds) for group in groups])
    weights = np.array(_sizes(groups), np.float64)
    times = np.random.default_rng(bootstrap.seed).multinomial(
        len(groups), np.full(len(groups), 1 / len(groups)), bootstrap.repetitions
    )
    drawn = times * weights
    low, high = bootstrap.ends(drawn @ profiles / drawn.sum(axis=1, keepdims=True))
    return weights @ profiles / weights.sum(), low, high


# -- draws


def _matrix(scores: Any) -> Floats:
    """Return scores of shape ``(runs, tasks)``; a single dimension means one task."""
    matrix = np.asarray(scores, np.float64)
    return matrix[:, None] if matrix.ndim == 1 else matrix


def _drawn(matrix: Floats, rng: np.random.Generator) -> Floats:
    return np.take_along_axis(matrix, rng.integers(0, len(matrix), matrix.shape), axis=0)


def _sizes(groups: Sequence[Any]) -> list[int]:
    return [len(group) for group in groups]


def _pooled(groups: Sequence[Any]) -> Floats:
    return np.concatenate([np.asarray(group, np.float64) for group in groups])


def _middle_draws(groups: Sequence[Any], bootstrap: Bootstrap, stream: int = 0) -> tuple[float, Floats]:
    pooled = _pooled(groups)
    order = np.argsort(pooled, kind="stable")
    draws = [
        _trimmed_means(pooled[order], counts[:, order])
        for counts in _counts(_sizes(groups), bootstrap, stream)
    ]
    return interquartile_mean(pooled), np.concatenate(draws)


def _mean_draws(groups: Sequence[Any], bootstrap: Bootstrap, stream: int = 0) -> tuple[float, Floats]:
    pooled = _pooled(groups)
    draws = [counts @ pooled / counts.sum(axis=1) for counts in _counts(_sizes(groups), bootstrap, stream)]
    return float(pooled.mean()), np.concatenate(draws)


def _share_draws(
    share: tuple[Sequence[Any], Sequence[Any]], bootstrap: Bootstrap, stream: int = 0
) -> tuple[float, Floats]:
    """Return the share and its resamples; NaN where the whole is 0."""
    part, whole = map(_pooled, share)
    draws = [_share(counts @ part, counts @ whole) for counts in _counts(_sizes(share[0]), bootstrap, stream)]
    return float(_share(part.sum(), whole.sum())), np.concatenate(draws) if draws else np.empty(0)


def _paired_draws(
    first: tuple[Sequence[Any], Sequence[Any]],
    second: tuple[Sequence[Any], Sequence[Any]],
    bootstrap: Bootstrap,
) -> tuple[float, Floats]:
    """Return the difference of two shares and its resamples; each group holds a seed's episodes of both."""

    part_a, whole_a = (
        _pooled(
            [np.append(mine, np.zeros(len(other))) for mine, other in zip(values, second[0], strict=True)]
        )
        for values in first
    )
    part_b, whole_b = (
        _pooled([np.append(np.zeros(len(other)), mine) for mine, other in zip(values, first[0], strict=True)])
        for values in second
    )
    sizes = [len(a) + len(b) for a, b in zip(first[0], second[0], strict=True)]
    value = float(_share(part_b.sum(), whole_b.sum()) - _share(part_a.sum(), whole_a.sum()))
    draws = [
        _share(counts @ part_b, counts @ whole_b) - _share(counts @ part_a, counts @ whole_a)
        for counts in _counts(sizes, bootstrap)
    ]
    return value, np.concatenate(draws)


def _share(part: Any, whole: Any) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.asarray(whole) > 0, np.divide(part, whole), np.nan)


def _counts(sizes: Sequence[int], bootstrap: Bootstrap, stream: int = 0) -> Iterator[Floats]:
    """Yield how often each pooled score was drawn, in chunks of shape ``(repetitions, sum(sizes))``."""
    rng = np.random.default_rng(bootstrap.seed + stream)
    total = sum(sizes)
    step = max(1, CHUNK // max(1, total))
    for first in range(0, bootstrap.repetitions, step):
        rows = min(step, bootstrap.repetitions - first)
        times = rng.multinomial(len(sizes), np.full(len(sizes), 1 / len(sizes)), size=rows)
        counts = np.empty((rows, total))
        at = 0
        for group, size in enumerate(sizes):
            for row in range(rows):
                n = int(times[row, group]) * size
                counts[row, at : at + size] = (
                    np.bincount(rng.integers(0, size, n), minlength=size) if n else 0
                )
            at += size
        yield counts


def _trimmed_means(ordered: Floats, counts: Floats) -> Floats:
    """Return the interquartile mean of each row of ``counts``, the multiplicities of the sorted scores."""
    after = np.cumsum(counts, axis=1)
    totals = after[:, -1:]
    cut = np.floor(totals / 4)
    kept = np.clip(after, cut, totals - cut) - np.clip(after - counts, cut, totals - cut)
    means: Floats = kept @ ordered / (totals - 2 * cut)[:, 0]
    return means
