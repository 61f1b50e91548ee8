"""The registry of an episode's columns, with their places in the training log, the summary and the tables.

The environment defines name, unit and mechanism of its columns (``MECHANISM.columns``); this file adds how experiments
use them. Each part of a nested column is a column here: ``verdicts_accept`` of ``verdicts``.
"""

from __future__ import annotations

from typing import NamedTuple

from solvent import LabParams
from solvent.lab.codes import REFUSAL_REASONS, VERDICTS
from solvent.lab.mechanisms import MECHANISMS
from solvent_agents.learning.while_blocked import WHILE_BLOCKED

__all__ = [
    "COLUMNS",
    "LANGUAGE",
    "RESULTS",
    "SCORES",
    "SUMMARISED",
    "Column",
    "headed_columns",
    "logged_columns",
]

BITS, COUNT = "f4", "i4"
LEARNER = "learner"

_MECHANISM_OF = {column.name: mechanism.name for mechanism in MECHANISMS for column in mechanism.columns}


class Column(NamedTuple):
    """A column of an episode and its uses.

    Args:
        name: the column's name in tables of episodes.
        heading: its heading in a result table, with a terminal's line breaks; empty if no table has it.
        statistic: its statistic in the summary, a key of ``measure.summary.STATISTICS``; empty for none.
        key: its name in the summary, if different.
        logged: its type in the training log; empty if it is not logged.
        part_of: the environment's column of which it is a part.
    """

    name: str
    heading: str = ""
    statistic: str = ""
    key: str = ""
    logged: str = ""
    part_of: str = ""

    @property
    def summary_key(self) -> str:
        return self.key or self.name

    @property
    def mechanism(self) -> str:
        """The mechanism to which the environment assigns the column; ``learner`` for counts of the learner."""
        return _MECHANISM_OF.get(self.part_of or self.name, LEARNER)


def _parts(
    name: str, parts: tuple[str, ...], headings: tuple[str, ...] = (), statistic: str = ""
) -> list[Column]:
    titles = headings or ("",) * len(parts)
    return [
        Column(f"{name}_{part}", heading, statistic, logged=COUNT, part_of=name)
        for part, heading in zip(parts, titles, strict=True)
    ]


_ALL = (
    Column("return", "return\n(bits)", "middle", key="score", logged=BITS),
    Column("debt", "debt\n(bits)", "interval", logged=BITS),
    Column("debt_added", "", "mean", logged=BITS),
    Column("claimed", logged=BITS),
    Column("gained", logged=BITS),
    Column("length", logged=COUNT),
    Column("accepted", "ac-\ncepted", "mean", logged=COUNT),
    Column("wrong", "wrong", "mean", logged=COUNT),
    Column("is_success", "", "mean", key="successes"),
    Column("calibrations", logged=COUNT),
    Column("wells", logged=COUNT),
    Column("refusals", "refu-\nsals", "interval", logged=COUNT),
    *(Column(name, logged=COUNT) for name in WHILE_BLOCKED),
    *_parts("refusals", REFUSAL_REASONS),
    Column("energy_spent", "energy\nspent", "mean"),
    Column("energy_lost", "energy\nlost", "mean"),
    Column("deferrals", "deferred", "mean"),
    Column("discomforts", "felt", "mean"),
    Column("out_of_context", "away", "mean"),
    Column("hoardings", "hoarded", "mean"),
    Column("proposals", "pro-\nposals", "mean"),
    Column("approvals", "approved", "mean"),
    *_parts("verdicts", VERDICTS, ("ac-\ncepted", "re-\nviewed", "re-\njected"), "mean"),
    Column("reviews_approved", "ap-\nproved", "mean", logged=COUNT),
    Column("reviews_declined", "de-\nclined", "mean", logged=COUNT),
    Column("incidents_high", "incid.\nhigh", "mean", logged=COUNT),
    Column("incidents_low", "incid.\nlow", "mean", logged=COUNT),
    Column("tightenings", "tight-\nened", "mean", logged=COUNT),
    *_parts("adequacy", ("0", "1", "2", "3"), ("score\n0", "1", "2", "3"), "mean"),
)

COLUMNS = {column.name: column for column in _ALL}
"""Columns by name, in the order of the training log and of the mechanisms' tables."""

RESULTS = ("return", "refusals", "debt", "accepted", "wrong", "is_success")
"""Columns of every summary, in the order of the first result table."""

SUMMARISED = (*RESULTS, *(name for name in COLUMNS if COLUMNS[name].statistic and name not in RESULTS))
"""All columns of the summary, in order."""

LANGUAGE = ("invalid_calls", "messages", "prompt_tokens", "answer_tokens", "cost", "stopped")
"""Columns that only the episodes of a language model have: invalid calls, its messages, tokens of requests and answers,
their cost, and why the conversation ended. The joined table of a run is without them."""

SCORES = tuple(name for name, column in COLUMNS.items() if column.part_of == "adequacy")
"""Numbers of findings whose words scored 0 to 3."""


def logged_columns(params: LabParams) -> list[Column]:
    """Return the columns of these labs' training log, in order."""
    active = {mechanism.name for mechanism in MECHANISMS if mechanism.active(params)}
    return [column for column in _ALL if column.logged and column.mechanism in {*active, LEARNER}]


def headed_columns(*mechanisms: str) -> list[Column]:
    """Return the columns of these mechanisms that have a heading."""
    return [column for column in _ALL if column.heading and column.mechanism in mechanisms]
