"""Learners of the studies, and arms that several studies share.

The learner is PPO from nothing, as in ``configs/hyperparameters/ppo.yml``, with two million steps instead of four, and
four instead of six where acting costs energy.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from solvent_experiments.studies.study import Arm

__all__ = ["CONTAMINATED", "ENERGETIC", "ENFORCED", "MASKED", "SCRATCH", "STRICT"]

_SHARED = {
    "n_timesteps": 2_000_000,
    "n_envs": 256,
    "policy": "SharedPolicy",
    "shaping_weight": 0.5,
    "well_price": 0.01,
    "expected_score": True,
    "n_steps": 40,
    "batch_size": 2048,
    "n_epochs": 3,
    "gamma": 1.0,
    "gae_lambda": 0.95,
    "learning_rate": "lin_3e-3",
    "clip_range": 0.2,
    "ent_coef": "lin_0.03",
    "policy_kwargs": {"width": 64, "value_width": 32},
}

SCRATCH: Mapping[str, Any] = {"algorithm": "PPO", **_SHARED}
MASKED: Mapping[str, Any] = {"algorithm": "MaskablePPO", **_SHARED}
"""Chooses only among executable actions."""
ENERGETIC: Mapping[str, Any] = {
    **SCRATCH,
    "n_timesteps": 4_000_000,
    "idle_price": 0.02,
    "n_steps": 64,
    "ent_coef": "lin_0.1",
}
"""For levels on which acting costs energy."""

# An arm of several studies is trained once, in the folder of the first.
ENFORCED = Arm("enforced", "as it is", SCRATCH, seeds=10)
CONTAMINATED = Arm(
    "contaminated", "debt only tracked", SCRATCH, params={"debt": {"enforced": False}}, seeds=10
)
STRICT = Arm(
    "threshold_1", "threshold 1 bit", SCRATCH, params={"debt": {"threshold": 1.0, "interest_cap": 3.0}}
)
