"""Learners of the studies, and arms that several studies share.

The learner is PPO, small enough to train many seeds of many arms in an afternoon on one core. Network and shaping are
those of ``configs/hyperparameters/ppo.yml``, with half of the labs and a quarter of the steps. Arms that differ in
debt's rules have no demonstrations: a clone of the honest script would start with the script's claims.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from solvent_experiments.studies.study import Arm

__all__ = ["CONTAMINATED", "ENFORCED", "MASKED", "SCRATCH", "SMALL", "STRICT", "WARM"]

_SHARED = {
    "n_envs": 256,
    "policy": "SharedPolicy",
    "shaping_weight": 0.5,
    "well_price": 0.01,
    "expected_score": True,
    "n_steps": 40,
    "batch_size": 2560,
    "n_epochs": 3,
    "gamma": 1.0,
    "gae_lambda": 0.95,
    "learning_rate": "lin_3e-3",
    "clip_range": 0.2,
    "ent_coef": 0.002,
    "policy_kwargs": {"width": 64, "value_width": 32},
}


def _recipe(algorithm: str, steps: int, **more: Any) -> Mapping[str, Any]:
    return {"algorithm": algorithm, "n_timesteps": steps, **_SHARED, **more}


SCRATCH = _recipe("PPO", 1_000_000)
"""Learns from scratch."""
MASKED = _recipe("MaskablePPO", 1_000_000)
"""Learns from scratch, choosing only among executable actions."""
WARM = _recipe("PPO", 300_000, imitation_episodes=500, imitation_epochs=30, learning_rate="lin_1e-3")
"""Starts as a clone of the honest script, at a lower rate: for levels that take longer to learn."""
SMALL: Mapping[str, Any] = {
    "algorithm": "PPO",
    "n_timesteps": 500_000,
    "n_envs": 256,
    "policy": "MlpPolicy",
    "shaping_weight": 0.5,
    "expected_score": True,
    "n_steps": 16,
    "batch_size": 1024,
    "n_epochs": 5,
    "gamma": 1.0,
    "gae_lambda": 0.95,
    "learning_rate": "lin_1e-3",
    "clip_range": 0.2,
    "ent_coef": 0.005,
}
"""Learns from scratch with a plain network, in the lab that can be solved exactly."""

# An arm of several studies is trained once, in the folder of the first.
ENFORCED = Arm("enforced", "as it is", SCRATCH, seeds=10)
CONTAMINATED = Arm(
    "contaminated", "debt only tracked", SCRATCH, params={"debt": {"enforced": False}}, seeds=10
)
STRICT = Arm(
    "threshold_1", "threshold 1 bit", SCRATCH, params={"debt": {"threshold": 1.0, "interest_cap": 3.0}}
)
