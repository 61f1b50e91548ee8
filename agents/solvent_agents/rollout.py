"""Rollout: one episode per seed, and the record of each.

Lab ``i`` is seeded with ``seeds[i]`` and plays its first episode; labs that have ended wait while the
others of their batch continue. The result does not depend on the batch's size.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from solvent.lab.codes import Verdict
from solvent.lab.columns import episode_columns, join_columns
from solvent.lab.mechanisms.gate import MILLION
from solvent.lab.params import LabParams
from solvent.lab.settings import UNIT
from solvent.lab.tables import tables_for
from solvent.lab.vector import LabVectorEnv
from solvent.lab.verbs import VERBS
from solvent_agents.agent import Agent, show_labs

__all__ = [
    "TRACED",
    "TRACED_ADEQUACY",
    "TRACED_ENERGY",
    "TRACED_GATE",
    "DrawsLots",
    "episodes",
    "generate",
    "traced_prices",
]

TRACED = (
    *("action", "wells", "debt", "published_bits", "refusal", "caused_by_debt", "claim", "gain", "event"),
    *("belief", "right"),
)
"""What is traced per action: its index in the action table (-1 at the start), wells left, debt and bits published after
it, and of the action itself the other columns. ``belief`` is the posterior probability of the class that a finding
asserts, ``right`` is 1 if that class is the true one; both are 0 where nothing was asserted. With the episode's seed
the actions are enough to replay it."""

TRACED_ENERGY = (
    *("heartbeat", "energy", "approvals"),
    *("hour", "slot", "closed", "verb", "obstacle", "discomfort", "proposed_verb"),
    *("energy_cost", "energy_spent", "energy_gained"),
)
"""Also traced where acting costs energy: heartbeats gone by, energy left and approvals so far after the action, and of
the action itself the hour of the day, the other fields of ``solvent.lab.state.step_fields``, and its verb. After these
the prices of ``traced_prices``. Energies are in units."""

TRACED_GATE = ("verdict", "decision", "hallucination_energy", "wording")
"""Also traced, after those, where a gate judges findings: of the action's finding the verdict, the reader's decision,
the residual from 0 to 1, and the wording."""

TRACED_ADEQUACY = ("gate_verdict", "adequacy", "rule")
"""Also traced, last, where words are compared with their evidence: what the gate alone said of the finding, its
score and the rule that fired."""


Columns = dict[str, Any]
OnStep = Callable[[LabVectorEnv, NDArray[np.bool_], NDArray[np.bool_]], None]


@runtime_checkable
class DrawsLots(Protocol):
    """An agent that makes random choices. It is told the labs' seeds, so that they don't depend on the batch."""

    def start(self, lab_seeds: Sequence[int]) -> None:
        """Begin episodes in labs with these seeds, one per row."""
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
        trace: add ``trace``, a dictionary of arrays of shape ``(n, most_steps + 1)`` (``TRACED``, ``TRACED_ENERGY``
            where acting costs energy, ``TRACED_GATE`` and ``TRACED_ADEQUACY`` where findings are judged): column ``i``
            is the state after ``i`` actions, NaN after an episode's end.

    Returns:
        The columns of ``solvent.lab.metrics.episode_columns``, each of shape ``(n,)``, and ``seed``.
    """
    return join_columns(list(generate(agent, params, seeds, batch=batch, trace=trace)))


def generate(
    agent: Agent,
    params: LabParams,
    seeds: Sequence[int],
    *,
    batch: int = 256,
    trace: bool = False,
    traced: int | None = None,
    on_step: OnStep = lambda *_: None,
) -> Iterator[Columns]:
    """Yield the columns of ``episodes`` batch by batch, for callers that show progress.

    With ``traced`` only the first ``traced`` episodes are traced, so a batch's traces may have fewer rows.
    ``on_step`` receives the labs after each step, which of them were running, and which of these it ended.

    Raises:
        ValueError: no seeds, or an impossible batch.
    """
    if batch < 1 or not len(seeds):
        raise ValueError(f"batch, seeds: got {batch} and {len(seeds)} seeds; allowed: at least 1 each")
    for first in range(0, len(seeds), batch):
        chosen = [int(seed) for seed in seeds[first : first + batch]]
        rows = len(chosen) if traced is None else max(0, min(len(chosen), traced - first))
        yield _play(agent, params, chosen, rows if trace else None, on_step)


def traced_prices(params: LabParams) -> dict[str, int]:
    """Return the codes of the verbs that cost energy, by name; empty where none does.

    Their base cost is traced as ``price_<verb>``, its hidden fair value as ``fair_<verb>``.
    """
    if not params.energy.enabled:
        return {}
    base = tables_for(params).base_price
    return {spec.name: int(verb) for verb, spec in VERBS.items() if base[verb] > 0}


