"""The summary of a run: each agent's statistics with intervals, the rows of the result tables.

A run computes them once. ``summary.json`` keeps them in full precision for the terminal, the figures and the report.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from solvent import LabParams
from solvent_experiments.artifacts.parquet import Columns
from solvent_experiments.config.documents import ConfigError, read_json
from solvent_experiments.measure.columns import COLUMNS, SCORES, SUMMARISED
from solvent_experiments.measure.statistics import (
    Interval,
    interquartile_mean,
    interval,
    mean_interval,
    ratio,
    share_interval,
)
from solvent_experiments.run.console import visible

__all__ = ["Row", "groups_of", "read_rows", "summary", "to_mappings"]

Measured = Interval | float
ORACLE = "oracle"
ABOUT = ("agent", "seeds", "episodes")

STATISTICS: Mapping[str, Callable[[Sequence[Any]], Measured]] = {
    "middle": interval,
    "interval": mean_interval,
    "mean": lambda groups: float(np.concatenate(groups).mean()),
}
"""Statistics of a column's groups by name; the first two have intervals."""


@dataclass(frozen=True)
class Row:
    """An agent's statistics by key, without inactive mechanisms and undefined shares; a script counts as one seed."""

    agent: str
    seeds: int
    episodes: int
    measured: Mapping[str, Measured]

    @property
    def score(self) -> Interval:
        """Interquartile mean of the return."""
        return self.interval("score")

    def interval(self, key: str) -> Interval:
        """Return a statistic that has an interval."""
        found = self.measured[key]
        assert isinstance(found, Interval)
        return found

    def mean(self, key: str) -> float:
        """Return the value of a statistic, with or without interval; 0 if it was not measured."""
        found = self.measured.get(key, 0.0)
        return found.value if isinstance(found, Interval) else found


def groups_of(columns: Columns, agent: str, name: str) -> list[Any]:
    """Return an agent's column by training seed: the groups that ``statistics.interval`` resamples."""
    mine = columns["agent"] == agent
    seeds = columns["training_seed"][mine]
    values = columns[name][mine]
    return [values[seeds == seed] for seed in np.unique(seeds)]


def summary(episodes: Columns, params: LabParams | None = None) -> list[Row]:
    """Return a row for each agent, best first; ``params`` add shares of the ceiling and of a known optimum.

    With the oracle among the agents, each row has its share of the oracle's score.
    """
    wholes = _wholes(params)
    rows = [_row(episodes, str(agent), wholes) for agent in dict.fromkeys(episodes["agent"])]
    return sorted(rows, key=lambda row: -row.score.value)


def _row(episodes: Columns, agent: str, wholes: tuple[float | None, float | None]) -> Row:
    columns = [COLUMNS[name] for name in SUMMARISED if name in episodes]
    measured = {
        column.summary_key: STATISTICS[column.statistic](groups_of(episodes, agent, column.name))
        for column in columns
    }
    returns, (ceiling, optimum) = groups_of(episodes, agent, "return"), wholes
    score = measured["score"]
    assert isinstance(score, Interval)
    measured |= _words(episodes, agent) | _share_of("ceiling_share", score, ceiling)
    measured |= _oracle_share(episodes, agent)
    if optimum:
        measured |= _share_of("optimum_share", mean_interval(returns), optimum)  # an optimum is a mean
    return Row(agent, len(returns), sum(map(len, returns)), measured)


def _wholes(params: LabParams | None) -> tuple[float | None, float | None]:
    """Return the ceiling and, where known, the optimum of the labs, in bits."""
    if params is None:
        return None, None
    from solvent_agents.exact.optimum import known_optimum

    return params.ceiling, known_optimum(params)


def _share_of(key: str, score: Interval, whole: float | None) -> dict[str, Measured]:
    """Return the score as a share of ``whole``; empty unless the whole is known and positive."""
    return {} if not whole or whole < 0.0 else {key: Interval(*(number / whole for number in score))}


def _oracle_share(episodes: Columns, agent: str) -> dict[str, Measured]:
    """Return the score as a share of the oracle's; empty without an oracle that earns more than nothing."""
    oracle = groups_of(episodes, ORACLE, "return")
    if not oracle or interquartile_mean(np.concatenate(oracle)) <= 0.0:
        return {}
    if agent == ORACLE:
        return {"oracle_share": Interval(1.0, 1.0, 1.0)}
    return {"oracle_share": ratio(groups_of(episodes, agent, "return"), oracle)}


def _words(episodes: Columns, agent: str) -> dict[str, Measured]:
    """Return the mean score of an agent's words and the share of scores 2 and 3."""
    if SCORES[0] not in episodes:
        return {}
    by_seed = list(zip(*(groups_of(episodes, agent, name) for name in SCORES), strict=True))
    findings = [sum(seed) for seed in by_seed]
    if not sum(int(np.sum(count)) for count in findings):
        return {}
    points = [sum(score * count for score, count in enumerate(seed)) for seed in by_seed]
    strong = [seed[2] + seed[3] for seed in by_seed]
    return {"inadequacy": share_interval(points, findings), "overclaimed": share_interval(strong, findings)}


# -- summary.json


def to_mappings(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return the rows as plain values for ``summary.json``."""
    return [
        {
            **{key: getattr(row, key) for key in ABOUT},
            **{
                key: value._asdict() if isinstance(value, Interval) else value
                for key, value in row.measured.items()
            },
        }
        for row in rows
    ]


def read_rows(path: Path) -> list[Row]:
    """Return the rows of a run's ``summary.json``, best first."""
    if not path.exists():
        raise ConfigError("missing; `solvent check RUN` names the command that makes it again", file=path)
    try:
        return [_read_row(agent) for agent in read_json(path, "as `solvent run` wrote it")["agents"]]
    except ConfigError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise ConfigError(
            f"not a summary ({type(error).__name__}: {error!s:.60}); allowed: as `solvent run` wrote it",
            file=path,
        ) from None


def _read_row(agent: Mapping[str, Any]) -> Row:
    measured: dict[str, Measured] = {
        key: Interval(**{name: float(part) for name, part in value.items()})
        if isinstance(value, dict)
        else float(value)
        for key, value in agent.items()
        if key not in ABOUT
    }
    row = Row(visible(str(agent["agent"])), int(agent["seeds"]), int(agent["episodes"]), measured)
    if not isinstance(measured.get("score"), Interval):
        raise TypeError("a score without interval")
    return row
