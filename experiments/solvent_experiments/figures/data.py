"""The data of all figures: a run's tables and its config."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from solvent import LabParams
from solvent_experiments.artifacts.folder import VERDICTS, RunFolder
from solvent_experiments.artifacts.parquet import Columns, read_parquet, select
from solvent_experiments.config.documents import ConfigError, read_document
from solvent_experiments.config.experiment import environment_params
from solvent_experiments.measure.departures import mark_of
from solvent_experiments.measure.summary import Row, read_rows, summary
from solvent_experiments.run.console import visible

__all__ = ["RunData", "load_run"]


OF_FINDINGS: dict[str, Any] = {
    "verdict": object,
    "hallucination_energy": np.float64,
    "energy_gap": np.float64,
    "policy_applied": object,
}
"""Fields of a verdict that are read, and their types."""


@dataclass(frozen=True)
class RunData:
    """A finished run in memory. ``rows``: agents, best first."""

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

    @property
    def contaminated(self) -> bool:
        """True if debt, gate or adequacy had no consequence."""
        return bool(self.params.unenforced)

    @property
    def mark(self) -> str:
        """Mechanisms that the level lacks, in one line; empty for an unchanged level."""
        return mark_of(self.params, environment_params(self.env))

    @property
    def agents(self) -> list[str]:
        """Learned agents, then the others, each group best first."""
        return sorted((row.agent for row in self.rows), key=lambda agent: agent not in self.learned)

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
            "not finished; allowed: a finished run (`solvent run` resumes it)", file=folder.root
        )
    config = read_document(folder.config).data
    params, episodes = LabParams.from_mapping(config["params"]), _shown(read_parquet(folder.episodes))
    return RunData(
        name=visible(str(config["name"])),
        env=str(config["env"]),
        params=params,
        learned=tuple(config["train"]),
        rows=_rows(folder, episodes, params),
        episodes=episodes,
        traces=_shown(read_parquet(folder.traces)),
        training=_shown(read_parquet(folder.training)) if folder.training.exists() else None,
        findings=_findings(folder, config) if folder.gate.exists() else None,
        gate=json.loads(folder.gate.read_text(encoding="utf-8")) if folder.gate.exists() else None,
    )


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


def _findings(folder: RunFolder, config: Mapping[str, Any]) -> Columns:
    units = [folder.unit(agent, seed) for agent in config["train"] for seed in config["seeds"]]
    units += [folder.unit(agent) for agent in config["agents"]]
    rows = []
    for unit in units:
        ledger = unit.folder / VERDICTS
        lines = ledger.read_text(encoding="utf-8").splitlines() if ledger.exists() else []
        events = [event for event in map(json.loads, lines) if event["event"] == "verdict"]
        rows += [(unit.agent, *(event[name] for name in OF_FINDINGS)) for event in events]
    kinds = {"agent": object, **OF_FINDINGS}
    columns = zip(*rows, strict=True) if rows else [()] * len(kinds)
    return {name: np.array(column, kind) for (name, kind), column in zip(kinds.items(), columns, strict=True)}
