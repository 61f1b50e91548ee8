"""Runs a study: its arms as ordinary runs, then its plays. Finished ones are skipped."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from solvent_experiments.run.console import new_console
from solvent_experiments.run.processes import run_tasks
from solvent_experiments.run.progress import Shown, shown_on
from solvent_experiments.run.running import BrokenRunError, run_experiment
from solvent_experiments.run.worker import ENDS, Message, Task
from solvent_experiments.studies.data import Study
from solvent_experiments.studies.plays import PlayTable, make_table
from solvent_experiments.studies.registry import arms_of, owner_of, place_of, table_of
from solvent_experiments.studies.study import Budget, Play

__all__ = ["plays_of", "run_studies"]


def run_studies(
    studies: Mapping[str, Study],
    runs: Path,
    budget: Budget,
    *,
    jobs: int | None = None,
    fresh: bool = False,
    quiet: bool = False,
) -> None:
    """Run the unfinished part of the studies in the folder ``runs``. Arms that studies share are trained once.

    With ``fresh``, existing runs are moved aside, and all plays are repeated.

    Raises:
        ConfigError: a folder is in use or holds a run of another config.
        Interrupted: Ctrl-C or SIGTERM.
        BrokenRunError: a unit or a play failed; the others are finished.
    """
    console = new_console()
    done: set[Path] = set()
    for name, study in studies.items():
        for arm in arms_of(study):
            owner, kept = owner_of(arm)
            root = place_of(arm, runs).root
            if root in done:
                continue
            done.add(root)
            if not quiet:
                console.print(f"{name}: arm {arm.name} ({arm.says}), {root}", highlight=False, soft_wrap=True)
            run_experiment(kept.experiment(owner, budget), root, jobs=jobs, quiet=quiet, fresh=fresh)
        tables = [table_of(name, play, runs, budget) for play in plays_of(study, budget)]
        left = [table for table in tables if fresh or not table.finished]
        if left:
            _play(name, left, jobs or 1, shown_on(console, quiet=quiet))


def plays_of(study: Study, budget: Budget) -> list[Play]:
    """Return the plays that fit the budget."""
    scripted = [play for play in study.PLAYS if play.arm is None]
    kept = scripted if budget.cells is None else scripted[: budget.cells]
    return [play for play in study.PLAYS if play.arm is not None or play in kept]


def _play(name: str, left: list[PlayTable], jobs: int, shown: Shown) -> None:
    """Make the remaining tables, divided among processes."""
    made = 0
    problems: list[str] = []

    def hear(message: Message) -> None:
        nonlocal made
        if message.kind == "finished":
            made += 1
            shown.update(name, "plays", made, len(left), "agents in labs")
        elif message.kind in ENDS:
            problems.append(f"{name}, {message.label}: {message.detail}")
        elif message.kind in ("note", "lost"):
            shown.say(f"{message.label}: {message.detail}")

    with shown:
        shown.update(name, "plays", 0, len(left), "agents in labs")
        tasks = [Task(make_table, tuple(left[i::jobs])) for i in range(min(jobs, len(left)))]
        run_tasks(tasks, jobs, hear, lambda: False)
        if problems:
            raise BrokenRunError("\n".join(problems))
        shown.end(name, f"{len(left)} plays made")
