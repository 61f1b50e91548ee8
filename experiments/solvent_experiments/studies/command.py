"""``solvent study``: list studies, run them, show their results."""

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

- `solvent study show predictions`  shows a result, in a clone the one that it comes with

- `solvent study run predictions --smoke`  runs a study in seconds, as a test

- `solvent study run predictions --steps 150000`  trains with a tenth of the steps

- `solvent study run predictions`  runs it (up to an hour; the same command resumes it)
""",
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of a study.")]
Runs = Annotated[Path | None, typer.Option("--runs", help="Folder of the runs.  [default: runs/studies]")]


@app.command(name="list")
def list_studies() -> None:
    """List the studies with their claims and what they need."""
    from solvent_experiments.studies.results import all_studies
    from solvent_experiments.table import Table

    rows = [
        (name, study.claim or study.title, str(sum(len(arm.experiment.seeds) for arm in study.arms())))
        for name, study in all_studies().items()
    ]
    table = Table(("study", "claim", "trainings"), tuple(rows), left=("claim",), wrapped=("claim",))
    new_console().print(table.terminal(leading=1))
    suggest("`solvent study run NAME --smoke` runs one in seconds, as a test.")


@app.command()
def run(
    name: Name,
    seeds: Seeds = None,
    jobs: Jobs = None,
    smoke: Annotated[bool, typer.Option("--smoke", help="Run in seconds; the numbers mean nothing.")] = False,
    steps: Annotated[
        int | None, typer.Option(min=1, help="Training steps of each learner instead of the study's.")
    ] = None,
    runs: Runs = None,
    quiet: Quiet = False,
) -> None:
    """Train a study's arms and play its episodes. Finished parts are skipped; studies share arms.

    A run with `--smoke` or `--steps` goes to a separate folder, `runs/studies-smoke` or `runs/studies-150000`.

    Example: `solvent study run predictions --jobs 2`
    """
    from solvent_experiments.config import parse_seeds
    from solvent_experiments.studies.results import data_of, run_study, study_named
    from solvent_experiments.studies.study import Scale

    study = study_named(name)
    scale = Scale(None if seeds is None else parse_seeds(seeds), steps, smoke)
    part = "-smoke" if smoke else f"-{steps}" if steps else ""
    folder = runs or RUNS.with_name(RUNS.name + part)
    run_study(study, data_of(name, folder), jobs, scale, quiet=quiet)
    say(f"runs in {folder}")
    suggest(f"`solvent study show {shlex.join([name, '--runs', str(folder)])}` shows the result.")


@app.command()
def show(
    name: Name,
    runs: Runs = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write NAME.json and the figures there.")
    ] = None,
) -> None:
    """Show a study's result, from the tables of its runs or, without them, the one that a clone comes with.

    Example: `solvent study show predictions --out docs/results/studies`
    """
    from solvent_experiments.studies import results

    study = results.study_named(name)
    folder = runs or RUNS
    shipped = results.SHIPPED / f"{name}.json"
    if runs is None and not (folder / name).exists() and shipped.exists():
        result = results.StudyResult.read(shipped)
        say(f"no runs in {folder}; the result of {result.finished[:10]} (`{result.command}`):")
    else:
        command = f"solvent study run {name} && solvent study show {name} --out docs/results/studies"
        result = results.result_of(study, results.data_of(name, folder), command)
    # Before it is printed, which a reader's closed pipe would stop.
    paths = results.write(result, study, out, name) if out else []
    results.show(result)
    for path in paths:
        say(str(path))
    if out is None:
        suggest(f"--out DIR writes {name}.json and its figures.")
