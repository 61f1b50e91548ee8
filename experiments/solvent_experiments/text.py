"""Text made safe for a terminal and a page."""

from __future__ import annotations


def visible(text: str, kept: str = "") -> str:
    """Return text with each character escaped that is neither printable nor in ``kept``."""
    if text.isprintable():
        return text
    return "".join(
        ch if ch.isprintable() or ch in kept else ch.encode("unicode_escape").decode("ascii") for ch in text
    )
