"""docs/adequacy.md is true: its code runs and prints what it says, and its commands, options and fields are there."""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import json
import os
import re
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import solvent.adequacy as package
from solvent.adequacy.lexicon import LEXICON, load_lexicon
from solvent.adequacy.responses import KEYS
from solvent.adequacy.scores import ScoreRecord
from solvent_experiments.instruments.adequacy import command as adequacy
from solvent_experiments.instruments.adequacy import options as adequacy_options

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "adequacy.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
COMMANDS = ("score", "label", "thresholds", "patterns", "drift", "ablation")
MODULES = (adequacy, adequacy_options)


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


def test_it_begins_with_the_example_of_the_package() -> None:
    assert textwrap.indent(BLOCKS[0], "    ") in inspect.cleandoc(package.__doc__ or "")


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


# ------------------------------------------------------------------------------------------ recorded numbers


ROOT = Path(__file__).resolve().parents[2]
RECORDED: dict[str, Any] = json.loads((ROOT / "docs/results/adequacy_heuristic.json").read_text("utf-8"))
SAID = " ".join(TEXT.partition("## How good it is")[2].partition("\n## ")[0].split())
BASELINES = {
    "length_only": "number of words",
    "calls_only": "number of calls",
    "majority": "the most frequent label",
    "always_1": "always 1",
}


def told(found: Mapping[str, float]) -> str:
    value = found["value"] if "value" in found else found["share"]
    return f"{value:.2f} [{found['low']:.2f}, {found['high']:.2f}]"


def test_its_numbers_of_the_labelled_set_are_the_recorded_ones() -> None:
    held_out = RECORDED["labelled"]["held_out"]
    for scale in ("epad", "sya", "premises"):
        found = held_out[scale]
        rows = {"heuristic": found["overall"]}
        rows |= {f"baseline: {BASELINES[name]}": one for name, one in found["baselines"].items()}
        for name, one in rows.items():
            row = " | ".join(told(one[measure]) for measure in ("exact", "within_one", "kappa"))
            assert f"| {name} | {row} |" in SAID, (scale, name)
        assert f", {found['overall']['count']} | heuristic |" in SAID
    for label, row in enumerate(held_out["epad"]["overall"]["matrix"]):
        assert f"| {label} | {' | '.join(map(str, row))} |" in SAID
    gains = held_out["epad"]["gains"]
    assert f"difference {told(gains['length_only'])}." in SAID
    assert f"counting calls, by {told(gains['calls_only'])}." in SAID
    assert f"tuned on it had {told(RECORDED['labelled']['dev']['epad']['overall']['kappa'])}." in SAID
    gains = held_out["premises"]["gains"]
    assert f"words by {told(gains['length_only'])}, calls by {told(gains['calls_only'])}." in SAID
    strong = held_out["sya"]["overall"]["matrix"][2:]
    assert (
        f"the {sum(map(sum, strong))} responses labelled 2 or 3 it gives {sum(r[0] for r in strong)}" in SAID
    )


def test_its_numbers_of_search_traces_are_the_recorded_ones() -> None:
    report = RECORDED["seekbench"]["report"]
    names = {"answer_not_found": "share of the answer's words in no result", "few_searches": "few searches"}
    names |= {"short_answer": "short response"}
    rows = {"heuristic": report["auroc"]}
    rows |= {f"baseline: {names[name]}": one for name, one in report["baselines"].items()}
    for name, one in rows.items():
        assert f"| {name} | {told(one)} |" in SAID
    assert f"{report['count']} traces that answer, {report['insufficient']['count']} of them without" in SAID
    assert f"wrong answers its AUROC is {told(report['auroc_wrong'])}." in SAID
    means = [told(report[group]["mean"]) for group in ("insufficient", "sufficient")]
    assert f"{means[0]} without and {means[1]} with a" in SAID
    assert f"explains {told(report['explained'])}" in SAID
    for group, words in (("insufficient", "without"), ("sufficient", "with one")):
        right = report[group]["correct"]
        shares = [f"{right[name]:.0%}".replace("%", " %") for name in ("share", "low", "high")]
        assert f"{shares[0]} [{shares[1]}, {shares[2]}] {words}" in SAID


def test_a_heuristic_that_is_not_the_recorded_one_is_said_to_be_another() -> None:
    folder = ROOT / "envs" / "solvent" / "adequacy"
    scorer = {name: known for name, known in RECORDED["sha256"].items() if name.endswith((".py", ".toml"))}
    assert {"heuristic.py", "lexicon.toml", "claims.py", "evidence.py"} <= set(scorer)
    changed = sorted(
        name
        for name, known in scorer.items()
        if not (folder / name).is_file() or hashlib.sha256((folder / name).read_bytes()).hexdigest() != known
    )
    says_so = "The heuristic has been changed since" in SAID and "They were not measured again" in SAID
    assert says_so == bool(changed), changed
