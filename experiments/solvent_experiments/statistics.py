"""Statistics over runs and episodes: interquartile mean and bootstrap intervals.

Definitions follow Agarwal et al. 2021, *Deep Reinforcement Learning at the Edge of the Statistical Precipice*.

An agent of an experiment is a list of *groups*: the returns of its evaluation episodes, one group per training seed
(a single group for a script). ``interval`` resamples groups and the episodes within them, so it covers the luck of
both training and evaluation. Few seeds make it coarse: three have only ten different resamples.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
CHUNK = 4_000_000  # numbers held at once


class Interval(NamedTuple):
    """A point estimate and its percentile bootstrap interval."""

    value: float
    low: float
    high: float


NOTHING = Interval(np.nan, np.nan, np.nan)
"""Where there is nothing to measure."""
REPETITIONS = 2000
"""Resamples of a bootstrap."""


def interquartile_mean(scores: Any) -> float:
    """Return the mean of all scores without the ``floor(n / 4)`` at either end."""
    if np.size(scores) == 0:
        raise ValueError("scores: got none; allowed: at least one")
    from scipy.stats import trim_mean  # here, as it takes a second to import

    return float(trim_mean(np.asarray(scores, np.float64), 0.25, None))


def interval(groups: Sequence[Any], repetitions: int = REPETITIONS) -> Interval:
    """Return the interquartile mean of all scores; its interval resamples groups and the scores within each.

    The scores are sorted once, and a resample only counts them.
    """
    return _interval(*_middle_draws(groups, repetitions=repetitions))


def mean_interval(groups: Sequence[Any], repetitions: int = REPETITIONS) -> Interval:
    """Return the mean with the same interval, for counts and shares, whose middle half says little."""
    return _interval(*_mean_draws(groups, repetitions=repetitions))


def difference(
    first: Sequence[Any], second: Sequence[Any], *, middle: bool = False, paired: bool = False
) -> Interval:
    """Return the mean of ``second`` minus that of ``first``, each resampled independently as in ``interval``.

    With ``middle``, the difference is that of interquartile means. With ``paired``, all groups have the same episodes,
    in the same order, and the same ones are drawn for both: only the groups are resampled independently.
    """
    of = _middle_draws if middle else _mean_draws
    a, draws_a = of(first, together=paired)
    b, draws_b = of(second, stream=1, together=paired)
    return _interval(b - a, draws_b - draws_a)


def ratio(first: Sequence[Any], second: Sequence[Any]) -> Interval:
    """Return the interquartile mean of ``first`` over that of ``second``, paired as in ``difference``."""
    a, draws_a = _middle_draws(first, together=True)
    b, draws_b = _middle_draws(second, stream=1, together=True)
    return _interval(a / b, draws_a / draws_b)


def share_above(first: Sequence[Any], second: Sequence[Any]) -> float:
    """Return the share of episodes in which ``first`` has the higher score; all groups have the same episodes."""
    return float(np.mean([[mine > other for other in second] for mine in first]))


def share_interval(parts: Sequence[Any], wholes: Sequence[Any], repetitions: int = REPETITIONS) -> Interval:
    """Return the sum of ``parts`` over that of ``wholes`` with the same interval; NaN if the wholes sum to 0."""
    return _interval(*_share_draws(parts, wholes, repetitions=repetitions))


def share_difference(
    first: tuple[Sequence[Any], Sequence[Any]], second: tuple[Sequence[Any], Sequence[Any]], *, paired: bool
) -> Interval:
    """Return the share of ``second`` minus that of ``first``, each ``(parts, wholes)`` by training seed.

    With ``paired``, both have the same seeds, which are resampled together. The result is NaN if a whole is 0.
    """
    if not paired:
        (a, draws_a), (b, draws_b) = _share_draws(*first), _share_draws(*second, stream=1)
        return _interval(b - a, draws_b - draws_a)
    # A seed's group holds the rows of both; each share counts its own.
    pairs = list(zip(first[0], second[0], strict=True))
    mine = np.concatenate([np.repeat([True, False], [len(a), len(b)]) for a, b in pairs])
    part, whole = (
        np.concatenate([np.append(a, b) for a, b in zip(*both, strict=True)]).astype(np.float64)
        for both in zip(first, second, strict=True)
    )

    def apart(counts: Any) -> Any:
        a, b = (_share(counts @ (part * of), counts @ (whole * of)) for of in (mine, ~mine))
        return b - a

    draws = [apart(counts) for counts in _counts([len(a) + len(b) for a, b in pairs])]
    return _interval(float(apart(np.ones(len(mine)))), np.concatenate(draws))


# -- draws: a value, and that of each resample


def _interval(value: float, draws: Floats) -> Interval:
    """Return ``value`` with the 95 % interval of the draws that are not NaN; NaN if all are."""
    draws = draws[~np.isnan(draws)]
    return Interval(value, *map(float, np.percentile(draws, (2.5, 97.5)))) if len(draws) else NOTHING


def _pooled(groups: Sequence[Any]) -> Floats:
    return np.concatenate([np.asarray(group, np.float64) for group in groups])


def _middle_draws(groups: Sequence[Any], **how: Any) -> tuple[float, Floats]:
    pooled = _pooled(groups)
    order = np.argsort(pooled, kind="stable")
    draws = [_trimmed_means(pooled[order], counts[:, order]) for counts in _counts(map(len, groups), **how)]
    return interquartile_mean(pooled), np.concatenate(draws)


def _mean_draws(groups: Sequence[Any], **how: Any) -> tuple[float, Floats]:
    pooled = _pooled(groups)
    draws = [counts @ pooled / counts.sum(axis=1) for counts in _counts(map(len, groups), **how)]
    return float(pooled.mean()), np.concatenate(draws)


def _share_draws(parts: Sequence[Any], wholes: Sequence[Any], **how: Any) -> tuple[float, Floats]:
    """Return the share and its resamples; NaN where the whole is 0."""
    part, whole = _pooled(parts), _pooled(wholes)
    draws = [_share(counts @ part, counts @ whole) for counts in _counts(map(len, parts), **how)]
    return float(_share(part.sum(), whole.sum())), np.concatenate(draws)


def _share(part: Any, whole: Any) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.asarray(whole) > 0, np.divide(part, whole), np.nan)


def _counts(
    group_sizes: Iterable[int], stream: int = 0, *, together: bool = False, repetitions: int = REPETITIONS
) -> Iterator[Floats]:
    """Yield how often each pooled score was drawn, in chunks of shape ``(repetitions, sum(sizes))``.

    With ``together``, the groups have the same episodes and share the draw of them, whatever the stream.
    """
    sizes = list(group_sizes)
    if together and len(set(sizes)) > 1:
        raise ValueError(f"groups: got sizes {sizes}; allowed: the same episodes in each")
    rng = np.random.default_rng(stream)
    together = together or len(sizes) == 1
    total = sum(sizes)
    step = max(1, CHUNK // max(1, total))
    for first in range(0, repetitions, step):
        rows = min(step, repetitions - first)
        times = rng.multinomial(len(sizes), np.full(len(sizes), 1 / len(sizes)), size=rows)
        if together:
            episodes = _episode_counts(sizes[0], repetitions)[first : first + rows, None]
            yield np.multiply(times[:, :, None], episodes, dtype=float).reshape(rows, total)
            continue
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


@functools.lru_cache(maxsize=2)
def _episode_counts(size: int, repetitions: int) -> NDArray[np.int16]:
    """Return how often each of ``size`` episodes was drawn, shape ``(repetitions, size)``."""
    rng = np.random.default_rng([0, size])
    drawn = (rng.integers(0, size, size) for _ in range(repetitions))
    return np.stack([np.bincount(row, minlength=size).astype(np.int16) for row in drawn])


def _trimmed_means(ordered: Floats, counts: Floats) -> Floats:
    """Return the interquartile mean of each row of ``counts``, the multiplicities of the sorted scores."""
    after = np.cumsum(counts, axis=1)
    totals = after[:, -1:].copy()
    cut = np.floor(totals / 4)
    # Cumulated multiplicities in the middle half, plus ``cut``.
    kept = np.clip(after, cut, totals - cut, out=after)
    sums = kept[:, -1] * ordered[-1] - cut[:, 0] * ordered[0] - kept[:, :-1] @ np.diff(ordered)
    means: Floats = sums / (totals - 2 * cut)[:, 0]
    return means
