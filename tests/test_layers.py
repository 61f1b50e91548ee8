"""Layers point one way: mechanisms < state < dynamics < shells; solvent < agents < experiments.

Read off the source with `ast`, so an import inside a function counts as well.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# What a lab *is* (record, step, shells), as against what its rules and words are.
STATE = "solvent.state"
STATEFUL = {
    STATE,
    "solvent.dynamics",
    "solvent.batch",
    "solvent.observation",
    "solvent.purse",
    "solvent.reward",
    "solvent.rendering",
    "solvent.metrics",
    "solvent.notebook",
    "solvent.notebook_record",
    "solvent.environment",
    "solvent.vector",
    "solvent.registration",
}
# Rules, words and events: usable without a lab, so they know nothing of one.
STATELESS = (
    "solvent.mechanisms",
    "solvent.gate",
    "solvent.adequacy",
    "solvent.params",
    "solvent.draws",
    "solvent.ledger",
    "solvent.control",
    "solvent.costs",
    "solvent.energy",
)
# Events spell out the state's codes, and are made without a lab too: by the controller of an agent loop. Wrappers stand
# outside of the shells and read what a step was.
NAMES_THE_CODES = {"solvent.records", "solvent.wrappers"}
SHELLS = {"solvent.environment", "solvent.vector", "solvent.registration"}


def within(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def imports(source: str, module: str, *, is_package: bool = False) -> set[str]:
    """Every module that ``module`` may import, absolute: ``from a import b`` counts as ``a`` and ``a.b``."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            parts = module.split(".")
            up = len(parts) - node.level + (1 if is_package else 0)
            base = parts[:up] if node.level else []
            origin = ".".join(base + ([node.module] if node.module else []))
            found |= {origin} | {f"{origin}.{alias.name}" for alias in node.names}
    return found


def modules(root: str, package: str) -> dict[str, set[str]]:
    """Module name -> what it imports, for every module of a package that exists."""
    graph = {}
    for path in sorted((ROOT / root / package).rglob("*.py")):
        names = path.relative_to(ROOT / root).with_suffix("").parts
        is_package = names[-1] == "__init__"
        name = ".".join(names[:-1] if is_package else names)
        graph[name] = imports(path.read_text(encoding="utf-8"), name, is_package=is_package)
    return graph


SOLVENT = modules("envs", "solvent")
AGENTS = modules("agents", "solvent_agents")
EXPERIMENTS = modules("experiments", "solvent_experiments")
STATELESS_MODULES = sorted(m for m in SOLVENT if any(within(m, layer) for layer in STATELESS))


def assert_none(graph: dict[str, set[str]], forbidden: set[str]) -> None:
    crossings = [
        f"{module} imports {target}"
        for module, targets in graph.items()
        for target in sorted(targets)
        if any(within(target, name) for name in forbidden)
    ]
    assert not crossings, "\n".join(crossings)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import solvent.state", "solvent.state"),
        ("import solvent.state as s", "solvent.state"),
        ("from solvent import state", "solvent.state"),
        ("from solvent.state import LAB", "solvent.state"),
        ("from ..state import LAB", "solvent.state"),
        ("from .. import state", "solvent.state"),
        ("from . import belief", "solvent.mechanisms.belief"),
        ("def f():\n    from ..dynamics import step", "solvent.dynamics"),
    ],
)
def test_every_form_of_import_is_seen(source: str, expected: str) -> None:
    assert expected in imports(source, "solvent.mechanisms.debt")


def test_relative_imports_of_a_package_start_at_itself() -> None:
    assert "solvent.mechanisms.debt" in imports("from . import debt", "solvent.mechanisms", is_package=True)


@pytest.mark.parametrize("graph", [SOLVENT, AGENTS, EXPERIMENTS])
def test_there_is_something_to_read(graph: dict[str, set[str]]) -> None:
    assert graph


def test_the_mechanisms_are_where_this_test_looks() -> None:
    assert STATE in SOLVENT
    assert "solvent.dynamics" in SOLVENT
    assert any(within(module, "solvent.mechanisms") for module in STATELESS_MODULES)


def test_the_environment_knows_neither_agents_nor_experiments() -> None:
    assert_none(SOLVENT, {"solvent_agents", "solvent_experiments", "benchmarks"})


def test_the_agents_do_not_know_the_experiments() -> None:
    assert_none(AGENTS, {"solvent_experiments", "benchmarks"})


def test_the_installed_packages_do_not_know_the_tests() -> None:
    assert_none(EXPERIMENTS, {"benchmarks", "tests"})


@pytest.mark.parametrize("module", STATELESS_MODULES)
def test_rules_and_words_know_no_lab(module: str) -> None:
    assert_none({module: SOLVENT[module]}, STATEFUL)


def test_only_dynamics_and_what_shows_a_lab_know_the_record() -> None:
    knowing = {module for module, targets in SOLVENT.items() if STATE in targets}
    allowed = STATEFUL | NAMES_THE_CODES
    assert {m for m in knowing if m != "solvent" and not any(within(m, a) for a in allowed)} == set()


def test_the_step_knows_no_shell() -> None:
    below = {m: t for m, t in SOLVENT.items() if m in STATEFUL - SHELLS}
    assert_none(below, SHELLS)
