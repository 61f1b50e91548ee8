"""Tables of a run for other programs."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from solvent_experiments.folder import RunFolder, read_parquet
from tests.commands import call


def test_a_csv_file_has_the_rows_and_columns_of_the_table(smoke_run: RunFolder, tmp_path: Path) -> None:
    call("export", smoke_run.root, "--csv", "--out", tmp_path).succeeded("episodes.csv", "training.csv")
    with (tmp_path / "episodes.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    table = read_parquet(smoke_run.episodes)
    assert list(rows[0]) == list(table)
    assert [float(row["return"]) for row in rows] == pytest.approx(table["return"].tolist())


def test_json_lines_have_the_same(smoke_run: RunFolder, tmp_path: Path) -> None:
    call("export", smoke_run.root, "--jsonl", "--out", tmp_path).succeeded("traces.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "traces.jsonl").read_text().splitlines()]
    assert [row["action"] for row in rows] == read_parquet(smoke_run.traces)["action"].tolist()


def test_what_is_no_finished_run_is_refused(tmp_path: Path) -> None:
    call("export", tmp_path).refused("no run")
    assert list(tmp_path.iterdir()) == []
