"""Where the consoles of all commands are made."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["new_console"]


def new_console(*, stderr: bool = False, least: int = 120) -> Console:
    """Return a console: as wide as its terminal, and elsewhere, where a line may have any width, at least so wide."""
    from rich.console import Console

    console = Console(stderr=stderr)
    return console if console.is_terminal else Console(stderr=stderr, width=max(console.width, least))
