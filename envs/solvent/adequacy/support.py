"""Support of plain claims by the results of tools.

The words of a sentence that are not in the query are compared with all results, word by word and mark by mark
(``overlap``), and with the arguments of the calls that did more than show text. A claim is *supported* if the share
that occurs in a result is ``high`` or more, and *unsupported* if it is below ``low``; the score of a plain claim then
goes one step down or up. Without evidence, a plain claim is unsupported if the query is about something particular
(*the, our, this*, a path, a number); about general things it is common knowledge and goes down. Stronger words are left
to the matrix, because shared words don't repair an overstatement.

A query that contains a block of code or more than a few hundred characters is a source like a result. Without a call, a
query with any material to answer from (code, a quotation, two numbers) counts as one look, and a claim that shares
words with it is supported.

Support requires a query, since the user's own words support nothing. More results never lower it.

Source: our own addition to *Epistemic Adequacy Design*. Known approximation: shared words. A claim that contradicts a
result in the result's own words passes as supported; finding that is left to a judge.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Literal

from solvent.adequacy.lexicon import Lexicon
from solvent.adequacy.overlap import NOTHING, Marks, denies, marks_of, words_of
from solvent.adequacy.scope import shows_text
from solvent.adequacy.text import read
from solvent.adequacy.tools import Evidence, ToolCall

__all__ = ["Level", "Support", "hands_over"]

_LONG = 400
_BEGINNING = 100
_MATERIAL = re.compile(
    r"`[^`\n]*[ (\[{=][^`\n]*`|\"[^\"\n]*\s[^\"\n]*\s[^\"\n]*\""
    r"|(?<![\w.])\d[\d.,]*(?![\w.]).*(?<![\w.])\d[\d.,]*(?![\w.])"
)

Level = Literal["supported", "unsupported", ""]


def hands_over(query: str) -> bool:
    """Return whether a query contains material to answer from: code, a quotation, numbers, or a long text."""
    return _is_long(query) or _MATERIAL.search(query) is not None


def _is_long(query: str) -> bool:
    return len(query) > _LONG or "```" in query


class Support:
    """The words of some calls' results, for comparison with sentences.

    Args:
        query: the user's query.
        asked: the marks of the query.
        calls: the calls that count as evidence.
        evidence: their amount.
        called: a tool was called, even if every call failed.
        lexicon: its thresholds, and its words for particular things.
    """

    def __init__(
        self,
        query: str,
        asked: Marks,
        calls: Sequence[ToolCall],
        evidence: Evidence,
        called: bool,
        lexicon: Lexicon,
    ) -> None:
        self.query = query
        self.asked = asked
        self.calls = calls
        self.evidence = evidence
        self.called = called
        self.low, self.high = lexicon.support
        self.particulars = lexicon.words["particulars"]
        self.returned = _joined([call.returned.all for call in calls])
        # What a call did is told by its arguments.
        done = _joined([call.asked for call in calls if not shows_text(call.name)])
        self.told = _joined([self.returned, done])
        self.handed = _is_long(query)
        self.general = lexicon.stances

    @cached_property
    def particular(self) -> bool:
        """True if the query is about something particular, not about general things."""
        if self._is_general():
            return False
        if not self.particulars.isdisjoint(words_of(self.query)):
            return True
        # A capital at the beginning doesn't make a name.
        return bool(marks_of(self.query.lstrip().partition(" ")[2]).marks)

    def _is_general(self) -> bool:
        first = self.query[:_BEGINNING].split(None, 1)[:1]
        if not first or first[0].lower() not in self.general.root:
            return False
        tokens = read(self.query[:_BEGINNING]).tokens
        found = self.general.match(tokens, 0, len(tokens)) if tokens else None
        return found is not None and found[1] == "general"

    def share(self, sentence: str) -> float:
        """Return the share of a sentence's words beyond the query that occur in a result."""
        return _part(self._beyond(marks_of(sentence)), self.returned)

    def _beyond(self, said: Marks) -> Marks:
        """Return the words that the query doesn't have."""
        return Marks(said.stems - self.asked.stems, said.marks - self.asked.marks)

    def of(self, sentence: str) -> Level:
        """Return the support of a plain claim."""
        if self.evidence == Evidence.NONE:
            return "unsupported" if self.called or self.particular else "supported"
        said = marks_of(sentence)
        if not self.calls:
            return "supported" if _part(said, self.asked) >= self.low else ""
        handed = self.handed
        share = (
            _part(said, _joined([self.told, self.asked])) if handed else _part(self._beyond(said), self.told)
        )
        if share >= self.high:
            return "supported"
        if share >= self.low or self.evidence > Evidence.REASONABLE or not self.particular:
            return ""
        absent = denies(sentence) and any(call.returned.found_nothing for call in self.calls)
        return "" if absent else "unsupported"


def _joined(all_of: Sequence[Marks]) -> Marks:
    return Marks(
        NOTHING.stems.union(*[one.stems for one in all_of]),
        NOTHING.marks.union(*[one.marks for one in all_of]),
    )


def _part(said: Marks, held: Marks) -> float:
    """Return the share of some words that others hold."""
    size = len(said.stems) + len(said.marks)
    return (len(said.stems & held.stems) + len(said.marks & held.marks)) / size if size else 0.0
