"""Foresight: what the gate will say of a finding, which anyone who has read its rules can know beforehand.

The gate is deterministic, the residual of every finding and the thresholds in force are in the observation. So an agent
can tell what would be accepted, what would be reviewed, and, since a reader decides by the books, how a review would
end.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvent.params import LabParams
from solvent_agents.reading import Reading

__all__ = ["Foresight"]

Flags = NDArray[np.bool_]
TOLERANCE = 1e-6
"""Licences are shown in float32: what is licensed to so many bits is licensed."""


class Foresight:
    """The gate's verdicts in labs with these parameters; where there is no gate everything is accepted."""

    def __init__(self, params: LabParams) -> None:
        self.params = params
        self.gate = params.gate

    def accepts(self, seen: Reading) -> Flags:
        """Which findings would be accepted at once, by compound and confidence; shape ``(n, M, Q)``."""
        accepted: Flags = seen.residual <= seen.tau_accept[:, None, None]
        if self.gate.numbers:
            accepted = accepted & ~seen.number_missing[..., None]
        return accepted

    def reviews(self, seen: Reading) -> Flags:
        """Which findings would be reviewed, shape ``(n, M, Q)``."""
        passed: Flags = seen.residual <= seen.tau_review[:, None, None]
        return passed & ~self.accepts(seen)

    def passes(self, seen: Reading, unlicensed: Any) -> Flags:
        """Which findings would come out, at once or by a review that ends in time; shape ``(n, M, Q)``.

        ``unlicensed`` of that shape has the bits that each asserts beyond its licence.
        """
        in_time = seen.beats_left >= self.gate.review_heartbeats
        approved = (np.asarray(unlicensed) <= TOLERANCE) & in_time[:, None, None]
        return self.accepts(seen) | (self.reviews(seen) & approved)
