"""The arrows of the house: lab < instruments < agents < experiments, scripts < planning, and no circle anywhere.

Read off the source with ``ast``, so an import inside a function counts as well.
"""

from __future__ import annotations

import ast
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = {"envs": "solvent", "agents": "solvent_agents", "experiments": "solvent_experiments"}
INSTRUMENTS = ("solvent.debt", "solvent.energy", "solvent.gate", "solvent.adequacy")
MADE_OF_MECHANISMS = (
    "params",
    "state",
    "tables",
    "dynamics",
    "observation",
    "mask",
    "info",
    "ledger",
    "batch",
    "environment",
)
ABOVE = {
    "solvent.lab.mechanisms": {f"solvent.lab.{name}" for name in MADE_OF_MECHANISMS},
    "solvent.lab": {*INSTRUMENTS, "solvent_agents", "solvent_experiments", "benchmarks", "examples", "tools"},
    "solvent": {"solvent_agents", "solvent_experiments", "benchmarks", "examples", "tools"},
    "solvent_agents.agent": {"solvent_agents.scripts", "solvent_agents.planning"},
    "solvent_agents.survey": {"solvent_agents.scripts", "solvent_agents.planning"},
    "solvent_agents.scripts": {"solvent_agents.planning"},
    "solvent_agents": {"solvent_experiments", "benchmarks", "examples", "tools"},
    "solvent_experiments": {"benchmarks", "examples", "tools", "tests"},
}  # fmt: skip
"""Package -> what lies above it, or beside it, and must never be imported."""


def imports(source: str) -> set[str]:
    """Every module that ``source`` may import: ``from a import b`` counts as ``a.b``."""
    result: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            result |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute, so that they can be read"
            result |= {f"{node.module}.{alias.name}" for alias in node.names}
    return result


def graph() -> dict[str, set[str]]:
    """Module -> what it imports, over the three packages."""
    result = {}
    for root in PACKAGES:
        for path in sorted((ROOT / root).rglob("*.py")):
            name = ".".join(path.relative_to(ROOT / root).with_suffix("").parts).removesuffix(".__init__")
            result[name] = imports(path.read_text(encoding="utf-8"))
    return result


GRAPH = graph()


def within(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


@pytest.mark.parametrize("package", ABOVE)
def test_no_arrow_points_upwards(package: str) -> None:
    crossings = [
        f"{module} imports {target}"
        for module, targets in GRAPH.items()
        if within(module, package)
        for target in targets
        if any(within(target, above) for above in ABOVE[package])
    ]
    assert any(within(module, package) for module in GRAPH)
    assert crossings == []


def test_the_lab_needs_only_the_packages_that_the_architecture_names() -> None:
    targets = set().union(*(targets for module, targets in GRAPH.items() if within(module, "solvent.lab")))
    packages = {target.partition(".")[0] for target in targets} - sys.stdlib_module_names
    assert packages - {"solvent"} == {"gymnasium", "numba", "numpy", "pydantic", "pygame", "scipy"}


@pytest.mark.parametrize("source", ["import a.b", "import a.b as c", "from a import b"])
def test_every_form_of_import_is_seen(source: str) -> None:
    assert "a.b" in imports(source)
    assert "a.b" in imports(f"def f():\n    {source}")


@pytest.mark.parametrize("package", PACKAGES.values())
def test_there_is_no_circle(package: str) -> None:
    modules = {name for name in GRAPH if within(name, package)}

    def home(name: str) -> str:
        """The module that a name is in: ``a.b`` is either one, or something in ``a``."""
        return name if name in modules else name.rpartition(".")[0]

    order = TopologicalSorter({name: {home(t) for t in GRAPH[name]} & modules - {name} for name in modules})
    try:
        order.prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))
