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
from pathlib import Path
from typing import Any

import psutil

import solvent
from solvent_experiments.artifacts.files import sha256

__all__ = ["artifacts", "incident", "new_session", "now", "resumed_sessions", "surroundings", "versions"]

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


def resumed_sessions(manifest: dict[str, Any], session: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the earlier sessions; one without an end was cut off, and ``session`` records that as an incident."""
    before: list[dict[str, Any]] = manifest.get("sessions", [])
    for earlier in before:
        if earlier["status"] == "running":
            earlier["status"] = "cut off"
            said = f"the session of {earlier['started']} was cut off (killed, or the disk was full)"
            session["incidents"].append(incident("went on", None, said))
    return before


def artifacts(root: Path) -> dict[str, str]:
    """Return the SHA-256 of every file of a run except hidden files and TensorBoard's logs, which hold wall times."""
    files = sorted(path for path in root.rglob("*") if path.is_file() and path.name != "manifest.json")
    inside = {path.relative_to(root): path for path in files}
    return {
        name.as_posix(): sha256(path)
        for name, path in inside.items()
        if not any(part.startswith(".") for part in name.parts) and "tensorboard" not in name.parts
    }


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
