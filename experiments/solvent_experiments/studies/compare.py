"""``solvent compare``: two agents on the episodes that both played, within a run or between two."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from solvent_experiments.config import ConfigError
from solvent_experiments.folder import RunFolder, by_seed, differences, pairs_of
from solvent_experiments.statistics import share_above
from solvent_experiments.studies.study import Arm, Compare, StudyData
from solvent_experiments.table import Table, interval_cells

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
ALLOWED = (
    "a finished run, or an agent's folder in one, such as runs/debt/ppo; `solvent evaluate` compares scripts"
)


def comparisons(first: Path, second: Path) -> Iterator[Table]:
    """Yield a table for each pair of agents: the two named, or those that two runs have in common.

    Raises:
        ConfigError: a path is neither, or the agents have no episode in common.
    """
    agents, others = _agents(first), _agents(second)
    if len(agents) > 1 or len(others) > 1:
        pairs = [(a, b) for a in agents for b in others if a.agent == b.agent]
    else:
        pairs = [(agents[0], others[0])]
    if not pairs:
        raise ConfigError(f"no agent in common with {first}; allowed: {ALLOWED}", file=second)
    env, other_env = agents[0].experiment.env, others[0].experiment.env
    if env != other_env:
        raise ConfigError(f"labs of {other_env}; allowed: of {env} as in {first}", file=second)
    data = StudyData(Path(), Path(), "solvent run")
    for pair in pairs:
        yield _table(*pair, data)


def _agents(path: Path) -> list[Arm]:
    """Return the agents of the run that a path names, or the one that it names."""
    is_run = (path / "config.yaml").is_file()
    folder = RunFolder(path if is_run else path.parent)
    if not folder.config.is_file():
        raise ConfigError(f"no run; allowed: {ALLOWED}", file=path)
    own, experiment = folder.read_manifest()["agents"], folder.experiment()
    known = [*own, *experiment.train, *experiment.language]
    if not is_run and path.name not in known:
        raise ConfigError(f"no agent of its run; allowed: {', '.join(known)}", file=path)
    names = known if is_run else [path.name]
    return [Arm(str(folder.root), str(folder.root / name), experiment, name) for name in names]


def _table(first: Arm, second: Arm, data: StudyData) -> Table:
    a, b = pairs_of(data.columns(first), data.columns(second))
    seeds = np.unique(a["episode_seed"])
    if not len(seeds):
        problem = f"no episode in common with {first.label}; allowed: runs with common seeds"
        raise ConfigError(problem, file=Path(second.label))
    rows = []
    for column, name in MEASURES.items():
        means = [f"{columns[column].mean():.2f}" for columns in (a, b)]
        apart = Compare(name, "", first, column, second, paired=True).measure(data)
        rows.append((name, *means, *interval_cells(apart, "+.2f")))
    share = share_above(by_seed(a, "return"), by_seed(b, "return"))
    rows.append(("episodes with the higher return", f"{share:.0%}", "", "", ""))
    labs = differences(first.experiment.params, second.experiment.params)
    changes = "; ".join(f"{key}: A {a_value}, B {b_value}" for key, a_value, b_value in labs)
    note = f" The labs differ: {changes}." if changes else ""
    return Table(
        ("mean per episode", "A", "B", "A - B", "95 % interval"),
        tuple(rows),
        title=f"A: {first.label}, B: {second.label}",
        caption=f"{len(seeds):,} common episodes, seeds {seeds[0]} to {seeds[-1]}. Differences are paired: the "
        f"interval resamples training seeds of each agent, and episodes of both together; a learner of one seed has "
        f"none.{note}",
    )
