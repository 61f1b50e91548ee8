"""What commands print: text made safe for a terminal, errors in one line, progress, and the next step."""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from rich.console import Console

LONGEST = 1000
KEPT = 700
"""Most characters of a message, and how many of its beginning are kept in a longer one."""
LINE_AFTER = 10.0
"""Seconds between lines of progress where there is no terminal."""


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


def span(seconds: float) -> str:
    """Return a duration as people say it: ``40 s``, ``3 min 05 s``, ``2 h 10 min``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


class Progress:
    """Progress by label: bars on a terminal; elsewhere a line at once and every ten seconds; nothing if ``quiet``."""

    def __init__(self, console: Console, *, quiet: bool = False) -> None:
        self._console, self._quiet = console, quiet
        self._bars: Any = None
        self._tasks: dict[str, Any] = {}
        self._told: dict[str, float] = {}

    def __enter__(self) -> Self:
        if self._console.is_terminal and not self._quiet:
            from rich.progress import BarColumn, TextColumn
            from rich.progress import Progress as Bars

            columns = (
                TextColumn("{task.fields[label]}", markup=False),
                BarColumn(bar_width=30),
                TextColumn("{task.fields[text]}", markup=False),
            )
            self._bars = Bars(*columns, console=self._console, transient=True)
            self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bars is not None:
            self._bars.stop()

    def say(self, text: str) -> None:
        """Print a permanent line."""
        if not self._quiet:
            self._console.print(text, highlight=False, soft_wrap=True)

    def update(self, label: str, share: float, text: str, *, line: bool = True) -> None:
        """Show that ``share`` (0 to 1) of a label's work is done; with ``line`` also where there is no terminal."""
        if self._bars is not None:
            if label not in self._tasks:
                self._tasks[label] = self._bars.add_task("", total=1.0, label=label, text=text)
            self._bars.update(self._tasks[label], completed=share, text=text)
        elif line and time.monotonic() - self._told.get(label, float("-inf")) >= LINE_AFTER:
            self._told[label] = time.monotonic()
            self.say(f"{label}: {text}")

    def end(self, label: str, text: str) -> None:
        """Remove a label and print how it ended."""
        if self._bars is not None and label in self._tasks:
            self._bars.remove_task(self._tasks.pop(label))
        self.say(f"{label}: {text}")
