"""A small lab as a finite decision process, solved by backward induction.

    Q(s, a) = r(s, a) + sum_s' P(s' | s, a) V(s'),        V(s) = max_a Q(s, a),        V(ended) = 0

Starting from the initial state, every outcome of every action is forced through the compiled step (``forcing.py``), so
the rules are those of play. Time only moves forward: the states form layers by (heartbeat, slot), solved from the last
to the first. A state holds the referee's belief, which summarises the history: ``Solution.optimum`` is the best
expected return of any policy that doesn't know the truth, with or without memory.

Known approximation: states whose numbers differ by less than ``forcing.RESOLUTION`` are one state.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from solvent.lab.actions import action_table
from solvent.lab.batch import tables_array
from solvent.lab.params import LabParams
from solvent.lab.settings import ParamError
from solvent_agents.exact.forcing import (
    Expansion,
    check_enumerable,
    expand,
    expansion,
    hypotheses,
    start,
    state_rows,
)

CHUNK = 256
"""States expanded together."""
MOST_STATES = 2_000_000
"""A state and its outcomes take about 6 KB."""
EQUAL = 1e-12
"""Bits by which actions may differ and still be equally good; the first of them is taken."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclasses.dataclass(frozen=True)
class Layer:
    """The states of one moment.

    Attributes:
        states: their numbers, shape ``(n,)``.
        labs: their records, shape ``(n,)``, in which the truth means nothing.
        outcomes: every outcome of every action, records of ``forcing.OUTCOME`` in the order of their rows.
    """

    states: Ints
    labs: NDArray[Any]
    outcomes: NDArray[Any]


@dataclasses.dataclass(frozen=True)
class Solution:
    """The ``S`` states of a lab and what they are worth; state 0 is the beginning.

    Attributes:
        layers: in order of time.
        values: of each state, bits, and 0 for the end, shape ``(S + 1,)``.
        actions: the best one in each state, shape ``(S,)``.
    """

    params: LabParams
    layers: tuple[Layer, ...]
    values: Floats
    actions: Ints

    @property
    def optimum(self) -> float:
        """The best expected return of an episode, bits."""
        return float(self.values[0])

    @property
    def transitions(self) -> int:
        """The number of outcomes of all actions in all states."""
        return sum(len(layer.outcomes) for layer in self.layers)

    def action_values(self, layer: Layer) -> Floats:
        """Return the value of each action in each state of a layer, bits, shape ``(n, A)``."""
        n_actions, outcomes = len(action_table(self.params)), layer.outcomes
        worth = outcomes["chance"] * (outcomes["reward"] + self.values[outcomes["state"]])
        values: Floats = np.bincount(outcomes["row"], worth, len(layer.labs) * n_actions).astype(np.float64)
        return values.reshape(-1, n_actions)


def solve(params: LabParams, on_progress: Callable[[int, int], None] = lambda _done, _all: None) -> Solution:
    """Enumerate the reachable states of a lab and solve it; ``on_progress`` receives the moments done and all.

    Raises:
        ParamError: a lab that can't be enumerated, or that has more than ``MOST_STATES`` states.
    """
    layers = _enumerate(params, on_progress)
    states = sum(len(layer.states) for layer in layers)
    solution = Solution(params, layers, np.zeros(states + 1), np.zeros(states, np.int64))
    for layer in reversed(layers):
        worth = solution.action_values(layer)
        best = worth.max(axis=1)
        solution.values[layer.states] = best
        solution.actions[layer.states] = (worth >= best[:, None] - EQUAL).argmax(axis=1)
    return solution


def _enumerate(params: LabParams, on_progress: Callable[[int, int], None]) -> tuple[Layer, ...]:
    check_enumerable(params)
    n_actions, rows, tables = len(action_table(params)), hypotheses(params), tables_array(params)
    # The states reached so far, by moment: their numbers, labs, and the referee's beliefs in them.
    waiting: dict[int, list[tuple[Ints, NDArray[Any], Floats]]]
    waiting = {0: [(np.zeros(1, np.int64), *start(params))]}
    numbers, layers, out = {b"": 0}, [], expansion(params, CHUNK)
    for moment in range(params.most_steps):
        if moment not in waiting:
            continue
        own, labs, beliefs = map(np.concatenate, zip(*waiting.pop(moment), strict=True))
        outcomes = []
        for begin in range(0, len(labs), CHUNK):
            chunk = slice(begin, begin + CHUNK)
            n = expand(labs[chunk], beliefs[chunk], rows, tables, out)
            reached = _reached(out, n, params)
            states, new = _numbered(reached, numbers)
            for later in np.unique(reached.moments[new]):
                here = new & (reached.moments == later)
                at = reached.at[here]
                waiting.setdefault(int(later), []).append((states[here], out.children[at], out.weights[at]))
            part = out.outcomes[:n].copy()
            part["row"] += begin * n_actions
            part["state"] = states[reached.by_outcome]
            outcomes.append(part)
            if len(numbers) > MOST_STATES:
                problem = f"more than {MOST_STATES:,} states; allowed: a smaller lab"
                raise ParamError("budget.heartbeats", problem)
        layers.append(Layer(own, labs, np.concatenate(outcomes)))
        on_progress(moment + 1, params.most_steps)
    return tuple(layers)


class _Reached(NamedTuple):
    """The ``R`` different states that ``n`` outcomes lead to."""

    keys: NDArray[np.void]  # [R] what tells a state from all others
    at: Ints  # [R] the first outcome that leads there
    by_outcome: Ints  # [n] where an outcome's state is among them
    moments: Ints  # [R] -1 where the episode has ended


def _reached(out: Expansion, n: int, params: LabParams) -> _Reached:
    """Return the states that the first ``n`` outcomes in ``out`` lead to."""
    every = _keys(state_rows(out.children[:n], out.weights[:n], out.masks[:n], params))
    keys, at, by_outcome = np.unique(every, return_index=True, return_inverse=True)
    labs = out.children
    moments = labs["heartbeat"][at].astype(np.int64) * params.slots + labs["slot"][at]
    moments[labs["end_reason"][at] != 0] = -1
    return _Reached(keys, at, by_outcome, moments)


def _numbered(reached: _Reached, numbers: dict[bytes, int]) -> tuple[Ints, NDArray[np.bool_]]:
    """Return the number of each state, -1 for the end, and which are new: these get the next numbers, in order of time.

    Args:
        reached: the states.
        numbers: the number of each state by its key, to which the new ones are added.
    """
    known, states = len(numbers), np.full(len(reached.at), -1)
    running = np.flatnonzero(reached.moments >= 0)
    for i in running[np.argsort(reached.moments[running], kind="stable")]:
        states[i] = numbers.setdefault(reached.keys[i].tobytes(), len(numbers))
    return states, states >= known


def _keys(rows: Ints) -> NDArray[np.void]:
    """Return a hash of 128 bits for each row: two products with random odd numbers, modulo 2^64."""
    factors = np.random.default_rng(0).integers(0, 2**63, (rows.shape[1], 2), np.uint64) * 2 + 1
    return np.ascontiguousarray(rows.view(np.uint64) @ factors).view("V16").ravel()
