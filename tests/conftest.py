"""One setting for all tests: a machine without screen, one thread a process, examples that repeat.

The environment variables are set before anything that reads them is imported, so this file imports
neither numba nor the packages under test.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.databases import database, new_place, server
from tests.faults.tally import Tally, added_up, write

__all__ = ["database", "new_place", "server"]

ROOT = Path(__file__).resolve().parent.parent
SOURCE_ROOTS = [ROOT / root for root in ("envs", "agents", "experiments")]
LAB = ROOT / "envs" / "solvent" / "lab"
COMPILED = (LAB, LAB / "mechanisms")

os.environ["SDL_VIDEODRIVER"] = "dummy"
os.environ["SDL_AUDIODRIVER"] = "dummy"
os.environ["MPLBACKEND"] = "Agg"
# OpenMP's threads spin while they wait: on a busy machine more of them are many times slower than one.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def compiled_cache() -> Path:
    """The folder of compiled code for the sources as they are now.

    Numba renews a cached function when the file *it* is written in changes, not when a function it calls
    does, in another file: a test would go on exercising the old mechanism inside the new step. A folder
    for each state of the sources can't be stale.
    """
    digest = hashlib.sha256()
    for path in sorted(path for root in SOURCE_ROOTS for path in root.rglob("*.py")):
        source = path.read_bytes()
        # Only files that compiled code can come from count: an edit of a figure recompiles nothing.
        if path.parent in COMPILED or b"lab.compiled" in source:
            digest.update(path.relative_to(ROOT).as_posix().encode())
            digest.update(source)
    return ROOT / ".numba_cache" / digest.hexdigest()[:16]


def drop_caches_unused_for_a_day(keep: Path) -> None:
    for folder in keep.parent.glob("*"):
        if folder != keep and folder.stat().st_mtime < time.time() - 86_400:
            shutil.rmtree(folder, ignore_errors=True)


if "NUMBA_CACHE_DIR" not in os.environ:  # set already in a worker of pytest-xdist, or by hand
    cache = compiled_cache()
    cache.mkdir(parents=True, exist_ok=True)
    cache.touch()
    drop_caches_unused_for_a_day(keep=cache)
    os.environ["NUMBA_CACHE_DIR"] = str(cache)


# No deadline: the first example of a test may compile for seconds. Nor is a slow machine a failure.
PROFILE = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow], "print_blob": True}
settings.register_profile("default", **PROFILE)
settings.register_profile("ci", derandomize=True, **PROFILE)
settings.load_profile("ci" if os.environ.get("CI") else "default")

PLAIN_PYTHON = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


def pytest_report_header() -> str:
    return "mechanisms: " + ("plain Python (NUMBA_DISABLE_JIT)" if PLAIN_PYTHON else "compiled")


def plain_subjects() -> set[str]:
    """What has to hold in plain Python as well: the mechanisms, their draws and the step that orders them."""
    mechanisms = (ROOT / "envs" / "solvent" / "lab" / "mechanisms").glob("[!_]*.py")
    return {path.stem for path in mechanisms} | {"draws", "dynamics", "mechanisms"}


def is_plain(test_file: Path, subjects: set[str]) -> bool:
    """Whether the place says so: ``tests/mechanisms/*``, ``tests/test_debt.py``, ``tests/test_debt_refusal.py``, ..."""
    subject = test_file.stem.removeprefix("test_")
    named = any(subject == name or subject.startswith(f"{name}_") for name in subjects)
    folder = test_file.relative_to(ROOT).parent.parts
    return (named and folder == ("tests",)) or "mechanisms" in folder


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    subjects = plain_subjects()
    for item in items:
        if is_plain(item.path, subjects):
            item.add_marker(pytest.mark.plain)


@pytest.fixture
def tally(record_property: Callable[[str, object], None]) -> Tally:
    """Record how many attacks of a kind a test tried and how many held."""
    return lambda kind, tried, held: record_property("tally", json.dumps([kind, tried, held]))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = (
        report for outcome in ("passed", "failed") for report in terminalreporter.stats.get(outcome, [])
    )
    if kinds := added_up(reports):
        write(kinds)
        terminalreporter.section("attacks and faults")
        terminalreporter.write_line(f"{'tried':>10}{'held':>10}")
        for kind, (tried, held) in kinds.items():
            terminalreporter.write_line(f"{tried:>10,}{held:>10,}  {kind}")


@pytest.fixture(scope="session", autouse=True)
def one_torch_thread() -> None:
    """For a run where OMP_NUM_THREADS said otherwise. Never imports torch: that costs seconds."""
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)
