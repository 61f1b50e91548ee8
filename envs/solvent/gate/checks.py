"""Checks on the words, which catch what embeddings miss. They can only make a verdict more severe.

| check         | fires when                                                  | mildest verdict                      |
|---------------|-------------------------------------------------------------|--------------------------------------|
| `numbers`     | no span states a number of the claim                        | review                               |
| `negation`    | a clause denies what its nearest clause says, or vice versa | review                               |
| `quotes`      | no span contains a quotation of the claim                   | reject (up to three words: review)   |
| `novel_words` | more than half of four or more content words are in no span | review                               |

An honest claim may state a count, a sum or a paraphrase that the spans only imply, so numbers, negations and words
lead to a review. A longer quotation that is in no span is invented.

Source: our addition to *Deterministic Policy Gates for Stochastic Systems*. A changed year hardly moves the residual.

Known approximation: English words without grammar. Numbers are compared by value, whatever they count: *0.5 uM* and
*500 nM* differ, *Louis XVI* and *Louis XIV* don't. Antonyms, scope (*not in Paris but in Rome*) and sums are missed.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from solvent.gate.policy import Verdict

__all__ = ["CheckResult", "run_checks"]

_SAME = {
    **dict.fromkeys(map(ord, "\u2018\u2019\u201a\u201b\u02bc`\u00b4"), "'"),
    **dict.fromkeys(map(ord, "\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033\u300c\u300d"), '"'),
    **dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2212"), "-"),
    **dict.fromkeys(map(ord, "\u2014\u2015"), " - "),
    **dict.fromkeys(map(ord, "\u200b\u200c\u200d\ufeff\u00ad"), None),
}
WORDS = tomllib.loads(Path(__file__).with_name("words.toml").read_text("utf-8"))
_IGNORED = frozenset(WORDS["ignored"].split())
_TENS = WORDS["tens"].split()
_SPELLED = {
    **{word: float(value) for value, word in enumerate(WORDS["ones"].split())},
    **{word: 10.0 * value for value, word in enumerate(_TENS, 2)},
    **{word: float(value) for value, word in enumerate(WORDS["ordinals"].split(), 1)},
    **WORDS["values"],
}
_IDLE = frozenset(WORDS["idle"].split())
_SCALES = WORDS["scales"]
# A month that is also a word counts only beside a number or after a preposition.
_MONTH = re.compile(
    r"\b(?:(Jan|Feb|Apr|Jun|Jul|Aug|Sep|Oct|Nov|Dec)(?:uary|ruary|il|e|y|ust|t|tember|ober|ember)?\b"
    r"|(?:(?<=\d )|(?<=th )|(?<=in )|(?<=of )|(?<=since ))(Mar|May)(?:ch)?\b|(Mar|May)(?:ch)?(?=\.? \d))"
)
_GROUPED = re.compile(r"(?<=\d)[,\u00a0\u202f](?=\d{3}\b)")
_NUMBER = re.compile(r"\d+(?:[.,:/]\d+)*|[^\W\d_]+")
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
_NEGATION = re.compile(
    r"n't\b|\b(?:not|no|never|none|nobody|nothing|nowhere|neither|without|cannot|lacks?|lacked|lacking)\b",
    re.IGNORECASE,
)
_NOT_MEANT = re.compile(
    r"\bnot (?:only|just|merely|simply|least)|\bno (?:later|earlier|fewer|less|more|sooner|doubt|matter)"
    r"|\b(?:or|if) not\b|\bno\.? \d|not\b.{0,60}\buntil",
    re.IGNORECASE,
)
# Single quotes need two words or more, because an apostrophe looks the same.
_QUOTED = re.compile(r""""([^"]+)"|(?<!\w)'(\w[^'"]{0,40}\s(?:[^'"]|'(?=\w)){0,200})'(?!\w)""")
_ELLIPSIS = re.compile(r"\.{3,}|\u2026|\[[^\]\[]*\]")
_CLAUSE_END = re.compile(
    r"(?<=[.!?])\s+|[,;:](?=\s)| - |\b(?:but|although|though|while|whereas|however)\b", re.IGNORECASE
)
_LETTERS = re.compile(r"[^\W_]+")
_MOST_CLAUSES = 300


class CheckResult(NamedTuple):
    """One check: whether it objects, why, to which pieces of the claim, and the mildest verdict then."""

    name: str
    fired: bool
    explanation: str
    found: tuple[str, ...]
    severity: Verdict


