"""Run the notebooks and store what they show: ``make notebooks``, or ``python notebooks/outputs.py NAME ...``."""

from __future__ import annotations

import base64
import io
import os
import sys
import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

import nbformat
from PIL import Image

HERE = Path(__file__).resolve().parent
SECONDS = 300
"""For a cell, against one that hangs. A notebook takes about ten; its first cells may have to compile a level, and the
machine may be busy."""

COMPILING = "solvent: compiling the lab"
"""What a level says on stderr when it is compiled, which may happen in any cell that plays one first."""


def executed(path: Path, folder: Path) -> Any:
    """Return a notebook with what its cells show when they run in a folder; an error in a cell is raised."""
    settings = {
        # Jupyter warns about its own move to the platform's folders until it is told to go there.
        "JUPYTER_PLATFORM_DIRS": "1",
        "HF_HUB_OFFLINE": "1",
        "PYTHONPATH": os.pathsep.join(str(HERE.parent / root) for root in ("envs", "agents", "experiments")),
        "MPLBACKEND": "",  # the kernel's own, which shows figures in the notebook
    }
    with tempfile.TemporaryDirectory() as scratch, mock.patch.dict(os.environ, settings):
        for variable in ("TMPDIR", "IPYTHONDIR", "JUPYTER_RUNTIME_DIR"):
            place = Path(scratch, variable)
            place.mkdir()
            os.environ[variable] = str(place)
        from nbclient import NotebookClient  # here, so that it is imported with these settings

        notebook = nbformat.read(path, as_version=4)
        NotebookClient(
            notebook,
            timeout=SECONDS,
            startup_timeout=SECONDS,
            record_timing=False,
            coalesce_streams=True,
            resources={"metadata": {"path": str(folder)}},
        ).execute()
    return notebook


def small(notebook: Any) -> Any:
    """Return a notebook without what differs from run to run, its pictures in a palette: a third of the bytes."""
    notebook.metadata.language_info = {"name": "python"}
    for cell in notebook.cells:
        cell.get("outputs", [])[:] = [
            output for output in cell.get("outputs", []) if not output.get("text", "").startswith(COMPILING)
        ]
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "image/png" in data:
                picture = Image.open(io.BytesIO(base64.b64decode(data["image/png"]))).convert("RGB")
                file = io.BytesIO()
                picture.quantize().save(file, "png", optimize=True)
                data["image/png"] = base64.b64encode(file.getvalue()).decode()
    return notebook


def main(names: list[str]) -> None:
    """Store the outputs of these notebooks, or of all."""
    for path in sorted(HERE.glob("*.ipynb")):
        if names and path.stem not in names:
            continue
        with tempfile.TemporaryDirectory() as folder:
            notebook = small(executed(path, Path(folder)))
        nbformat.write(notebook, path)
        print(f"{path.relative_to(HERE.parent)}: {path.stat().st_size / 1024:.0f} KB")


if __name__ == "__main__":
    main(sys.argv[1:])
