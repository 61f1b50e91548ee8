"""The small runs and real processes that faults happen to."""

from __future__ import annotations

from tests.faults.disks import small_disk
from tests.runs import brief_config, launch, levels, smoke, smoke_config, smoke_run

__all__ = ["brief_config", "launch", "levels", "small_disk", "smoke", "smoke_config", "smoke_run"]
