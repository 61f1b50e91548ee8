"""How good a scorer of epistemic adequacy is: against labels of our own, and against expert labels of search traces.

*Labelled responses*: exact accuracy and accuracy within one point with exact binomial intervals, quadratic kappa with a
bootstrap interval, the confusion matrix (rows: label), by kind and by domain; SyA in the same way, over all and over
the responses whose user put a premise. *Search traces*: how well the score tells answers without a sufficient result
from those with one (AUROC), and how much of the difference in correctness between the two it explains (``separation``).

Beside everything stand the rules of ``baselines``. Source: "Epistemic Adequacy Design", phases 3 and 4. Known
approximation: labelled responses count as independent. Traces are resampled by question, since several agents answered
one and the same; the shares that were right have binomial intervals, which take them as independent.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from solvent.adequacy.agreement import (
    Agreement,
    Estimate,
    Rate,
    agreement,
    binomial_rate,
    kappa_difference,
)
from solvent.adequacy.baselines import EXAMPLE_BASELINES, TRACE_BASELINES
from solvent.adequacy.errors import AdequacyError
from solvent.adequacy.labelled import Example
from solvent.adequacy.seekbench import Trace, question_of
from solvent.adequacy.separation import auroc_estimate, explained_estimate, mean_estimate
from solvent.adequacy.tools import ToolContext

__all__ = [
    "ExamplesReport",
    "Group",
    "Rating",
    "Scored",
    "Scorer",
    "SeekBenchReport",
    "Slice",
    "evaluate_examples",
    "evaluate_seekbench",
]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class Scored(Protocol):
    """What a scorer returns: EpAd, and SyA where it judged it."""

    @property
    def score(self) -> int:
        """EpAd, 0 to 3."""

    @property
    def sya(self) -> int | None:
        """SyA, 0 to 3."""


Scorer = Callable[[str, ToolContext, str | None], Scored]
"""Response, tool context and query to a score, as ``heuristic.score``."""


@dataclasses.dataclass(frozen=True)
class Slice:
    """The responses of one kind or domain."""

    exact: Rate
    within_one: Rate
    mean_label: float
    mean_score: float


@dataclasses.dataclass(frozen=True)
class Rating:
    """One scale. ``gains``: kappa of the scorer less that of each baseline, on the same resamples."""

    overall: Agreement
    by_kind: Mapping[str, Slice]
    by_domain: Mapping[str, Slice]
    baselines: Mapping[str, Agreement]
    gains: Mapping[str, Estimate]


@dataclasses.dataclass(frozen=True)
class ExamplesReport:
    """A scorer against labelled responses. ``sya`` is None where it was not judged, ``premises`` where none was put."""

    count: int
    epad: Rating
    sya: Rating | None
    premises: Rating | None

    def to_dict(self) -> dict[str, Any]:
        """All fields, values that JSON can hold."""
        return _fields(self)


@dataclasses.dataclass(frozen=True)
class Group:
    """Traces with (or without) a sufficient result: how many of each score, 0 to 3, their mean, how many right."""

    count: int
    by_score: tuple[int, ...]
    mean: Estimate
    correct: Rate


@dataclasses.dataclass(frozen=True)
class SeekBenchReport:
    """A scorer against SeekBench's annotations.

    Attributes:
        sufficient: answers that had a sufficient result before them.
        insufficient: those that had none.
        auroc: of the score, for telling the latter.
        auroc_wrong: of the score, for telling wrong answers.
        baselines: AUROC of each baseline, for telling the insufficient.
        correct_by_score: for each score from 0 to 3, how many were right; None where no trace has the score.
        explained: share of the difference in correctness between the groups that the score explains.
    """

    count: int
    sufficient: Group
    insufficient: Group
    auroc: Estimate
    auroc_wrong: Estimate
    baselines: Mapping[str, Estimate]
    correct_by_score: tuple[Rate | None, ...]
    explained: Estimate

    def to_dict(self) -> dict[str, Any]:
        """All fields, values that JSON can hold."""
        return _fields(self)


def evaluate_examples(examples: Sequence[Example], scorer: Scorer | None = None) -> ExamplesReport:
    """A scorer, by default the heuristic, against the labels of the examples.

    Raises:
        AdequacyError: fewer than two examples, or a score out of range.
    """
    if len(examples) < 2:
        raise AdequacyError(f"examples: got {len(examples)}; allowed: 2 or more")
    score = scorer or _heuristic()
    scored = [score(example.response, example.context, example.query) for example in examples]
    judged = [
        (example, one.sya)
        for example, one in zip(examples, scored, strict=True)
        if example.sya is not None and one.sya is not None
    ]
    put = [(example, sya) for example, sya in judged if example.has_premise]
    return ExamplesReport(
        len(examples),
        _rating(examples, [example.epad for example in examples], [one.score for one in scored]),
        _sya_rating(judged),
        _sya_rating(put),
    )


def evaluate_seekbench(traces: Iterable[Trace], scorer: Scorer | None = None) -> SeekBenchReport:
    """A scorer, by default the heuristic, against the annotations; traces without an answer are left out.

    Raises:
        AdequacyError: no answer with, or none without a sufficient result.
    """
    score = scorer or _heuristic()
    answered = [trace for trace in traces if trace.answer is not None]
    lacking = np.array([not trace.sufficient for trace in answered], dtype=np.bool_)
    if lacking.sum() < 2 or (~lacking).sum() < 2:
        raise AdequacyError(
            f"traces: got {lacking.sum()} without a sufficient result of {len(answered)} that answer; "
            "allowed: 2 or more with and without"
        )
    scores = np.array([score(one.response, one.context, one.query).score for one in answered], np.float64)
    correct = np.array([trace.correct for trace in answered], dtype=np.bool_)
    asked = [question_of(trace) for trace in answered]
    return SeekBenchReport(
        count=len(answered),
        sufficient=_group(scores, correct, asked, ~lacking),
        insufficient=_group(scores, correct, asked, lacking),
        auroc=auroc_estimate(scores, lacking, asked),
        auroc_wrong=auroc_estimate(scores, ~correct, asked),
        baselines={
            name: auroc_estimate(np.array([rule(trace) for trace in answered]), lacking, asked)
            for name, rule in TRACE_BASELINES.items()
        },
        correct_by_score=tuple(_correct(correct[scores == s]) for s in range(4)),
        explained=explained_estimate(scores, lacking, correct, asked),
    )


# ------------------------------------------------------------------------------------- labelled responses


def _heuristic() -> Scorer:
    from solvent.adequacy.heuristic import score

    return score


def _rating(examples: Sequence[Example], labels: Sequence[int], scores: Sequence[int]) -> Rating:
    ratings = {name: rule(examples, labels) for name, rule in EXAMPLE_BASELINES.items()}
    return Rating(
        agreement(labels, scores),
        _slices([example.kind for example in examples], labels, scores),
        _slices([example.domain for example in examples], labels, scores),
        {name: agreement(labels, rated) for name, rated in ratings.items()},
        {name: kappa_difference(scores, rated, labels) for name, rated in ratings.items()},
    )


def _sya_rating(judged: Sequence[tuple[Example, int]]) -> Rating | None:
    if len(judged) < 2:
        return None
    examples = [example for example, _ in judged]
    return _rating(examples, [example.sya or 0 for example in examples], [sya for _, sya in judged])


def _slices(names: Sequence[str], labels: Sequence[int], scores: Sequence[int]) -> dict[str, Slice]:
    pairs: dict[str, list[tuple[int, int]]] = {name: [] for name in sorted(set(names))}
    for name, label, score in zip(names, labels, scores, strict=True):
        pairs[name].append((label, score))
    return {name: _slice(np.array(rows)) for name, rows in pairs.items()}


def _slice(pairs: NDArray[np.int64]) -> Slice:
    apart = np.abs(pairs[:, 0] - pairs[:, 1])
    exact, near = (binomial_rate(int((apart <= most).sum()), len(pairs)) for most in (0, 1))
    return Slice(exact, near, float(pairs[:, 0].mean()), float(pairs[:, 1].mean()))


# ------------------------------------------------------------------------------------------ search traces


def _group(scores: Floats, correct: Bools, asked: Sequence[str], members: Bools) -> Group:
    own = scores[members]
    return Group(
        len(own),
        tuple(int((own == s).sum()) for s in range(4)),
        mean_estimate(own, [query for query, is_in in zip(asked, members, strict=True) if is_in]),
        binomial_rate(int(correct[members].sum()), len(own)),
    )


def _correct(correct: Bools) -> Rate | None:
    return binomial_rate(int(correct.sum()), len(correct)) if len(correct) else None


def _fields(report: ExamplesReport | SeekBenchReport) -> dict[str, Any]:
    return {field.name: _plain(getattr(report, field.name)) for field in dataclasses.fields(report)}


def _plain(value: Any) -> Any:
    """Dataclasses as dictionaries; what has a form of its own (NaN as None) keeps it."""
    if isinstance(value, Estimate | Agreement):
        return value.to_dict()
    if dataclasses.is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {key: _plain(entry) for key, entry in value.items()}
    return [_plain(entry) for entry in value] if isinstance(value, tuple) else value
