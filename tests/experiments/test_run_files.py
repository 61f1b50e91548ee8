"""A finished run with one file that no run wrote: the commands that read it say so in one line."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from solvent_experiments.artifacts.folder import RunFolder
from solvent_experiments.artifacts.parquet import read_parquet, select, write_parquet
from solvent_experiments.config.documents import dump_yaml, read_document
from tests.commands import call


@pytest.fixture
def run(smoke_run: RunFolder, tmp_path: Path) -> RunFolder:
    return RunFolder(Path(shutil.copytree(smoke_run.root, tmp_path / "run")))


DEEP = "[" * 100_000
SUMMARIES: dict[str, Any] = {
    "nested": DEEP,
    "a list": [],
    "no agents": {},
    "agents that are a number": {"agents": 5},
    "an agent that is none": {"agents": [None]},
    "a score that is text": {"agents": [{"agent": "x", "seeds": 1, "episodes": 1, "score": "1"}]},
    "a score of texts": {
        "agents": [
            {"agent": "x", "seeds": 1, "episodes": 1, "score": {"value": "a", "low": "b", "high": "c"}}
        ]
    },
    "an endless number": {"agents": [{"agent": "x", "seeds": 10**400, "episodes": 1, "score": 10**400}]},
}


@pytest.mark.parametrize("content", SUMMARIES.values(), ids=SUMMARIES)
def test_a_summary_that_no_run_wrote(content: Any, run: RunFolder) -> None:
    run.summary.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    call("figures", run.root).refused("summary.json: ", "allowed: as `solvent run` wrote it")


CONFIGS: dict[str, dict[str, Any]] = {
    "seeds": {"seeds": 5},
    "parameters": {"params": {"debt": []}},
    "learners": {"train": ["ppo"]},
    "a learner elsewhere": {"train": {"../../x": {}}},
    "a level": {"env": "Solvent/None-v0"},
}


@pytest.mark.parametrize("changes", CONFIGS.values(), ids=CONFIGS)
def test_a_config_that_no_run_wrote(changes: dict[str, Any], run: RunFolder) -> None:
    run.config.write_text(dump_yaml({**read_document(run.config).data, **changes}), encoding="utf-8")
    call("figures", run.root).refused("config.yaml, line ", next(iter(changes)))


def test_seeds_of_another_type_are_another_config(run: RunFolder, smoke_config: Path) -> None:
    text = run.config.read_text(encoding="utf-8")
    run.config.write_text(dump_yaml({**read_document(run.config).data, "seeds": 5}), encoding="utf-8")
    call("run", smoke_config, "--out", run.root).refused("another config", "seeds: 5 there")
    run.config.write_text(text, encoding="utf-8")


def swap(one: Path, other: Path) -> None:
    content = one.read_bytes()
    shutil.copyfile(other, one)
    other.write_bytes(content)


@pytest.mark.parametrize("command", ["figures", "report"])
def test_tables_that_were_swapped(command: str, run: RunFolder) -> None:
    swap(run.episodes, run.traces)
    call(command, run.root).refused("episodes.parquet: has no column 'return'")
    shutil.copyfile(run.episodes, run.traces)
    call(command, run.root).refused("episodes.parquet: has no column")


@pytest.mark.parametrize("command", ["figures", "report"])
def test_traces_of_other_agents(command: str, run: RunFolder) -> None:
    traces = read_parquet(run.traces)
    write_parquet(run.traces, select(traces, traces["agent"] != traces["agent"][0]))
    call(command, run.root).refused("traces.parquet: the traces of other episodes")


def test_traces_that_go_on_after_the_horizon(run: RunFolder) -> None:
    traces = read_parquet(run.traces)
    write_parquet(run.traces, {**traces, "heartbeat": traces["heartbeat"] + 1000})
    call("figures", run.root).refused("traces.parquet: the traces of other episodes")


def test_a_table_that_is_damaged_or_no_file(run: RunFolder) -> None:
    os.truncate(run.traces, 100)
    call("figures", run.root).refused("traces.parquet: damaged (")
    run.traces.write_bytes(b"")
    call("figures", run.root).refused("traces.parquet: damaged (")
    run.traces.unlink()
    os.mkfifo(run.traces)
    call("figures", run.root).refused("traces.parquet: damaged (", "not a regular file")
