"""The notebooks run, with some smaller numbers, without a warning; stored without results; their names exist."""

from __future__ import annotations

import importlib
import keyword
import os
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest

from solvent import ENVIRONMENTS
from solvent_agents import PLAYERS

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
SECONDS = 300
"""For a cell, against one that hangs. A notebook takes about ten; its first cells may have to compile a level, and the
machine may be busy."""

SMALLER = {
    "02_training_an_agent": {
        '"n_timesteps": 200_000': '"n_timesteps": 40_960',
        "range(10_000, 20_000)": "range(10_000, 11_000)",
        "SEEDS[:300]": "SEEDS[:30]",
    },
    "04_reading_the_results": {"n_timesteps: 61_440": "n_timesteps: 20_480", "episodes: 200": "episodes: 60"},
}
"""Numbers of a notebook that only decide how long it takes, and those with which it is run here."""

SPAN = re.compile(r"`([^`\n]+)`")
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


@pytest.mark.slow
@each
def test_it_runs_without_a_warning_and_writes_nothing_here(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Jupyter warns about its own move to the platform's folders until it is told to go there.
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv(
        "PYTHONPATH", os.pathsep.join(str(ROOT / root) for root in ("envs", "agents", "experiments"))
    )
    monkeypatch.delenv("MPLBACKEND", raising=False)  # the kernel's own, which shows figures in the notebook
    for variable in ("TMPDIR", "IPYTHONDIR", "JUPYTER_RUNTIME_DIR"):
        folder = tmp_path / variable
        folder.mkdir()
        monkeypatch.setenv(variable, str(folder))
    from nbclient import NotebookClient  # here, so that it is imported with these settings

    here = tmp_path / "here"
    here.mkdir()
    notebook = read(path)
    for number, smaller in SMALLER.get(path.stem, {}).items():
        (cell,) = (cell for cell in notebook.cells if cell.cell_type == "code" and number in cell.source)
        cell.source = cell.source.replace(number, smaller)
    client = NotebookClient(
        notebook, timeout=SECONDS, startup_timeout=SECONDS, resources={"metadata": {"path": str(here)}}
    )
    client.execute()  # an error in a cell is raised here, with the cell
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    said = "".join(
        output.text for output in outputs if output.output_type == "stream" and output.name == "stderr"
    )
    assert [line for line in said.splitlines() if not line.startswith("solvent: compiling the lab")] == []
    assert sum("image/png" in output.get("data", {}) for output in outputs) >= 2
    assert not list(here.iterdir())


@each
def test_it_is_stored_without_results(path: Path) -> None:
    notebook = read(path)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    assert notebook.metadata.kernelspec.name == "python3"
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert cell.outputs == []
            assert cell.execution_count is None


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
    """Whether a name in a text is a command, a file, a level, an agent, or stands in the notebook's code."""
    if span.startswith("solvent "):
        return is_command(span.split()[1:])
    if span.endswith(".ipynb"):
        return (ROOT / "notebooks" / span).exists()
    if PATH.fullmatch(span):
        return (ROOT / span).exists() or span == "docs/results/studies"
    if span.startswith("solvent."):
        return is_importable(span)
    if span in ENVIRONMENTS or span in PLAYERS or keyword.iskeyword(span):
        return True
    return re.search(rf"(?<!\w){re.escape(span)}(?!\w)", code + GIVEN) is not None


GIVEN = """
Discrete accept review reject load_dataset
episodes.parquet training.parquet traces.parquet policy.json policy.safetensors
"""
"""Said of Solvent or Gymnasium in a text without being used in the code beside it; held by other tests."""


def is_command(words: list[str]) -> bool:
    import typer

    from solvent_experiments.cli.app import app

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
