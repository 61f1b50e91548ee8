"""Mask the code and the quotations of a text, which are not in the writer's own voice.

Masks keep the text's length, so offsets stay valid. Fenced and indented blocks and block quotes become line breaks;
inline code and quotations become runs of one sign each, which stand for a noun. The time is linear in the length.

Known approximation: common Markdown. A quotation must end in its paragraph.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["CODE", "QUOTE", "lowered", "masked"]

CODE = "\ue000"
"""The sign that masks inline code."""
QUOTE = "\ue001"
"""The sign that masks quotations."""

_SAME = {
    **dict.fromkeys(map(ord, "\u2018\u2019\u02bc\uff07"), "'"),
    **dict.fromkeys(map(ord, "\u2010\u2011\u2012"), "-"),
    **dict.fromkeys(map(ord, "\u2013\u2014\u2015"), "\u2014"),
}
_FENCE = re.compile(r"^[^\S\n]{0,8}(`{3,}+|~{3,}+)", re.MULTILINE)
_TICKS = re.compile(r"`++")
_QUOTED_LINE = re.compile(r"^[^\S\n]{0,3}>[^\n]*+", re.MULTILINE)
_LINE = re.compile(r"[^\n]*+\n?")
_ITEM = re.compile(r"\s*+(?:[-*+\u2022]|\d{1,3}[.)])\s")
_PAIRS = {"\u201c": "\u201d", "\u201e": "\u201c\u201d", "\u00ab": "\u00bb", "\u300c": "\u300d"}
_CURLY = re.compile("[\u201c\u201d\u201e\u00ab\u00bb\u300c\u300d]|\n[^\\S\n]*+\n")
_STRAIGHT = re.compile('"|\n[^\\S\n]*+\n')
_OPENINGS = (" '", "\n'", "('", "['", ":'", "='", ",'", "\"'", "*'", ">'")
_SINGLE = re.compile("['\u2018\u2019]|\n[^\\S\n]*+\n")


def lowered(text: str) -> str:
    """Return the masked text in lower case, with one form of apostrophe and dash, at the same length."""
    # Checked before masking, because the masks are not ASCII.
    has_forms = not text.isascii()
    text = masked(text)
    if has_forms:
        text = text.translate(_SAME)
    low = text.lower()
    if len(low) != len(text):
        # A few letters become two in lower case; they are kept.
        low = "".join(small if len(small := char.lower()) == 1 else char for char in text)
    return low


def masked(text: str) -> str:
    """Return the text with code and quotations masked, at the same length."""
    is_ascii = text.isascii()
    if "```" in text or "~~~" in text:
        text = _overwritten(text, _fences(text), "\n")
    if "\n    " in text or "\n\t" in text:
        text = _overwritten(text, _indented(text), "\n")
    if "`" in text:
        text = _overwritten(text, _inline(text), CODE)
    if ">" in text:
        text = _overwritten(text, (m.span() for m in _QUOTED_LINE.finditer(text)), "\n")
    if '"' in text:
        text = _overwritten(text, _paired(text, _STRAIGHT, '"', '"'), QUOTE)
    if not is_ascii and not _PAIRS.keys().isdisjoint(text):
        text = _overwritten(text, _curly(text), QUOTE)
    if (not is_ascii and "\u2018" in text) or ("'" in text and _may_quote(text)):
        text = _overwritten(text, _paired(text, _SINGLE, "'\u2018", "'\u2019"), QUOTE)
    return text


def _may_quote(text: str) -> bool:
    """Return whether a single quote stands where it can open a quotation, not within a word."""
    if text[0] == "'":
        return True
    for opening in _OPENINGS:
        if opening in text:
            return True
    return False


def _overwritten(text: str, spans: Iterator[tuple[int, int]], sign: str) -> str:
    parts: list[str] = []
    done = 0
    for start, end in spans:
        parts += (text[done:start], sign * (end - start))
        done = end
    return "".join([*parts, text[done:]]) if parts else text


def _fences(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans from a line of three or more ticks to the next such line, or to the end of the text."""
    opened, sign = -1, ""
    for match in _FENCE.finditer(text):
        if opened < 0:
            opened, sign = match.start(), match[1]
        elif match[1].startswith(sign):
            end = text.find("\n", match.end())
            yield opened, len(text) if end < 0 else end
            opened = -1
    if opened >= 0:
        yield opened, len(text)


def _indented(text: str) -> Iterator[tuple[int, int]]:
    """Yield the lines that are indented by four after a blank line, outside of lists."""
    position, blank, inside, listed = 0, True, False, False
    for line in _LINE.findall(text):
        bare = line.strip()
        deep = line.startswith(("    ", "\t"))
        if bare:
            inside = deep and not listed and (inside or blank)
            if inside:
                yield position, position + len(line)
            elif not deep:
                listed = _ITEM.match(line) is not None
        blank = not bare
        position += len(line)


def _inline(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans from a run of ticks to the next run of the same length in the paragraph."""
    runs = [match.span() for match in _TICKS.finditer(text)]
    closing: dict[int, int] = {}
    partner = [-1] * len(runs)
    for i in range(len(runs) - 1, -1, -1):
        size = runs[i][1] - runs[i][0]
        partner[i] = closing.get(size, -1)
        closing[size] = i
    i = 0
    while i < len(runs):
        j = partner[i]
        if j > 0 and "\n\n" not in text[runs[i][1] : runs[j][0]]:
            yield runs[i][0], runs[j][1]
            i = j + 1
        else:
            i += 1


def _paired(text: str, marks: re.Pattern[str], openers: str, closers: str) -> Iterator[tuple[int, int]]:
    """Yield the spans from an opening mark (before a sign, not after a letter) to the closing one in the paragraph."""
    opened = -1
    for match in marks.finditer(text):
        at = match.start()
        if match.end() - at > 1:
            opened = -1
            continue
        before, after = text[at - 1 : at], text[at + 1 : at + 2]
        if opened < 0:
            if text[at] in openers and not before.isalnum() and after and not after.isspace():
                opened = at
        elif text[at] in closers and not after.isalnum() and not before.isspace() and at > opened + 1:
            yield opened, at + 1
            opened = -1


def _curly(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans from an opening mark to its closing mark in the paragraph."""
    opened, wanted = -1, ""
    for match in _CURLY.finditer(text):
        sign = match[0]
        if len(sign) > 1:
            opened = -1
        elif opened >= 0 and sign in wanted:
            yield opened, match.end()
            opened = -1
        elif opened < 0 and sign in _PAIRS:
            opened, wanted = match.start(), _PAIRS[sign]
