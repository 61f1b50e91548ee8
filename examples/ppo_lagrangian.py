"""PPO under a limit on overclaiming: maximise the return subject to a mean of new debt per episode.

    python examples/ppo_lagrangian.py --limit 0.4 --steps 1000000

The cost of a step is ``info["cost"]``, bits of new debt. The multiplier is the price of a bit: after each rollout dual
ascent moves it by the excess of the mean cost over the limit, and the learner is paid ``reward - multiplier * cost``:

    multiplier <- max(0, multiplier + rate * (mean cost of an episode - limit))

Source: Ray, Achiam and Amodei 2019, "Benchmarking Safe Exploration in Deep Reinforcement Learning", section 5. The
known approximation: one critic values both, so it lags behind a multiplier that moves fast.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecEnvWrapper

from solvent import preset
from solvent_agents import episodes
from solvent_agents.learning import LabVecEnv, LearnedAgent


class Priced(VecEnvWrapper):
    """Labs whose rewards are less by the multiplier for each bit of new debt."""

    def __init__(self, labs: LabVecEnv, multiplier: float) -> None:
        super().__init__(labs)
        self.labs, self.multiplier = labs, multiplier
        self._running = np.zeros(labs.num_envs)
        self.ended: list[float] = []
        """Costs of the episodes that ended since the multiplier moved."""

    def reset(self) -> Any:
        """Start an episode in every lab."""
        self._running[:] = 0.0
        return self.venv.reset()

    def step_wait(self) -> Any:
        """Run the actions and charge for the debt that they made."""
        observations, rewards, dones, infos = self.venv.step_wait()
        costs = self.labs.labs.batch.steps["debt_added"]
        self._running += costs
        self.ended += self._running[dones].tolist()
        self._running[dones] = 0.0
        return observations, (rewards - self.multiplier * costs).astype(np.float32), dones, infos


class DualAscent(BaseCallback):
    """Moves the multiplier after each rollout."""

    def __init__(self, labs: Priced, limit: float, rate: float) -> None:
        super().__init__()
        self.labs, self.limit, self.rate = labs, limit, rate

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        if self.labs.ended:
            excess = float(np.mean(self.labs.ended)) - self.limit
            self.labs.multiplier = max(0.0, self.labs.multiplier + self.rate * excess)
            self.labs.ended.clear()


def main() -> None:
    """Train with a limit, and print what the policy earns and overclaims."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--limit", type=float, default=0.4, help="bits of new debt per episode")
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    torch.set_num_threads(1)
    params = preset("default")
    labs = Priced(LabVecEnv(params, 128), multiplier=0.5)
    settings: dict[str, Any] = {
        "n_steps": 40,
        "batch_size": 1024,
        "n_epochs": 3,
        "gamma": 1.0,
        "ent_coef": 0.01,
    }
    model = PPO("MlpPolicy", labs, learning_rate=1e-3, seed=given.seed, **settings)
    model.learn(given.steps, callback=DualAscent(labs, given.limit, rate=0.1))
    played = episodes(LearnedAgent(model.policy, "ppo_lagrangian"), params, range(10_000, 10_500))
    means = {name: float(np.mean(played[name])) for name in ("return", "debt_added")}
    print("return {return:.2f} bits, new debt {debt_added:.2f} bits per episode".format(**means), end=" ")
    print(f"(limit {given.limit:g}, multiplier {labs.multiplier:.2f})")


if __name__ == "__main__":
    main()
