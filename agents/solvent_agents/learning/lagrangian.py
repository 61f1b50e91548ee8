"""PPO-Lagrangian: maximises return under a limit on the mean cost of an episode.

The cost of a step is ``info["cost"]``; in these labs it is bits of new debt (``solvent.lab.environment``). The
multiplier ``lambda`` is the price of a bit. Dual ascent moves it after each rollout by the mean excess over the limit,
and the policy follows the advantage net of costs at that price:

    lambda <- max(0, lambda + lambda_lr * (mean cost of an episode - cost_limit))
    A = (A_return - lambda * A_cost) / (1 + lambda)

The cost has a critic of its own, and the same discount and GAE as the return. Source: Ray, Achiam and Amodei 2019,
"Benchmarking Safe Exploration in Deep Reinforcement Learning", section 5; there the multiplier goes through a softplus
and Adam, here it is the projected gradient step, whose sign and size can be checked by hand. Approximations: the limit
is on the mean of episodes and on actions drawn from the policy, not on its most probable ones; a cost ends with its
episode even where returns are bootstrapped at the horizon; and the multiplier swings around its fixed point.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from stable_baselines3 import PPO
from stable_baselines3.common.buffers import RolloutBuffer
from stable_baselines3.common.torch_layers import create_mlp
from stable_baselines3.common.utils import update_learning_rate
from torch import Tensor, nn
from torch.nn.functional import mse_loss

__all__ = ["PPOLagrangian", "step_costs"]

Floats = NDArray[np.float32]
WIDTHS = [64, 64]


class PPOLagrangian(PPO):
    """PPO with a limit on the mean cost of an episode.

    Args:
        policy: as PPO takes it.
        env: any vector of environments whose infos have ``cost``, or that has ``step_costs``, shape ``(n_envs,)``.
        cost_limit: on the mean cost of an episode.
        lambda_lr: how much the multiplier moves for each unit of cost over the limit, once a rollout.
        initial_lambda: the multiplier at the start.
        arguments: of PPO.
    """

    def __init__(
        self,
        policy: Any,
        env: Any,
        *,
        cost_limit: float = 1.0,
        lambda_lr: float = 0.05,
        initial_lambda: float = 0.0,
        _init_setup_model: bool = True,
        **arguments: Any,
    ) -> None:
        super().__init__(policy, env, _init_setup_model=False, **arguments)
        self.cost_limit = cost_limit
        self.lambda_lr = lambda_lr
        self.multiplier = float(initial_lambda)
        self.episode_cost = float("nan")  # mean of the episodes that ended in the last rollout
        self._costs_so_far = np.zeros(self.n_envs, np.float64)  # of the episodes that go on
        if _init_setup_model:
            self._setup_model()

    def _setup_model(self) -> None:
        super()._setup_model()
        shape: Any = self.observation_space.shape
        self.cost_critic = nn.Sequential(*create_mlp(int(np.prod(shape)), 1, WIDTHS, nn.Tanh)).to(self.device)
        self.cost_optimizer = torch.optim.Adam(
            self.cost_critic.parameters(), lr=self.lr_schedule(1), eps=1e-5
        )
        self.cost_buffer = RolloutBuffer(
            self.n_steps,
            self.observation_space,
            self.action_space,
            device=self.device,
            gamma=self.gamma,
            gae_lambda=self.gae_lambda,
            n_envs=self.n_envs,
        )

    def _update_info_buffer(self, infos: list[dict[str, Any]], dones: Any = None) -> None:
        """Record the costs: Stable-Baselines3 calls this once after each step."""
        super()._update_info_buffer(infos, dones)
        self.cost_buffer.rewards[self.rollout_buffer.pos] = step_costs(self.env, infos)

    def train(self) -> None:
        """Move the multiplier, then the policy by the combined advantage, then the cost's critic."""
        ended = np.concatenate([self.rollout_buffer.episode_starts[1:], self._last_episode_starts[None]])  # type: ignore[index]
        self._move_multiplier(ended.astype(np.bool_))
        self._value_costs()
        self.rollout_buffer.advantages -= self.multiplier * self.cost_buffer.advantages
        self.rollout_buffer.advantages /= 1.0 + self.multiplier
        observations, targets = self._cost_lessons()
        super().train()
        self._fit_critic(observations, targets)
        self.logger.record("train/lambda", self.multiplier)
        self.logger.record("train/episode_cost", self.episode_cost)

    def _move_multiplier(self, ended: NDArray[np.bool_]) -> None:
        """Take one step of dual ascent; ``ended``, shape ``(n_steps, n_envs)``, marks the last step of an episode."""
        totals = []
        for costs, over in zip(self.cost_buffer.rewards, ended, strict=True):
            self._costs_so_far += costs
            totals.append(self._costs_so_far[over])
            self._costs_so_far = np.where(over, 0.0, self._costs_so_far)
        finished = np.concatenate(totals)
        if not len(finished):  # nothing is known of a whole episode yet
            return
        self.episode_cost = float(finished.mean())
        self.multiplier = max(0.0, self.multiplier + self.lambda_lr * (self.episode_cost - self.cost_limit))

    def _value_costs(self) -> None:
        """Return the cost advantages of the rollout, by the critic that was in force."""
        buffer, rollout = self.cost_buffer, self.rollout_buffer
        shown = rollout.observations.reshape(self.n_steps * self.n_envs, -1)
        buffer.values = self._cost_values(shown).numpy().reshape(self.n_steps, self.n_envs)
        buffer.episode_starts = rollout.episode_starts
        last: Any = self._last_obs
        buffer.compute_returns_and_advantage(
            self._cost_values(last.reshape(self.n_envs, -1)), np.asarray(self._last_episode_starts)
        )

    def _cost_values(self, observations: Any) -> Tensor:
        with torch.no_grad():
            values: Tensor = self.cost_critic(self._as_tensor(observations))[:, 0].cpu()
        return values

    def _as_tensor(self, observations: Any) -> Tensor:
        return torch.as_tensor(np.asarray(observations, np.float32), device=self.device)

    def _cost_lessons(self) -> tuple[Tensor, Tensor]:
        """Return the critic's training data, copied because PPO reorders its buffer."""
        shown = self.rollout_buffer.observations.reshape(self.n_steps * self.n_envs, -1)
        return self._as_tensor(shown.copy()), self._as_tensor(self.cost_buffer.returns.reshape(-1))

    def _fit_critic(self, observations: Tensor, targets: Tensor) -> None:
        """Fit the critic with the policy's number of passes and batch size."""
        update_learning_rate(self.cost_optimizer, self.lr_schedule(self._current_progress_remaining))
        for _ in range(self.n_epochs):
            order = torch.randperm(len(targets))
            for start in range(0, len(targets), self.batch_size):
                rows = order[start : start + self.batch_size]
                loss = mse_loss(self.cost_critic(observations[rows])[:, 0], targets[rows])
                self.cost_optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                nn.utils.clip_grad_norm_(self.cost_critic.parameters(), self.max_grad_norm)
                self.cost_optimizer.step()
        self.logger.record("train/cost_value_loss", loss.item())

    def _get_torch_save_params(self) -> tuple[list[str], list[str]]:
        modules, tensors = super()._get_torch_save_params()
        return [*modules, "cost_critic", "cost_optimizer"], tensors


def step_costs(env: Any, infos: list[dict[str, Any]]) -> Floats:
    """Return the costs of the step just taken, shape ``(n_envs,)``: from ``env.step_costs``, else from the infos.

    Raises:
        ValueError: the environment reports no cost.
    """
    column = getattr(env, "step_costs", None)
    if column is not None:
        return np.asarray(column, np.float32)
    if not all("cost" in info for info in infos):
        raise ValueError(
            'env: its infos have no "cost"; allowed: environments that tell the cost of each step'
        )
    return np.array([info["cost"] for info in infos], np.float32)
