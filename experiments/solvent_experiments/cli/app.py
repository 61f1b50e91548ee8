"""The command line, ``solvent``. Commands import heavy modules when they are called.

Errors are one line on stderr and exit code 2. A failed run exits with 1, a stopped one with 130.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import shlex
import sys
from collections.abc import Iterator
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from solvent_experiments.cli.desk import desk
from solvent_experiments.cli.serve import serve
from solvent_experiments.cli.study import app as study
from solvent_experiments.instruments.adequacy.command import app as adequacy
from solvent_experiments.instruments.debt.command import app as debt
from solvent_experiments.instruments.energy.proposals import app as proposals
from solvent_experiments.instruments.gate.command import app as gate
from solvent_experiments.instruments.options import Quiet
from solvent_experiments.language.command import app as llm
from solvent_experiments.run.console import complain, new_console, say, suggest

__all__ = ["app", "main"]

PROG = "solvent"
USAGE, BROKEN, STOPPED = 2, 1, 130

app = typer.Typer(
    name=PROG,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="""A lab in which an agent may believe only what it has paid for: train agents, compare them, watch
    them, play.

Start here:

- `solvent run configs/quickstart.yaml`  trains PPO and compares it with scripted agents (some minutes)

- `solvent play`  lets you run the lab yourself

