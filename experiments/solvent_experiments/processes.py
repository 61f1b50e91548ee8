"""Processes of a run: so many at a time, one task each, watched until the last has ended.

They are spawned, not forked: no thread and no lock of the parent is copied. Each has one thread for linear
algebra, because on a busy machine more are many times slower.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any

from solvent_experiments.worker import Message, Task, work

__all__ = ["run_tasks"]

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
PATIENCE = 0.1  # seconds between two looks at whether to stop


def run_tasks(
    tasks: Sequence[Task], jobs: int, on_message: Callable[[Message], None], should_stop: Callable[[], bool]
) -> None:
    """Do all tasks, at most ``jobs`` at a time, in their order.

    Returns when every process has ended; after ``should_stop`` no task is begun and those that run stop where
    they can be resumed.
    """
    context = multiprocessing.get_context("spawn")
    for variable in ONE_THREAD:
        os.environ.setdefault(variable, "1")
    stop = context.Event()
    waiting = list(tasks)
    running: dict[Connection, tuple[SpawnProcess, Task, set[str]]] = {}
    try:
        while running or (waiting and not should_stop()):
            while waiting and len(running) < jobs and not should_stop():
                task = waiting.pop(0)
                listener, speaker = context.Pipe(duplex=False)
                process = context.Process(target=work, args=(task, speaker, stop), daemon=True)
                process.start()
                speaker.close()
                running[listener] = (process, task, set())
            if should_stop():
                stop.set()
            for connection in wait(list(running), timeout=PATIENCE):
                assert isinstance(connection, Connection)
                if not _listen(connection, *running[connection], on_message):
                    running.pop(connection)[0].join()
    finally:
        for connection, (process, _, _) in running.items():
            process.terminate()
            process.kill()
            process.join()
            connection.close()


def _listen(
    connection: Connection,
    process: SpawnProcess,
    task: Task,
    ended: set[str],
    on_message: Callable[[Message], None],
) -> bool:
    """Pass on one message; False when the process has ended, for whatever reason."""
    try:
        message: Any = connection.recv()
    except EOFError:
        process.join()
        left = [unit.label for unit in task.units if unit.label not in ended]
        if process.exitcode != 0 and left:
            on_message(Message("failed", left[0], detail=f"its process ended with code {process.exitcode}"))
        connection.close()
        return False
    if message.kind in ("finished", "failed", "stopped"):
        ended.add(message.label)
    on_message(message)
    return True
