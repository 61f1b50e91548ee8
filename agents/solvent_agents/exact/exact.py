"""Exact: the optimal policy of a small lab, as ``process.py`` solves it.

A policy is stored as a graph (``PolicyGraph``): the reachable states, the action in each, and the next state by the
observed outcome: the readouts of a plate, or whether a finding was right. It is a table of numbers; loading it runs no
code.

Known approximation: that of ``process.py``. A finding at the prior's own probability pays nothing either way, and the
graph takes it for a wrong one.
"""

from __future__ import annotations

import dataclasses
import functools
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import solvent
from solvent.files import read_input
from solvent.lab.actions import action_table
from solvent.lab.params import LabParams, without_constants
from solvent.lab.settings import ParamError
from solvent_agents.agent import Actions, Observations
from solvent_agents.exact.forcing import RESOLUTION
from solvent_agents.exact.process import Floats, Ints, Solution

SHIPPED = Path(__file__).parent / "solved" / "tiny.npz"
"""The solution of ``Solvent/Tiny-v0``; `solvent solve` recreates it."""
LARGEST = 2**28  # bytes


@dataclasses.dataclass(frozen=True)
class PolicyGraph:
    """A deterministic policy as a finite-state controller; node 0 is the start.

    Attributes:
        about: parameters, optimum, and provenance.
        actions: action at each node, shape ``(n,)``.
        sources: node from which each edge leads, shape ``(k,)``.
        codes: observed outcome, as in ``forcing.OUTCOME``, shape ``(k,)``.
        targets: node to which the edge leads, shape ``(k,)``.
    """

    about: dict[str, Any]
    actions: Ints
    sources: Ints
    codes: Ints
    targets: Ints

    @functools.cached_property
    def params(self) -> LabParams:
        """Parameters of the labs it was solved for."""
        return LabParams.from_mapping(self.about["params"])

    def to_bytes(self) -> bytes:
        """Return the content of a file."""
        buffer = io.BytesIO()
        about = np.frombuffer(json.dumps(self.about, sort_keys=True).encode(), np.uint8)
        np.savez_compressed(buffer, about=about, **{name: getattr(self, name) for name in _ARRAYS})
        return buffer.getvalue()


_ARRAYS = ("actions", "sources", "codes", "targets")


def graph_of(solution: Solution) -> PolicyGraph:
    """Return the optimal policy as a graph of its reachable states."""
    layers, n_actions = solution.layers, len(action_table(solution.params))
    places = np.zeros((len(solution.actions), 2), np.int64)  # layer and index in it
    for i, layer in enumerate(layers):
        places[layer.states] = np.stack([np.full(len(layer.states), i), np.arange(len(layer.states))], axis=1)
    nodes, order = {0: 0}, [0]
    edges: dict[tuple[int, int], tuple[float, int]] = {}
    for node, state in enumerate(order):  # grows while it is walked
        layer = layers[places[state, 0]]
        row = places[state, 1] * n_actions + solution.actions[state]
        of_row = layer.outcomes[slice(*np.searchsorted(layer.outcomes["row"], (row, row + 1)))]
        outcomes = zip(*(of_row[name].tolist() for name in ("code", "chance", "state")), strict=True)
        for code, chance, target in outcomes:
            if target < 0:
                continue
            if target not in nodes:
                nodes[target] = len(order)
                order.append(target)
            edges[node, code] = max(edges.get((node, code), (0.0, 0)), (chance, nodes[target]))
    about = {
        "params": solution.params.to_mapping(),
        "optimum": solution.optimum,
        "states": len(solution.actions),
        "transitions": solution.transitions,
        "resolution": RESOLUTION,
        "solvent": solvent.__version__,
    }
    columns = np.array([(*edge, target) for edge, (_, target) in edges.items()], np.int64).reshape(-1, 3)
    return PolicyGraph(about, solution.actions[order], *columns.T.copy())


@functools.cache
def load_graph(path: Path = SHIPPED) -> PolicyGraph:
    """Load a policy graph from a file that ``solvent solve`` wrote.

    Raises:
        ParamError: it was solved under the rules of another version.
    """
    with np.load(io.BytesIO(read_input(path, LARGEST)), allow_pickle=False) as file:
        about = json.loads(bytes(file["about"]))
        if set(file.files) != {"about", *_ARRAYS}:
            made = about.get("solvent", "another version")
            raise ParamError("", f"{path}: written by solvent {made}; allowed: solve it again")
        graph = PolicyGraph(about, *(file[name].astype(np.int64) for name in _ARRAYS))
    now = graph.params.to_mapping()  # what came later has its default in the file's lab
    known = without_constants(about["params"])
    if any(
        now[group][name] != value for group, settings in known.items() for name, value in settings.items()
    ):
        raise ParamError("", f"{path}: solved under the rules of another version; allowed: solve it again")
    return graph


def known_optimum(params: LabParams) -> float | None:
    """Return the best expected return of any policy in these labs, bits; None where it isn't known."""
    graph = load_graph()
    return float(graph.about["optimum"]) if graph.params == params else None


class Exact:
    """The optimal policy of a solved lab. It keeps its node in the graph for each lab.

    Args:
        params: of the labs.
        seed: not used.
        graph: the solution; by default the shipped one of ``Solvent/Tiny-v0``.

    Raises:
        ParamError: no solution for such a lab.
    """

    name = "exact"

    def __init__(self, params: LabParams, seed: int = 0, graph: PolicyGraph | None = None) -> None:
        self.graph = graph if graph is not None else load_graph()
        if self.graph.params != params:
            raise ParamError("agent", "exact has no solution for this lab; allowed: Solvent/Tiny-v0 as it is")
        self._bins = params.assay.bins
        columns = self.graph.sources.tolist(), self.graph.codes.tolist(), self.graph.targets.tolist()
        self._next = {(source, code): target for source, code, target in zip(*columns, strict=True)}
        self._nodes: Ints = np.zeros(0, np.int64)
        self._published: Floats = np.zeros(0)

    def open(self, notebooks: NDArray[Any]) -> None:
        """Read the result of the last action and move on in the graph; ``notebooks`` has shape ``(n,)``."""
        if len(notebooks) != len(self._nodes):
            self._nodes, self._published = np.zeros(len(notebooks), np.int64), np.zeros(len(notebooks))
        powers = self._bins ** np.arange(notebooks["last_bins"].shape[1])
        readouts = np.maximum(notebooks["last_bins"], 0) @ powers
        codes = np.where(notebooks["published_bits"] > self._published, 1, readouts)
        for i, lab in enumerate(notebooks):
            if lab["steps"] == 0:
                self._nodes[i] = 0
            elif lab["end_reason"] == 0:
                self._nodes[i] = self._follow(int(self._nodes[i]), int(codes[i]))
        self._published = np.where(notebooks["steps"] == 0, 0.0, notebooks["published_bits"])

    def _follow(self, node: int, code: int) -> int:
        target: int | None = self._next.get((node, code))
        if target is None:
            raise RuntimeError(
                f"exact: the outcome {code} can't follow node {node}; allowed: labs from their first action on"
            )
        return target

    def act(self, observations: Observations, masks: NDArray[Any]) -> Actions:
        """Return actions for ``n`` labs; see ``Agent.act``."""
        actions: Actions = self.graph.actions[self._nodes]
        return actions
