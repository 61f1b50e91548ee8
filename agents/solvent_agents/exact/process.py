"""A small lab as a finite decision process: every state that it can reach, and every way from one to another.

From the one beginning that an episode has, every outcome of every action is forced through the compiled step
(``forcing.py``), so each rule is the one that is played by. Time only moves forward: the states form layers by
(heartbeat, slot), each with one sparse matrix whose rows are (state, action) pairs. A state holds the referee's
belief, everything that the history so far can tell.

Known approximation: states whose numbers differ by less than ``planning.forcing.RESOLUTION`` are one state.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from solvent.lab.actions import action_table
from solvent.lab.batch import held_tables
from solvent.lab.params import LabParams
from solvent.lab.settings import ParamError
from solvent.lab.state import lab_dtype, step_dtype
from solvent.lab.verbs import TEMPLATES
from solvent_agents.planning.forcing import expand, hypotheses, start

__all__ = ["MOST_STATES", "Layer", "Process", "enumerate_process"]

CHUNK = 256
"""States expanded together."""
MOST_OUTCOMES = 5_000
"""Outcomes of all actions of a state together, for which there is room."""
MOST_STATES = 2_000_000
"""A state and its outcomes take about 8 KB."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Progress = Callable[[int, int, int], None]


@dataclasses.dataclass(frozen=True)
class Layer:
    """The states of one moment, and where their actions lead.

    Attributes:
        first: number of the first state.
        labs: the states, shape ``(n,)``; no truth in them.
        weights: the referee's belief in each, shape ``(n, H)``.
        rewards: expected reward of each state and action, bits, shape ``(n * A,)``.
        matrix: probabilities of the next states, shape ``(n * A, S)``; a row sums to less than 1 where it may end.
        outcomes: every single outcome of every action, in the order of the matrix' rows.
    """

    first: int
    labs: NDArray[Any]
    weights: Floats
    rewards: Floats
    matrix: csr_matrix
    outcomes: Outcomes


@dataclasses.dataclass(frozen=True)
class Outcomes:
    """Outcomes of a layer's actions, each of shape ``(K,)``, sorted by ``rows``.

    Attributes:
        rows: row of the matrix: state and action.
        codes: the readouts that were seen, as ``solvent_agents.planning.forcing.expand`` counts them.
        chances: probability.
        rewards: bits.
        states: the state that it leads to, -1 where the episode ends.
    """

    rows: Ints
    codes: Ints
    chances: Floats
    rewards: Floats
    states: Ints

    def of(self, row: int) -> slice:
        """Where the outcomes of a row are."""
        return slice(*np.searchsorted(self.rows, (row, row + 1)))


@dataclasses.dataclass(frozen=True)
class Process:
    """A lab as a finite decision process; ``layers`` in the order of time."""

    params: LabParams
    layers: tuple[Layer, ...]
    states: int
    transitions: int


class _Moment:
    """States of one (heartbeat, slot) that were found so far, and the outcomes that lead on from them."""

    def __init__(self) -> None:
        self.numbers: dict[bytes, int] = {}
        self.labs: list[NDArray[Any]] = []
        self.weights: list[Floats] = []
        self.parts: list[_Part] = []

    def number(self, key: bytes, lab: NDArray[Any], weights: Floats) -> int:
        """The number of this state among those of its moment."""
        known = self.numbers.get(key)
        if known is None:
            known = self.numbers[key] = len(self.labs)
            self.labs.append(lab.copy())
            self.weights.append(weights.copy())
        return known


@dataclasses.dataclass
class _Part:
    """Outcomes of some states of a moment."""

    rows: Ints
    codes: Ints
    chances: Floats
    rewards: Floats
    addresses: Ints  # the moment that each leads to, -1 where the episode ends
    numbers: Ints  # of the state within that moment


def enumerate_process(
    params: LabParams, *, on_progress: Progress = lambda _done, _moments, _states: None
) -> Process:
    """Every state that a lab can reach, and every way that leads from one to another.

    Args:
        params: of the lab.
        on_progress: is told the moments done, all moments, and the states found so far.

    Raises:
        ParamError: a lab that can't be enumerated, or that has more than ``MOST_STATES`` states.
    """
    first = np.zeros(1, lab_dtype(params))
    weights = start(first, params)
    moments = {0: _Moment()}
    moments[0].number(b"", first[0], weights)
    if (most := _most_outcomes(params)) > MOST_OUTCOMES:
        raise ParamError(
            "plates",
            f"got {most:,} outcomes of the actions of one state; allowed: {MOST_OUTCOMES:,}, by fewer readouts or bins",
        )
    expander = _Expander(params)
    states = 1
    for address in range(params.most_steps):
        moment = moments.get(address)
        if moment is not None:
            labs, beliefs = np.array(moment.labs, first.dtype), np.array(moment.weights)
            for begin in range(0, len(labs), CHUNK):
                part, new = expander.part(labs, beliefs, begin, moments)
                moment.parts.append(part)
                states += new
                if states > MOST_STATES:
                    raise ParamError(
                        "budget.heartbeats", f"more than {MOST_STATES:,} states; allowed: a smaller lab"
                    )
        on_progress(address + 1, params.most_steps, states)
    return _joined(params, moments)


