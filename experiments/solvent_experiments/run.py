"""A run: train every seed, evaluate every agent on the same episodes, join the tables, draw the figures.

Finished units are skipped and interrupted ones start again. What is finished is overwritten by a longer training alone.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import shlex
import shutil
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any, Self

import numpy as np

from solvent.errors import BROKEN, STOPPED, SolventError
from solvent.files import now, write_atomically, write_json
from solvent.lab.announcement import share_announcement
from solvent.lab.words.quantities import plural
from solvent_agents.agent import Agent
from solvent_experiments.config import Experiment, recipe_steps
from solvent_experiments.console import Progress, new_console, span, suggest
from solvent_experiments.evaluation import evaluate
from solvent_experiments.folder import (
    LANGUAGE,
    Columns,
    RunFolder,
    Unit,
    flatten,
    joined,
    owned,
    read_parquet,
    select,
    write_parquet,
)
from solvent_experiments.summary import read_rows, result_tables, summary, write_rows
from solvent_experiments.workload import Message, Stage, end, overall, searches, stages_of

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
TRACKED = ("tensorboard", "wandb")
"""Folders of what tracks a training."""
REPORT_EVERY = 0.2
"""Seconds between reports."""


class Interrupted(SolventError):  # noqa: N818 - not an error
    """The run was stopped; the same command resumes it."""

    exit_code = STOPPED

    def __str__(self) -> str:
        return "stopped; the same command resumes it"


class BrokenRunError(SolventError, RuntimeError):
    """Some units failed. The message has a line for each."""

    exit_code = BROKEN


Tell = Callable[[Message], None]
Times = dict[str, float]


class Pool:
    """Executes units, ``jobs`` at a time. Leaving it by an error ends what still runs."""

    jobs = 1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None: ...

    def submit(self, experiment: Experiment, unit: Unit) -> Future[Times | None]:
        """Execute a unit; the result is its wall times by stage, or None if it was stopped."""
        raise NotImplementedError

    def messages(self) -> Iterator[Message]:
        """Yield what arrived since the last call."""
        return iter(())

    def stop(self) -> None:
        """Make running units return None soon."""


def run_experiment(
    experiment: Experiment, root: Path, *, pool: Pool | None = None, quiet: bool = False
) -> RunFolder:
    """Run the unfinished part of an experiment in the folder ``root``.

    Args:
        pool: executes the units and stays open; by default processes of this machine, one per core.
        quiet: show nothing but the results.

    Raises:
        ConfigError: the folder is in use or has another config.
        Interrupted: Ctrl-C or SIGTERM.
        BrokenRunError: a unit failed and the others are finished.
    """
    folder = RunFolder(root)
    with Progress(new_console(), quiet=quiet) as progress, folder.locked(), stop_on_signals(progress) as stop:
        folder.prepare(experiment)
        units = folder.units(experiment)
        left = [unit for unit in units if not unit.episodes.exists()]
        if not left and folder.summary.exists() and folder.finished:
            progress.say(f"{root}: already finished; nothing to do")
            return folder
        started = now()
        folder.write_manifest(experiment, started)
        if left:
            _compile(experiment)
            with contextlib.nullcontext(pool) if pool else Processes() as workers:
                _execute(experiment, folder, left, workers, progress, stop)
        join(experiment, folder, units)
        _draw(folder, progress)
        folder.write_manifest(experiment, started, now())
    return folder


def _compile(experiment: Experiment) -> None:
    """Compile the lab once, so that the worker processes load it from the cache."""
    from solvent import LabEnv

    env = LabEnv(experiment.lab)
    env.reset(seed=0)
    env.step(0)


def _draw(folder: RunFolder, progress: Progress) -> None:
    from solvent_experiments.figures.drawing import draw

    progress.say(f"figures: {len(draw(folder))} drawn; those without data are left out")


def one_thread_each() -> None:
    """Let the processes that follow compute on one thread: more threads than cores are many times slower."""
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))


def in_order(left: Sequence[Unit], jobs: int) -> tuple[list[Unit], list[Unit]]:
    """Return the units to begin with, as many trainings as run at a time and the quick scripts, and the others."""
    learners = [unit for unit in left if unit.seed is not None]
    slow = [unit for unit in left if searches(unit)]
    quick = [unit for unit in left if unit.seed is None and unit not in slow]
    return learners[:jobs] + quick, learners[jobs:] + slow


def _execute(
    experiment: Experiment, folder: RunFolder, left: Sequence[Unit], pool: Pool, progress: Progress,
    stop: threading.Event,
) -> None:  # fmt: skip
    """Execute the units that are left. Raise Interrupted or BrokenRunError if some are not finished."""
    for _ in pool.messages():  # of an experiment before
        pass
    first, later = in_order(left, pool.jobs)
    early_figure = bool(first and later)
    stages = stages_of(experiment, left)
    failures: list[str] = []
    running = {pool.submit(experiment, unit): unit for unit in first + later}
    while running:
        ended, _ = wait(running, timeout=REPORT_EVERY, return_when="FIRST_COMPLETED")
        messages = list(pool.messages())
        for message in messages:
            _report(message, stages, progress)
        closed = [_close(future, running.pop(future), stages, progress) for future in ended]
        failures += [failure for failure in closed if failure]
        if messages or ended:
            progress.update("whole run", *overall(stages.values(), pool.jobs))
        if stop.is_set():
            pool.stop()
            running = {future: unit for future, unit in running.items() if not future.cancel()}
        elif early_figure and not failures and not set(first) & set(running.values()):
            early_figure = False
            _draw_first(experiment, folder, progress)
    if stop.is_set():
        raise Interrupted
    if failures:
        raise BrokenRunError("\n".join(failures))


def _report(message: Message, stages: Mapping[tuple[str, str], Stage], progress: Progress) -> None:
    """Show how far a unit is."""
    stages[message.label, message.stage].report(message)
    done = f"{message.stage}, {message.done:,} of {message.total:,}"
    progress.update(message.label, message.done / message.total, done, line=False)


def _close(
    future: Future[Times | None], unit: Unit, stages: Mapping[tuple[str, str], Stage], progress: Progress
) -> str:
    """Note the end of a unit; return how it failed, or an empty text."""
    try:
        times = future.result()
    except BrokenProcessPool:
        return f"{unit.label}: a worker process died; the same command resumes the run"
    except Exception as error:
        return f"{unit.label}: {type(error).__name__}: {error} (details: {unit.error})"
    if times is not None:
        end(stages.values(), unit)
        progress.end(unit.label, ", ".join(f"{stage} in {span(seconds)}" for stage, seconds in times.items()))
    return ""


def _draw_first(experiment: Experiment, folder: RunFolder, progress: Progress) -> None:
    """Draw a figure of the finished units, so that there is something to look at while the others run."""
    from solvent_experiments.figures.drawing import draw

    try:
        join(experiment, folder, [unit for unit in folder.units(experiment) if unit.episodes.exists()])
        (path,) = draw(folder, ["episode"])
        progress.say(f"first figure, while the others run: {path}")
    except Exception as error:  # an early figure must not stop the trainings
        progress.say(f"no first figure: {error}")


@contextlib.contextmanager
def stop_on_signals(progress: Progress) -> Iterator[threading.Event]:
    """Yield an event that Ctrl-C and SIGTERM set. A second signal raises Interrupted."""
    stop = threading.Event()

    def on_signal(*_: object) -> None:
        if stop.is_set():
            raise Interrupted
        stop.set()
        progress.say("stopping; what is finished is kept (Ctrl-C again stops at once)")

    in_main = threading.current_thread() is threading.main_thread()
    signals = (signal.SIGINT, signal.SIGTERM) if in_main else ()
    before = {number: signal.signal(number, on_signal) for number in signals}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


# -- a unit


def do_unit(experiment: Experiment, unit: Unit, tell: Tell, should_stop: Callable[[], bool]) -> Times | None:
    """Train a learner, evaluate the agent, and write its files; return wall times by stage, None if stopped."""
    times: Times = {}

    def teller(stage: str) -> Callable[[int, int], None]:
        begun, last = time.perf_counter(), 0.0

        def on_progress(done: int, total: int) -> None:
            nonlocal last
            times[stage] = time.perf_counter() - begun
            if done == total or times[stage] - last >= REPORT_EVERY:
                last = times[stage]
                tell(Message(unit.label, stage, done, total, last))

        return on_progress

    unit.folder.mkdir(parents=True, exist_ok=True)
    if unit.steps_left(experiment) and not _train(experiment, unit, teller("training"), should_stop):
        return None
    agent, columns = _agent(experiment, unit)
    evaluated = evaluate(
        agent,
        experiment.lab,
        experiment.evaluation,
        on_progress=teller("evaluation"),
        should_stop=should_stop,
    )
    if evaluated is None:
        return None
    for name, events in evaluated.ledgers.items():
        lines = [json.dumps(event, ensure_ascii=False) + "\n" for event in events]
        write_atomically(unit.folder / name, "".join(lines))
    write_parquet(unit.traces, owned(evaluated.traces, unit.agent, unit.seed))
    write_parquet(unit.episodes, owned(evaluated.episodes | columns, unit.agent, unit.seed))
    unit.error.unlink(missing_ok=True)
    return times


def _train(
    experiment: Experiment,
    unit: Unit,
    on_progress: Callable[[int, int], None],
    should_stop: Callable[[], bool],
) -> bool:
    """Train a policy and write its training episodes; return False, with neither written, if stopped.

    A policy that had fewer steps continues. Its new files replace the old ones at the end, the episodes first. A kill
    among the last of them leaves no weights, so that the unit is trained again from its beginning.
    """
    from solvent_agents.learning.learned import train
    from solvent_agents.learning.recipe import Recipe

    parts: list[Columns] = []

    def on_episodes(steps: int, columns: dict[str, Any]) -> None:
        flat = flatten(columns)
        parts.append({"steps": np.full(len(flat["return"]), steps, np.int64), **flat})

    assert unit.seed is not None
    before, longer = unit.steps, unit.folder / "longer"
    _clear(unit, longer)
    trained = train(
        Recipe.from_mapping(experiment.train[unit.agent] or {}), experiment.lab, seed=unit.seed,
        folder=longer if before else unit.folder, on_progress=on_progress, on_episodes=on_episodes,
        should_stop=should_stop, track=experiment.track, start=unit.model if before else None,
    )  # fmt: skip
    if trained is None:
        return False
    if before:
        _replace_policy(unit, before, longer, trained, parts)
    else:
        write_parquet(unit.training, joined(parts))
    return True


def _replace_policy(unit: Unit, before: int, longer: Path, trained: Path, parts: list[Columns]) -> None:
    """Replace a policy that was trained for ``before`` steps, and its files, by those in the folder ``longer``.

    ``parts`` are the training episodes since then.
    """
    beginning = read_parquet(unit.training)
    beginning = select(beginning, beginning["steps"] <= before)
    _join_validations(unit.folder, before, longer)
    write_parquet(unit.training, joined([beginning, *parts]))
    policy = (trained.with_suffix(".json"), trained)
    # What tracked it, beside that of its beginning.
    ignored = shutil.ignore_patterns(*(file.name for file in policy))
    shutil.copytree(longer, unit.folder, dirs_exist_ok=True, ignore=ignored)
    # Removed first and moved last: the old weights never stand beside the new description.
    unit.model.unlink()
    for file in policy:
        file.replace(unit.folder / file.name)
    shutil.rmtree(longer)


def _join_validations(folder: Path, before: int, longer: Path) -> None:
    """Put the evaluations of the first ``before`` steps before later ones, if there are any (``evaluate_every``)."""
    beginning, later = folder / "validation.json", longer / "validation.json"
    if beginning.exists() and later.exists():
        rows = [row for row in json.loads(beginning.read_bytes()) if row["steps"] < before]
        write_json(later, rows + json.loads(later.read_bytes()))


def _clear(unit: Unit, longer: Path) -> None:
    """Remove what an interrupted training has left, so that none of it counts for the next one."""
    shutil.rmtree(longer, ignore_errors=True)
    if not unit.steps:
        for file in (unit.model, unit.training):
            file.unlink(missing_ok=True)
        for tracked in TRACKED:
            shutil.rmtree(unit.folder / tracked, ignore_errors=True)


def _agent(experiment: Experiment, unit: Unit) -> tuple[Agent, Columns]:
    """Return the agent of a unit, and the columns of a language model's episodes that no other agent has."""
    if unit.agent in experiment.language:
        from solvent_experiments.model_logs import recorded

        return recorded(experiment, unit.agent)
    if unit.seed is None:
        return experiment.find_agent(unit.agent)(experiment.lab, 0), {}
    from solvent_agents.learning.learned import LearnedAgent

    return LearnedAgent.load(unit.model, experiment.lab), {}


