"""The small runs that the tests of this folder look at."""

from __future__ import annotations

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
]
