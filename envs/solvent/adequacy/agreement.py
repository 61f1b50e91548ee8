"""Agreement of heuristic, judge and people on the same responses, and the limits of evidence that fit labels best.

    kappa = 1 - E[(a - b)^2] / E[(a - b')^2]        (b' independent of a; Cohen's, with quadratic weights)

Beside every rater stands the *baseline*, which reads no word: 3 without a call, 2 after one, else 0. Intervals, also of
a difference of two kappas, are percentile bootstraps over responses, paired. Source: *Epistemic Adequacy Design*,
"Threshold discovery" (50 labels or more) and phases 3 and 4, which ask for the comparisons and name no measure.

Known approximation: responses count as independent, though those of a session are not. One split: drawing another one
because of the result uses up both halves.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from pydantic import BaseModel

from solvent.adequacy.calls import calls_of
from solvent.adequacy.heuristic import CUTS, WORST, Adequacy, score
from solvent.adequacy.records import Limits, Rater, Score, ScoreRecord
from solvent.files import RECORD, now

__all__ = [
    "BASELINE", "FEWEST_LABELS", "Agreement", "Estimate", "Labelled", "agreement", "baseline", "discover", "kappa",
    "kappa_difference", "ratings_of", "scored",
]  # fmt: skip

FEWEST_LABELS = 50
"""The source's number of labelled responses."""
RESAMPLES = 2000
_SEED = 0
BASELINE = "calls alone: 3, 2, 0"


class Labelled(BaseModel):
    """A response with its calls and a person's label; other fields of a line are not read."""

    model_config = RECORD | {"extra": "ignore"}

    response: str
    tool_calls: list[dict[str, Any]]
    query: str | None = None
    epad: Score


class Estimate(NamedTuple):
    """A value with its 95 % interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"


class Agreement(NamedTuple):
    """A rater's agreement with people on so many responses, and how much of it exceeds the baseline's."""

    rater: str
    responses: int
    kappa: Estimate
    gain: Estimate


def _kappa(a: Any, b: Any, axis: int = -1) -> Any:
    x, y = np.asarray(a, float), np.asarray(b, float)
    expected = (x**2).mean(axis) + (y**2).mean(axis) - 2.0 * x.mean(axis) * y.mean(axis)
    with np.errstate(divide="ignore", invalid="ignore"):  # of one class throughout there is no kappa
        return 1.0 - ((x - y) ** 2).mean(axis) / expected


def _estimate(statistic: Callable[..., Any], *columns: Sequence[int]) -> Estimate:
    from scipy.stats import bootstrap

    rng = np.random.default_rng(_SEED)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a resample of one class counts for nothing
        drawn = bootstrap(
            columns, statistic, paired=True, n_resamples=RESAMPLES, method="percentile", rng=rng
        )
        low, high = np.nanquantile(drawn.bootstrap_distribution, [0.025, 0.975])
    return Estimate(float(statistic(*columns)), float(low), float(high))


def kappa(a: Sequence[int], b: Sequence[int]) -> Estimate:
    """Return the quadratic kappa of two raters of the same responses [n] with its interval."""
    return _estimate(_kappa, a, b)


def kappa_difference(a: Sequence[int], b: Sequence[int], truth: Sequence[int]) -> Estimate:
    """Return kappa(a, truth) - kappa(b, truth) with its paired interval."""
    return _estimate(lambda x, y, t, axis=-1: _kappa(x, t, axis) - _kappa(y, t, axis), a, b, truth)


# -- raters --------------------------------------------------------------------------------------


def baseline(calls: int) -> int:
    """Return the score that the number of calls alone gives."""
    return (WORST, 2, 0)[min(calls, 2)]


def scored(example: Labelled, cuts: tuple[int, int] = CUTS) -> Adequacy:
    """Return the heuristic's score of a labelled response."""
    return score(example.response, calls_of(example.tool_calls), example.query or "", cuts=cuts)


def ratings_of(rows: Iterable[ScoreRecord | Labelled]) -> tuple[dict[str, list[int | None]], list[int]]:
    """Return the ratings of responses that people labelled, by rater, and the labels; None where a rater has none."""
    ratings: dict[str, list[int | None]] = {"heuristic": [], "marks alone": [], "judge": [], BASELINE: []}
    labels = []
    for row in rows:
        judge: int | None = None
        if isinstance(row, Labelled):
            adequacy, calls, label = scored(row), len(row.tool_calls), row.epad
            heuristic, certain = adequacy.score, adequacy.certain
        elif row.epad.human is not None:
            heuristic, certain, judge = row.epad.heuristic or 0, row.certain, row.epad.judge
            calls, label = row.tool_context.tool_calls, row.epad.human
        else:
            continue
        labels.append(label)
        for rater, value in zip(ratings, (heuristic, WORST * certain, judge, baseline(calls)), strict=True):
            ratings[rater].append(value)
    return ratings, labels


