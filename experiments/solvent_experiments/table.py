"""A table of texts with three renderings: terminal, Markdown and HTML."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING, Any

from solvent_experiments.console import new_console
from solvent_experiments.statistics import Interval
from solvent_experiments.text import visible

if TYPE_CHECKING:
    import rich.table


@dataclass(frozen=True)
class Table:
    """Headings and rows of texts. The first column names its row.

    Args:
        headings: with the line breaks that a terminal shows: ``refu-\\nsals``.
        rows: plain text, not markup.
        title: shown above the table in a terminal.
        caption: shown below the table in a terminal and in HTML.
        left: headings of further left-aligned text columns; the others are right-aligned numbers.
        wrapped: headings of columns whose cells a terminal may wrap.
    """

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    title: str = ""
    caption: str = ""
    left: Collection[str] = ()
    wrapped: Collection[str] = ()

    def terminal(self, *, framed: bool = False, title_style: str = "bold", **layout: Any) -> rich.table.Table:
        """Return the table for a terminal, compact or framed; ``layout`` goes to ``rich.table.Table``."""
        from rich import box
        from rich.table import Table as Drawn
        from rich.text import Text

        compact = {"box": box.SIMPLE_HEAD, "show_edge": False, "pad_edge": False, "padding": (0, 1, 0, 0)}
        drawn = Drawn(
            title=Text(self.title, title_style) if self.title else None,
            caption=Text(self.caption, "table.caption") if self.caption else None,
            **{"caption_justify": "left", **({} if framed else compact), **layout},
        )
        for column, heading in enumerate(self.headings):
            # In a narrow terminal a row's name breaks before a number is cut.
            wraps = not column or heading in self.wrapped
            drawn.add_column(
                Text(heading),
                justify="left" if not column or heading in self.left else "right",
                no_wrap=not wraps,
                overflow="fold" if wraps else "ellipsis",
            )
        for row in self.rows:
            # Before the console escapes again: a column is as wide as what is shown, and a newline is not a new row.
            drawn.add_row(*(Text(visible(cell)) for cell in row))
        return drawn

    @property
    def _unbroken(self) -> list[str]:
        return [heading.replace("-\n", "").replace("\n", " ") for heading in self.headings]

    def markdown(self) -> str:
        """Return the table in Markdown, without its title and caption."""
        lines = [self._unbroken, ("---",) * len(self.headings), *self.rows]
        return "\n".join(
            "| " + " | ".join(visible(cell).replace("|", "\\|") for cell in line) + " |" for line in lines
        )

    def html(self) -> str:
        """Return the head and the body of an HTML table; all texts are escaped."""
        from markupsafe import escape

        heads, *rows = [[escape(visible(cell)) for cell in line] for line in (self._unbroken, *self.rows)]
        head = "".join(f'<th scope="col">{heading}</th>' for heading in heads)
        body = "".join(
            f'<tr><th scope="row">{first}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>\n'
            for first, *cells in rows
        )
        return f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n"


def interval_cells(number: Interval, form: str = ".2f") -> tuple[str, str]:
    """Return a number and its interval as texts: dashes for nothing, "one seed" for a learner's without interval."""
    if isnan(number.value):
        return "-", "-"
    value, low, high = (format(part, form) for part in number)
    return value, f"{low} to {high}" if number.known else "one seed"


def show_table(table: Table, *, framed: bool = False, least: int = 160) -> None:
    """Print a table; outside a terminal it is at least ``least`` characters wide."""
    spaced: dict[str, Any] = {} if framed else {"show_edge": True, "padding": (0, 1)}
    new_console(least=least).print(table.terminal(framed=framed, **spaced), highlight=False)
