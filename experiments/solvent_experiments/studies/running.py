"""Running a study: its arms as ordinary runs, then its plays. What is finished is skipped."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

from rich.console import Console

from solvent_experiments.artifacts.folder import RunFolder
from solvent_experiments.artifacts.parquet import Columns
from solvent_experiments.run.progress import Shown, shown_on
from solvent_experiments.run.running import run_experiment
from solvent_experiments.studies.data import place_of
from solvent_experiments.studies.playing import PlayFolder, make
from solvent_experiments.studies.registry import arms_of, owner_of
from solvent_experiments.studies.study import Budget, Play, Study

__all__ = ["plays_of", "run_studies"]


def run_studies(
    studies: Mapping[str, Study],
    runs: Path,
    budget: Budget,
    *,
    jobs: int | None = None,
    fresh: bool = False,
    quiet: bool = False,
    console: Console | None = None,
) -> None:
    """Run what is not finished of the studies, in the folder ``runs``. An arm that several have is trained once.

    Raises:
        ConfigError: a folder is in use, or holds a run of another config.
        Interrupted: Ctrl-C or SIGTERM.
        BrokenRunError: a unit broke; the others are finished.
    """
    console = console or Console()
    done: set[Path] = set()
    for name, study in studies.items():
        for arm in arms_of(study):
            owner, kept = owner_of(arm)
            folder = place_of(arm, runs)
            if folder.root in done:
                continue
            done.add(folder.root)
            if not quiet:
                console.print(
                    f"{name}: arm {arm.name} ({arm.says}), {folder.root}", highlight=False, soft_wrap=True
                )
            run_experiment(
                kept.experiment(owner, budget),
                folder.root,
                jobs=jobs,
                quiet=quiet,
                fresh=fresh,
            )
        _play(name, study, runs, budget, jobs or 1, fresh, shown_on(console, quiet=quiet))


def plays_of(study: Study, budget: Budget) -> list[Play]:
    """The plays that a budget has room for."""
    scripted = [play for play in study.PLAYS if play.arm is None]
    kept = scripted if budget.cells is None else scripted[: budget.cells]
    return [play for play in study.PLAYS if play.arm is not None or play in kept]


def _play(name: str, study: Study, runs: Path, budget: Budget, jobs: int, fresh: bool, shown: Shown) -> None:
    folder = PlayFolder(runs / name / "plays")
    left: list[tuple[Play, int, RunFolder | None]] = []
    for play in plays_of(study, budget):
        episodes = budget.episodes or play.episodes
        arm = None if play.arm is None else place_of(play.arm, runs)
        if fresh or not folder.finished(play, episodes, arm):
            left.append((play, episodes, arm))
    if not left:
        return
    with (
        shown,
        ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_begin_process) as pool,
    ):
        shown.update(name, "plays", 0, len(left), "agents in labs")
        tasks = {pool.submit(make, *task): task for task in left}
        try:
            for done, future in enumerate(as_completed(tasks), 1):
                _keep(folder, tasks[future], future.result())
                shown.update(name, "plays", done, len(left), "agents in labs")
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        shown.end(name, f"{len(left)} plays made")


def _keep(folder: PlayFolder, task: tuple[Play, int, RunFolder | None], columns: Columns) -> None:
    folder.keep(*task, columns)


def _begin_process() -> None:
    """Ctrl-C is for the process that started this one; more threads are slower on a busy machine."""
    import torch

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    torch.set_num_threads(1)
