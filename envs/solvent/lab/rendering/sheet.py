"""A page of text in a frame: lines of one width, bars of block characters, colour as escape sequences."""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["BLOCKS", "ESCAPE", "Sheet", "bar", "fit", "length", "paint"]

BLOCKS = "▁▂▃▄▅▆▇█"
EIGHTHS = " ▏▎▍▌▋▊▉"
CODES = {"bold": "1", "dim": "2", "debt": "35", "belief": "34", "good": "32", "bad": "31", "warn": "33"}
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def paint(text: str, style: str) -> str:
    """``text`` in a colour or weight; nothing is wasted on blanks."""
    return f"\x1b[{CODES[style]}m{text}\x1b[0m" if text.strip() else text


def length(text: str) -> int:
    """How many characters one sees."""
    return len(ESCAPE.sub("", text))


def fit(text: str, width: int) -> str:
    """``text`` padded or cut to ``width``; cut only where it is plain."""
    if length(text) > width:
        text = ESCAPE.sub("", text)[: width - 1] + "…"
    return text + " " * (width - length(text))


def bar(share: float, width: int) -> str:
    """A bar of at most ``width`` characters, to an eighth of a character."""
    eighths = round(min(1.0, max(0.0, share)) * width * 8)
    full, rest = divmod(eighths, 8)
    return "█" * full + (EIGHTHS[rest] if rest else "")


class Sheet(NamedTuple):
    """A page ``width`` characters wide."""

    width: int

    @property
    def inside(self) -> int:
        """Characters of a line between the frame's sides."""
        return self.width - 4

    def line(self, left: str = "", right: str = "") -> str:
        """One line in its frame."""
        space = self.inside - length(right)
        return f"{paint('│', 'dim')} {fit(left, space)}{right} {paint('│', 'dim')}"

    def rule(self, start: str, end: str, left: str = "", right: str = "") -> str:
        """A line of the frame, with a word at its beginning and its end."""
        left = f" {left} " if left else ""
        right = f" {right} " if right else ""
        dashes = "─" * (self.inside - len(left) - len(right))
        return (
            paint(f"{start}─", "dim")
            + paint(left, "bold")
            + paint(dashes, "dim")
            + right
            + paint(f"─{end}", "dim")
        )

    def wrapped(self, text: str, rows: int = 2) -> list[str]:
        """Always so many rows, so the picture does not jump; what does not fit is cut."""
        lines: list[str] = []
        while len(lines) < rows - 1 and len(text) > self.inside:
            cut = text.rfind(" ", 0, self.inside)
            lines.append(text[:cut])
            text = text[cut + 1 :]
        return [*lines, text, *[""] * (rows - 1 - len(lines))]
