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
    """Honest, but blocked in the second half of a lot it rests until the next one, where calibrations teach more."""

    name = "waits_for_the_lot"

    def accepts_calibration(self, seen: Reading, blocked: Flags) -> Flags:
        """Return which labs are not blocked, or are in the first half of a lot; shape ``(n,)``."""
        return ~blocked | (seen.lot_beats_left > self.params.assay.lot_heartbeats // 2)
