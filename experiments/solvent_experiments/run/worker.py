"""A worker process: trains a seed, unless the agent is a script, and evaluates.

Its parent handles signals. The worker stops when the parent says so or is gone.
"""

from __future__ import annotations

import contextlib
import io
import json
import multiprocessing
import os
import signal
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Literal, NamedTuple

from solvent_agents.agent import Agent, TakesTime
from solvent_experiments.artifacts.files import is_full, no_room, write_atomically
from solvent_experiments.artifacts.folder import Unit
from solvent_experiments.artifacts.parquet import owned, write_parquet
from solvent_experiments.artifacts.training_log import TrainingLog
from solvent_experiments.config.experiment import Experiment, make_recipe
from solvent_experiments.language.transcripts import language_columns, recorded
from solvent_experiments.run.evaluation import Evaluated, evaluate

__all__ = ["ENDS", "Message", "Notes", "Task", "do_units", "run_unit", "work"]

REPORT_EVERY = 0.2  # seconds
PARENT_EVERY = 0.5


@dataclass(frozen=True)
class Task:
    """Units that one process works through in order.

    Attributes:
        job: executes a unit, given callbacks for progress and for stopping; returns wall times by stage.
        units: each with a ``label``, a ``folder`` and a path for its ``error``.
    """

    job: Callable[[Any, Callable[[Message], None], Callable[[], bool]], dict[str, float]]
    units: tuple[Any, ...]


Kind = Literal[
    "starting",
    "note",
    "training",
    "evaluation",
    "incident",
    "finished",
    "stopped",
    "failed",
    "full",
    "lost",
]


class Message(NamedTuple):
    """A worker's report on a unit: its progress, or that it finished (with wall times), stopped or failed.

    An ``incident`` does not stop the unit; after ``full`` (no room for the path in its detail) the worker quits.
    Backends report ``lost`` workers, after ``done`` of ``total`` tries.
    """

    kind: Kind
    label: str
    done: int = 0
    total: int = 0
    detail: Any = None


ENDS = ("finished", "stopped", "failed", "full")
"""Kinds of message that end a unit."""


class _Stopped(Exception):  # noqa: N818 - no error
    pass


def work(task: Task, connection: Connection, stop: Any) -> None:
    """Run a task as the entry point of a worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    threading.excepthook = _unless_full
    one_at_a_time = threading.Lock()

    def send(message: Message) -> None:
        with one_at_a_time, contextlib.suppress(OSError):  # the parent is gone, and this process ends soon
            connection.send(message)

    with contextlib.redirect_stderr(Notes(send)):
        do_units(task, send, stop.is_set)


class Notes(io.TextIOBase):
    """Sends what is printed, as when the lab compiles, as notes: printed by this process, it would tear the bars."""

    def __init__(self, send: Callable[[Message], None]) -> None:
        self._send = send

    def write(self, text: str) -> int:
        if said := " ".join(text.split()):
            self._send(Message("note", "", detail=said))
        return len(text)


def do_units(task: Task, send: Callable[[Message], None], should_stop: Callable[[], bool]) -> None:
    """Execute the units of a task in order and report how each ended."""
    tell = _Teller(send)
    for unit in task.units:
        send(Message("starting", unit.label))
        _pass_on_warnings(unit.label, send)
        try:
            times = task.job(unit, tell, should_stop)
        except _Stopped:
            send(Message("stopped", unit.label))
            return
        except Exception as error:
            if isinstance(error, OSError) and is_full(error):
                _tidy(unit)
                send(Message("full", unit.label, detail=no_room(error, unit.folder)))
                return
            with contextlib.suppress(OSError):
                write_atomically(unit.error, traceback.format_exc())
            send(Message("failed", unit.label, detail=f"{type(error).__name__}: {error}"))
        else:
            unit.error.unlink(missing_ok=True)
            send(Message("finished", unit.label, detail=times))


def _tidy(unit: Unit) -> None:
    """Remove unfinished files, to free their room."""
    for path in unit.folder.glob("*.part"):
        path.unlink(missing_ok=True)


def _unless_full(problem: threading.ExceptHookArgs) -> None:
    """Silence a full disk in TensorBoard's thread: the unit is about to report it."""
    if problem.exc_value is None or not is_full(problem.exc_value):
        threading.__excepthook__(problem)


def _leave_with_parent() -> None:
    """Exit at once when the parent is gone, since another run may soon use the folder; all files are whole anyway."""
    parent = multiprocessing.parent_process()
    while parent is not None and os.getppid() == parent.pid:
        time.sleep(PARENT_EVERY)
    os._exit(1)


