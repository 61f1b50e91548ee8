"""Rows of the source documents' tables: a requirement, its state, and the test that shows it.

A module ``test_<instrument>.py`` of this folder has one test for each row, in the order of the document::

    @row("The threshold is 2 bits: above it, not at it")
    def test_the_threshold_is_2_bits(): ...

    @row("100 wells at 1.6 bits cost 128", departs="the document's formula gives 124")
    def test_100_wells_at_1_6_bits_cost_124(): ...

    not_built(__name__, "Drives create pressure toward actions", "no drives")

``python -m tests.requirements`` writes the tables of ``README.md`` from them; ``faults_<instrument>.toml`` breaks each
row that is met.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

MET, DEPARTS, NOT_BUILT = "met", "departs", "not built"


@dataclass(frozen=True)
class Row:
    """A requirement of a document; ``note`` says how it is met, why not to the letter, or why not at all."""

    instrument: str
    requirement: str
    state: str
    note: str
    test: str = ""


ROWS: list[Row] = []


def row(requirement: str, *, note: str = "", departs: str = "") -> Callable[[Any], Any]:
    """Register the decorated test as what shows the requirement, met or departed from."""

    def register(test: Any) -> Any:
        state = DEPARTS if departs else MET
        ROWS.append(Row(_instrument(test.__module__), requirement, state, departs or note, test.__name__))
        return test

    return register


def not_built(module: str, requirement: str, why: str) -> None:
    """Register a requirement that is not built; ``module`` is the caller's ``__name__``."""
    ROWS.append(Row(_instrument(module), requirement, NOT_BUILT, why))


def _instrument(module: str) -> str:
    return module.rpartition("test_")[2]
