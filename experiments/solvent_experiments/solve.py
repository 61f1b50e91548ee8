"""``solvent solve``: the optimum of a small lab, and its policy as a file."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from rich.console import Console

from solvent import LabParams
from solvent.files import require_writable, write_atomically
from solvent_agents.exact.exact import graph_of
from solvent_agents.exact.process import solve
from solvent_experiments.console import Progress
from solvent_experiments.table import Table

POLICY = "policy.npz"


def solve_lab(params: LabParams, out: Path | None, *, console: Console, quiet: bool) -> None:
    """Solve a lab, print its optimum, and write its policy to the folder ``out``."""
    if out is not None:
        require_writable(out / POLICY)  # fail before minutes of work, not after
    started = time.perf_counter()
    with Progress(console, quiet=quiet) as shown:
        shown.say("enumerating; the first solution on a machine compiles for half a minute")

        def on_progress(done: int, total: int) -> None:
            shown.update("states", done / total, f"{done} of {total} moments")

        solution = solve(params, on_progress)
    graph = graph_of(solution)
    about: dict[str, Any] = graph.about
    rows = {
        "optimum": f"{solution.optimum:.6f} bits per episode",
        "share of the prior entropy": f"{solution.optimum / params.ceiling:.1%} of {params.ceiling:g} bits",
        "states": f"{about['states']:,}, with {about['transitions']:,} outcomes",
        "time": f"{time.perf_counter() - started:.1f} s",
    }
    console.print(Table(("exact solution", ""), tuple(rows.items()), left=("",)).terminal())
    if out is not None:
        write_atomically(out / POLICY, graph.to_bytes())
        console.print(str(out / POLICY), highlight=False, soft_wrap=True)
