"""Warm start: a policy imitates a script before reinforcement learning.

Behaviour cloning (Pomerleau 1991): the script plays some episodes; the policy's action distribution is fitted to its
actions by cross-entropy, its value to the returns to go. The demonstration labs are drawn from the training seed and
are neither training nor evaluation labs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm
from torch import Tensor
from torch.nn.functional import cross_entropy, mse_loss

from solvent_agents.agent import show_labs
from solvent_agents.learning.sb3 import LabVecEnv
from solvent_agents.registry import PLAYERS

__all__ = ["DEMONSTRATORS", "Demonstrations", "clone", "demonstrate"]

DEMONSTRATORS = {name: player for name, player in PLAYERS.items() if name != "oracle"}
"""Who can be cloned: everyone but the oracle, who acts on what a policy can't see."""

BATCH = 1024
LEARNING_RATE = 2e-3
VALUE_WEIGHT = 0.05
FORBIDDEN = -1e8


class Demonstrations(NamedTuple):
    """Steps of the script.

    Shapes: observations ``(n, n_fields)``, masks ``(n, n_actions)``, actions and returns to go ``(n,)``.
    """

    observations: Tensor
    masks: Tensor
    actions: Tensor
    returns: Tensor


def demonstrate(
    envs: LabVecEnv,
    seed: int,
    gamma: float,
    should_stop: Callable[[], bool] = lambda: False,
    on_progress: Callable[[int, int], None] = lambda _done, _total: None,
    *,
    demonstrator: str = "honest",
) -> Demonstrations | None:
    """Play one episode of a script in each lab of ``envs``; return None if stopped before the end.

    ``demonstrator`` is a key of ``DEMONSTRATORS``.

    ``on_progress`` is called with (heartbeats done, heartbeats in all).
    """
    params = envs.labs.params
    script = DEMONSTRATORS[demonstrator](params, seed)
    word = int(np.random.SeedSequence([seed, 1]).generate_state(1)[0])
    envs.seed(word)
    observations: Any = envs.reset()
    alive = np.ones(envs.num_envs, np.bool_)
    batch = envs.labs.batch
    ended = np.zeros_like(batch.labs)
    rows: list[tuple[Any, ...]] = []
    for _ in range(params.most_steps):
        if not alive.any():
            break
        on_progress(int(batch.labs["heartbeat"][alive].min()), params.budget.heartbeats)
        if should_stop():
            return None
        masks = envs.labs.action_masks()
        show_labs(script, np.where(alive, batch.labs, ended), params)
        actions = script.act(observations, masks)
        seen, was_alive = observations, alive
        observations, rewards, dones, _ = envs.step(actions)
        rows.append((seen, masks, actions, rewards, was_alive))
        ended[alive & dones] = batch.finals[alive & dones]
        alive = alive & ~dones
    seen_all, masks_all, actions_all, rewards_all, alive_all = (
        np.array(column) for column in zip(*rows, strict=True)
    )
    returns = np.zeros(rewards_all.shape)
    ahead = np.zeros(envs.num_envs)
    for t in reversed(range(len(returns))):
        ahead = np.where(alive_all[t], rewards_all[t] + gamma * ahead, 0.0)
        returns[t] = ahead
    return Demonstrations(
        torch.as_tensor(seen_all[alive_all]),
        torch.as_tensor(masks_all[alive_all]),
        torch.as_tensor(actions_all[alive_all]),
        torch.as_tensor(returns[alive_all], dtype=torch.float32),
    )


def clone(
    model: OnPolicyAlgorithm,
    shown: Demonstrations,
    epochs: int,
    *,
    masked: bool,
    should_stop: Callable[[], bool] = lambda: False,
    on_progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> bool:
    """Fit the model's policy and value to the demonstrations; return False if stopped before the end.

    The step size falls linearly to 0. ``on_progress`` is called with (epochs done, epochs in all).
    """
    policy: Any = model.policy
    optimiser = torch.optim.Adam(policy.parameters(), lr=LEARNING_RATE)
    if masked:  # a script may ask for what would not run; a masked policy can't be fitted to that
        runs = shown.masks[torch.arange(len(shown.actions)), shown.actions].bool()
        shown = Demonstrations(*(column[runs] for column in shown))
    n = len(shown.actions)
    batches = -(-n // BATCH)
    for update in range(epochs * batches):
        if should_stop():
            return False
        if update % batches == 0:
            on_progress(update // batches, epochs)
            order = torch.randperm(n)
        for group in optimiser.param_groups:
            group["lr"] = LEARNING_RATE * (1.0 - update / (epochs * batches))
        rows = order[update % batches * BATCH :][:BATCH]
        latent, latent_value = policy.mlp_extractor(policy.extract_features(shown.observations[rows]))
        logits = policy.action_net(latent)
        if masked:
            logits = logits.masked_fill(~shown.masks[rows], FORBIDDEN)
        value = policy.value_net(latent_value)[:, 0]
        loss = cross_entropy(logits, shown.actions[rows])
        optimiser.zero_grad()
        (loss + VALUE_WEIGHT * mse_loss(value, shown.returns[rows])).backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    return True
