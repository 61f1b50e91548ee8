"""The negation check: a claim that denies what its evidence says, or vice versa.

A clause ends at ``, ; : . ! ?`` and before *but*, *although*, *while*, *whereas*. It is negated if it has an odd
number of negations, so the two in *not denied that he never* cancel. Those of a list (*no regrets and no debts*) count
once. A word like *unlocked* is a negation of *locked* if the other text has that word. Some phrases only look like
negations: *not only*, *not ... until*, *no later than*, *no fewer than*, *no doubt*, *whether or not*, *No. 5*. Quoted
negations and capitalized ones inside a clause (*the film No Greater Glory*) don't count. Questions assert nothing.

The check compares each clause of the claim with the clauses of the best span that equal it apart from negations,
however short (*He isn't there.* and *He is there.*). If there are none, it takes the clauses that share most of its
content words: at least half of them, and at least three (two if the claim is a single clause). The clauses conflict if
all of those have the opposite polarity.

Known approximation: words, not grammar. The check misses antonyms (*rejected*), other prefixes (*illegal*) and scope
(*not in Paris but in Rome*), and irregular verbs (*did not go*, *went*) in a clause of fewer content words. It compares
*neither red nor blue* with *red* by content words alone. Above 100,000 pairs of clauses a text is one clause.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

from solvent.gate.wording import content_stems, plain, quotations, stem

__all__ = ["Clause", "clauses", "conflict"]

_END = re.compile(
    r"[.!?](?=\s|$)|[,;:]|\s-\s|\b(?:but|although|though|while|whereas|however)\b", re.IGNORECASE
)
_TOKEN = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*|\d+")


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NEGATORS = _set("not no never none nobody nothing nowhere neither without cannot nor lacks lacked lacking")
_CONTRACTIONS = _set(
    """dont doesnt didnt isnt arent wasnt werent hasnt havent hadnt wont wouldnt cant couldnt shouldnt mustnt"""
)
_DENIAL = re.compile(rf"n't|(?<![^\W\d_])(?:{'|'.join(sorted(_NEGATORS | _CONTRACTIONS))})(?![^\W\d_])")
"""Found wherever a clause may be negated."""
_QUOTED_DENIAL = re.compile(_DENIAL.pattern, re.IGNORECASE)
_UNTIL = _set("until till")
_WITHOUT_NOT = {
    "cannot": "can",
    "cant": "can",
    "can't": "can",
    "wont": "will",
    "won't": "will",
    "shan't": "shall",
    "ain't": "is",
    "without": "with",
}
_ENDINGS = {"'re": "are", "'m": "am", "'ve": "have", "'ll": "will"}
_IS = _set("he's she's it's that's there's here's who's what's")
# Ignored when two clauses are compared: "did not see any ships", "saw ships"; "a", "no" and "the".
_UNCOUNTED = _set("not no never neither nor do does did a an the any ever anymore")
_NOT_MEANT = {
    "not": _set("only just merely simply least exactly"),
    "no": _set("later earlier fewer less more sooner doubt matter better worse"),
}
_PREFIXED = re.compile(r"\bun(?=([^\W\d_]{4,}))", re.IGNORECASE)
_MOST_PAIRS = 100_000
_LEAST_SHARED = 3
_NEEDED = 0.5


class Clause(NamedTuple):
    """A clause: its content words (stems), all its words except negations, its polarity and its text."""

    stems: frozenset[str]
    bare: tuple[str, ...]
    negated: bool
    text: str


def clauses(text: str) -> list[Clause]:
    """Return the clauses of a text that assert something, without questions."""
    text = _without_quoted_denials(plain(text))
    found, start = [], 0
    for match in _END.finditer(text):
        part = text[start : match.end()]
        if "?" not in part[len(part.rstrip(".!?")) :]:
            found.append(text[start : match.start()])
        start = match.end()
    found.append(text[start:])
    return [_clause(part) for part in found if part.strip()]


def conflict(claim: str, span: str) -> tuple[str, str] | None:
    """Return the first clause of a claim and the clause of a span that conflict, as written, or None."""
    claim, span = plain(claim), plain(span)
    claim, span = _unprefixed(claim, content_stems(span)), _unprefixed(span, content_stems(claim))
    if not any(_DENIAL.search(text.casefold()) for text in (claim, span)):
        return None
    ours, theirs = clauses(claim), clauses(span)
    if len(ours) * len(theirs) > _MOST_PAIRS:
        ours, theirs = [_clause(claim)], [_clause(span)]
    same: dict[tuple[str, ...], list[Clause]] = {}
    for other in theirs:
        same.setdefault(other.bare, []).append(other)
    for clause in ours:
        if twins := same.get(clause.bare) if clause.bare else None:
            if all(other.negated != clause.negated for other in twins):
                return clause.text.strip(), twins[0].text.strip()
            continue
        least = _LEAST_SHARED if len(ours) > 1 else max(1, min(_LEAST_SHARED - 1, len(clause.stems)))
        shared = [len(clause.stems & other.stems) for other in theirs]
        most = max(shared, default=0)
        if most < max(least, _NEEDED * len(clause.stems)):
            continue
        nearest = [other for other, common in zip(theirs, shared, strict=True) if common == most]
        if all(other.negated != clause.negated for other in nearest):
            return clause.text.strip(), nearest[0].text.strip()
    return None


def _unprefixed(text: str, known: Collection[str]) -> str:
    """Write ``unlocked`` as ``not locked`` where ``locked`` is a known stem and the word itself is none."""

    def parted(match: re.Match[str]) -> str:
        rest = match[1].casefold()
        return "not " if stem(rest) in known and stem(match[0].casefold() + rest) not in known else match[0]

    return _PREFIXED.sub(parted, text)


def _without_quoted_denials(text: str) -> str:
    """Remove negations from the quoted parts of a plain text."""
    for start, end in reversed(quotations(text)):
        text = text[:start] + _QUOTED_DENIAL.sub(" ", text[start:end]) + text[end:]
    return text


def _clause(text: str) -> Clause:
    stems = (stem for stem, word in content_stems(text).items() if not _is_contraction(word))
    return Clause(frozenset(stems) - _NEGATORS, tuple(_bare(text)), _negations(text) % 2 == 1, text)


def _is_contraction(word: str) -> bool:
    return word.endswith("n't") or word in _CONTRACTIONS


def _bare(text: str) -> Iterator[str]:
    """Yield the words in order as stems, with numbers but without negations and their auxiliary words."""
    before = ""
    for word in map(str.casefold, _TOKEN.findall(text)):
        whole = _WITHOUT_NOT.get(word, word)
        if _is_contraction(whole):
            whole = whole[:-3] if whole.endswith("n't") else whole[:-2]
        verb = "is" if whole in _IS else _ENDINGS.get(whole[whole.find("'") :], "")
        for part in (whole.partition("'")[0], verb) if verb else (whole,):
            if part and part not in _UNCOUNTED and not (before == "no" and part == "longer"):
                yield stem(part)
        before = word


def _negations(text: str) -> int:
    written = _TOKEN.findall(text)
    tokens = [token.casefold() for token in written]
    count = 0
    for i, token in enumerate(tokens):
        if i and written[i][0].isupper():
            continue
        after = tokens[i + 1] if i + 1 < len(tokens) else ""
        before = tokens[i - 1] if i else ""
        if (_is_contraction(token) or token == "not") and not _UNTIL.isdisjoint(tokens[i:]):
            continue
        if _is_contraction(token):
            count += after not in _NOT_MEANT["not"]
        elif token in _NEGATORS and not (
            after in _NOT_MEANT.get(token, ())
            or (token == "no" and after.isdecimal())
            or (token == "not" and before in ("or", "if"))
            # "neither x nor y" and "not x nor y" negate once.
            or (token == "nor" and count > 0)
            # "no regrets and no debts" denies each of them.
            or (before in ("and", "or") and count > 0)
        ):
            count += 1
    return count
