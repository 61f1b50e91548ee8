"""Overreacher: the honest script, but it publishes every finding one confidence above its belief."""

from __future__ import annotations

import numpy as np

from solvent_agents.reading import Reading
from solvent_agents.scripts.honest import Floats, Honest, Ints

__all__ = ["Overreacher"]


class Overreacher(Honest):
    """Honest in all but its words, and ignores what a gate will decide."""

    name = "overreacher"

    def best_findings(self, seen: Reading) -> tuple[Floats, Ints]:
        """Return the honest script's findings, one confidence higher; shape ``(n, M)``."""
        score = self.expected_scores(seen)
        stronger = np.minimum(score.argmax(axis=-1) + 1, score.shape[-1] - 1)
        open_to_it = seen.unpublished & (seen.experiments > 0)
        worth = np.where(open_to_it, score.max(axis=-1), -np.inf)
        compounds = np.arange(worth.shape[1])
        return worth, self.actions.publish_public[compounds, stronger]
