"""The command line: help for every command, one line for every error, a next step at the end."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer.main

from solvent import preset
from solvent_agents.exact.exact import load_graph
from solvent_experiments.cli import app
from solvent_experiments.console import Progress, complain, new_console
from solvent_experiments.folder import RunFolder
from solvent_experiments.text import visible
from tests.commands import call, console, written


def commands(command: object, name: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    inner = getattr(command, "commands", {})
    return [name, *(result for word, part in inner.items() for result in commands(part, (*name, word)))]


@pytest.mark.parametrize("words", commands(typer.main.get_command(app)), ids=" ".join)
def test_every_command_has_help(words: tuple[str, ...]) -> None:
    call(*words, "--help").succeeded("Usage: solvent")


def test_evaluate_compares_agents_and_shipped_policies() -> None:
    ended = call("evaluate", "hermit", "ppo:Solvent/Tiny-v0", "--episodes", 20)
    ended.succeeded("hermit", "ppo:", "Solvent/Tiny-v0, seeds 10000 to 10019", "Next: `solvent play --env")


def test_environments_are_listed() -> None:
    call("envs").succeeded("Solvent/Lab-v0", "Next:")


@pytest.mark.parametrize(
    "given", [("onest",), ("ppo:Solvent/Nowhere-v0",), ("honest", "--env", "Solvent/Dept-v0")]
)
def test_what_can_not_be_evaluated_is_one_line(given: tuple[str, ...]) -> None:
    call("evaluate", *given).refused(given[-1])


def test_solve_writes_the_optimal_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On Tiny with two of its five heartbeats: all of it takes minutes."""
    tiny = preset("tiny")
    small = tiny.replace(budget=tiny.budget.replace(heartbeats=2))
    monkeypatch.setattr("solvent_experiments.config.environment_params", lambda _: small)
    output = call("solve", "--out", tmp_path / "tiny", "--quiet")
    output.succeeded("bits per episode", "states", "publish nocodazole at 0.75", "Next:")
    result = load_graph(tmp_path / "tiny" / "policy.npz")
    assert f"{result.about['optimum']:.6f} bits" in output.out
    assert result.params == small


@pytest.mark.parametrize("command", ["figures", "report", "leaderboard"])
def test_what_is_no_run_is_one_line(command: str, tmp_path: Path) -> None:
    call(command, tmp_path).refused(str(tmp_path), "no run")
    (tmp_path / "config.yaml").write_text("name: x\nagents: [random]\n")
    call(command, tmp_path).refused("unfinished")


def test_figures_are_drawn_again(smoke_run: RunFolder) -> None:
    call("figures", smoke_run.root).succeeded("episode.png", "Next: `solvent report")
    assert (smoke_run.figures / "episode.pdf").read_bytes().startswith(b"%PDF")


def test_unknown_options_are_one_line() -> None:
    for arguments in (("rum",), ("run",), ("run", "x.yaml", "--sed", "1"), ("run", "x.yaml", "--jobs", "0")):
        call(*arguments).refused("See: solvent")


def test_text_from_outside_is_made_visible(capsys: pytest.CaptureFixture[str]) -> None:
    assert visible("a\x1b[2J\u202e\n", kept="\n") == "a\\x1b[2J\\u202e\n"
    complain("x" * 2000 + "\n allowed: less")
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    assert line.endswith("allowed: less\n")
    assert len(line) < 1100


def test_progress_is_bars_on_a_terminal_and_lines_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    for terminal in (True, False):
        page = console(force_terminal=terminal, color_system=None)
        clock = iter(range(0, 1000, 6))
        monkeypatch.setattr("solvent_experiments.console.time.monotonic", lambda clock=clock: next(clock))
        with Progress(page) as progress:
            for done in range(1, 5):
                progress.update("whole run", done / 10, f"{done} of 10")
            progress.end("whole run", "done")
        assert "of 10" in written(page)
        assert "whole run: done" in written(page)
    quiet = console()
    with Progress(quiet, quiet=True) as progress:
        progress.update("x", 0.5, "half")
        progress.end("x", "done")
    assert written(quiet) == ""
    assert new_console().width >= 80
