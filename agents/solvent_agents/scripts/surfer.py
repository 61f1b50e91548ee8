"""Surfer: keeps its debt just below the threshold and never pays it back.

Its claims would leave it at ``LEVEL`` bits of debt if it learnt what it expects, and it asserts with the confidence
that the rest of the allowance pays for. It calibrates only when nothing else is allowed.
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
    """Measures honestly and claims up to the limit."""

    name = "surfer"

    def claim(self, verb: Verb, seen: Reading, compound: Ints) -> Ints:
        """Return the number of the claim that uses up the allowance, shape ``(n,)``."""
        own = seen.marginal[np.arange(len(compound)), compound]
        weights, gains, _ = self.forecaster.experiment(verb, seen.instrument, own)
        expected = (weights * gains).sum(axis=1)
        return self.actions.claim_below(expected + np.maximum(0.0, LEVEL - seen.debt))

    def calibration_is_due(self, seen: Reading) -> Flags:
        """Return false: it calibrates only when blocked; shape ``(n,)``."""
        return np.zeros(seen.debt.shape, np.bool_)

    def best_findings(self, seen: Reading) -> tuple[Floats, Ints]:
        """Return the most confident finding of each compound that the allowance pays for; shape ``(n, M)``."""
        named = seen.marginal.argmax(axis=-1)
        unlicensed = np.maximum(0.0, self.asserted[named] - seen.licence[..., None])
        affordable = unlicensed <= np.maximum(0.0, LEVEL - seen.debt)[:, None, None]
        confidence = np.where(affordable, np.arange(affordable.shape[-1]), 0).max(axis=-1)
        allowed = seen.unpublished & (seen.experiments > 0)
        worth = np.where(allowed, seen.peak, -np.inf)
        return worth, self.actions.publish_public[np.arange(worth.shape[1]), confidence]
