"""One setting for all tests: a machine without screen, one thread per process, examples that repeat.

The environment variables are set before anything that reads them is imported, so this file imports
neither numba nor the packages under test.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.databases import new_place, server

__all__ = ["new_place", "server"]

ROOT = Path(__file__).resolve().parent.parent
PUBLIC_DATA = Path(os.environ.get("SOLVENT_DATA") or ROOT.parent / "shared" / "data")
WANTED_DATA = "public_data"

os.environ["SDL_VIDEODRIVER"] = "dummy"
os.environ["SDL_AUDIODRIVER"] = "dummy"
os.environ["MPLBACKEND"] = "Agg"
# OpenMP's threads spin while they wait: on a busy machine more of them are many times slower than one.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("NUMBA_CACHE_DIR", str(ROOT / ".numba_cache"))

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


@pytest.fixture
def public_data(request: pytest.FixtureRequest) -> Path:
    """Samples of published data sets; never part of the repository. The report says which tests wanted them."""
    request.node.user_properties.append((WANTED_DATA, str(PUBLIC_DATA.is_dir())))
    if not PUBLIC_DATA.is_dir():
        pytest.skip(f"no published data in {PUBLIC_DATA}: set SOLVENT_DATA to its folder")
    return PUBLIC_DATA


def wanted_data(report: pytest.TestReport | pytest.CollectReport) -> bool:
    """Whether the report is of a test that reads published data."""
    return isinstance(report, pytest.TestReport) and WANTED_DATA in dict(report.user_properties)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In CI, where samples of published data are there, fail unless the tests that read them ran."""
    complete = session.config.getoption("markexpr") == "" and not session.config.getoption("file_or_dir")
    if not (complete and PUBLIC_DATA.is_dir() and os.environ.get("CI")) or hasattr(
        session.config, "workerinput"
    ):
        return
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped, ran = (
        [test for test in reporter.stats.get(outcome, []) if wanted_data(test)]
        for outcome in ("skipped", "passed")
    )
    if skipped or not ran:
        reporter.write_line(f"published data: {len(ran)} tests ran, {len(skipped)} skipped; all had to run")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(scope="session", autouse=True)
def one_torch_thread() -> None:
    """For a run where OMP_NUM_THREADS said otherwise. Never imports torch: that costs seconds."""
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)
