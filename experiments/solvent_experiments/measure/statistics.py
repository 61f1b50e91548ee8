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

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = [
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
REPETITIONS = 2000
CONFIDENCE = 0.95
CHUNK = 4_000_000  # numbers drawn at once


class Interval(NamedTuple):
    """A point estimate and its percentile bootstrap interval."""

    value: float
    low: float
    high: float


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
    *,
    repetitions: int = REPETITIONS,
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> Interval:
    """Interval of a statistic of ``scores``, shape ``(runs, tasks)``: runs are drawn anew within each task."""
    matrix = np.asarray(scores, dtype=np.float64)
    matrix = matrix[:, None] if matrix.ndim == 1 else matrix
    runs, tasks = matrix.shape
    rng = np.random.default_rng(seed)
    draws = np.empty(repetitions)
    for i in range(repetitions):
        rows = rng.integers(0, runs, (runs, tasks))
        draws[i] = statistic(np.take_along_axis(matrix, rows, axis=0))
    return _percentiles(float(statistic(matrix)), draws, confidence)


def interval(
    groups: Sequence[Any], *, repetitions: int = REPETITIONS, confidence: float = CONFIDENCE, seed: int = 0
) -> Interval:
    """Interquartile mean of all scores, with the interval over groups (training seeds) and the scores within each.

    The scores are sorted once; a repetition only counts how often each was drawn, so nothing is sorted again.

    Raises:
        ValueError: no groups, or an empty one.
    """
    sizes = [len(group) for group in groups]
    if not sizes or min(sizes) == 0:
        raise ValueError(f"groups: got sizes {sizes}; allowed: at least one group, none empty")
    pooled = np.concatenate([np.asarray(group, np.float64) for group in groups])
    order = np.argsort(pooled, kind="stable")
    draws = np.concatenate(
        [_trimmed_means(pooled[order], counts[:, order]) for counts in _draw_counts(sizes, repetitions, seed)]
    )
    return _percentiles(interquartile_mean(pooled), draws, confidence)


def mean_interval(
    groups: Sequence[Any], *, repetitions: int = REPETITIONS, confidence: float = CONFIDENCE, seed: int = 0
) -> Interval:
    """The plain mean with the same interval: for counts and shares, whose middle half says nothing."""
    pooled = np.concatenate([np.asarray(group, np.float64) for group in groups])
    draws = np.concatenate(
        [
            counts @ pooled / counts.sum(axis=1)
            for counts in _draw_counts([len(g) for g in groups], repetitions, seed)
        ]
    )
    return _percentiles(float(pooled.mean()), draws, confidence)


def difference(
    first: Sequence[Any],
    second: Sequence[Any],
    *,
    middle: bool = False,
    repetitions: int = REPETITIONS,
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> Interval:
    """The mean of ``second`` less that of ``first``, each groups as in ``interval``, drawn each for itself.

    With ``middle`` of interquartile means instead of plain ones.
    """
    value, draws = 0.0, np.zeros(repetitions)
    for sign, groups, own in ((-1.0, first, seed), (1.0, second, seed + 1)):
        pooled = np.concatenate([np.asarray(group, np.float64) for group in groups])
        order = np.argsort(pooled, kind="stable")
        means = [
            _trimmed_means(pooled[order], counts[:, order])
            if middle
            else counts @ pooled / counts.sum(axis=1)
            for counts in _draw_counts([len(group) for group in groups], repetitions, own)
        ]
        value += sign * (interquartile_mean(pooled) if middle else float(pooled.mean()))
        draws += sign * np.concatenate(means)
    return _percentiles(value, draws, confidence)


def share_interval(
    parts: Sequence[Any],
    wholes: Sequence[Any],
    *,
    repetitions: int = REPETITIONS,
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> Interval:
    """Sum of ``parts`` over sum of ``wholes`` with the same interval: episodes count by how much is in them.

    NaN where the wholes are nothing.
    """
    value, draws = _share_draws(parts, wholes, repetitions, seed)
    draws = draws[~np.isnan(draws)]
    return _percentiles(value, draws, confidence) if len(draws) else Interval(np.nan, np.nan, np.nan)


def share_difference(
    first: tuple[Sequence[Any], Sequence[Any]],
    second: tuple[Sequence[Any], Sequence[Any]],
    *,
    paired: bool,
    repetitions: int = REPETITIONS,
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> Interval:
    """The share of ``second`` less that of ``first``, each ``(parts, wholes)`` by training seed, with that interval.

    ``paired``: the groups of both are of the same seeds, which are drawn together; otherwise each for itself. NaN where
    a whole is nothing.
    """
    if paired:
        value, draws = _paired_draws(first, second, repetitions, seed)
    else:
        (a, draws_a), (b, draws_b) = (
            _share_draws(*arm, repetitions, seed + i) for i, arm in enumerate((first, second))
        )
        value, draws = b - a, draws_b - draws_a
    draws = draws[~np.isnan(draws)]
    return _percentiles(value, draws, confidence) if len(draws) else Interval(np.nan, np.nan, np.nan)


def _share_draws(
    parts: Sequence[Any], wholes: Sequence[Any], repetitions: int, seed: int
) -> tuple[float, Floats]:
    """The share and its bootstrap draws; NaN where there is nothing to have a share of."""
    part, whole = (np.concatenate([np.asarray(g, np.float64) for g in groups]) for groups in (parts, wholes))
    draws = [
        _share(counts @ part, counts @ whole)
        for counts in _draw_counts([len(g) for g in parts], repetitions, seed)
    ]
    return float(_share(part.sum(), whole.sum())), np.concatenate(draws) if draws else np.empty(0)


def _paired_draws(
    first: tuple[Sequence[Any], Sequence[Any]],
    second: tuple[Sequence[Any], Sequence[Any]],
    repetitions: int,
    seed: int,
) -> tuple[float, Floats]:
    """Of each seed the episodes of both stand in one group, so a drawn seed brings both."""
    columns = []
    for mine, other in ((first, second), (second, first)):
        for values in mine:
            groups = zip(values, other[0], strict=True)
            both = [(np.asarray(v, np.float64), np.zeros(len(o))) for v, o in groups]
            columns.append(np.concatenate([np.concatenate(p if mine is first else p[::-1]) for p in both]))
    part_a, whole_a, part_b, whole_b = columns
    sizes = [len(a) + len(b) for a, b in zip(first[0], second[0], strict=True)]
    value = float(_share(part_b.sum(), whole_b.sum()) - _share(part_a.sum(), whole_a.sum()))
    draws = [
        _share(counts @ part_b, counts @ whole_b) - _share(counts @ part_a, counts @ whole_a)
        for counts in _draw_counts(sizes, repetitions, seed)
    ]
    return value, np.concatenate(draws)


def _share(part: Any, whole: Any) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.asarray(whole) > 0, np.divide(part, whole), np.nan)


def performance_profile(scores: Any, thresholds: Any) -> Floats:
    """Share of scores above each threshold, shape of ``thresholds``: what a mean hides."""
    ordered = np.sort(np.asarray(scores, np.float64), axis=None)
    above = ordered.size - np.searchsorted(ordered, np.asarray(thresholds, np.float64), side="right")
    profile: Floats = above / ordered.size
    return profile


def probability_of_improvement(first: Any, second: Any) -> float:
    """Probability that a score of ``first`` is above one of ``second``, ties counted half; mean over tasks."""
    a, b = (np.asarray(scores, np.float64) for scores in (first, second))
    a, b = (m[:, None] if m.ndim == 1 else m for m in (a, b))
    shares = []
    for task in range(a.shape[1]):
        ordered = np.sort(b[:, task])
        below = np.searchsorted(ordered, a[:, task], side="left")
        not_above = np.searchsorted(ordered, a[:, task], side="right")
        shares.append(float((below + not_above).mean()) / (2 * ordered.size))
    return float(np.mean(shares))


def improvement_interval(
    first: Any,
    second: Any,
    *,
    repetitions: int = REPETITIONS,
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> Interval:
    """``probability_of_improvement`` with its stratified bootstrap interval: runs are drawn anew within each task."""
    matrices = [np.asarray(scores, np.float64) for scores in (first, second)]
    matrices = [m[:, None] if m.ndim == 1 else m for m in matrices]
    rng = np.random.default_rng(seed)
    draws = np.empty(repetitions)
    for i in range(repetitions):
        drawn = [np.take_along_axis(m, rng.integers(0, len(m), m.shape), axis=0) for m in matrices]
        draws[i] = probability_of_improvement(*drawn)
    return _percentiles(probability_of_improvement(*matrices), draws, confidence)


def profile_band(
    groups: Sequence[Any],
    thresholds: Any,
    *,
    repetitions: int = REPETITIONS,
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> tuple[Floats, Floats, Floats]:
    """``performance_profile`` of all scores, and its pointwise band when groups are drawn anew.

    Scores within a group are not drawn: a thousand episodes leave little luck beside that of the training.
    """
    profiles = np.array([performance_profile(group, thresholds) for group in groups])
    weights = np.array([len(group) for group in groups], np.float64)
    times = np.random.default_rng(seed).multinomial(
        len(groups), np.full(len(groups), 1 / len(groups)), repetitions
    )
    drawn = times * weights
    draws = drawn @ profiles / drawn.sum(axis=1, keepdims=True)
    tail = 100 * (1 - confidence) / 2
    low, high = np.percentile(draws, (tail, 100 - tail), axis=0)
    return weights @ profiles / weights.sum(), low, high


def _percentiles(value: float, draws: Floats, confidence: float) -> Interval:
    tail = 100 * (1 - confidence) / 2
    low, high = np.percentile(draws, (tail, 100 - tail))
    return Interval(value, float(low), float(high))


def _draw_counts(sizes: Sequence[int], repetitions: int, seed: int) -> Any:
    """How often each of the pooled scores was drawn: chunks of shape ``(repetitions, sum(sizes))``."""
    rng = np.random.default_rng(seed)
    total = sum(sizes)
    step = max(1, CHUNK // max(1, total))
    for first in range(0, repetitions, step):
        rows = min(step, repetitions - first)
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
