"""The console of all commands. It needs rich, which takes long to import: ``console`` imports it when one is needed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.segment import Segment

from solvent_experiments.text import visible


class VisibleConsole(Console):
    """A console that escapes what a terminal would hide or obey."""

    def render(self, *args: Any, **kwargs: Any) -> Iterable[Segment]:
        """Return the segments of what is printed, their text made visible."""
        for segment in super().render(*args, **kwargs):
            yield segment if segment.control else segment._replace(text=visible(segment.text, "\n"))
