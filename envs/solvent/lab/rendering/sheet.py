"""A page of text in a frame: lines of equal width, bars of block characters, colours as escape sequences."""

from __future__ import annotations

import re
from typing import NamedTuple

WIDTH = 96
NARROWEST = 76
BLOCKS = "▁▂▃▄▅▆▇█"
EIGHTHS = " ▏▎▍▌▋▊▉"
CODES = {"bold": "1", "dim": "2", "debt": "35", "belief": "34", "good": "32", "bad": "31", "warn": "33"}
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def paint(text: str, style: str) -> str:
    """Return ``text`` in a colour or weight; blank text is unchanged."""
    return f"\x1b[{CODES[style]}m{text}\x1b[0m" if text.strip() else text


def length(text: str) -> int:
    """Return the number of visible characters."""
    return len(ESCAPE.sub("", text))


def fit(text: str, width: int) -> str:
    """Return ``text`` padded or cut to ``width``; cutting removes its colours."""
    if length(text) > width:
        text = ESCAPE.sub("", text)[: width - 1] + "…"
    return text + " " * (width - length(text))


def bar(share: float, width: int) -> str:
    """Return a bar of at most ``width`` characters, rounded to an eighth of a character."""
    eighths = round(min(1.0, max(0.0, share)) * width * 8)
    full, rest = divmod(eighths, 8)
    return "█" * full + (EIGHTHS[rest] if rest else "")


class Sheet(NamedTuple):
    """Dimensions of a page in a terminal."""

    width: int = WIDTH  # characters per line, at least NARROWEST
    height: int | None = None  # maximum number of lines; None shows all panels
    label: int = 8  # width of an entry's label
    playing: bool = False  # the player's own lines tell the costs and the last action

    @property
    def inside(self) -> int:
        """Width of a line inside the frame."""
        return self.width - 4

    @property
    def bar(self) -> int:
        """Width of an entry's bar."""
        return min(38, self.inside - 54) - self.label

    def line(self, left: str = "", right: str = "") -> str:
        """Return one framed line."""
        space = self.inside - length(right)
        return f"{paint('│', 'dim')} {fit(left, space)}{right} {paint('│', 'dim')}"

    def entry(self, label: str, text: str, right: str = "") -> str:
        """Return a framed line with a label."""
        return self.line(fit(label, self.label) + text, right)

    def rows(self, label: str, texts: list[str], style: str) -> list[str]:
        """Return an entry of several rows; only the first has the label."""
        return [self.entry("" if i else label, paint(text, style)) for i, text in enumerate(texts)]

    def rule(self, start: str, end: str, left: str = "", right: str = "") -> str:
        """Return a horizontal line of the frame, with text near both ends."""
        left = f" {left} " if left else ""
        right = f" {right} " if right else ""
        dashes = "─" * (self.inside - len(left) - len(right))
        begin, middle, last = paint(f"{start}─", "dim"), paint(dashes, "dim"), paint(f"─{end}", "dim")
        return begin + paint(left, "bold") + middle + right + last

    def wrapped(self, text: str, rows: int) -> list[str]:
        """Return exactly ``rows`` lines, so that the layout is stable; the last may be too long."""
        lines: list[str] = []
        while len(lines) < rows - 1 and len(text) > self.inside:
            cut = text.rfind(" ", 0, self.inside)
            lines.append(text[:cut])
            text = text[cut + 1 :]
        return [*lines, text, *[""] * (rows - 1 - len(lines))]
