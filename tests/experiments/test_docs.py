"""docs/experiments.md names every key of a config, every file of a run and every column of its tables."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import yaml

from solvent_agents import PLAYERS
from solvent_agents.learning.recipe import Recipe
from solvent_experiments.config.experiment import Evaluation, ExperimentFile
from solvent_experiments.figures import FIGURES
from tests.runs import Level

FOLDER = Path(__file__).resolve().parents[2] / "docs"
DOCS, GALLERY = ((FOLDER / name).read_text(encoding="utf-8") for name in ("experiments.md", "gallery.md"))


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


def test_every_agent_that_needs_no_training_and_every_figure_is_documented() -> None:
    for name in (*PLAYERS, *FIGURES):
        assert f"| `{name}` |" in DOCS, name
    assert re.findall(r"\(img/gallery/(\w+)\.png\)$", GALLERY, re.MULTILINE) == list(FIGURES)


def test_every_file_and_column_is_documented(level: Level) -> None:
    for path in level.folder.root.iterdir():
        assert path.is_dir() or f"`{path.name}`" in DOCS, path.name
    for path in level.folder.root.rglob("*.jsonl"):
        assert f"{path.name}`" in DOCS, path.name
    tables = [level.run.episodes, level.run.traces, level.run.training or {}]
    families = {"refusals_": "<reason>", "intents_": "<class>", "price_": "<verb>", "fair_": "<verb>"}
    families |= {"verdicts_": "<verdict>", "adequacy_": "0"}  # `adequacy_0` to `adequacy_3`
    for column in {name for table in tables for name in table}:
        family = next((name for name in families if column.startswith(name)), None)
        shown = column if family is None else f"{family}{families[family]}"
        assert f"`{shown}`" in DOCS, column
