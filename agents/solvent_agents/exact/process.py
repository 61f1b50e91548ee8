"""A small lab as a finite decision process: its reachable states and the transitions between them.

Starting from the initial state, every outcome of every action is forced through the compiled step (``forcing.py``), so
the rules are those of play. Time only moves forward: the states form layers by (heartbeat, slot), each with one sparse
matrix whose rows are (state, action) pairs. A state holds the referee's belief, which summarises the history.

Known approximation: states whose numbers differ by less than ``forcing.RESOLUTION`` are one state.
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
from solvent.lab.state import lab_dtype
from solvent.lab.verbs import TEMPLATES
from solvent_agents.exact.forcing import expand, expansion, hypotheses, start, state_rows

CHUNK = 256
"""States expanded together."""
MOST_OUTCOMES = 5_000
"""Outcomes of all actions of a state together, for which there is room."""
MOST_STATES = 2_000_000
"""A state and its outcomes take about 8 KB."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Progress = Callable[[int, int, int], None]


FOUND = np.dtype(
    [
        ("row", "i8"),  # of the layer's matrix: state and action
        ("code", "i8"),  # the observed readouts, numbered as in ``forcing.OUTCOME``
        ("chance", "f8"),
        ("reward", "f8"),  # bits
        ("moment", "i8"),  # to which it leads, -1 where the episode ends
        # The next state, -1 where the episode ends; numbered within the moment until all are found.
        ("state", "i8"),
    ]
)
"""One outcome of one action."""


@dataclasses.dataclass(frozen=True)
class Layer:
    """The states of one moment and their transitions.

    Attributes:
        first: number of the first state.
        labs: the states, shape ``(n,)``, without the truth.
        weights: the referee's belief in each, shape ``(n, H)``.
        rewards: expected reward of each state and action, bits, shape ``(n * A,)``.
        matrix: probabilities of the next states, shape ``(n * A, S)``; a row sums to less than 1 where it may end.
        outcomes: every outcome of every action, records of ``FOUND`` in the order of the matrix rows.
        starts: the first outcome of each row, shape ``(n * A + 1,)``.
    """

    first: int
    labs: NDArray[Any]
    weights: Floats
    rewards: Floats
    matrix: csr_matrix
    outcomes: NDArray[Any]
    starts: Ints

    def outcomes_of(self, row: int) -> NDArray[Any]:
        """Return the outcomes of a row."""
        return self.outcomes[self.starts[row] : self.starts[row + 1]]


@dataclasses.dataclass(frozen=True)
class Process:
    """A lab as a finite decision process; ``layers`` are in order of time."""

    params: LabParams
    layers: tuple[Layer, ...]
    states: int
    transitions: int


class _Moment:
    """The states of one (heartbeat, slot) found so far, and the outcomes of their actions."""

    def __init__(self) -> None:
        self.numbers: dict[bytes, int] = {}
        self.labs: list[NDArray[Any]] = []
        self.weights: list[Floats] = []
        self.parts: list[NDArray[Any]] = []  # of ``FOUND``

    def add(self, keys: list[bytes], labs: NDArray[Any], weights: Floats) -> Ints:
        """Return the numbers of these states within the moment; keep those that are new."""
        known = len(self.numbers)
        numbers = np.array([self.numbers.setdefault(key, len(self.numbers)) for key in keys])
        self.labs.append(labs[numbers >= known])
        self.weights.append(weights[numbers >= known])
        return numbers


