"""The interface of an agent: it turns observations into actions, for one lab or for many at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from solvent.lab.params import LabParams
from solvent.lab.state import lab_dtype, lab_fields

__all__ = [
    "Actions",
    "Agent",
    "Argues",
    "DrawsLots",
    "Observations",
    "ReadsNotebook",
    "TakesTime",
    "act_one",
    "show_labs",
    "start_labs",
    "without_truth",
]

Observations = NDArray[np.float32]
Actions = NDArray[np.int64]


@runtime_checkable
class Agent(Protocol):
    """Chooses actions. Most agents keep no memory of an episode: the observation carries it. One that keeps a memory
    begins afresh at ``start`` (``DrawsLots``).

    An agent is made for the parameters of a lab and its own seed (``AGENTS[name](params, seed)``),
    plays any number of labs with these parameters, and sees nothing but what ``act`` is given.
    """

    name: str

    def act(self, observations: Observations, masks: NDArray[Any]) -> Actions:
        """Return actions for ``n`` labs.

        Args:
            observations: shape ``(n, n_fields)``.
            masks: which actions would execute, shape ``(n, n_actions)``. An agent may ignore it and be refused.

        Returns:
            Indices into the action table, shape ``(n,)``.
        """
        ...


@runtime_checkable
class ReadsNotebook(Protocol):
    """An agent that reads the labs' records instead of observations. It receives them without the hidden truth."""

    def open(self, notebooks: NDArray[Any]) -> None:
        """Receive what is known in each lab (``without_truth``), shape ``(n,)``, before every ``act``.

        Labs that have ended keep their final record; their actions are ignored.
        """
        ...


@runtime_checkable
class DrawsLots(Protocol):
    """An agent that makes random choices or remembers episodes. It is told when they begin.

    With the labs' seeds its choices don't depend on the batch.
    """

    def start(self, lab_seeds: Sequence[int]) -> None:
        """Begin episodes in labs with these seeds, one per row."""
        ...


@runtime_checkable
class Argues(Protocol):
    """An agent that says what its proposals are about, in which range, and why."""

    def argue(self, labs: NDArray[Any]) -> list[str]:
        """Write the arguments for the actions just chosen into the labs' records, and return their reasons."""
        ...


@runtime_checkable
class TakesTime(Protocol):
    """An agent whose decisions take long, so that small batches keep it busy."""

    labs_at_once: int


def start_labs(agent: Agent, seeds: Sequence[int]) -> None:
    """Tell an agent that draws lots or remembers episodes the seeds of the labs whose episodes begin."""
    if isinstance(agent, DrawsLots):
        agent.start(seeds)


def show_labs(agent: Agent, labs: NDArray[Any], params: LabParams) -> None:
    """Pass the labs' records, shape ``(n,)``, to an agent that reads them, without the truth."""
    if isinstance(agent, ReadsNotebook):
        agent.open(without_truth(labs, params))


def without_truth(labs: NDArray[Any], params: LabParams) -> NDArray[Any]:
    """Return a copy of lab records, shape ``(n,)``, with every hidden field blank.

    Raises:
        ValueError: records of other parameters.
    """
    if labs.dtype != lab_dtype(params):
        raise ValueError(
            f"labs: got records of {labs.dtype.itemsize} bytes; allowed: those of a lab with these parameters, "
            f"of {lab_dtype(params).itemsize}"
        )
    public = labs.copy()
    for field in lab_fields(params):
        if field.hidden is not None:
            public[field.name] = field.hidden
    return public


def act_one(agent: Agent, observation: Observations, mask: NDArray[Any]) -> int:
    """Return the agent's action in a single lab.

    ``observation`` has shape ``(n_fields,)``, ``mask`` has shape ``(n_actions,)``.
    """
    return int(agent.act(observation[None], np.asarray(mask)[None])[0])