def _play(
    agent: Agent,
    params: LabParams,
    seeds: list[int],
    traced: int | None,
    on_step: OnStep,
) -> Columns:
    """Play one batch until every lab's first episode has ended."""
    n = len(seeds)
    envs = LabVectorEnv(n, params, autoreset_mode="SameStep", copy=False)
    if isinstance(agent, DrawsLots):
        agent.start(seeds)
    observations, infos = envs.reset(seed=seeds)
    running = np.ones(n, np.bool_)
    ended_labs = np.zeros_like(envs.batch.labs)
    tracer = _Tracer(envs, traced or 0)
    while running.any():
        show_labs(agent, np.where(running, envs.batch.labs, ended_labs), params)
        actions = agent.act(observations, infos["action_mask"])
        observations, _, terminated, _, infos = envs.step(actions)
        ends = running & terminated
        ended_labs[ends] = envs.batch.finals[ends]
        tracer.add(running, ends)
        on_step(envs, running, ends)
        running &= ~ends
    columns = {"seed": np.array(seeds), **episode_columns(params, ended_labs)}
    if traced is not None:
        columns["trace"] = tracer.columns
    return columns


class _Tracer:
    """Traces the first ``rows`` labs of a batch in ``columns`` of shape ``(rows, most_steps + 1)``."""

    def __init__(self, envs: LabVectorEnv, rows: int) -> None:
        params = envs.params
        self._batch, self._rows, self._at = envs.batch, rows, 0
        self._start_hour, self._energy = params.budget.start_hour, params.energy.enabled
        self._gate, self._adequacy = params.gate.enabled, params.adequacy.enabled
        self._prices = traced_prices(params)
        names = [*TRACED, *(TRACED_ENERGY if self._energy else ())]
        names += [f"{kind}_{verb}" for kind in ("price", "fair") for verb in self._prices]
        names += TRACED_GATE if self._gate else ()
        names += TRACED_ADEQUACY if self._adequacy else ()
        self.columns = {name: np.full((rows, params.most_steps + 1), np.nan) for name in names}
        if not rows:
            return
        nobody = np.zeros(rows, np.bool_)
        start = {"action": -1} | self._state(nobody)
        if self._energy:
            start |= {"hour": self._start_hour, "verb": -1, "proposed_verb": -1}
        if self._gate:
            start |= {"verdict": int(Verdict.NONE), "wording": -1}
        if self._adequacy:
            start |= {"gate_verdict": int(Verdict.NONE), "adequacy": -1, "rule": -1}
        for name, values in start.items():
            self.columns[name][:, 0] = values

    def add(self, running: NDArray[np.bool_], ends: NDArray[np.bool_]) -> None:
        """Trace the action that the ``running`` labs have just taken; ``ends`` marks the labs it ended."""
        if not self._rows:
            return
        self._at += 1
        mine = running[: self._rows]
        ends = ends[: self._rows]
        for name, values in (self._state(ends) | self._step()).items():
            self.columns[name][mine, self._at] = values[mine]

    def _now(self, name: str, ends: NDArray[np.bool_]) -> NDArray[Any]:
        """Return a field of the labs after an action, for labs that it ``ends`` that of their final state."""
        labs, finals = self._batch.labs[: self._rows][name], self._batch.finals[: self._rows][name]
        return np.where(ends.reshape(-1, *[1] * (labs.ndim - 1)), finals, labs)

    def _state(self, ends: NDArray[np.bool_]) -> Columns:
        """Return the labs' state after an action, for labs that it ``ends`` their final state."""
        now = functools.partial(self._now, ends=ends)
        # The end settles the debt: the trace shows the debt that was settled.
        settled = np.where(ends, self._batch.steps["settled"][: self._rows], 0.0)
        state: Columns = {name: now(name) for name in ("wells", "debt", "published_bits")}
        state["debt"] = state["debt"] + settled
        if self._energy:
            state |= {"heartbeat": now("heartbeat"), "energy": now("energy") / UNIT}
            state["approvals"] = now("approvals")
            for kind in ("price", "fair"):
                costs = now(kind) / UNIT
                state |= {f"{kind}_{name}": costs[:, verb] for name, verb in self._prices.items()}
        return state

    def _step(self) -> Columns:
        """Return what is traced of the action itself."""
        steps = self._batch.steps[: self._rows]
        taken: Columns = {
            name: steps[name]
            for name in ("action", "refusal", "caused_by_debt", "claim", "gain", "event", "belief", "right")
        }
        if self._energy:
            taken["hour"] = (self._start_hour + steps["heartbeat"]) % 24
            for name in ("slot", "closed", "obstacle", "discomfort", "proposed_verb"):
                taken[name] = steps[name]
            taken["verb"] = tables_for(self._batch.params).verb[steps["action"]]
            for name in ("energy_cost", "energy_spent", "energy_gained"):
                taken[name] = steps[name] / UNIT
        if self._gate:
            taken |= {name: steps[name] for name in ("verdict", "decision", "wording")}
            taken["hallucination_energy"] = steps["residual"] / MILLION
        if self._adequacy:
            taken |= {name: steps[name] for name in TRACED_ADEQUACY}
        return taken
