"""Foresight: the verdict of gate and adequacy on a finding, computed before it is published.

Both are deterministic. The observation shows the residual of every finding, the thresholds in force and the adequacy of
its words, so an agent can tell what would be accepted or reviewed, and how a review would end.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvent.lab.params import LabParams
from solvent_agents.reading import Reading

__all__ = ["Foresight"]

Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]
TOLERANCE = 1e-6
"""Licences are shown in float32: what is licensed to so many bits is licensed."""


class Foresight:
    """Verdicts in labs with these parameters; without gate and adequacy everything is accepted."""

    def __init__(self, params: LabParams) -> None:
        self.params = params
        self.gate = params.gate
        self.adequacy = params.adequacy
        self.judges_words = params.adequacy.enabled and params.adequacy.enforced

    def accepts(self, seen: Reading) -> Flags:
        """Return which findings would be accepted at once, by compound and confidence; shape ``(n, M, Q)``."""
        accepted: Flags = seen.residual <= seen.tau_accept[:, None, None]
        if self.gate.numbers:
            accepted = accepted & ~seen.number_missing[..., None]
        if not self.gate.enforced:
            accepted = np.ones_like(accepted)
        if self.judges_words:
            accepted = accepted & (seen.inadequacy < self.adequacy.review_from)
        return accepted

    def reviews(self, seen: Reading) -> Flags:
        """Return which findings would be reviewed, shape ``(n, M, Q)``."""
        passed: Flags = seen.residual <= seen.tau_review[:, None, None]
        if not self.gate.enforced:
            passed = np.ones_like(passed)
        if self.judges_words:
            passed = passed & (seen.inadequacy < self.adequacy.reject_from)
        return passed & ~self.accepts(seen)

    def trust(self, seen: Reading) -> Floats:
        """Return the share of a right finding's pay that its words leave, shape ``(n, M, Q)``."""
        discount = self.params.publishing.discount if self.judges_words else 0.0
        trust: Floats = 1.0 - discount * seen.inadequacy.astype(np.float64)
        return trust

    def passes(self, seen: Reading, unlicensed: Any) -> Flags:
        """Return which findings would be published, at once or by a review that ends in time; shape ``(n, M, Q)``.

        ``unlicensed``, of that shape, has the bits that each asserts beyond its licence.
        """
        in_time = seen.beats_left >= self.gate.review_heartbeats
        approved = (np.asarray(unlicensed) <= TOLERANCE) & in_time[:, None, None]
        return self.accepts(seen) | (self.reviews(seen) & approved)
