"""The claim of each sentence of a text, and the strength of its words.

A sentence is read clause by clause, and its strongest clause counts. A clause ends at ``;`` and before *but*,
*because*, *so*, ...; ``strength`` derives the strength of a clause from the kinds of its phrases.

An order, an offer, a plan, a greeting or a mere condition asserts nothing, up to a comma, colon or dash before a
statement. Questions assert nothing. Words that are denied, left open, supposed, aimed at, quoted or code don't count.
Transitions (*to be clear*, *I'm afraid*) are ignored.

Source: *Epistemic Adequacy Design*; kinds and phrases are data (``lexicon.toml``). Known approximation: words and their
order, no grammar.
"""

from __future__ import annotations

from typing import NamedTuple

from solvent.adequacy.lexicon import Lexicon
from solvent.adequacy.masking import CODE, QUOTE
from solvent.adequacy.strength import FLAGS, HEDGED, OPEN, REPORT, STRENGTH, STRONG, Words, strength_of
from solvent.adequacy.text import Document, Sentence

__all__ = ["Claim", "Words", "claims"]


class Claim(NamedTuple):
    """The claim of one sentence.

    ``words`` is None if the sentence asserts nothing. ``hits`` are (first token, end, kind). A ``framed`` sentence
    softens the sentences below it; a ``reported`` one tells of a check that the writer made.
    """

    words: Words | None
    hits: tuple[tuple[int, int, str], ...]
    framed: bool
    strong_negative: bool
    reported: bool


_NEGATABLE = frozenset(["universal", "definitive", "certainty"])
_UNDER_NEGATION = frozenset(["anywhere", "at", "in", "under", "for", "no", "impossible"])
_BETWEEN = frozenset(["a", "an", "the", "be", "been", "to", "so", "quite", "very"])
_TO_COMMA = frozenset(["condition", "occasion", "interjection"])
_TO_CLAUSE_END = frozenset(["denial", "withheld", "aim"])
_SILENT = frozenset(["opener", "interjection"])
_NO_ORDER = frozenset(["neutral", "connective", "opener"])
_WITHOUT_CONTENT = frozenset(["condition", "interjection"])
_ENDS_A_HOLD = {
    "condition": frozenset([",", ":"]),
    "occasion": frozenset([",", ":"]),
    "aim": frozenset([",", ":"]),
    "interjection": frozenset([",", ":", "-", "--", "\u2014"]),
}
_LISTED = frozenset([",", ";", ":", "|", "(", ")", "and", "or", "to", "that", "if"])
_MASKS = (CODE, QUOTE)
_LEVELS = tuple(Words)
_MOST_FRAGMENT = 8
_MOST_LEAD_INS = 3
_VERB_WITHIN = 6


def claims(document: Document, lexicon: Lexicon, called: bool = True) -> list[Claim]:
    """Return the claim of each sentence in order. ``called``: a tool was called."""
    found: list[Claim] = []
    reader = _Reader(document, lexicon, called)
    for sentence in document.sentences:
        found.append(reader.read(sentence, sentence.lead >= 0 and found[sentence.lead].framed))
    return found


