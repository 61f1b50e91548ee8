"""A policy network shared by all compounds.

The compounds of a lab are exchangeable: relabelling them relabels the best policy. A plain network has to learn
everything eight times. Here one network reads each compound (its part of the observation, the fields of no compound,
and the mean and maximum over all compounds) and returns the logits of that compound's actions (Zaheer et al. 2017,
"Deep Sets"). The actions without a compound, and the value, read the pooled embedding.

Some verbs have 64 variants and others one. A network of zeros would hardly ever rest, calibrate or reflect. So training
starts where every verb is as probable as any other, and the entropy bonus pulls there: it is the negative divergence
from that prior, ``-KL(policy | prior)``, instead of the entropy. (docs/decisions/0042-verbs-alike.md)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sb3_contrib.common.maskable.distributions import MaskableCategoricalDistribution
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.distributions import CategoricalDistribution
from stable_baselines3.common.policies import ActorCriticPolicy
from torch import Tensor, nn
from torch.optim import Adam

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


def log_prior(params: LabParams) -> Tensor:
    """Return log-probabilities of the actions if every verb is as probable as any other, shape ``(n_actions,)``."""
    verbs = action_table(params)["verb"]
    return -torch.from_numpy(np.bincount(verbs)[verbs] * len(np.unique(verbs))).float().log()


def _runs(columns: Sequence[int] | NDArray[np.intp]) -> list[tuple[int, int]]:
    """Return the runs of consecutive columns, each as its first column and its length."""
    runs = np.split(columns, np.flatnonzero(np.diff(columns) != 1) + 1)
    return [(int(run[0]), len(run)) for run in runs]


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
    """Logits of all actions and a latent for the value, from an observation of shape ``(n, n_fields)``.

    Observation and action table list a kind of columns for the first compound, then as many for the second, and so on.
    Such a run is read and written as one block; an index for each column would cost as much as the products.
    """

    def __init__(self, params: LabParams, width: int, value_width: int) -> None:
        super().__init__()
        shared, own = compound_columns(params)
        compounds = action_table(params)["compound"]
        without, first = np.flatnonzero(compounds < 0), np.flatnonzero(compounds == 0)
        self.n_compounds = len(own)
        self.shared_runs, self.own_runs = _runs(shared), _runs(own[0])
        runs = _runs(without), _runs(first)
        self.without_widths, self.each_widths = ([length for _, length in of] for of in runs)
        self.block_order = np.argsort([start for of in runs for start, _ in of])
        self.actor = _Tower(len(shared), len(own[0]), width)
        self.critic = _Tower(len(shared), len(own[0]), value_width)
        self.without, self.each = nn.Linear(width, len(without)), nn.Linear(width, len(first))
        self.latent_dim_pi = len(compounds)
        self.latent_dim_vf = 2 * value_width
        prior = log_prior(params)
        for head, written in ((self.without, without), (self.each, first)):
            nn.init.orthogonal_(head.weight, 0.01)
            head.bias.data = prior[written]

    def forward(self, observation: Tensor) -> tuple[Tensor, Tensor]:
        shared, own = self._split(observation)
        return self._logits(shared, own), self._latent(shared, own)

    def forward_actor(self, observation: Tensor) -> Tensor:
        """Return logits, shape ``(n, n_actions)``."""
        return self._logits(*self._split(observation))

    def forward_critic(self, observation: Tensor) -> Tensor:
        """Return the latent of the value, shape ``(n, 2 * value_width)``."""
        return self._latent(*self._split(observation))

    def _split(self, observation: Tensor) -> tuple[Tensor, Tensor]:
        """Return the columns of no compound, shape ``(n, n_shared)``, and the compounds' own, ``(M, n, n_own)``."""
        m = self.n_compounds
        shared = [observation[:, start : start + length] for start, length in self.shared_runs]
        own = [observation[:, i : i + m * length].reshape(-1, m, length) for i, length in self.own_runs]
        return torch.cat(shared, dim=1), torch.cat(own, dim=2).transpose(0, 1)

    def _logits(self, shared: Tensor, own: Tensor) -> Tensor:
        each, pooled = self.actor(shared, own)
        blocks = [
            *self.without(pooled).split(self.without_widths, dim=1),
            *self.each(each).transpose(0, 1).split(self.each_widths, dim=2),
        ]
        return torch.cat([blocks[i].flatten(1) for i in self.block_order], dim=1)

    def _latent(self, shared: Tensor, own: Tensor) -> Tensor:
        each, pooled = self.critic(shared, own)
        return torch.cat([each.mean(dim=0), pooled], dim=1)


class _SharedMixin:
    """Replaces the two separate towers by ``CompoundNetwork``, whose logits are those of the action distribution."""

    # Typed loosely: the two policy classes that this is mixed into declare narrower types for the same attributes.
    mlp_extractor: Any
    action_net: Any
    distribution_class: Any

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
        self.action_dist = self.distribution_class(self._network_arguments[0])
        fused = {"fused": True} if self.optimizer_class is Adam else {}  # type: ignore[attr-defined]
        self.optimizer = self.optimizer_class(  # type: ignore[attr-defined]
            self.parameters(),  # type: ignore[attr-defined]
            lr=lr_schedule(1),
            **fused,
            **self.optimizer_kwargs,  # type: ignore[attr-defined]
        )

    def _get_constructor_parameters(self) -> dict[str, Any]:
        data: dict[str, Any] = super()._get_constructor_parameters()  # type: ignore[misc]
        lab_params, width, value_width = self._network_arguments
        return {**data, "lab_params": lab_params, "width": width, "value_width": value_width}


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
        relative: Tensor = (probs * (self.log_prior - logs)).sum(dim=1)
        return relative

    def mode(self) -> Tensor:
        """Return the most probable verb, its most probable compound, and of these the most probable action.

        Variants share the probability of a verb. The most probable single action would often be one that has no
        variants, such as ``rest``, and is seldom drawn. Shape ``(n,)``.
        """
        left = self.distribution.probs
        for kind in self.kinds:
            left = left * kind.t()[(left @ kind).argmax(dim=1)]
        chosen: Tensor = left.argmax(dim=1)
        return chosen


class _Categorical(_ByVerb, CategoricalDistribution):
    """A distribution of actions that draws one random number for a row, not one for each action."""

    def sample(self) -> Tensor:
        """Return actions, shape ``(n,)``, by inverting the cumulative distribution."""
        cumulative = self.distribution.probs.cumsum(dim=1, dtype=torch.float64)
        drawn = torch.rand_like(cumulative[:, :1]) * cumulative[:, -1:]
        return torch.searchsorted(cumulative, drawn, right=True)[:, 0]


class _MaskableCategorical(_ByVerb, MaskableCategoricalDistribution):
    """A distribution of actions that would execute."""


class SharedPolicy(_SharedMixin, ActorCriticPolicy):
    """For PPO and A2C."""

    distribution_class = _Categorical


class MaskableSharedPolicy(_SharedMixin, MaskableActorCriticPolicy):
    """For MaskablePPO."""

    distribution_class = _MaskableCategorical
