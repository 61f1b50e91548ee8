"""A policy network shared by all compounds.

The compounds of a lab are exchangeable: relabelling them relabels the best policy. A plain network has to learn
everything eight times. Here one network reads each compound (its part of the observation, the fields of no compound,
and the mean and maximum over all compounds) and returns the logits of that compound's actions (Zaheer et al. 2017,
"Deep Sets"). The actions without a compound, and the value, read the pooled embedding.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.policies import ActorCriticPolicy
from torch import Tensor, nn

from solvent.lab.actions import action_table
from solvent.lab.observation import observation_fields
from solvent.lab.params import LabParams

__all__ = ["CompoundNetwork", "MaskableSharedPolicy", "SharedPolicy", "compound_columns"]


def compound_columns(params: LabParams) -> tuple[list[int], list[list[int]]]:
    """Return the observation's columns of no compound and, for each compound, its own in the same order."""
    fields = observation_fields(params)
    prefixes = [f"{compound}/" for compound in params.assay.compounds]
    own = [[i for i, name in enumerate(fields) if name.startswith(prefix)] for prefix in prefixes]
    taken = {i for columns in own for i in columns}
    return [i for i in range(len(fields)) if i not in taken], own


def _logit_order(params: LabParams) -> tuple[int, int, list[int]]:
    """Return the number of actions without a compound, the number of each compound, and each action's logit.

    The logits are ordered ``[without | compound 0 | compound 1 | ...]``.
    """
    table = action_table(params)
    without = [a for a, row in enumerate(table) if row["compound"] < 0]
    each = sum(row["compound"] == 0 for row in table)
    place, seen = [], [0] * len(params.assay.compounds)
    for action, row in enumerate(table):
        m = int(row["compound"])
        if m < 0:
            place.append(without.index(action))
        else:
            place.append(len(without) + m * each + seen[m])
            seen[m] += 1
    return len(without), each, place


class _Tower(nn.Module):
    """Embeds each compound, and all of them pooled: shapes ``(n, M, width)`` and ``(n, width)``."""

    def __init__(self, n_shared: int, n_own: int, width: int) -> None:
        super().__init__()
        self.own, self.shared = nn.Linear(n_own, width), nn.Linear(n_shared, width)
        self.mix, self.context = nn.Linear(width, width), nn.Linear(2 * width + n_shared, width)

    def forward(self, shared: Tensor, own: Tensor) -> tuple[Tensor, Tensor]:
        first = torch.relu(self.own(own) + self.shared(shared)[:, None, :])
        pooled = torch.cat([first.mean(dim=1), first.amax(dim=1), shared], dim=1)
        context = self.context(pooled)
        return torch.relu(self.mix(first) + context[:, None, :]), torch.relu(context)


class CompoundNetwork(nn.Module):
    """Logits of all actions and a latent for the value, from an observation of shape ``(n, n_fields)``."""

    def __init__(self, params: LabParams, width: int, value_width: int) -> None:
        super().__init__()
        shared, own = compound_columns(params)
        n_without, n_each, place = _logit_order(params)
        self.register_buffer("shared_columns", torch.as_tensor(shared), persistent=False)
        self.register_buffer("own_columns", torch.as_tensor(np.array(own)), persistent=False)
        self.register_buffer("place", torch.as_tensor(place), persistent=False)
        self.actor = _Tower(len(shared), len(own[0]), width)
        self.critic = _Tower(len(shared), len(own[0]), value_width)
        self.without, self.each = nn.Linear(width, n_without), nn.Linear(width, n_each)
        self.latent_dim_pi = len(place)
        self.latent_dim_vf = 2 * value_width
        for head in (self.without, self.each):
            nn.init.orthogonal_(head.weight, 0.01)
            nn.init.zeros_(head.bias)

    def _split(self, observation: Tensor) -> tuple[Tensor, Tensor]:
        return observation[:, self.shared_columns], observation[:, self.own_columns]  # type: ignore[index]

    def forward(self, observation: Tensor) -> tuple[Tensor, Tensor]:
        return self.forward_actor(observation), self.forward_critic(observation)

    def forward_actor(self, observation: Tensor) -> Tensor:
        """Return logits, shape ``(n, n_actions)``."""
        each, pooled = self.actor(*self._split(observation))
        logits = torch.cat([self.without(pooled), self.each(each).flatten(1)], dim=1)
        return logits[:, self.place]  # type: ignore[index]

    def forward_critic(self, observation: Tensor) -> Tensor:
        """Return the latent of the value, shape ``(n, 2 * value_width)``."""
        each, pooled = self.critic(*self._split(observation))
        return torch.cat([each.mean(dim=1), pooled], dim=1)


class _SharedMixin:
    """Replaces the two separate towers by ``CompoundNetwork``, whose logits are those of the action distribution."""

    # Typed loosely: the two policy classes that this is mixed into declare narrower types for the same attributes.
    mlp_extractor: Any
    action_net: Any

    def __init__(
        self, *args: Any, lab_params: LabParams, width: int = 64, value_width: int = 64, **kwargs: Any
    ) -> None:
        self._network_arguments = (lab_params, width, value_width)
        kwargs["ortho_init"] = False  # the network has an initialisation of its own
        super().__init__(*args, **kwargs)

    def _build_mlp_extractor(self) -> None:
        self.mlp_extractor = CompoundNetwork(*self._network_arguments)

    def _build(self, lr_schedule: Any) -> None:
        super()._build(lr_schedule)  # type: ignore[misc]
        self.action_net = nn.Identity()
        self.optimizer = self.optimizer_class(  # type: ignore[attr-defined]
            self.parameters(),  # type: ignore[attr-defined]
            lr=lr_schedule(1),
            **self.optimizer_kwargs,  # type: ignore[attr-defined]
        )

    def _get_constructor_parameters(self) -> dict[str, Any]:
        data: dict[str, Any] = super()._get_constructor_parameters()  # type: ignore[misc]
        lab_params, width, value_width = self._network_arguments
        return {**data, "lab_params": lab_params, "width": width, "value_width": value_width}


class SharedPolicy(_SharedMixin, ActorCriticPolicy):
    """For PPO and A2C."""


class MaskableSharedPolicy(_SharedMixin, MaskableActorCriticPolicy):
    """For MaskablePPO."""
