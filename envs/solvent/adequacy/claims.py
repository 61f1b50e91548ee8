"""How strongly each sentence of a text says something, and whether it says anything.

A sentence is read clause by clause (a clause ends at ``;`` and before *but*, *because*, *so*, ...). Of a clause:

| clause holds                                                              | words      |
|---------------------------------------------------------------------------|------------|
| nothing of the following                                                  | plain      |
| a strong negative, a universal, a definitive wording, or doubt ruled out  | definitive |
| a strong negative or a universal, and the sentence rules out doubt        | absolute   |
| a strong negative that is universal as well                               | absolute   |

It is plain at most where it rests on a source that it names (*indicates*, *the log says*), unless it rules out doubt. A
hedge makes it hedged (one step weaker where it rules out doubt too); so does a hedge that frames the sentence or the
heading above it, and a bare report of what the writer did (*I checked auth.py*). A clause asserts nothing when it is an
order, an offer, a plan, a greeting, or all condition; nor do questions, and nothing counts that is denied, left open,
supposed, aimed at, quoted or code.

Source: *Epistemic Adequacy Design*; kinds and phrases are data (``lexicon.toml``). Known approximation: words and their
order, no grammar.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from solvent.adequacy.lexicon import Lexicon
from solvent.adequacy.masking import CODE, QUOTE
from solvent.adequacy.text import Document, Sentence

__all__ = ["Claim", "Words", "claims"]


class Words(IntEnum):
    """How strongly something is said."""

    HEDGED = 0
    PLAIN = 1
    DEFINITIVE = 2
    ABSOLUTE = 3


class Claim(NamedTuple):
    """What one sentence says: ``words`` is None where it asserts nothing; hits are (first token, end, kind)."""

    words: Words | None
    hits: tuple[tuple[int, int, str], ...]
    framed: bool
    strong_negative: bool


_STRONG, _UNIVERSAL, _DEFINITIVE, _CERTAIN, _HEDGED, _SOURCED, _REPORT, _OPEN = (1 << i for i in range(8))
_FLAGS = {
    "strong_negative": _STRONG,
    "universal": _UNIVERSAL,
    "definitive": _DEFINITIVE,
    "certainty": _CERTAIN,
    "hedge": _HEDGED,
    "evidential": _SOURCED,
    "report": _REPORT,
    "withheld": _OPEN,
}
_STRENGTH = _STRONG | _UNIVERSAL | _DEFINITIVE | _CERTAIN
_NEGATABLE = frozenset(["universal", "definitive", "certainty"])
_UNDER_NEGATION = frozenset(["anywhere", "at", "in", "under", "for", "no", "impossible"])
_BETWEEN = frozenset(["a", "an", "the", "be", "been", "to", "so", "quite", "very"])
_TO_COMMA = frozenset(["condition", "occasion", "interjection"])
_TO_CLAUSE_END = frozenset(["denial", "withheld", "aim"])
_AFTER_LEAD_IN = frozenset([",", ":", "\u2014", "-"])
_MASKS = (CODE, QUOTE)
_MOST_FRAGMENT = 8


def claims(document: Document, lexicon: Lexicon) -> list[Claim]:
    """One claim a sentence, in order."""
    found: list[Claim] = []
    for sentence in document.sentences:
        framed = sentence.lead >= 0 and found[sentence.lead].framed
        found.append(_Sentence(document, sentence, lexicon, framed).read())
    return found


class _Sentence:
    """The state of reading one sentence from left to right."""

    def __init__(self, document: Document, sentence: Sentence, lexicon: Lexicon, framed: bool) -> None:
        self.document = document
        self.tokens = document.tokens
        self.sentence = sentence
        self.lexicon = lexicon
        self.framed = framed
        self.clauses: list[int] = []
        self.hits: list[tuple[int, int, str]] = []
        self.soft = framed
        self._begin()

    def _begin(self) -> None:
        """A new clause."""
        self.flags = 0
        self.content = 0
        self.opening = True  # nothing of the clause proper has been read
        self.silent = False  # an order, an offer, a plan
        self.held = ""  # the kind of phrase that keeps what follows from counting
        self.initial = False  # what holds it came first

    def read(self) -> Claim:
        tokens, last = self.tokens, self.sentence.last
        root, ends = self.lexicon.phrases.root, self.lexicon.words["clause_ends"]
        walk = self.lexicon.phrases.walk
        i = self.sentence.first
        while i < last:
            token = tokens[i]
            node = root.get(token)
            found = None if node is None else walk(node, tokens, i + 1, last)
            if self.opening and (found is None or found[1] != "neutral"):
                self._order(i)
            if found is not None:
                i = self._phrase(i, *found)
            elif token in ends:
                self._end()
                i += 1
            elif token == ",":
                self._comma()
                i += 1
            else:
                if self.opening or self.held:
                    self._word(token)
                else:
                    self.content += 1
                i += 1
        self._end()
        if last - self.sentence.first == 1 and tokens[last - 1] in self.lexicon.words["answers"]:
            self.clauses.append(0)
        return self._claim()

    def _order(self, i: int) -> None:
        """Does the clause begin with a command?"""
        words, token = self.lexicon.words, self.tokens[i]
        if token in words["commands"] or (token in words["nouns_too"] and self._takes_object(i + 1)):
            self.silent, self.opening = True, False

    def _word(self, token: str) -> None:
        """A word that begins no phrase."""
        if self.held in _TO_COMMA and self.held != "occasion":
            return
        if not (self.opening and token in self.lexicon.words["lead_ins"]):
            self.opening = False
            self.content += 1

    def _takes_object(self, i: int) -> bool:
        if i >= self.sentence.last:
            return False
        token = self.tokens[i]
        if token in self.lexicon.words["objects"]:
            # "Set a limit", but "Set A holds".
            return len(token) > 1 or self.document.text[self.document.starts[i]].islower()
        return token[0] in _MASKS or token[0].isdigit()

    def _comma(self) -> None:
        """Where something supposed, or a greeting, ends."""
        if self.held in _TO_COMMA:
            self.opening = self.initial
            self.held, self.initial = "", False

    def _phrase(self, i: int, end: int, kind: str) -> int:
        """A phrase of the lexicon; returns where to read on."""
        if kind == "boundary":
            self._end()
            # Its other words may begin a phrase of the next clause: "and there is no".
            return i + 1
        if self.held in _TO_CLAUSE_END or self.held == "condition":
            return end
        if kind in ("opener", "interjection"):
            return self._opener(i, end, kind)
        opening, self.opening = self.opening, False
        if not self.held:
            self.content += end - i
        if kind in _TO_COMMA or kind in _TO_CLAUSE_END:
            self._hold(kind, opening)
            if kind in ("condition", "occasion"):
                self.content -= end - i
        elif self.held and kind in ("strong_negative", *_NEGATABLE):
            return end
        return self._count(i, end, kind)

    def _opener(self, i: int, end: int, kind: str) -> int:
        if not self.opening or self.held:
            self.content += not self.held
            return i + 1
        if kind == "opener":
            self.silent, self.opening = True, False
        else:
            self._hold(kind, opening=True)
            self.opening = False
        return end

    def _hold(self, kind: str, opening: bool) -> None:
        self.held, self.initial = kind, opening

    def _count(self, i: int, end: int, kind: str) -> int:
        if kind == "frame":
            self.framed = self.soft = True
        elif kind in _NEGATABLE and self._negated(i):
            if kind == "certainty":
                self.flags |= _HEDGED
            return end
        elif kind == "hedge" and end == i + 1 and self._is_name(i):
            return end
        flag = _FLAGS.get(kind, 0)
        self.flags |= flag
        self.soft = self.soft or kind in ("hedge", "withheld")
        if flag or kind == "frame":
            self.hits.append((i, end, kind))
        return end

    def _negated(self, i: int) -> bool:
        tokens, negators = self.tokens, self.lexicon.words["negators"]
        if i == self.sentence.first or tokens[i] in _UNDER_NEGATION:
            return False
        if tokens[i - 1] in negators:
            return True
        between = tokens[i - 1] in _BETWEEN or tokens[i - 1] in self.lexicon.words["fillers"]
        return between and i - 2 >= self.sentence.first and tokens[i - 2] in negators

    def _is_name(self, i: int) -> bool:
        """A capital within a sentence: the month, not the verb."""
        start = self.document.starts[i]
        word = self.document.text[start : start + len(self.tokens[i])]
        return i > self.sentence.first and word.istitle()

    def _end(self) -> None:
        """The clause is over: kept if it asserts something."""
        if not self.silent and (self.content > 0 or self.flags):
            self.clauses.append(self.flags)
        elif self.silent:
            self.hits = []
        self._begin()

    def _claim(self) -> Claim:
        level, seen = -1, 0
        for flags in self.clauses:
            seen |= flags
        for flags in self.clauses:
            level = max(level, _strength(flags, seen, self.framed))
        said = level >= 0 and self._is_said(level, seen)
        words = Words(level) if said else None
        return Claim(words, tuple(self.hits), self.soft, said and seen & _STRONG > 0)

    def _is_said(self, level: int, seen: int) -> bool:
        """Whether the sentence as a whole asserts: no question, no bare heading, no fragment."""
        sentence, tokens, words = self.sentence, self.tokens, self.lexicon.words
        size = sentence.last - sentence.first
        if sentence.question:
            return False
        if level > Words.PLAIN or seen & _STRENGTH:
            return True
        if sentence.heading or tokens[sentence.last - 1] == ":":
            return False
        if size == 1:
            return tokens[sentence.first] in words["answers"]
        if sentence.stopped or size > _MOST_FRAGMENT or seen:
            return True
        return any(token in words["verbs"] for token in tokens[sentence.first : sentence.last])


def _strength(flags: int, seen: int, framed: bool) -> int:
    """The words of one clause, by the table of the module; ``seen`` are the flags of the whole sentence."""
    level = int(Words.PLAIN)
    negative, universal, certain = flags & _STRONG, flags & _UNIVERSAL, flags & _CERTAIN
    if flags & _STRENGTH:
        level = Words.DEFINITIVE
    if (negative and universal) or ((negative or universal) and seen & _CERTAIN):
        level = Words.ABSOLUTE
    if flags & _SOURCED and not certain:
        level = Words.PLAIN
    if flags & _OPEN:
        return Words.HEDGED
    if flags & _HEDGED or framed:
        return level - 1 if certain else Words.HEDGED
    # A hedge elsewhere in the sentence, or a bare report, softens what is plain; what is strong it doesn't.
    if level == Words.PLAIN and (seen & (_HEDGED | _OPEN) or flags & _REPORT):
        return Words.HEDGED
    return level
