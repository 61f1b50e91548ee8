"""AUROC of measures that separate supported claims from others, with bootstrap intervals.

AUROC is the probability that an unsupported claim scores higher than a supported one, counting ties half: 0.5 is
chance. Supported claims are compared with three kinds of claims:

- ``shuffled``: the supported claims with the evidence of another group's claim, hence off topic
- ``refuted`` and ``nei`` (not enough information): as the data set labels them

*Matched* figures compare only claims with the same number of spans (pooled over all such strata), because that number
may leak the label. Intervals are 95 % percentile bootstrap intervals over groups, so that samples with shared evidence
stay together. A *gain* is the paired difference from the residual over the same draws. Known approximation: intervals
are not corrected for the number of comparisons in a table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from solvent.gate.backends import (
    Backend,
    RememberingEmbedder,
    checks,
    cosine,
    gap,
    residual,
    span_count,
    tfidf,
)
from solvent.gate.datasets import Sample, deranged
from solvent.gate.embedding import Embedder
from solvent.gate.errors import GateError
from solvent.gate.measurement import RANK_R, TOP_K, Oracle

__all__ = [
    "COMPARISONS",
    "Auroc",
    "Comparison",
    "Evaluation",
    "auroc",
    "aurocs",
    "evaluate_backends",
    "standard_backends",
]

COMPARISONS = ("shuffled", "refuted", "nei")
"""The kinds of claims that supported ones are compared with."""

LEVEL = 0.95
FEWEST = 2
BATCH = 2_000_000  # weights held at a time

Floats = NDArray[np.float64]
Progress: TypeAlias = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Auroc:
    """An AUROC and its gain over a reference, each with an interval; NaN without a pair to compare."""

    value: float
    low: float
    high: float
    gain: float = 0.0
    gain_low: float = 0.0
    gain_high: float = 0.0


@dataclass(frozen=True)
class Comparison:
    """One measure against one kind of claims; ``supported`` and ``others`` count the compared claims."""

    against: str
    measure: str
    matched: bool
    supported: int
    others: int
    auroc: Auroc


@dataclass(frozen=True)
class Evaluation:
    """All comparisons, and their scores by kind of claim and measure."""

    comparisons: tuple[Comparison, ...]
    scores: Mapping[str, Mapping[str, tuple[float, ...]]]

    def of(self, against: str, measure: str, *, matched: bool = False) -> Comparison:
        """Return one comparison."""
        for row in self.comparisons:
            if (row.against, row.measure, row.matched) == (against, measure, matched):
                return row
        raise GateError(f"no comparison of {measure!r} against {against!r}")


def auroc(scores: Sequence[float] | Floats, supported: Sequence[bool] | NDArray[np.bool_]) -> float:
    """Return the probability that an unsupported claim scores higher than a supported one; NaN without a pair."""
    values, labels = _checked(scores, supported)
    return float(_ratio(*_concordant(values, labels, np.ones((1, len(values)))))[0])


def aurocs(
    scores: Mapping[str, Sequence[float] | Floats],
    supported: Sequence[bool] | NDArray[np.bool_],
    groups: Sequence[str],
    *,
    strata: Sequence[int] | None = None,
    resamples: int = 1000,
    seed: int = 0,
) -> dict[str, Auroc]:
    """Return the AUROC of several measures on the same claims, with intervals and gains over the first measure.

    The bootstrap draws the claims of a group together. With ``strata``, only claims of the same stratum are compared.
    """
    checked = {name: _checked(values, supported) for name, values in scores.items()}
    layers = _strata(len(groups), strata)
    once = {
        name: _layered(values, labels, np.ones((1, len(values))), layers)
        for name, (values, labels) in checked.items()
    }
    drawn: dict[str, list[Floats]] = {name: [] for name in checked}
    for weights in _draws(groups, resamples, seed):
        for name, (values, labels) in checked.items():
            drawn[name].append(_layered(values, labels, weights, layers))
    result = {}
    first: Floats | None = None
    for name in checked:
        many = np.concatenate(drawn[name]) if drawn[name] else np.empty(0)
        first = many if first is None else first
        reference = float(once[next(iter(checked))][0])
        value = float(once[name][0])
        result[name] = Auroc(value, *_interval(many), value - reference, *_interval(many - first))
    return result


def standard_backends(
    samples: Sequence[Sample],
    embedder: Embedder,
    *,
    top_k: int = TOP_K,
    rank_r: int = RANK_R,
    oracle: Oracle = "medoid",
    on_progress: Progress = lambda *_: None,
) -> dict[str, Backend]:
    """Return the residual, the gap and the baselines, with the samples' texts already embedded."""
    texts = list(dict.fromkeys(chain.from_iterable((s.claim, *s.evidence) for s in samples)))
    remembering = RememberingEmbedder(embedder)
    remembering.warm(texts, lambda done, total: on_progress("sentences encoded", done, total))
    return {
        "residual": residual(remembering, top_k, rank_r),
        "gap": gap(remembering, top_k, rank_r, oracle),
        "cosine": cosine(remembering),
        "tfidf": tfidf(texts),
        "checks": checks,
        "spans": span_count,
    }


