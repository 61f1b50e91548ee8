"""Walking through labs step by step, for what an ordinary rollout does not keep."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from solvent import LabParams, LabVectorEnv
from solvent_agents.agent import Agent, show_labs
from solvent_agents.rollout import DrawsLots

__all__ = ["Step", "walk"]


class Step(NamedTuple):
    """One step of ``n`` labs: what they showed, what was tried, what came of it, and which episodes it ended."""

    observations: NDArray[np.float32]
    masks: NDArray[np.bool_]
    debt: NDArray[np.float64]  # before the action
    actions: NDArray[np.int64]
    ended: NDArray[np.bool_]
    envs: LabVectorEnv


def walk(agent: Agent, params: LabParams, seeds: Sequence[int]) -> Iterator[Step]:
    """Step labs with these seeds for as long as the caller wants; a lab that ends goes on with its next episode."""
    envs = LabVectorEnv(len(seeds), params, autoreset_mode="SameStep", copy=False)
    if isinstance(agent, DrawsLots):
        agent.start([int(seed) for seed in seeds])
    observations, infos = envs.reset(seed=[int(seed) for seed in seeds])
    while True:
        show_labs(agent, envs.batch.labs, params)
        seen, masks = observations.copy(), np.array(infos["action_mask"], np.bool_)
        debt: NDArray[Any] = envs.batch.labs["debt"].copy()
        actions = np.zeros(len(seeds), np.int64)
        actions[:] = agent.act(seen, masks)
        observations, _, terminated, truncated, infos = envs.step(actions)
        yield Step(seen, masks, debt, actions, terminated | truncated, envs)
