"""One setting for all tests: a machine without screen, one thread a process, examples that repeat.

The environment variables are set before anything that reads them is imported, so this file imports
neither numba nor the packages under test.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.databases import database, new_place, server

__all__ = ["database", "new_place", "server"]

ROOT = Path(__file__).resolve().parent.parent
SOURCE_ROOTS = [ROOT / root for root in ("envs", "agents", "experiments")]
PUBLIC_DATA = Path(os.environ.get("SOLVENT_DATA") or ROOT.parent / "shared" / "data")
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
# Examples are those of the test's text: a run fails for what changed, not by luck. SOLVENT_SOAK searches at random.
settings.register_profile(
    "solvent",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
    derandomize="SOLVENT_SOAK" not in os.environ,
)
settings.load_profile("solvent")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In CI, where samples of published data are there, fail unless the tests that read them ran."""
    whole = session.config.getoption("markexpr") == "" and not session.config.getoption("file_or_dir")
    if not (whole and PUBLIC_DATA.is_dir() and os.environ.get("CI")) or hasattr(
        session.config, "workerinput"
    ):
        return
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = [r for r in reporter.stats.get("skipped", []) if "public_data" in getattr(r, "keywords", ())]
    ran = [r for r in reporter.stats.get("passed", []) if "public_data" in r.keywords]
    if skipped or not ran:
        reporter.write_line(f"published data: {len(ran)} tests ran, {len(skipped)} skipped; all had to run")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(scope="session", autouse=True)
def one_torch_thread() -> None:
    """For a run where OMP_NUM_THREADS said otherwise. Never imports torch: that costs seconds."""
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)
