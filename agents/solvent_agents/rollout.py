"""Rollout: one episode per seed, and the record of each.

Lab ``i`` is seeded with ``seeds[i]`` and plays its first episode; labs that have ended wait while the
others of their batch continue. The result does not depend on the batch's size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

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
from solvent_agents.agent import Actions, Agent, Argues, show_labs, start_labs

__all__ = [
    "TRACED",
    "TRACED_ADEQUACY",
    "TRACED_ENERGY",
    "TRACED_GATE",
    "Step",
    "Trace",
    "episodes",
    "walk",
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
``price_<verb>`` and ``fair_<verb>`` of the verbs that cost energy: base cost and hidden fair value. Energies are in
units."""

TRACED_GATE = ("verdict", "decision", "hallucination_energy", "wording")
"""Also traced, after those, where a gate judges findings: of the action's finding the verdict, the reader's decision,
the residual from 0 to 1, and the wording."""

TRACED_ADEQUACY = ("gate_verdict", "adequacy", "rule")
"""Also traced, last, where words are compared with their evidence: what the gate alone said of the finding, its
score and the rule that fired."""

STATE = ("wells", "debt", "published_bits", "heartbeat", "energy", "approvals")
"""Those of the traced columns that describe the lab after an action, as prices do; the others describe the action."""
STARTS = {
    **dict.fromkeys(("action", "verb", "proposed_verb", "wording", "adequacy", "rule"), -1),
    **dict.fromkeys(("verdict", "gate_verdict"), int(Verdict.NONE)),
}
"""Values of an action's columns at the start; of all others NaN."""

Columns = dict[str, Any]


class Step(NamedTuple):
    """One step of ``n`` labs."""

    before: NDArray[Any]  # the labs' records before the action
    actions: Actions
    running: NDArray[np.bool_]  # the lab's first episode was running
    ended: NDArray[np.bool_]  # and ended with this step
    results: NDArray[Any]  # the records of the step itself; the next step overwrites them
    after: NDArray[Any]  # the labs' records after it, those of ended episodes as they ended
    reasons: list[str]  # the agent's own words for a proposal of each lab, or empty


def walk(
    agent: Agent,
    params: LabParams,
    seeds: Sequence[int] | NDArray[np.int64],
    change: Callable[[NDArray[Any]], bool] | None = None,
    overrule: Callable[[NDArray[Any], Actions], Actions] = lambda _, actions: actions,
) -> Iterator[Step]:
    """Yield the steps of labs with these seeds until the first episode of each has ended.

    Args:
        agent: made for ``params``.
        params: parameters of the labs.
        seeds: seeds of the labs, ``n`` of them.
        change: may edit a copy of the labs' records before each step; they are replaced where it returns True.
        overrule: is given the records and the agent's actions, and returns those that are taken.
    """
    envs = LabVectorEnv(len(seeds), params, autoreset_mode="SameStep", copy=False)
    start_labs(agent, [int(seed) for seed in seeds])
    observations, infos = envs.reset(seed=[int(seed) for seed in seeds])
    masks, labs = infos["action_mask"], envs.get_state()
    running, finals = np.ones(len(seeds), np.bool_), np.zeros_like(labs)
    while running.any():
        if change is not None and change(state := envs.get_state()):
            observations, masks = envs.set_state(state), envs.action_masks()
            labs = np.where(running, state, finals)
        show_labs(agent, labs, params)
        actions = overrule(labs, agent.act(observations, masks))
        reasons = agent.argue(envs.batch.labs) if isinstance(agent, Argues) else [""] * len(seeds)
        observations, _, terminated, _, infos = envs.step(actions)
        masks, ended = infos["action_mask"], running & terminated
        finals[ended] = envs.batch.finals[ended]
        after = np.where(running & ~ended, envs.batch.labs, finals)
        yield Step(labs, actions, running, ended, envs.batch.steps, after, reasons)
        running, labs = running & ~ended, after


