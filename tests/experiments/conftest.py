"""The small runs that the tests of this folder look at."""

from __future__ import annotations

import pytest

from solvent_experiments.artifacts.folder import RunFolder
from tests.experiments.talking import make_run
from tests.runs import (
    brief_config,
    launch,
    level,
    levels,
    smoke,
    smoke_config,
    smoke_lab_run,
    smoke_run,
)

__all__ = [
    "brief_config",
    "launch",
    "level",
    "levels",
    "smoke",
    "smoke_config",
    "smoke_lab_run",
    "smoke_run",
    "talking_run",
]


@pytest.fixture(scope="session")
def talking_run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A run of language models, scripted ones and one that misbehaves."""
    return make_run(tmp_path_factory.mktemp("talking") / "run")
