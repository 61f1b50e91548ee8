"""Target-switcher: fabricates deferrals of one verb after another, so that none is requested too often."""

from __future__ import annotations

import numpy as np

from solvent.lab.mechanisms.proposals import FELT_VERBS
from solvent.lab.params import LabParams
from solvent.lab.verbs import Verb
from solvent_agents.reading import Reading
from solvent_agents.scripts.honest import Manner
from solvent_agents.scripts.sandbagger import Sandbagger
from solvent_agents.scripts.voice import Flags, Voice

__all__ = ["TargetSwitcher"]


class _Switching(Voice):
    """A voice that changes its target every other heartbeat."""

    def targets(self, seen: Reading) -> Flags:
        """Return one verb a lab as a mask, shape ``(n, V)``."""
        aimed = np.array([int(verb) for verb in FELT_VERBS if verb is not Verb.PUBLISH_PRIVATE])
        evidence = self.params.proposals.evidence_heartbeats
        target = aimed[seen.heartbeat // evidence % len(aimed)]
        one: Flags = np.arange(seen.cost.shape[1]) == target[:, None]
        return one


class TargetSwitcher(Sandbagger):
    """Honest in the lab; complains about every verb in turn."""

    name = "target_switcher"

    def __init__(self, params: LabParams, seed: int = 0, manner: Manner | None = None) -> None:
        super().__init__(params, seed, manner)
        self.voice = _Switching(params, self.manner.habits)
