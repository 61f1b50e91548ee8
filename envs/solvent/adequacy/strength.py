"""The strength of a clause by the kinds of phrases in it.

| clause holds                                                              | words      |
|---------------------------------------------------------------------------|------------|
| nothing of the following                                                  | plain      |
| a strong negative, a universal, a definitive wording, or doubt ruled out  | definitive |
| a strong negative or a universal, and the sentence rules out doubt        | absolute   |
| a strong negative that is universal as well                               | absolute   |

A clause that rests on a named source (*indicates*, *the log says*) is at most plain, unless it rules out doubt. A hedge
makes it hedged, or one step weaker if it also rules out doubt. So does a hedge that frames the sentence, its heading or
the line above it, and, after a tool call, a bare report of the writer's own action (*I checked auth.py*).

Source: *Epistemic Adequacy Design*; the kinds are those of ``lexicon.toml``.
"""

from __future__ import annotations

from enum import IntEnum

__all__ = ["FLAGS", "HEDGED", "OPEN", "REPORT", "STRENGTH", "STRONG", "Words", "strength_of"]


class Words(IntEnum):
    """Strength of the words of a claim."""

    HEDGED = 0
    PLAIN = 1
    DEFINITIVE = 2
    ABSOLUTE = 3


STRONG, UNIVERSAL, DEFINITIVE, CERTAIN, HEDGED, SOURCED, REPORT, OPEN = (1 << i for i in range(8))
FLAGS = {
    "strong_negative": STRONG,
    "universal": UNIVERSAL,
    "definitive": DEFINITIVE,
    "certainty": CERTAIN,
    "hedge": HEDGED,
    "evidential": SOURCED,
    "report": REPORT,
    "withheld": OPEN,
}
STRENGTH = STRONG | UNIVERSAL | DEFINITIVE | CERTAIN


def strength_of(flags: int, seen: int, framed: bool, called: bool) -> int:
    """Return the words of one clause by the module's table. ``seen``: the flags of the whole sentence."""
    level = int(Words.PLAIN)
    negative, universal, certain = flags & STRONG, flags & UNIVERSAL, flags & CERTAIN
    if flags & STRENGTH:
        level = Words.DEFINITIVE
    if (negative and universal) or ((negative or universal) and seen & CERTAIN):
        level = Words.ABSOLUTE
    if flags & SOURCED and not certain:
        level = Words.PLAIN
    if flags & OPEN:
        return Words.HEDGED
    if flags & HEDGED or framed:
        return level - 1 if certain else Words.HEDGED
    # A hedge elsewhere in the sentence, or a bare report, softens only plain words.
    if level == Words.PLAIN and (seen & (HEDGED | OPEN) or (called and flags & REPORT)):
        return Words.HEDGED
    return level
