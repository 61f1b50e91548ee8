"""The first pages, followed word for word in a folder of their own: files are written, commands run in their order.

A block whose first line is a comment with the name of a file is that file. What a page shows below a command has to
come in its output, line by line; spaces between columns don't count, and ``...`` stands for any lines.

To be short, every number that is written with an underscore, as training steps alone are, is divided by 100. On
``doubt.md``, whose commands need a clone, those that are not marked ``# seconds`` are only asked for their help.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
STEPS = re.compile(r"\b\d+_\d+\b")
SHORTER = 100
NOT_CLONED = {".git", ".venv", "runs", "build", "dist"}


def text_of(page: str) -> str:
    return (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")


def shortened(text: str) -> str:
    """The text with a hundredth of the training steps."""
    return STEPS.sub(lambda steps: str(int(steps[0]) // SHORTER), text)


def follow(page: str, folder: Path) -> None:
    """Write the files of a page and run its commands, in their order."""
    for language, text in BLOCK.findall(shortened(text_of(page))):
        if language == "console":
            run_all(text, folder)
        else:
            name = re.match(r"# (\S+\.\w+)\n", text)
            assert name, f"a block without a file's name: {text}"
            (folder / name[1]).write_text(text, encoding="utf-8")


def run_all(console: str, folder: Path) -> None:
    """Run the commands of a block; each has to succeed and to print what stands below it."""
    for part in re.split(r"^\$ ", console, flags=re.MULTILINE)[1:]:
        command, _, promised = part.partition("\n")
        long = "  # " in command and not command.endswith("# seconds")
        output = run([*shlex.split(command, comments=True), *(["--help"] if long else [])], folder)
        came = iter(lines(output))
        missing = [line for line in lines(promised) if line != "..." and line not in came]
        assert not missing, f"{command}: {missing}\n{output}"


def run(command: list[str], folder: Path) -> str:
    """What a command prints, with this Python's programs before others."""
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = os.environ | {"PATH": programs}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, f"{shlex.join(command)}: {done.stderr}"
    return done.stdout


def lines(text: str) -> list[str]:
    """The lines of a text with one space between words."""
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A folder that holds what a clone does, and receives what the commands write."""
    for path in ROOT.iterdir():
        if path.name not in NOT_CLONED:
            (tmp_path / path.name).symlink_to(path)
    return tmp_path


def test_only_training_steps_are_written_with_an_underscore() -> None:
    steps = r"n_timesteps: \d+_\d+|learn\(\d+_\d+"
    for page in ("train", "guard", "doubt"):
        code = "".join(text for _, text in BLOCK.findall(text_of(page)))
        assert len(re.findall(steps, code)) == len(STEPS.findall(code)), page


@pytest.mark.slow
def test_train_leaves_policies_figures_and_a_longer_training(tmp_path: Path) -> None:
    follow("train", tmp_path)
    named = re.findall(r"`(runs/[\w./-]+)`|savefig\(\"([\w.]+)\"\)", text_of("train"))
    assert named
    for path in map("".join, named):
        assert (tmp_path / path).exists(), path
    *_, asked = re.findall(r"# first\.yaml\n.*?n_timesteps: (\d+)", shortened(text_of("train")), re.DOTALL)
    about = json.loads((tmp_path / "runs/first/ppo/seed-0/policy.json").read_text(encoding="utf-8"))
    assert about["recipe"]["n_timesteps"] == int(asked)


@pytest.mark.slow
def test_guard_answers_asks_again_and_leaves_a_review(tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers", reason="the extra `gate` is not installed")
    follow("guard", tmp_path)
    verdicts = (tmp_path / "gate_reviews" / "verdicts.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["verdict"] for line in verdicts] == ["review"]


@pytest.mark.slow
def test_doubt_names_commands_that_run(clone: Path) -> None:
    follow("doubt", clone)
