"""Tables of scores and of their distribution for ``solvent adequacy``, and the judge's results in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

    from solvent.adequacy.scores import ScoreRecord
    from solvent_experiments.instruments.adequacy.scoring import Judged, Scored

__all__ = [
    "counted",
    "distribution_table",
    "judge_lines",
    "one_line",
    "plain_table",
    "scores_table",
    "trigger_line",
]

EXCERPT = 60
MOST_REASONS = 3


def plain_table(*columns: str, right: Sequence[str] = ()) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        table.add_column(name, justify="right" if name in right else "left", overflow="fold")
    return table


def scores_table(scored: Sequence[Scored], most: int, *, judged: bool) -> Table:
    """The worst first, and of those as bad in the file's order."""
    from rich.text import Text

    columns = (
        "EpAd",
        *(("judge",) if judged else ()),
        "SyA",
        "words/evidence",
        "asks for",
        "id",
        "what decided",
    )
    table = plain_table(*columns, right=("EpAd", "judge", "SyA"))
    for one in sorted(scored, key=lambda one: -one.adequacy.score)[:most]:
        ratings = [_rating(one.adequacy.score), *([_rating(one.record.epad.judge)] if judged else [])]
        look = "judge" if one.adequacy.escalate else ""
        told = [one.adequacy.rule, look, one_line(one.record.id, 24), _decided(one)]
        table.add_row(*ratings, _rating(one.adequacy.sya), *map(Text, told))
    return table


def _rating(rating: int | None) -> str:
    return "" if rating is None else str(rating)


def _decided(one: Scored) -> str:
    """The sentence that decided, or the start of a response that asserts nothing."""
    worst = [sentence for sentence in one.adequacy.sentences if sentence.words is not None]
    said = max(worst, key=lambda sentence: sentence.score).text if worst else one.response.text
    return one_line(said, EXCERPT)


def one_line(said: str, most: int) -> str:
    """Text of another's in one line, as it can be shown."""
    from solvent_experiments.instruments.energy.tools import printable

    return printable(" ".join(said.split()), most)


def counted(number: int, noun: str) -> str:
    """``1 call``, ``2 calls``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def distribution_table(rows: Iterable[tuple[str, Iterable[int | None]]]) -> Table:
    """Return the counts of each score, with a row for each scale and rater that has any."""
    table = plain_table(
        "", "0", "1", "2", "3", "mean", "scored", right=("0", "1", "2", "3", "mean", "scored")
    )
    for name, ratings in rows:
        known = [rating for rating in ratings if rating is not None]
        if known:
            counts = Counter(known)
            shares = [f"{counts[score]:,} ({counts[score] / len(known):.0%})" for score in range(4)]
            table.add_row(name, *shares, f"{sum(known) / len(known):.2f}", f"{len(known):,}")
    return table


def judge_lines(told: Judged, called: int) -> list[str]:
    """Return the judge's results in a line, and a line for each kind of failure."""
    cached = f", {told.cached:,} of them from the cache" if told.cached else ""
    lines = [f"judge: {told.found:,} of {told.asked:,} judged{cached}; {counted(called, 'request')}"]
    for reason, count in told.failures.most_common(MOST_REASONS):
        lines.append(f"judge: {count:,} not judged: {one_line(reason.removeprefix('judge: '), 200)}")
    if len(told.failures) > MOST_REASONS:
        lines.append(f"judge: {len(told.failures) - MOST_REASONS:,} more kinds of failure")
    return lines


def trigger_line(records: Iterable[ScoreRecord], accepted: int) -> str:
    """Return the number of triggers in force, and of responses on which one fired."""
    fired = sum(any(signal.startswith("trigger:") for signal in record.signals) for record in records)
    return f"triggers: {accepted:,} in force; fired on {counted(fired, 'response')}"
