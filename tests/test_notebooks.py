"""The notebooks run without a warning and show what is stored; the names in their texts exist."""

from __future__ import annotations

import importlib
import keyword
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest

from solvent import ENVIRONMENTS
from solvent.lab.verbs import VERBS
from solvent_agents import PLAYERS

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
SPAN = re.compile(r"`([^`\n]+)`")
VERB_NAMES = {spec.name for spec in VERBS.values()}
PATH = re.compile(r"(?:configs|docs|runs)/[\w./-]*")

each = pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])


def read(path: Path) -> Any:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    return notebook


def sources(notebook: Any, kind: str) -> list[str]:
    return [cell.source for cell in notebook.cells if cell.cell_type == kind]


def test_there_are_notebooks() -> None:
    assert NOTEBOOKS


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
    found, stored = executed(path, tmp_path), read(path)
    outputs = [output for cell in found.cells for output in cell.get("outputs", [])]
    said = "".join(output.text for output in outputs if output.get("name") == "stderr")
    assert [line for line in said.splitlines() if not line.startswith(COMPILING)] == []
    for now, before in zip(found.cells, stored.cells, strict=True):
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
        if not shown(output) and output.get("name") != "stderr"
    )


def pictures(cell: Any) -> int:
    return sum(shown(output) for output in cell.get("outputs", []))


def shown(output: Any) -> bool:
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


@each
def test_what_its_text_names_exists(path: Path) -> None:
    notebook = read(path)
    code = "\n".join(sources(notebook, "code"))
    unknown = [
        span
        for text in sources(notebook, "markdown")
        for span in SPAN.findall(text)
        if not is_known(span.strip(), code)
    ]
    assert not unknown


@pytest.mark.parametrize(
    "span", ["solvent fly", "solvent gate fly", "solvent.gate.Fly", "docs/fly.md", "Solvent/Fly-v0", "fly"]
)
def test_what_does_not_exist_is_noticed(span: str) -> None:
    assert not is_known(span, code="env.reset(seed=7)")


def is_known(span: str, code: str) -> bool:
    """Whether a name in a text is a command, a file, a level, an agent, a verb, or stands in the notebook's code."""
    if span.startswith("solvent "):
        return is_command(span.split()[1:])
    if span.endswith(".ipynb"):
        return (ROOT / "notebooks" / span).exists()
    if PATH.fullmatch(span):
        return (ROOT / span).exists() or span == "docs/results/studies"
    if span.startswith("solvent."):
        return is_importable(span)
    if span in ENVIRONMENTS or span in PLAYERS or span in VERB_NAMES or keyword.iskeyword(span):
        return True
    return re.search(rf"(?<!\w){re.escape(span)}(?!\w)", code + GIVEN) is not None


GIVEN = """
Discrete accept review reject load_dataset
episodes.parquet training.parquet traces.parquet policy.json policy.safetensors
"""
"""Said of Solvent or Gymnasium in a text without being used in the code beside it; held by other tests."""


def is_command(words: list[str]) -> bool:
    import typer

    from solvent_experiments.cli import app

    command: Any = typer.main.get_command(app)
    for word in words:
        commands = getattr(command, "commands", None)
        if commands is None:
            return True  # what follows are arguments
        if word not in commands:
            return False
        command = commands[word]
    return True


def is_importable(name: str) -> bool:
    module, _, attribute = name.rpartition(".")
    try:
        importlib.import_module(name)
    except ImportError:
        try:
            return hasattr(importlib.import_module(module), attribute)
        except ImportError:
            return False
    return True
