"""One table, three renderings."""

from __future__ import annotations

import io

from rich.console import Console

from solvent_experiments.measure.table import Table

TABLE = Table(
    headings=("agent", "refusals", "what it said"),
    rows=(("honest", "0.25", "a | b"), ("[red]<x>", "12.00", "nothing & \"more\"")),
    title="Results",
    caption="means [a, b]",
    left=("what it said",),
    wrapped=("what it said",),
    lines={"refusals": "refu-\nsals"},
)  # fmt: skip


def shown(table: Table, width: int) -> list[str]:
    screen = io.StringIO()
    Console(file=screen, width=width).print(table.terminal())
    return [line.rstrip() for line in screen.getvalue().splitlines()]


def test_a_terminal_breaks_headings_and_takes_no_text_for_markup() -> None:
    title, *head, line, first, second, caption = shown(TABLE, 60)
    assert title.strip() == "Results"
    assert head == ["          refu-", "agent      sals  what it said"]
    assert set(line) == {"─"}
    assert [first, second] == ["honest     0.25  a | b", '[red]<x>  12.00  nothing & "more"']
    assert caption == "means [a, b]"


def test_sentences_wrap_where_the_terminal_is_narrow() -> None:
    *_, first, second, _ = shown(TABLE, 27)
    assert first.split() == ["[red]<x>", "12.00", "nothing", "&"]
    assert second.split() == ['"more"']


def test_markdown_has_whole_headings_and_escapes_its_bars() -> None:
    assert TABLE.markdown().splitlines() == [
        "| agent | refusals | what it said |",
        "| --- | --- | --- |",
        "| honest | 0.25 | a \\| b |",
        '| [red]<x> | 12.00 | nothing & "more" |',
    ]


def test_html_names_rows_and_escapes_every_text() -> None:
    html = TABLE.html()
    assert '<th scope="col">refusals</th>' in html
    assert (
        '<tr><th scope="row">[red]&lt;x&gt;</th><td>12.00</td><td>nothing &amp; &#34;more&#34;</td></tr>'
        in html
    )


def test_a_table_without_rows_has_its_head() -> None:
    empty = Table(("agent", "refusals"), ())
    assert shown(empty, 60)[0].split() == ["agent", "refusals"]
    assert empty.markdown().splitlines() == ["| agent | refusals |", "| --- | --- |"]
    assert empty.html().endswith("<tbody>\n</tbody>\n")
