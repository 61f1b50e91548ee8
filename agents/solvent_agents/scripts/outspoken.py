"""Outspoken: its words are adequate, but for one finding in ten, which it states as certain whatever is behind it.

A learner that starts as its clone has met strong words and what follows from them, in every situation. Which findings
they are is read off the digits of the belief, so it needs no luck of its own.
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
    """The adequate script with slips of the tongue."""

    name = "outspoken"

    def best_findings(self, seen: Reading) -> tuple[Floats, Ints]:
        """The adequate finding of each compound, or the same as certain; shape ``(n, M)``."""
        worth, findings = super().best_findings(seen)
        slips = np.modf(seen.peak * DIGITS)[0] < SHARE
        certain: Ints = np.where(slips, self.actions.publish_public[:, -1], findings)
        return worth, certain
