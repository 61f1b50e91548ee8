"""What an agent is: something that turns observations into actions, for one lab or for many at once."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

__all__ = ["Actions", "Agent", "Observations", "act_one"]

Observations = NDArray[np.float32]
Actions = NDArray[np.int64]


@runtime_checkable
class Agent(Protocol):
    """Chooses actions. Agents keep no memory of an episode: the observation carries it.

    An agent is made for the parameters of a lab and a seed of its own (``AGENTS[name](params, seed)``),
    plays any number of labs with these parameters, and sees nothing but what ``act`` is given.
    """

    name: str

    def act(self, observations: Observations, masks: NDArray[Any]) -> Actions:
        """Actions for ``n`` labs.

        Args:
            observations: shape ``(n, n_fields)``.
            masks: which actions would execute, shape ``(n, n_actions)``; agents that want to be refused ignore it.

        Returns:
            Indices into the action table, shape ``(n,)``.
        """
        ...


def act_one(agent: Agent, observation: Observations, mask: NDArray[Any]) -> int:
    """The agent's action in a single lab.

    ``observation`` has shape ``(n_fields,)``, ``mask`` has shape ``(n_actions,)``.
    """
    return int(agent.act(observation[None], np.asarray(mask)[None])[0])