def enumerate_process(
    params: LabParams, *, on_progress: Progress = lambda _done, _moments, _states: None
) -> Process:
    """Enumerate the reachable states of a lab and their transitions.

    Args:
        params: of the lab.
        on_progress: receives the moments done, all moments, and the states found so far.

    Raises:
        ParamError: a lab that can't be enumerated, or that has more than ``MOST_STATES`` states.
    """
    first = np.zeros(1, lab_dtype(params))
    weights = start(first, params)
    moments = {0: _Moment()}
    moments[0].add([b""], first, weights[None])
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
            labs, beliefs = np.concatenate(moment.labs), np.concatenate(moment.weights)
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
    """Expands states by chunks."""

    def __init__(self, params: LabParams) -> None:
        self.params = params
        self.rows = hypotheses(params)
        self.n_actions = len(action_table(params))
        self.held = held_tables(params)
        self.out = expansion(params, CHUNK * _most_outcomes(params) + 1)

    def part(
        self, labs: NDArray[Any], weights: Floats, first: int, moments: dict[int, _Moment]
    ) -> tuple[NDArray[Any], int]:
        """Return the outcomes of a chunk of states, and the number of new states they lead to."""
        chunk = slice(first, first + CHUNK)
        n = expand(labs[chunk], weights[chunk], self.rows, self.held, self.out)
        out, found = self.out, self.out.outcomes[:n]
        keys = _keys(state_rows(out.children[:n], out.weights[:n], out.masks[:n], self.params))
        _, firsts, inverse = np.unique(keys, return_index=True, return_inverse=True)
        children, numbers = out.children[firsts], np.full(len(firsts), -1)
        moment_of = children["heartbeat"].astype(np.int64) * self.params.slots + children["slot"]
        addresses = np.where(children["end_reason"] == 0, moment_of, -1)
        before = sum(len(moment.numbers) for moment in moments.values())
        for address in np.unique(addresses[addresses >= 0]):
            here = np.flatnonzero(addresses == address)
            moment = moments.setdefault(int(address), _Moment())
            names = [key.tobytes() for key in keys[firsts[here]]]
            numbers[here] = moment.add(names, children[here], out.weights[firsts[here]])
        part = np.empty(n, FOUND)
        part["row"] = (first + found["parent"]) * self.n_actions + found["action"]
        for name, of in (("code", "readouts"), ("chance", "chance"), ("reward", "reward")):
            part[name] = found[of]
        part["moment"], part["state"] = addresses[inverse], numbers[inverse]
        return part, sum(len(moment.numbers) for moment in moments.values()) - before


def _keys(rows: Ints) -> NDArray[np.void]:
    """Return a hash of 128 bits for each row: two products with random odd numbers, modulo 2^64."""
    factors = np.random.default_rng(0).integers(0, 2**63, (rows.shape[1], 2), np.uint64) * 2 + 1
    return np.ascontiguousarray(rows.view(np.uint64) @ factors).view("V16").ravel()


def _most_outcomes(params: LabParams) -> int:
    """Return the largest number of outcomes that the actions of one state can have together."""
    bins = params.assay.bins
    readouts = {int(verb): getattr(params.plates, verb.name.lower()).readouts for verb in TEMPLATES}
    seen = sum(bins ** readouts.get(int(verb), 0) for verb in action_table(params)["verb"])
    return 2 * int(seen)  # a finding is right or wrong


def _joined(params: LabParams, moments: dict[int, _Moment]) -> Process:
    """Number the states moment by moment and build the matrices."""
    n_actions = len(action_table(params))
    ordered = [moments[address] for address in sorted(moments)]
    counts = [len(moment.numbers) for moment in ordered]
    firsts = dict(zip(sorted(moments), np.cumsum([0, *counts[:-1]]).tolist(), strict=True))
    offsets = np.array([firsts.get(address, 0) for address in range(params.most_steps + 1)])
    layers, transitions = [], 0
    for address, moment in zip(sorted(moments), ordered, strict=True):
        found, size = np.concatenate(moment.parts), len(moment.numbers) * n_actions
        found["state"] = np.where(found["moment"] >= 0, offsets[found["moment"]] + found["state"], -1)
        rows, chances, on = found["row"], found["chance"], found["state"] >= 0
        cells = chances[on], (rows[on], found["state"][on])
        layers.append(
            Layer(
                first=firsts[address],
                labs=np.concatenate(moment.labs),
                weights=np.concatenate(moment.weights),
                rewards=np.bincount(rows, chances * found["reward"], size).astype(np.float64),
                matrix=csr_matrix(cells, shape=(size, sum(counts))),
                outcomes=found,
                starts=np.append(0, np.bincount(rows, minlength=size).cumsum()),
            )
        )
        transitions += len(found)
    return Process(params, tuple(layers), sum(counts), transitions)
