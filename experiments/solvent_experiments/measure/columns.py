"""The registry of an episode's columns: which of them training logs, and which the summary and its tables have.

The environment describes its own columns (``MECHANISM.columns``): their name, unit and mechanism stand there. This file
says what experiments do with them. Each part of a nested column is a column: ``verdicts_accept`` of ``verdicts``.
"""

from __future__ import annotations

from typing import NamedTuple

from solvent import LabParams
from solvent.lab.codes import REFUSAL_REASONS, VERDICTS
from solvent.lab.mechanisms import MECHANISMS
from solvent_agents.learning.while_blocked import WHILE_BLOCKED

__all__ = ["COLUMNS", "RESULTS", "SCORES", "SUMMARISED", "Column", "headed_columns", "logged_columns"]

BITS, COUNT = "f4", "i4"
LEARNER = "learner"

_MECHANISM_OF = {column.name: mechanism.name for mechanism in MECHANISMS for column in mechanism.columns}


class Column(NamedTuple):
    """A column of an episode, and its place in what is written.

    Args:
        name: of the column in the tables of episodes.
        heading: in a result table, as a terminal breaks it; empty if no table has the column.
        statistic: of an agent's episodes in the summary, a key of ``measure.summary.STATISTICS``; empty for none.
        key: its name in the summary, if that is another.
        logged: its type in the training log; empty if the log does not have it.
        part_of: the environment's column that it is a part of.
    """

    name: str
    heading: str = ""
    statistic: str = ""
    key: str = ""
    logged: str = ""
    part_of: str = ""

    @property
    def summary_key(self) -> str:
        """Its name in the summary."""
        return self.key or self.name

    @property
    def mechanism(self) -> str:
        """The mechanism that keeps it, by the environment's description; ``learner`` for what a learner counts."""
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
"""Name -> column, in the order of the training log and of the tables of mechanisms."""

RESULTS = ("return", "refusals", "debt", "accepted", "wrong", "is_success")
"""The columns of every summary, in the order of the table of results."""

SUMMARISED = (*RESULTS, *(name for name in COLUMNS if COLUMNS[name].statistic and name not in RESULTS))
"""Every column of the summary, in its order."""

SCORES = tuple(name for name, column in COLUMNS.items() if column.part_of == "adequacy")
"""Findings whose words scored 0 to 3."""


def logged_columns(params: LabParams) -> list[Column]:
    """The columns that the training log of such labs has, in its order."""
    active = {mechanism.name for mechanism in MECHANISMS if mechanism.active(params)}
    return [column for column in _ALL if column.logged and column.mechanism in {*active, LEARNER}]


def headed_columns(*mechanisms: str) -> list[Column]:
    """The columns of these mechanisms that a table has."""
    return [column for column in _ALL if column.heading and column.mechanism in mechanisms]
