"""``solvent solve``: the optimum of a small lab, and its policy as a tree and as a file."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.tree import Tree

from solvent import LabParams
from solvent.files import require_writable, write_atomically
from solvent.lab.actions import action_table, sentence
from solvent.lab.verbs import TEMPLATES, Verb
from solvent_agents.exact.exact import PolicyGraph, graph_of
from solvent_agents.exact.process import Solution, solve
from solvent_experiments.console import Progress
from solvent_experiments.table import Table

POLICY = "policy.npz"
MOST_NODES = 200
"""Largest number of nodes in a policy that is printed as a tree."""


def solve_lab(params: LabParams, out: Path | None, *, console: Console, quiet: bool) -> None:
    """Solve a lab, print its optimum and policy, and write the policy to the folder ``out``."""
    if out is not None:
        require_writable(out / POLICY)  # fail before minutes of work, not after
    started = time.perf_counter()
    with Progress(console, quiet=quiet) as progress:
        progress.say("enumerating; the first solution on a machine compiles for half a minute")

        def on_progress(done: int, total: int) -> None:
            progress.update("states", done / total, f"{done} of {total} moments")

        solution = solve(params, on_progress)
    graph = graph_of(solution)
    console.print(_table(solution, graph, params, time.perf_counter() - started).terminal())
    if len(graph.actions) <= MOST_NODES:
        console.print(policy_tree(graph))
    if out is not None:
        write_atomically(out / POLICY, graph.to_bytes())
        console.print(str(out / POLICY), highlight=False, soft_wrap=True)


def _table(solution: Solution, graph: PolicyGraph, params: LabParams, seconds: float) -> Table:
    about: dict[str, Any] = graph.about
    rows = {
        "optimum": f"{solution.optimum:.6f} bits per episode",
        "share of the prior entropy": f"{solution.optimum / params.ceiling:.1%} of {params.ceiling:g} bits",
        "states": f"{about['states']:,}, with {about['transitions']:,} outcomes",
        "time": f"{seconds:.1f} s",
    }
    return Table(("exact solution", ""), tuple(rows.items()), left=("",))


def policy_tree(graph: PolicyGraph) -> Tree:
    """Return the policy as a tree of sentences; outcomes with equal plans share a branch."""
    root = Tree(_node_text(graph, 0), highlight=False)
    _grow(graph, root, 0)
    return root


def _node_text(graph: PolicyGraph, node: int) -> str:
    return sentence(graph.params, int(graph.actions[node]))


def _grow(graph: PolicyGraph, tree: Tree, node: int) -> None:
    ways: dict[tuple[Any, ...], tuple[int, list[str]]] = {}
    for edge in np.flatnonzero(graph.sources == node):
        target = int(graph.targets[edge])
        ways.setdefault(_plan(graph, target), (target, []))[1].append(_seen(graph, int(edge)))
    for target, seen in ways.values():
        begins = (
            "whatever the outcome" if len(ways) == 1 and len(seen) > 1 else " or ".join(sorted(set(seen)))
        )
        _grow(graph, tree.add(f"{begins}: {_node_text(graph, target)}", highlight=False), target)


def _plan(graph: PolicyGraph, node: int) -> tuple[Any, ...]:
    """Return the plan that begins at a node, independent of the numbers of nodes."""
    edges = np.flatnonzero(graph.sources == node)
    later = {(_seen(graph, int(edge)), _plan(graph, int(graph.targets[edge]))) for edge in edges}
    return (int(graph.actions[node]), tuple(sorted(later, key=repr)))


def _seen(graph: PolicyGraph, edge: int) -> str:
    """Return the observation of an edge: readouts by bin, or whether a finding was right."""
    params, code = graph.params, int(graph.codes[edge])
    verb = Verb(action_table(params)[int(graph.actions[graph.sources[edge]])]["verb"])
    if verb == Verb.PUBLISH_PUBLIC:
        return "right" if code else "wrong"
    if verb not in TEMPLATES:
        return "then"
    marks = []
    for _ in range(getattr(params.plates, verb.name.lower()).readouts):
        marks.append(str(code % params.assay.bins))
        code //= params.assay.bins
    return f"reads {' '.join(marks)}"
