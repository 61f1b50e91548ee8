"""A command for people ends with what to do next; one for programs with its data alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from solvent_experiments.artifacts.folder import RunFolder
from tests.commands import call

COMMANDS = (
    ("envs",),
    ("evaluate", "honest", "--env", "Solvent/Tiny-v0", "--episodes", "3"),
    ("study", "list"),
    ("proposals", "register"),
    ("proposals", "list"),
    ("proposals", "prices"),
)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_command_ends_with_what_to_do_next(
    command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if command[0] == "proposals":
        call("proposals", "register").succeeded()
    assert call(*command).succeeded().splitlines()[-1].startswith("Next: ")


def test_the_claims_of_studies_stand_apart_in_the_list() -> None:
    listed = call("study", "list").succeeded()
    assert "\\n" not in listed
    assert any(not line.strip() for line in listed.splitlines()[2:-2])


def test_what_a_program_reads_has_nothing_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    call("proposals", "register").succeeded()
    for command in ("list", "prices"):
        json.loads(call("proposals", command, "--json").out)


def test_figures_and_report_say_how_to_look_at_a_run(smoke_run: RunFolder, tmp_path: Path) -> None:
    page = tmp_path / "a page.html"
    ended = call("report", str(smoke_run.root), "--out", str(page), "--quiet")
    assert page.as_uri() in ended.out.splitlines()[-1]
