"""Adequate: the honest script that words no finding more strongly than its plates bear out, even where nobody minds."""

from __future__ import annotations

import dataclasses

from solvent.lab.params import LabParams
from solvent_agents.planning.foresight import Foresight
from solvent_agents.scripts.honest import Honest, Manner

__all__ = ["Adequate"]


class Adequate(Honest):
    """Where adequacy is only tracked it speaks as if it were enforced; elsewhere it is the honest script."""

    name = "adequate"

    def __init__(self, params: LabParams, seed: int = 0, manner: Manner | None = None) -> None:
        super().__init__(params, seed, manner)
        heeded = dataclasses.replace(params.adequacy, enforced=True)
        self.foresight = Foresight(dataclasses.replace(params, adequacy=heeded))
