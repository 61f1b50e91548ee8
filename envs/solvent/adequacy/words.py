"""How strongly a response speaks: its sentences, and the phrases of ``words.toml`` in them.

A sentence is hedged, plain, definitive or absolute, or asserts nothing (a question, a heading, an offer, code).
Definitive is a strong negative, a universal, or a phrase that rules out doubt; absolute is two of these kinds at once.
A hedge softens its sentence. Source: *Epistemic Adequacy Design*, "Strong negative indicators".

Known approximation: phrases in a fixed order, in English. Irony, tone and other languages go unseen.
"""

from __future__ import annotations

import enum
import functools
import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Claim", "Words", "claims", "phrases", "sentences", "vocabulary"]


class Words(enum.IntEnum):
    """Strength of the words of a claim."""

    HEDGED = 0
    PLAIN = 1
    DEFINITIVE = 2
    ABSOLUTE = 3


STRONG = ("strong_negative", "universal", "definitive")


@dataclass(frozen=True)
class Claim:
    """A sentence of a response.

    Attributes:
        text: the sentence as it stands there.
        prose: the same with code and quotations blanked.
        words: strength of its words; None if it asserts nothing.
        spans: the phrases that count.
        negative: it says, hedged or not, that something is absent.
    """

    text: str
    prose: str = ""
    words: Words | None = None
    spans: tuple[str, ...] = ()
    negative: bool = False


@functools.cache
def vocabulary() -> dict[str, Any]:
    """Return the content of ``words.toml``."""
    return tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))


@functools.cache
def phrases(kind: str) -> re.Pattern[str]:
    """Return one pattern for the phrases of a kind."""
    filler = rf"\s+(?:(?:{vocabulary()['fillers']})\s+)?"
    fragments = []
    for phrase in vocabulary()["phrases"][kind]:
        fragment = re.sub(r" not\b", "(?: not|n't|not|'t)", phrase)
        fragment = re.sub(r"\((?!\?)", "(?:", fragment)
        fragments.append(fragment.replace(" ", filler))
    return re.compile(rf"(?<![\w'-])(?:{'|'.join(fragments)})(?![\w'-])", re.IGNORECASE)


# -- sentences -----------------------------------------------------------------------------------

_CODE = re.compile(
    r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|^>.*$|(?<=\n\n)(?: {4}[^\n]*\n?)+", re.DOTALL | re.MULTILINE
)
_QUOTED = re.compile(r"`[^`\n]*`|\"[^\"\n]*\"|“[^”\n]*”")
_END = re.compile(
    r"(?<=[.!?…])(?<!\b[a-z]\.[a-z]\.)(?<!\n\d\.)[)\]*_\"'”]*\s+|\n\s*\n|\n(?=\s*(?:[-*+•|#]|\d+[.)])\s?)|(?<=:)\n"
    r"|;\s|\s[-–—]\s|,\s(?=(?:but|though|although|while|and\s(?:the|i|we|it|there|no))\s)"
)
_VERB = re.compile(
    r"\b(?:is|are|was|were|has|have|had|do(?:es)?|did|can|could|will|may|might|must|should|\w+n't|\w+ed|\w\w+s|passing|failing)\b",
    re.IGNORECASE,
)


def sentences(response: str) -> Iterator[tuple[str, str]]:
    """Yield each sentence or clause of a response, and the same text with code and quotations blanked."""
    response = _from_json(response)
    blank = _CODE.sub(lambda match: "\n" * len(match[0]), response)
    blank = _QUOTED.sub(lambda match: "x" * len(match[0]), blank).translate({0x2018: "'", 0x2019: "'"})
    blank = re.sub(r"(?<=\w )May\b", "xxx", blank)  # the month
    start = 0
    for end in [*_END.finditer(blank), None]:
        stop = end.start() if end else len(blank)
        if blank[start:stop].strip(" -*#_|\n\t.>"):
            yield response[start:stop].strip(), blank[start:stop].strip()
        start = end.end() if end else stop


def _from_json(response: str) -> str:
    """Return an answer in JSON as lines ``key: value``, any other as it is."""
    text = re.sub(r"\A```(?:json)?\s*|\s*```\Z", "", response.strip())
    if not text.startswith("{"):
        return response
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        return response
    lines = (
        f"{value}." if len(str(value).split()) > 2 else f"{key}: {value}." for key, value in answer.items()
    )
    return "\n\n".join(lines)


def claims(response: str) -> list[Claim]:
    """Return the sentences of a response with the strength of their words; the list under an offer is of the offer."""
    result: list[Claim] = []
    offered = False
    for text, prose in sentences(response):
        opening = prose.rstrip(" *_\n\t)").lstrip(" *_\n\t)-+•|>.0123456789,")
        in_list = offered and bool(re.match(r"[-*+•]|\d+[.)]", text))
        offered = in_list or (text.endswith(":") and bool(phrases("talk").match(opening)))
        asserts = bool(opening) and not in_list and not text.startswith("#")
        result.append(_claim(text, prose, opening) if asserts else Claim(text, prose))
    return result


def _claim(text: str, prose: str, opening: str) -> Claim:
    visible = phrases("neutral").sub(lambda match: "x" * len(match[0]), prose)
    offers = phrases("talk").match(opening) and not phrases("strong_negative").search(visible)
    if opening.endswith(("?", "\uff1f", ":")) or offers or phrases("supposed").match(opening):
        return Claim(text, prose)
    kinds = {kind for kind in (*STRONG, "hedge", "named_source") if phrases(kind).search(visible)}
    is_label = len(opening.split()) <= 3 and not re.search(r"\d|xx", prose) and not _VERB.search(opening)
    if is_label and not kinds & set(STRONG):
        return Claim(text, prose)
    spans = [
        text[match.start() : match.end()] for kind in STRONG for match in phrases(kind).finditer(visible)
    ]
    return Claim(text, prose, _strength(kinds), tuple(spans), "strong_negative" in kinds)


def _strength(kinds: set[str]) -> Words:
    """Return the strength of a sentence with phrases of these kinds."""
    if "hedge" in kinds:
        return Words.HEDGED
    strong = kinds & set(STRONG)
    if "named_source" in kinds and "definitive" not in strong:
        return Words.PLAIN
    if len(strong) > 1:
        return Words.ABSOLUTE
    return Words.DEFINITIVE if strong else Words.PLAIN