def agreement(ratings: Mapping[str, Sequence[int | None]], labels: Sequence[int]) -> list[Agreement]:
    """Return the agreement of each rater with the labels, on the responses that it rated."""
    rows = []
    for rater, values in ratings.items():
        triples = [
            (value, trivial or 0, label)
            for value, trivial, label in zip(values, ratings[BASELINE], labels, strict=True)
            if value is not None
        ]
        if len(triples) > 1:
            own, trivial, truth = map(list, zip(*triples, strict=True))
            rows.append(Agreement(rater, len(own), kappa(own, truth), kappa_difference(own, trivial, truth)))
    return rows


# -- limits --------------------------------------------------------------------------------------


class Discovery(NamedTuple):
    """What labels say of the limits: correlations, kappas on the half that chose nothing, and what they favour.

    ``best``: the limits that fit the other half best; ``limits`` has them if they do better here, beyond the interval.
    """

    best: tuple[int, int]
    correlations: dict[str, float]
    shipped: Estimate
    chosen: Estimate
    difference: Estimate
    judge_minus_heuristic: Estimate | None
    limits: Limits


def discover(examples: Sequence[Labelled], judged: Sequence[int | None] = ()) -> Discovery:
    """Return what correlates with people's labels, and the limits of evidence and the rater that fit them best.

    Responses to the same query are in the same half: one half chooses the limits, the other reports their agreement.
    The judge is favoured if it agrees better than the heuristic, beyond the interval.

    Args:
        examples: labelled responses.
        judged: a judge's scores of the same responses; None where it has none.

    Raises:
        ValueError: there are fewer than ``FEWEST_LABELS`` labels, or only one class.
    """
    human = [example.epad for example in examples]
    if len(examples) < FEWEST_LABELS or len(set(human)) < 2:
        raise ValueError(
            f"labels: got {len(examples)} of {len(set(human))} classes; allowed: {FEWEST_LABELS} or more, of two"
        )
    learn, report = _halves(examples)
    best = _best_cuts(learn)
    truth = [example.epad for example in report]
    shipped, chosen = _scores(report, CUTS), _scores(report, best)
    difference = kappa_difference(chosen, shipped, truth)
    judge_minus_heuristic = _judge_minus_heuristic(examples, judged)
    rater: Rater = "judge" if judge_minus_heuristic and judge_minus_heuristic.low > 0.0 else "heuristic"
    favoured = best if difference.low > 0.0 else CUTS
    return Discovery(
        best,
        _correlations(examples, human),
        kappa(shipped, truth),
        kappa(chosen, truth),
        difference,
        judge_minus_heuristic,
        Limits(cuts=favoured, rater=rater, labels=len(examples), time=now()),
    )


def _scores(examples: Sequence[Labelled], cuts: tuple[int, int]) -> list[int]:
    return [scored(example, cuts).score for example in examples]


def _best_cuts(examples: Sequence[Labelled]) -> tuple[int, int]:
    """Return the limits that agree best with the labels; of equals the shipped ones, then the lowest."""
    labels = [example.epad for example in examples]
    grid = [CUTS, *((low, high) for low in range(1, 5) for high in range(low + 1, 9))]
    return max(grid, key=lambda cuts: round(float(_kappa(_scores(examples, cuts), labels)), 9))


def _judge_minus_heuristic(examples: Sequence[Labelled], judged: Sequence[int | None]) -> Estimate | None:
    """Return the difference of their kappas on the responses that the judge has scored; None for fewer than two."""
    places = [i for i, value in enumerate(judged) if value is not None]
    if len(places) < 2:
        return None
    both = [examples[i] for i in places]
    grades, labels = [judged[i] or 0 for i in places], [example.epad for example in both]
    return kappa_difference(grades, _scores(both, CUTS), labels)


def _halves(examples: Sequence[Labelled]) -> tuple[list[Labelled], list[Labelled]]:
    """Return the examples that choose the limits, and those that report their agreement."""
    queries = [example.query or f"{place}" for place, example in enumerate(examples)]
    drawn = np.random.default_rng(_SEED).permutation(sorted(set(queries)))
    learning = set(drawn[: len(drawn) // 2].tolist())
    pairs = list(zip(examples, queries, strict=True))
    return [one for one, query in pairs if query in learning], [
        one for one, query in pairs if query not in learning
    ]


def _correlations(examples: Sequence[Labelled], human: Sequence[int]) -> dict[str, float]:
    from scipy.stats import spearmanr

    features = {
        "tool calls": [len(example.tool_calls) for example in examples],
        "kinds of tools": [len({call["name"] for call in example.tool_calls}) for example in examples],
        "words": [len(example.response.split()) for example in examples],
        "heuristic": [scored(example).score for example in examples],
    }
    varied = {name: column for name, column in features.items() if len(set(column)) > 1}
    return {name: float(spearmanr(column, human).statistic) for name, column in varied.items()}
