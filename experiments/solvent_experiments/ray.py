"""The jobs of a run on a Ray cluster, whose machines need not share a file system.

A task receives a unit's files, works in a scratch folder and returns the files that it wrote; only the run writes to
its own folder. Progress is per unit. Without an address the run starts a cluster on this machine and ends it
afterwards.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import tempfile
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import ray

import solvent
from solvent.files import write_atomically
from solvent_experiments.config import ConfigError, Experiment
from solvent_experiments.folder import Unit
from solvent_experiments.run import Pool, Times, do_unit, one_thread_each

REACHED_WITHIN = 5.0
"""Seconds within which a cluster must answer; Ray itself retries for most of a minute."""
QUIET: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
Files = dict[str, bytes]


class RayPool(Pool):
    """A cluster at ``address`` (``HOST:PORT``, or ``auto`` for this machine's), or a new one with ``jobs`` CPUs.

    A unit that has not returned is cancelled by the run and ends with the cluster's job.
    """

    def __init__(self, address: str | None, jobs: int) -> None:
        handler = signal.getsignal(signal.SIGTERM)
        one_thread_each()
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        if address is None:
            ray.init(address="local", num_cpus=jobs, include_dashboard=False, **QUIET)
        else:
            _require_reachable(address)
            try:
                ray.init(address=address, **QUIET)
            except (ConnectionError, OSError, RuntimeError, ValueError) as error:
                message = f"no Ray cluster at {address!r} that this machine belongs to: {str(error).partition('. ')[0]}"
                raise ConfigError(message, key="--address") from None
        signal.signal(signal.SIGTERM, handler)  # Ray replaces it, and the run must stop in its own way
        self.jobs = int(ray.cluster_resources()["CPU"])  # type: ignore[no-untyped-call]

    def __exit__(self, *_: object) -> None:
        ray.shutdown()

    def submit(self, experiment: Experiment, unit: Unit) -> Future[Times | None]:
        task: Any = ray.remote(num_cpus=1, max_retries=2, scheduling_strategy="SPREAD")(_work)
        result: Future[Times | None] = Future()
        future = task.remote(experiment, unit.agent, unit.seed, files_of(unit), solvent.__version__).future()
        future.add_done_callback(lambda done: _pass_on(done, unit, result))
        return result


def _work(
    experiment: Experiment, agent: str, seed: int | None, files: Files, version: str
) -> tuple[Times | None, Files]:
    """Execute a unit on some machine; return its wall times and the files that are new or changed."""
    if solvent.__version__ != version:
        raise RuntimeError(
            f"{socket.gethostname()} has Solvent {solvent.__version__}; allowed: {version}, as the run"
        )
    with tempfile.TemporaryDirectory() as scratch:
        unit = Unit(agent, seed, Path(scratch, "unit"))
        for name, content in files.items():
            write_atomically(unit.folder / name, content)
        times = do_unit(experiment, unit, lambda _: None, lambda: False)
        return times, {
            name: content for name, content in files_of(unit).items() if files.get(name) != content
        }


def files_of(unit: Unit) -> Files:
    """Return the contents of a unit's files by their paths in its folder."""
    paths = [path for path in unit.folder.rglob("*") if path.is_file()]
    return {path.relative_to(unit.folder).as_posix(): path.read_bytes() for path in paths}


def _pass_on(done: Any, unit: Unit, result: Future[Times | None]) -> None:
    """Write what a task returned, a policy's weights after the rest and ``episodes.parquet`` last, and tell the run."""
    if result.cancelled():
        return
    try:
        times, files = done.result()
        last = (unit.model.name, unit.episodes.name)
        if unit.model.name in files:  # so that a kill leaves no old weights beside a new description
            unit.model.unlink(missing_ok=True)
        for name in sorted(files, key=lambda name: last.index(name) if name in last else -1):
            write_atomically(unit.folder / name, files[name])
    except Exception as error:
        result.set_exception(getattr(error, "cause", None) or error)  # Ray wraps the task's own error
    else:
        result.set_result(times)


def _require_reachable(address: str) -> None:
    if address == "auto":
        return
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=REACHED_WITHIN).close()
    except (OSError, ValueError, OverflowError) as error:
        message = f"nothing answers at {address!r} ({error}); allowed: HOST:PORT of a Ray cluster, or auto"
        raise ConfigError(message, key="--address") from None
