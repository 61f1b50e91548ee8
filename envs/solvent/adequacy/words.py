"""How strongly a response speaks: its sentences, and the phrases of the lexicon in each.

A sentence is hedged, plain, definitive or absolute, or asserts nothing (a question, a heading, an offer, code).
Definitive is a strong negative, a universal, a definitive phrase, or doubt that is ruled out; absolute is a negative
about all there is, or one of both without any doubt. A hedge softens its clause, a named ground ("based on the files I
checked") its sentence. Source: *Epistemic Adequacy Design*, "Strong negative indicators"; ``lexicon.toml`` is the data.

Known approximation: phrases in a fixed order with few words between them, in English. Irony and tone go unseen.
"""

from __future__ import annotations

import enum
import functools
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Claim", "Words", "claims", "lexicon", "normal", "pattern", "phrases", "sentences", "word_set"]


class Words(enum.IntEnum):
    """Strength of the words of a claim."""

    HEDGED = 0
    PLAIN = 1
    DEFINITIVE = 2
    ABSOLUTE = 3


@dataclass(frozen=True)
class Claim:
    """A sentence of a response.

    Attributes:
        text: the sentence as it stands there.
        words: strength of its words; None if it asserts nothing.
        spans: the phrases that counted.
        negative: it says, hedged or not, that something is absent.
        reported: it tells of a check that was made ("I searched").
    """

    text: str
    words: Words | None = None
    spans: tuple[str, ...] = ()
    negative: bool = False
    reported: bool = False


# -- phrases -------------------------------------------------------------------------------------

STRONG = ("strong_negative", "universal", "definitive", "certainty")
SOFTENING = ("hedge", "withheld", "supposed", "neutral")
_SHORT = {"am": "m", "are": "re", "have": "ve", "has": "s", "is": "s", "will": "ll", "would": "d"}


@functools.cache
def lexicon() -> dict[str, Any]:
    """Return the content of ``lexicon.toml``."""
    return tomllib.loads(Path(__file__).with_name("lexicon.toml").read_text(encoding="utf-8"))


@functools.cache
def phrases(kind: str) -> re.Pattern[str]:
    """Return one pattern for the phrases of a kind."""
    found = "|".join(map(_pattern, lexicon()["phrases"][kind]))
    return re.compile(rf"(?<![\w'-])(?:{found})(?![\w'-])", re.IGNORECASE)


@functools.cache
def pattern(name: str) -> re.Pattern[str]:
    """Return a pattern of the lexicon."""
    return re.compile(lexicon()["patterns"][name], re.IGNORECASE | re.MULTILINE | re.VERBOSE)


@functools.cache
def word_set(name: str) -> frozenset[str]:
    """Return a list of words of the lexicon."""
    return frozenset(lexicon()["words"][name].split())


def _pattern(phrase: str) -> str:
    gap = rf"\s+(?:(?:{lexicon()['fillers'].replace(' ', '|')})\s+){{0,2}}"
    pattern, first = "", True
    for word in phrase.split():
        optional, choices = word.startswith("("), word.strip("()").split("|")
        inner = "|".join(r"\d[\d.,]*" if one == "#" else re.escape(one) for one in choices)
        if word == "…":
            pattern += r"(?:\s+[^\s,;:|()]+){0,4}?"
        elif first:
            pattern += rf"(?:(?:{inner})\s+)?" if optional else f"(?:{inner})"
            first = optional
        elif word == "not":
            pattern += rf"(?:{gap}not|not|n'?t|'t)"
        else:
            short = "".join(f"|'{_SHORT[one]}" for one in choices if one in _SHORT)
            pattern += f"(?:{gap}(?:{inner}){short})" + ("?" if optional else "")
    return pattern


# -- sentences -----------------------------------------------------------------------------------

_CODE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|^>.*$", re.DOTALL | re.MULTILINE)
_QUOTED = re.compile(r"`[^`\n]*`|\"[^\"\n]*\"|“[^”\n]*”")
_END = re.compile(
    r"(?<=[.!?…])(?<!\b[a-z]\.[a-z]\.)(?<!\n\d\.)[)\]*_\"'”]*\s+|\n\s*\n|\n(?=\s*(?:[-*+•|#]|\d+[.)])\s?)|(?<=:)\n"
)
CLAUSE = re.compile(
    r";|\s[-–—]\s|—|,?\s(?:but|because|so|although|though|while|whereas|however|since|therefore)\s",
    re.IGNORECASE,
)
_VERB = re.compile(
    r"\b(?:is|are|was|were|has|have|had|does|do|did|can|could|will|may|might|must|should|\w+n't|pass(?:es)?|\w+ed|works?|"
    r"fails?|uses?|returns?|means?|contains?|exists?|runs?|needs?|shows?|supports?|handles?|passing|failing)\b"
    r"|[^\W\d_\u0000-\u024f]",  # another script, whose verbs are not known
    re.IGNORECASE,
)


