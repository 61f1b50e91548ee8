"""Agents compared in pairs: five episodes by hand, within a run, between two runs, and what can't be compared."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from solvent_experiments.folder import RunFolder, pairs_of, select
from solvent_experiments.studies.compare import comparisons
from solvent_experiments.summary import read_rows
from tests.commands import call
from tests.experiments import tables


@pytest.fixture
def hand_run(tmp_path: Path) -> RunFolder:
    return tables.written_run(tmp_path / "run")


def compared(run: RunFolder, first: str, second: str) -> dict[str, tuple[str, ...]]:
    (table,) = comparisons(run.root / first, run.root / second)
    return {name: cells for name, *cells in table.rows}


def test_a_comparison_of_five_episodes(hand_run: RunFolder) -> None:
    rows = compared(hand_run, "liar", "honest")
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
    low, high = map(float, compared(hand_run, "liar", "honest")["return (bits)"][3].split(" to "))
    assert -12.0 <= low < -9.0 < high <= -6.0


def test_compare_and_the_results_give_the_same_return(hand_run: RunFolder) -> None:
    returns = {row.agent: f"{row.mean('return'):.2f}" for row in read_rows(hand_run.summary)}
    assert compared(hand_run, "honest", "liar")["return (bits)"][:2] == [returns["honest"], returns["liar"]]


def test_runs_are_compared_by_their_common_agents(hand_run: RunFolder) -> None:
    pairs = list(comparisons(hand_run.root, hand_run.root))
    assert [table.rows[0][3] for table in pairs] == ["+0.00"] * 3


def test_a_run_of_another_level_is_refused(hand_run: RunFolder, tmp_path: Path) -> None:
    other = tables.written_run(tmp_path / "other")
    other.config.write_text(other.config.read_text().replace("Debt-v0", "Energy-v0"))
    ended = call("compare", hand_run.root / "honest", other.root / "honest")
    ended.refused("Solvent/Energy-v0; allowed: of Solvent/Debt-v0")


@pytest.mark.parametrize("path", ["honst", "x/honest"])
def test_what_is_no_agent_of_a_run_is_refused(path: str, hand_run: RunFolder) -> None:
    call("compare", hand_run.root / "honest", hand_run.root / path).refused(path, "allowed: ")
