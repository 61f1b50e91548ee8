"""Phrases as a trie of tokens: find the longest phrase at each token of a text, in bounded time.

A phrase is words; ``a|b`` is either, ``(a)`` is optional, ``…`` is up to four tokens of the same clause, ``#`` a
number. Contractions match both forms (*is not*, *isn't*). Up to two fillers (*actually*) may stand between the words of
a phrase.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from solvent.adequacy.errors import AdequacyError

__all__ = ["GAP", "MOST_VARIANTS", "Node", "Trie", "variants"]

GAP = "\u2026"
"""Up to four tokens."""
MOST_VARIANTS = 2000
"""Maximum number of variants of one phrase."""

_LONGEST_GAP = 4
_MOST_FILLERS = 2
_STOPS_A_GAP = frozenset(",;:|()")
_WORD = re.compile(r"(?:[^\W_]+(?:['\-./][^\W_]+)*|[,%#\u2026])\Z")


class Node:
    """The words that may follow, and the kind of a phrase that ends here."""

    __slots__ = ("following", "gap", "kind", "next", "number")

    def __init__(self) -> None:
        self.following: dict[str, Node] = {}
        self.kind: str | None = None
        self.gap: Node | None = None
        self.number: Node | None = None
        self.next: frozenset[str] | None = None
        """For a first word: no phrase begins here unless one of these words follows. None without such a set."""


class Trie:
    """Phrases by kind. ``root`` maps a first word to its node."""

    def __init__(
        self,
        phrases: Mapping[str, Iterable[str]],
        contractions: Mapping[str, Sequence[str]],
        fillers: frozenset[str],
    ) -> None:
        self.fillers = fillers
        self._top = Node()
        for kind, texts in phrases.items():
            for text in texts:
                for words in variants(text, contractions):
                    self._add(words, kind, text)
        self.root = self._top.following
        for node in self.root.values():
            if node.kind is None and node.gap is None and node.number is None:
                node.next = frozenset(node.following) | fillers

    def _add(self, words: tuple[str, ...], kind: str, text: str) -> None:
        node = self._top
        for word in words:
            if word == GAP:
                node.gap = node.gap or Node()
                node = node.gap
            elif word == "#":
                node.number = node.number or Node()
                node = node.number
            else:
                node = node.following.setdefault(word, Node())
        if node.kind not in (None, kind):
            raise AdequacyError(
                f"{kind}: got {text!r:.80}, of which {' '.join(words)!r:.80} is also of the kind {node.kind}; "
                "allowed: one kind a phrase"
            )
        node.kind = kind

    def match(self, tokens: Sequence[str], i: int, end: int) -> tuple[int, str] | None:
        """Return the end and kind of the longest phrase that begins at token ``i`` and ends by ``end``."""
        node = self.root.get(tokens[i])
        if node is None:
            return None
        i += 1
        if node.next is not None and (i >= end or tokens[i] not in node.next):
            return None
        return self.walk(node, tokens, i, end)

    def walk(self, node: Node, tokens: Sequence[str], j: int, end: int) -> tuple[int, str] | None:
        """Return the end and kind of the longest phrase that continues from a node at token ``j``."""
        best: tuple[int, str] | None = None
        fillers = 0
        while True:
            if node.kind is not None:
                best = (j, node.kind)
            if node.gap is not None:
                best = self._over_gap(node.gap, tokens, j, end) or best
            if j >= end:
                return best
            token = tokens[j]
            following = node.following.get(token)
            if following is None and node.number is not None and token[0].isdigit():
                following = node.number
            if following is not None:
                node = following
            elif token in self.fillers and fillers < _MOST_FILLERS:
                fillers += 1
            else:
                return best
            j += 1

    def _over_gap(self, node: Node, tokens: Sequence[str], j: int, end: int) -> tuple[int, str] | None:
        for k in range(j, min(j + _LONGEST_GAP + 1, end)):
            if tokens[k] in _STOPS_A_GAP:
                return None
            following = node.following.get(tokens[k])
            if following is not None and (found := self.walk(following, tokens, k + 1, end)) is not None:
                return found
        return None


def variants(text: str, contractions: Mapping[str, Sequence[str]]) -> list[tuple[str, ...]]:
    """Return every sequence of words that a phrase stands for.

    Raises:
        AdequacyError: the phrase has no words, a malformed sign, a misplaced or second gap, or too many variants.
    """
    places = [_choices(text, word) for word in text.split()]
    count = 1
    for choices in places:
        count *= len(choices)
    if not places or count > MOST_VARIANTS:
        raise AdequacyError(f"got {text!r:.80}, {count} variants; allowed: 1 to {MOST_VARIANTS}")
    found: dict[tuple[str, ...], None] = {}
    for picked in itertools.product(*places):
        words = tuple(word for word in picked if word)
        if not words or words[0] in (GAP, "#") or words[-1] == GAP or words.count(GAP) > 1:
            raise AdequacyError(
                f"got {text!r:.80}; allowed: a gap or number only after a word, and one gap, not last"
            )
        found.update(dict.fromkeys(_contracted(words, contractions)))
    return list(found)


def _choices(text: str, word: str) -> list[str]:
    optional = word.startswith("(") and word.endswith(")")
    choices = (word[1:-1] if optional else word).split("|")
    for choice in choices:
        if not _WORD.match(choice) or choice != choice.lower():
            raise AdequacyError(
                f"got {text!r:.80}, in it {word!r:.40}; allowed: words in lower case, a|b, (a), {GAP}, # and , %"
            )
    return [*choices, ""] if optional else choices


def _contracted(
    words: tuple[str, ...], contractions: Mapping[str, Sequence[str]]
) -> Iterator[tuple[str, ...]]:
    """Yield the words with each pair in its own and in its contracted forms."""
    if len(words) < 2:
        yield words
        return
    for rest in _contracted(words[1:], contractions):
        yield (words[0], *rest)
    for form in contractions.get(f"{words[0]} {words[1]}", ()):
        if len(words) == 2:
            yield (form,)
        else:
            for rest in _contracted(words[2:], contractions):
                yield (form, *rest)
