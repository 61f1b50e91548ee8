"""Shadow mode: compare the scores that heuristic, judge and people gave to the same responses.

Each pair of raters is compared on the responses that both scored: quadratic kappa, exact and within-one accuracy,
Spearman's rho and confusion matrix (``agreement``). On the responses that all three scored, the difference

    kappa(judge, human) - kappa(heuristic, human)

has a paired bootstrap interval and tells which of the two to use. Disagreements are listed, the widest first. ``human``
is the label that stands (``labels``). People with a name are also compared with each other, so that a kappa with people
can be held against the kappa that two of them reach. Source: "Epistemic Adequacy Design", phases 3 and 4.

Known approximation: people label the responses that they come across; agreement on the others may differ. Each pair may
cover a different part of the records; the counts show how much.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from solvent.adequacy.agreement import Agreement, Estimate, agreement, kappa_difference
from solvent.adequacy.errors import AdequacyError
from solvent.adequacy.scores import RATERS, ScoreRecord, merged

__all__ = ["Comparison", "Disagreement", "Pair", "Scale", "compare"]

Scale = Literal["epad", "sya"]

_LEAST = 2


@dataclass(frozen=True)
class Pair:
    """Two raters; ``first`` has the rows of the confusion matrix. ``found`` is None below two shared responses."""

    first: str
    second: str
    count: int
    found: Agreement | None

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as values that JSON can hold."""
        agreed = None if self.found is None else self.found.to_dict()
        return {"first": self.first, "second": self.second, "count": self.count, "agreement": agreed}


@dataclass(frozen=True)
class Disagreement:
    """A response whose lowest and highest rating are ``apart`` classes apart."""

    id: str
    rule: str
    apart: int
    ratings: dict[str, int]

    def __str__(self) -> str:
        said = ", ".join(f"{rater} {rating}" for rater, rating in self.ratings.items())
        return f"{self.id} ({self.rule}): {said}"


@dataclass(frozen=True)
class Comparison:
    """All pairs, the disagreements, and the judge's lead in agreement with people (None: too few shared responses).

    Pairs of two people follow those of the ``RATERS``, if they share two responses.
    """

    scale: Scale
    count: int
    missing: dict[str, int]
    pairs: tuple[Pair, ...]
    disagreements: tuple[Disagreement, ...]
    judge_over_heuristic: Estimate | None

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as values that JSON can hold."""
        over = self.judge_over_heuristic
        return {
            "scale": self.scale,
            "count": self.count,
            "missing": self.missing,
            "pairs": [pair.to_dict() for pair in self.pairs],
            "disagreements": [vars(entry) for entry in self.disagreements],
            "judge_over_heuristic": None if over is None else over.to_dict(),
        }


def compare(
    records: Iterable[ScoreRecord], *, scale: Scale = "epad", apart: int = 2, seed: int = 0
) -> Comparison:
    """Compare the raters of some records. Lines with the same id are merged first.

    Args:
        records: the lines of ``scores.jsonl``.
        scale: ``epad`` or ``sya``.
        apart: minimum distance of a listed disagreement, classes, 1 to 3.
        seed: seed of the bootstrap.

    Raises:
        AdequacyError: the scale is unknown, ``apart`` is out of range, or two responses have one id.
    """
    if scale not in ("epad", "sya"):
        raise AdequacyError(f"scale: got {scale!r:.80}; allowed: epad, sya")
    if apart not in (1, 2, 3):
        raise AdequacyError(f"apart: got {apart!r:.80}; allowed: 1, 2, 3")
    records = list(records)
    whole = merged(records)
    rated = [_ratings(record, scale) for record in whole]
    pairs = tuple(_pair(first, second, rated, seed) for first, second in itertools.combinations(RATERS, 2))
    found = [_disagreement(record, ratings, apart) for record, ratings in zip(whole, rated, strict=True)]
    return Comparison(
        scale=scale,
        count=len(whole),
        missing={rater: sum(rater not in ratings for ratings in rated) for rater in RATERS},
        pairs=(*pairs, *_people(records, scale, seed)),
        disagreements=tuple(sorted((d for d in found if d is not None), key=lambda d: (-d.apart, d.id))),
        judge_over_heuristic=_difference(rated, seed),
    )


def _ratings(record: ScoreRecord, scale: Scale) -> dict[str, int]:
    ratings = vars(record.epad if scale == "epad" else record.sya)
    return {rater: ratings[rater] for rater in RATERS if ratings[rater] is not None}


def _pair(first: str, second: str, rated: list[dict[str, int]], seed: int) -> Pair:
    both = [ratings for ratings in rated if first in ratings and second in ratings]
    found = None
    if len(both) >= _LEAST:
        found = agreement([r[first] for r in both], [r[second] for r in both], seed=seed)
    return Pair(first, second, len(both), found)


def _people(records: Sequence[ScoreRecord], scale: Scale, seed: int) -> Iterator[Pair]:
    """Yield the pairs of people who labelled two responses or more in common."""
    labels: dict[str, dict[str, int]] = {}
    for record in records:
        given = getattr(record, scale).human
        if given is not None and record.labelled_by is not None:
            labels.setdefault(record.labelled_by, {})[record.id] = given
    for first, second in itertools.combinations(labels, 2):
        shared = labels[first].keys() & labels[second].keys()
        if len(shared) >= _LEAST:
            both = [{first: labels[first][one], second: labels[second][one]} for one in sorted(shared)]
            yield _pair(first, second, both, seed)


def _difference(rated: list[dict[str, int]], seed: int) -> Estimate | None:
    shared = [ratings for ratings in rated if len(ratings) == len(RATERS)]
    if len(shared) < _LEAST:
        return None
    heuristic, judge, human = ([ratings[rater] for ratings in shared] for rater in RATERS)
    return kappa_difference(judge, heuristic, human, seed=seed)


def _disagreement(record: ScoreRecord, ratings: dict[str, int], apart: int) -> Disagreement | None:
    widest = max(ratings.values()) - min(ratings.values()) if ratings else 0
    return Disagreement(record.id, record.rule, widest, ratings) if widest >= apart else None