- `solvent evaluate honest random`  compares two scripted agents (seconds)
""",
)

Env = Annotated[str, typer.Option(help="Environment id; `solvent envs` lists them.")]

app.add_typer(debt, name="debt")
app.add_typer(proposals, name="proposals")
app.add_typer(gate, name="gate")
app.add_typer(adequacy, name="adequacy")
app.add_typer(study, name="study")
app.add_typer(llm, name="llm")


class Format(StrEnum):
    """Renderings of the leaderboard."""

    TERMINAL = "terminal"
    MARKDOWN = "markdown"
    HTML = "html"
    JSON = "json"


class _State:
    debug = False


def _version(asked: bool) -> None:
    if asked:
        from solvent import __version__

        say(f"solvent {__version__}")
        raise typer.Exit


@app.callback()
def options(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[  # noqa: ARG001
        bool | None,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit."),
    ] = None,
) -> None:
    _State.debug = debug


@app.command()
def run(
    config: Annotated[
        Path, typer.Argument(metavar="CONFIG", help="YAML file of the experiment.", show_default=False)
    ],
    seeds: Annotated[
        str | None,
        typer.Option(help="Training seeds in place of the config's: `0,1,2` or `0-4`.", show_default=False),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Parallel processes.  [default: three on two cores, at most one per training; all on a cluster]",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder to write.  [default: runs/NAME]", show_default=False)
    ] = None,
    backend: Annotated[
        str,
        typer.Option(help="Where units run: in `processes` of this machine, or on `ray`, a Ray cluster."),
    ] = "processes",
    address: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="Ray cluster to use, or `auto` for the one that this machine belongs to.  [default: start one here]",
            show_default=False,
        ),
    ] = None,
    quiet: Quiet = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Move an existing run aside and start over.")
    ] = False,
) -> None:
    """Run an experiment: train every seed, evaluate every agent on the same episodes, draw the figures.

    The same command resumes a run that was stopped (Ctrl-C) or failed, and skips finished units.

    Examples:

    - `solvent run configs/quickstart.yaml`

    - `solvent run configs/quickstart.yaml --seeds 0-9 --out runs/ten-seeds`

    - `solvent run configs/quickstart.yaml --seeds 0-9 --backend ray --address 10.0.0.1:6379`
    """
    from solvent_experiments.config.experiment import load_experiment, parse_seeds
    from solvent_experiments.run.backends import backend_of
    from solvent_experiments.run.running import run_experiment, show_results

    experiment = load_experiment(config, seeds=None if seeds is None else parse_seeds(seeds))
    root = out if out is not None else Path("runs") / experiment.name
    folder = run_experiment(
        experiment,
        root,
        jobs=jobs,
        quiet=quiet,
        fresh=fresh,
        backend=backend_of(backend, address),
    )
    show_results(folder, new_console())
    suggest(
        f"`solvent report {shlex.quote(str(root))}` writes a page with figures and episodes to step through."
    )


@app.command()
def evaluate(
    agents: Annotated[
        list[str],
        typer.Argument(
            metavar="AGENT...",
            help="Names of scripted agents, paths of trained policies (policy.safetensors), or names of shipped "
            "ones (ppo:Solvent/Tiny-v0).",
            show_default=False,
        ),
    ],
    env: Env = "Solvent/Debt-v0",
    episodes: Annotated[
        int, typer.Option(min=1, max=1_000_000, help="Number of episodes, one per seed.")
    ] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the first episode.")] = 10_000,
    out: Annotated[
        Path | None, typer.Option(help="Parquet file for the episodes.", show_default=False)
    ] = None,
    ledger: Annotated[
        Path | None, typer.Option(help="JSONL file for the refusals of a single agent.", show_default=False)
    ] = None,
) -> None:
    """Evaluate agents, all on the same episodes, and show a table.

    Examples:

    - `solvent evaluate honest hermit --episodes 200`

    - `solvent evaluate runs/quickstart/ppo/seed-0/policy.safetensors --ledger refusals.jsonl`
    """
    from solvent_experiments.cli.compare import evaluate_agents

    seeds = range(seed, seed + episodes)
    evaluate_agents(agents, env, seeds, out=out, ledger=ledger, console=new_console())
    watched = shlex.join(["--env", env, "--agent", agents[0], "--seed", str(seed)])
    suggest(f"`solvent play {watched}` shows the first of these episodes.")


@app.command()
def play(
    env: Env = "Solvent/Debt-v0",
    agent: Annotated[
        str | None,
        typer.Option(
            help="Watch this agent (name, or path of a policy) instead of playing.", show_default=False
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the lab.")] = 0,
    delay: Annotated[
        float,
        typer.Option(min=0.0, max=3600.0, help="Seconds between the actions of a watched agent."),
    ] = 0.5,
) -> None:
    """Run the lab yourself in the terminal, or watch an agent run it.

    Type an action, such as `screen etoposide 0.5`, as short as it stays clear, or choose with the arrow keys. Rules are
    told when they first matter; `?` says what the honest script would do and why; the end is a debrief. `q` quits.

    Examples:

    - `solvent play --seed 7`

    - `solvent play --agent honest --delay 1`

    - `solvent play --env Solvent/Energy-v0`

    - `solvent play --env Solvent/Lab-v0`
    """
    from solvent_experiments.play import play_episode

    play_episode(env, agent, seed, delay, console=new_console())


@app.command()
def solve(
    env: Env = "Solvent/Tiny-v0",
    config: Annotated[
        Path | None,
        typer.Option(help="YAML file of an experiment, whose lab is solved instead.", show_default=False),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder to write policy and values to.", show_default=False)
    ] = None,
    episodes: Annotated[
        int, typer.Option(min=0, max=10_000_000, help="Episodes in which the solution is played.")
    ] = 20_000,
    quiet: Quiet = False,
) -> None:
    """Solve a small lab exactly: the best expected return of any policy that doesn't know the truth.

    Every outcome of every action is forced through the compiled step, and backward induction solves the
    resulting process. `policy.npz` is the optimal policy, `states.parquet` has the value of every state.

    Examples:

    - `solvent solve`

    - `solvent solve --out runs/tiny`
    """
    from solvent_experiments.cli.solve import solve_lab
    from solvent_experiments.config.experiment import environment_params, load_experiment

    params = environment_params(env) if config is None else load_experiment(config).params
    solve_lab(params, out, episodes=episodes, console=new_console(), quiet=quiet)
    if out is None:
        suggest("`solvent solve --out DIR` keeps the policy, and the value of every state.")
    elif config is None and env == "Solvent/Tiny-v0":
        suggest("`solvent evaluate exact honest --env Solvent/Tiny-v0` sets a script beside the optimum.")


@app.command()
def tune(
    algorithm: Annotated[
        str,
        typer.Argument(help="PPO, MaskablePPO, PPOLagrangian, A2C or DQN.", show_default=False),
    ],
    out: Annotated[Path, typer.Option(help="Folder of the search.", show_default=False)],
    env: Env = "Solvent/Debt-v0",
    trials: Annotated[int, typer.Option(min=1, max=100_000, help="Number of trials in all.")] = 20,
    steps: Annotated[
        int, typer.Option(min=1000, max=10_000_000_000, help="Environment steps per trial.")
    ] = 200_000,
    seconds: Annotated[
        float | None,
        typer.Option(min=1.0, help="Stop after this many seconds.", show_default=False),
    ] = None,
    base: Annotated[
        Path | None,
        typer.Option(
            help="Recipes as in configs/hyperparameters: the fixed settings, and the first trial.",
            show_default=False,
        ),
    ] = None,
    episodes: Annotated[int, typer.Option(min=1, help="Episodes that a trial is scored on.")] = 1000,
    quiet: Quiet = False,
) -> None:
    """Search for an algorithm's hyperparameters, and write the best recipe.

    Trials train with seeds 100 to 199 and are scored on labs 1000 to 9999, which no run trains or is evaluated
    with. The same command resumes a stopped search; with more trials it extends a finished one.

    Examples:

    - `solvent tune PPO --env Solvent/Tiny-v0 --trials 20 --steps 200000 --out runs/tune/ppo-tiny`

    - `solvent tune PPO --base configs/hyperparameters/ppo.yml --seconds 600 --out runs/tune/ppo`
    """
    from solvent_experiments.tune.search import search
    from solvent_experiments.tune.spaces import Search

    wanted = Search(algorithm, env, trials, steps, seconds, base, episodes)
    search(wanted, out, console=new_console(), quiet=quiet)


@app.command()
def check(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="Folders of finished runs.", show_default=False),
    ],
) -> None:
    """Compare the files of finished runs with the hashes in their manifests.

    Ends with 1 if a file is missing or changed, and says which command makes it again. Nothing is written.

    Example: `solvent check runs/quickstart`
    """
    from solvent_experiments.run.check import check_runs

    if not check_runs(runs):
        raise typer.Exit(BROKEN)


@app.command()
def figures(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="RUN...", help="Folders of finished runs.  [default: all in runs/]", show_default=False
        ),
    ] = None,
) -> None:
    """Draw the figures of finished runs again, from their artifacts alone.

    Example: `solvent figures runs/quickstart`
    """
    from solvent_experiments.artifacts.folder import RunFolder
    from solvent_experiments.config.documents import ConfigError
    from solvent_experiments.figures import draw_all
    from solvent_experiments.run.check import tell_altered

    folders = runs or sorted(path.parent for path in Path("runs").glob("*/summary.json"))
    if not folders:
        raise ConfigError(
            "no finished run in it; allowed: folders that `solvent run` wrote", file=Path("runs")
        )
    for root in folders:
        for path in draw_all(RunFolder(root)):
            say(str(path))
    tell_altered(folders)
    suggest(f"`solvent report {shlex.join(map(str, folders))}` shows them on a page, with episodes.")


@app.command()
@llm.command()
def report(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="Folders of finished runs.", show_default=False),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.html",
            help="The page.  [default: report.html in the run's folder; of several runs, here]",
            show_default=False,
        ),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Write one HTML page about finished runs: tables, figures, config, and episodes to step through.

    The page needs no network and no other file. Episodes are replayed from the run's traces.

    Examples:

    - `solvent report runs/quickstart`

    - `solvent report runs/lab runs/lab_tracked --out both.html`
    """
    from solvent_experiments.report.page import write_report
    from solvent_experiments.run.check import tell_altered
    from solvent_experiments.run.progress import shown_on

    console = new_console()
    path = write_report(runs, out, shown_on(console, quiet=quiet))
    size = path.stat().st_size / 2**20
    console.print(f"{path}  {size:.1f} MB", highlight=False, markup=False, soft_wrap=True)
    tell_altered(runs)
    suggest(f"open {path.resolve().as_uri()} in a browser; the page needs no network.")


