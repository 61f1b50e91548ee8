"""Evaluation: every agent plays the same episodes.

The first episodes also leave a trace of every action and ledgers of their events: refusals, deferrals, proposals and
verdicts of the gate, depending on the level.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from solvent import LabParams
from solvent.lab.columns import episode_columns
from solvent.lab.ledger import Origin, logs_of
from solvent_agents import rollout
from solvent_agents.agent import Agent, TakesTime
from solvent_experiments.config import Evaluation
from solvent_experiments.folder import Columns, flatten, joined

BATCH = 256
KINDS: dict[str, type[np.generic]] = {
    **dict.fromkeys(("action", "wells", "heartbeat"), np.int32),
    **dict.fromkeys(("refusal", "event", "hour", "slot", "verb", "obstacle", "discomfort"), np.int8),
    **dict.fromkeys(("proposed_verb", "verdict", "decision", "wording"), np.int8),
    "approvals": np.int16,
    **dict.fromkeys(("closed", "caused_by_debt", "right"), np.bool_),
}
"""Types of a trace's columns; all others are float32."""

Line = dict[str, Any]


class Evaluated(NamedTuple):
    """One row per episode, one row per action of the traced episodes, and ledgers by file name."""

    episodes: Columns
    traces: Columns
    ledgers: dict[str, list[Line]]


def evaluate(
    agent: Agent,
    params: LabParams,
    evaluation: Evaluation,
    *,
    on_progress: Callable[[int, int], None] = lambda *_: None,
    should_stop: Callable[[], bool] = lambda: False,
) -> Evaluated | None:
    """Play the evaluation's episodes, one per seed; return None if stopped before the end.

    Agents that take long over a decision play ``slow_episodes`` of them.
    """
    slow = isinstance(agent, TakesTime)
    seeds = evaluation.seeds[: evaluation.slow_episodes] if slow else evaluation.seeds
    batch = agent.labs_at_once if isinstance(agent, TakesTime) else BATCH
    logs = logs_of(params).values()
    ledgers: dict[str, list[Line]] = {log.file: [] for log in logs}
    parts, traces, done = [], [], 0
    on_progress(0, len(seeds))
    while done < len(seeds):
        if should_stop():
            return None
        chosen = [int(seed) for seed in seeds[done : done + batch]]
        traced = chosen[: max(0, evaluation.trace_episodes - done)]
        trace = rollout.Trace(params, len(traced))
        events: dict[str, list[list[Line]]] = {file: [[] for _ in traced] for file in ledgers}  # by episode
        for step in rollout.walk(agent, params, chosen):
            trace.add(step)
            for log in logs:
                happened = log.happened(step.results[: len(traced)]) & step.running[: len(traced)]
                for i in np.flatnonzero(happened):
                    # The seed stands in for the lab's index.
                    origin = Origin(done + int(i), traced[i], step.reasons[i])
                    events[log.file][i] += log.lines(params, step.results[i], step.after[i], origin)
        for file in ledgers:
            ledgers[file] += itertools.chain.from_iterable(events[file])
        traces.append(_long(trace.columns, chosen))
        parts.append({"episode_seed": np.array(chosen), **flatten(episode_columns(params, step.after))})
        done += len(chosen)
        on_progress(done, len(seeds))
    return Evaluated(joined(parts), joined(traces), ledgers)


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
