"""Legibility: the texts that a reader and the model can both read. Other texts can't be judged.

*Readers* must see what the model sees. A text is bad data if it is blank, or longer than the model reads, or has
characters that readers don't see (controls, marks that change the reading direction, soft hyphens, zero-width spaces,
invisible tags, blank fillers), a lone surrogate, a private or unassigned character, or too many accents on one letter.
The zero-width joiner and non-joiner pass, because Persian, Indian scripts and emoji need them.

*The model* has one vector for all words that its tokenizer doesn't know, so *I love cats* and *they hate dogs* are
equal in Thai. A claim is bad data if an unknown piece has a letter, a digit or a sign of mathematics or money, if
other unknown signs (emoji) are more than a fifth of its characters, or if its end is truncated. A span is left out,
with a reason, if more than a fifth of it is unknown; a smaller unknown part matches no word of the claim.

Source: our addition to *Deterministic Policy Gates for Stochastic Systems*.

Known approximations: all-MiniLM-L6-v2 reads 256 word pieces, about 1,100 characters of English and fewer of other
languages; the limit here is in characters. Judge a longer claim in parts. Homoglyphs (Cyrillic letters among Latin
ones) are not detected. The set of unassigned characters depends on Python's release.
"""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from solvent.gate.errors import GateError
from solvent.gate.wording import shown

if TYPE_CHECKING:
    from solvent.gate.embedding import Embedder, Unread

__all__ = ["LONGEST_CLAIM", "LONGEST_SPAN", "illegible", "illegible_pair", "readable_spans"]

LONGEST_CLAIM = 1_000
"""Maximum length of a claim, characters."""

LONGEST_SPAN = 10_000
"""Maximum length of a span, characters. The model may not read its end, which can only raise the energy."""

_NO_WORDS = "no words"
_UNSEEN = ("Cc", "Cf", "Co", "Cs", "Cn")
_JOINERS = frozenset("\u200c\u200d")
_ALLOWED = frozenset("\t\n") | _JOINERS
# Blank, although their category is a letter, sign or mark.
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0") | frozenset(
    map(chr, range(0xE0100, 0xE01F0))
)
_MOST_MARKS = 4
_MOST_UNKNOWN = 0.2  # maximum share of a text's characters that the model doesn't know


def illegible(text: object, longest: int = LONGEST_CLAIM) -> str:
    """Return the reason why ``text`` can't be judged, or an empty string."""
    if not isinstance(text, str):
        return f"no text but {type(text).__name__}"
    if len(text) > longest:
        return f"{len(text)} characters, more than the {longest} that can be judged"
    if not (text.isascii() and text.isprintable()) and (why := _unreadable_sign(text)):
        return why
    return "" if any(map(str.isalnum, text)) else _NO_WORDS


def _unreadable_sign(text: str) -> str:
    # A carriage return alone hides the text before it.
    characters = set(text.replace("\r\n", "\n"))
    if unseen := sorted(filter(_unseen, characters)):
        return f"a character that no reader sees, U+{ord(unseen[0]):04X}"
    if _piled(text, frozenset(filter(_is_mark, characters))):
        return f"more than {_MOST_MARKS} accents on one letter"
    return ""


def illegible_pair(claim: Any, evidence: Any) -> str:
    """Return the reason why a claim or one of its spans can't be judged, or an empty string."""
    if why := illegible(claim):
        return f"claim: {why}"
    if isinstance(evidence, str | bytes) or not isinstance(evidence, Sequence | np.ndarray):
        return f"evidence: no list of texts but {type(evidence).__name__}"
    bad = ((i, illegible(span, LONGEST_SPAN)) for i, span in enumerate(evidence))
    return next((f"evidence {i}: {why}" for i, why in bad if why), "")


def readable_spans(claim: Any, evidence: Any, embedder: Embedder) -> tuple[list[str], tuple[str, ...]]:
    """Return the spans that can be judged, and a line for each kind of span left out.

    Raises:
        GateError: the claim or a span is bad data.
    """
    from solvent.gate.embedding import unread_by

    spans = evidence
    if isinstance(evidence, Sequence) and not isinstance(evidence, str | bytes):
        # A table cell may have only a dash.
        spans = [span for span in evidence if illegible(span, LONGEST_SPAN) != _NO_WORDS]
    if why := illegible_pair(claim, spans):
        raise GateError(why)
    ours, *theirs = unread_by(embedder, [claim, *spans])
    if why := _unreadable(ours):
        raise GateError(f"claim: {why}")
    known = [span for span, unread in zip(spans, theirs, strict=True) if unread.share <= _MOST_UNKNOWN]
    left_out = {
        "without a word": len(evidence) - len(spans),
        "of words that the model does not know": len(spans) - len(known),
    }
    return known, tuple(f"spans {what}: {count} left out" for what, count in left_out.items() if count)


def _unreadable(unread: Unread) -> str:
    """Return the reason why a claim with these unread parts can't be judged, or an empty string."""
    if words := [word for word in unread.words if _has_meaning(word)]:
        return f"words that the model does not know: {shown(' '.join(words))!r}"
    if unread.share > _MOST_UNKNOWN:
        return f"signs that the model does not know make up {unread.share:.0%} of it"
    if unread.rest:
        return f"longer than the model reads; unread: {shown(unread.rest)!r}"
    return ""


def _has_meaning(word: str) -> bool:
    """Return true if ``word`` has a letter, a digit or a sign of mathematics or money."""
    spelled = unicodedata.normalize("NFKC", word)  # a sign may contain letters: ℃
    return any(char.isalnum() or unicodedata.category(char) in ("Sm", "Sc") for char in spelled)


@functools.lru_cache(maxsize=4096)
def _unseen(character: str) -> bool:
    if character in _ALLOWED:
        return False
    return character in _BLANK or unicodedata.category(character) in _UNSEEN


@functools.lru_cache(maxsize=4096)
def _is_mark(character: str) -> bool:
    return unicodedata.category(character).startswith("M")


def _piled(text: str, marks: frozenset[str]) -> bool:
    """Return true for more marks in a row than a reader can distinguish; joiners between them don't count."""
    count = 0
    for character in text if marks else "":
        if character in marks:
            count += 1
            if count > _MOST_MARKS:
                return True
        elif character not in _JOINERS:
            count = 0
    return False
