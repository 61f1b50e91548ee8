"""The words of a text, for the checks: one pass over the characters, English without grammar.

``plain`` unifies dashes, quotes and micro signs; ``words`` splits; ``stem`` removes plurals, possessives and the most
common verb endings; ``content_stems`` leaves out function words.

Known approximation: English endings and function words. A text without spaces between words is one word.
"""

from __future__ import annotations

import functools
import re

__all__ = ["content_stems", "plain", "quotations", "shown", "stem", "words"]

_SAME = {
    **dict.fromkeys(map(ord, "\u2018\u2019\u201a\u201b\u02bc\u0060\u00b4"), "'"),
    **dict.fromkeys(map(ord, "\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033\u300c\u300d"), '"'),
    **dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2212"), "-"),
    **dict.fromkeys(map(ord, "\u2014\u2015"), " - "),
    **dict.fromkeys(map(ord, "\u00b5\u03bc"), "u"),
    **dict.fromkeys(map(ord, "\u200b\u200c\u200d\u200e\u200f\ufeff\u00ad"), None),
}
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
_INCHES = re.compile(r"(?<=\d)'\s?\d{1,2}\"")
_DOUBLE = re.compile('"([^"]*)"')
_SHOWN = 80


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_FUNCTION_WORDS = _set(
    """a about above after again all also although am an and any are as at be became because become been before being
    below between both but by can could did do does doing down during each either else ever few for from further had
    has have having he her here hers herself him himself his how i if in into is it its itself just later like made
    many may me might more most much must my near neither no nor not now of off often on once one only onto or other
    others our out over own per same several shall she should since so some such than that the their theirs them then
    there these they this those though through thus to too under until up upon us very was we well were what when where
    whether which while who whom whose why will with within without would yet you your
    """
)


def plain(text: str) -> str:
    """Return the text with one form each of dash, quote and micro sign, and without invisible marks."""
    return text.replace("`", "'") if text.isascii() else text.translate(_SAME)


def quotations(text: str) -> list[tuple[int, int]]:
    """Return the places of the quoted parts of a plain text, in order, without their marks.

    Single quotes need two words or more, because an apostrophe looks the same.
    """
    # A mark of feet and inches, 6'2", is no quotation mark. Blanks keep the places.
    text = _INCHES.sub(lambda match: " " * len(match.group()), text)
    double = [match.span(1) for match in _DOUBLE.finditer(text)]
    rest = _DOUBLE.sub(lambda match: " " * len(match.group()), text)
    single = [(start, end) for start, end in _singles(rest) if len(text[start:end].split()) > 1]
    return sorted(double + single)


def _singles(text: str) -> list[tuple[int, int]]:
    """Return the places between an opening single quote (after no letter) and a closing one (before no letter)."""
    found, start = [], -1
    for match in re.finditer("'", text):
        i = match.start()
        before, after = text[i - 1 : i], text[i + 1 : i + 2]
        if start < 0 and not before.isalnum() and after.isalnum():
            start = i + 1
        elif start >= 0 and not after.isalnum() and not before.isspace():
            found.append((start, i))
            start = -1
    return found


def words(text: str) -> list[str]:
    """Return the words of a plain text in lower case; digits and punctuation separate them."""
    return _WORD.findall(text.casefold())


@functools.lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """Return a word without possessive, plural and the most common endings, but at least three letters of it."""
    word = word.removesuffix("'s").removesuffix("'")
    if len(word) > 4 and word.endswith(("ies", "ied")):
        return word[:-3] + "y"
    for ending in ("ingly", "edly", "ing", "ed", "es", "ly", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            word = word[: -len(ending)]
            break
    # Forms differ in a doubled consonant or a final e: planned, planning, plan; used, using, use.
    if len(word) > 3 and word[-1] == word[-2]:
        return word[:-1]
    return word.removesuffix("e") if len(word) > 3 else word


def content_stems(text: str) -> dict[str, str]:
    """Return stem -> first occurrence in a plain text, for content words."""
    found: dict[str, str] = {}
    for word in words(text):
        if word not in _FUNCTION_WORDS and len(word) > 1:
            found.setdefault(stem(word), word)
    return found


def shown(text: str) -> str:
    """Return a short excerpt of foreign text for a message, with printable characters only."""
    kept = "".join(char if char.isprintable() else "?" for char in text[: _SHOWN + 1])
    return kept if len(kept) <= _SHOWN else kept[: _SHOWN - 3] + "..."
