"""Result files: one JSON form for whatever a command of this repository measured.

Every file begins with the command that made it, its date, the machine, the versions of what it depends on, and the
training seeds of its learners; what was measured follows.
"""

from __future__ import annotations

import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import solvent
from solvent.files import now, write_json

PACKAGES = ("gymnasium", "numba", "numpy", "scipy", "torch", "stable-baselines3", "sb3-contrib")


def provenance(command: Sequence[str] | str | None = None) -> dict[str, Any]:
    """Return command, date, machine and versions; the command is by default that of this process."""
    if command is None:
        command = [Path(sys.argv[0]).name, *sys.argv[1:]]
    return {
        "command": command if isinstance(command, str) else shlex.join(command),
        "finished": now().isoformat(timespec="seconds"),
        "machine": machine(),
        "versions": versions(),
    }


def write_result(path: Path, measured: dict[str, Any], command: Sequence[str] | str) -> None:
    """Write what was measured after its provenance."""
    write_json(path, provenance(command) | measured)


def machine() -> dict[str, Any]:
    """Return the processor, how many cores it has and how busy they are, and the operating system."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text(encoding="utf-8").splitlines() if cpuinfo.exists() else []
    processors = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return {
        "processor": processors[0] if processors else platform.machine(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "system": platform.platform(),
    }


def versions() -> dict[str, str | None]:
    """Return Solvent's version and commit as the source has them, Python's, and those of the packages used."""
    own = {"solvent": solvent.__version__, "commit": _commit(), "python": platform.python_version()}
    return own | {name: _version(name) for name in PACKAGES}


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _commit() -> str | None:
    """Return the commit of a clone, with ``-dirty`` if its files differ; None outside of one."""
    describe = ["describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    command = ["git", "-C", str(Path(__file__).parent), *describe]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None
