"""Support of plain claims by the results of tools.

What a sentence says beyond the query is compared with all results, word by word and mark by mark (``overlap``). With
a share of ``high`` or more the claim is *supported*, below ``low`` it is *unsupported*, and the score of a plain claim
goes one step down or up. Without any evidence every plain claim is unsupported where the query is about something
particular (*the, our, this*, a path, a number); about things in general it is common knowledge, and goes down. Words
stronger than plain are left to the matrix: what they overstate isn't mended by what they share.

A query that hands over material, a block of code or more than a few hundred characters, is a source like a result.

Only with a query can this be told, for what the user said already is no support. More results never make a claim less
supported.

Source: our own addition to *Epistemic Adequacy Design*. Known approximation: shared words. A claim that contradicts a
result in the result's own words passes as supported; a judge is there for that.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Literal

from solvent.adequacy.lexicon import Lexicon
from solvent.adequacy.overlap import NOTHING, Marks, denies, marks_of, words_of
from solvent.adequacy.tools import Evidence, ToolCall

__all__ = ["Level", "Support"]

_FENCE = "```"
_LONG = 400

Level = Literal["supported", "unsupported", ""]


class Support:
    """The words of some calls' results, ready to be compared with sentences.

    Args:
        query: what the user asked.
        asked: its marks.
        calls: those that count as evidence.
        evidence: how much they are.
        lexicon: its thresholds and its words for what is particular.
    """

    def __init__(
        self, query: str, asked: Marks, calls: Sequence[ToolCall], evidence: Evidence, lexicon: Lexicon
    ) -> None:
        self.query = query
        self.asked = asked
        self.calls = calls
        self.evidence = evidence
        self.low, self.high = lexicon.support
        self.particulars = lexicon.words["particulars"]
        self.stems = NOTHING.stems.union(*[call.returned.all.stems for call in calls])
        self.marks = NOTHING.marks.union(*[call.returned.all.marks for call in calls])
        self.handed = _FENCE in query or len(query) > _LONG

    @cached_property
    def particular(self) -> bool:
        """True if the query is about something particular, not about things in general."""
        if not self.particulars.isdisjoint(words_of(self.query)):
            return True
        # A capital at the very beginning is no name.
        return bool(marks_of(self.query.lstrip().partition(" ")[2]).marks)

    def share(self, sentence: str) -> float:
        """Of what a sentence says beyond the query, the part that stands in a result."""
        return self._share(marks_of(sentence))

    def _share(self, said: Marks) -> float:
        stems, marks = said.stems - self.asked.stems, said.marks - self.asked.marks
        return _part(stems, marks, self.stems, self.marks)

    def _share_of_all(self, said: Marks) -> float:
        """The part of a sentence that stands in a result or in the query."""
        asked = self.asked
        return _part(said.stems, said.marks, self.stems | asked.stems, self.marks | asked.marks)

    def of(self, sentence: str) -> Level:
        """The support of a plain claim."""
        if self.evidence == Evidence.NONE and not self.handed:
            return "unsupported" if self.particular else "supported"
        said = marks_of(sentence)
        share = self._share_of_all(said) if self.handed else self._share(said)
        if share >= self.high:
            return "supported"
        if share >= self.low or self.evidence > Evidence.REASONABLE or not self.particular:
            return ""
        absent = denies(sentence) and any(call.returned.found_nothing for call in self.calls)
        return "" if absent else "unsupported"


def _part(
    stems: frozenset[str], marks: frozenset[str], held_stems: frozenset[str], held_marks: frozenset[str]
) -> float:
    size = len(stems) + len(marks)
    return (len(stems & held_stems) + len(marks & held_marks)) / size if size else 0.0
