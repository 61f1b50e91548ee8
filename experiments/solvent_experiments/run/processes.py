"""Worker processes: one task each, a limited number at a time.

They are spawned, not forked, so that no thread or lock of the parent is copied. Each uses one thread for linear
algebra; on a busy machine more threads are many times slower. If a process dies, a new one retries the units that it
had not finished (``attempts``).
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing.connection import wait
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import Any

from solvent_experiments.run.attempts import Attempts
from solvent_experiments.run.worker import ENDS, Message, Task, work

__all__ = ["ONE_THREAD", "run_tasks"]

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
PATIENCE = 0.1  # seconds between checks for a stop


class _Worker:
    """A process, its task, and the units that have ended."""

    def __init__(self, context: SpawnContext, task: Task, stop: Any) -> None:
        self._task = task
        self._ended: set[str] = set()
        self.connection, speaker = context.Pipe(duplex=False)
        self._process: SpawnProcess = context.Process(target=work, args=(task, speaker, stop), daemon=True)
        with _unheard():
            self._process.start()
        speaker.close()

    def hear(self) -> Message | None:
        """Return the next message; None when the process has ended."""
        try:
            message: Message = self.connection.recv()
        except (EOFError, OSError):  # OSError: in the middle of a message
            self._process.join()
            self.connection.close()
            return None
        if message.kind in ENDS:
            self._ended.add(message.label)
        return message

    def end(self) -> None:
        self._process.kill()
        self._process.join()
        self.connection.close()

    @property
    def left(self) -> Task | None:
        """The unfinished units of a process that died, as a task; None if it ended normally."""
        units = tuple(unit for unit in self._task.units if unit.label not in self._ended)
        return replace(self._task, units=units) if units and self._process.exitcode else None

    @property
    def fate(self) -> str:
        """The end of the process, for a message."""
        code = self._process.exitcode or 0
        if code >= 0:
            return f"its process {self._process.pid} ended with code {code}"
        return f"its process {self._process.pid} was ended by {_name(-code)}"


@contextmanager
def _unheard() -> Iterator[None]:
    """Block the signals of a terminal for a process that starts: Ctrl-C reaches it before it can ignore it."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def run_tasks(
    tasks: Sequence[Task], jobs: int, on_message: Callable[[Message], None], should_stop: Callable[[], bool]
) -> None:
    """Execute all tasks in order, at most ``jobs`` at a time.

    Returns when every process has ended. Once ``should_stop`` is true, no task starts, and running ones stop where
    they can be resumed.
    """
    context = multiprocessing.get_context("spawn")
    for variable in ONE_THREAD:
        os.environ.setdefault(variable, "1")
    stop = context.Event()
    waiting = deque(tasks)
    running: dict[Any, _Worker] = {}
    attempts = Attempts()
    try:
        while running or (waiting and not should_stop()):
            while waiting and len(running) < jobs and not should_stop():
                worker = _Worker(context, waiting.popleft(), stop)
                running[worker.connection] = worker
            if should_stop():
                stop.set()
            for connection in wait(list(running), timeout=PATIENCE):
                message = running[connection].hear()
                if message is not None:
                    on_message(message)
                elif again := _try_again(running.pop(connection), attempts, on_message):
                    waiting.appendleft(again)
    finally:
        for worker in running.values():
            worker.end()


def _try_again(worker: _Worker, attempts: Attempts, on_message: Callable[[Message], None]) -> Task | None:
    """Return the units to retry after a process has ended, as a task."""
    left = worker.left
    if left is None:
        return None
    message = attempts.lost(left.units[0].label, worker.fate)
    on_message(message)
    units = left.units if message.kind == "lost" else left.units[1:]
    return replace(left, units=units) if units else None


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
