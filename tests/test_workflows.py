"""The continuous integration calls its own script and `make`, and all that these name exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
SCRIPT = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = set(re.findall(r"^([a-z][a-z-]*)(?= [a-z-]+:|:)", MAKEFILE, re.MULTILINE))
WRITTEN = {"build/site", "build/tests.xml", "dist"}
"""What `make` writes and the workflows keep."""


def steps(workflow: Path) -> list[dict]:
    """The steps of all jobs of a workflow."""
    jobs = yaml.safe_load(workflow.read_text(encoding="utf-8"))["jobs"]
    return [step for job in jobs.values() for step in job["steps"]]


def targets(command: str) -> list[str]:
    """The targets that a line with `make` names."""
    words = command.partition("make ")[2].partition("<")[0].split()
    return [word for word in words if not word.startswith("-")]


LINES = [step["run"] for workflow in WORKFLOWS for step in steps(workflow) if "run" in step]
MADE = [line for line in [*LINES, *SCRIPT.splitlines()] if re.match(r"make\b", line)]


@pytest.mark.parametrize("line", LINES)
def test_a_workflow_runs_the_script_or_make(line: str) -> None:
    assert re.fullmatch(r"\.ci/run|make [a-z-]+", line)


@pytest.mark.parametrize("line", MADE)
def test_the_targets_that_are_called_exist(line: str) -> None:
    assert targets(line)
    assert set(targets(line)) <= TARGETS


def test_the_script_runs_the_checks_that_a_pull_request_needs() -> None:
    called = {target for line in SCRIPT.splitlines() if line.startswith("make ") for target in targets(line)}
    assert called == {"install", "test-all", "lint", "types", "docs"}


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_what_a_workflow_keeps_is_what_make_writes(workflow: Path) -> None:
    kept = {step["with"]["path"] for step in steps(workflow) if "path" in step.get("with", {})}
    assert kept <= WRITTEN
    assert all(path in MAKEFILE for path in kept)


@pytest.mark.parametrize("text", [SCRIPT, MAKEFILE], ids=["script", "makefile"])
def test_the_files_that_are_named_exist(text: str) -> None:
    named = re.findall(r"(?<![\w./-])(?:tests|configs|\.github)/[\w./-]+", text)
    assert named
    assert [name for name in named if not (ROOT / name.rstrip(".")).exists()] == []


def test_the_script_can_be_executed() -> None:
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o100
