"""The notebooks run without a warning and show what is stored."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path
from typing import Any

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))

each = pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])


def read(path: Path) -> Any:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    return notebook


def test_there_are_notebooks() -> None:
    assert NOTEBOOKS


@each
def test_what_it_takes_from_solvent_is_exported(path: Path) -> None:
    code = "\n".join(cell.source for cell in read(path).cells if cell.cell_type == "code")
    taken = names_taken(code)
    assert taken
    assert [f"{module}.{name}" for module, name in sorted(taken) if name not in exports(module)] == []


def names_taken(code: str) -> set[tuple[str, str]]:
    """The names that code takes from Solvent's packages, with their modules: ``from module import name``, and
    ``module.name`` after ``import module``.
    """
    nodes = list(ast.walk(ast.parse(code)))
    imported_names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    imported = {
        (str(node.module), alias.name)
        for node in nodes
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    attributes = {
        (ast.unparse(node.value), node.attr)
        for node in nodes
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) in imported_names
    }
    return {(module, name) for module, name in imported | attributes if module.startswith("solvent")}


def exports(module: str) -> list[str]:
    """What a package exports; a module inside a package, or a package without ``__all__``, exports nothing."""
    package = importlib.import_module(module)
    return list(getattr(package, "__all__", ())) if hasattr(package, "__path__") else []


@pytest.mark.parametrize(
    "code",
    [
        "from solvent_experiments.figures.style import INK",
        "from solvent_agents.agent import show_labs",
        "from solvent.gate import run_checks",
        "import solvent\nsolvent.lab.actions",
    ],
)
def test_a_name_that_no_package_exports_is_seen(code: str) -> None:
    ((module, name),) = names_taken(code)
    assert name not in exports(module)


COMPILING = "solvent: compiling the lab"


def executed(path: Path, folder: Path) -> Any:
    """A notebook with what its cells show when they run in a folder; an error in a cell is raised."""
    environment = {
        "JUPYTER_PLATFORM_DIRS": "1",
        "HF_HUB_OFFLINE": "1",
        "MPLBACKEND": "",
        "TMPDIR": str(folder),
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        from nbclient import NotebookClient  # here, so that it is imported with these settings

        notebook = read(path)
        return NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}}).execute()


@pytest.mark.slow
@each
def test_it_runs_without_a_warning_and_shows_what_is_stored(path: Path, tmp_path: Path) -> None:
    result, stored = executed(path, tmp_path), read(path)
    outputs = [output for cell in result.cells for output in cell.get("outputs", [])]
    message = "".join(output.text for output in outputs if output.get("name") == "stderr")
    assert [line for line in message.splitlines() if not line.startswith(COMPILING)] == []
    for now, before in zip(result.cells, stored.cells, strict=True):
        assert pictures(now) == pictures(before)
        if VARIES not in now.metadata.get("tags", ()):
            assert texts(now) == texts(before), now.source


VARIES = "varies"
"""The tag of a cell whose text differs between machines: processors round differently in a network."""


def texts(cell: Any) -> str:
    """A cell's text, joined, since a busy machine sends it in pieces; without stderr and the addresses of pictures."""
    outputs = cell.get("outputs", [])
    return "".join(
        output.text if "text" in output else output.data["text/plain"]
        for output in outputs
        if not is_displayed(output) and output.get("name") != "stderr"
    )


def pictures(cell: Any) -> int:
    return sum(is_displayed(output) for output in cell.get("outputs", []))


def is_displayed(output: Any) -> bool:
    return "image/png" in output.get("data", {})


@each
def test_it_is_stored_small_and_whole(path: Path) -> None:
    notebook = read(path)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    assert notebook.metadata.kernelspec.name == "python3"
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert sum(map(pictures, cells)) >= 2
    assert path.stat().st_size < 700_000
