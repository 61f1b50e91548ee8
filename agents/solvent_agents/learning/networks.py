"""The fixed table of policy networks, by algorithm and policy name.

Recipes and policy files name a network and its sizes, never a class. Only networks of this table are built, and every
size is checked first, so neither can run code from elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from sb3_contrib.qrdqn.policies import QRDQNPolicy
from stable_baselines3.common.policies import ActorCriticPolicy, BasePolicy
from stable_baselines3.dqn.policies import DQNPolicy
from torch import nn

from solvent.lab.actions import action_table
from solvent.lab.observation import observation_space
from solvent.lab.params import LabParams
from solvent.lab.settings import ParamError, nearest
from solvent_agents.learning.policies import MaskableSharedPolicy, SharedPolicy

__all__ = ["PLAIN", "SHARED", "build_network", "constructor_arguments", "network_arguments", "network_of"]

SHARED, PLAIN = "SharedPolicy", "MlpPolicy"
ACTIVATIONS: dict[str, type[nn.Module]] = {"elu": nn.ELU, "relu": nn.ReLU, "tanh": nn.Tanh}
WIDEST, DEEPEST, MOST_QUANTILES = 2048, 8, 200


class Network(NamedTuple):
    """A policy class, and the prefixes of the weights that act or value (without target networks)."""

    policy: type[BasePolicy]
    acting: str = ""


class Argument(NamedTuple):
    """The allowed values of an argument, in words and as a test, and its default."""

    allowed: str
    fits: Callable[[Any], bool]
    default: Any


def _whole(value: Any, high: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= high


def _layers(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) <= DEEPEST and all(_whole(n, WIDEST) for n in value)


def _towers(value: Any) -> bool:
    return isinstance(value, Mapping) and set(value) == {"pi", "vf"} and all(map(_layers, value.values()))


_WIDTH = Argument(f"a whole number, 1 to {WIDEST}", lambda value: _whole(value, WIDEST), 64)
_LAYERS = f"a list of at most {DEEPEST} widths, 1 to {WIDEST}"
_BOTH = Argument(
    f"{_LAYERS}, or {{pi: such a list, vf: such a list}}",
    lambda value: _layers(value) or _towers(value),
    [64, 64],
)
_ONE = Argument(_LAYERS, _layers, [64, 64])
_QUANTILES = Argument(
    f"a whole number, 1 to {MOST_QUANTILES}", lambda value: _whole(value, MOST_QUANTILES), 200
)


def _activation(default: str) -> Argument:
    known = ", ".join(ACTIVATIONS)
    return Argument(known, lambda value: isinstance(value, str) and value in ACTIVATIONS, default)


_TWO_WIDTHS = {"width": _WIDTH, "value_width": _WIDTH}
_ACTOR_CRITIC = {"net_arch": _BOTH, "activation_fn": _activation("tanh")}
_VALUES = {"net_arch": _ONE, "activation_fn": _activation("relu")}

_TABLE: dict[tuple[str, str], tuple[Network, dict[str, Argument]]] = {
    **{
        (algorithm, SHARED): (Network(SharedPolicy), _TWO_WIDTHS)
        for algorithm in ("A2C", "PPO", "PPOLagrangian", "TRPO")
    },
    **{
        (algorithm, PLAIN): (Network(ActorCriticPolicy), _ACTOR_CRITIC)
        for algorithm in ("A2C", "PPO", "PPOLagrangian", "TRPO")
    },
    ("MaskablePPO", SHARED): (Network(MaskableSharedPolicy), _TWO_WIDTHS),
    ("MaskablePPO", PLAIN): (Network(MaskableActorCriticPolicy), _ACTOR_CRITIC),
    ("DQN", PLAIN): (Network(DQNPolicy, "q_net."), _VALUES),
    ("QRDQN", PLAIN): (Network(QRDQNPolicy, "quantile_net."), {**_VALUES, "n_quantiles": _QUANTILES}),
}


def network_of(algorithm: str, policy: str) -> Network:
    """Return the network of an algorithm's policy.

    Raises:
        ParamError: no such network.
    """
    return _entry(algorithm, policy)[0]


def network_arguments(algorithm: str, policy: str, given: Any, path: str = "policy_kwargs") -> dict[str, Any]:
    """Return every argument of a network: the given ones, checked, and defaults.

    Raises:
        ParamError: no such network, an unknown argument, or one that it can't have.
    """
    arguments = _entry(algorithm, policy)[1]
    if not isinstance(given, Mapping):
        raise ParamError(path, f"got {given!r:.60}; allowed: a mapping of {', '.join(arguments)}")
    for key, value in given.items():
        if key not in arguments:
            raise ParamError(f"{path}.{key}", "unknown key" + nearest(str(key), arguments))
        if not arguments[key].fits(value):
            raise ParamError(f"{path}.{key}", f"got {value!r:.60}; allowed: {arguments[key].allowed}")
    return {key: given.get(key, argument.default) for key, argument in arguments.items()}


def constructor_arguments(policy: str, arguments: Mapping[str, Any], params: LabParams) -> dict[str, Any]:
    """Return ``network_arguments`` as the policy's class takes them (Stable-Baselines3's ``policy_kwargs``)."""
    if policy == SHARED:
        return {"lab_params": params, **arguments}
    return {**arguments, "activation_fn": ACTIVATIONS[arguments["activation_fn"]]}


def build_network(algorithm: str, policy: str, arguments: Mapping[str, Any], params: LabParams) -> BasePolicy:
    """Build the network for labs with ``params``; its weights are still to be loaded."""
    from gymnasium.spaces import Discrete

    with torch.random.fork_rng(devices=[]):  # who loads a policy keeps the luck that they had
        network: Any = network_of(algorithm, policy).policy
        built: BasePolicy = network(
            observation_space(params),
            Discrete(len(action_table(params))),
            lambda _remaining: 0.0,
            **constructor_arguments(policy, arguments, params),
        )
    built.set_training_mode(False)
    return built


def _entry(algorithm: str, policy: str) -> tuple[Network, dict[str, Argument]]:
    if (algorithm, policy) in _TABLE:
        return _TABLE[algorithm, policy]
    offered = [name for known, name in _TABLE if known == algorithm]
    if not offered:
        known = sorted({name for name, _ in _TABLE})
        raise ParamError("algorithm", f"got {algorithm!r:.60}; allowed: {', '.join(known)}")
    reason = f"; {SHARED} is for on-policy algorithms" if policy == SHARED else ""
    raise ParamError("policy", f"got {policy!r:.60}; {algorithm} takes {', '.join(offered)}{reason}")
