"""The Ray backend: each unit runs in an actor with one CPU, which streams its news to the run.

Only the run writes to its folder. An actor receives the unit's files, so it can resume from a checkpoint on any
machine, and sends back those that change (``worker``). Another actor replaces one that is lost with its process or its
machine (``attempts``). Without an address, the run starts a cluster on this machine and ends it afterwards.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from typing import Any, Self

import ray
import ray.exceptions

from solvent_experiments.artifacts import manifest as manifests
from solvent_experiments.artifacts.files import is_full, no_room
from solvent_experiments.artifacts.folder import Unit
from solvent_experiments.config.documents import ConfigError
from solvent_experiments.ray.parcels import Parcel, read_folder, unpack
from solvent_experiments.ray.worker import News, Place, UnitWorker
from solvent_experiments.run.attempts import Attempts
from solvent_experiments.run.processes import ONE_THREAD
from solvent_experiments.run.worker import ENDS, Message, Task

__all__ = ["RayBackend"]

PATIENCE = 0.1  # seconds between checks for a stop
REACHED_WITHIN = 5.0  # seconds
WAITS_LONG = 30.0  # seconds without a free CPU
STORE = 200 * 2**20  # bytes of a local cluster's object store; parcels have a few megabytes
QUIET: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}

# Parts of Ray's messages about lost actors, and the name of the thread that prints them.
NODE_LOST = "its node has died"
NOT_BEGUN = "error raised in its creation task"
RAYS_THREAD = "ray_listen_error_messages"

OnMessage = Callable[[Message], None]


class RayBackend:
    """A cluster at ``address`` (``HOST:PORT``, or ``auto`` for this machine's cluster), or a new local one."""

    name = "ray"

    def __init__(self, address: str | None = None) -> None:
        self.address = address
        self._about: dict[str, Any] = {}

    def __enter__(self) -> Self:
        if ray.is_initialized():
            raise ConfigError(
                "Ray is in use in this process already; allowed: a run that starts or joins it itself"
            )
        if self.address is not None:
            _require_reachable(self.address)
            try:
                with _own_signals():
                    ray.init(address=self.address, **QUIET)
            except (ConnectionError, OSError, RuntimeError, ValueError, TypeError) as error:
                raise ConfigError(
                    f"no Ray cluster at {self.address!r} that this machine belongs to: {str(error).partition('. ')[0]}",
                    key="--address",
                ) from None
        return self

    def __exit__(self, *_: object) -> None:
        """Disconnect, which ends the run's actors and a cluster that it started."""
        if ray.is_initialized():
            ray.shutdown()

    def default_jobs(self, units: int) -> int | None:
        """Return ``units`` for a cluster, which knows its own CPUs, and None for this machine."""
        return units if self.address is not None else None

    def about(self) -> dict[str, Any]:
        return {"ray": self._about}

    def run(
        self, tasks: Sequence[Task], jobs: int, on_message: OnMessage, should_stop: Callable[[], bool]
    ) -> None:
        """Execute all tasks, each unit in an actor of its own, at most ``jobs`` at a time."""
        if self.address is None:
            _start(jobs)
        with redirect_stdout(_WithoutRay(sys.stdout)):
            self._run(tasks, jobs, on_message, should_stop)

    def _run(
        self, tasks: Sequence[Task], jobs: int, on_message: OnMessage, should_stop: Callable[[], bool]
    ) -> None:
        nodes = [node for node in ray.nodes() if node["Alive"]]  # type: ignore[no-untyped-call]
        cpus = int(ray.cluster_resources().get("CPU", 0))  # type: ignore[no-untyped-call]
        self._about = {"version": ray.__version__, "address": self.address, "nodes": len(nodes), "cpus": cpus}
        waiting = deque(replace(task, units=(unit,)) for task in tasks for unit in task.units)
        running: dict[Any, _Post] = {}
        attempts = Attempts()
        try:
            while running or (waiting and not should_stop()):
                while waiting and len(running) < jobs and not should_stop():
                    post = _Post(waiting.popleft(), attempts)
                    running[post.news] = post
                if should_stop():
                    running = {news: post for news, post in running.items() if post.stop(on_message)}
                ready, _ = ray.wait(list(running), timeout=PATIENCE) if running else ([], None)
                for news in ready:
                    post = running.pop(news)
                    if post.hear(on_message):
                        running[post.news] = post
                    elif post.again:
                        waiting.appendleft(post.task)
                if running and min(post.waits_for for post in running.values()) > WAITS_LONG:
                    said = f"nothing has begun yet: Ray waits for one of its {cpus} CPUs, or for a process to start"
                    on_message(Message("note", "", detail=said))
        finally:
            for post in running.values():
                post.end()


class _Post:
    """A unit and its actor; ``news`` is the stream of the actor's messages."""

    def __init__(self, task: Task, attempts: Attempts) -> None:
        self.task = task
        self.again = False
        (self._unit,) = task.units
        self._attempts = attempts
        self._place: Place | None = None
        self._stopping = self._broken = False
        self._since = time.monotonic()
        files = read_folder(self._unit.folder) if self._unit.folder.exists() else {}
        self._actor = _ACTOR.options(max_concurrency=2).remote()  # stop() must run beside work()
        self.news: Any = self._actor.work.options(num_returns="streaming").remote(task, files)

    def hear(self, on_message: OnMessage) -> bool:
        """Pass on the next message and return whether more will come; if not, ``again`` says whether to retry."""
        try:
            item = ray.get(self.news if self._broken else next(self.news))
            if self._broken:
                raise ray.exceptions.RayError("it lives and can't be heard")
            goes_on = self._take(item, on_message)
        except ray.exceptions.ActorUnavailableError:  # the next call returns once Ray knows the actor's fate
            time.sleep(PATIENCE)
            self.news, self._broken = self._actor.stop.remote(), True
            return True
        except ray.exceptions.RayError as error:
            self._lost(error, on_message)
            goes_on = False
        if not goes_on:
            self.end()
        return goes_on

    def _take(self, item: News, on_message: OnMessage) -> bool:
        if isinstance(item, Place):
            self._place = item
            _compare_versions(item, self._unit.label, on_message)
        elif isinstance(item, Parcel):
            try:
                unpack(self._unit.folder, item)
            except OSError as error:
                on_message(_unwritten(error, self._unit))
                return False
        else:
            on_message(item)
            return item.kind not in ENDS
        return True

    def _lost(self, error: ray.exceptions.RayError, on_message: OnMessage) -> None:
        what = f"process {self._place.process} on {self._place.host}" if self._place else "process"
        if NOT_BEGUN in str(error):  # a retry would fail too, for example on a machine without Solvent
            said = f"its process could not begin: {str(error).strip().splitlines()[-1]}"
            message = Message("failed", self._unit.label, detail=said)
        else:
            how = ", and its machine with it" if NODE_LOST in str(error) else ""
            message = self._attempts.lost(self._unit.label, f"its {what} was lost{how}")
        self.again = message.kind == "lost"
        on_message(message)

    def stop(self, on_message: OnMessage) -> bool:
        """Ask the actor to stop where it can be resumed; return False if it had not begun."""
        if self._place is None:
            self.end()
            on_message(Message("stopped", self._unit.label))
            return False
        if not self._stopping:
            self._actor.stop.remote()
            self._stopping = True
        return True

    @property
    def waits_for(self) -> float:
        """Seconds spent waiting to begin."""
        return 0.0 if self._place else time.monotonic() - self._since

    def end(self) -> None:
        ray.kill(self._actor)


# No restarts by Ray: they would begin from scratch, while the run knows what a lost actor had done.
_ACTOR: Any = ray.remote(num_cpus=1, max_restarts=0, scheduling_strategy="SPREAD")(UnitWorker)


def _start(jobs: int) -> None:
    """Start a cluster on this machine."""
    for variable in ONE_THREAD:
        os.environ.setdefault(variable, "1")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    with _own_signals():
        ray.init(address="local", num_cpus=jobs, include_dashboard=False, object_store_memory=STORE, **QUIET)


@contextmanager
def _own_signals() -> Iterator[None]:
    """Keep the run's SIGTERM handler, which Ray would replace: the run must stop where it can resume."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _require_reachable(address: str) -> None:
    """Check the port first: Ray itself retries and logs for most of a minute."""
    if address == "auto":
        return
    host, colon, port = address.rpartition(":")
    if not (colon and host and "/" not in host and port.isascii() and port.isdigit() and int(port) < 2**16):
        raise ConfigError(f"got {address!r}; allowed: HOST:PORT of a Ray cluster, or auto", key="--address")
    try:
        socket.create_connection((host, int(port)), timeout=REACHED_WITHIN).close()
    except OSError as error:
        reason = error.strerror or error
        raise ConfigError(
            f"nothing answers at {address!r} ({reason}); allowed: HOST:PORT of a Ray cluster, or auto",
            key="--address",
        ) from None


class _WithoutRay:
    """A stream that drops output of Ray's thread, whose long reports of dead workers repeat the run's own."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        if threading.current_thread().name == RAYS_THREAD:
            return len(text)
        return int(self._stream.write(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _unwritten(error: OSError, unit: Unit) -> Message:
    if is_full(error):
        return Message("full", unit.label, detail=no_room(error, unit.folder))
    return Message("failed", unit.label, detail=f"{type(error).__name__}: {error}")


def _compare_versions(place: Place, label: str, on_message: OnMessage) -> None:
    own = manifests.versions()
    differs = [
        f"{name} {place.versions.get(name)}, here {own[name]}"
        for name in own
        if place.versions.get(name) != own[name]
    ]
    if differs:
        said = f"{place.host} has other versions ({'; '.join(differs)}), so results may differ"
        on_message(Message("incident", label, detail=said))
