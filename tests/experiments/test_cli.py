"""The command line as a newcomer meets it."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from solvent import ENVIRONMENTS, __version__, read_refusals_jsonl
from solvent_agents.exact.exact import load_graph
from solvent_experiments.artifacts.folder import RunFolder
from solvent_experiments.artifacts.parquet import read_parquet
from solvent_experiments.cli import app as cli
from solvent_experiments.cli.compare import short_names

COMMANDS = (
    "run",
    "evaluate",
    "play",
    "figures",
    "report",
    "envs",
    "solve",
    "tune",
    "tools",
    "explain",
    "proposals",
    "gate",
    "study",
)


def call(monkeypatch: pytest.MonkeyPatch, *arguments: str, typed: str = "") -> int:
    """Exit code of the command line, with ``typed`` at the keyboard."""
    monkeypatch.setattr(sys, "argv", ["solvent", *arguments])
    monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
    with pytest.raises(SystemExit) as left:
        cli.main()
    return 0 if left.value.code is None else int(left.value.code)  # type: ignore[arg-type]


def test_help_needs_nothing_heavy() -> None:
    code = (
        "import sys; sys.argv = ['solvent', '--help']\n"
        "from solvent_experiments.cli.app import main\n"
        "try: main()\n"
        "except SystemExit as left: assert not left.code\n"
        "heavy = {'torch', 'matplotlib', 'numba', 'pyarrow', 'pydantic', 'solvent', 'scipy'} & set(sys.modules)\n"
        "heavy |= {'sqlalchemy', 'alembic', 'psycopg', 'mcp'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert result.returncode == 0, result.stderr
    for command in COMMANDS:
        assert f" {command} " in result.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_and_an_example(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch, command, "--help") == 0
    shown = capsys.readouterr().out
    assert f"Usage: solvent {command}" in shown
    # These are groups: each of their commands has an example of its own.
    assert command in ("envs", "proposals", "gate", "study") or "Example" in shown


def test_version_and_no_arguments(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch, "--version") == 0
    assert capsys.readouterr().out == f"solvent {__version__}\n"
    assert call(monkeypatch) == 0
    assert "quickstart" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("rnu",), "Did you mean 'run'"),
        (("run",), "Missing argument 'CONFIG'"),
        (("run", "x.yaml", "--jobs", "0"), "--jobs"),
        (("run", "x.yaml", "--job", "2"), "--jobs"),
        (("evaluate", "onest"), "did you mean 'honest'"),
        (("evaluate", "none/policy.safetensors"), "no such file"),
        (("evaluate", "none/model.zip"), "no such file"),
        (("evaluate", "dqn:Solvent/Debt-v7"), "no policy of this name is shipped"),
        (("evaluate", "ppo:Solvent/Debt-v0", "--env", "Solvent/Energy-v0"), "these labs have 202"),
        (("evaluate", "honest", "--env", "Solvent/Debt-v1"), "did you mean 'Solvent/Debt-v0'"),
        (("evaluate", "honest", "--episodes", "0"), "--episodes"),
        (("evaluate", "honest", "hermit", "--ledger", "x.jsonl"), "allowed: one"),
        (("play", "--env", "Chess-v0"), "unknown environment"),
        (("play", "--agent", "onest"), "did you mean 'honest'"),
        (("figures", "nowhere"), "no run"),
        (("figures",), "no finished run"),
        (("report",), "Missing argument 'RUN...'"),
        (("report", "nowhere"), "no run"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_mistake_is_one_line(
    arguments: tuple[str, ...],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert call(monkeypatch, *arguments) == 2
    shown = capsys.readouterr()
    assert shown.err.count("\n") == 1
    assert said in shown.err
    assert not list(tmp_path.iterdir())


def test_debug_shows_the_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["solvent", "--debug", "run", "none.yaml"])
    try:
        with pytest.raises(ValueError, match="no such file"):
            cli.main()
    finally:
        cli._State.debug = False


def test_environments_are_listed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(monkeypatch, "envs") == 0
    shown = capsys.readouterr().out
    for env in ENVIRONMENTS:
        assert env in shown
    assert " 180 " in shown


def test_evaluate_scripted_and_learned_agents(
    smoke_run: RunFolder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out, ledger = tmp_path / "e.parquet", tmp_path / "r.jsonl"
    model = str(smoke_run.unit("ppo", 0).model)
    assert call(monkeypatch, "evaluate", "hermit", model, "--episodes", "5", "--out", str(out)) == 0
    assert "interval" in capsys.readouterr().out
    assert sorted(set(read_parquet(out)["agent"])) == ["hermit", "ppo/seed-0"]
    assert call(monkeypatch, "evaluate", "ppo:Solvent/Debt-v0", "--episodes", "5") == 0
    assert "ppo:Solvent/Debt-v0" in capsys.readouterr().out
    assert call(monkeypatch, "evaluate", "random", "--episodes", "5", "--ledger", str(ledger)) == 0
    assert read_refusals_jsonl(ledger)
    before = ledger.read_bytes()
    assert call(monkeypatch, "evaluate", "random", "--episodes", "5", "--ledger", str(ledger)) == 2
    assert ledger.read_bytes() == before


def test_a_model_is_named_by_its_last_folders() -> None:
    assert short_names(["honest", "runs/a/ppo/seed-0/policy.safetensors"]) == ["honest", "ppo/seed-0"]
    assert short_names(["runs/a/ppo/seed-0/policy.safetensors", "runs/b/ppo/seed-0/policy.safetensors"]) == [
        "a/ppo/seed-0",
        "b/ppo/seed-0",
    ]
    assert short_names(["policy.safetensors", "x/other.zip"]) == ["policy.safetensors", "x/other.zip"]


def test_play_to_the_end(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A wrong answer is asked again; then a claim, a finding, and rest until the horizon."""
    typed = "nine\n99\n5\n0\n7\n" + "7\n0\n2\n" + "0\n" * 40
    assert call(monkeypatch, "play", "--seed", "3", typed=typed) == 0
    shown = capsys.readouterr().out
    assert "A number from 0 to 7, or q." in shown
    assert "How many bits do you claim to learn?" in shown
    assert "dmso             a short plate of vehicle wells, 8 wells; repays debt" in shown
    assert "names your most probable potency, pays half" in shown
    assert "nocodazole: most probable " in shown
    assert "How sure are you?" in shown
    assert "Over (horizon)" in shown
    assert "The truth: nocodazole " in shown


