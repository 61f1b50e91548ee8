"""``solvent compare``: two agents on the episodes that both played, within a run or between two."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from solvent_experiments.config import ConfigError
from solvent_experiments.folder import (
    Columns,
    RunFolder,
    differences,
    groups_of,
    pairs_of,
    read_parquet,
    select,
)
from solvent_experiments.statistics import difference, share_above
from solvent_experiments.summary import with_interval
from solvent_experiments.table import Table

MEASURES = {
    "return": "return (bits)",
    "debt_added": "overclaimed (bits)",
    "refusals_by_debt": "refused by debt",
    "refusals": "refused",
    "calibrations": "calibrations",
    "accepted": "accepted findings",
    "wrong": "wrong findings",
}
"""Columns that are compared, with their names."""
ALLOWED = "a finished run, or an agent's folder in one, such as runs/debt and runs/debt/ppo"


def comparisons(first: Path, second: Path) -> Iterator[Table]:
    """Yield a table for each pair of agents: the two named, or those that two runs have in common.

    Raises:
        ConfigError: a path is neither, or the agents have no episode in common.
    """
    (mine, agents), (other, others) = _agents(first), _agents(second)
    if first != mine.root and second != other.root:
        pairs = [(agents[0], others[0])]
    else:
        pairs = [(agent, agent) for agent in agents if agent in others]
    if not pairs:
        raise ConfigError(f"no agent in common with {first}; allowed: {ALLOWED}", file=second)
    tables = [read_parquet(folder.episodes) for folder in (mine, other)]
    labs = [folder.experiment() for folder in (mine, other)]
    if labs[0].env != labs[1].env:
        raise ConfigError(f"labs of {labs[1].env}; allowed: of {labs[0].env} as in {first}", file=second)
    notes = "; ".join(differences(labs[0].params, labs[1].params))
    for pair in pairs:
        columns = [select(table, table["agent"] == agent) for table, agent in zip(tables, pair, strict=True)]
        names = [f"{folder.root / agent}" for folder, agent in zip((mine, other), pair, strict=True)]
        yield _table(names, pair, columns, notes)


def _agents(path: Path) -> tuple[RunFolder, list[str]]:
    """Return the run that a path names, and its agents or the one that the path names."""
    is_run = (path / "config.yaml").is_file()
    folder = RunFolder(path if is_run else path.parent)
    if not folder.config.is_file():
        raise ConfigError(f"no run; allowed: {ALLOWED}", file=path)
    manifest, experiment = folder.read_manifest(), folder.experiment()
    known = [*manifest["agents"], *experiment.train, *experiment.language]
    if not is_run and path.name not in known:
        raise ConfigError(f"no agent of its run; allowed: {', '.join(known)}", file=path)
    return folder, known if is_run else [path.name]


def _table(names: Sequence[str], agents: tuple[str, str], columns: Sequence[Columns], notes: str) -> Table:
    mine, other = pairs_of(*columns)
    seeds = np.unique(mine["episode_seed"])
    if not len(seeds):
        said = f"no episode in common with {names[0]}; allowed: runs with common seeds"
        raise ConfigError(said, file=Path(names[1]))
    rows = []
    for column, name in MEASURES.items():
        a, b = groups_of(mine, agents[0], column), groups_of(other, agents[1], column)
        means = [f"{np.concatenate(groups).mean():.2f}" for groups in (a, b)]
        rows.append((name, *means, *with_interval(difference(b, a, paired=True), "+.2f")))
    returns = groups_of(mine, agents[0], "return"), groups_of(other, agents[1], "return")
    rows.append(("episodes with the higher return", f"{share_above(*returns):.0%}", "", "", ""))
    labs = f" The labs differ: {notes}." if notes else ""
    return Table(
        ("mean per episode", "A", "B", "A - B", "95 % interval"),
        tuple(rows),
        title=f"A: {names[0]}, B: {names[1]}",
        caption=f"{len(seeds):,} common episodes, seeds {seeds[0]} to {seeds[-1]}. Differences are paired: the "
        f"interval resamples training seeds of each agent, and episodes of both together.{labs}",
    )
