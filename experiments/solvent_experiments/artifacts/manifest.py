"""The manifest of a run: versions, machine, commit, sessions, and hashes of its artifacts."""

from __future__ import annotations

import datetime
import hashlib
import importlib.metadata
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Annotated, Any

import psutil
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

import solvent
from solvent_experiments.artifacts.files import sha256
from solvent_experiments.config.documents import ConfigError

__all__ = [
    "BLANK",
    "artifacts",
    "incident",
    "is_artifact",
    "new_session",
    "now",
    "read_manifest",
    "resumed_sessions",
    "surroundings",
    "text_sha256",
    "versions",
]

PACKAGES = (
    "gymnasium",
    "matplotlib",
    "numba",
    "numpy",
    "pyarrow",
    "sb3-contrib",
    "scipy",
    "stable-baselines3",
    "torch",
)


class _Written(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True)


class _Machine(_Written):
    processor: str
    cores: int | None
    memory_gib: float


class _Commit(_Written):
    commit: str
    dirty: bool


class _Session(_Written):
    command: str
    started: str
    finished: str | None
    status: str
    jobs: int
    solvent: str
    python: str
    platform: str
    packages: dict[str, str | None]
    machine: _Machine
    git: _Commit | None = None


def _inside(name: str) -> str:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or "\0" in name:
        raise ValueError(f"got {name!r}; allowed: a file in the run's folder")
    return name


class _Manifest(_Written):
    config_sha256: str
    finished: str | None
    sessions: list[_Session] = Field(min_length=1)
    artifacts: dict[Annotated[str, AfterValidator(_inside)], str]


BLANK: Mapping[str, Any] = MappingProxyType(
    {"config_sha256": "", "finished": None, "sessions": [], "artifacts": {}}
)
"""The manifest of a run that has none."""


def read_manifest(path: Path) -> dict[str, Any]:
    """Return the manifest in a file; raise ConfigError for one that no run wrote."""
    try:
        manifest = _Manifest.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        raise ConfigError(
            f"not a manifest ({first['msg']}); allowed: as `solvent run` wrote it",
            file=path,
            key=".".join(map(str, first["loc"])),
        ) from None
    return manifest.model_dump(exclude_unset=True)


def now() -> str:
    """Return the time in UTC, as ISO 8601."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def versions() -> dict[str, str | None]:
    """Return the versions of the packages on which results depend."""
    return {name: _version(name) for name in PACKAGES}


def surroundings() -> dict[str, Any]:
    return {
        "solvent": solvent.__version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": versions(),
        "machine": {
            "processor": platform.processor() or platform.machine(),
            "cores": os.cpu_count(),
            "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        },
        "git": _commit(),
    }


def new_session(jobs: int, backend: str) -> dict[str, Any]:
    """Return the entry of a new session: one uninterrupted stretch of work on a run."""
    return {
        "command": _command(),
        "started": now(),
        "finished": None,
        "status": "running",
        "jobs": jobs,
        "backend": backend,
        **surroundings(),
        "seconds": {},
        "incidents": [],
    }


def incident(outcome: str, unit: str | None, said: str) -> dict[str, Any]:
    """Return the entry of a fault: when it was noticed and its outcome."""
    return {"at": now(), "unit": unit, "outcome": outcome, "said": said}


def resumed_sessions(manifest: Mapping[str, Any], session: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the earlier sessions; one without an end was cut off, and ``session`` records that as an incident."""
    before: list[dict[str, Any]] = manifest["sessions"]
    for earlier in before:
        if earlier["status"] == "running":
            earlier["status"] = "cut off"
            said = f"the session of {earlier['started']} was cut off (killed, or the disk was full)"
            session["incidents"].append(incident("went on", None, said))
    return before


def artifacts(root: Path) -> dict[str, str]:
    """Return the SHA-256 of every artifact in the folder of a run."""
    files = {path.relative_to(root).as_posix(): path for path in sorted(root.rglob("*")) if path.is_file()}
    return {name: sha256(path) for name, path in files.items() if is_artifact(name)}


def is_artifact(name: str) -> bool:
    """Return whether a file of a run is one of its results.

    Reports may be written again, TensorBoard's logs hold wall times, and damaged files were set aside.
    """
    path = PurePosixPath(name)
    return not (
        name == "manifest.json"
        or path.suffix == ".html"
        or ".damaged" in path.name
        or "tensorboard" in path.parts
        or any(part.startswith(".") for part in path.parts)
    )


def text_sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _command() -> str:
    """Return the command line of this process."""
    program = Path(sys.argv[0]).name
    return shlex.join(["solvent" if program == "__main__.py" else program, *sys.argv[1:]])


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _commit() -> dict[str, Any] | None:
    """Return the commit of the sources and whether they differ from it; None outside a repository."""
    folder = Path(solvent.__file__).resolve().parent
    try:
        top = _git(folder, "rev-parse", "--show-toplevel")
        if not folder.is_relative_to(top) or not (Path(top) / "envs" / "solvent").is_dir():
            return None
        commit = _git(folder, "rev-parse", "HEAD")
        dirty = bool(_git(folder, "status", "--porcelain", "--untracked-files=no", "--", top))
    except (OSError, subprocess.SubprocessError):
        return None
    return {"commit": commit, "dirty": dirty}


def _git(folder: Path, *arguments: str) -> str:
    result = subprocess.run(
        ["git", *arguments], cwd=folder, capture_output=True, text=True, timeout=10, check=True
    )
    return result.stdout.strip()
