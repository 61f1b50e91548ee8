"""Scripts that are honest in all but their calibrations: none, only when blocked, only when blocked in a new lot."""

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
    """Calibrates only when debt forbids all else, and then rests until a new lot makes a calibration repay more."""

    name = "waits_for_the_lot"

    def accepts_calibration(self, seen: Reading, blocked: Flags) -> Flags:
        """Return which labs are blocked in the first third of a lot, shape ``(n,)``."""
        lot = self.params.assay.lot_heartbeats
        return blocked & (seen.lot_beats_left > lot - max(1, lot // 3))
