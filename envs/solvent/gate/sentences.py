"""Split claims and long evidence into sentences, so that nothing hides in a paragraph and no text is cut.

A model reads only the beginning of a text (256 word pieces for all-MiniLM-L6-v2). Evidence longer than that is split
into its sentences, and a single sentence that is still too long into parts that the model reads whole.

Known approximation: English abbreviations from a short list; an unknown one splits a sentence in two.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from solvent.gate.embedding import Embedder

__all__ = ["fitting", "sentences"]

_END = re.compile(r"(?<=[.!?])[\"'\u201d\u2019)\]]*\s+(?=[\"'\u201c\u2018(\[]*[^\W_a-z])|\n\s*\n")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\"'])(?:[^\W\d_]|[A-Z]\.[A-Z]|(?:Mr|Mrs|Ms|Dr|Prof|St|Mt|Ft|Sr|Jr|Gen|Col|Sgt|Lt|Capt|Rev|Hon|Gov|Sen"
    r"|Rep|No|Nos|Vol|Fig|Inc|Ltd|Co|Corp|vs|cf|al|ca|approx|e\.g|i\.e"
    r"|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec))\.$"
)
_WORD = re.compile(r"\w")


def sentences(text: str) -> list[str]:
    """Return the sentences of a text, at least one; pieces without a word stay with the sentence before."""
    found: list[str] = []
    start = 0
    for end in [*(match.end() for match in _END.finditer(text)), len(text)]:
        piece = text[start:end].strip()
        if end < len(text) and _ABBREVIATION.search(piece):
            continue
        start = end
        if _WORD.search(piece) or not found:
            found.append(piece)
        elif piece:
            found[-1] = f"{found[-1]} {piece}"
    # A text of one sentence is judged as given, so that no check of its characters is passed by.
    return found if len(found) > 1 else [text]


def fitting(evidence: Sequence[str], embedder: Embedder) -> tuple[list[str], int]:
    """Return evidence that the model reads whole, and how many of the given texts had to be split for it."""
    from solvent.gate.embedding import unread_by

    spans: list[str] = []
    split = 0
    for text, unread in zip(evidence, unread_by(embedder, evidence), strict=True):
        if not unread.rest:
            spans.append(text)
            continue
        split += 1
        for sentence in sentences(text):
            spans.extend(_parts(sentence, embedder))
    return spans, split


def _parts(sentence: str, embedder: Embedder) -> list[str]:
    from solvent.gate.embedding import unread_by

    parts = []
    while (rest := unread_by(embedder, [sentence])[0].rest) and len(rest) < len(sentence):
        end = len(sentence) - len(rest)
        # The window may end inside a word, which then belongs to the next part.
        end = sentence.rfind(" ", 0, end + 1) if " " in sentence[: end + 1].strip() else end
        parts.append(sentence[:end].strip())
        sentence = sentence[end:].strip()
    return [*parts, sentence]
