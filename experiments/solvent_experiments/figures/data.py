"""What figures are drawn from: a run's tables and its config."""

from __future__ import annotations

from dataclasses import dataclass

from solvent import LabParams
from solvent_experiments.columns import Columns, read_parquet, select
from solvent_experiments.documents import ConfigError, read_document
from solvent_experiments.report import Row, summary
from solvent_experiments.store import RunFolder

__all__ = ["RunData", "load_run"]


@dataclass(frozen=True)
class RunData:
    """A finished run in memory. ``rows`` are its agents, best first; ``cloned`` those with a warm start."""

    name: str
    env: str
    params: LabParams
    learned: tuple[str, ...]
    cloned: tuple[str, ...]
    rows: tuple[Row, ...]
    episodes: Columns
    traces: Columns
    training: Columns | None

    @property
    def contaminated(self) -> bool:
        """Debt had no consequence."""
        return not self.params.debt.enforced

    @property
    def agents(self) -> list[str]:
        """Learned agents first, then the others; within each the best first."""
        return sorted((row.agent for row in self.rows), key=lambda agent: agent not in self.learned)

    def traces_of(self, agent: str) -> Columns:
        """The heartbeats of an agent, of all its training seeds."""
        return select(self.traces, self.traces["agent"] == agent)


def load_run(folder: RunFolder) -> RunData:
    """Read a finished run.

    Raises:
        ConfigError: no run, or one that isn't finished.
    """
    if not folder.config.exists():
        raise ConfigError(
            "no run; allowed: a folder that `solvent run` wrote (with a config.yaml)", file=folder.root
        )
    if not folder.episodes.exists() or not folder.traces.exists():
        raise ConfigError(
            "not finished; allowed: a finished run (`solvent run` goes on with it)", file=folder.root
        )
    config = read_document(folder.config).data
    episodes = read_parquet(folder.episodes)
    return RunData(
        name=str(config["name"]),
        env=str(config["env"]),
        params=LabParams.from_mapping(config["params"]),
        learned=tuple(config["train"]),
        cloned=tuple(name for name, recipe in config["train"].items() if recipe.get("imitation_episodes")),
        rows=tuple(summary(episodes)),
        episodes=episodes,
        traces=read_parquet(folder.traces),
        training=read_parquet(folder.training) if folder.training.exists() else None,
    )
