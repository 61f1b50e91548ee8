"""docs/experiments.md names every key of a config, every file of a run and every column of its tables."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import yaml

from solvent_agents import AGENTS
from solvent_agents.recipe import Recipe
from solvent_experiments.columns import read_parquet
from solvent_experiments.config import Evaluation, ExperimentFile
from solvent_experiments.figures import FIGURES
from solvent_experiments.store import RunFolder

DOCS = Path(__file__).resolve().parents[2].joinpath("docs", "experiments.md").read_text(encoding="utf-8")


def test_every_key_is_documented_with_its_default() -> None:
    for name in ExperimentFile.model_fields:
        assert f"| `{name}` |" in DOCS or f"| `{name}." in DOCS, name
    for name, field in Evaluation.model_fields.items():
        assert f"| `evaluation.{name}` | {field.default} |" in DOCS, name


def test_every_key_of_a_recipe_is_documented_with_its_default() -> None:
    for field in dataclasses.fields(Recipe):
        if field.name not in ("algorithm", "hyperparameters"):
            (row,) = (line for line in DOCS.splitlines() if line.startswith(f"| `{field.name}` |"))
            default = row.split("|")[2].strip().strip("`")
            written = yaml.safe_load(default) if default else dataclasses.MISSING
            assert written == field.default, field.name


def test_every_scripted_agent_is_documented() -> None:
    for name in AGENTS:
        assert f"| `{name}` |" in DOCS, name


def test_every_figure_is_documented() -> None:
    for name in FIGURES:
        assert f"| `{name}` |" in DOCS, name


def test_every_file_and_column_is_documented(smoke_run: RunFolder) -> None:
    for path in smoke_run.root.iterdir():
        assert path.is_dir() or f"`{path.name}`" in DOCS, path.name
    for table in (smoke_run.episodes, smoke_run.training, smoke_run.traces):
        for column in read_parquet(table):
            shown = "refusals_<reason>" if column.startswith("refusals_") else column
            assert f"`{shown}`" in DOCS, column
