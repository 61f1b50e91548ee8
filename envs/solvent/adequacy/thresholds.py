"""Threshold discovery: with 50 or more labelled responses, find the features and cut points that agree with the labels.

*Correlation*: Spearman's rho of each feature with the human EpAd, over all responses, with intervals. Features:
``evidence_count`` (distinct calls that answered, a broad one weighted as in the lexicon), ``distinct_targets`` of these
calls, ``words_level`` (-1 nothing asserted, 0 hedged to 3 absolute), ``signals`` of limited evidence (their number),
and ``response_length`` in words.

*Cut points*: the minimum number of calls for thin, reasonable and ample evidence, and the weight of a broad call. One
half chooses those with the highest quadratic kappa; of equals, the nearest to the lexicon's. The *other* half gives
their agreement, the lexicon's own, and the difference of the two kappas with a paired interval. They are *better* only
if that interval is above zero. The halves are drawn with a seed and balanced by label; responses to one query stay
together. *Incidents* (``fmea``) are labelled by a rule on the heuristic's own reading: they help to choose, and are
excluded from the reported figures. Source: "Epistemic Adequacy Design", "Threshold discovery".

Known approximation: one split. With some 50 responses a half is 25, and a real improvement of 0.1 in kappa will mostly
not show. Drawing another split because of the result uses up both halves.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from solvent.adequacy.agreement import (
    Agreement,
    Estimate,
    agreement,
    kappa_difference,
    quadratic_kappa,
    spearman_estimate,
)
from solvent.adequacy.errors import AdequacyError
from solvent.adequacy.heuristic import score
from solvent.adequacy.lexicon import Lexicon, load_lexicon
from solvent.adequacy.scores import response_sha256
from solvent.adequacy.style import style_of

if TYPE_CHECKING:
    from solvent.adequacy.labelled import Example

__all__ = ["FEATURES", "LEAST", "CutPoints", "Discovery", "discover", "labels_sha256"]

LEAST = 50
"""Minimum number of labelled responses: the source's number."""

FEATURES = ("evidence_count", "distinct_targets", "words_level", "signals", "response_length")

_NOTHING = -1
_MOST_THIN, _MOST_REASONABLE, _MOST_AMPLE, _MOST_BROAD = 2, 5, 8, 3


@dataclasses.dataclass(frozen=True)
class CutPoints:
    """The minimum number of calls for thin, reasonable and ample evidence, and the weight of a broad call."""

    thin: int
    reasonable: int
    ample: int
    broad: int

    @classmethod
    def of(cls, lexicon: Lexicon) -> CutPoints:
        """Return the cut points of a lexicon."""
        return cls(*lexicon.counts)

    @property
    def counts(self) -> tuple[int, int, int, int]:
        """The four numbers, in the lexicon's order."""
        return self.thin, self.reasonable, self.ample, self.broad

    def applied(self, lexicon: Lexicon) -> Lexicon:
        """Return the lexicon with these cut points. Its hash stays that of the file."""
        return dataclasses.replace(lexicon, counts=self.counts)

    def distance(self, other: CutPoints) -> int:
        """Return the sum of the absolute differences of the four numbers."""
        return sum(abs(a - b) for a, b in zip(self.counts, other.counts, strict=True))


