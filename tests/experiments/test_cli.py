"""The command line as a newcomer meets it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from solvent import ENVIRONMENTS, __version__, read_refusals_jsonl
from solvent_agents.exact.exact import load_graph
from solvent_experiments.artifacts.folder import RunFolder
from solvent_experiments.artifacts.parquet import read_parquet
from solvent_experiments.cli import app as cli
from solvent_experiments.cli.compare import environments_table, short_names
from tests.commands import call, console, execute_python, written

COMMANDS = [command.name or command.callback.__name__ for command in cli.app.registered_commands]
GROUPS = [group.name for group in cli.app.registered_groups]


def test_help_needs_nothing_heavy() -> None:
    heavy = {
        "torch",
        "matplotlib",
        "numba",
        "pyarrow",
        "pydantic",
        "solvent",
        "scipy",
        "sqlalchemy",
        "alembic",
    }
    heavy |= {"psycopg", "mcp"}
    shown = execute_python(f"""
import sys
sys.argv = ["solvent", "--help"]
from solvent_experiments.cli.app import main
try: main()
except SystemExit as left: assert not left.code
assert not {heavy} & set(sys.modules), {heavy} & set(sys.modules)
""").succeeded()
    for command in (*COMMANDS, *GROUPS):
        assert f" {command} " in shown


@pytest.mark.parametrize("command", [*COMMANDS, *GROUPS])
def test_every_command_has_help_and_an_example(command: str) -> None:
    shown = call(command, "--help").succeeded(f"Usage: solvent {command}")
    # Each command of a group has an example of its own; `envs` takes no arguments.
    assert command in ("envs", *GROUPS) or "Example" in shown


def test_version_and_no_arguments() -> None:
    assert call("--version") == (0, f"solvent {__version__}\n", "")
    call().succeeded("quickstart")


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
        (("evaluate", "/dev/zero"), "allowed: a policy file"),
        (("evaluate", "/dev/null/policy.safetensors"), "Not a directory"),
        (("evaluate", "\x1b[2J\u202e\n"), r"unknown agent '\x1b[2J\u202e\n'"),
        (("\x1b[2J",), r"No such command '\x1b[2J'"),
        (("run", "\x1b]0;x\x07.yaml"), r"\x1b]0;x\x07.yaml: no such file"),
        (("solve", "--env", "x" * 5000), "xxx … xxx"),
        (("evaluate", "dqn:Solvent/Debt-v7"), "no policy of this name is shipped"),
        (("evaluate", "ppo:Solvent/Debt-v0", "--env", "Solvent/Energy-v0"), "these labs have 203"),
        (("evaluate", "honest", "--env", "Solvent/Debt-v1"), "did you mean 'Solvent/Debt-v0'"),
        (("evaluate", "honest", "--episodes", "0"), "--episodes"),
        (("evaluate", "honest", "hermit", "--ledger", "x.jsonl"), "allowed: one"),
        (("play", "--env", "Chess-v0"), "unknown environment"),
        (("play", "--agent", "onest"), "did you mean 'honest'"),
        (("play", "--agent", "honest", "--delay", "inf"), "--delay"),
        (("figures", "nowhere"), "no run"),
        (("figures",), "no finished run"),
        (("report",), "Missing argument 'RUN...'"),
        (("report", "nowhere"), "no run"),
        (("leaderboard", "nowhere"), "no run"),
    ],
    ids=lambda value: " ".join(value)[:60] if isinstance(value, tuple) else "",
)
def test_a_mistake_is_one_line(
    arguments: tuple[str, ...], said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    call(*arguments).refused(said)
    assert not list(tmp_path.iterdir())


def test_debug_shows_the_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["solvent", "--debug", "run", "none.yaml"])
    try:
        with pytest.raises(ValueError, match="no such file"):
            cli.main()
    finally:
        cli._State.debug = False


@pytest.mark.parametrize("width", [80, 120])
def test_environments_are_listed(width: int) -> None:
    assert " 154 " in call("envs").succeeded(*ENVIRONMENTS)
    page = console(width)
    page.print(environments_table())
    assert "\N{HORIZONTAL ELLIPSIS}" not in written(page)


def test_evaluate_scripted_and_learned_agents(smoke_run: RunFolder, tmp_path: Path) -> None:
    out, ledger = tmp_path / "e.parquet", tmp_path / "r.jsonl"
    model = smoke_run.unit("ppo", 0).model
    call("evaluate", "hermit", model, "--episodes", "5", "--out", out).succeeded("interval")
    assert sorted(set(read_parquet(out)["agent"])) == ["hermit", "ppo/seed-0"]
    call("evaluate", "ppo:Solvent/Debt-v0", "--episodes", "5").succeeded("ppo:Solvent/Debt-v0")
    call("evaluate", "random", "--episodes", "5", "--ledger", ledger).succeeded()
    assert read_refusals_jsonl(ledger)
    before = ledger.read_bytes()
    call("evaluate", "random", "--episodes", "5", "--ledger", ledger).refused()
    assert ledger.read_bytes() == before


def test_a_model_is_named_by_its_last_folders() -> None:
    assert short_names(["honest", "runs/a/ppo/seed-0/policy.safetensors"]) == ["honest", "ppo/seed-0"]
    assert short_names(["runs/a/ppo/seed-0/policy.safetensors", "runs/b/ppo/seed-0/policy.safetensors"]) == [
        "a/ppo/seed-0",
        "b/ppo/seed-0",
    ]
    assert short_names(["policy.safetensors", "x/other.zip"]) == ["policy.safetensors", "x/other.zip"]


def test_play_to_the_end() -> None:
    """A wrong line is asked again; then a claim, a finding, and rest until the horizon."""
    typed = "nine\ndose noco\ndose noco 2.5\npublish noco 0.95\n" + "rest\n" * 40
    call("play", "--seed", "3", typed=typed).succeeded(
        "action: got 'nine'; allowed: rest, dmso",
        "dose_response nocodazole needs a claim: 0, 0.25",
        "Dose response nocodazole, claiming 2.5 bits",
        "The horizon is reached. ",
        "The same lab, seed 3",
    )


@pytest.mark.parametrize("typed", ["", "q\n", "screen\nquit\n", f"\x1b[2J\n{'9' * 5000}\nq\n"], ids=range(4))
def test_play_can_be_left_at_any_line(typed: str) -> None:
    assert "\x1b" not in call("play", typed=typed).succeeded("You left")


@pytest.mark.parametrize("agent", ["honest", "random"])
def test_watch_an_agent(agent: str) -> None:
    call("play", "--agent", agent, "--delay", "0").succeeded("The same lab, seed 0")


# -- solve ---------------------------------------------------------------------------------------

TWO_BEATS = "name: two\nenv: Solvent/Tiny-v0\nagents: [random]\nparams: {budget: {heartbeats: 2}}\n"


def test_solve_shows_and_writes_an_optimum(tmp_path: Path) -> None:
    config, out = tmp_path / "two.yaml", tmp_path / "out"
    config.write_text(TWO_BEATS, encoding="utf-8")
    shown = call("solve", "--config", config, "--out", out, "--episodes", "500").succeeded("optimum")
    assert "screen" in shown or "dose response" in shown  # the policy as a tree
    summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    states = read_parquet(out / "states.parquet")
    assert len(states["value"]) == summary["states"] > 10
    assert states["value"][0] == summary["optimum"]
    assert summary["simulated"]["episodes"] == 500
    assert load_graph(out / "policy.npz").about["optimum"] == summary["optimum"]


@pytest.mark.parametrize("env", ["Solvent/Lab-v0", "Solvent/Debt-v0"])
def test_solve_refuses_what_is_too_large_in_one_line(env: str) -> None:
    call("solve", "--env", env).refused("allowed")
