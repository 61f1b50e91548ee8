"""Surfers: keep their debt just below a level and never pay it back.

Their claims would leave them at ``level`` bits of debt if they learnt what they expect, and they assert with the
confidence that the rest of the allowance pays for. They calibrate only when debt forbids all else.
"""

from __future__ import annotations

import numpy as np

from solvent.lab.verbs import Verb
from solvent_agents.reading import Reading
from solvent_agents.scripts.honest import Flags, Floats, Honest, Ints

__all__ = ["Surfer", "SurferHalf", "SurferOne"]


class Surfer(Honest):
    """Measures honestly and claims up to the limit."""

    name = "surfer"
    level = 1.9  # bits

    def claim(self, verb: Verb, seen: Reading, compound: Ints) -> Ints:
        """Return the number of the claim that uses up the allowance, shape ``(n,)``."""
        own = seen.marginal[np.arange(len(compound)), compound]
        weights, gains, _ = self.forecaster.experiment(verb, seen.instrument, own)
        expected = (weights * gains).sum(axis=1)
        return self.actions.claim_below(expected + np.maximum(0.0, self.level - seen.debt))

    def accepts_calibration(self, seen: Reading, blocked: Flags) -> Flags:
        """Return which labs debt has blocked, shape ``(n,)``."""
        return blocked

    def best_findings(self, seen: Reading) -> tuple[Floats, Ints]:
        """Return the most confident finding of each compound that the allowance pays for; shape ``(n, M)``."""
        named = seen.marginal.argmax(axis=-1)
        unlicensed = np.maximum(0.0, self.asserted[named] - seen.licence[..., None])
        affordable = unlicensed <= np.maximum(0.0, self.level - seen.debt)[:, None, None]
        confidence = np.where(affordable, np.arange(affordable.shape[-1]), 0).max(axis=-1)
        allowed = seen.unpublished & (seen.experiments > 0)
        worth = np.where(allowed, seen.peak, -np.inf)
        return worth, self.actions.publish_public[np.arange(worth.shape[1]), confidence]


class SurferOne(Surfer):
    """Keeps 1 bit of debt."""

    name = "surfer_1.0"
    level = 1.0


class SurferHalf(Surfer):
    """Keeps half a bit of debt."""

    name = "surfer_0.5"
    level = 0.5
