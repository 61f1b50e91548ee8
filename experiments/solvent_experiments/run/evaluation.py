"""Evaluation: every agent plays the same episodes.

The first episodes also leave a trace of every action and ledgers of their events: refusals, deferrals, proposals and
verdicts of the gate, depending on the level. The ledgers come from replaying the recorded actions one episode at a
time. A replay needs no agent and gives the same bytes for every batch size.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from solvent import LabParams
from solvent.lab.batch import LabBatch
from solvent.lab.info import names_of
from solvent.lab.ledger import logs_of
from solvent.lab.mechanism import LogEvent
from solvent_agents import rollout
from solvent_agents.agent import Actions, Agent, TakesTime
from solvent_experiments.artifacts.folder import ledger_names
from solvent_experiments.artifacts.parquet import Columns, flatten, joined
from solvent_experiments.config.experiment import Evaluation

__all__ = ["Evaluated", "evaluate"]

BATCH = 256
KINDS: dict[str, type[np.generic]] = {
    **dict.fromkeys(("action", "wells", "heartbeat"), np.int32),
    **dict.fromkeys(("refusal", "event", "hour", "slot", "verb", "obstacle", "discomfort"), np.int8),
    **dict.fromkeys(("proposed_verb", "strictness", "verdict", "policy", "wording"), np.int8),
    **dict.fromkeys(("reviews_approved", "reviews_declined", "incident"), np.int16),
    "approvals": np.int16,
    **dict.fromkeys(("closed", "unsupported", "right"), np.bool_),
}
"""Types of a trace's columns; all others are float32."""


class Evaluated(NamedTuple):
    """One row per episode, one row per action of the traced episodes, and ledgers by file name."""

    episodes: Columns
    traces: Columns
    ledgers: dict[str, list[LogEvent]]


def evaluate(
    agent: Agent,
    params: LabParams,
    evaluation: Evaluation,
    *,
    on_progress: Callable[[int, int], None] = lambda *_: None,
    should_stop: Callable[[], bool] = lambda: False,
) -> Evaluated | None:
    """Play the evaluation's episodes, one per seed; return None if stopped before the end."""
    taken: list[Actions] = []
    parts, traces = [], []
    ledgers: dict[str, list[LogEvent]] = {name: [] for name in ledger_names(params)}
    done = 0
    on_progress(0, evaluation.episodes)
    played = rollout.generate(
        agent,
        params,
        evaluation.seeds,
        batch=agent.labs_at_once if isinstance(agent, TakesTime) else BATCH,
        trace=True,
        traced=evaluation.trace_episodes,
        on_actions=taken.append,
    )
    for part in played:
        seeds = [int(seed) for seed in part["seed"]]
        for row in range(min(len(seeds), evaluation.ledger_episodes - done)):
            _replay(params, seeds[row], [int(actions[row]) for actions in taken], ledgers)
        taken.clear()
        traces.append(_long(part.pop("trace"), seeds))
        parts.append(flatten(part))
        done += len(seeds)
        on_progress(done, evaluation.episodes)
        if done < evaluation.episodes and should_stop():
            return None
    episodes = joined(parts)
    episodes = {"episode_seed": episodes.pop("seed"), **episodes}
    return Evaluated(episodes, joined(traces), ledgers)


def _replay(params: LabParams, seed: int, actions: list[int], ledgers: dict[str, list[LogEvent]]) -> None:
    """Append the events of one episode in order; each ``design_id`` ends in the episode's seed."""
    batch, names, logs = LabBatch(params, 1), names_of(params), logs_of(params)
    batch.begin([seed], np.ones(1, np.bool_), np.random.default_rng(0))
    for action in actions:
        batch.step(np.array([action]))
        step = batch.steps[0]
        for log in logs:
            if log.happened(batch.steps)[0]:
                ledgers[log.file] += log.events(names, step, batch.labs[0], seed)
        if step["terminated"] or step["truncated"]:
            break


def _long(trace: dict[str, NDArray[Any]], seeds: list[int]) -> Columns:
    """Return a row for each action of the traced episodes, the first of ``seeds``; row 0 of each is its start."""
    episode, step = np.nonzero(~np.isnan(trace["wells"]))
    columns: Columns = {
        "episode_seed": np.array(seeds, np.int64)[episode],
        "heartbeat": step.astype(np.int32),
    }
    if "heartbeat" in trace:  # otherwise each action is one heartbeat
        columns["step"] = step.astype(np.int32)
    for name, values in trace.items():
        columns[name] = np.nan_to_num(values[episode, step]).astype(KINDS.get(name, np.float32))
    return columns
