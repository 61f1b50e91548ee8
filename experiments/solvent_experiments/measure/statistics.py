"""Statistics over runs and episodes: interquartile mean, bootstrap intervals, performance profiles.

After Agarwal et al. 2021, *Deep Reinforcement Learning at the Edge of the Statistical Precipice*, with the
meaning that their library ``rliable`` gives the words. Scores are arrays of shape ``(runs, tasks)``; tasks
are the strata, within which runs are drawn anew.

One agent of an experiment is a list of *groups*: the returns of its evaluation episodes, a group for each
training seed (one group where nothing was trained). ``interval`` draws groups, and episodes within each drawn
group, so an interval covers both the luck of training and that of the episodes. With few seeds that is
coarse: three seeds have only ten different draws.
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
    "share_difference",
    "share_interval",
    "stratified_bootstrap",
]

Floats = NDArray[np.float64]
CHUNK = 4_000_000  # numbers drawn at once


class Interval(NamedTuple):
    """A point estimate and its percentile bootstrap interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Bootstrap:
    """Settings of a percentile bootstrap: how many draws, which share of them the interval holds, and their seed."""

    repetitions: int = 2000
    confidence: float = 0.95
    seed: int = 0

    def ends(self, draws: Floats) -> Any:
        """Return the ends of the interval; of draws of shape ``(repetitions, n)``, those of each column."""
        tail = 100 * (1 - self.confidence) / 2
        return np.percentile(draws, (tail, 100 - tail), axis=0)

    def interval(self, value: float, draws: Floats) -> Interval:
        """Return a value with the interval of its draws."""
        low, high = self.ends(draws)
        return Interval(value, float(low), float(high))

    def defined(self, value: float, draws: Floats) -> Interval:
        """Return a value with the interval of the draws that are a number; NaN if none is."""
        draws = draws[~np.isnan(draws)]
        return self.interval(value, draws) if len(draws) else Interval(np.nan, np.nan, np.nan)


BOOTSTRAP = Bootstrap()


def interquartile_mean(scores: Any, axis: int | None = None) -> Any:
    """Mean of the middle half: ``floor(n / 4)`` scores are cut at either end, as in ``scipy.stats.trim_mean``.

    Raises:
        ValueError: no scores.
    """
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
    """Interval of a statistic of ``scores``, shape ``(runs, tasks)``: runs are drawn anew within each task."""
    matrix = _matrix(scores)
    rng = np.random.default_rng(bootstrap.seed)
    draws = np.array([statistic(_drawn(matrix, rng)) for _ in range(bootstrap.repetitions)])
    return bootstrap.interval(float(statistic(matrix)), draws)


def interval(groups: Sequence[Any], bootstrap: Bootstrap = BOOTSTRAP) -> Interval:
    """Interquartile mean of all scores, with the interval over groups (training seeds) and the scores within each.

    The scores are sorted once; a repetition only counts how often each was drawn, so nothing is sorted again.

    Raises:
        ValueError: no groups, or an empty one.
    """
    sizes = _sizes(groups)
    if not sizes or min(sizes) == 0:
        raise ValueError(f"groups: got sizes {sizes}; allowed: at least one group, none empty")
    return bootstrap.interval(*_middle_draws(groups, bootstrap))


def mean_interval(groups: Sequence[Any], bootstrap: Bootstrap = BOOTSTRAP) -> Interval:
    """The plain mean with the same interval: for counts and shares, whose middle half says nothing."""
    return bootstrap.interval(*_mean_draws(groups, bootstrap))


def difference(
    first: Sequence[Any], second: Sequence[Any], *, middle: bool = False, bootstrap: Bootstrap = BOOTSTRAP
) -> Interval:
    """The mean of ``second`` less that of ``first``, each groups as in ``interval``, drawn each for itself.

    With ``middle`` of interquartile means instead of plain ones.
    """
    of = _middle_draws if middle else _mean_draws
    (a, draws_a), (b, draws_b) = of(first, bootstrap), of(second, bootstrap, stream=1)
    return bootstrap.interval(b - a, draws_b - draws_a)


def share_interval(parts: Sequence[Any], wholes: Sequence[Any], bootstrap: Bootstrap = BOOTSTRAP) -> Interval:
    """Sum of ``parts`` over sum of ``wholes`` with the same interval: episodes count by how much is in them.

    NaN where the wholes are nothing.
    """
    return bootstrap.defined(*_share_draws((parts, wholes), bootstrap))


