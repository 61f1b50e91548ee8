"""Summaries and the leaderboard: numbers by hand, kept in JSON and read again, and shown as tables."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from solvent import preset
from solvent_experiments.folder import Columns, RunFolder
from solvent_experiments.leaderboard import leaderboard_markdown, leaderboard_table, read_entries
from solvent_experiments.statistics import Interval
from solvent_experiments.summary import read_rows, result_tables, summary
from solvent_experiments.table import Table
from tests.commands import call

ROOT = Path(__file__).parents[2]


def episodes(**returns: list[float]) -> Columns:
    agents = np.concatenate([np.full(len(values), agent, object) for agent, values in returns.items()])
    column = np.concatenate(list(returns.values()))
    zeros = np.zeros(len(column))
    flat = dict.fromkeys(("debt", "refusals", "accepted", "wrong", "debt_added"), zeros)
    return {"agent": agents, "training_seed": zeros - 1, "episode_seed": zeros, "return": column, **flat}


def test_summary_by_hand() -> None:
    rows = summary(episodes(low=[1.0, 2.0, 3.0, 100.0], honest=[10.0] * 4), preset("default"))
    assert [row.agent for row in rows] == ["honest", "low"]
    low = rows[1]
    assert low.score.value == 2.5
    assert low.interval("honest_share").value == 0.25
    assert low.interval("ceiling_share").value == pytest.approx(2.5 / 24)
    assert (low.seeds, low.episodes, low.mean("accepted"), low.mean("nothing")) == (1, 4, 0.0, 0.0)
    assert low.interval("over_honest").value == pytest.approx(16.5)
    assert low.mean("better_than_honest") == 0.25
    assert rows[0].interval("honest_share") == Interval(1.0, 1.0, 1.0)


def test_kept_summary_is_read_again(smoke_run: RunFolder, smoke_lab_run: RunFolder) -> None:
    rows = read_rows(smoke_run.summary)
    assert [row.agent for row in rows] == [
        row["agent"] for row in json.loads(smoke_run.summary.read_text())["agents"]
    ]
    assert rows[0].score.low <= rows[0].score.value <= rows[0].score.high
    table, paired = result_tables(rows, title="x", mark="CONTAMINATED")
    assert len(paired.rows) == len(rows) - 1
    assert table.title == "x\nCONTAMINATED"
    assert table.rows[0][0] == rows[0].agent
    shown = result_tables(read_rows(smoke_lab_run.summary))
    assert [each.headings[1] for each in shown[2:]] == ["energy\nspent", "ac-\ncepted", "score\n0"]


def test_cells_are_escaped() -> None:
    table = Table(("a",), (("x|\x1b[2J<b>",),))
    assert r"x\|\x1b[2J" in table.markdown()
    assert "&lt;b&gt;" in table.html()


KEPT = ROOT / "docs" / "results" / "leaderboard.json"


def test_leaderboard_of_kept_results_is_that_of_the_readme() -> None:
    table = leaderboard_table(read_entries([KEPT]), "Solvent/Debt-v0").markdown()
    assert table in (ROOT / "README.md").read_text(encoding="utf-8")
    page = leaderboard_markdown(read_entries([KEPT]))
    assert table in page
    assert page in (ROOT / "docs" / "leaderboard.md").read_text(encoding="utf-8")


def without_honest(run: RunFolder, to: Path) -> Path:
    """A copy of a run whose honest script is missing from the summary."""
    shutil.copytree(run.root, to, ignore=shutil.ignore_patterns("*.parquet", "figures"))
    summary = json.loads((to / "summary.json").read_text())
    kept = [row for row in summary["agents"] if row["agent"] != "honest"]
    agents = [{key: value for key, value in row.items() if key != "honest_share"} for row in kept]
    (to / "summary.json").write_text(json.dumps({**summary, "agents": agents}))
    return to


def test_leaderboard_refuses_what_it_can_not_compare(smoke_run: RunFolder, tmp_path: Path) -> None:
    call("leaderboard", tmp_path).refused("no run")
    call("leaderboard", KEPT, KEPT).refused("a second run named")
    entries = read_entries([without_honest(smoke_run, tmp_path / "run"), KEPT])
    assert list(entries) == list(read_entries([KEPT]))
    call("leaderboard", tmp_path / "run").refused("no honest script with a return above 0")
    (tmp_path / "run" / "summary.json").write_text('{"agents": [{"agent": "honest"}]}')
    call("leaderboard", tmp_path / "run").refused("summary.json: not a summary")
    (tmp_path / "x.json").write_text("{}")
    (tmp_path / "y.json").write_text('{"a": {"level": 3}}')
    call("leaderboard", tmp_path / "y.json").refused("something else")
