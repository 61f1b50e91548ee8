"""Checks on the words, which catch what embeddings miss. They can only make a verdict more severe.

| check         | fires when                                                         | mildest verdict        |
|---------------|--------------------------------------------------------------------|------------------------|
| `numbers`     | no span states a quantity of the claim, or the spans swap two      | review                 |
| `negation`    | a clause denies what its nearest clause says, or vice versa        | review                 |
| `quotes`      | no span contains a quotation of the claim                          | reject (short: review) |
| `novel_words` | more than half of four or more words, or one of three items, is new | review                |

An honest claim may state a sum or a paraphrase that the spans only imply, so numbers, negations and words lead to a
review. A quotation of four words or more that is in no span is invented.

Source: our addition to *Deterministic Policy Gates for Stochastic Systems*. A changed year hardly moves the residual.

Known approximation: words without grammar, in English. Antonyms, scope (*not in Paris but in Rome*), sums and a number
that the evidence states of something else are missed, and so is a negation outside of the lists of ``words.toml``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from solvent.gate.attribution import misplaced, swapped
from solvent.gate.numbers import Stated, months, quantities
from solvent.gate.policy import Verdict
from solvent.gate.reading import pieces
from solvent.gate.wording import QUOTED, clauses, content, flat, is_negated, normalised

__all__ = ["CheckResult", "run_checks"]

_ELLIPSIS = re.compile(r"\.{3,}|\u2026|\[[^\]\[]*\]")
_ITEM_END = re.compile(r"\b(?:and|or)\b|[|\t]", re.IGNORECASE)
_FEWEST_WORDS, _FEWEST_ITEMS, _MOST_NEW = 4, 3, 0.5


class CheckResult(NamedTuple):
    """One check: whether it objects, why, to which pieces of the claim, and the mildest verdict then."""

    name: str
    fired: bool
    explanation: str
    found: tuple[str, ...]
    severity: Verdict


def run_checks(claim: str, evidence: Sequence[str]) -> tuple[CheckResult, ...]:
    """Return the results of all four checks on a claim and its spans, in the order of the table."""
    text, texts = normalised(claim), [normalised(span) for span in evidence]
    spans = list(dict.fromkeys([*texts, *pieces(texts)]))
    invented = _invented(text, spans)
    long = any(len(piece.split()) > 3 for piece in invented)
    return (
        _result(
            "numbers", "numbers missing from the evidence, or swapped", _wrong_numbers(text, texts, spans)
        ),
        _result("negation", "one of these is negated and the other is not", _conflict(text, spans)),
        _result("quotes", "quotations missing from the evidence", invented, "reject" if long else "review"),
        _result("novel_words", "words missing from the evidence", _novel(text, spans)),
    )


def _result(name: str, objection: str, items: Sequence[str], severity: Verdict = "review") -> CheckResult:
    if not items:
        return CheckResult(name, False, "nothing to object to", (), severity)
    parts = tuple(f"{piece:.80}" for piece in items)
    return CheckResult(name, True, f"{objection}: {'; '.join(parts)}", parts, severity)


def _wrong_numbers(claim: str, texts: Sequence[str], spans: Sequence[str]) -> list[str]:
    """Return the numbers and months of the claim that no span states, and those that the evidence gives swapped."""
    ours, theirs = quantities(claim), [quantity for span in spans for quantity in quantities(span)]
    stated = Stated(theirs)
    known_months = set().union(*map(months, spans))
    missing = [words for month, words in months(claim).items() if month not in known_months]
    missing += [one.text for one in ours if not one.idle and one not in stated]
    return list(dict.fromkeys(missing or [*swapped(ours, theirs), *misplaced(claim, ours, texts)]))


def _conflict(claim: str, spans: Sequence[str]) -> list[str]:
    """Return the first clause of the claim and its nearest one of the spans if one of them is negated."""
    theirs = [(content(other).keys(), other) for span in spans for other in clauses(span)]
    for clause in clauses(claim):
        words = content(clause).keys()
        most = max((len(words & other) for other, _ in theirs), default=0)
        if most < max(min(2, len(words)), 0.5 * len(words)):
            continue
        nearest = [other for known, other in theirs if len(words & known) == most]
        if all(is_negated(other) != is_negated(clause) for other in nearest):
            return [clause, nearest[0]]
    return []


def _invented(claim: str, spans: Sequence[str]) -> list[str]:
    """Return the quotations of the claim that are in no span."""
    known = flat("\n".join(spans))
    quotes = [piece for match in QUOTED.finditer(claim) for piece in _ELLIPSIS.split(match[1] or match[2])]
    return [piece.strip() for piece in quotes if flat(piece).strip() and flat(piece) not in known]


def _novel(claim: str, spans: Sequence[str]) -> list[str]:
    """Return the words that are new if most of the claim is, or else its clauses and items of lists that are."""
    words, known = content(claim), set().union(*map(content, spans))
    novel = [word for stem, word in words.items() if stem not in known]
    if len(words) >= _FEWEST_WORDS and len(novel) > _MOST_NEW * len(words):
        return novel
    items = [item.strip() for clause in clauses(claim) for item in _ITEM_END.split(clause) if content(item)]
    new = [item for item in items if not content(item).keys() & known]
    return new if len(items) >= _FEWEST_ITEMS and len(new) < len(items) else []
