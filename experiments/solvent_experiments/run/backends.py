"""Where the units of a run are worked on: in processes of this machine, or on a Ray cluster.

A backend does tasks and passes on what their workers tell; that a worker was lost is its to notice, and to try the unit
again. What it is given and what comes of it are the same for each: ``run`` knows no difference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, Self

from solvent_experiments.config.documents import ConfigError
from solvent_experiments.run.processes import run_tasks
from solvent_experiments.run.worker import Message, Task

__all__ = ["BACKENDS", "Backend", "Processes", "backend_of"]

BACKENDS = ("processes", "ray")


class Backend(Protocol):
    """Does the tasks of a run; to be entered before and left after."""

    name: str

    def __enter__(self) -> Self:
        """Reach what it works on.

        Raises:
            ConfigError: it can't be reached.
        """
        ...

    def __exit__(self, *_: object) -> None:
        """Leave nothing running that it started."""
        ...

    def default_jobs(self, units: int) -> int | None:
        """How many units at a time where nobody says; None leaves it to what suits this machine's cores."""
        ...

    def about(self) -> dict[str, Any]:
        """What the manifest should know of it, once it has run."""
        ...

    def run(
        self,
        tasks: Sequence[Task],
        jobs: int,
        on_message: Callable[[Message], None],
        should_stop: Callable[[], bool],
    ) -> None:
        """Do all tasks, so many at a time; see ``processes.run_tasks``."""
        ...


class Processes:
    """Processes of this machine, which write into the run's folder themselves."""

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
    """The backend of that name.

    Raises:
        ConfigError: no such backend, one that has no address, or whose package is missing.
    """
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
            "ray needs the package of that name: pip install 'solvent-gym[ray]', or pip install '.[ray]' in a clone",
            key="--backend",
        ) from None
    return RayBackend(address)
