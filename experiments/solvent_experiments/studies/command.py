"""``solvent study``: list studies, run them, show what they found."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from solvent_experiments.console import new_console, say, suggest
from solvent_experiments.options import Jobs, Quiet, Seeds

RUNS = Path("runs") / "studies"

app = typer.Typer(
    rich_markup_mode="markdown",
    help="""Studies of what the rules do to agents: a claim, the runs that test it, and the result.

- `solvent study list`  lists the claims

- `solvent study run predictions --smoke`  runs a study in seconds, as a test

- `solvent study run predictions`  runs it (up to an hour; the same command resumes it)
""",
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of a study.")]
Runs = Annotated[Path, typer.Option("--runs", help="Folder of the runs.")]


@app.command(name="list")
def list_studies() -> None:
    """List the studies with their claims and what they need."""
    from solvent_experiments.studies.results import all_studies
    from solvent_experiments.table import Table

    rows = []
    for name, study in all_studies().items():
        rows.append((name, study.claim, str(sum(arm.seeds for arm in study.arms()))))
    table = Table(("study", "claim", "trainings"), tuple(rows), left=("claim",), wrapped=("claim",))
    new_console().print(table.terminal(leading=1))
    suggest("`solvent study run NAME --smoke` runs one in seconds, as a test.")


@app.command()
def run(
    name: Name,
    seeds: Seeds = None,
    jobs: Jobs = None,
    smoke: Annotated[bool, typer.Option("--smoke", help="Run in seconds; the numbers mean nothing.")] = False,
    runs: Runs = RUNS,
    quiet: Quiet = False,
) -> None:
    """Train a study's arms and play its episodes. Finished parts are skipped; studies share arms.

    Example: `solvent study run predictions --jobs 2`
    """
    from solvent_experiments.config import parse_seeds
    from solvent_experiments.studies.results import run_study

    chosen = None if seeds is None else parse_seeds(seeds)
    runs = runs.with_name(f"{runs.name}-smoke") if smoke and runs == RUNS else runs
    run_study(name, runs, chosen, smoke=smoke, jobs=jobs, quiet=quiet)
    say(f"runs in {runs}")
    suggest(f"`solvent study show {shlex.join([name, '--runs', str(runs)])}` shows what was found.")


@app.command()
def show(
    name: Name,
    runs: Runs = RUNS,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write NAME.json and NAME.png there.")
    ] = None,
) -> None:
    """Show what a study found, from the tables of its runs.

    Example: `solvent study show predictions --out docs/results/studies`
    """
    from solvent_experiments.studies.results import show_score

    show_score(name, runs, out)
    if out is None:
        suggest(f"--out DIR writes {name}.json and a figure.")
