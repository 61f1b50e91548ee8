"""Evaluation: every agent plays the same episodes.

Of the first episodes all refusals go to a ledger, and every heartbeat to a trace. Both come from the
evaluation itself, not from another play: the agent's actions are recorded and the ledger's episodes are
replayed with them, one after the other, which needs no agent and gives the same bytes for any size of batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from solvent import LabParams, RefusalEvent
from solvent.batch import LabBatch
from solvent.records import refusal_event
from solvent_agents import rollout
from solvent_agents.agent import Actions, Agent, Observations
from solvent_experiments.columns import Columns, flatten, joined
from solvent_experiments.config import Evaluation

__all__ = ["Evaluated", "evaluate"]

BATCH = 256


class Evaluated(NamedTuple):
    """A row an episode, a row a heartbeat of the traced episodes, and the refusals of the logged ones."""

    episodes: Columns
    traces: Columns
    refusals: list[RefusalEvent]


class _Recorder:
    """Passes an agent's actions on and keeps them."""

    def __init__(self, agent: Agent) -> None:
        self.name = agent.name
        self._agent = agent
        self.taken: list[Actions] = []

    def start(self, lab_seeds: Sequence[int]) -> None:
        """Begin a batch; agents with luck of their own are told whose labs are in the rows."""
        self.taken = []
        if isinstance(self._agent, rollout.DrawsLots):
            self._agent.start(lab_seeds)

    def act(self, observations: Observations, masks: NDArray[Any]) -> Actions:
        actions = self._agent.act(observations, masks)
        self.taken.append(np.array(actions))
        return actions


def evaluate(
    agent: Agent,
    params: LabParams,
    evaluation: Evaluation,
    *,
    on_progress: Callable[[int, int], None] = lambda *_: None,
    should_stop: Callable[[], bool] = lambda: False,
) -> Evaluated | None:
    """Play the evaluation's episodes, one a seed; None if it was stopped before the end."""
    recorder = _Recorder(agent)
    parts, traces, refusals = [], [], []
    done = 0
    on_progress(0, evaluation.episodes)
    for part in rollout.generate(recorder, params, evaluation.seeds, batch=BATCH, trace=True):
        seeds = [int(seed) for seed in part["seed"]]
        for row in range(min(len(seeds), evaluation.ledger_episodes - done)):
            actions = [int(taken[row]) for taken in recorder.taken]
            refusals += _replayed_refusals(params, seeds[row], actions)
        traced = max(0, min(len(seeds), evaluation.trace_episodes - done))
        traces.append(_long(part.pop("trace"), seeds, traced))
        parts.append(flatten(part))
        done += len(seeds)
        on_progress(done, evaluation.episodes)
        if done < evaluation.episodes and should_stop():
            return None
    episodes = joined(parts)
    episodes = {"episode_seed": episodes.pop("seed"), **episodes}
    return Evaluated(episodes, joined(traces), refusals)


def _replayed_refusals(params: LabParams, seed: int, actions: list[int]) -> list[RefusalEvent]:
    """The refusals of one episode, in order; their ``design_id`` ends in the episode's seed."""
    batch = LabBatch(params, 1)
    batch.begin([seed], np.ones(1, np.bool_), np.random.default_rng(0))
    events = []
    for action in actions:
        batch.step(np.array([action]))
        step = batch.steps[0]
        if step["refusal"]:
            events.append(refusal_event(params, step, seed))
        if step["terminated"] or step["truncated"]:
            break
    return events


def _long(trace: dict[str, NDArray[Any]], seeds: list[int], episodes: int) -> Columns:
    """A row for each heartbeat of the first ``episodes`` episodes; row 0 of each is its start."""
    wells = trace["wells"][:episodes]
    episode, heartbeat = np.nonzero(~np.isnan(wells))
    columns: Columns = {
        "episode_seed": np.array(seeds, np.int64)[episode],
        "heartbeat": heartbeat.astype(np.int32),
    }
    kinds = {"wells": np.int32, "refusal": np.int8, "event": np.int8}
    for name, values in trace.items():
        column = np.nan_to_num(values[episode, heartbeat])
        columns[name] = column.astype(kinds.get(name, np.float32))
    return columns
