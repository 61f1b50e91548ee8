"""docs/adequacy.md is true: its code runs and prints what it says, and its commands, options and fields are there."""

from __future__ import annotations

import dataclasses
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from solvent.adequacy.lexicon import LEXICON, load_lexicon
from solvent.adequacy.scores import ScoreRecord
from solvent_experiments import adequacy, adequacy_failures, adequacy_options, adequacy_studies
from solvent_experiments.adequacy_responses import KEYS

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "adequacy.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
COMMANDS = ("score", "label", "thresholds", "patterns", "drift", "evaluate", "ablation")
MODULES = (adequacy, adequacy_failures, adequacy_options, adequacy_studies)


def run(arguments: list[str], folder: Path) -> str:
    environment = {**os.environ, "SOLVENT_CACHE": str(folder)}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def cells(table: str) -> list[str]:
    """The lines without their spacing and rules."""
    return [
        " ".join(line.split())
        for line in table.splitlines()
        if line.strip(" \N{BOX DRAWINGS LIGHT HORIZONTAL}")
    ]


def test_its_code_runs_and_prints_what_it_says(tmp_path: Path) -> None:
    assert BLOCKS
    for block in BLOCKS:
        shown = re.sub(r"prompt='[\w-]+'", "prompt='PROMPT'", run(["-c", block], tmp_path))
        assert shown.splitlines() == re.findall(r"print\(.*?\)  # (.*)", block)


def test_its_first_example_is_what_the_command_shows(tmp_path: Path) -> None:
    (lines,) = re.findall(r"```json\n(.*?)```", TEXT, re.DOTALL)
    (tmp_path / "responses.jsonl").write_text(lines, encoding="utf-8")
    command = r"```console\n\$ solvent (adequacy score responses\.jsonl)\n(.*?)```"
    ((arguments, told),) = re.findall(command, TEXT, re.DOTALL)
    shown = run(["-m", "solvent_experiments", *arguments.split(), "-q"], tmp_path)
    assert cells(shown) == cells(told)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_there(command: str) -> None:
    assert f"### `{command}`" in TEXT
    names = {
        found.name or getattr(found.callback, "__name__", "") for found in adequacy.app.registered_commands
    }
    assert names == set(COMMANDS)


def test_every_option_is_an_option() -> None:
    source = "".join(Path(module.__file__ or "").read_text(encoding="utf-8") for module in MODULES)
    for option in set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", TEXT)):
        name = option.removeprefix("--").replace("-", "_")
        assert re.search(rf'"{option}[/"]|/{option}"', source) or re.search(
            rf"^    {name}: ", source, re.MULTILINE
        ), option


def test_every_field_of_a_score_and_every_key_of_a_response_is_there() -> None:
    for field in dataclasses.fields(ScoreRecord):
        assert f"`{field.name}`" in TEXT, field.name
    for key in KEYS:
        assert f"`{key}`" in TEXT, key


def test_its_matrix_is_the_lexicon_s() -> None:
    rows = tomllib.loads(LEXICON.read_text(encoding="utf-8"))["matrix"]
    for name, cells in rows.items():
        assert f"| {name} | {' | '.join(map(str, cells))} |" in TEXT
    assert load_lexicon().counts == (1, 2, 4, 2)


def test_every_file_that_it_names_is_there() -> None:
    root = Path(__file__).resolve().parents[2]
    for name in set(re.findall(r"`((?:docs|envs|tests)/[\w/.]+)`", TEXT)):
        assert (root / name).is_file(), name
