"""Value-per-cost: takes the action with the most expected bits per unit of energy, without planning.

The value of a plate is the expected rise of a finding's score, that of a finding its expected score less the debt of
what is not licensed. It never saves energy and never waits for a better hour.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvent.lab.verbs import EXPERIMENTS
from solvent_agents.agent import Actions, Observations
from solvent_agents.scripts.honest import Honest

__all__ = ["ValuePerCost"]

FREE = 1e-3
"""Energy that something free is taken to cost."""


class ValuePerCost(Honest):
    """Greedy by the ratio of value to energy."""

    name = "value_per_cost"

    def act(self, observations: Observations, masks: NDArray[Any]) -> Actions:
        """Return actions for ``n`` labs."""
        seen, may = self.reader.read(observations), masks.astype(np.bool_)
        worth, finding = self.best_findings(seen)
        labs = np.arange(len(worth))[:, None]
        dear = np.maximum(FREE, seen.cost[labs, self.verbs[finding]])
        ratios = [np.where(may[labs, finding], worth / dear, -np.inf)]
        now = self.score_of(seen.peak)
        for verb in EXPERIMENTS:
            first = self.actions.experiment(verb, np.arange(now.shape[1]), 0)
            wanted = seen.unpublished & may[:, first]
            rise = self.forecaster.expected(
                verb, seen.instrument, seen.marginal, wanted, of=lambda _, peaks: self.score_of(peaks)
            )
            ratios.append((rise - now) / np.maximum(FREE, self.cost_of(seen, verb)))
        stacked = np.concatenate(ratios, axis=1)
        which, compound = np.divmod(stacked.argmax(axis=1), now.shape[1])
        chosen = finding[labs[:, 0], compound]
        for number, verb in enumerate(EXPERIMENTS, start=1):
            rows = np.flatnonzero(which == number)
            if len(rows):
                claim = self.claim(verb, seen.rows(rows), compound[rows])
                chosen[rows] = self.actions.experiment(verb, compound[rows], claim)
        calibrates = may[:, self.actions.dmso] & (seen.blocked | self.calibration_is_due(seen))
        chosen = np.where(stacked.max(axis=1) > 0.0, chosen, self.actions.rest)
        return np.where(calibrates, self.actions.dmso, chosen)