class _Expander:
    """The buffers of ``solvent_agents.planning.forcing.expand``."""

    def __init__(self, params: LabParams) -> None:
        self.slots = params.slots
        self.rows = hypotheses(params)
        self.n_actions = len(action_table(params))
        size = CHUNK * _most_outcomes(params) + 1
        self.held, self.steps = held_tables(params), np.zeros(1, step_dtype())
        self.mask = np.zeros(self.n_actions, np.int8)
        self.keys = np.zeros((size, 2), np.uint64)
        self.parents, self.actions, self.codes = (np.zeros(size, np.int64) for _ in range(3))
        self.chances, self.rewards = np.zeros(size), np.zeros(size)
        self.children = np.zeros(size, lab_dtype(params))
        self.weights = np.zeros((size, len(self.rows)))

    def part(
        self, labs: NDArray[Any], weights: Floats, first: int, moments: dict[int, _Moment]
    ) -> tuple[_Part, int]:
        """The outcomes of a chunk of states, and how many of the states that they lead to are new."""
        n = expand(
            labs,
            weights,
            first,
            min(first + CHUNK, len(labs)),
            self.rows,
            self.held,
            self.steps,
            self.mask,
            self.keys,
            self.parents,
            self.actions,
            self.chances,
            self.rewards,
            self.codes,
            self.children,
            self.weights,
        )
        keys = np.ascontiguousarray(self.keys[:n]).view("V16").ravel()
        _, firsts, inverse = np.unique(keys, return_index=True, return_inverse=True)
        addresses, numbers = np.full(len(firsts), -1), np.full(len(firsts), -1)
        before = sum(len(moment.labs) for moment in moments.values())
        for place, row in enumerate(firsts):
            lab = self.children[row]
            if lab["end_reason"] == 0:
                addresses[place] = int(lab["heartbeat"]) * self.slots + int(lab["slot"])
                moment = moments.setdefault(int(addresses[place]), _Moment())
                numbers[place] = moment.number(keys[row].tobytes(), lab, self.weights[row])
        part = _Part(
            self.parents[:n] * self.n_actions + self.actions[:n],
            self.codes[:n].copy(),
            self.chances[:n].copy(),
            self.rewards[:n].copy(),
            addresses[inverse],
            numbers[inverse],
        )
        return part, sum(len(moment.labs) for moment in moments.values()) - before


def _most_outcomes(params: LabParams) -> int:
    """Most outcomes that all actions of one state can have together."""
    bins, compounds = params.assay.bins, len(params.assay.compounds)
    readouts = {int(verb): getattr(params.plates, verb.name.lower()).readouts for verb in TEMPLATES}
    seen = sum(bins ** readouts.get(int(verb), 0) for verb in action_table(params)["verb"])
    # Of findings one at most comes out by the action itself, and with a gate any number by their readers' decisions.
    shown = compounds if params.gate.enabled else min(1, compounds)
    total: int = int(seen) * 2**shown
    return total


def _joined(params: LabParams, moments: dict[int, _Moment]) -> Process:
    """Number the states through, moment by moment, and build the matrices."""
    n_actions = len(action_table(params))
    ordered = [moments[address] for address in sorted(moments)]
    counts = [len(moment.labs) for moment in ordered]
    firsts = dict(zip(sorted(moments), np.cumsum([0, *counts[:-1]]).tolist(), strict=True))
    offsets = np.array([firsts.get(address, 0) for address in range(params.most_steps + 1)])
    layers, transitions = [], 0
    for address, moment in zip(sorted(moments), ordered, strict=True):
        columns = [
            np.concatenate([getattr(part, field.name) for part in moment.parts])
            for field in dataclasses.fields(_Part)
        ]
        rows, codes, chances, rewards, addresses, numbers = columns
        states = np.where(addresses >= 0, offsets[addresses] + numbers, -1)
        on, size = states >= 0, len(moment.labs) * n_actions
        layers.append(
            Layer(
                firsts[address],
                np.array(moment.labs, lab_dtype(params)),
                np.array(moment.weights),
                np.bincount(rows, chances * rewards, size).astype(np.float64),
                csr_matrix((chances[on], (rows[on], states[on])), shape=(size, sum(counts))),
                Outcomes(rows, codes, chances, rewards, states),
            )
        )
        transitions += len(rows)
    return Process(params, tuple(layers), sum(counts), transitions)
