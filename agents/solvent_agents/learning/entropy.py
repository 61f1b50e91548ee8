"""An entropy bonus that falls linearly to 0: explore first, commit later.

Stable-Baselines3 has schedules for step size and clipping but only a constant weight of the entropy, and a weight small
enough for the end of a training is too small for its beginning.
"""

from __future__ import annotations

from typing import Any

from stable_baselines3.common.callbacks import BaseCallback

__all__ = ["FallingEntropy"]


class FallingEntropy(BaseCallback):
    """Sets the weight of the entropy, ``ent_coef``, before each rollout by the steps that are left.

    The weight depends only on the steps done, so a resumed training continues with the same value.

    Args:
        start: weight at the first step.
        total: steps in all.
    """

    def __init__(self, start: float, total: int) -> None:
        super().__init__()
        self.start, self.total = start, total

    def _on_rollout_start(self) -> None:
        model: Any = self.model
        model.ent_coef = self.start * max(0.0, 1.0 - model.num_timesteps / self.total)

    def _on_step(self) -> bool:
        return True
