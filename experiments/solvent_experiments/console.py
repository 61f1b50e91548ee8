"""What commands print: text made safe for a terminal, errors in one line, progress, and the next step."""

from __future__ import annotations

import datetime
import re
import sys
import time
from typing import TYPE_CHECKING, Any, Self

from solvent_experiments.text import visible

if TYPE_CHECKING:
    from rich.console import Console

LONGEST = 1000
KEPT = 700
"""Most characters of a message, and how many of its beginning are kept in a longer one."""
LINE_AFTER = 10.0
"""Seconds between lines of progress where there is no terminal."""


def one_line(text: str, longest: int = 120) -> str:
    """Return up to ``longest`` characters of text, without line breaks, other characters escaped as in ``visible``."""
    line = visible(" ".join(text[: 10 * longest].split()))
    return line if len(line) <= longest else line[: longest - 1] + "…"


def say(text: str, *, stderr: bool = False) -> None:
    """Print lines of text."""
    print(visible(text, "\n"), file=sys.stderr if stderr else sys.stdout, flush=stderr)


def suggest(step: str, option: str = "") -> None:
    """Print what to do next, the last line of a command's output for people.

    option: what each of its `solvent` commands needs too, such as ``--store PATH``.
    """
    if option:
        step = re.sub("`solvent [^`]+", lambda command: f"{command[0]} {option}", step)
    say(f"Next: {step}")


def complain(message: str) -> None:
    """Print a message on stderr as one line, without its middle if it is long: its end says what is allowed."""
    line = visible(" ".join(message.split()))
    if len(line) > LONGEST:
        line = f"{line[:KEPT]} … {line[KEPT - LONGEST :]}"
    say(f"solvent: {line}", stderr=True)


def new_console(*, stderr: bool = False, least: int = 120) -> Console:
    """Return a console as wide as its terminal; outside a terminal, at least ``least`` columns wide."""
    from solvent_experiments.visible_console import VisibleConsole

    console = VisibleConsole(stderr=stderr, markup=False)
    if console.is_terminal:
        return console
    return VisibleConsole(stderr=stderr, markup=False, width=max(console.width, least))


def span(seconds: float) -> str:
    """Return a duration as hours, minutes and seconds: ``0:03:05``."""
    return str(datetime.timedelta(seconds=round(seconds)))


class Progress:
    """Progress by label: bars on a terminal; elsewhere a line at once and every ten seconds; nothing if ``quiet``."""

    def __init__(self, console: Console, *, quiet: bool = False) -> None:
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Bars

        self._console, self._quiet, self._bars = console, quiet, console.is_terminal and not quiet
        columns = (
            TextColumn("{task.fields[label]}", markup=False),
            BarColumn(bar_width=30),
            TextColumn("{task.fields[text]}", markup=False),
        )
        self._display = Bars(*columns, console=console, transient=True, disable=not self._bars)
        self._tasks: dict[str, Any] = {}
        self._line_times: dict[str, float] = {}

    def __enter__(self) -> Self:
        self._display.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._display.stop()

    def say(self, text: str) -> None:
        """Print a permanent line."""
        if not self._quiet:
            self._console.print(text, highlight=False, soft_wrap=True)

    def update(self, label: str, share: float, text: str, *, line: bool = True) -> None:
        """Show that ``share`` (0 to 1) of a label's work is done; with ``line`` also where there is no terminal."""
        if self._bars:
            if label not in self._tasks:
                self._tasks[label] = self._display.add_task("", total=1.0, label=label, text=text)
            self._display.update(self._tasks[label], completed=share, text=text)
        elif line and time.monotonic() - self._line_times.get(label, float("-inf")) >= LINE_AFTER:
            self._line_times[label] = time.monotonic()
            self.say(f"{label}: {text}")

    def end(self, label: str, text: str) -> None:
        """Remove a label and print how it ended."""
        if label in self._tasks:
            self._display.remove_task(self._tasks.pop(label))
        self.say(f"{label}: {text}")
