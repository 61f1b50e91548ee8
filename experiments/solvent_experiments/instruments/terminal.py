"""Untrusted text in one line, tables and progress, for the commands of all instruments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from solvent_experiments.console import new_console, visible

if TYPE_CHECKING:
    from solvent_experiments.table import Table

__all__ = ["one_line", "printable", "progress", "show_table"]

LONGEST = 120


def printable(said: str, longest: int = LONGEST) -> str:
    """Return up to ``longest`` characters of text, with control and direction characters escaped."""
    shown = visible(said[: longest + 1])
    return shown if len(shown) <= longest else shown[: longest - 1] + "…"


def one_line(said: str, longest: int = LONGEST) -> str:
    return printable(" ".join(said.split()), longest)


@contextmanager
def progress(label: str, *, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """Show on stderr how much is done of how much, unless ``quiet``."""
    from solvent_experiments.console import Progress

    with Progress(new_console(stderr=True), quiet=quiet) as shown:
        yield lambda done, total: shown.update(label, done / max(1, total), f"{done:,} of {total:,} done")


def show_table(table: Table, *, framed: bool = False, least: int = 160) -> None:
    """Print a table; outside a terminal it is at least ``least`` characters wide."""
    spaced: dict[str, Any] = {} if framed else {"show_edge": True, "padding": (0, 1)}
    new_console(least=least).print(table.terminal(framed=framed, **spaced), highlight=False)
