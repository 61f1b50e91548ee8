"""The command line, ``solvent``. Commands import heavy modules when they are called.

Errors are one line on stderr and exit code 2. A failed run exits with 1, a stopped one with 130.
"""

from __future__ import annotations

import logging
import os
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn

import typer

from solvent.errors import BROKEN, STOPPED, USAGE, SolventError
from solvent.files import nearest_path
from solvent_experiments.config import FIRST_SEED
from solvent_experiments.console import complain, new_console, say, suggest
from solvent_experiments.desk.command import desk
from solvent_experiments.instruments.adequacy import app as adequacy
from solvent_experiments.instruments.debt import app as debt
from solvent_experiments.instruments.energy import explain, tools
from solvent_experiments.instruments.gate import app as gate
from solvent_experiments.instruments.language import llm, serve
from solvent_experiments.instruments.proposals import app as proposals
from solvent_experiments.options import Env, Jobs, Quiet, Seeds
from solvent_experiments.studies.command import app as study

PROG = "solvent"

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
Runs = Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of finished runs.")]
debugging = False


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
    global debugging  # noqa: PLW0603 - an option of all commands
    debugging = debug


@app.command()
def run(
    config: Annotated[Path, typer.Argument(metavar="CONFIG", help="YAML file of the experiment.")],
    seeds: Seeds = None,
    jobs: Jobs = None,
    out: Annotated[Path | None, typer.Option(help="Folder to write.  [default: runs/NAME]")] = None,
    backend: Annotated[
        Literal["processes", "ray"], typer.Option(help="Processes of this machine, or a Ray cluster.")
    ] = "processes",
    address: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="Ray cluster to use, or `auto` for the one that this machine belongs to.  [default: start one here]",
        ),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Run an experiment: train every seed, evaluate every agent on the same episodes, draw the figures.

    The same command resumes a run that was stopped (Ctrl-C) or failed: finished agents and seeds are skipped,
    interrupted ones start again.

    Examples:

    - `solvent run configs/quickstart.yaml`

    - `solvent run configs/quickstart.yaml --seeds 0-9 --out runs/ten-seeds`

    - `solvent run configs/quickstart.yaml --seeds 0-9 --backend ray --address 10.0.0.1:6379`
    """
    from solvent_experiments.config import ConfigError, experiment_of, parse_seeds, read_yaml

    if address is not None and backend != "ray":
        raise ConfigError(f"got {address!r:.80}; allowed: with --backend ray alone", key="--address")
    given = read_yaml(config) | ({} if seeds is None else {"seeds": parse_seeds(seeds)})
    if "sweep" in given:
        from solvent_experiments.studies.sweep import load_sweep, run_sweep

        sweep = load_sweep(given, config)
    else:
        experiment = experiment_of(given, config)
    root = out if out is not None else Path("runs") / given["name"]

    # After the checks, which need no learner.
    from solvent_experiments.run import Processes, run_experiment, show_results

    with _ray(address, jobs) if backend == "ray" else Processes(jobs) as pool:
        if "sweep" in given:
            run_sweep(sweep, root, pool, quiet=quiet)
        else:
            show_results(run_experiment(experiment, root, pool=pool, quiet=quiet))


def _ray(address: str | None, jobs: int | None) -> Any:
    from solvent.extras import install
    from solvent_experiments.config import ConfigError

    try:
        from solvent_experiments.ray import RayPool
    except ModuleNotFoundError as error:
        needed = f"needs the package {error.name}: {install('ray')}"
        raise ConfigError(needed, key="--backend ray") from None
    from solvent_experiments.run import cores

    return RayPool(address, jobs or cores())


@app.command()
def evaluate(
    agents: Annotated[
        list[str],
        typer.Argument(
            metavar="AGENT...",
            help="Names of scripted agents, classes (my_module:MyAgent), paths of trained policies "
            "(policy.safetensors), or names of shipped ones (ppo:Solvent/Tiny-v0).",
        ),
    ],
    env: Annotated[
        str | None,
        typer.Option(
            help="Environment id.  [default: the rules that the policies were trained with, else Solvent/Debt-v0]"
        ),
    ] = None,
    params: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE", help="A difference from the level, such as debt.threshold=1.0; repeatable."
        ),
    ] = None,
    episodes: Annotated[
        int | None,
        typer.Option(
            min=1, max=1_000_000, help="Number of episodes, one per seed.  [default: the leaderboard's]"
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**31, help="Seed of the first episode.")] = FIRST_SEED,
) -> None:
    """Evaluate agents, all on the same episodes, and show a table.

    Examples:

    - `solvent evaluate honest hermit --episodes 200`

    - `solvent evaluate runs/quickstart/ppo/seed-0/policy.safetensors honest`

    - `solvent evaluate ppo:Solvent/Debt-v0 --params debt.threshold=1.0`

    For a model that Stable-Baselines3 saved, write a class that loads it. If this one is in `my_sb3.py`, run
    `solvent evaluate my_sb3:Mine`:

    ```
    from stable_baselines3 import PPO

    class Mine:
        name = "mine"

        def __init__(self, params, seed):
            self.model = PPO.load("mine.zip", device="cpu")

        def act(self, observations, masks):
            return self.model.predict(observations, deterministic=True)[0]
    ```
    """
    from solvent_experiments.config import environment_params, param_changes
    from solvent_experiments.evaluate import evaluate_agents, rules_for

    rules = rules_for(agents, env, param_changes(params or []))
    evaluate_agents(agents, rules, episodes, seed, new_console())
    if rules.env and rules.params == environment_params(rules.env):  # `play` knows no other rules
        watched = shlex.join(["--env", rules.env, "--agent", agents[0], "--seed", str(seed)])
        suggest(f"`solvent play {watched}` shows the first of these episodes.")


@app.command()
def play(
    env: Env = "Solvent/Debt-v0",
    agent: Annotated[
        str | None,
        typer.Option(help="Watch this agent (name, class or path of a policy) instead of playing."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the lab.")] = 0,
    delay: Annotated[
        float, typer.Option(min=0.0, max=3600.0, help="Seconds between the actions of a watched agent.")
    ] = 0.5,
    film: Annotated[
        Path | None, typer.Option(metavar="FILE.gif", help="Write the agent's episode as a GIF or WebP.")
    ] = None,
) -> None:
    """Run the lab yourself in the terminal, or watch an agent run it.

    Choose by number or word, as in `screen etoposide 0.5`. `?` explains what is blocking you; a debrief ends the game.

    Examples:

    - `solvent play --seed 7`

    - `solvent play --env Solvent/Lab-v0 --agent honest --delay 1`

    - `solvent play --agent runs/quickstart/ppo/seed-0/policy.safetensors --film ppo.gif`
    """
    from solvent_experiments.config import ConfigError
    from solvent_experiments.play import film_episode, play_episode

    if film is not None:
        if agent is None:
            raise ConfigError("allowed: with --agent", key="--film")
        score = film_episode(env, agent, seed, delay, film)
        say(f"{film}  {film.stat().st_size / 2**20:.1f} MB: {agent}, seed {seed}, {score:.2f} bits")
        watched = shlex.join(["--env", env, "--agent", agent, "--seed", str(seed)])
        suggest(f"`solvent play {watched}` tells the same episode, with a debrief.")
        return
    play_episode(env, agent, seed, delay, console=new_console())


@app.command()
def solve(
    env: Env = "Solvent/Tiny-v0",
    out: Annotated[Path | None, typer.Option(help="Folder to write the policy to.")] = None,
    quiet: Quiet = False,
) -> None:
    """Solve a small lab exactly: the best expected return of any policy that doesn't know the truth.

    Every outcome of every action is forced through the compiled step, and backward induction solves the
    resulting process. `policy.npz` is the optimal policy.

    Example: `solvent solve --out runs/tiny`
    """
    from solvent_experiments.config import environment_params
    from solvent_experiments.solve import solve_lab

    solve_lab(environment_params(env), out, console=new_console(), quiet=quiet)
    suggest(f"`solvent evaluate exact honest --env {env}` compares a script with the optimum.")


@app.command()
def figures(runs: Runs) -> None:
    """Draw the figures of finished runs again, as PNG and as PDF for papers, from their tables alone.

    Example: `solvent figures runs/quickstart`
    """
    from solvent_experiments.figures.drawing import draw
    from solvent_experiments.folder import RunFolder

    for root in runs:
        RunFolder(root).read_manifest()  # a run that is not finished has no figures yet
        for path in draw(RunFolder(root), kinds=("png", "pdf")):
            say(str(path))
    suggest(f"`solvent report {shlex.join(map(str, runs))}` shows them on a page, with an episode.")


@app.command()
def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a finished run.")],
    csv: Annotated[bool, typer.Option("--csv/--jsonl", help="CSV, or JSON lines.")] = True,
    out: Annotated[Path | None, typer.Option(help="Folder to write.  [default: the run's `export`]")] = None,
) -> None:
    """Write a run's tables as CSV: a row for each evaluated episode, traced action and training episode.

    Example: `solvent export runs/quickstart --csv`
    """
    from solvent_experiments.export import export as write
    from solvent_experiments.folder import RunFolder

    for path in write(RunFolder(run), out or run / "export", "csv" if csv else "jsonl"):
        say(f"{path}  {path.stat().st_size / 2**20:.1f} MB")
    suggest(
        "`pandas.read_csv` reads them; `pandas.read_parquet` reads the run's own tables, which are smaller."
    )


@app.command()
def report(
    runs: Runs,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.html",
            help="The page.  [default: report.html in the run's folder; of several runs, here]",
        ),
    ] = None,
) -> None:
    """Write one HTML page about finished runs: tables, figures, config, and an episode to step through.

    The page needs no network and no other file.

    Examples:

    - `solvent report runs/quickstart`

    - `solvent report runs/debt runs/lab --out both.html`
    """
    from solvent_experiments.report import write_report

    path = write_report(runs, out)
    say(f"{path}  {path.stat().st_size / 2**20:.1f} MB")
    suggest(f"open {path.resolve().as_uri()} in a browser; the page needs no network.")


@app.command()
def compare(
    first: Annotated[Path, typer.Argument(metavar="A", help="An agent's folder in a run, or a run.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="What to compare it with, of the same kind.")],
) -> None:
    """Compare two agents on the episodes that both played, in pairs; of two runs, their common agents.

    Examples:

    - `solvent compare runs/debt/ppo runs/debt/honest`

    - `solvent compare runs/debt runs/debt-tracked`
    """
    from solvent_experiments.studies.compare import comparisons

    for table in comparisons(first, second):
        new_console().print(table.terminal())
    suggest("`solvent report RUN...` shows the figures of both and an episode of each.")


@app.command()
def leaderboard(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN...",
            help="Folders of finished runs, each with `honest` among its agents, or a leaderboard's JSON.",
        ),
    ],
    form: Annotated[
        Literal["terminal", "markdown", "json"], typer.Option("--format", help="Form of the table.")
    ] = "terminal",
    env: Annotated[str | None, typer.Option(help="Only this level.")] = None,
) -> None:
    """Compare the agents of finished runs on all levels, each scored against the honest script of its run.

    The score is an agent's return as a percentage of the honest script's: doing nothing scores 0.

    Examples:

    - `solvent leaderboard runs/debt runs/lab --format json > docs/results/leaderboard.json`

    - `solvent leaderboard docs/results/leaderboard.json --env Solvent/Debt-v0 --format markdown`
    """
    from solvent_experiments.leaderboard import (
        CAPTION,
        leaderboard_json,
        leaderboard_markdown,
        leaderboard_tables,
        of_level,
        read_entries,
    )

    entries = read_entries(runs)
    if env is not None:
        entries = of_level(entries, env)
    if form == "json":
        say(leaderboard_json(entries))
    elif form == "markdown":
        say(leaderboard_markdown(entries))
    else:
        console = new_console()
        for table in leaderboard_tables(entries).values():
            console.print(table.terminal(title_justify="left"), "")
        console.print(CAPTION, style="table.caption")
        suggest("`--format json` keeps the numbers, `--format markdown` makes the tables of a page.")


@app.command()
def envs() -> None:
    """List the environments and their sizes."""
    from solvent import ENVIRONMENTS
    from solvent.lab.actions import action_table
    from solvent.lab.observation import observation_fields
    from solvent_experiments.config import environment_params
    from solvent_experiments.table import Table

    rows = []
    for env in ENVIRONMENTS:
        lab = environment_params(env)
        sizes = (len(lab.assay.compounds), lab.budget.wells, lab.budget.heartbeats, lab.slots)
        shapes = (len(action_table(lab)), len(observation_fields(lab)))
        rows.append((env, *map(str, sizes + shapes), f"{lab.ceiling:g}"))
    headings = ("id", "compounds", "wells", "heartbeats", "slots", "actions", "observed", "most bits")
    caption = (
        "Slots: most actions per heartbeat. Most bits: what is unknown at first about the compounds of all projects, "
        "a bound on the mean return of every policy."
    )
    new_console().print(Table(headings, tuple(rows), caption=caption).terminal())
    suggest("`solvent play --env ID` runs one by hand, `solvent explain --env ID` explains its costs.")


app.add_typer(study, name="study")
for model in (llm, serve):
    app.command(rich_help_panel="Language models")(model)
for name, group in {"debt": debt, "proposals": proposals, "gate": gate, "adequacy": adequacy}.items():
    app.add_typer(group, name=name, rich_help_panel="Instruments")
for command in (tools, explain, desk):
    app.command(rich_help_panel="Instruments")(command)


def _restore_help(group: typer.Typer) -> None:
    """Give the commands of a group their help back, which ``python -OO`` drops with all docstrings."""
    from solvent.extras import docstring

    for command in group.registered_commands:
        command.help = command.help or docstring(command.callback) if command.callback else None
    for inner in group.registered_groups:
        if inner.typer_instance:
            _restore_help(inner.typer_instance)


def _fail(text: str, code: int) -> NoReturn:
    sys.stdout.flush()
    for line in text.splitlines() if code == BROKEN else [text]:
        complain(line)
    sys.exit(code)


def _exit_code(error: Exception) -> int:
    if isinstance(error, SolventError):
        return error.exit_code
    return USAGE if isinstance(error, OSError | ValueError) else BROKEN  # a file or a value can be corrected


def _message(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}{nearest_path(error.filename)}"
    if isinstance(error, SolventError | OSError | ValueError):
        return str(error)
    return f"{type(error).__name__}: {error} (--debug shows where)"


class _Complaints(logging.Handler):
    """Where logged warnings go; like errors, they may quote a stranger's text."""

    def emit(self, record: logging.LogRecord) -> None:
        complain(record.getMessage())


def main() -> None:
    """Run a command; an error that a user can correct is one line."""
    # Typer vendors Click or imports the public one, depending on its version.
    usage_error: Any = typer.BadParameter.__base__
    logging.lastResort = _Complaints(logging.WARNING)
    if sys.flags.optimize > 1:
        _restore_help(app)
    try:
        code = app(sys.argv[1:] or ["--help"], prog_name=PROG, standalone_mode=False)
    except usage_error as error:
        command = error.ctx.command_path if error.ctx else PROG
        message = error.format_message().replace(": Value error, ", ": ")
        _fail(f"{message if message.endswith(('.', '?')) else message + '.'} See: {command} --help", USAGE)
    except BrokenPipeError:  # the reader closed the pipe, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(STOPPED)
    except (KeyboardInterrupt, typer.Abort):
        code = STOPPED
    except Exception as error:
        code = _exit_code(error)
        if debugging and code != STOPPED:
            raise
        _fail(_message(error), code)
    if code == STOPPED:
        _fail("stopped", STOPPED)
    sys.exit(code)
