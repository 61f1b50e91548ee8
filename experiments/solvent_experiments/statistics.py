"""Statistics over runs and episodes: means with bootstrap intervals, in pairs where agents met the same labs.

*The mean over all episodes is the statistic everywhere.* Its interval resamples training seeds, then the episodes
within each drawn seed, so it covers the luck of both training and evaluation. Few seeds make it coarse: three have only
ten different resamples. A learner with one seed has no interval, since nothing tells how much another training would
differ; a script is the same in every run, so its interval is over episodes alone.

The interquartile mean *over runs* (Agarwal et al. 2021, *Deep Reinforcement Learning at the Edge of the Statistical
Precipice*) is given beside it from five training seeds on.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
CHUNK = 4_000_000
"""Numbers held at once."""
REPETITIONS = 2000
"""Resamples of a bootstrap."""
ENOUGH_RUNS = 5
"""Training seeds from which on the interquartile mean over runs is given."""


class Interval(NamedTuple):
    """A point estimate and its 95 % percentile bootstrap interval; both ends are NaN if there is none."""

    value: float
    low: float
    high: float

    @property
    def known(self) -> bool:
        """Whether there is an interval."""
        return not np.isnan(self.low)

    def scaled(self, factor: float) -> Interval:
        """Return all three numbers times ``factor``, which is positive."""
        return Interval(*(factor * number for number in self))

    def to_json(self) -> dict[str, float | None]:
        """Return the numbers by name; those that are NaN are null."""
        return {name: None if np.isnan(number) else float(number) for name, number in self._asdict().items()}

    @classmethod
    def from_json(cls, kept: Mapping[str, float | None]) -> Interval:
        """Return what ``to_json`` wrote; another mapping raises KeyError or TypeError."""
        return cls(*(np.nan if kept[name] is None else float(kept[name]) for name in cls._fields))  # type: ignore[arg-type]


NOTHING = Interval(np.nan, np.nan, np.nan)
"""Where there is nothing to measure."""


@dataclass(frozen=True)
class Sample:
    """An agent's numbers, one per episode: a group for each training seed, or the only group of a script."""

    groups: Sequence[Any]
    trained: bool = False

    @property
    def sizes(self) -> list[int]:
        return [len(group) for group in self.groups]

    @property
    def pooled(self) -> Floats:
        return np.concatenate([np.zeros(0), *self.groups]).astype(np.float64)

    @property
    def one_seed(self) -> bool:
        """Whether it is a learner of one training seed, which has no interval."""
        return self.trained and len(self.groups) == 1


def mean_interval(sample: Sample, repetitions: int = REPETITIONS) -> Interval:
    """Return the mean over all episodes; the interval resamples groups, and the episodes within each."""
    return share_interval(sample, _ones(sample), repetitions)


def share_interval(parts: Sample, totals: Sample, repetitions: int = REPETITIONS) -> Interval:
    """Return the sum of ``parts`` over that of ``totals``, resampled likewise; NaN if the totals sum to 0."""
    return _interval(*_share_draws(parts, totals, repetitions=repetitions), parts)


def difference(first: Sample, second: Sample, *, paired: bool = False) -> Interval:
    """Return the mean of ``second`` minus that of ``first``.

    Each is resampled independently. With ``paired``, all groups have the same episodes in the same order, and the same
    ones are drawn for both; the groups are still resampled independently.
    """
    a, draws_a = _share_draws(first, _ones(first), together=paired)
    b, draws_b = _share_draws(second, _ones(second), stream=1, together=paired)
    return _interval(b - a, draws_b - draws_a, first, second)


def ratio(first: Sample, second: Sample) -> Interval:
    """Return the mean of ``first`` over that of ``second``, paired as in ``difference``.

    A share of what is not above 0 says nothing: it is ``NOTHING``, and resamples in which it comes up are left out.
    """
    a, draws_a = _share_draws(first, _ones(first), together=True)
    b, draws_b = _share_draws(second, _ones(second), stream=1, together=True)
    return _interval(float(_share(a, b)), _share(draws_a, draws_b), first, second)


def share_above(first: Sample, second: Sample) -> float:
    """Return the share of episodes in which ``first`` has the higher number; a tie is not higher.

    All groups have the same episodes; each of ``first`` is compared with each of ``second``.
    """
    return float(np.mean([[one > other for other in second.groups] for one in first.groups]))


def share_difference(first: tuple[Sample, Sample], second: tuple[Sample, Sample]) -> Interval:
    """Return the share of ``second`` minus that of ``first``, each ``(parts, totals)``; NaN if a total is 0."""
    (a, draws_a), (b, draws_b) = _share_draws(*first), _share_draws(*second, stream=1)
    return _interval(b - a, draws_b - draws_a, first[0], second[0])