@app.command()
def leaderboard(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN...",
            help="Folders of finished runs, each with `oracle` among its agents.",
            show_default=False,
        ),
    ],
    form: Annotated[Format, typer.Option("--format", help="Form of the table.")] = Format.TERMINAL,
) -> None:
    """Compare the agents of finished runs on all levels, each scored against the oracle of its run.

    The score is 100 times an agent's return over the oracle's; doing nothing scores 0. Only the folders are read.

    Examples:

    - `solvent leaderboard runs/quickstart runs/lab`

    - `solvent leaderboard runs/quickstart runs/lab --format json > docs/results/leaderboard.json`
    """
    from solvent_experiments.report.leaderboard import leaderboard_mapping, leaderboard_table, read_entries
    from solvent_experiments.run.check import tell_altered

    entries = read_entries(runs)
    table = leaderboard_table(entries)
    if form is Format.TERMINAL:
        new_console().print(table.terminal())
        suggest(f"`solvent report {shlex.join(map(str, runs))}` shows figures and episodes of these runs.")
    elif form is Format.JSON:
        say(json.dumps(leaderboard_mapping(entries), indent=2))
    elif form is Format.MARKDOWN:
        say(table.markdown())
    else:
        say(f"<table>\n<caption>{table.caption}</caption>\n{table.html()}</table>")
    tell_altered(runs)


