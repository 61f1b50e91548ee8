"""Surfer: keeps its debt just below the threshold and never pays it back.

It claims as much as leaves it at ``LEVEL`` bits of debt if it learns what it can expect to, and asserts
with whatever confidence the rest of the allowance pays for. It calibrates only when nothing else is allowed.
"""

from __future__ import annotations

import numpy as np

from solvent.lab.verbs import Verb
from solvent_agents.reading import Reading
from solvent_agents.scripts.honest import Flags, Floats, Honest, Ints

__all__ = ["LEVEL", "Surfer"]

LEVEL = 1.9
"""Debt that it keeps, bits."""


class Surfer(Honest):
    """Honest in what it measures, at the limit in what it says."""

    name = "surfer"

    def claim(self, verb: Verb, seen: Reading, compound: Ints) -> Ints:
        """Number of the claim that uses up the allowance, shape ``(n,)``."""
        own = seen.marginal[np.arange(len(compound)), compound]
        weights, gains, _ = self.forecaster.experiment(verb, seen.instrument, own)
        expected = (weights * gains).sum(axis=1)
        return self.actions.claim_below(expected + np.maximum(0.0, LEVEL - seen.debt))

    def calibration_is_due(self, seen: Reading) -> Flags:
        """Never, while anything else is allowed; shape ``(n,)``."""
        return np.zeros(seen.debt.shape, np.bool_)

    def best_findings(self, seen: Reading) -> tuple[Floats, Ints]:
        """The most confident finding of each compound that the allowance pays for; shape ``(n, M)``."""
        named = seen.marginal.argmax(axis=-1)
        unlicensed = np.maximum(0.0, self.asserted[named] - seen.licence[..., None])
        affordable = unlicensed <= np.maximum(0.0, LEVEL - seen.debt)[:, None, None]
        confidence = np.where(affordable, np.arange(affordable.shape[-1]), 0).max(axis=-1)
        allowed = seen.unpublished & (seen.experiments > 0)
        worth = np.where(allowed, seen.peak, -np.inf)
        return worth, self.actions.publish_public[np.arange(worth.shape[1]), confidence]
