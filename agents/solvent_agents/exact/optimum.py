"""The optimum of a level with a shipped exact solution."""

from __future__ import annotations

import functools

from solvent.lab.params import LabParams
from solvent_agents.exact.exact import SHIPPED, load_graph

__all__ = ["known_optimum"]


@functools.lru_cache(maxsize=64)
def known_optimum(params: LabParams) -> float | None:
    """Return the best expected return of any policy in these labs, bits; None where it isn't known."""
    graph = load_graph(SHIPPED)
    return float(graph.about["optimum"]) if graph.params == params else None