def normal(text: str) -> str:
    """Return text of the same length with straight quotes."""
    return text.translate({0x2018: "'", 0x2019: "'"})


def sentences(text: str) -> Iterator[tuple[str, str]]:
    """Yield each sentence, and the same with code and quotations blanked."""
    blank = _CODE.sub(lambda found: "\n" * len(found[0]), text)
    blank = re.sub(r"(?<=\w )May\b", "xxx", blank)  # the month
    blank = normal(_QUOTED.sub(lambda found: "x" * len(found[0]), blank))
    start = 0
    for found in [*_END.finditer(blank), None]:
        end = found.start() if found else len(blank)
        if blank[start:end].strip(" -*#_|\n\t.>"):
            yield text[start:end], blank[start:end]
        start = found.end() if found else end


def claims(response: str, *, called: bool) -> list[Claim]:
    """Return the sentences of a response; ``called``: a tool was called, so that a reported check was made."""
    return [_claim(text, blank, called=called) for text, blank in sentences(response)]


def _claim(text: str, blank: str, *, called: bool) -> Claim:
    said = blank.strip(" *_\n\t)")
    if said.endswith(("?", "\uff1f")) or said.startswith("#"):
        return Claim(text)
    hits = _hits(blank)
    kinds = {kind for _, _, kind in hits}
    words, negative, left = None, False, 0
    for found in [*CLAUSE.finditer(blank), None]:
        right = found.start() if found else len(blank)
        own = {kind for first, _, kind in hits if left <= first < right}
        level = _level(blank[left:right], own, kinds, called=called)
        if level is not None:
            words = level if words is None else max(words, level)
            negative = negative or "strong_negative" in own
        left = found.end() if found else right
    if words == Words.PLAIN and (said.endswith(":") or (len(said.split()) <= 2 and not _VERB.search(said))):
        words = None
    spans = tuple(text[first:last] for first, last, kind in hits if kind != "neutral")
    return Claim(text, words, spans, negative, "report" in kinds)


def _hits(blank: str) -> list[tuple[int, int, str]]:
    """Return the phrases of a sentence (first, last, kind), less strong ones that something else takes back."""
    kinds = (*SOFTENING, "frame", "evidential", "report", *STRONG)
    hits = [(*found.span(), kind) for kind in kinds for found in phrases(kind).finditer(blank)]
    reach = []
    for first, last, kind in hits:
        # A supposition lasts until its comma, a denial to the end; others take the shorter phrases within them.
        comma = blank.find(",", last) if kind == "supposed" else -1
        far = (kind == "supposed" and comma < 0) or kind == "withheld"
        reach.append((first, len(blank) if far else max(comma, last), kind))
    return sorted(hit for hit in hits if not any(_takes(other, hit) for other in reach))


def _takes(other: tuple[int, int, str], hit: tuple[int, int, str]) -> bool:
    """Return whether a phrase takes back another one within its reach."""
    first, last, kind = other
    within = first <= hit[0] and hit[1] <= last
    if kind in STRONG:
        return within and hit[2] in (*STRONG, "hedge") and last - first > hit[1] - hit[0]
    return within and kind in SOFTENING and (hit[2] in (*STRONG, "report") or kind == "neutral" != hit[2])


def _is_order(clause: str) -> bool:
    """Return whether a clause tells the reader what to do: "run the tests", and not "run 3 failed"."""
    found = phrases("order").match(clause)
    after = clause[found.end() :].split()[:4] if found else []
    return bool(found) and (
        not after or after[0].lower() in word_set("objects") or not _VERB.search(" ".join(after))
    )


def _level(clause: str, own: set[str], kinds: set[str], *, called: bool) -> Words | None:
    """Return the strength of a clause, by its ``own`` kinds and the sentence's; None if it asserts nothing."""
    strong = own & set(STRONG)
    opening = clause.strip(" -*+•|#>\n\t0123456789.)_,")
    if phrases("supposed").match(opening):
        opening = opening.partition(",")[2].strip()
    if not opening or _is_order(opening) or (not strong and phrases("opener").match(opening)):
        return None
    heading = len(clause.split()) <= 8 and not clause.rstrip().endswith((".", "!"))
    if heading and not strong and not _VERB.search(clause):
        return None
    level = Words.DEFINITIVE if strong else Words.PLAIN
    sweeping = own & {"strong_negative", "universal"}
    if len(sweeping) == 2 or (sweeping and "certainty" in kinds):
        level = Words.ABSOLUTE
    if "evidential" in own:
        level = Words.PLAIN
    if own & {"withheld", "hedge"} or "frame" in kinds:
        return Words.HEDGED
    softened = kinds & {"hedge", "withheld"} or (called and "report" in own)
    return Words.HEDGED if level == Words.PLAIN and softened else level