@dataclasses.dataclass(frozen=True)
class Discovery:
    """Correlations and cut points, with their agreement.

    Attributes:
        correlations: Spearman's rho with the human EpAd by feature, over all responses; NaN if either is constant.
        shipped: the lexicon's cut points.
        chosen: those with the highest kappa on the half to learn from.
        learnt_on, reported_on: responses in each half.
        learnt_kappa: kappa of the chosen ones on the half to learn from; not to be reported as their agreement.
        shipped_agreement, chosen_agreement: agreement with people on the other half.
        difference: chosen kappa less shipped kappa, on the other half.
        overall: agreement of the shipped ones on all responses.
        labels_sha256: hash of the labelled responses, incidents included.
        lexicon_sha256: hash of the lexicon's file.
        seed: seed of split and bootstrap.
        incidents: number of incidents learnt from.
    """

    correlations: dict[str, Estimate]
    shipped: CutPoints
    chosen: CutPoints
    learnt_on: int
    reported_on: int
    learnt_kappa: float
    shipped_agreement: Agreement
    chosen_agreement: Agreement
    difference: Estimate
    overall: Agreement
    labels_sha256: str
    lexicon_sha256: str
    seed: int
    incidents: int = 0

    @property
    def better(self) -> bool:
        """True if the chosen ones agree better with people on the half that they were not chosen on."""
        return self.difference.low > 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return all fields and the verdict as values that JSON can hold, with None for NaN."""
        agreed = ("shipped_agreement", "chosen_agreement", "overall", "difference")
        return {
            **dataclasses.asdict(self),
            **{name: getattr(self, name).to_dict() for name in agreed},
            "correlations": {name: rho.to_dict() for name, rho in self.correlations.items()},
            "learnt_kappa": None if math.isnan(self.learnt_kappa) else self.learnt_kappa,
            "better": self.better,
            "verdict": self.verdict,
        }

    @property
    def verdict(self) -> str:
        """The conclusion in a sentence."""
        if self.chosen == self.shipped:
            return "The shipped cut points are the best ones on the half to learn from."
        says = "better than" if self.better else "not shown to be better than"
        return (
            f"The chosen cut points are {says} the shipped ones: kappa {self.chosen_agreement.kappa.value:.2f} "
            f"against {self.shipped_agreement.kappa.value:.2f} on {self.reported_on} other responses, "
            f"difference {self.difference}."
        )


def discover(
    examples: Sequence[Example],
    *,
    incidents: Sequence[Example] = (),
    seed: int = 0,
    lexicon: Lexicon | None = None,
) -> Discovery:
    """Find the features and cut points that agree with the labels; see the module.

    Args:
        examples: responses that people have labelled, 50 or more.
        incidents: examples of ``fmea.as_example``, only to learn from; those with a query of the reported half are left
            out.
        seed: seed of split and bootstrap.
        lexicon: None: the shipped one.

    Raises:
        AdequacyError: there are too few examples, an id occurs twice, or all labels are the same.
    """
    lexicon = load_lexicon() if lexicon is None else lexicon
    _require(examples)
    shipped = CutPoints.of(lexicon)
    learn, report = _halves(examples, seed)
    more = _apart(incidents, [examples[i] for i in report])
    _require_once([*examples, *more])
    scorer, count = _Scorer([*examples, *more], lexicon), len(examples)
    learn = [*learn, *range(count, count + len(more))]
    chosen, kappa = _choose(scorer, learn, shipped)
    human = [scorer.human[i] for i in report]
    ours, theirs = scorer.scores(chosen, report), scorer.scores(shipped, report)
    return Discovery(
        correlations=_correlations(scorer, range(count), shipped, seed),
        shipped=shipped,
        chosen=chosen,
        learnt_on=len(learn),
        reported_on=len(report),
        learnt_kappa=kappa,
        shipped_agreement=agreement(theirs, human, seed=seed),
        chosen_agreement=agreement(ours, human, seed=seed),
        difference=kappa_difference(ours, theirs, human, seed=seed),
        overall=agreement(scorer.scores(shipped, range(count)), scorer.human[:count], seed=seed),
        labels_sha256=labels_sha256([*examples, *more]),
        lexicon_sha256=lexicon.sha256,
        seed=seed,
        incidents=len(more),
    )


def labels_sha256(examples: Iterable[Example]) -> str:
    """Return the order-independent SHA-256 of labelled responses: ids, responses, tool calls, queries and EpAd."""
    rows = sorted([e.id, response_sha256(e.response, e.context, e.query), e.epad] for e in examples)
    return hashlib.sha256(json.dumps(rows, ensure_ascii=True).encode("ascii")).hexdigest()


def _require(examples: Sequence[Example]) -> None:
    if len(examples) < LEAST:
        raise AdequacyError(f"labels: got {len(examples)} labelled responses; allowed: {LEAST} or more")
    if len({example.epad for example in examples}) < 2:
        raise AdequacyError(f"labels: got EpAd {examples[0].epad} throughout; allowed: two classes or more")


def _require_once(examples: Sequence[Example]) -> None:
    seen: set[str] = set()
    for example in examples:
        if example.id in seen:
            raise AdequacyError(f"labels: got {example.id!r:.80} twice; allowed: each response once")
        seen.add(example.id)


class _Scorer:
    """Scores of some labelled responses under any cut points.

    Evidence is a count of calls, so cut points on the same side of every count that these calls can reach give the same
    score, which is computed once.
    """

    def __init__(self, examples: Sequence[Example], lexicon: Lexicon) -> None:
        self.examples, self.lexicon = examples, lexicon
        self.human = [example.epad for example in examples]
        self._calls = [_counts(example) for example in examples]
        self._known: dict[tuple[object, ...], int] = {}

    def scores(self, cut: CutPoints, rows: Iterable[int]) -> list[int]:
        lexicon = cut.applied(self.lexicon)
        return [self._score(i, cut, lexicon) for i in rows]

    def _score(self, i: int, cut: CutPoints, lexicon: Lexicon) -> int:
        narrow, broad = self._calls[i]
        out_of_reach = narrow + cut.broad * broad + 1
        limits = tuple(min(limit, out_of_reach) for limit in cut.counts[:3])
        key = (i, limits, cut.broad if broad else 0)
        if key not in self._known:
            example = self.examples[i]
            adequacy = score(example.response, example.context, example.query, lexicon=lexicon)
            self._known[key] = adequacy.score
        return self._known[key]


def _counts(example: Example) -> tuple[int, int]:
    """Return the distinct narrow and broad calls, including those that don't count as evidence."""
    calls = example.context.distinct()
    broad = sum(call.scope == "broad" for call in calls)
    return len(calls) - broad, broad


