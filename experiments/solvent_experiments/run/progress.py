"""Progress of a run: bars with the time left on a terminal, plain lines elsewhere, or nothing."""

from __future__ import annotations

import time
from typing import Self

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

__all__ = ["Bars", "Lines", "Shown", "shown_on"]

LINE_EVERY = 0.1  # of the whole
LINE_AFTER = 10.0  # seconds


class Shown:
    """A display of progress by label that shows nothing; a label's total may grow from one stage to the next."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Restore the screen."""

    def say(self, text: str) -> None:
        """Print a permanent line."""

    def begin(self, label: str) -> None:
        """Add a label; its extent is unknown until its first update."""

    def update(self, label: str, stage: str, done: int, total: int, unit: str) -> None:
        """Show that ``done`` of ``total`` units of a stage are done."""

    def end(self, label: str, text: str) -> None:
        """Remove a label and print how it ended."""


class Lines(Shown):
    """Prints a line every tenth of a stage or every ten seconds, whichever is later: for logs."""

    def __init__(self, console: Console) -> None:
        self._console = console
        # By label: the stage with the time and count at which it got going, then time and count at the last line.
        self._stages: dict[str, tuple[str, float, int]] = {}
        self._going: set[str] = set()
        self._last: dict[str, tuple[float, int]] = {}

    def say(self, text: str) -> None:
        self._console.print(text, highlight=False, soft_wrap=True)

    def update(self, label: str, stage: str, done: int, total: int, unit: str) -> None:
        now = time.monotonic()
        if self._stages.get(label, ("",))[0] != stage:
            self._stages[label] = (stage, now, done)
            self._going.discard(label)
            start = f" from {done:,}" if done else ""
            self.say(f"{label}: {stage}{start}, {total:,} {unit}")
            return
        _, begun, start_done = self._stages[label]
        if label not in self._going:  # setup and compiling, before the first units, are no pace
            if done > start_done:
                self._going.add(label)
            self._stages[label] = (stage, now, done)
            self._last[label] = (now, done)
            return
        at, before = self._last[label]
        if now - at < LINE_AFTER or done - before < LINE_EVERY * total:
            return
        self._last[label] = (now, done)
        left = (total - done) * (now - begun) / max(1, done - start_done)
        self.say(f"{label}: {stage}, {done:,} of {total:,} {unit}, {_span(left)} left")

    def end(self, label: str, text: str) -> None:
        self._stages.pop(label, None)
        self.say(f"{label}: {text}")


class Bars(Shown):
    """Shows a bar for each label, with the time left."""

    def __init__(self, console: Console) -> None:
        self._progress = Progress(
            SpinnerColumn(finished_text="[green]✓"),
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            TextColumn("{task.fields[count]}", justify="right"),
            TextColumn("[dim]left"),
            TimeRemainingColumn(compact=True, elapsed_when_finished=False),
            TextColumn("[dim]after"),
            TimeElapsedColumn(),
            console=console,
        )
        self._tasks: dict[str, tuple[TaskID, str]] = {}

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def say(self, text: str) -> None:
        self._progress.console.print(text, highlight=False)

    def begin(self, label: str) -> None:
        task = self._progress.add_task(f"{escape(label)} [dim]starting", total=None, count="")
        self._tasks[label] = (task, "starting")

    def update(self, label: str, stage: str, done: int, total: int, unit: str) -> None:
        count = f"{_short(done)} of {_short(total)} {unit}"
        described = f"{escape(label)} [dim]{escape(stage)}"
        task, shown = self._tasks.get(label, (None, ""))
        if task is None:
            task = self._progress.add_task(described, total=total, completed=done, count=count)
        elif shown != stage:
            self._progress.reset(task, total=total, completed=done, description=described, count=count)
        else:
            self._progress.update(task, completed=done, total=total, count=count)
        self._tasks[label] = (task, stage)

    def end(self, label: str, text: str) -> None:
        task, _ = self._tasks.pop(label, (None, ""))
        if task is not None:
            self._progress.remove_task(task)
        self.say(f"{label}: {text}")


def shown_on(console: Console, *, quiet: bool = False) -> Shown:
    """Return the display that suits the console."""
    if quiet:
        return Shown()
    if console.is_terminal:
        return Bars(console)
    return Lines(console)


def _short(number: int) -> str:
    for limit, suffix in ((10**6, "M"), (10**4, "k")):
        if number >= limit:
            return f"{number / (10**6 if suffix == 'M' else 10**3):.3g}{suffix}"
    return str(number)


def _span(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    return (
        f"{whole // 60} min {whole % 60:02d} s"
        if whole < 3600
        else f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    )