def run_checks(
    claim: str, evidence: Sequence[str], scores: Sequence[float] | None = None
) -> tuple[CheckResult, ...]:
    """Return the results of all four checks, in the order of the table.

    Args:
        claim: the claim.
        evidence: its spans.
        scores: match of each span with the claim, larger is better; by default the number of common words decides.
    """
    text, spans = _plain(claim), [_plain(span) for span in evidence]
    ours, theirs = _content(text), [_content(span) for span in spans]
    common = scores if scores is not None else [len(ours.keys() & other.keys()) for other in theirs]
    nearest = spans[max(range(len(spans)), key=lambda i: common[i])] if spans else ""
    stated = set().union(*map(_numbers, spans))
    missing = [said for value, said in _numbers(text).items() if said and value not in stated]
    flat = _flat("\n".join(spans))
    quotes = [piece for match in _QUOTED.finditer(text) for piece in _ELLIPSIS.split(match[1] or match[2])]
    invented = [piece.strip() for piece in quotes if _flat(piece).strip() and _flat(piece) not in flat]
    long = any(len(piece.split()) > 3 for piece in invented)
    known = set().union(*theirs)
    novel = [word for stem, word in ours.items() if stem not in known]
    enough = len(ours) >= 4 and len(novel) > 0.5 * len(ours)
    return (
        _result("numbers", "numbers that no span states", missing),
        _result("negation", "one of these is negated and the other is not", _conflict(text, nearest)),
        _result("quotes", "quoted text that is in no span", invented, "reject" if long else "review"),
        _result("novel_words", f"{len(novel)} of {len(ours)} words are in no span", novel if enough else []),
    )


def _result(name: str, objection: str, found: Sequence[str], severity: Verdict = "review") -> CheckResult:
    if not found:
        return CheckResult(name, False, "nothing to object to", (), severity)
    pieces = tuple(f"{piece:.80}" for piece in found)
    return CheckResult(name, True, f"{objection}: {'; '.join(pieces)}", pieces, severity)


def _plain(text: str) -> str:
    """Return the text with one form each of dash and quote, and without invisible marks."""
    return text.translate(_SAME)


def _flat(text: str) -> str:
    """Return the words alone, so that case, spaces and punctuation don't count."""
    return f" {' '.join(_LETTERS.findall(text.casefold().replace('&', ' and ')))} "


def _numbers(text: str) -> dict[float | str, str]:
    """Return the values and months that a text states, each with its words, or "" if no span needs to state it."""
    found: dict[float | str, str] = {
        "".join(filter(None, month.groups())): month[0] for month in _MONTH.finditer(text)
    }
    tokens = _NUMBER.findall(_GROUPED.sub("", text).casefold())
    at = 0
    while at < len(tokens):
        word = tokens[at]
        at += 1
        if word[0].isdecimal():
            whole = word if re.fullmatch(r"\d+(\.\d+)?", word) else ""
            values = [float(part) for part in ([whole] if whole else re.split(r"[.,:/]", word))]
        elif word in _SPELLED:
            values = [_SPELLED[word]]
        else:
            continue
        while at < len(tokens) and (scale := _SCALES.get(tokens[at])):
            values, word, at = [value * scale for value in values], f"{word} {tokens[at]}", at + 1
        if word in _TENS and at < len(tokens) and 0 < (unit := _SPELLED.get(tokens[at], 0.0)) < 10:
            values, word, at = [values[0] + unit], f"{word} {tokens[at]}", at + 1
        for value in values:
            found.setdefault(value, "" if word in _IDLE or (not value and ":" in word) else word)
    return found


def _stem(word: str) -> str:
    """Return a word without possessive, plural and the most common endings, but at least three letters of it."""
    word = word.removesuffix("'s").removesuffix("'")
    if len(word) > 4 and word.endswith(("ies", "ied")):
        return word[:-3] + "y"
    for ending in ("ingly", "edly", "ing", "ed", "es", "ly", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            word = word[: -len(ending)]
            break
    # Forms differ in a doubled consonant or a final e: planned, planning, plan; used, using, use.
    if len(word) > 3 and word[-1] == word[-2]:
        return word[:-1]
    return word.removesuffix("e") if len(word) > 3 else word


def _content(text: str) -> dict[str, str]:
    """Return stem -> first occurrence, for content words other than numbers."""
    found: dict[str, str] = {}
    for word in _WORD.findall(text.casefold()):
        if len(word) > 1 and word not in _IGNORED and word not in _SPELLED and word not in _SCALES:
            found.setdefault(_stem(word), word)
    return found


def _conflict(claim: str, span: str) -> list[str]:
    """Return the first clause of the claim and its nearest clause of the span if one of them is negated."""
    theirs = [(_content(other).keys(), _negated(other), other) for other in _clauses(span)]
    for clause in _clauses(claim):
        words, negated = _content(clause).keys(), _negated(clause)
        shared = [len(words & other) for other, *_ in theirs]
        most = max(shared, default=0)
        if most < max(2 if len(words) > 1 else 1, 0.5 * len(words)):
            continue
        nearest = [other for other, common in zip(theirs, shared, strict=True) if common == most]
        if all(other_negated != negated for _, other_negated, _ in nearest):
            return [clause.strip(), nearest[0][2].strip()]
    return []


def _clauses(text: str) -> list[str]:
    """Return the clauses that assert something; quoted negations don't count."""
    parts = _CLAUSE_END.split(_QUOTED.sub(lambda quote: _NEGATION.sub(" ", quote[0]), text))
    asserted = [part for part in parts if _content(part) and not part.rstrip().endswith("?")]
    return asserted if len(asserted) <= _MOST_CLAUSES else [text]


def _negated(clause: str) -> bool:
    return bool(_NEGATION.search(_NOT_MEANT.sub(" ", clause)))
