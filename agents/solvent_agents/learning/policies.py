"""A policy network shared by all compounds.

The compounds of a lab are exchangeable: relabelling them relabels the best policy. A plain network has to learn
everything eight times. Here one network reads each compound (its part of the observation, the fields of no compound,
and the mean and maximum over all compounds) and returns the logits of that compound's actions (Zaheer et al. 2017,
"Deep Sets"). The actions without a compound, and the value, read the pooled embedding.

Some verbs have 64 variants and others one. A network of zeros would hardly ever rest, calibrate or reflect. So training
starts where every verb is as probable as any other, and the entropy bonus pulls there: it is the negative divergence
from that prior, ``-KL(policy | prior)``, instead of the entropy.

Where a finding names its class, a class head may learn beside the policy what the data say of each compound
(``class_target``). Actor and critic read its belief, and the probability of a finding factorises: that ``m`` is
published at ``q`` is the policy's choice, as which class the class head's.
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


SHARPNESS = 3.0
"""The power of the belief from which training draws a finding's class. Drawn from the belief itself, it would be wrong
more often than the most probable class, which a trained policy names, and the policy would learn to be too modest."""


class ClassHead(nn.Module):
    """A learnt belief: log-probabilities of each compound's classes, shape ``(M, n, G)``."""

    def __init__(self, n_shared: int, n_own: int, width: int, n_classes: int) -> None:
        super().__init__()
        self.tower, self.head = _Tower(n_shared, n_own, width), nn.Linear(width, n_classes)

    def forward(self, shared: Tensor, own: Tensor) -> Tensor:
        return torch.log_softmax(self.head(self.tower(shared, own)[0]), dim=-1)


class CompoundNetwork(nn.Module):
    """Logits of all actions and a latent for the value, from an observation of shape ``(n, n_fields)``."""

    shared_columns: Tensor
    own_columns: Tensor
    places: Tensor

    def __init__(
        self, params: LabParams, width: int, value_width: int, class_width: int | None = None
    ) -> None:
        super().__init__()
        shared, own = compound_columns(params)
        actions = action_table(params)
        without, first = (np.flatnonzero(actions["compound"] == m) for m in (-1, 0))
        # With a class head, findings that differ in the class alone share a logit.
        classes = params.assay.potency_classes if class_width else 1
        named = actions["potency"][first] >= 0 if class_width else np.zeros(len(first), np.bool_)
        # Buffers, which move to the policy's device and stay out of its file.
        self.register_buffer("shared_columns", torch.tensor(shared), persistent=False)
        self.register_buffer("own_columns", torch.tensor(own).flatten(), persistent=False)
        # Where each action is among those without a compound, and those of the first, the second compound and so on.
        blocks = [np.flatnonzero(actions["compound"] == m) for m in range(len(own))]
        written = [without, *(np.concatenate([block[~named], block[named]]) for block in blocks)]
        places = torch.from_numpy(np.argsort(np.concatenate(written)))
        self.register_buffer("places", places, persistent=False)
        self.n_own, self.n_unnamed = len(own[0]), int((~named).sum())
        self.classes = ClassHead(len(shared), self.n_own, class_width, classes) if class_width else None
        n_read = self.n_own + (classes + 1 if class_width else 0)
        self.actor = _Tower(len(shared), n_read, width)
        self.critic = _Tower(len(shared), n_read, value_width)
        self.without = nn.Linear(width, len(without))
        self.each = nn.Linear(width, self.n_unnamed + int(named.sum()) // classes)
        self.latent_dim_pi = len(actions)
        self.latent_dim_vf = 2 * value_width
        prior = log_prior(params)
        findings = prior[first[named]].view(classes, -1).logsumexp(dim=0)
        biases = prior[without], torch.cat([prior[first[~named]], findings])
        for head, bias in zip((self.without, self.each), biases, strict=True):
            nn.init.orthogonal_(head.weight, 0.01)
            head.bias.data = bias

    def forward(self, observation: Tensor) -> tuple[Tensor, Tensor]:
        parts = self._read(observation)
        return self._logits(*parts), self._latent(*parts)

    def forward_actor(self, observation: Tensor) -> Tensor:
        return self._logits(*self._read(observation))

    def forward_critic(self, observation: Tensor) -> Tensor:
        return self._latent(*self._read(observation))

    def class_log_probs(self, observation: Tensor) -> Tensor:
        """Return the class head's belief, log-probabilities of shape ``(M, n, G)``."""
        assert self.classes is not None
        belief: Tensor = self.classes(*self._split(observation))
        return belief

    def _split(self, observation: Tensor) -> tuple[Tensor, Tensor]:
        """Return the columns of no compound, shape ``(n, n_shared)``, and the compounds' own, ``(M, n, n_own)``."""
        shared, own = (observation.index_select(1, each) for each in (self.shared_columns, self.own_columns))
        return shared, own.view(len(own), -1, self.n_own).transpose(0, 1)

    def _read(self, observation: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """Return what actor and critic read and, with a class head, log-probabilities of the class to be named."""
        shared, own = self._split(observation)
        if self.classes is None:
            return shared, own, None
        # The policy reads this belief; rewards must not bend it.
        belief = self.classes(shared, own).detach()
        probs = belief.exp()
        entropy = -(probs * belief).sum(dim=-1, keepdim=True)
        named = torch.log_softmax(SHARPNESS * belief, dim=-1)
        return shared, torch.cat([own, probs, entropy], dim=-1), named

    def _logits(self, shared: Tensor, own: Tensor, named: Tensor | None) -> Tensor:
        each, pooled = self.actor(shared, own)
        logits = self.each(each)
        if named is not None:
            findings = logits[..., None, self.n_unnamed :] + named[..., None]
            logits = torch.cat([logits[..., : self.n_unnamed], findings.flatten(2)], dim=-1)
        blocks = self.without(pooled), logits.transpose(0, 1).flatten(1)
        return torch.cat(blocks, dim=1).index_select(1, self.places)

    def _latent(self, shared: Tensor, own: Tensor, _named: Tensor | None) -> Tensor:
        each, pooled = self.critic(shared, own)
        return torch.cat([each.mean(dim=0), pooled], dim=1)


class _SharedMixin:
    """Replaces the two separate towers by ``CompoundNetwork``, whose logits are those of the action distribution."""

    def __init__(
        self: Any,
        *args: Any,
        lab_params: LabParams,
        width: int = 64,
        value_width: int = 64,
        class_width: int | None = None,
        **kwargs: Any,
    ):
        self.network_arguments = (lab_params, width, value_width, class_width)
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
        # Findings that differ in the class alone are one choice: a belief that is sure costs no entropy.
        self.choices = None
        if params.publication.names_class:
            kept = [str(row) for row in actions[["verb", "compound", "claim", "confidence"]]]
            _, first, choice = np.unique(kept, return_index=True, return_inverse=True)
            self.choices = torch.from_numpy(np.eye(len(first), dtype=np.float32)[choice])
            self.log_prior = self.log_prior[first] + torch.from_numpy(np.bincount(choice)).log()

    def entropy(self) -> Tensor:
        """Return the entropy relative to the prior, nats, shape ``(n,)``: 0 where all verbs are equally probable."""
        probs, logs = self.distribution.probs, self.distribution.logits
        if self.choices is not None:
            probs = probs @ self.choices.to(logs.device)
            logs = probs.clamp_min(torch.finfo(probs.dtype).tiny).log()
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
