"""Words of a text for the checks: one form of its signs, stems, clauses, and whether a clause denies.

Known approximation: stems and clauses are cut by English endings and marks, without grammar.
"""

from __future__ import annotations

import re

from solvent.gate.numbers import SPELLED, WORDS

__all__ = ["QUOTED", "clauses", "content", "flat", "is_negated", "normalised"]

_SAME = {
    **dict.fromkeys(map(ord, "\u2018\u2019\u201a\u201b\u02bc`\u00b4"), "'"),
    **dict.fromkeys(map(ord, "\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033\u300c\u300d"), '"'),
    **dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2212"), "-"),
    **dict.fromkeys(map(ord, "\u2014\u2015"), " - "),
    **dict.fromkeys(map(ord, "\u200b\u200c\u200d\ufeff\u00ad"), None),
}
_IGNORED = frozenset([*WORDS["ignored"].split(), *WORDS["negations"].split()])
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
_LETTERS = re.compile(r"[^\W_]+")
_NEGATION = re.compile(rf"n't\b|\b(?:{'|'.join(WORDS['negations'].split())})\b", re.IGNORECASE)
_NOT_MEANT = re.compile(
    r"\bnot (?:only|just|merely|simply|least)|\bno (?:later|earlier|fewer|less|more|sooner|doubt|matter)"
    r"|\b(?:or|if) not\b|\bno\.? \d|not\b.{0,60}\buntil",
    re.IGNORECASE,
)
# Single quotes need two words or more, because an apostrophe looks the same.
QUOTED = re.compile(r""""([^"]+)"|(?<!\w)'(\w[^'"]{0,40}\s(?:[^'"]|'(?=\w)){0,200})'(?!\w)""")
_CLAUSE_END = re.compile(
    r"(?<=[.!?])\s+(?!\d)|[,;:](?=\s)|\n| - |\b(?:but|although|though|while|whereas|however)\b", re.IGNORECASE
)
_MOST_CLAUSES = 300
_SHORTEST_STEM = 3


def normalised(text: str) -> str:
    """Return the text with one form each of dash and quote, and without invisible marks."""
    return text.translate(_SAME)


def flat(text: str) -> str:
    """Return the words alone, so that case, spaces and punctuation don't count."""
    return f" {' '.join(_LETTERS.findall(text.casefold().replace('&', ' and ')))} "


def content(text: str) -> dict[str, str]:
    """Return stem -> first occurrence, for content words other than numbers."""
    words: dict[str, str] = {}
    for word in _WORD.findall(text.casefold()):
        if len(word) > 1 and word not in _IGNORED and word not in SPELLED:
            words.setdefault(_stem(word), word)
    return words


def clauses(text: str) -> list[str]:
    """Return the clauses that assert something; quoted negations don't count."""
    parts = _CLAUSE_END.split(QUOTED.sub(lambda quote: _NEGATION.sub(" ", quote[0]), text))
    asserted = [part.strip() for part in parts if content(part) and not part.rstrip().endswith("?")]
    return asserted if len(asserted) <= _MOST_CLAUSES else [text]


def is_negated(clause: str) -> bool:
    """Return whether a clause denies something."""
    return bool(_NEGATION.search(_NOT_MEANT.sub(" ", clause)))


def _stem(word: str) -> str:
    """Return a word without possessive, plural and the most common endings, but at least three letters of it."""
    word = word.removesuffix("'s").removesuffix("'")
    if len(word) > 4 and word.endswith(("ies", "ied")):
        return word[:-3] + "y"
    for ending in ("ingly", "edly", "ing", "ed", "es", "ly", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM and not word.endswith("ss"):
            word = word[: -len(ending)]
            break
    # Forms differ in a doubled consonant or a final e: planned, planning, plan; used, using, use.
    if len(word) > _SHORTEST_STEM and word[-1] == word[-2]:
        return word[:-1]
    return word.removesuffix("e") if len(word) > _SHORTEST_STEM else word
