"""The consoles of all commands. Text from outside never reaches a terminal raw.

Everything that is printed passes through ``say`` or a console of ``new_console``. They escape each character that is
not printable: control characters, which can move the cursor or rewrite what was said, and marks of direction, which can
reverse it. Nothing that is printed is read as rich's markup.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["complain", "new_console", "say", "suggest", "visible"]

LONGEST = 1000
KEPT = 700
"""Most characters of a message, and how many of its beginning are kept in a longer one."""


def visible(said: str, kept: str = "") -> str:
    """Return text with each character escaped that is neither printable nor in ``kept``."""
    if said.isprintable():
        return said
    return "".join(
        ch if ch.isprintable() or ch in kept else ch.encode("unicode_escape").decode("ascii") for ch in said
    )


def say(said: str, *, stderr: bool = False) -> None:
    """Print lines of text."""
    print(visible(said, "\n"), file=sys.stderr if stderr else sys.stdout, flush=stderr)


def suggest(step: str) -> None:
    """Print what to do next, the last line of a command's output for people."""
    say(f"Next: {step}")


def complain(said: str) -> None:
    """Print a message on stderr as one line, without its middle if it is long: its end says what is allowed."""
    line = visible(" ".join(said.split()))
    if len(line) > LONGEST:
        line = f"{line[:KEPT]} … {line[KEPT - LONGEST :]}"
    say(f"solvent: {line}", stderr=True)


def new_console(*, stderr: bool = False, least: int = 120) -> Console:
    """Return a console as wide as its terminal; outside a terminal, at least ``least`` columns wide."""
    kind = _console()
    console = kind(stderr=stderr, markup=False)
    return (
        console if console.is_terminal else kind(stderr=stderr, markup=False, width=max(console.width, least))
    )


@functools.cache
def _console() -> type[Console]:
    """Return the class of all consoles; rich is imported when one is needed."""
    from rich.console import Console
    from rich.segment import Segment

    class VisibleConsole(Console):
        def render(self, *args: Any, **kwargs: Any) -> Iterable[Segment]:
            for segment in super().render(*args, **kwargs):
                yield segment if segment.control else segment._replace(text=visible(segment.text, "\n"))

    return VisibleConsole
