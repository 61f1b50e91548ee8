"""Each contract is held against every level's small run."""

from __future__ import annotations

from tests.runs import level, levels, smoke_run

__all__ = ["level", "levels", "smoke_run"]
