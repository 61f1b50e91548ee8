"""Scripts that are honest in all but their calibrations: none, only when blocked, when blocked only in a new lot."""

from __future__ import annotations

import numpy as np

from solvent_agents.reading import Reading
from solvent_agents.scripts.honest import Flags, Honest

__all__ = ["CalibratesWhenBlocked", "NeverCalibrates", "WaitsForTheLot"]


class NeverCalibrates(Honest):
    """Never calibrates."""

    name = "never_calibrates"

    def accepts_calibration(self, seen: Reading, blocked: Flags) -> Flags:
        """Return false, shape ``(n,)``."""
        return np.zeros(blocked.shape, np.bool_)


class CalibratesWhenBlocked(Honest):
    """Calibrates only when debt forbids all else."""

    name = "calibrates_when_blocked"

    def accepts_calibration(self, seen: Reading, blocked: Flags) -> Flags:
        """Return which labs debt has blocked, shape ``(n,)``."""
        return blocked


class WaitsForTheLot(Honest):
    """Honest, but when debt forbids all else it rests until the next lot, in which a calibration teaches more."""

    name = "waits_for_the_lot"

    def accepts_calibration(self, seen: Reading, blocked: Flags) -> Flags:
        """Return which labs are not blocked or in the first sixth of a lot, shape ``(n,)``."""
        lot = self.params.assay.lot_heartbeats
        fresh: Flags = seen.lot_beats_left > lot - max(1, lot // 6)
        return ~blocked | fresh
