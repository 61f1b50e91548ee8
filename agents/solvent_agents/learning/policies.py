"""A policy network shared by all compounds.

The compounds of a lab are exchangeable: relabelling them relabels the best policy. A plain network has to learn
everything eight times. Here one network reads each compound (its part of the observation, the fields of no compound,
and the mean and maximum over all compounds) and returns the logits of that compound's actions (Zaheer et al. 2017,
"Deep Sets"). The actions without a compound, and the value, read the pooled embedding.

Some verbs have 64 variants and others one. A network of zeros would hardly ever rest, calibrate or reflect. So training
starts where every verb is as probable as any other, and the entropy bonus pulls there: it is the negative divergence
from that prior, ``-KL(policy | prior)``, instead of the entropy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from sb3_contrib.common.maskable.distributions import MaskableCategoricalDistribution
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.distributions import CategoricalDistribution
from stable_baselines3.common.policies import ActorCriticPolicy
from torch import Tensor, nn
from torch.optim import Adam

from solvent.lab.actions import action_table
from solvent.lab.observation import observation_fields
from solvent.lab.params import LabParams


def compound_columns(params: LabParams) -> tuple[list[int], list[list[int]]]:
    """Return the observation's columns of no compound and, for each compound, its columns in the same order."""
    compounds = [name.split("/")[0] for name in observation_fields(params)]
    known = params.assay.compounds
    shared = [i for i, name in enumerate(compounds) if name not in known]
    return shared, [[i for i, name in enumerate(compounds) if name == own] for own in known]


def log_prior(params: LabParams) -> Tensor:
    """Return log-probabilities of the actions if every verb is as probable as any other, shape ``(n_actions,)``."""
    verbs = action_table(params)["verb"]
    return -torch.from_numpy(np.bincount(verbs)[verbs] * len(np.unique(verbs))).float().log()


def _layer(each: Tensor, linear: nn.Linear, context: Tensor) -> Tensor:
    """Return ``relu(linear(each) + context)`` for ``each`` of shape ``(M, n, ...)``, as one product added to a sum."""
    weight = linear.weight.t().expand(len(each), -1, -1)
    return torch.baddbmm((context + linear.bias).expand(len(each), -1, -1), each, weight).relu_()


class _Tower(nn.Module):
    """Embeds each compound, and all of them pooled: shapes ``(M, n, width)`` and ``(n, width)``."""

    def __init__(self, n_shared: int, n_own: int, width: int) -> None:
        super().__init__()
        self.own, self.shared = nn.Linear(n_own, width), nn.Linear(n_shared, width)
        self.mix, self.context = nn.Linear(width, width), nn.Linear(2 * width + n_shared, width)

    def forward(self, shared: Tensor, own: Tensor) -> tuple[Tensor, Tensor]:
        first = _layer(own, self.own, self.shared(shared))
        context = self.context(torch.cat([first.mean(dim=0), first.amax(dim=0), shared], dim=1))
        return _layer(first, self.mix, context), torch.relu(context)


class CompoundNetwork(nn.Module):
    """Logits of all actions and a latent for the value, from an observation of shape ``(n, n_fields)``."""

    shared_columns: Tensor
    own_columns: Tensor
    places: Tensor

    def __init__(self, params: LabParams, width: int, value_width: int) -> None:
        super().__init__()
        shared, own = compound_columns(params)
        compounds = action_table(params)["compound"]
        without, first = np.flatnonzero(compounds < 0), np.flatnonzero(compounds == 0)
        # Buffers, which move to the policy's device and stay out of its file.
        self.register_buffer("shared_columns", torch.tensor(shared), persistent=False)
        self.register_buffer("own_columns", torch.tensor(own).flatten(), persistent=False)
        # Where each action is among those without a compound, and those of the first, the second compound and so on.
        written = [without, *(np.flatnonzero(compounds == m) for m in range(len(own)))]
        places = torch.from_numpy(np.argsort(np.concatenate(written)))
        self.register_buffer("places", places, persistent=False)
        self.actor = _Tower(len(shared), len(own[0]), width)
        self.critic = _Tower(len(shared), len(own[0]), value_width)
        self.without, self.each = nn.Linear(width, len(without)), nn.Linear(width, len(first))
        self.latent_dim_pi = len(compounds)
        self.latent_dim_vf = 2 * value_width
        prior = log_prior(params)
        for head, actions in ((self.without, without), (self.each, first)):
            nn.init.orthogonal_(head.weight, 0.01)
            head.bias.data = prior[actions]

    def forward(self, observation: Tensor) -> tuple[Tensor, Tensor]:
        shared, own = self._split(observation)
        return self._logits(shared, own), self._latent(shared, own)

    def forward_actor(self, observation: Tensor) -> Tensor:
        return self._logits(*self._split(observation))

    def forward_critic(self, observation: Tensor) -> Tensor:
        return self._latent(*self._split(observation))

    def _split(self, observation: Tensor) -> tuple[Tensor, Tensor]:
        """Return the columns of no compound, shape ``(n, n_shared)``, and the compounds' own, ``(M, n, n_own)``."""
        shared, own = (observation.index_select(1, each) for each in (self.shared_columns, self.own_columns))
        return shared, own.view(len(own), -1, self.actor.own.in_features).transpose(0, 1)

    def _logits(self, shared: Tensor, own: Tensor) -> Tensor:
        each, pooled = self.actor(shared, own)
        blocks = self.without(pooled), self.each(each).transpose(0, 1).flatten(1)
        return torch.cat(blocks, dim=1).index_select(1, self.places)

    def _latent(self, shared: Tensor, own: Tensor) -> Tensor:
        each, pooled = self.critic(shared, own)
        return torch.cat([each.mean(dim=0), pooled], dim=1)


