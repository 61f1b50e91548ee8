"""Whether a text can be judged at all: it is text, it has words, a reader sees what the model sees, and it fits.

A text that fails is bad data and never accepted: blank, with characters that no reader sees (controls, marks that turn
the direction of reading, soft hyphens, zero-width spaces, the invisible tags at U+E0000, fillers that look like a
space), with half a surrogate pair, a private or an unassigned character, with so many accents on one letter that
nobody can read them, or so long that the model reads only its beginning. What only the model's tokenizer knows,
whether it has seen such words at all, is asked of the embedder (``verdict.py``). Source: our own addition to
*Deterministic Policy Gates for Stochastic Systems*.

Two invisible characters pass, for Persian, Indian scripts and emoji are written with them: the zero-width joiner and
non-joiner.

Known approximations: all-MiniLM-L6-v2 reads 256 word pieces, about 1,100 characters of English and fewer of other
languages; the limit here is in characters. A longer claim is several claims, and is to be judged in parts. Letters
that look like others (Cyrillic ones among Latin) are not found. Which characters are unassigned is a matter of
Python's release.
"""

from __future__ import annotations

import unicodedata

__all__ = ["LONGEST_CLAIM", "LONGEST_SPAN", "NO_WORDS", "illegible"]

NO_WORDS = "no words"

LONGEST_CLAIM = 1_000
"""Characters of a claim that can be judged."""

LONGEST_SPAN = 10_000
"""Characters of one evidence span; its end may stay unread, which can only raise the energy."""

_UNSEEN = ("Cc", "Cf", "Co", "Cs", "Cn")
_JOINERS = frozenset("\u200c\u200d")
_ALLOWED = frozenset("\t\n") | _JOINERS
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0") | frozenset(
    map(chr, range(0xE0100, 0xE01F0))
)
"""Letters, signs and marks by their category, and yet nothing to see."""

_MOST_MARKS = 4


def illegible(text: object, longest: int = LONGEST_CLAIM) -> str:
    """Why ``text`` can't be judged; empty where it can."""
    if not isinstance(text, str):
        return f"no text but {type(text).__name__}"
    if len(text) > longest:
        return f"{len(text)} characters, more than the {longest} that can be judged"
    characters = set(
        text.replace("\r\n", "\n")
    )  # a line may end in both; one alone hides what stands before it
    if unseen := sorted(filter(_unseen, characters)):
        return f"a character that no reader sees, U+{ord(unseen[0]):04X}"
    if _piled(text, frozenset(filter(_is_mark, characters))):
        return f"more than {_MOST_MARKS} accents on one letter"
    return "" if any(map(str.isalnum, characters)) else NO_WORDS


def _unseen(character: str) -> bool:
    if character in _ALLOWED:
        return False
    return character in _BLANK or unicodedata.category(character) in _UNSEEN


def _is_mark(character: str) -> bool:
    return unicodedata.category(character).startswith("M")


def _piled(text: str, marks: frozenset[str]) -> bool:
    """Whether more marks follow each other than a reader can tell apart; a joiner between them parts nothing."""
    count = 0
    for character in text if marks else "":
        if character in marks:
            count += 1
            if count > _MOST_MARKS:
                return True
        elif character not in _JOINERS:
            count = 0
    return False
