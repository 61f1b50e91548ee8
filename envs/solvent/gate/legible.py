"""Whether a text can be judged at all: it is text, it has words, a reader sees what the model sees, and it fits.

A text that fails is bad data and never accepted: blank, with control characters, lone surrogates or marks that
turn the direction of reading (a reader would see another text than the model), or so long that the model reads only its
beginning. Source: our own addition to *Deterministic Policy Gates for Stochastic Systems*.

Known approximation: all-MiniLM-L6-v2 reads 256 word pieces, about 1,100 characters of English and fewer of other
languages; the limit here is in characters. A longer claim is several claims, and is to be judged in parts.
"""

from __future__ import annotations

import re

__all__ = ["LONGEST_CLAIM", "LONGEST_SPAN", "illegible"]

LONGEST_CLAIM = 1_000
"""Characters of a claim that can be judged."""

LONGEST_SPAN = 10_000
"""Characters of one evidence span; its end may stay unread, which can only raise the energy."""

_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


def illegible(text: object, longest: int = LONGEST_CLAIM) -> str:
    """Why ``text`` can't be judged; empty where it can."""
    if not isinstance(text, str):
        return f"no text but {type(text).__name__}"
    if len(text) > longest:
        return f"{len(text)} characters, more than the {longest} that can be judged"
    if found := _UNSEEN.search(text):
        return f"a character that no reader sees, U+{ord(found.group()):04X}"
    return "" if any(map(str.isalnum, text)) else "no words"