def share_difference(
    first: tuple[Sequence[Any], Sequence[Any]],
    second: tuple[Sequence[Any], Sequence[Any]],
    *,
    paired: bool,
    bootstrap: Bootstrap = BOOTSTRAP,
) -> Interval:
    """The share of ``second`` less that of ``first``, each ``(parts, wholes)`` by training seed, with that interval.

    ``paired``: the groups of both are of the same seeds, which are drawn together; otherwise each for itself. NaN where
    a whole is nothing.
    """
    if paired:
        return bootstrap.defined(*_paired_draws(first, second, bootstrap))
    (a, draws_a), (b, draws_b) = _share_draws(first, bootstrap), _share_draws(second, bootstrap, stream=1)
    return bootstrap.defined(b - a, draws_b - draws_a)


def performance_profile(scores: Any, thresholds: Any) -> Floats:
    """Share of scores above each threshold, shape of ``thresholds``: what a mean hides."""
    ordered = np.sort(np.asarray(scores, np.float64), axis=None)
    above = ordered.size - np.searchsorted(ordered, np.asarray(thresholds, np.float64), side="right")
    profile: Floats = above / ordered.size
    return profile


def probability_of_improvement(first: Any, second: Any) -> float:
    """Probability that a score of ``first`` is above one of ``second``, ties counted half; mean over tasks."""
    a, b = _matrix(first), _matrix(second)
    shares = []
    for task in range(a.shape[1]):
        ordered = np.sort(b[:, task])
        below = np.searchsorted(ordered, a[:, task], side="left")
        not_above = np.searchsorted(ordered, a[:, task], side="right")
        shares.append(float((below + not_above).mean()) / (2 * ordered.size))
    return float(np.mean(shares))


def improvement_interval(first: Any, second: Any, bootstrap: Bootstrap = BOOTSTRAP) -> Interval:
    """``probability_of_improvement`` with its stratified bootstrap interval: runs are drawn anew within each task."""
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
    """``performance_profile`` of all scores, and its pointwise band when groups are drawn anew.

    Scores within a group are not drawn: a thousand episodes leave little luck beside that of the training.
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
    """Scores of shape ``(runs, tasks)``; of one task if they have one dimension."""
    matrix = np.asarray(scores, np.float64)
    return matrix[:, None] if matrix.ndim == 1 else matrix


def _drawn(matrix: Floats, rng: np.random.Generator) -> Floats:
    return np.take_along_axis(matrix, rng.integers(0, len(matrix), matrix.shape), axis=0)


def _sizes(groups: Sequence[Any]) -> list[int]:
    return [len(group) for group in groups]


def _pooled(groups: Sequence[Any]) -> Floats:
    return np.concatenate([np.asarray(group, np.float64) for group in groups])


def _middle_draws(groups: Sequence[Any], bootstrap: Bootstrap, stream: int = 0) -> tuple[float, Floats]:
    """The interquartile mean and its draws."""
    pooled = _pooled(groups)
    order = np.argsort(pooled, kind="stable")
    draws = [
        _trimmed_means(pooled[order], counts[:, order])
        for counts in _counts(_sizes(groups), bootstrap, stream)
    ]
    return interquartile_mean(pooled), np.concatenate(draws)


def _mean_draws(groups: Sequence[Any], bootstrap: Bootstrap, stream: int = 0) -> tuple[float, Floats]:
    """The mean and its draws."""
    pooled = _pooled(groups)
    draws = [counts @ pooled / counts.sum(axis=1) for counts in _counts(_sizes(groups), bootstrap, stream)]
    return float(pooled.mean()), np.concatenate(draws)


def _share_draws(
    share: tuple[Sequence[Any], Sequence[Any]], bootstrap: Bootstrap, stream: int = 0
) -> tuple[float, Floats]:
    """The share and its draws; NaN where there is nothing to have a share of."""
    part, whole = map(_pooled, share)
    draws = [_share(counts @ part, counts @ whole) for counts in _counts(_sizes(share[0]), bootstrap, stream)]
    return float(_share(part.sum(), whole.sum())), np.concatenate(draws) if draws else np.empty(0)


def _paired_draws(
    first: tuple[Sequence[Any], Sequence[Any]],
    second: tuple[Sequence[Any], Sequence[Any]],
    bootstrap: Bootstrap,
) -> tuple[float, Floats]:
    """The difference of two shares and its draws. A group holds the episodes of both, so a drawn seed brings both."""

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
    """How often each of the pooled scores was drawn: chunks of shape ``(repetitions, sum(sizes))``."""
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
    """Interquartile mean of each row of ``counts``, which says how often each of the sorted scores is there."""
    after = np.cumsum(counts, axis=1)
    totals = after[:, -1:]
    cut = np.floor(totals / 4)
    kept = np.clip(after, cut, totals - cut) - np.clip(after - counts, cut, totals - cut)
    means: Floats = kept @ ordered / (totals - 2 * cut)[:, 0]
    return means