@app.command()
def envs() -> None:
    """List the environments and their sizes."""
    from solvent_experiments.cli.compare import environments_table

    new_console().print(environments_table().terminal(padding=0))
    suggest("`solvent play --env ID` runs one by hand, `solvent explain --env ID` tells its rules.")


@app.command()
def tools(
    servers: Annotated[
        list[str],
        typer.Argument(
            metavar="SERVER...",
            help="URL of a server, or the command line that runs one, in quotes.",
            show_default=False,
        ),
    ],
    timeout: Annotated[
        float, typer.Option(min=0.1, max=3600.0, help="Time limit for a server, in seconds.")
    ] = 20.0,
    env: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE",
            help="Environment variable for the commands; KEY alone passes on its current value. Repeatable.",
            show_default=False,
        ),
    ] = None,
    why: Annotated[bool, typer.Option("--why", help="Explain the price of each tool.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the rows of the table `mcp_tools` as JSON.")
    ] = False,
) -> None:
    """Price the tools of servers of the Model Context Protocol.

    A tool's category, cost, floor and contexts follow from the server's hints, the tool's name and its fields.
    A tool that may be either of two kinds has the higher price. No tool is called.

    Examples:

    - `solvent tools "solvent serve"`  the lab itself as such a server

    - `solvent tools http://127.0.0.1:8000/mcp --why`
    """
    from solvent_experiments.instruments.energy.tools import environment_of, list_tools, show_tools

    ask = partial(list_tools, timeout=timeout, env=environment_of(env or []), show_stderr=_State.debug)
    if not show_tools(servers, ask, new_console(), as_json=as_json, why=why):
        raise typer.Exit(USAGE)
    if not (as_json or why):
        suggest("--why explains each price; `solvent.energy.EnergyMeter` charges them in a loop of your own.")


app.command()(serve)
app.command()(desk)


@app.command()
def explain(
    env: Env = "Solvent/Energy-v0",
) -> None:
    """Show what an environment's agent is told about its energy.

    Example: `solvent explain --env Solvent/Debt-v0`
    """
    from rich.markdown import Markdown

    from solvent.energy import explain as explanation
    from solvent_experiments.config.experiment import environment_params

    text = explanation(environment_params(env))
    console = new_console()
    if console.is_terminal:
        console.print(Markdown(text))
        suggest(f"`solvent play --env {shlex.quote(env)}` lets you try it.")
    else:
        say(text.rstrip("\n"))


@contextlib.contextmanager
def _one_line() -> Iterator[None]:
    """Turn errors that a user can correct into one line."""
    try:
        yield
    except BrokenPipeError:  # the reader closed the pipe, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(STOPPED)
    except (OSError, ValueError) as error:  # ConfigError and ParamError are ValueErrors
        if _State.debug:
            raise
        if isinstance(error, OSError) and error.filename is not None:
            _fail(f"{error.filename}: {error.strerror}", USAGE)
        _fail(str(error), USAGE)
    except KeyboardInterrupt:
        _fail("stopped", STOPPED)
    except Exception as error:
        kind = type(error).__name__
        if kind == "Interrupted":
            _fail("stopped; the same command resumes it", STOPPED)
        if _State.debug:
            raise
        _fail(str(error) if kind == "BrokenRunError" else f"{kind}: {error} (--debug shows where)", BROKEN)


def _fail(text: str, code: int) -> None:
    sys.stdout.flush()
    for line in text.splitlines() if code == BROKEN else [text]:
        complain(line)
    sys.exit(code)


class _Complaints(logging.Handler):
    """Where logged warnings go; like errors, they may quote a stranger's text."""

    def emit(self, record: logging.LogRecord) -> None:
        complain(record.getMessage())


def main() -> None:
    # Typer vendors Click or imports the public one, depending on its version.
    usage_error: Any = typer.BadParameter.__base__
    logging.lastResort = _Complaints(logging.WARNING)
    with _one_line():
        try:
            code = app(sys.argv[1:] or ["--help"], prog_name=PROG, standalone_mode=False)
        except typer.Abort:
            code = STOPPED
        except usage_error as error:
            command = error.ctx.command_path if error.ctx else PROG
            said = error.format_message()
            _fail(f"{said if said.endswith(('.', '?')) else said + '.'} See: {command} --help", USAGE)
        if code == STOPPED:
            _fail("stopped", STOPPED)
        sys.exit(code)
