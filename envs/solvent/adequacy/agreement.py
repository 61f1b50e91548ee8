"""Agreement of heuristic, judge and people on the same responses, and the limits of evidence that fit labels best.

    kappa = 1 - E[(a - b)^2] / E[(a - b')^2]        (b' independent of a; Cohen's, with quadratic weights)

Intervals, also of a difference of two kappas, are percentile bootstraps over responses, paired. Source: *Epistemic
Adequacy Design*, "Threshold discovery" (50 labels or more) and phases 3 and 4, which ask for the comparisons and name
no measure.

Known approximation: responses count as independent, though those of a session are not. One split: drawing another one
because of the result uses up both halves.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from pydantic import BaseModel

from solvent.adequacy.calls import calls_of
from solvent.adequacy.heuristic import CUTS, score
from solvent.adequacy.records import Score, ScoreRecord
from solvent.files import RECORD

__all__ = ["LEAST", "Estimate", "Labelled", "compare", "discover", "kappa", "kappa_difference"]

LEAST = 50
"""The source's number of labelled responses."""
RESAMPLES = 2000


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


def _kappa(a: Any, b: Any, axis: int = -1) -> Any:
    x, y = np.asarray(a, float), np.asarray(b, float)
    expected = (x**2).mean(axis) + (y**2).mean(axis) - 2.0 * x.mean(axis) * y.mean(axis)
    with np.errstate(divide="ignore", invalid="ignore"):  # of one class throughout there is no kappa
        return 1.0 - ((x - y) ** 2).mean(axis) / expected


def _estimate(statistic: Callable[..., Any], *columns: Sequence[int], seed: int) -> Estimate:
    from scipy.stats import bootstrap

    rng = np.random.default_rng(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a resample of one class counts for nothing
        drawn = bootstrap(
            columns, statistic, paired=True, n_resamples=RESAMPLES, method="percentile", rng=rng
        )
        low, high = np.nanquantile(drawn.bootstrap_distribution, [0.025, 0.975])
    return Estimate(float(statistic(*columns)), float(low), float(high))


def kappa(a: Sequence[int], b: Sequence[int], *, seed: int = 0) -> Estimate:
    """Return the quadratic kappa of two raters of the same responses [n] with its interval."""
    return _estimate(_kappa, a, b, seed=seed)


def kappa_difference(a: Sequence[int], b: Sequence[int], truth: Sequence[int], *, seed: int = 0) -> Estimate:
    """Return kappa(a, truth) - kappa(b, truth) with its paired interval."""
    return _estimate(lambda x, y, t, axis=-1: _kappa(x, t, axis) - _kappa(y, t, axis), a, b, truth, seed=seed)


def compare(records: Iterable[ScoreRecord]) -> dict[str, str]:
    """Return the agreement on EpAd of each pair of raters, and which of judge and heuristic agrees better with people.

    Keys: ``heuristic, judge`` and so on; ``judge less heuristic``, the difference of their kappas with people's labels.
    """
    rows = [record.epad.model_dump(exclude_none=True) for record in records]
    found = {}
    for a, b in itertools.combinations(("heuristic", "judge", "human"), 2):
        pairs = [(row[a], row[b]) for row in rows if a in row and b in row]
        if len(pairs) > 1:
            found[f"{a}, {b}"] = f"{len(pairs):,} responses, kappa {kappa(*zip(*pairs, strict=True))}"
    complete = [row for row in rows if len(row) == 3]
    if len(complete) > 1:
        columns = [[row[rater] for row in complete] for rater in ("judge", "heuristic", "human")]
        found["judge less heuristic"] = str(kappa_difference(*columns))
    return found


def discover(examples: Sequence[Labelled], *, seed: int = 0) -> dict[str, Any]:
    """Return what correlates with people's labels, and the limits of evidence that fit them best.

    Responses to the same query are in the same half: one half chooses the limits, the other reports their agreement.

    Raises:
        ValueError: there are fewer than ``LEAST`` labels, or only one class.
    """
    from scipy.stats import spearmanr

    human = [example.epad for example in examples]
    if len(examples) < LEAST or len(set(human)) < 2:
        raise ValueError(
            f"labels: got {len(examples)} of {len(set(human))} classes; allowed: {LEAST} or more, of two"
        )
    turns = [(one.response, calls_of(one.tool_calls), one.query or f"{i}") for i, one in enumerate(examples)]

    def scores(cuts: tuple[int, int], rows: Iterable[int]) -> list[int]:
        return [score(*turns[i], cuts=cuts).score for i in rows]

    queries = np.random.default_rng(seed).permutation(sorted({query for _, _, query in turns}))
    learning = set(queries[: len(queries) // 2].tolist())
    learn, report = (
        [i for i, turn in enumerate(turns) if (turn[2] in learning) is side] for side in (True, False)
    )
    truth, target = [human[i] for i in report], [human[i] for i in learn]
    grid = [CUTS, *((low, high) for low in range(1, 5) for high in range(low + 1, 9))]
    best = max(grid, key=lambda cuts: round(_kappa(scores(cuts, learn), target), 9))
    shipped, chosen = scores(CUTS, report), scores(best, report)
    everything = scores(CUTS, range(len(turns)))
    features = {
        "tool calls": [len(calls) for _, calls, _ in turns],
        "kinds of tools": [len({call.name for call in calls}) for _, calls, _ in turns],
        "words": [len(response.split()) for response, _, _ in turns],
        "heuristic": everything,
    }
    varied = {name: column for name, column in features.items() if len(set(column)) > 1}
    return {
        "labels": {label: human.count(label) for label in range(4)},
        "rank correlation": {
            name: float(spearmanr(column, human).statistic) for name, column in varied.items()
        },
        "kappa": kappa(everything, human, seed=seed),
        "limits": {"shipped": CUTS, "chosen": best, "learnt on": len(learn), "reported on": len(report)},
        "kappa, shipped limits": kappa(shipped, truth, seed=seed),
        "kappa, chosen limits": kappa(chosen, truth, seed=seed),
        "difference": kappa_difference(chosen, shipped, truth, seed=seed),
    }
