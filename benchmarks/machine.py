"""What all benchmarks write: the machine of a measurement, a report of it, a table in Markdown."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
import shlex
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from solvent.files import write_json


def machine() -> dict[str, Any]:
    """Return the machine, versions and time of the measurement."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text(encoding="utf-8").splitlines() if cpuinfo.exists() else []
    processors = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "processor": processors[0] if processors else platform.machine(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2),
        "system": platform.system(),
        "python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in ("numpy", "numba", "gymnasium")},
    }


def write_report(path: Path, module: str, about: dict[str, Any], **found: Any) -> None:
    """Write what a module of this package found, with its command, and date and machine from ``about``."""
    command = shlex.join(["python", "-m", module, *sys.argv[1:]])
    write_json(path, {"command": command, "finished": about["date"], "machine": about, **found})


def markdown(rows: Iterable[Sequence[str]]) -> str:
    """Return a table; the first row is its head, the first column is text, the others are numbers."""
    head, *others = (f"| {' | '.join(row)} |" for row in rows)
    columns = head.count(" | ")
    return "\n".join([head, f"|---{'|---:' * columns}|", *others])