def _pass_on_warnings(label: str, send: Callable[[Message], None]) -> None:
    """Send warnings as messages: printed by this process, they would tear the progress bars."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        send(Message("note", label, detail=" ".join(str(message).split())))

    warnings.showwarning = show


def run_unit(
    experiment: Experiment, unit: Unit, tell: Callable[[Message], None], should_stop: Callable[[], bool]
) -> dict[str, float]:
    """Train and evaluate a unit as far as it is unfinished; return wall times in seconds by stage."""
    times = {}
    if unit.seed is not None and not unit.trained:
        times["training"] = _timed(lambda: _train(experiment, unit, tell, should_stop))
    if not unit.evaluated:
        times["evaluation"] = _timed(lambda: _evaluate(experiment, unit, tell, should_stop))
    return times


def _timed(job: Callable[[], None]) -> float:
    started = time.perf_counter()
    job()
    return round(time.perf_counter() - started, 3)


def _train(
    experiment: Experiment, unit: Unit, tell: Callable[[Message], None], should_stop: Callable[[], bool]
) -> None:
    from solvent_agents.learning.learned import train

    assert unit.seed is not None
    unit.folder.mkdir(parents=True, exist_ok=True)
    unit.episodes.unlink(missing_ok=True)  # a policy that is trained again is evaluated again
    log = TrainingLog(unit.training_log, experiment.params)
    resumed = False

    def on_progress(done: int, total: int) -> None:
        nonlocal resumed
        if not resumed:
            log.drop_after(done)
            resumed = True
        tell(Message("training", unit.label, done, total))

    # A policy whose training log was lost is trained again: the tables need both.
    if not unit.model.exists() or not unit.training_log.exists():
        unit.training_log.touch()
        model = train(
            make_recipe(experiment.train[unit.agent]),
            experiment.params,
            seed=unit.seed,
            folder=unit.folder,
            on_progress=on_progress,
            on_episodes=log.append,
            should_stop=should_stop,
            on_incident=lambda line: tell(Message("incident", unit.label, detail=line)),
        )
        if model is None:
            raise _Stopped
    write_parquet(unit.training, log.read())
    unit.training_log.unlink(missing_ok=True)


def _evaluate(
    experiment: Experiment, unit: Unit, tell: Callable[[Message], None], should_stop: Callable[[], bool]
) -> None:
    agent, evaluation = _agent(experiment, unit), experiment.evaluation
    if isinstance(agent, TakesTime):
        fewer = min(evaluation.episodes, evaluation.slow_episodes)
        evaluation = evaluation.model_copy(update={"episodes": fewer})
    evaluated = evaluate(
        agent,
        experiment.params,
        evaluation,
        on_progress=lambda done, total: tell(Message("evaluation", unit.label, done, total)),
        should_stop=should_stop,
    )
    if evaluated is None:
        raise _Stopped
    if unit.talks:
        evaluated.episodes.update(language_columns(unit.transcripts, evaluation.seeds))
    save(unit, evaluated)


def _agent(experiment: Experiment, unit: Unit) -> Agent:
    if unit.talks:
        return recorded(unit.transcripts, experiment)
    if unit.seed is None:
        from solvent_agents import PLAYERS

        return PLAYERS[unit.agent](experiment.params, 0)
    from solvent_agents.learning.learned import LearnedAgent

    return LearnedAgent.load(unit.model, experiment.params)


def save(unit: Unit, evaluated: Evaluated) -> None:
    """Write the results of an evaluation; the episodes come last and mark the unit as evaluated."""
    unit.folder.mkdir(parents=True, exist_ok=True)
    for name, events in evaluated.ledgers.items():
        lines = [json.dumps(event.to_dict(), ensure_ascii=False) + "\n" for event in events]
        write_atomically(unit.folder / name, "".join(lines))
    write_parquet(unit.traces, owned(evaluated.traces, unit.agent, unit.seed))
    write_parquet(unit.episodes, owned(evaluated.episodes, unit.agent, unit.seed))


class _Teller:
    """Sends messages, progress at most every ``REPORT_EVERY`` seconds."""

    def __init__(self, send: Callable[[Message], None]) -> None:
        self._send = send
        self._last = 0.0

    def __call__(self, message: Message) -> None:
        now = time.monotonic()
        ends = message.done in (0, message.total)
        if ends or now - self._last >= REPORT_EVERY:
            self._last = now
            self._send(message)