# -- processes of this machine


def cores() -> int:
    """Return the number of cores that this process may use."""
    if sys.platform == "linux":  # it alone tells what a container or a scheduler leaves to a process
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Processes(Pool):
    """A pool of processes, by default one per core, spawned so that no thread or lock of the parent is copied."""

    def __init__(self, jobs: int | None = None) -> None:
        one_thread_each()
        share_announcement()
        context = multiprocessing.get_context("spawn")
        self.jobs = jobs or cores()
        self._stop, self._queue = context.Event(), context.SimpleQueue()
        self._pool = ProcessPoolExecutor(self.jobs, context, _begin, (self._queue, self._stop))

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        for process in multiprocessing.active_children() if kind else ():
            process.kill()
        self._pool.shutdown()

    def submit(self, experiment: Experiment, unit: Unit) -> Future[Times | None]:
        return self.call(_work, experiment, unit)

    def call(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Execute a function of a module."""
        # A Ctrl-C reaches a new process before it can ignore it; it inherits what is blocked.
        if sys.platform == "win32":
            return self._pool.submit(function, *arguments)
        before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
        try:
            return self._pool.submit(function, *arguments)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def messages(self) -> Iterator[Message]:
        while not self._queue.empty():
            yield self._queue.get()

    def stop(self) -> None:
        self._stop.set()


_tell: Tell
_should_stop: Callable[[], bool]


def _begin(queue: Any, stop: Any) -> None:
    """Prepare a worker process: its parent handles signals, and it ends with its parent."""
    global _tell, _should_stop
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    _tell, _should_stop = queue.put, stop.is_set
    threading.Thread(target=_leave_with_parent, daemon=True).start()


def _leave_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _work(experiment: Experiment, unit: Unit) -> Times | None:
    try:
        return do_unit(experiment, unit, _tell, _should_stop)
    except Exception:
        write_atomically(unit.error, traceback.format_exc())
        raise


# -- the tables of all units


def join(experiment: Experiment, folder: RunFolder, units: Sequence[Unit]) -> None:
    """Join the tables of ``units`` in ``folder``, write the summary and, of a gate, its thresholds and domain."""
    from solvent.lab.words.measured import measured_for

    parts = [read_parquet(unit.episodes) for unit in units]
    parts = [{name: part[name] for name in part if name not in LANGUAGE} for part in parts]
    episodes = joined(parts)
    write_parquet(folder.episodes, episodes)
    write_parquet(folder.traces, joined([read_parquet(unit.traces) for unit in units]))
    trained = [
        owned(columns, unit.agent, unit.seed)
        for unit in units
        # A training of a few steps ends no episode, and its table has no columns.
        if unit.seed is not None and (columns := read_parquet(unit.training))
    ]
    if trained:
        write_parquet(folder.training, joined(trained))
    if measured := measured_for(experiment.lab):
        thresholds = {policy.name: [policy.tau_accept, policy.tau_review] for policy in measured.policies}
        write_json(folder.gate, {"thresholds": thresholds, "domain": measured.about["domain"]})
    write_rows(folder.summary, experiment, summary(episodes, experiment.lab))


def trained_for(experiment: Experiment) -> list[str]:
    """Return a line for each learner: its training steps, and those of the recipe of its name where that has more."""
    lines = []
    for name, recipe in experiment.train.items():
        steps, full_steps = (recipe or {})["n_timesteps"], recipe_steps(name, experiment.env)
        line = f"{name}: trained for {steps:,} steps"
        if full_steps and steps < full_steps:
            line += f", {steps / full_steps:.0%} of the {full_steps:,} of its recipe"
        lines.append(f"{line}, with {plural(len(experiment.seeds), 'training seed')}.")
    return lines


def show_results(folder: RunFolder) -> None:
    """Print the result tables, the paths of the figures, and the next step."""
    experiment, console = folder.experiment(), new_console()
    title = f"{experiment.name} ({experiment.env})"
    for table in result_tables(read_rows(folder.summary), title=title, mark=experiment.mark):
        console.print(table.terminal(title_style="bold red" if experiment.mark else "bold"))
    for line in trained_for(experiment):
        console.print(line, highlight=False, soft_wrap=True)
    for path in sorted(folder.figures.glob("*.png")):
        console.print(str(path), highlight=False, soft_wrap=True)
    root = shlex.quote(str(folder.root))
    suggest(f"`solvent report {root}` writes a page with figures and an episode to step through.")
