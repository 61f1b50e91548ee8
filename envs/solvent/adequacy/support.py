"""Support of plain claims by the results of tools.

The words of a sentence that are not in the query are compared with all results, word by word and mark by mark
(``overlap``). A claim is *supported* if the share that occurs in a result is ``high`` or more, and *unsupported* if it
is below ``low``; the score of a plain claim then goes one step down or up. Without evidence, a plain claim is
unsupported if the query is about something particular (*the, our, this*, a path, a number); about general things it is
common knowledge and goes down. Stronger words are left to the matrix, because shared words don't repair an
overstatement.

A query that contains material, a block of code or more than a few hundred characters, is a source like a result.

Support requires a query, since the user's own words support nothing. More results never lower it.

Source: our own addition to *Epistemic Adequacy Design*. Known approximation: shared words. A claim that contradicts a
result in the result's own words passes as supported; finding that is left to a judge.
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
    """The words of some calls' results, for comparison with sentences.

    Args:
        query: the user's query.
        asked: the marks of the query.
        calls: the calls that count as evidence.
        evidence: their amount.
        lexicon: its thresholds, and its words for particular things.
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
        """True if the query is about something particular, not about general things."""
        if not self.particulars.isdisjoint(words_of(self.query)):
            return True
        # A capital at the beginning doesn't make a name.
        return bool(marks_of(self.query.lstrip().partition(" ")[2]).marks)

    def share(self, sentence: str) -> float:
        """Return the share of a sentence's words beyond the query that occur in a result."""
        return self._share(marks_of(sentence))

    def _share(self, said: Marks) -> float:
        stems, marks = said.stems - self.asked.stems, said.marks - self.asked.marks
        return _part(stems, marks, self.stems, self.marks)

    def _share_of_all(self, said: Marks) -> float:
        """Return the share of a sentence's words that occur in a result or in the query."""
        asked = self.asked
        return _part(said.stems, said.marks, self.stems | asked.stems, self.marks | asked.marks)

    def of(self, sentence: str) -> Level:
        """Return the support of a plain claim."""
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