def episodes(
    agent: Agent, params: LabParams, seeds: Sequence[int], *, batch: int = 256, trace: bool = False
) -> Columns:
    """Play one episode per seed.

    Args:
        agent: made for ``params``.
        params: parameters of the labs.
        seeds: seeds of the labs, ``n`` of them.
        batch: labs stepped together.
        trace: add ``trace``, a dictionary of arrays of shape ``(n, most_steps + 1)``, the columns of ``Trace``.

    Returns:
        The columns of ``solvent.lab.columns.episode_columns``, each of shape ``(n,)``, and ``seed``.

    Raises:
        ValueError: no seeds, or an impossible batch.
    """
    if batch < 1 or not len(seeds):
        raise ValueError(f"batch, seeds: got {batch} and {len(seeds)} seeds; allowed: at least 1 each")
    parts = []
    for first in range(0, len(seeds), batch):
        chosen = [int(seed) for seed in seeds[first : first + batch]]
        traced = Trace(params, len(chosen) if trace else 0)
        for step in walk(agent, params, chosen):
            traced.add(step)
        parts.append({"seed": np.array(chosen), **episode_columns(params, step.after)})
        parts[-1] |= {"trace": traced.columns} if trace else {}
    return join_columns(parts)


class Trace:
    """The trace of the first ``rows`` labs of a walk: arrays of shape ``(rows, most_steps + 1)`` by name.

    The names are ``TRACED``, ``TRACED_ENERGY`` where acting costs energy, ``TRACED_GATE`` and ``TRACED_ADEQUACY`` where
    findings are judged. Column ``i`` is the state after ``i`` actions, NaN after an episode's end.
    """

    def __init__(self, params: LabParams, rows: int) -> None:
        self._params, self._rows, self._at = params, rows, 0
        base = tables_for(params).base_price
        self._verbs = {spec.name: int(verb) for verb, spec in VERBS.items() if base[verb] > 0}
        energy = params.energy.enabled
        self._prices = [f"{kind}_{verb}" for kind in ("price", "fair") for verb in self._verbs if energy]
        names = [*TRACED, *(TRACED_ENERGY if energy else ()), *self._prices]
        names += TRACED_GATE if params.gate.enabled else ()
        names += TRACED_ADEQUACY if params.adequacy.enabled else ()
        self.columns = {name: np.full((rows, params.most_steps + 1), np.nan) for name in names}

    def add(self, step: Step) -> None:
        """Trace the actions that the running labs have just taken."""
        if not self._rows:
            return
        if not self._at:
            self._start(step)
        self._at += 1
        chosen = step.running[: self._rows]
        labs, steps = step.after[: self._rows], step.results[: self._rows]
        values: Columns = {name: steps[name] for name in steps.dtype.names or () if name in self.columns}
        values |= self._state(labs)
        if self._params.energy.enabled:
            values["hour"] = (self._params.budget.start_hour + steps["heartbeat"]) % 24
            values["verb"] = tables_for(self._params).verb[steps["action"]]
            values |= {name: steps[name] / UNIT for name in ("energy_cost", "energy_spent", "energy_gained")}
        if self._params.gate.enabled:
            values["hallucination_energy"] = steps["residual"] / MILLION
        for name, column in self.columns.items():
            column[chosen, self._at] = values[name][chosen]

    def _start(self, step: Step) -> None:
        begun = STARTS | {"hour": self._params.budget.start_hour} | self._state(step.before[: self._rows])
        for name in self.columns.keys() & begun.keys():
            self.columns[name][:, 0] = begun[name]

    def _state(self, labs: NDArray[Any]) -> Columns:
        """Return those columns that describe a lab."""
        state: Columns = {name: labs[name] for name in STATE if name in self.columns}
        if self._params.energy.enabled:
            state["energy"] = labs["energy"] / UNIT
            costs = [
                labs[kind][:, verb] / UNIT for kind in ("price", "fair") for verb in self._verbs.values()
            ]
            state |= dict(zip(self._prices, costs, strict=True))
        return state
