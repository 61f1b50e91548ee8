"""The leaderboard: the agents of finished runs on all levels, scored against the oracle of their run.

The score is 100 times the return over the oracle's return in the same run, so an agent that does nothing has 0. All
numbers are those of the runs' ``summary.json``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from solvent import ENVIRONMENTS, LabParams
from solvent_experiments.artifacts.folder import RunFolder
from solvent_experiments.artifacts.integrity import finished_manifest
from solvent_experiments.config.documents import ConfigError, read_document
from solvent_experiments.config.experiment import environment_params
from solvent_experiments.measure.departures import mark_of
from solvent_experiments.measure.statistics import Interval
from solvent_experiments.measure.summary import Row, read_rows
from solvent_experiments.measure.table import Table

__all__ = ["Entry", "leaderboard_mapping", "leaderboard_table", "read_entries"]

HEADINGS = {
    "level": "level",
    "agent": "agent",
    "score": "score",
    "95 % interval": "95 % interval",
    "return (bits)": "return\n(bits)",
    "overclaimed (bits)": "over-\nclaimed\n(bits)",
    "refusals": "refu-\nsals",
    "wrong": "wrong",
    "command": "command",
}
"""Headings, and their line breaks in a terminal."""
CAPTION = (
    "Score: 100 times the return over the oracle's in the same run, interquartile means, with a 95 % bootstrap "
    "interval over training seeds and episodes. The oracle may have played fewer episodes. Return: interquartile mean. "
    "The other columns are means per episode. Overclaimed: bits claimed or asserted beyond what was gained or "
    "licensed. Wrong: accepted findings that are wrong."
)
MEANS = {"overclaimed_bits": "debt_added", "refusals": "refusals", "wrong": "wrong"}
"""Means per episode by their name in the JSON, and their key in the summary."""


@dataclass(frozen=True)
class Entry:
    """A finished run: its config's name, its level and departures from it, its command, and its agents."""

    name: str
    env: str
    departures: str
    command: str
    rows: Sequence[Row]

    @property
    def level(self) -> str:
        """The level's id, with the departures."""
        return f"{self.env} ({self.departures})" if self.departures else self.env


def read_entries(roots: Sequence[Path]) -> list[Entry]:
    """Return the runs, in the order of their levels.

    Raises:
        ConfigError: a run is unfinished, has no oracle, or has the name of another one.
    """
    entries: dict[str, Entry] = {}
    for root in roots:
        entry = _read_entry(RunFolder(root))
        if entry.name in entries:
            raise ConfigError(f"a second run named {entry.name!r}; allowed: one of each name", file=root)
        entries[entry.name] = entry
    order = list(ENVIRONMENTS)
    return sorted(entries.values(), key=lambda entry: (order.index(entry.env), entry.departures))


def _read_entry(folder: RunFolder) -> Entry:
    manifest = finished_manifest(folder)
    rows = read_rows(folder.summary)
    if not rows or not all(isinstance(row.measured.get("oracle_share"), Interval) for row in rows):
        raise ConfigError(
            "no oracle with a return above 0; allowed: a run with `oracle` among the `agents` of its config",
            file=folder.root,
        )
    try:
        config = read_document(folder.config).data
        name, env = str(config["name"]), str(config["env"])
        level, params = environment_params(env), LabParams.from_mapping(config["params"])
    except (KeyError, TypeError, AttributeError) as error:
        raise ConfigError(
            f"damaged ({type(error).__name__}: {error}); allowed: as `solvent run` wrote it",
            file=folder.config,
        ) from None
    departures = mark_of(params, level) or ("" if params == level else "changed parameters")
    return Entry(name, env, departures, manifest["sessions"][-1]["command"], rows)


def leaderboard_table(entries: Sequence[Entry]) -> Table:
    """Return a row for each agent of each run, best first on its level."""
    placed = [(entry, row) for entry in entries for row in entry.rows]
    order = list(dict.fromkeys(entry.level for entry in entries))
    placed.sort(key=lambda place: (order.index(place[0].level), -_score(place[1]).value))
    return Table(
        tuple(HEADINGS),
        tuple(_cells(entry, row) for entry, row in placed),
        caption=CAPTION,
        left=("agent", "command"),
        wrapped=("level", "command"),
        lines=HEADINGS,
    )


def _cells(entry: Entry, row: Row) -> tuple[str, ...]:
    value, low, high = (f"{number:.1f}" for number in _score(row))
    means = (f"{row.mean(key):.2f}" for key in MEANS.values())
    return entry.level, row.agent, value, f"{low} to {high}", f"{row.score.value:.2f}", *means, entry.command


def _score(row: Row) -> Interval:
    return Interval(*(100.0 * number for number in row.interval("oracle_share")))


def leaderboard_mapping(entries: Sequence[Entry]) -> dict[str, Any]:
    """Return the numbers by run and agent, for JSON."""
    return {
        entry.name: {
            "level": entry.level,
            "command": entry.command,
            "agents": {
                row.agent: {
                    "seeds": row.seeds,
                    "episodes": row.episodes,
                    "score": _score(row)._asdict(),
                    "return": row.score._asdict(),
                    **{name: row.mean(key) for name, key in MEANS.items()},
                }
                for row in entry.rows
            },
        }
        for entry in entries
    }
