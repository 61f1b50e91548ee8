"""Arms that several studies share. Each is trained once, in the folder of the first study that has it."""

from __future__ import annotations

from solvent_experiments.studies.recipes import SCRATCH
from solvent_experiments.studies.study import Arm

__all__ = ["CONTAMINATED", "ENFORCED", "STRICT"]

ENFORCED = Arm("enforced", "as it is", SCRATCH)
CONTAMINATED = Arm(
    "contaminated", "debt only tracked", SCRATCH, params={"debt": {"enforced": False}}, seeds=5
)
STRICT = Arm("threshold_1", "threshold 1 bit", SCRATCH, params={"debt": {"threshold": 1.0}}, seeds=5)
