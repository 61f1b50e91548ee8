"""Backends: a run executes its units in processes of this machine or on a Ray cluster.

A backend executes tasks, passes on the messages of their workers, and retries the units of lost workers. All backends
take the same tasks and leave the same results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, Self

from solvent.extras import install
from solvent_experiments.config.documents import ConfigError
from solvent_experiments.run.processes import run_tasks
from solvent_experiments.run.worker import Message, Task

__all__ = ["BACKENDS", "Backend", "Processes", "backend_of"]

BACKENDS = ("processes", "ray")


class Backend(Protocol):
    """Executes the tasks of a run, as a context manager."""

    name: str

    def __enter__(self) -> Self:
        """Connect; raise ConfigError if the backend can't be reached."""
        ...

    def __exit__(self, *_: object) -> None:
        """End everything that the backend started."""
        ...

    def default_jobs(self, units: int) -> int | None:
        """Return the default number of parallel units; None means that this machine's cores decide."""
        ...

    def about(self) -> dict[str, Any]:
        """Return the manifest's entries about the backend, after a run."""
        ...

    def run(
        self,
        tasks: Sequence[Task],
        jobs: int,
        on_message: Callable[[Message], None],
        should_stop: Callable[[], bool],
    ) -> None:
        """Execute all tasks, at most ``jobs`` at a time; see ``processes.run_tasks``."""
        ...


class Processes:
    """Processes of this machine, which write to the run's folder directly."""

    name = "processes"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def default_jobs(self, units: int) -> int | None:  # noqa: ARG002
        return None

    def about(self) -> dict[str, Any]:
        return {}

    run = staticmethod(run_tasks)


def backend_of(name: str, address: str | None = None) -> Backend:
    """Return the backend ``name``; raise ConfigError if it is unknown, takes no address, or lacks its package."""
    if name not in BACKENDS:
        raise ConfigError(f"got {name!r}; allowed: {' or '.join(BACKENDS)}", key="--backend")
    if name == "processes":
        if address is not None:
            raise ConfigError(f"got {address!r}; allowed: with --backend ray alone", key="--address")
        return Processes()
    try:
        from solvent_experiments.ray.backend import RayBackend
    except ModuleNotFoundError as error:
        if error.name != "ray":
            raise
        raise ConfigError(
            f"ray needs the package of that name: {install('ray')}",
            key="--backend",
        ) from None
    return RayBackend(address)
