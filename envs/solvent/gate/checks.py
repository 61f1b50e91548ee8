"""Checks on the words, which catch what embeddings miss. They can only make a verdict more severe.

| check         | fires when                                                  | mildest verdict                      |
|---------------|-------------------------------------------------------------|--------------------------------------|
| `numbers`     | no span states a number, date or quantity of the claim      | review                               |
| `negation`    | the claim denies what its nearest span says, or vice versa  | review                               |
| `quotes`      | no span contains a quotation of the claim                   | reject (up to three words: review)   |
| `novel_words` | more than half of four or more content words are in no span | review                               |

An honest claim may state a count, a sum or a paraphrase that the spans only imply, so numbers, negations and words
lead to a review. A longer quotation that is in no span is invented; up to three quoted words may be a title or irony.

Source: our addition to *Deterministic Policy Gates for Stochastic Systems*. A changed year hardly moves the residual.

Known approximation: English words without grammar; see ``number_check``, ``negation`` and ``wording``. The checks are
linear in the length of the texts and need no model.

Known limits. False passes: *Louis XVI* against *Louis XIV*, *score 3-2* against *2-3*, *19th* against *19* (the checks
ignore the relation of a number to its noun), *10 men* against *10 %* (only the span has a unit), *5 in the morning*
against *in the evening*, *did not go* against *went*, *neither red nor blue* against *red*, a negation of any span but
the nearest. False alarms: *1 1/2* against *1.5*, *0.5* against *½*, *10^5* against *100,000*, *5 below zero* against
*-5*, sums and counts.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable, Sequence

from solvent.gate.errors import GateError
from solvent.gate.negation import conflict
from solvent.gate.number_check import missing
from solvent.gate.policy import Verdict
from solvent.gate.quantities import mentioned_words
from solvent.gate.wording import content_stems, plain, quotations, shown

__all__ = ["CheckResult", "run_checks"]

_NOVEL_SHARE = 0.5
_LEAST_WORDS = 4
_SHORT_QUOTE = 3
_MOST_QUOTES = 100
_MOST_FOUND = 10
_LEFT_OUT = re.compile(r"\.{3,}|\u2026|\[[^\]\[]*\]")
_WORD = re.compile(r"\w+")


@dataclasses.dataclass(frozen=True)
class CheckResult:
    """The result of one check.

    Attributes:
        name: ``numbers``, ``negation``, ``quotes`` or ``novel_words``.
        fired: true if the check objects.
        explanation: one line for a reader.
        found: the pieces of the claim that it objects to, at most ten.
        severity: mildest verdict after an objection, ``review`` or ``reject``.
    """

    name: str
    fired: bool
    explanation: str
    found: tuple[str, ...]
    severity: Verdict

    def __post_init__(self) -> None:
        if self.severity not in ("review", "reject"):
            raise GateError(f"severity: got {self.severity!r}; allowed: review, reject")


def run_checks(
    claim: str, evidence: Sequence[str], scores: Sequence[float] | None = None
) -> tuple[CheckResult, ...]:
    """Return the results of all four checks, in the order of the table.

    Args:
        claim: the claim.
        evidence: its spans.
        scores: match of each span with the claim, larger is better. By default, and if a score is not finite, the
            share of common words decides.
    """
    if not isinstance(claim, str):
        raise GateError(f"claim: got {type(claim).__name__}; allowed: a text")
    spans = _listed(evidence)
    if scores is not None and len(scores) != len(spans):
        raise GateError(f"scores: got {len(scores)}; allowed: one a span, {len(spans)}")
    return (
        _numbers(claim, spans),
        _negation(claim, spans, scores),
        _quotes(claim, spans),
        _novel_words(claim, spans),
    )


def _listed(evidence: object) -> list[str]:
    given = list(evidence) if isinstance(evidence, Iterable) else [evidence]
    spans = [span for span in given if isinstance(span, str)]
    if isinstance(evidence, str) or len(spans) < len(given):
        raise GateError("evidence: allowed: a list of texts")
    return spans


def _result(
    name: str, objection: str, found: Iterable[str] = (), severity: Verdict = "review"
) -> CheckResult:
    pieces = [shown(piece) for piece in found]
    if not pieces:
        return CheckResult(name, False, "nothing to object to", (), severity)
    more = f" and {len(pieces) - _MOST_FOUND} more" if len(pieces) > _MOST_FOUND else ""
    listed = "; ".join(pieces[:_MOST_FOUND]) + more
    return CheckResult(name, True, f"{objection}: {listed}", tuple(pieces[:_MOST_FOUND]), severity)


def _numbers(claim: str, spans: list[str]) -> CheckResult:
    lacking = [mention.text for mention in missing(claim, spans)]
    return _result("numbers", "numbers, dates or quantities that stand in no span", lacking)


def _negation(claim: str, spans: list[str], scores: Sequence[float] | None) -> CheckResult:
    best = _best_span(claim, spans, scores)
    pair = conflict(claim, spans[best]) if best >= 0 else None
    if pair is None:
        return _result("negation", "")
    return _result("negation", "one of these is negated and the other is not", pair)


def _best_span(claim: str, spans: list[str], scores: Sequence[float] | None) -> int:
    """Return the index of the best-matching span, the first among equals; -1 without spans."""
    if scores is not None and spans and all(map(math.isfinite, scores)):
        return max(range(len(spans)), key=lambda i: scores[i])
    wanted = content_stems(plain(claim)).keys()
    shares = [len(wanted & content_stems(plain(span)).keys()) for span in spans]
    return max(range(len(spans)), key=shares.__getitem__, default=-1)


def _quotes(claim: str, spans: list[str]) -> CheckResult:
    text = plain(claim)
    quoted = [text[start:end] for start, end in quotations(text)]
    pieces = list(dict.fromkeys(piece for quote in quoted for piece in _pieces(quote)))
    # Longest first: pieces beyond the limit count as missing without a search.
    pieces.sort(key=len, reverse=True)
    text = "\n".join(_flat(plain(span)) for span in spans)
    lacking = [piece for piece in pieces[:_MOST_QUOTES] if _flat(piece) not in text]
    lacking += pieces[_MOST_QUOTES:]
    long = any(len(_WORD.findall(piece)) > _SHORT_QUOTE for piece in lacking)
    return _result("quotes", "quoted text that is in no span", lacking, "reject" if long else "review")


def _pieces(quote: str) -> list[str]:
    """Split a quotation at its ellipses: ``in the [...] end``."""
    return [piece.strip() for piece in _LEFT_OUT.split(quote) if _WORD.search(piece)]


def _flat(text: str) -> str:
    """Return the words alone, so that case, spaces and punctuation don't count."""
    return f" {' '.join(_WORD.findall(text.casefold().replace('&', ' and ')))} "


def _novel_words(claim: str, spans: list[str]) -> CheckResult:
    # Numbers and units are compared as quantities, not as words.
    counted = mentioned_words(claim)
    ours = {stem: word for stem, word in content_stems(plain(claim)).items() if word not in counted}
    theirs: set[str] = set()
    for span in spans:
        theirs.update(content_stems(plain(span)))
    novel = [word for stem, word in ours.items() if stem not in theirs]
    enough = len(ours) >= _LEAST_WORDS and len(novel) > _NOVEL_SHARE * len(ours)
    return _result(
        "novel_words", f"{len(novel)} of {len(ours)} words are in no span", novel if enough else ()
    )