class _SharedMixin:
    """Replaces the two separate towers by ``CompoundNetwork``, whose logits are those of the action distribution."""

    def __init__(
        self: Any, *args: Any, lab_params: LabParams, width: int = 64, value_width: int = 64, **kwargs: Any
    ):
        self.network_arguments = (lab_params, width, value_width)
        super().__init__(*args, **{**kwargs, "ortho_init": False})  # the network initialises itself

    def _build_mlp_extractor(self: Any) -> None:
        self.mlp_extractor = CompoundNetwork(*self.network_arguments)

    def _build(self: Any, lr_schedule: Any) -> None:
        super()._build(lr_schedule)  # type: ignore[misc]
        self.action_net = nn.Identity()
        self.action_dist = self.distribution_class(self.network_arguments[0])
        options = {"fused": True} if self.optimizer_class is Adam else {}
        options |= self.optimizer_kwargs
        self.optimizer = self.optimizer_class(self.parameters(), lr=lr_schedule(1), **options)


class _ByVerb:
    """Makes a distribution of actions treat verbs alike, however many variants they have."""

    distribution: Any

    def __init__(self, params: LabParams) -> None:
        actions = action_table(params)
        super().__init__(len(actions))  # type: ignore[call-arg]
        self.log_prior = log_prior(params)
        parts = actions["verb"], actions[["verb", "compound"]]
        kinds = [np.unique(part, return_inverse=True)[1] for part in parts]
        self.kinds = [torch.from_numpy(np.eye(kind.max() + 1, dtype=np.float32)[kind]) for kind in kinds]

    def entropy(self) -> Tensor:
        """Return the entropy relative to the prior, nats, shape ``(n,)``: 0 where all verbs are equally probable."""
        probs, logs = self.distribution.probs, self.distribution.logits
        return (probs * (self.log_prior.to(logs.device) - logs)).sum(dim=1)  # type: ignore[no-any-return]

    def mode(self) -> Tensor:
        """Return the most probable action of the most probable verb's most probable compound, shape ``(n,)``.

        The most probable single action would often be one without variants, such as ``rest``, that is seldom drawn.
        """
        left = self.distribution.probs
        for kind in (each.to(left.device) for each in self.kinds):
            left = left * kind.t()[(left @ kind).argmax(dim=1)]
        return left.argmax(dim=1)  # type: ignore[no-any-return]


class _Categorical(_ByVerb, CategoricalDistribution):
    """Draws by inverting the cumulative distribution: one random number per row, not one for each action."""

    def sample(self) -> Tensor:
        cumulative = self.distribution.probs.cumsum(dim=1, dtype=torch.float64)
        drawn = torch.rand_like(cumulative[:, :1]) * cumulative[:, -1:]
        return torch.searchsorted(cumulative, drawn, right=True)[:, 0]


class _MaskableCategorical(_ByVerb, MaskableCategoricalDistribution):
    pass


class SharedPolicy(_SharedMixin, ActorCriticPolicy):  # type: ignore[misc]
    """For A2C, PPO and TRPO."""

    distribution_class = _Categorical


class MaskableSharedPolicy(_SharedMixin, MaskableActorCriticPolicy):  # type: ignore[misc]
    """For MaskablePPO."""

    distribution_class = _MaskableCategorical