@pytest.mark.parametrize("typed", ["", "q\n", "4\nquit\n", "4\n2\n"])
def test_play_can_be_left_at_any_question(
    typed: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch, "play", typed=typed) == 0
    assert "You left" in capsys.readouterr().out


def test_watch_an_agent(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for agent in ("honest", "random"):
        assert call(monkeypatch, "play", "--agent", agent, "--delay", "0") == 0
        assert "Over (" in capsys.readouterr().out


# -- solve ---------------------------------------------------------------------------------------

TWO_BEATS = "name: two\nenv: Solvent/Tiny-v0\nagents: [random]\nparams: {budget: {heartbeats: 2}}\n"


def test_solve_shows_and_writes_an_optimum(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config, out = tmp_path / "two.yaml", tmp_path / "out"
    config.write_text(TWO_BEATS, encoding="utf-8")
    assert call(monkeypatch, "solve", "--config", str(config), "--out", str(out), "--episodes", "500") == 0
    said = capsys.readouterr().out
    assert "optimum" in said
    assert "screen" in said or "dose response" in said  # the policy as a tree
    summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    states = read_parquet(out / "states.parquet")
    assert len(states["value"]) == summary["states"] > 10
    assert states["value"][0] == summary["optimum"]
    assert summary["simulated"]["episodes"] == 500
    assert load_graph(out / "policy.npz").about["optimum"] == summary["optimum"]


@pytest.mark.parametrize("env", ["Solvent/Lab-v0", "Solvent/Debt-v0"])
def test_solve_refuses_what_is_too_large_in_one_line(
    monkeypatch: pytest.MonkeyPatch, env: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch, "solve", "--env", env) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "allowed" in error