def _correlations(scorer: _Scorer, rows: Iterable[int], cut: CutPoints, seed: int) -> dict[str, Estimate]:
    found = [(scorer.human[i], _features(scorer.examples[i], cut, scorer.lexicon)) for i in rows]
    human = [label for label, _ in found]
    columns = zip(FEATURES, zip(*(features for _, features in found), strict=True), strict=True)
    return {name: spearman_estimate(column, human, seed=seed) for name, column in columns}


def _features(example: Example, cut: CutPoints, lexicon: Lexicon) -> tuple[int, ...]:
    adequacy = score(example.response, example.context, example.query, lexicon=lexicon)
    calls = [call for call in example.context.distinct() if call.answered]
    return (
        sum(cut.broad if call.scope == "broad" else 1 for call in calls),
        len({target for call in calls for target in call.targets}),
        max((int(one.words) for one in adequacy.sentences if one.words is not None), default=_NOTHING),
        len(adequacy.signals),
        style_of(example.response).word_count,
    )


def _halves(examples: Sequence[Example], seed: int) -> tuple[list[int], list[int]]:
    """Return indices to learn from and to report on: queries sorted by mean label, dealt to the halves in pairs."""
    groups: dict[str, list[int]] = {}
    for i, example in enumerate(examples):
        groups.setdefault(_asked(example) or f"\0{i}", []).append(i)
    members = list(groups.values())
    draws = np.random.default_rng(seed).random(len(members))
    means = [float(np.mean([examples[i].epad for i in rows])) for rows in members]
    order = sorted(range(len(members)), key=lambda g: (means[g], draws[g]))
    sides: tuple[list[int], list[int]] = ([], [])
    for place, group in enumerate(order):
        # First, second, second, first: neither half gets the higher one of every pair.
        sides[(place + 1) // 2 % 2].extend(members[group])
    return sorted(sides[0]), sorted(sides[1])


def _asked(example: Example) -> str:
    """Return the query regardless of case and spacing; empty if unknown."""
    return " ".join((example.query or "").casefold().split())


def _apart(incidents: Sequence[Example], report: Sequence[Example]) -> list[Example]:
    told = {response_sha256(one.response, one.context, one.query) for one in report}
    asked = {query for one in report if (query := _asked(one))}
    return [
        one
        for one in incidents
        if _asked(one) not in asked and response_sha256(one.response, one.context, one.query) not in told
    ]


def _choose(scorer: _Scorer, rows: Sequence[int], shipped: CutPoints) -> tuple[CutPoints, float]:
    """Return the cut points with the highest kappa on some responses, and that kappa. A tie goes to the nearest."""
    human = [scorer.human[i] for i in rows]

    def kappa(cut: CutPoints) -> float:
        return quadratic_kappa(scorer.scores(cut, rows), human)

    def rank(cut: CutPoints) -> tuple[float, int]:
        found = kappa(cut)
        # The order of summation changes the last bits, which must not decide.
        return (-1.0 if math.isnan(found) else round(found, 9)), -cut.distance(shipped)

    best = max([shipped, *_grid()], key=rank)
    return best, kappa(best)


def _grid() -> Iterator[CutPoints]:
    for thin in range(1, _MOST_THIN + 1):
        for reasonable in range(thin + 1, _MOST_REASONABLE + 1):
            for ample in range(reasonable + 1, _MOST_AMPLE + 1):
                for broad in range(1, _MOST_BROAD + 1):
                    yield CutPoints(thin, reasonable, ample, broad)
