"""The small runs that the tests of this folder look at."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.runs import here, launch, runs, smoke_lab_run, smoke_run

__all__ = ["here", "launch", "runs", "smoke_lab_run", "smoke_run"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The machine's own Chromium. In CI, where `tests/browser.py` may install it, its absence is a failure."""
    path = shutil.which("chromium")
    if path is None:
        missing = "no chromium on this machine (`python tests/browser.py` as root installs it)"
        if os.environ.get("CI") == "true" and os.geteuid() == 0:
            pytest.fail(missing)
        pytest.skip(missing)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, timeout=60_000)
        yield chromium
        chromium.close()
