"""Timing on a busy machine: medians of many short turns, each with every case."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class Case:
    """A timed function: ``step`` makes ``steps`` steps; ``prepare`` runs before each call and is not timed."""

    name: str
    steps: int
    step: Callable[[], Any]
    prepare: Callable[[], Any] = lambda: None
    close: Callable[[], Any] = lambda: None
    rates: list[float] = field(default_factory=list)

    def turn(self, seconds: float) -> float:
        """Return steps per second over about ``seconds`` of stepping."""
        spent, calls = 0.0, 0
        while spent < seconds:
            self.prepare()
            start = time.perf_counter()
            self.step()
            spent += time.perf_counter() - start
            calls += 1
        return calls * self.steps / spent


@dataclass(frozen=True)
class Row:
    """A result in steps per second: the median of the turns, and the fastest, the least disturbed one."""

    name: str
    median: float
    fastest: float


def measure(cases: Sequence[Case], turns: int, seconds: float) -> list[Row]:
    """Time ``cases`` in turn, so that a busy minute slows all of them and preserves their ratios."""
    for case in cases:
        case.turn(seconds / 2)  # warms up: compiles, fills caches, spreads the episodes
    for _ in range(turns):
        for case in cases:
            case.rates.append(case.turn(seconds))
    for case in cases:
        case.close()
    return [Row(c.name, statistics.median(c.rates), max(c.rates)) for c in cases]


def machine() -> dict[str, Any]:
    """Return the machine, versions and time of the measurement."""
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "system": platform.system(),
        "python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in ("numpy", "numba", "gymnasium")},
    }


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()
