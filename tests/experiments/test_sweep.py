"""Sweeps: the experiments of a config's values, their runs, table and figure, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from solvent_experiments.config import read_yaml
from solvent_experiments.sweep import load_sweep
from tests.commands import call

CONFIG = """
name: s
agents: [hermit, random]
params: {budget: {heartbeats: 6}}
evaluation: {episodes: 4, trace_episodes: 1}
"""


def test_each_combination_is_an_experiment(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(
        CONFIG + "sweep: {debt.threshold: [1.0, 2], debt.enforced: [true, false]}\n"
    )
    found = load_sweep(read_yaml(tmp_path / "s.yaml"), tmp_path / "s.yaml")
    assert list(found) == [
        f"debt.threshold={t}, debt.enforced={e}" for t in ("1.0", "2") for e in ("true", "false")
    ]
    rules = [
        (one.lab.debt.threshold, one.lab.debt.enforced, one.lab.budget.heartbeats) for one in found.values()
    ]
    assert rules == [(1.0, True, 6), (1.0, False, 6), (2.0, True, 6), (2.0, False, 6)]


@pytest.mark.slow
def test_sweep_leaves_runs_a_table_and_a_figure(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(CONFIG + "sweep: {debt.threshold: [1.0, 3.0]}\n")
    out = tmp_path / "out"
    shown = call("run", tmp_path / "s.yaml", "--out", out, "--jobs", "1").succeeded()
    assert "debt.threshold=3.0" in shown
    rows = json.loads((out / "sweep.json").read_text())
    assert [(row["lab"], row["agent"]) for row in rows if row["agent"] == "hermit"] == [
        ("debt.threshold=1.0", "hermit"),
        ("debt.threshold=3.0", "hermit"),
    ]
    assert {row["value"] for row in rows if row["agent"] == "hermit"} == {0.0}
    assert (out / "sweep.png").stat().st_size > 10_000
    call("compare", out / "debt.threshold-1.0", out / "debt.threshold-3.0").succeeded()


@pytest.mark.parametrize(
    ("sweep", "said"),
    [
        ("3", "sweep: got 3; allowed: parameters with lists of values"),
        ("{debt.treshold: [1.0]}", "params.debt.treshold: unknown"),
        ("{budget.heartbeats: [3]}", "sweep: budget.heartbeats is among the params too"),
        (f"{{debt.threshold: {[1.0] * 101}}}", "sweep: 101 runs; allowed: 1 to 100"),
    ],
)
def test_wrong_sweep_is_one_line(sweep: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(CONFIG + f"sweep: {sweep}\n")
    call("run", tmp_path / "s.yaml").refused(said)
