"""The data of all figures: a run's tables and its config."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvent import LabParams
from solvent_experiments.config import Experiment
from solvent_experiments.folder import Columns, RunFolder, by_seed, read_parquet, select
from solvent_experiments.statistics import Sample
from solvent_experiments.summary import Row, read_rows

STRETCHES = 30
"""Of a training, with a point of a curve each."""
DRAWS = 400
"""Resamples for curves, which have an interval at every point."""


@dataclass(frozen=True)
class RunData:
    """A run in memory; ``rows`` are its agents, best first."""

    experiment: Experiment
    rows: tuple[Row, ...]
    episodes: Columns
    traces: Columns
    training: Columns | None

    @property
    def lab(self) -> LabParams:
        return self.experiment.lab

    @property
    def learned(self) -> list[str]:
        """Names of learners and language models."""
        return [*self.experiment.train, *self.experiment.language]

    @property
    def heading(self) -> str:
        """The level and the name of the run."""
        run = self.experiment
        changed = f" ({run.changed})" if run.changed else ""
        return f"{run.env}{changed}, run {run.name}"

    @property
    def agents(self) -> list[str]:
        """Learned agents, then the others, each group best first."""
        return sorted((row.agent for row in self.rows), key=lambda agent: agent not in self.learned)

    def traces_of(self, agent: str) -> Columns:
        return select(self.traces, self.traces["agent"] == agent)

    def sample(self, agent: str, name: str) -> Sample:
        """Return an agent's column of the evaluation by training seed."""
        return by_seed(select(self.episodes, self.episodes["agent"] == agent), name)

    def learners(self) -> dict[str, Columns]:
        """Return the training episodes of each learner."""
        table = self.training or {"agent": np.array([], object)}
        return {
            name: select(table, table["agent"] == name) for name in self.learned if name in table["agent"]
        }


def load_run(folder: RunFolder) -> RunData:
    """Return a run's data; raise ConfigError if a table is missing or damaged."""
    return RunData(
        experiment=folder.experiment(),
        rows=tuple(read_rows(folder.summary)),
        episodes=read_parquet(folder.episodes),
        traces=read_parquet(folder.traces),
        training=read_parquet(folder.training) if folder.training.exists() else None,
    )


def starts_of(traces: Columns) -> NDArray[np.intp]:
    """Return the row at which each traced episode starts."""
    # Without steps, actions are heartbeats.
    return np.flatnonzero(traces.get("step", traces["heartbeat"]) == 0)


def values_at_heartbeats(traces: Columns, values: NDArray[Any], heartbeats: int) -> NDArray[np.float64]:
    """Return values at each heartbeat's start, shape ``(episodes, heartbeats + 1)``; the last is repeated."""
    starts = starts_of(traces)
    grid = np.empty((len(starts), heartbeats + 1))
    for row, (first, end) in enumerate(zip(starts, [*starts[1:], len(traces["heartbeat"])], strict=True)):
        _, at_starts = np.unique(traces["heartbeat"][first:end], return_index=True)
        grid[row, : len(at_starts)] = values[first:end][at_starts]
        grid[row, len(at_starts) :] = values[end - 1]
    return grid


def stretches(training: Columns) -> Iterator[tuple[float, list[NDArray[np.intp]]]]:
    """Yield the middle of each of ``STRETCHES`` of steps, and the rows of its episodes by training seed."""
    steps, seeds = training["steps"], training["training_seed"]
    edges = np.linspace(0, max(1, int(steps.max(initial=0))), STRETCHES + 1)
    place = np.clip(np.searchsorted(edges, steps, side="left") - 1, 0, STRETCHES - 1)
    for i in range(STRETCHES):
        groups = [np.flatnonzero((place == i) & (seeds == seed)) for seed in np.unique(seeds)]
        if all(len(rows) for rows in groups):
            yield float(edges[i : i + 2].mean()), groups