def evaluate_backends(
    samples: Sequence[Sample],
    backends: Mapping[str, Backend],
    *,
    resamples: int = 1000,
    seed: int = 0,
    on_progress: Progress = lambda *_: None,
) -> Evaluation:
    """Score every kind of claims with each backend; gains are over the first backend.

    Without any label all samples count as supported. ``resamples`` is the number of bootstrap draws. ``seed``
    determines these and the mismatched evidence. ``on_progress`` receives the stage, the steps done and their total.
    """
    kinds = _kinds(samples, seed)
    scores: dict[str, dict[str, Floats]] = {kind: {} for kind in kinds}
    steps = [(name, kind) for name in backends for kind in kinds]
    for done, (name, kind) in enumerate(steps):
        on_progress("scores", done, len(steps))
        own = kinds[kind]
        scores[kind][name] = backends[name]([s.claim for s in own], [s.evidence for s in own])
    on_progress("scores", len(steps), len(steps))
    rows: list[Comparison] = []
    against = [kind for kind in COMPARISONS if kind in kinds]
    for done, kind in enumerate(against):
        on_progress("comparisons", done, len(against))
        rows += _compared(kinds, scores, kind, resamples, seed)
    on_progress("comparisons", len(against), len(against))
    plain = {kind: {name: tuple(v.tolist()) for name, v in by.items()} for kind, by in scores.items()}
    return Evaluation(tuple(rows), plain)


def _kinds(samples: Sequence[Sample], seed: int) -> dict[str, tuple[Sample, ...]]:
    labelled = [sample for sample in samples if sample.label is not None]
    supported = tuple(s for s in labelled if s.label == "supported") if labelled else tuple(samples)
    if len(supported) < FEWEST:
        raise GateError(
            f"got {len(supported)} supported claims; allowed: at least {FEWEST}, to tell the others from them"
        )
    kinds = {"supported": supported, "shuffled": deranged(supported, seed)}
    for label in ("refuted", "nei"):
        own = tuple(sample for sample in labelled if sample.label == label)
        if len(own) >= FEWEST:
            kinds[label] = own
    return kinds


def _compared(
    kinds: Mapping[str, Sequence[Sample]],
    scores: Mapping[str, Mapping[str, Floats]],
    against: str,
    resamples: int,
    seed: int,
) -> list[Comparison]:
    """Compare all measures with one kind of claims, over all pairs and over pairs with equal numbers of spans."""
    both = [*kinds["supported"], *kinds[against]]
    supported = np.arange(len(both)) < len(kinds["supported"])
    groups = [sample.group for sample in both]
    joined = {name: np.concatenate([own, scores[against][name]]) for name, own in scores["supported"].items()}
    counts = np.array([len(sample.evidence) for sample in both])
    rows = []
    for matched in (False, True):
        strata = counts if matched else np.zeros_like(counts)
        shared = np.isin(strata, np.intersect1d(strata[supported], strata[~supported]))
        found = aurocs(joined, supported, groups, strata=strata.tolist(), resamples=resamples, seed=seed)
        sizes = int((shared & supported).sum()), int((shared & ~supported).sum())
        rows += [Comparison(against, name, matched, *sizes, result) for name, result in found.items()]
    return rows


def _layered(values: Floats, labels: NDArray[np.bool_], weights: Floats, layers: Sequence[Any]) -> Floats:
    """Return the AUROC [R] of weighted samples, over pairs within a layer."""
    parts = [_concordant(values[own], labels[own], weights[:, own]) for own in layers]
    concordant = np.sum([part[0] for part in parts], axis=0)
    return _ratio(concordant, np.sum([part[1] for part in parts], axis=0))


def _concordant(values: Floats, supported: NDArray[np.bool_], weights: Floats) -> tuple[Floats, Floats]:
    """Return the weight of correctly ordered pairs [R] and of all pairs [R]; ``weights`` are [R, n]."""
    order = np.argsort(values, kind="stable")
    ranked = values[order]
    starts = np.flatnonzero(np.concatenate([[True], ranked[1:] != ranked[:-1]]))
    held = weights[:, order] * supported[order]
    lower = np.add.reduceat(held, starts, axis=1)
    upper = np.add.reduceat(weights[:, order] - held, starts, axis=1)
    below = np.cumsum(lower, axis=1) - lower / 2.0
    return (upper * below).sum(axis=1), upper.sum(axis=1) * lower.sum(axis=1)


def _ratio(concordant: Floats, pairs: Floats) -> Floats:
    ratio: Floats = np.divide(concordant, pairs, out=np.full(len(pairs), np.nan), where=pairs > 0)
    return ratio


def _strata(count: int, strata: Sequence[int] | None) -> list[NDArray[np.intp]]:
    values = np.zeros(count) if strata is None else np.asarray(strata)
    return [np.flatnonzero(values == value) for value in np.unique(values)]


def _draws(groups: Sequence[str], resamples: int, seed: int) -> Any:
    """Yield blocks of sample weights [r, n]: the number of times that each draw contains the sample's group."""
    names, place = np.unique(np.asarray(groups), return_inverse=True)
    rng = np.random.default_rng(seed)
    part = max(1, BATCH // max(1, len(groups)))
    for start in range(0, resamples, part):
        size = min(part, resamples - start)
        drawn = rng.multinomial(len(names), np.full(len(names), 1.0 / len(names)), size=size)
        yield drawn[:, place].astype(np.float64)


def _interval(values: Floats) -> tuple[float, float]:
    kept = values[~np.isnan(values)]
    if not len(kept):
        return float("nan"), float("nan")
    low, high = np.quantile(kept, [(1.0 - LEVEL) / 2.0, (1.0 + LEVEL) / 2.0])
    return float(low), float(high)


def _checked(scores: Any, supported: Any) -> tuple[Floats, NDArray[np.bool_]]:
    values, labels = np.asarray(scores, dtype=np.float64), np.asarray(supported, dtype=np.bool_)
    if values.shape != labels.shape or values.ndim != 1 or not len(values):
        raise GateError(
            f"scores: got the shape {values.shape} for labels {labels.shape}; allowed: one a claim"
        )
    if not np.isfinite(values).all():
        raise GateError("scores: got values that are not finite; allowed: finite numbers")
    return values, labels
