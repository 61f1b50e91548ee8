"""``solvent study``: list studies, run them, show their findings, write their results.

The commands import ``solvent_experiments.studies``, which does the work, only when they are called.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from solvent_experiments.instruments.options import Quiet
from solvent_experiments.run.console import new_console, say, suggest

__all__ = ["app"]

RUNS = Path("runs") / "studies"
SMOKE_RUNS = Path("runs") / "studies-smoke"
RESULTS = Path("docs") / "results" / "studies"

app = typer.Typer(
    rich_markup_mode="markdown",
    help="""Studies of what the rules do to agents: a claim, the runs that test it, and the result.

- `solvent study list`  lists the claims

- `solvent study run predictions --smoke`  runs a study in seconds, as a test

- `solvent study run predictions`  runs it (up to an hour; the same command resumes it)

- `solvent study show predictions`  shows the result
""",
)

Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="NAME...", help="Names of studies.  [default: all]", show_default=False),
]
Runs = Annotated[
    Path | None,
    typer.Option("--runs", help="Folder of the runs.  [default: runs/studies]", show_default=False),
]


@app.command(name="list")
def list_studies() -> None:
    """List the studies with their claims and costs."""
    from solvent_experiments.measure.table import Table
    from solvent_experiments.studies.registry import all_studies, arms_of

    rows = [
        (name, study.CLAIM, str(sum(arm.seeds for arm in arms_of(study))), str(len(study.PLAYS)))
        for name, study in all_studies().items()
    ]
    table = Table(("study", "claim", "trainings", "plays"), tuple(rows), left=("claim",), wrapped=("claim",))
    new_console().print(table.terminal(leading=1))
    suggest("`solvent study run NAME --smoke` runs one in seconds, as a test.")


@app.command()
def run(
    names: Names = None,
    seeds: Annotated[
        str | None,
        typer.Option(help="Training seeds instead of the arms' own: `0,1,2` or `0-9`.", show_default=False),
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(min=1, help="Training steps per seed instead of the arms' own.", show_default=False),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(min=1, help="Parallel processes.  [default: as `solvent run`]", show_default=False),
    ] = None,
    smoke: Annotated[bool, typer.Option("--smoke", help="Run in seconds; the numbers mean nothing.")] = False,
    runs: Runs = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Move existing runs aside and start over.")] = False,
    quiet: Quiet = False,
) -> None:
    """Run studies: train their arms and play their episodes. Finished parts are skipped; studies share arms.

    Examples:

    - `solvent study run predictions blocked --jobs 2`

    - `solvent study run --smoke`
    """
    import dataclasses

    from solvent_experiments.config.experiment import parse_seeds
    from solvent_experiments.studies.registry import studies_named
    from solvent_experiments.studies.running import run_studies
    from solvent_experiments.studies.study import Budget

    budget = Budget.smoke() if smoke else Budget()
    if seeds is not None:
        budget = dataclasses.replace(budget, seeds=parse_seeds(seeds))
    if steps is not None:
        budget = dataclasses.replace(budget, steps=steps)
    root = runs or (SMOKE_RUNS if smoke else RUNS)
    run_studies(studies_named(names or []), root, budget, jobs=jobs, fresh=fresh, quiet=quiet)
    say(f"runs in {root}")
    chosen = shlex.join([*(names or ["NAME"])[:1], "--runs", str(root)])
    suggest(f"`solvent study show {chosen}` shows what came out.")


@app.command()
def results(
    names: Names = None,
    runs: Runs = None,
    out: Annotated[Path, typer.Option(help="Folder to write.")] = RESULTS,
) -> None:
    """Score studies from the artifacts of their runs, and write tables and figures.

    Example: `solvent study results predictions`
    """
    from solvent_experiments.run.check import tell_altered
    from solvent_experiments.studies.registry import arms_of, place_of, studies_named
    from solvent_experiments.studies.results import write_results

    for name, study in studies_named(names or []).items():
        found = write_results(name, study, runs or RUNS, out)
        say(f"{name}: {found['verdict']} ({out / name}.md)")
        tell_altered(place_of(arm, runs or RUNS).root for arm in arms_of(study))
    suggest(f"{out} has a table and a figure of each.")


@app.command()
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of a study.", show_default=False)],
    runs: Runs = None,
) -> None:
    """Score a study from the artifacts of its runs, and show the result; nothing is written.

    Example: `solvent study show predictions`
    """
    from solvent_experiments.run.check import tell_altered
    from solvent_experiments.studies.registry import arms_of, load_study, place_of, study_named
    from solvent_experiments.studies.results import show_score

    study = study_named(name)
    show_score(study, study.score(load_study(name, study, runs or RUNS)), new_console())
    tell_altered(place_of(arm, runs or RUNS).root for arm in arms_of(study))
    suggest(f"`solvent study results {name}` writes a table and a figure of it.")
