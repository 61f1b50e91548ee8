"""Agents compared in pairs: within a run, between two runs, and what can't be compared."""

from __future__ import annotations

from solvent_experiments.compare import comparisons
from solvent_experiments.folder import RunFolder, groups_of, read_parquet
from tests.commands import call
from tests.runs import Runs


def test_pair_of_a_run_by_hand(smoke_run: RunFolder) -> None:
    (table,) = comparisons(smoke_run.root / "honest", smoke_run.root / "random")
    episodes = read_parquet(smoke_run.episodes)
    returns = [groups_of(episodes, agent, "return")[0] for agent in ("honest", "random")]
    mean, honest, random, apart, interval = table.rows[0]
    assert mean == "return (bits)"
    assert [honest, random] == [f"{values.mean():.2f}" for values in returns]
    assert apart == f"{(returns[0] - returns[1]).mean():+.2f}"
    low, high = map(float, interval.split(" to "))
    assert low <= float(apart) <= high
    assert table.rows[-1][1] == f"{(returns[0] > returns[1]).mean():.0%}"


def test_runs_are_compared_by_their_common_agents(smoke_run: RunFolder) -> None:
    tables = list(comparisons(smoke_run.root, smoke_run.root))
    assert len(tables) == len(smoke_run.read_manifest()["agents"]) + 1
    assert all(
        table.rows[0][3:] == ("+0.00", "+0.00 to +0.00") for table in tables if "ppo" not in table.title
    )


def test_what_can_not_be_compared_is_one_line(runs: Runs, smoke_run: RunFolder, tmp_path) -> None:
    honest = smoke_run.root / "honest"
    call("compare", honest, smoke_run.root / "honst").refused("no agent of its run; allowed: ", "honest")
    call("compare", honest, tmp_path / "x").refused("no run; allowed: a finished run, or an agent's folder")
    energy = runs("smoke_energy").root / "honest"
    call("compare", honest, energy).refused("labs of Solvent/Energy-v0; allowed: of Solvent/Debt-v0")
