"""Agents compared in pairs: five episodes by hand, within a run, between two runs, and what can't be compared."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from solvent_experiments.compare import comparisons
from solvent_experiments.folder import RunFolder, joined, pairs_of, select, write_parquet
from solvent_experiments.summary import read_rows
from tests.commands import call
from tests.experiments import tables


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


def test_episodes_are_paired_by_their_seeds() -> None:
    other_order = select(tables.rows("honest", tables.HONEST), np.array([4, 0, 3, 1, 2]))
    _, honest = pairs_of(tables.rows("liar", tables.LIAR), other_order)
    assert honest["return"].tolist() == tables.HONEST["return"]


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


def test_a_run_of_another_level_is_refused(hand_run: RunFolder, smoke_run: RunFolder) -> None:
    hand_run.config.write_text(hand_run.config.read_text().replace("Debt-v0", "Energy-v0"))
    refused = call("compare", smoke_run.root / "honest", hand_run.root / "honest")
    refused.refused("Solvent/Energy-v0; allowed: of Solvent/Debt-v0")


@pytest.mark.parametrize("path", ["honst", "x/honest"])
def test_what_is_no_agent_of_a_run_is_refused(path: str, smoke_run: RunFolder) -> None:
    call("compare", smoke_run.root / "honest", smoke_run.root / path).refused(path, "allowed: ")