class _Reader:
    def __init__(self, document: Document, lexicon: Lexicon, called: bool) -> None:
        self.document = document
        self.tokens = document.tokens
        self.phrases = lexicon.phrases
        self.words = lexicon.words
        self.leading = lexicon.leading
        self.starts = lexicon.starts
        self.called = called

    def _begin(self) -> None:
        self.flags = 0
        self.content = 0
        self.opening = True  # the clause proper has not begun
        self.silent = ""  # "order", or "opener": an offer, a plan
        self.held = ""  # the kind of phrase after which words don't count
        self.initial = False  # that phrase came first in the clause
        self.earlier = len(self.hits)

    def read(self, sentence: Sentence, framed: bool) -> Claim:
        """Return the claim of a sentence. ``framed``: its heading or the line above it softens it."""
        self.sentence = sentence
        self.inherited = self.framed = framed
        self.reported = False
        self.clauses: list[int] = []
        self.hits: list[tuple[int, int, str]] = []
        self._begin()
        self._tokens(sentence.first, sentence.last)
        self._close()
        if sentence.last - sentence.first == 1 and self.tokens[sentence.first] in self.words["answers"]:
            self.clauses.append(0)
        return self._claim()

    def _tokens(self, i: int, last: int) -> None:
        tokens, root, walk, leading = self.tokens, self.phrases.root, self.phrases.walk, self.leading
        starts = self.starts
        for at in [k for k in range(i, last) if tokens[k] in starts]:
            if at < i:
                continue
            token = tokens[at]
            node = root.get(token)
            found = None
            if node is not None:
                ahead = node.next
                if ahead is None or (at + 1 < last and tokens[at + 1] in ahead):
                    found = walk(node, tokens, at + 1, last)
            if found is None and token not in leading:
                continue
            self._plain(at - i)
            i = at + 1
            if self.opening and token in leading and (found is None or found[1] not in _NO_ORDER):
                self._order(at)
            if (token == "that" or token == "and") and self._leads_over(at, token):
                self._end()
            elif found is not None:
                i = self._phrase(at, *found)
            else:
                self._single(at, token)
        self._plain(last - i)

    def _plain(self, count: int) -> None:
        """Count words that begin no phrase and end no clause."""
        if count > 0 and self.held not in _WITHOUT_CONTENT:
            self.opening = False
            self.content += count

    def _single(self, i: int, token: str) -> None:
        words = self.words
        if token in words["clause_ends"]:
            self._end()
        elif (
            (token not in words["signs"] or not self._sign(i, token))
            and self.held not in _WITHOUT_CONTENT
            and not (self.opening and token in words["lead_ins"])
        ):
            self.opening = False
            self.content += 1

    def _order(self, i: int) -> None:
        words, token = self.words, self.tokens[i]
        if token in words["commands"] or (token in words["nouns_too"] and self._takes_object(i + 1)):
            self.silent, self.opening = "order", False

    def _takes_object(self, i: int) -> bool:
        if i >= self.sentence.last:
            return False
        token = self.tokens[i]
        if token in self.words["objects"]:
            # "Set a limit" is an order, "Set A holds" is not.
            return len(token) > 1 or self.document.text[self.document.starts[i]].islower()
        return token[0] in _MASKS or token[0].isdigit()

    def _sign(self, i: int, sign: str) -> bool:
        """Return whether a sign ends a supposition, a greeting, or an order before a statement."""
        if (self.silent or self.held) and self._states(i + 1):
            self._end()
            return True
        if sign in _ENDS_A_HOLD.get(self.held, ()) and (self.initial or self.held != "aim"):
            self.opening = self.initial
            self.held, self.initial = "", False
            return True
        return sign == ","

    def _states(self, i: int) -> bool:
        """Return whether a statement begins here: a subject with its verb, no order and no further item of a list."""
        tokens, words, last = self.tokens, self.words, self.sentence.last
        end = min(last, i + _MOST_LEAD_INS)
        while i < end and (tokens[i] in words["lead_ins"] or tokens[i] == "as"):
            i += 1
        if i + 1 >= last or tokens[i] in words["attached"] or tokens[i] in words["commands"]:
            return False
        if tokens[i] in words["subjects"]:
            return True
        # A denial may go on through a list of statements.
        if tokens[i] in words["verbs"] or (self.held in _TO_CLAUSE_END and not self.silent):
            return False
        for token in tokens[i + 1 : min(last, i + _VERB_WITHIN)]:
            if token in words["verbs"]:
                return True
            if token in _LISTED:
                return False
        return False

    def _leads_over(self, i: int, token: str) -> bool:
        """Return whether a statement follows an offer ("that ...") or a report ("and it is ...")."""
        if token == "that":
            j = i - 2 if self.tokens[i - 1] == "you" else i - 1
            return self.silent == "opener" and self.tokens[j] in self.words["saying"]
        return token == "and" and bool(self.flags & REPORT) and self._states(i + 1)

    def _phrase(self, i: int, end: int, kind: str) -> int:
        """Read a phrase of the lexicon and return the token to read next."""
        if kind == "boundary":
            self._end()
            # The rest of the boundary may begin a phrase of the next clause: "and there is no".
            return i + 1
        if self.held in _TO_CLAUSE_END or self.held == "condition":
            return end
        if kind in _SILENT:
            return self._opener(i, end, kind)
        if kind == "connective" and self.opening:
            return end
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
            self.silent, self.opening = kind, False
        else:
            self._hold(kind, opening=True)
            self.opening = False
        return end

    def _hold(self, kind: str, opening: bool) -> None:
        self.held, self.initial = kind, opening

    def _count(self, i: int, end: int, kind: str) -> int:
        if kind == "frame":
            self.framed = True
            self.reported = self.reported or self._tells_of_a_check(i, end)
        elif kind in _NEGATABLE and self._negated(i):
            if kind == "certainty":
                self.flags |= HEDGED
            return end
        elif kind == "hedge" and end == i + 1 and self._is_name(i):
            return end
        flag = FLAGS.get(kind, 0)
        self.flags |= flag
        if flag or kind == "frame":
            self.hits.append((i, end, kind))
        return end

    def _tells_of_a_check(self, i: int, end: int) -> bool:
        """Return whether a frame ends like a report: "in the files I checked"."""
        for first in range(max(i, end - 3), end - 1):
            found = self.phrases.match(self.tokens, first, end)
            if found == (end, "report"):
                return True
        return False

    def _negated(self, i: int) -> bool:
        tokens, negators = self.tokens, self.words["negators"]
        if i == self.sentence.first or tokens[i] in _UNDER_NEGATION:
            return False
        if tokens[i - 1] in negators:
            return True
        between = tokens[i - 1] in _BETWEEN or tokens[i - 1] in self.words["fillers"]
        return between and i - 2 >= self.sentence.first and tokens[i - 2] in negators

    def _is_name(self, i: int) -> bool:
        """Return whether a word within a sentence is capitalised: the month, not the verb."""
        start = self.document.starts[i]
        word = self.document.text[start : start + len(self.tokens[i])]
        return i > self.sentence.first and word.istitle()

    def _end(self) -> None:
        self._close()
        self._begin()

    def _close(self) -> None:
        """End the clause and keep it if it asserts something."""
        if self.silent:
            del self.hits[self.earlier :]
        elif self.content > 0 or self.flags:
            self.clauses.append(self.flags)

    def _claim(self) -> Claim:
        level, seen = -1, 0
        for flags in self.clauses:
            seen |= flags
        if self.clauses and not seen and not self.framed:
            level = 1
        else:
            for flags in self.clauses:
                level = max(level, strength_of(flags, seen, self.framed, self.called))
        said = level >= 0 and self._is_said(level, seen)
        strong_negative = said and seen & STRONG > 0
        reported = said and (self.reported or seen & REPORT > 0)
        words = _LEVELS[level] if said else None
        return Claim(words, tuple(self.hits), self._softens(seen), strong_negative, reported)

    def _softens(self, seen: int) -> bool:
        """Return whether the sentences below are softened, by a frame or by a hedge in the line that leads a list."""
        sentence = self.sentence
        if not self.framed and self.tokens[sentence.last - 1] != ":":
            return False
        if sentence.question or self.tokens[sentence.first] in self.words["asking"]:
            return self.inherited
        leads = not sentence.heading and self.tokens[sentence.last - 1] == ":"
        return self.framed or (leads and seen & (HEDGED | OPEN) > 0)

    def _is_said(self, level: int, seen: int) -> bool:
        """Return whether the sentence asserts: not a question, a bare heading or a fragment."""
        sentence, tokens, words = self.sentence, self.tokens, self.words
        size = sentence.last - sentence.first
        if sentence.question:
            return False
        if level > Words.PLAIN or seen & STRENGTH:
            return True
        if sentence.heading or tokens[sentence.last - 1] == ":":
            return False
        if size == 1:
            return tokens[sentence.first] in words["answers"]
        if sentence.stopped or size > _MOST_FRAGMENT or seen:
            return True
        return not words["verbs"].isdisjoint(tokens[sentence.first : sentence.last])
