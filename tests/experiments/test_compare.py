"""Agents compared in pairs: five episodes by hand, within a run, between two runs, and what can't be compared."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from solvent_experiments.folder import RunFolder, joined, write_parquet
from solvent_experiments.studies.compare import comparisons
from solvent_experiments.summary import read_rows
from tests.commands import call
from tests.experiments import tables
from tests.runs import Runs


@pytest.fixture
def hand_run(smoke_run: RunFolder, tmp_path: Path) -> RunFolder:
    """The smoke run with the five episodes, in which ``random`` is the liar."""
    shutil.copytree(smoke_run.root, tmp_path / "run")
    learner = [tables.rows("ppo", tables.FIRST_SEED, 0), tables.rows("ppo", tables.SECOND_SEED, 1)]
    scripts = [tables.rows("honest", tables.HONEST), tables.rows("random", tables.LIAR)]
    write_parquet(tmp_path / "run" / "episodes.parquet", joined([*learner, *scripts]))
    return RunFolder(tmp_path / "run")


def compared(run: RunFolder, first: str, second: str) -> dict[str, tuple[str, ...]]:
    (table,) = comparisons(run.root / first, run.root / second)
    return {name: cells for name, *cells in table.rows}


def test_a_comparison_of_five_episodes(hand_run: RunFolder) -> None:
    rows = compared(hand_run, "random", "honest")
    assert rows["return (bits)"][:3] == ["1.00", "10.00", "-9.00"]
    assert rows["overclaimed (bits)"][:3] == ["4.00", "0.30", "+3.70"]
    assert rows["refused by debt"][:3] == ["4.00", "0.00", "+4.00"]
    assert rows["refused"][:3] == ["5.00", "0.20", "+4.80"]


def test_seeds_of_a_learner_are_compared_with_the_same_episodes_of_a_script(hand_run: RunFolder) -> None:
    rows = compared(hand_run, "ppo", "honest")
    assert rows["return (bits)"][:3] == ["10.50", "10.00", "+0.50"]
    assert rows["episodes with the higher return"][0] == "40%"


def test_the_interval_of_a_paired_difference_holds_it(hand_run: RunFolder) -> None:
    low, high = map(float, compared(hand_run, "random", "honest")["return (bits)"][3].split(" to "))
    assert -12.0 <= low < -9.0 < high <= -6.0


def test_compare_and_the_results_give_the_same_return(smoke_run: RunFolder) -> None:
    returns = {row.agent: f"{row.mean('return'):.2f}" for row in read_rows(smoke_run.summary)}
    rows = compared(smoke_run, "honest", "random")
    assert rows["return (bits)"][:2] == [returns["honest"], returns["random"]]


def test_runs_are_compared_by_their_common_agents(smoke_run: RunFolder) -> None:
    agents = {row.agent for row in read_rows(smoke_run.summary)}
    compared = list(comparisons(smoke_run.root, smoke_run.root))
    assert len(compared) == len(agents)
    assert {table.rows[0][3] for table in compared} == {"+0.00"}


def test_what_can_not_be_compared_is_one_line(runs: Runs, smoke_run: RunFolder, tmp_path) -> None:
    honest = smoke_run.root / "honest"
    call("compare", honest, smoke_run.root / "honst").refused("no agent of its run; allowed: ", "honest")
    call("compare", honest, tmp_path / "x").refused("no run; allowed: a finished run, or an agent's folder")
    energy = runs("smoke_energy").root / "honest"
    call("compare", honest, energy).refused("labs of Solvent/Energy-v0; allowed: of Solvent/Debt-v0")
