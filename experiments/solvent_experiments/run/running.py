"""A run: train every seed, evaluate every agent on the same episodes, join the tables, draw the figures.

Finished units are skipped, broken or stopped ones resume, and nothing is overwritten.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, redirect_stderr, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from solvent import LabParams
from solvent_experiments.artifacts import manifest as manifests
from solvent_experiments.artifacts.files import is_full, no_room, sha256
from solvent_experiments.artifacts.folder import RunFolder, Unit
from solvent_experiments.artifacts.integrity import set_changed_aside
from solvent_experiments.artifacts.joining import DamagedError, join
from solvent_experiments.config.documents import read_document
from solvent_experiments.config.experiment import Experiment, environment_params
from solvent_experiments.measure.departures import mark_of
from solvent_experiments.measure.results import drawn_results
from solvent_experiments.measure.summary import read_rows
from solvent_experiments.run.backends import Backend, Processes
from solvent_experiments.run.console import new_console
from solvent_experiments.run.progress import Shown, shown_on
from solvent_experiments.run.watch import Watch, waiting_steps
from solvent_experiments.run.worker import Message, Notes, Task, run_unit

__all__ = ["BrokenRunError", "Interrupted", "run_experiment", "show_results", "stop_on_signals"]


class Interrupted(Exception):  # noqa: N818 - no error
    """The run was stopped; the same command resumes it."""


class BrokenRunError(RuntimeError):
    """Some units failed. The message has a line for each."""


def run_experiment(
    experiment: Experiment,
    root: Path,
    *,
    jobs: int | None = None,
    quiet: bool = False,
    fresh: bool = False,
    backend: Backend | None = None,
) -> RunFolder:
    """Run the unfinished part of an experiment in the folder ``root``.

    Args:
        jobs: number of parallel processes; ``default_jobs`` by default.
        quiet: show nothing but the results.
        fresh: first move an existing folder aside.
        backend: executes the units; by default processes of this machine.

    Raises:
        ConfigError: the folder is in use or has another config, or the backend can't be reached.
        Interrupted: Ctrl-C or SIGTERM.
        BrokenRunError: a unit failed and the others are finished; an artifact is damaged; the disk is full.
    """
    folder = RunFolder(root)
    shown = shown_on(new_console(), quiet=quiet)
    backend = backend or Processes()
    with backend, _told_if_full(root):
        if fresh and (moved := folder.set_aside()):
            shown.say(f"moved the existing folder to {moved}")
        with folder.locked(), stop_on_signals(shown) as stop:
            if again := folder.prepare(experiment):
                shown.say(again)
            _Work(experiment, folder, backend, shown, stop).finish(jobs)
    return folder


@contextmanager
def _told_if_full(root: Path) -> Iterator[None]:
    """Turn a full disk into a ``BrokenRunError`` of one line, since no input was wrong."""
    try:
        yield
    except OSError as error:
        if not is_full(error):
            raise
        raise BrokenRunError(_no_room(no_room(error, root))) from error


def default_jobs(experiment: Experiment, tasks: int) -> int:
    """Return the default number of processes: one per task, at most one per core, one and a half with trainings.

    Trainings take equally long. Three of them on two cores, two at a time, would leave a core idle half of the time.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores + cores // 2 if experiment.train else cores, tasks))


def tasks_of(experiment: Experiment, left: list[Unit]) -> list[Task]:
    """Return a task for all scripts that don't search, then one for each training and each script that searches.

    The scripts come first: they are done within minutes, and who waits for the learners can look at their figure.
    """
    from solvent_agents import PLAYERS

    apart: list[Unit] = []
    together: list[Unit] = []
    for unit in left:
        script = unit.seed is None and not unit.talks
        searches = script and hasattr(PLAYERS[unit.agent], "labs_at_once")
        (apart if unit.seed is not None or searches else together).append(unit)
    units = [(unit,) for unit in sorted(apart, key=lambda unit: unit.seed is None)]
    return [Task(partial(run_unit, experiment), each) for each in (tuple(together), *units) if each]


def show_results(folder: RunFolder, console: Console) -> None:
    """Print the result tables and the paths of the figures."""
    config = read_document(folder.config).data
    mark = mark_of(LabParams.from_mapping(config["params"]), environment_params(config["env"]))
    title = f"{config['name']} ({config['env']})"
    for table in drawn_results(read_rows(folder.summary), title=title, mark=mark):
        console.print(table)
    from solvent_experiments.figures import FIGURES

    for name in FIGURES:
        if (path := folder.figures / f"{name}.png").exists():
            console.print(str(path), highlight=False, soft_wrap=True)


