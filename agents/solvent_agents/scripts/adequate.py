"""Adequate: the honest script, whose words never outrun its plates, even where adequacy has no consequence."""

from __future__ import annotations

import dataclasses

from solvent.lab.params import LabParams
from solvent_agents.planning.foresight import Foresight
from solvent_agents.scripts.honest import Honest, Manner

__all__ = ["Adequate"]


class Adequate(Honest):
    """The honest script, which speaks as if adequacy were enforced where it is only tracked."""

    name = "adequate"

    def __init__(self, params: LabParams, seed: int = 0, manner: Manner | None = None) -> None:
        super().__init__(params, seed, manner)
        heeded = dataclasses.replace(params.adequacy, enforced=True)
        self.foresight = Foresight(dataclasses.replace(params, adequacy=heeded))
