"""Whether a claim says no where its evidence says yes, or the other way round.

Clause by clause (a clause ends at ``, ; : . ! ?`` and before *but*, *although*, *while*, *whereas*): a clause is
negated when it holds an odd number of negations, so *not unhappy that he never* and the like cancel. What looks
like a negation and is none: *not only*, *no later than*, *no fewer than*, *no doubt*, *whether or not*, *No. 5*. A
question asserts nothing.

Nor does a negation count in quotes, or with a capital inside a clause (*the film No Greater Glory*).

A claim's clause is held against those clauses of the best span that share most of its content words, if they share
half of them and three at least (two where the claim is a single clause); they conflict when all of them say the
reverse.

Known approximation: words, not grammar. Antonyms (*rejected*), prefixes (*unable*) and scope (*not in Paris but in
Rome*) are not seen. Above 100,000 pairs of clauses each text is taken as one clause.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from solvent.gate.wording import content_stems, plain

__all__ = ["Clause", "clauses", "conflict"]

_END = re.compile(
    r"[.!?](?=\s|$)|[,;:]|\s-\s|\b(?:but|although|though|while|whereas|however)\b", re.IGNORECASE
)
_TOKEN = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*|\d+")
_QUOTED = re.compile('"[^"]*"')


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NEGATORS = _set("not no never none nobody nothing nowhere neither without cannot nor lacks lacked lacking")
_CONTRACTIONS = _set(
    """dont doesnt didnt isnt arent wasnt werent hasnt havent hadnt wont wouldnt cant couldnt shouldnt mustnt"""
)
_NOT_MEANT = {
    "not": _set("only just merely simply least exactly"),
    "no": _set("later earlier fewer less more sooner doubt matter better worse"),
}
_MOST_PAIRS = 100_000
_LEAST_SHARED = 3
_NEEDED = 0.5


class Clause(NamedTuple):
    """A clause: its content words (stems), and whether it is negated."""

    stems: frozenset[str]
    negated: bool
    text: str


def clauses(text: str) -> list[Clause]:
    """The clauses of a text that assert something; questions are left out."""
    text = plain(text)
    found, start = [], 0
    for match in _END.finditer(text):
        part = text[start : match.end()]
        if "?" not in part[len(part.rstrip(".!?")) :]:
            found.append(text[start : match.start()])
        start = match.end()
    found.append(text[start:])
    return [_clause(part) for part in found if part.strip()]


def conflict(claim: str, span: str) -> tuple[str, str] | None:
    """The first clause of a claim and that of a span which conflict, as they are written; None if none do."""
    ours, theirs = clauses(claim), clauses(span)
    if len(ours) * len(theirs) > _MOST_PAIRS:
        ours, theirs = [_clause(plain(claim))], [_clause(plain(span))]
    for clause in ours:
        least = _LEAST_SHARED if len(ours) > 1 else max(1, min(_LEAST_SHARED - 1, len(clause.stems)))
        shared = [len(clause.stems & other.stems) for other in theirs]
        most = max(shared, default=0)
        if most < max(least, _NEEDED * len(clause.stems)):
            continue
        nearest = [other for other, common in zip(theirs, shared, strict=True) if common == most]
        if all(other.negated != clause.negated for other in nearest):
            return clause.text.strip(), nearest[0].text.strip()
    return None


def _clause(text: str) -> Clause:
    return Clause(frozenset(content_stems(text)) - _NEGATORS, _negations(text) % 2 == 1, text)


def _negations(text: str) -> int:
    written = _TOKEN.findall(_QUOTED.sub(" ", text))
    tokens = [token.casefold() for token in written]
    count = 0
    for i, token in enumerate(tokens):
        if i and written[i][0].isupper():
            continue
        after = tokens[i + 1] if i + 1 < len(tokens) else ""
        before = tokens[i - 1] if i else ""
        if token.endswith("n't") or token in _CONTRACTIONS:
            count += after not in _NOT_MEANT["not"]
        elif token in _NEGATORS and not (
            after in _NOT_MEANT.get(token, ())
            or (token == "no" and after.isdecimal())
            or (token == "not" and before in ("or", "if"))
            # "neither x nor y" and "not x nor y" negate once.
            or (token == "nor" and count > 0)
        ):
            count += 1
    return count