def paired_share_difference(first: tuple[Sample, Sample], second: tuple[Sample, Sample]) -> Interval:
    """Return what ``share_difference`` does of the same training seeds, which are resampled together."""
    # A seed's group holds the rows of both; each share counts its own.
    pairs = list(zip(first[0].groups, second[0].groups, strict=True))
    of_first = np.concatenate([np.repeat([True, False], [len(a), len(b)]) for a, b in pairs])
    part, total = (
        np.concatenate([np.append(a, b) for a, b in zip(one.groups, other.groups, strict=True)]).astype(float)
        for one, other in zip(first, second, strict=True)
    )

    def apart(counts: Any) -> Any:
        a, b = (_share(counts @ (part * rows), counts @ (total * rows)) for rows in (of_first, ~of_first))
        return b - a

    draws = [apart(counts) for counts in _counts([len(a) + len(b) for a, b in pairs])]
    return _interval(float(apart(np.ones(len(part)))), np.concatenate(draws), first[0])


def interquartile_mean(sample: Sample) -> Interval:
    """Return the mean of the middle half of the runs' means; its interval resamples runs.

    It is ``NOTHING`` for a script, and for fewer than ``ENOUGH_RUNS`` training seeds.
    """
    if not sample.trained or len(sample.groups) < ENOUGH_RUNS:
        return NOTHING
    from scipy.stats import trim_mean  # here, as it takes a second to import

    means = np.array([np.mean(group) for group in sample.groups])
    drawn = np.random.default_rng(0).choice(means, (REPETITIONS, len(means)))
    return _interval(float(trim_mean(means, 0.25)), trim_mean(drawn, 0.25, axis=1), sample)


# -- draws: a value, and that of each resample


def _interval(value: float, draws: Floats, *samples: Sample) -> Interval:
    """Return ``value`` with the interval of the draws that are not NaN; NaN ends if a sample has none.

    It is ``NOTHING`` where there is no value, or no draw.
    """
    draws = draws[~np.isnan(draws)]
    if np.isnan(value) or not len(draws):
        return NOTHING
    if any(sample.one_seed for sample in samples):
        return Interval(value, np.nan, np.nan)
    return Interval(value, *map(float, np.percentile(draws, (2.5, 97.5))))


def _ones(sample: Sample) -> Sample:
    return Sample([np.ones(size) for size in sample.sizes], sample.trained)


def _share_draws(parts: Sample, totals: Sample, **how: Any) -> tuple[float, Floats]:
    """Return the share and its resamples; NaN where the total is 0."""
    part, total = parts.pooled, totals.pooled
    draws = [_share(counts @ part, counts @ total) for counts in _counts(parts.sizes, **how)]
    return float(_share(part.sum(), total.sum())), np.concatenate(draws)


def _share(part: Any, total: Any) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.asarray(total) > 0, np.divide(part, total), np.nan)


def _counts(
    sizes: Sequence[int], stream: int = 0, *, together: bool = False, repetitions: int = REPETITIONS
) -> Iterator[Floats]:
    """Yield how often each pooled number was drawn, in chunks of shape ``(repetitions, sum(sizes))``.

    With ``together``, the groups have the same episodes and share the draw of them, whatever the stream.
    """
    if together and len(set(sizes)) > 1:
        raise ValueError(f"groups: got sizes {sizes}; allowed: the same episodes in each")
    rng = np.random.default_rng(stream)
    total = sum(sizes)
    step = max(1, CHUNK // max(1, total))
    for first in range(0, repetitions, step):
        rows = min(step, repetitions - first)
        times = rng.multinomial(len(sizes), np.full(len(sizes), 1 / len(sizes)), size=rows)
        if together or len(sizes) == 1:
            episodes = _episode_counts(sizes[0], 0 if together else stream, repetitions)
            episodes = episodes[first : first + rows, None]
            yield np.multiply(times[:, :, None], episodes, dtype=float).reshape(rows, total)
        else:
            drawn = [_drawn(size, times[:, group] * size, rng) for group, size in enumerate(sizes)]
            yield np.concatenate(drawn, axis=1)


def _drawn(size: int, draws: NDArray[np.int64], rng: np.random.Generator) -> Floats:
    """Return how often each of ``size`` episodes comes up in so many draws, a row for each of ``draws``."""
    return np.stack([np.bincount(rng.integers(0, size, n), minlength=size) for n in draws]).astype(float)


@functools.lru_cache(maxsize=4)  # the scripts of a table have the same episodes
def _episode_counts(size: int, stream: int, repetitions: int) -> NDArray[np.int16]:
    """Return how often each of ``size`` episodes was drawn, shape ``(repetitions, size)``."""
    drawn = _drawn(size, np.full(repetitions, size), np.random.default_rng([stream, size]))
    return drawn.astype(np.int16)
