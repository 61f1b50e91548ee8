"""The result tables of a run: returns, energy, findings and words of each agent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from solvent_experiments.measure.columns import COLUMNS, SCORES, headed_columns
from solvent_experiments.measure.statistics import Interval
from solvent_experiments.measure.summary import Row
from solvent_experiments.measure.table import Table

if TYPE_CHECKING:
    import rich.table

__all__ = ["drawn_results", "result_tables"]

WITH_INTERVAL = "95 % interval"
OPTIMUM = "Optimum: the mean return as a share of the expected return of the best policy. "


def result_tables(rows: Sequence[Row], *, title: str = "", mark: str = "") -> list[Table]:
    """Return the result tables in order of display; ``mark`` names departures from the level."""
    have = rows[0].measured
    further = [
        table
        for key, table in (("energy_spent", _energy), ("verdicts_accept", _gate), (SCORES[0], _words))
        if key in have
    ]
    first = _results(rows, f"{title}\n{mark}" if mark else title)
    return [first, *(table(rows) for table in further)]


def drawn_results(rows: Sequence[Row], *, title: str, mark: str = "") -> list[rich.table.Table]:
    """Return the same tables for a terminal; a marked run has a red title."""
    first, *further = result_tables(rows, title=title, mark=mark)
    style = "bold red" if mark else "bold"
    return [first.terminal(title_style=style), *(table.terminal() for table in further)]


def _table(broken: Sequence[str], rows: Sequence[Sequence[str]], caption: str, title: str = "") -> Table:
    """Return a table from headings with a terminal's line breaks."""
    whole = tuple(heading.replace("-\n", "").replace("\n", " ") for heading in broken)
    lines = dict(zip(whole, broken, strict=True))
    return Table(whole, tuple(map(tuple, rows)), title=title, caption=caption, lines=lines)


def _results(rows: Sequence[Row], title: str) -> Table:
    solved = "optimum_share" in rows[0].measured
    headings = [COLUMNS[name].heading for name in ("return", "refusals", "debt", "accepted", "wrong")]
    first, *others = headings
    return _table(
        ("agent", first, WITH_INTERVAL, *(["opti-\nmum"] if solved else []), *others, "seeds x\nepisodes"),
        [
            (
                row.agent,
                *_with_interval(row.score, 1.0, 2),
                # Learners differ by tenths of a percent of the optimum.
                *([f"{row.mean('optimum_share'):.1%}"] if solved else []),
                *(f"{row.mean(key):.2f}" for key in ("refusals", "debt", "accepted", "wrong")),
                f"{row.seeds} x {row.episodes // row.seeds}",
            )
            for row in rows
        ],
        "Interquartile mean of the return with its 95 % bootstrap interval over training seeds and episodes; the other "
        "columns are means per episode. "
        f"{OPTIMUM if solved else ''}Wrong findings are among the accepted. A trained policy "
        "takes its most probable action in evaluations.",
        title=title,
    )


def _means(rows: Sequence[Row], mechanisms: tuple[str, ...], caption: str) -> Table:
    """Return a table of means per episode of these mechanisms' columns."""
    columns = headed_columns(*mechanisms)
    texts = [(row.agent, *(f"{row.mean(column.name):.2f}" for column in columns)) for row in rows]
    return _table(("agent", *(column.heading for column in columns)), texts, caption)


def _energy(rows: Sequence[Row]) -> Table:
    return _means(
        rows,
        ("energy", "proposals"),
        "Means per episode. Lost: income above the cap. Deferred: not executed for lack of energy. Felt: deferrals "
        "that were worth taking, at most one of a kind per heartbeat. Away: not executed because the user was away. "
        "Hoarded: rests at the cap with a licensed finding at hand.",
    )


def _gate(rows: Sequence[Row]) -> Table:
    return _means(
        rows,
        ("gate", "governance"),
        "Means per episode. Accepted: published at once. Reviewed: published later if approved; undecided reviews are "
        "dropped when the episode ends. Incidents: published errors that all readers saw (high) or one reader (low). "
        "Tightened: changes to a stricter policy.",
    )


def _words(rows: Sequence[Row]) -> Table:
    headings = [column.heading for column in headed_columns("adequacy")]
    return _table(
        ("agent", *headings, "mean\nscore", WITH_INTERVAL, "over\n(%)", WITH_INTERVAL),
        [
            (
                row.agent,
                *(f"{row.mean(name):.2f}" for name in SCORES),
                *_with_interval(row.measured.get("inadequacy"), 1.0, 2),
                *_with_interval(row.measured.get("overclaimed"), 100.0, 1),
            )
            for row in rows
        ],
        "Findings per episode by the score of their words: 0 claims no more than the evidence shows, 3 is definitive "
        "with almost none. Score: their mean. Over: share of scores 2 and 3. With 95 % bootstrap intervals.",
    )


def _with_interval(found: Interval | float | None, scale: float, digits: int) -> tuple[str, str]:
    if not isinstance(found, Interval):
        return "-", "-"
    value, low, high = (f"{scale * number:.{digits}f}" for number in found)
    return value, f"{low} to {high}"
