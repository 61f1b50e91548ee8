"""Rollout: one episode per seed, and what became of it.

Lab ``i`` is seeded with ``seeds[i]`` and plays its first episode; labs that have ended are passed over while the
others of their batch go on. The result does not depend on the batch's size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from solvent.metrics import episode_columns, join_columns
from solvent.params import LabParams
from solvent.vector import LabVectorEnv
from solvent_agents.agent import Agent

__all__ = ["TRACED", "DrawsLots", "episodes", "generate"]

TRACED = ("wells", "debt", "refusal", "claim", "gain", "event")
"""What is traced a heartbeat: wells left and debt (bits) at that time, the other columns of the step that led there."""

Columns = dict[str, Any]


@runtime_checkable
class DrawsLots(Protocol):
    """An agent with luck of its own, which must not depend on the batch: it is told whose labs are in the rows."""

    def start(self, lab_seeds: Sequence[int]) -> None:
        """Begin episodes in labs with these seeds, one a row."""
        ...


def episodes(
    agent: Agent, params: LabParams, seeds: Sequence[int], *, batch: int = 256, trace: bool = False
) -> Columns:
    """Play one episode per seed.

    Args:
        agent: made for ``params``.
        params: parameters of the labs.
        seeds: seeds of the labs, ``n`` of them.
        batch: labs stepped together.
        trace: add ``trace``, a dictionary of arrays of shape ``(n, horizon + 1)`` (``TRACED``), NaN after
            an episode's end.

    Returns:
        The columns of ``solvent.metrics.episode_columns``, each of shape ``(n,)``, and ``seed``.
    """
    return join_columns(list(generate(agent, params, seeds, batch=batch, trace=trace)))


def generate(
    agent: Agent, params: LabParams, seeds: Sequence[int], *, batch: int = 256, trace: bool = False
) -> Iterator[Columns]:
    """The columns of ``episodes``, one batch after the other, for who wants to show progress.

    Raises:
        ValueError: no seeds, or an impossible batch.
    """
    if batch < 1 or not len(seeds):
        raise ValueError(f"batch, seeds: got {batch} and {len(seeds)} seeds; allowed: at least 1 each")
    for first in range(0, len(seeds), batch):
        yield _play(agent, params, [int(seed) for seed in seeds[first : first + batch]], trace)


def _play(agent: Agent, params: LabParams, seeds: list[int], trace: bool) -> Columns:
    """One batch: labs and agent go on until every lab's first episode has ended."""
    n = len(seeds)
    envs = LabVectorEnv(n, params, autoreset_mode="SameStep", copy=False)
    if isinstance(agent, DrawsLots):
        agent.start(seeds)
    observations, infos = envs.reset(seed=seeds)
    running = np.ones(n, np.bool_)
    ended_labs = np.zeros_like(envs.batch.labs)
    traces = {name: np.full((n, params.budget.heartbeats + 1), np.nan) for name in TRACED}
    if trace:
        traces["wells"][:, 0] = envs.batch.labs["wells"]
        traces["debt"][:, 0] = envs.batch.labs["debt"]
    heartbeat = 0
    while running.any():
        actions = np.zeros(n, np.int64)
        actions[:] = agent.act(observations, infos["action_mask"])
        observations, _, terminated, truncated, infos = envs.step(actions)
        heartbeat += 1
        ends = running & (terminated | truncated)
        ended_labs[ends] = envs.batch.finals[ends]
        if trace:
            _trace(traces, envs, running, ends, heartbeat)
        running &= ~ends
    columns = {"seed": np.array(seeds), **episode_columns(params, ended_labs)}
    if trace:
        columns["trace"] = traces
    return columns


def _trace(
    traces: dict[str, NDArray[np.float64]],
    envs: LabVectorEnv,
    running: NDArray[np.bool_],
    ends: NDArray[np.bool_],
    heartbeat: int,
) -> None:
    labs, finals, steps = envs.batch.labs, envs.batch.finals, envs.batch.steps
    traces["wells"][running, heartbeat] = np.where(ends, finals["wells"], labs["wells"])[running]
    # At the end the debt is settled: what is shown is the debt that was settled.
    debt = np.where(ends, finals["debt"] + steps["settled"], labs["debt"])
    traces["debt"][running, heartbeat] = debt[running]
    for name in ("refusal", "claim", "gain", "event"):
        traces[name][running, heartbeat] = steps[name][running]
