"""``solvent solve``: the optimum of a small lab, its policy as a tree, and the value of every state."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.tree import Tree

from solvent.lab.actions import action_table
from solvent.lab.actions import sentence as action_sentence
from solvent.lab.params import LabParams
from solvent.lab.settings import UNIT
from solvent.lab.verbs import Verb
from solvent_agents.exact.exact import PER_BIT, Exact, PolicyGraph, Solution, graph_of, solve
from solvent_agents.exact.process import enumerate_process
from solvent_agents.rollout import generate
from solvent_experiments.artifacts.files import require_writable, write_atomically, write_json
from solvent_experiments.artifacts.parquet import Columns, write_parquet
from solvent_experiments.run.progress import Shown, shown_on

__all__ = ["policy_tree", "simulated", "solve_lab", "state_columns"]

POLICY, STATES, SUMMARY = "policy.npz", "states.parquet", "summary.json"
FIRST_SEED = 10_000
Z95 = 1.959964
SHOWN_NODES = 200
"""Largest number of nodes in a policy that is printed as a tree."""


def solve_lab(
    params: LabParams, out: Path | None, *, episodes: int, console: Console, quiet: bool = False
) -> dict[str, Any]:
    """Solve a lab, play the solution on real labs, print it, and write it to the folder ``out``."""
    if out is not None:
        require_writable(out / SUMMARY)  # fail before minutes of work, not after
    started = time.perf_counter()
    shown = shown_on(console, quiet=quiet)
    with shown:
        solution = solve(_enumerated(params, shown))
        graph = graph_of(solution)
        found = graph.about | {"seconds": round(time.perf_counter() - started, 1)}
        found |= {"ceiling": params.ceiling, "ceiling_share": solution.optimum / params.ceiling}
        if episodes:
            found["simulated"] = simulated(graph, params, episodes, shown)
    if out is not None:
        write_atomically(out / POLICY, graph.to_bytes())
        write_parquet(out / STATES, state_columns(solution))
        write_json(out / SUMMARY, found)
    console.print(_table(found))
    if len(graph.actions) <= SHOWN_NODES:
        console.print(policy_tree(graph))
    if out is not None:
        for name in (POLICY, STATES, SUMMARY):
            console.print(str(out / name), highlight=False, soft_wrap=True)
    return found


def _enumerated(params: LabParams, shown: Shown) -> Any:
    def on_progress(done: int, moments: int, _states: int) -> None:
        shown.update("states", "enumerating", done, moments, "moments")

    shown.say("enumerating; the first solution on a machine compiles for half a minute")
    return enumerate_process(params, on_progress=on_progress)


def simulated(graph: PolicyGraph, params: LabParams, episodes: int, shown: Shown) -> dict[str, Any]:
    """Return the policy's mean return in real labs, in bits, with the normal 95 % interval."""
    returns, agent = [], Exact(params, graph=graph)
    for part in generate(agent, params, range(FIRST_SEED, FIRST_SEED + episodes), batch=2048):
        returns.append(np.asarray(part["return"]))
        shown.update("playing", "the solution", sum(map(len, returns)), episodes, "episodes")
    scores = np.concatenate(returns)
    half = Z95 * float(scores.std(ddof=1)) / len(scores) ** 0.5 if len(scores) > 1 else float("nan")
    mean = float(scores.mean())
    return {"episodes": episodes, "mean": mean, "low": mean - half, "high": mean + half}


def _table(found: Mapping[str, Any]) -> Table:
    table = Table(title="exact solution", show_header=False, box=None, title_justify="left")
    table.add_row("optimum", f"{found['optimum']:.6f} bits an episode")
    share = found["ceiling_share"]
    table.add_row("of the ceiling", f"{100 * share:.1f} % of {found['ceiling']:g} bits, the prior entropy")
    table.add_row("states", f"{found['states']:,}, {found['transitions']:,} outcomes")
    table.add_row("Bellman residual", f"{found['residual']:.1e} bits")
    if played := found.get("simulated"):
        interval = f"{played['low']:.4f} to {played['high']:.4f}"
        table.add_row("played", f"{played['mean']:.4f} ({interval}) in {played['episodes']:,} labs")
    table.add_row("time", f"{found['seconds']:.1f} s")
    return table


def policy_tree(graph: PolicyGraph) -> Tree:
    """Return the policy as a tree of sentences; outcomes with equal plans share a branch."""
    root = Tree(_said(graph, 0), highlight=False)
    _grow(graph, root, 0)
    return root


def _said(graph: PolicyGraph, node: int) -> str:
    return action_sentence(graph.params, int(graph.actions[node]))


def _grow(graph: PolicyGraph, tree: Tree, node: int) -> None:
    ways: dict[tuple[Any, ...], tuple[int, list[str]]] = {}
    for edge in np.flatnonzero(graph.sources == node):
        target = int(graph.targets[edge])
        ways.setdefault(_plan(graph, target), (target, []))[1].append(_seen(graph, int(edge)))
    for target, seen in ways.values():
        begins = "whatever comes" if len(ways) == 1 and len(seen) > 1 else " or ".join(sorted(set(seen)))
        _grow(graph, tree.add(f"{begins}: {_said(graph, target)}", highlight=False), target)


def _plan(graph: PolicyGraph, node: int) -> tuple[Any, ...]:
    """Return the plan from a node on, independent of node numbers."""
    edges = np.flatnonzero(graph.sources == node)
    later = {(_seen(graph, int(edge)), _plan(graph, int(graph.targets[edge]))) for edge in edges}
    return (int(graph.actions[node]), tuple(sorted(later, key=repr)))


def _seen(graph: PolicyGraph, edge: int) -> str:
    """Return the observation of an edge: readouts by bin, and bits paid."""
    params = graph.params
    code, bins, marks = int(graph.codes[edge]), params.assay.bins, []
    row = action_table(params)[int(graph.actions[graph.sources[edge]])]
    template = getattr(params.plates, Verb(row["verb"]).name.lower(), None)
    for _ in range(template.readouts if template is not None else 0):
        marks.append(str(code % bins))
        code //= bins
    paid = int(graph.rewards[edge]) / PER_BIT
    words = [f"reads {' '.join(marks)}"] if marks else []
    words += [f"{paid:+.2f} bits"] if paid else []
    return ", ".join(words) or "then"


def state_columns(solution: Solution) -> Columns:
    """Return a row for every state: time, books, belief, value and best action."""
    params = solution.process.params
    labs = np.concatenate([layer.labs for layer in solution.process.layers])
    columns: Columns = {
        "heartbeat": labs["heartbeat"],
        "slot": labs["slot"],
        "wells": labs["wells"],
        "debt": labs["debt"],
    }
    if params.energy.enabled:
        columns["energy"] = labs["energy"] / UNIT
    for m, name in enumerate(params.assay.compounds):
        columns |= {
            f"{name}/class_{g}": labs["marginal"][:, m, g] for g in range(params.assay.potency_classes)
        }
        columns |= {f"{name}/{field}": labs[field][:, m] for field in ("licence", "published", "experiments")}
    columns |= {"value": solution.values, "action": solution.actions}
    return columns