@dataclass(frozen=True)
class _Work:
    """An experiment with its folder, backend and display."""

    experiment: Experiment
    folder: RunFolder
    backend: Backend
    shown: Shown
    stop: threading.Event

    def finish(self, jobs: int | None) -> None:
        """Run what is unfinished and record it in the manifest."""
        experiment, folder = self.experiment, self.folder
        units = folder.units(experiment)
        before, problem = folder.read_manifest()
        known, problems = set_changed_aside(folder, units, before)
        left = [unit for unit in units if not unit.finished]
        if before["finished"] and not left and not problems:
            self.shown.say(f"{folder.root}: already finished, every file as written; nothing to do")
            return
        tasks = tasks_of(experiment, left)
        jobs = jobs or self.backend.default_jobs(len(left)) or default_jobs(experiment, len(tasks))
        session = manifests.new_session(jobs, self.backend.name)
        manifest = {
            "name": experiment.name,
            "contaminated": experiment.contaminated,
            "switched_off": list(experiment.switched_off),
            "config_sha256": sha256(folder.config),
            "finished": None,
            "sessions": [*manifests.resumed_sessions(before, session), session],
            "artifacts": known,
        }
        if problem:
            problems.insert(0, problem)
        session["incidents"] += [manifests.incident("went on", None, line) for line in problems]
        for found in session["incidents"]:
            self.shown.say(found["said"])
        folder.write_manifest(manifest)
        status = "failed"
        try:
            with self.shown:
                if left:
                    self._train_and_evaluate(left, tasks, manifest)
                join(experiment, folder, units)
                self._draw(session["seconds"])
            status = "finished"
            manifest["finished"] = manifests.now()
            manifest["artifacts"] = manifests.artifacts(folder.root)
            if problems and before["config_sha256"] == manifest["config_sha256"]:
                self._compare(before["artifacts"], manifest)
        except Interrupted:
            status = "interrupted"
            raise
        except DamagedError as error:
            found = [manifests.incident("stopped", None, line) for line in str(error).splitlines()]
            session["incidents"] += found
            raise BrokenRunError(str(error)) from error
        finally:
            session |= {"finished": manifests.now(), "status": status}
            # If the manifest can't be written either, the first error is the one to report.
            with nullcontext() if status == "finished" else suppress(OSError):
                folder.write_manifest(manifest)

    def _compare(self, before: dict[str, str], manifest: dict[str, Any]) -> None:
        """Record it if files that were made again are not what they were."""
        after = manifest["artifacts"]
        if others := [name for name, digest in before.items() if after.get(name, digest) != digest]:
            said = f"{len(others)} files differ from those of the earlier sessions, {others[0]} among them"
            manifest["sessions"][-1]["incidents"].append(manifests.incident("went on", None, said))
            self.shown.say(said)

    def _train_and_evaluate(self, left: list[Unit], tasks: list[Task], manifest: dict[str, Any]) -> None:
        session, experiment = manifest["sessions"][-1], self.experiment

        def keep() -> None:
            with suppress(OSError):
                self.folder.write_manifest(manifest)

        # Where trainings wait for a process, the bars of the running ones don't show when all will be done.
        learned = sum(unit.seed is not None for unit in left)
        at_first = sum(task.units[0].seed is not None for task in tasks[: session["jobs"]])
        together = waiting_steps(experiment, left) if learned > max(1, at_first) else {}
        if learned > 1:
            self.shown.say(f"{learned} trainings, up to {min(learned, session['jobs'])} at a time")
        watch = Watch(self.shown, session, together, keep)
        with redirect_stderr(Notes(watch)):  # a worker that compiles too would say it again
            session["seconds"]["compilation"] = _timed(lambda: _compile(experiment))
        scripts = [unit.label for unit in tasks[0].units if unit.seed is None]
        first = scripts[-1] if scripts and len(tasks) > 1 else None

        def on_message(message: Message) -> None:
            watch(message)
            if message.kind == "finished" and message.label == first:
                self._draw_first()

        self.backend.run(
            tasks, session["jobs"], on_message, lambda: self.stop.is_set() or watch.full is not None
        )
        session |= self.backend.about()
        if watch.full:
            raise BrokenRunError(_no_room(watch.full))
        if self.stop.is_set():
            raise Interrupted
        if watch.failures:
            places = {unit.label: unit.error for unit in left}
            lines = [f"{label}: {_detailed(text, places[label])}" for label, text in watch.failures.items()]
            raise BrokenRunError("\n".join(lines))

    def _draw_first(self) -> None:
        from solvent_experiments.figures.drawing import draw_first

        self.shown.say("drawing the first figure")
        done = [unit for unit in self.folder.units(self.experiment) if unit.finished]
        try:
            drawn = draw_first(self.experiment, self.folder, done)
        except Exception as error:  # an early picture is not worth the trainings under way
            self.shown.say(f"no first figure: {error}")
            return
        if drawn:
            self.shown.say(f"first figure, while the others are under way: {drawn}")

    def _draw(self, seconds: dict[str, Any]) -> None:
        if self.stop.is_set():
            raise Interrupted
        from solvent_experiments.figures import draw_all

        def on_progress(done: int, total: int) -> None:
            self.shown.update("figures", "drawing", done, total, "kinds")

        drawn: list[Path] = []
        seconds["figures"] = _timed(lambda: drawn.extend(draw_all(self.folder, on_progress=on_progress)))
        self.shown.end(
            "figures", f"{len(drawn)} drawn in {seconds['figures']:.1f} s; those without data are left out"
        )


def _detailed(problem: str, place: Path) -> str:
    return f"{problem} (details: {place})" if place.exists() else problem


def _no_room(place: str) -> str:
    return f"{place}; free some space there, and the same command resumes the run"


def _compile(experiment: Experiment) -> None:
    """Compile the lab once, so that the worker processes load it from the cache."""
    from solvent import LabEnv

    env = LabEnv(experiment.params)
    env.reset(seed=0)
    env.step(0)


def _timed(job: Callable[[], Any]) -> float:
    started = time.perf_counter()
    job()
    return round(time.perf_counter() - started, 3)


@contextmanager
def stop_on_signals(shown: Shown) -> Iterator[threading.Event]:
    """Yield an event that Ctrl-C and SIGTERM set. A second signal ends the run at once and keeps its checkpoints."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def on_signal(*_: object) -> None:
        if stop.is_set():
            raise Interrupted
        stop.set()
        shown.say("stopping at the next checkpoint (Ctrl-C again stops at once)")

    before = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
