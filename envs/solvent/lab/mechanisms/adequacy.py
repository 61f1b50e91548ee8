"""Epistemic adequacy in the step: the words of a finding, held against the plates that were run on its compound.

Mechanism. A finding's words are hedged, plain, definitive or absolute (0 to 3), its evidence none, thin, reasonable or
ample (0 to 3) by how many plates of its compound are in the tool log. What the words say beyond the evidence,

    score = min(3, max(0, words - evidence + 1)),

is looked up: ``solvent.adequacy`` has read the very sentences and logs beforehand. A low score lets the finding pass, a
middle one calls for a reader, a high one rejects it; the more severe of this and the gate's verdict holds.

Source: "Epistemic Adequacy Design". Known approximation: it judges the process, not the outcome. A lucky guess in
strong words is inadequate, an error in words that its evidence bears out is not.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

from solvent.lab.compiled import inlined

__all__ = ["EVIDENCE", "LOGGED", "RULES", "WORDS", "AdequacyRules", "words_verdict"]

WORDS = ("hedged", "plain", "definitive", "absolute")
EVIDENCE = ("none", "thin", "reasonable", "ample")
RULES = (
    *(f"{words}/{evidence}" for words, evidence in itertools.product(WORDS, EVIDENCE)),
    "nothing_asserted",
)
"""What can fire: words against evidence, or nothing where no claim is made."""
LOGGED = 4
"""Plates up to which logs are told apart: so many calls are ample evidence."""


class AdequacyRules(NamedTuple):
    """Adequacy's parameters as numbers."""

    enabled: bool
    enforced: bool
    review_from: int  # score
    reject_from: int  # score
    corrections: int  # rows of the table of corrections


@inlined
def words_verdict(score, review_from, reject_from):  # type: ignore[no-untyped-def]
    """0 pass, 1 review, 2 reject: the codes of the gate's verdicts."""
    if score < review_from:
        return 0
    return 1 if score < reject_from else 2
