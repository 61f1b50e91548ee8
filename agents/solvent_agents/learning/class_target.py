"""Training of the class head, where a finding names its class (``Solvent/Data-v0``).

A random class is right one time in eight. So from scratch every finding is a loss, and a learner stops publishing
before it can tell the classes apart. Here the class head learns beside the policy, by supervision: from the
observations of each rollout, and a target that training alone is granted.
"""

from __future__ import annotations

from typing import cast

import numpy as np
import torch
from stable_baselines3.common.callbacks import BaseCallback
from torch.optim import Adam

from solvent_agents.learning.policies import ClassHead, CompoundNetwork
from solvent_agents.learning.sb3 import LabVecEnv

BATCH = 512


class ClassLessons(BaseCallback):
    """Teaches the class head once from every rollout's observations, in random order."""

    def __init__(self, envs: LabVecEnv) -> None:
        super().__init__()
        self._envs = envs

    def _on_training_start(self) -> None:
        self._network = cast("CompoundNetwork", self.model.policy.mlp_extractor)
        head = cast("ClassHead", self._network.classes)
        self._optimizer = Adam(head.parameters(), fused=True)

    def _on_rollout_start(self) -> None:
        # Not as a rollout ends: the policy's update compares its probabilities with those before it, and the class
        # head is part of both.
        if self._envs.has_lessons:
            for group in self._optimizer.param_groups:
                group["lr"] = self.model.policy.optimizer.param_groups[0][
                    "lr"
                ]  # the learner's, which may fall
            self.logger.record("lab/class_cross_entropy", self._teach())

    def _on_step(self) -> bool:
        return True

    def _teach(self) -> float:
        """Return the mean cross-entropy, nats per compound."""
        observations, targets = map(torch.from_numpy, self._envs.take_lessons())
        losses = []
        for rows in torch.randperm(len(observations)).split(BATCH):  # type: ignore[no-untyped-call]
            log_probs = self._network.class_log_probs(observations[rows])
            loss = -(targets[rows].transpose(0, 1) * log_probs).sum(dim=-1).mean()
            self._optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            self._optimizer.step()
            losses.append(loss.item())
        return float(np.mean(losses))
