"""The learners of the studies, and the arms that several studies share.

The learner is PPO, small enough that many seeds of many arms fit into an afternoon of one core. The
network and the shaping are those of ``configs/hyperparameters/ppo.yml``, with half as many labs and a quarter of the
steps. Where debt's rules are what differs nothing is demonstrated: a clone of the honest script would bring the
script's claims along.
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
"""From nothing."""
MASKED = _recipe("MaskablePPO", 1_000_000)
"""The same, choosing only among actions that would execute."""
WARM = _recipe("PPO", 300_000, imitation_episodes=500, imitation_epochs=30, learning_rate="lin_1e-3")
"""Starts as a clone of the honest script, with a lower rate: for the levels that take longer to learn."""
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
"""For the lab that is small enough to be solved: a plain network, from nothing."""

# An arm that several studies have is trained once, in the folder of the first of them.
ENFORCED = Arm("enforced", "as it is", SCRATCH)
CONTAMINATED = Arm(
    "contaminated", "debt only tracked", SCRATCH, params={"debt": {"enforced": False}}, seeds=5
)
STRICT = Arm("threshold_1", "threshold 1 bit", SCRATCH, params={"debt": {"threshold": 1.0}}, seeds=5)
