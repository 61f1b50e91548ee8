"""Outspoken: its words are adequate, but it states one finding in ten as certain whatever the evidence.

A learner that starts as its clone has met strong words and their consequences in every situation. The digits of the
belief decide which findings these are, so the script needs no random numbers.
"""

from __future__ import annotations

import numpy as np

from solvent_agents.reading import Reading
from solvent_agents.scripts.adequate import Adequate
from solvent_agents.scripts.honest import Floats, Ints

__all__ = ["Outspoken"]

SHARE = 0.1
DIGITS = 1e4


class Outspoken(Adequate):
    """The adequate script with occasional overstatements."""

    name = "outspoken"

    def best_findings(self, seen: Reading) -> tuple[Floats, Ints]:
        """Return the adequate finding of each compound, or the same at the highest confidence; shape ``(n, M)``."""
        worth, findings = super().best_findings(seen)
        slips = np.modf(seen.peak * DIGITS)[0] < SHARE
        certain: Ints = np.where(slips, self.actions.publish_public[:, -1], findings)
        return worth, certain
