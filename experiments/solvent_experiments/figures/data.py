"""The data of all figures: a run's tables and its config."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from solvent import LabParams
from solvent.inputs import input_lines, strict_json
from solvent_experiments.artifacts.folder import VERDICTS, RunFolder
from solvent_experiments.artifacts.parquet import Columns, read_parquet, select
from solvent_experiments.config.documents import ConfigError, read_json
from solvent_experiments.config.experiment import ExperimentFile, environment_params, read_resolved
from solvent_experiments.measure.departures import mark_of
from solvent_experiments.measure.summary import Row, read_rows, summary
from solvent_experiments.run.console import visible

__all__ = ["RunData", "load_run"]

AS_WRITTEN = "allowed: as `solvent run` wrote it"
OF_FINDINGS: dict[str, Any] = {
    "verdict": object,
    "hallucination_energy": np.float64,
    "energy_gap": np.float64,
    "policy_applied": object,
}
"""Fields of a verdict that are read, and their types."""


@dataclass(frozen=True)
class RunData:
    """A finished run in memory. ``rows``: agents, best first; ``models``: those that are language models."""

    name: str
    env: str
    params: LabParams
    learned: tuple[str, ...]
    rows: tuple[Row, ...]
    episodes: Columns
    traces: Columns
    training: Columns | None
    findings: Columns | None = None
    """Gate verdicts on the logged findings, one per row, with the agent."""
    gate: Mapping[str, Any] | None = None
    """The gate's ``thresholds`` by policy, and the report of its ``domain`` or None."""
    models: tuple[str, ...] = ()

    @property
    def contaminated(self) -> bool:
        """True if debt, gate or adequacy had no consequence."""
        return bool(self.params.unenforced)

    @property
    def mark(self) -> str:
        """Mechanisms that the level lacks, in one line; empty for an unchanged level."""
        return mark_of(self.params, environment_params(self.env))

    @property
    def heading(self) -> str:
        """The level and the name of the run, for the line above a figure."""
        changed = not self.mark and self.params != environment_params(self.env)
        return f"{self.env}{' (changed parameters)' if changed else ''}, run {self.name}"

    @property
    def agents(self) -> list[str]:
        """Learned agents and language models, then the others, each group best first."""
        first = (*self.learned, *self.models)
        return sorted((row.agent for row in self.rows), key=lambda agent: agent not in first)

    def traces_of(self, agent: str) -> Columns:
        return select(self.traces, self.traces["agent"] == agent)


def load_run(folder: RunFolder) -> RunData:
    """Return a finished run's data.

    Raises:
        ConfigError: no run, an unfinished one, or a summary that isn't of its episodes.
    """
    if not folder.config.exists():
        raise ConfigError(
            "no run; allowed: a folder that `solvent run` wrote (with a config.yaml)", file=folder.root
        )
    if not folder.episodes.exists() or not folder.traces.exists():
        raise ConfigError(
            "not finished; allowed: a finished run (the command that made it resumes it)", file=folder.root
        )
    config, params = read_resolved(folder.config)
    episodes = _table(folder.episodes, "agent", "training_seed", "episode_seed", "return", "end_reason")
    traces = _table(folder.traces, "agent", "training_seed", "episode_seed", "heartbeat", "wells", "debt")
    if len(traces["agent"]) and not (
        set(traces["agent"]) == set(episodes["agent"])
        and traces["heartbeat"].max() <= params.budget.heartbeats
    ):
        raise ConfigError("the traces of other episodes; " + AS_WRITTEN, file=folder.traces)
    return RunData(
        name=visible(config.name),
        env=config.env,
        params=params,
        learned=tuple(config.train),
        rows=_rows(folder, episodes, params),
        episodes=episodes,
        traces=traces,
        training=_table(folder.training, "agent", "return", "steps") if folder.training.exists() else None,
        findings=_findings(folder, config) if folder.gate.exists() else None,
        gate=read_json(folder.gate, "as `solvent run` wrote it") if folder.gate.exists() else None,
        models=tuple(config.language),
    )


def _table(path: Path, *columns: str) -> Columns:
    """Return a table of the run. Raise ConfigError if it is damaged or another one, without these columns."""
    try:
        table = read_parquet(path)
    except (OSError, ValueError) as error:
        raise ConfigError(f"damaged ({error!s:.100}); {AS_WRITTEN}", file=path) from None
    if missing := [name for name in columns if name not in table]:
        raise ConfigError(f"has no column {missing[0]!r}; {AS_WRITTEN}", file=path)
    return _shown(table)


def _shown(columns: Columns) -> Columns:
    """Return the columns with the agents' names as they are shown; a stranger's run can have any."""
    agents = columns["agent"]
    for name in {name for name in set(agents) if not name.isprintable()}:
        agents = np.where(agents == name, visible(name), agents)
    return columns | {"agent": agents}


def _rows(folder: RunFolder, episodes: Columns, params: LabParams) -> tuple[Row, ...]:
    """The rows that the run keeps; computed anew where the tables came without their summary."""
    if not folder.summary.exists():
        return tuple(summary(episodes, params))
    rows = tuple(read_rows(folder.summary))
    if {row.agent for row in rows} != set(episodes["agent"]):
        raise ConfigError(
            "names other agents than episodes.parquet; allowed: the summary of those episodes, or none",
            file=folder.summary,
        )
    return rows


def _findings(folder: RunFolder, config: ExperimentFile) -> Columns:
    units = [folder.unit(agent, seed) for agent in config.train for seed in config.seeds]
    units += [folder.unit(agent) for agent in config.agents]
    rows = [
        (unit.agent, *finding)
        for unit in units
        if (unit.folder / VERDICTS).exists()
        for finding in _verdicts(unit.folder / VERDICTS)
    ]
    kinds = {"agent": object, **OF_FINDINGS}
    columns = zip(*rows, strict=True) if rows else [()] * len(kinds)
    return {name: np.array(column, kind) for (name, kind), column in zip(kinds.items(), columns, strict=True)}


def _verdicts(ledger: Path) -> Iterator[list[Any]]:
    for number, line in input_lines(ledger):
        try:
            event = strict_json(line)
            if event["event"] == "verdict":
                yield [
                    str(event[name]) if kind is object else float(event[name])
                    for name, kind in OF_FINDINGS.items()
                ]
        except (ValueError, KeyError, TypeError, OverflowError) as error:
            raise ConfigError(
                f"not a verdict ({error!s:.60}); {AS_WRITTEN}", file=ledger, line=number
            ) from None
