"""Policy files: a trained policy as weights and a description, neither of which can run code.

``policy.safetensors`` has the weights by name: those that act, and the value head. ``policy.json`` describes them:
format, algorithm, network and its sizes, the labs' parameters, the recipe, versions of packages, and the weights'
length and SHA-256. The network is built from the table in ``networks``; a file names no class and no module. The hash
detects damage, not tampering, which could produce no more than another policy.

A policy must fit the labs it acts in: the same elements of the observation and the same actions, in the same order.
Other numbers in the rules are allowed, another shape is not.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load as tensors_from
from safetensors.torch import save as bytes_of
from stable_baselines3.common.policies import BasePolicy

from solvent.inputs import read_input, strict_json
from solvent.lab.actions import action_table
from solvent.lab.observation import observation_fields
from solvent.lab.params import LabParams
from solvent.lab.settings import ParamError
from solvent.outputs import beside
from solvent_agents.learning.networks import build_network, network_arguments, network_of

__all__ = [
    "ABOUT",
    "WEIGHTS",
    "LoadedPolicy",
    "PolicyFileError",
    "load_policy",
    "save_policy",
    "weights_path",
]

FORMAT, VERSION = "solvent-policy", 1
WEIGHTS, ABOUT = "policy.safetensors", "policy.json"
LEGACY = "model.zip"  # what versions before policy files wrote
PACKAGES = ("numpy", "safetensors", "sb3-contrib", "solvent-gym", "stable-baselines3", "torch")
LARGEST, LONGEST = 2**28, 2**22  # bytes of weights, of a description
LONGEST_REASON = 300  # characters, however long a name is that a stranger gave


class PolicyFileError(ValueError):
    """A policy file that can't be used. The message is one line: file, what is wrong, what is allowed."""


class LoadedPolicy(NamedTuple):
    """A network with its weights, and what its description says."""

    network: BasePolicy
    algorithm: str
    about: Mapping[str, Any]


def save_policy(folder: Path, network: BasePolicy, recipe: Mapping[str, Any], params: LabParams) -> Path:
    """Write both files into ``folder`` and return the path of the weights, written last."""
    algorithm, policy = recipe["algorithm"], recipe["policy"]
    given = recipe["hyperparameters"].get("policy_kwargs") or {}
    data = bytes_of(_acting(network, network_of(algorithm, policy).acting))
    about = {
        "format": FORMAT,
        "version": VERSION,
        "algorithm": algorithm,
        "policy": policy,
        "network": network_arguments(algorithm, policy, given),
        "weights": {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()},
        "layout": _layout(params),
        "params": params.to_mapping(),
        "recipe": recipe,
        "packages": {
            "python": platform.python_version(),
            **{name: importlib.metadata.version(name) for name in PACKAGES},
        },
    }
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / ABOUT, (json.dumps(about, indent=2) + "\n").encode())
    _write(folder / WEIGHTS, data)
    return folder / WEIGHTS


def weights_path(path: Path) -> Path:
    """Return the weights' file of ``path``: itself, the one beside a description, or the one in a folder."""
    if path.is_dir():
        return path / WEIGHTS
    return path.with_suffix(".safetensors") if path.suffix == ".json" else path


def load_policy(path: Path, params: LabParams) -> LoadedPolicy:
    """Load the policy of ``path`` for labs with ``params``.

    Args:
        path: the weights, with the description beside them under the same name, or a folder with both.
        params: of the labs it acts in.

    Raises:
        PolicyFileError: a file is missing, damaged, of another format, or of labs of another shape.
    """
    path = weights_path(Path(path))
    about_path = path.with_suffix(".json")
    if path.with_name(LEGACY).exists() and (path.name == LEGACY or not path.exists()):
        _fail(
            path.with_name(LEGACY),
            f"is of an earlier version and could run code when loaded; allowed: {WEIGHTS}, by training again",
        )
    data = _read(path, LARGEST)
    about = _described(about_path, _read(about_path, LONGEST))
    _check_data(path, data, about.get("weights"))
    _check_layout(about_path, about.get("layout"), params)
    try:
        arguments = network_arguments(about["algorithm"], about["policy"], about.get("network"), "network")
    except ParamError as error:
        _fail(about_path, str(error))
    network = build_network(about["algorithm"], about["policy"], arguments, params)
    acting = network_of(about["algorithm"], about["policy"]).acting
    weights = _weights(path, data, _acting(network, acting))
    network.load_state_dict({name: value.abs() for name, value in weights.items()}, strict=not acting)
    _check_bound(path, network)
    network.load_state_dict(weights, strict=not acting)
    return LoadedPolicy(network, about["algorithm"], about)


def _acting(network: BasePolicy, prefix: str) -> dict[str, torch.Tensor]:
    """Return the weights by name, as they are saved."""
    weights = network.state_dict().items()
    return {name: value.detach().cpu().contiguous() for name, value in weights if name.startswith(prefix)}


def _layout(params: LabParams) -> dict[str, Any]:
    """Return the sizes of observation and action space and a hash of their meanings, compounds by number."""
    numbers = {name: str(m) for m, name in enumerate(params.assay.compounds)}
    fields = [
        "/".join(numbers.get(part, part) for part in name.split("/")) for name in observation_fields(params)
    ]
    actions = [[str(value) for value in row] for row in action_table(params).tolist()]
    meaning = json.dumps([fields, actions]).encode()
    return {
        "observations": len(fields),
        "actions": len(actions),
        "sha256": hashlib.sha256(meaning).hexdigest(),
    }


def _read(path: Path, most: int) -> bytes:
    try:
        return read_input(path, most)
    except FileNotFoundError:
        _fail(path, f"no such file; allowed: {WEIGHTS} with {ABOUT} beside it, as `solvent run` writes them")
    except OSError as error:
        _fail(path, f"can't be read ({error.strerror}); allowed: a policy file")


def _described(path: Path, data: bytes) -> dict[str, Any]:
    """Return the description, checked for its fields and types."""
    try:
        about = strict_json(data)
    except ValueError as error:
        _fail(path, f"broken JSON ({error})")
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        _fail(path, f'not the description of a policy; allowed: "format": "{FORMAT}"')
    if about.get("version") != VERSION or isinstance(about["version"], bool):
        _fail(path, f"version: got {about.get('version')!r:.60}; allowed: {VERSION}")
    for key in ("algorithm", "policy"):
        if not isinstance(about.get(key), str):
            _fail(path, f"{key}: got {about.get(key)!r:.60}; allowed: a name")
    return about


def _check_data(path: Path, data: bytes, said: Any) -> None:
    """Check that the weights are those of the description."""
    if not isinstance(said, dict) or set(said) != {"bytes", "sha256"}:
        _fail(path.with_suffix(".json"), f"weights: got {said!r:.60}; allowed: bytes and sha256")
    if len(data) != said["bytes"]:
        _fail(
            path, f"has {len(data):,} bytes, {path.stem}.json says {said['bytes']!r:.60}: cut off or replaced"
        )
    if hashlib.sha256(data).hexdigest() != said["sha256"]:
        _fail(path, f"damaged or replaced: its SHA-256 is not that of {path.stem}.json")


def _check_layout(path: Path, said: Any, params: LabParams) -> None:
    """Check that the policy fits the observations and actions of labs with ``params``."""
    ours = _layout(params)
    if not isinstance(said, dict) or set(said) != set(ours):
        _fail(path, f"layout: got {said!r:.60}; allowed: {', '.join(ours)}")
    for key, verb in (("observations", "sees"), ("actions", "chooses among")):
        if said[key] != ours[key]:
            _fail(path, f"the policy {verb} {said[key]!r:.60} {key}, these labs have {ours[key]}")
    if said["sha256"] != ours["sha256"]:
        _fail(
            path,
            "observations or actions mean something else in these labs than where the policy was trained",
        )


def _weights(path: Path, data: bytes, wanted: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return the tensors of the file, checked for the network's names and shapes and for finite values."""
    try:
        found = tensors_from(data)
    except (SafetensorError, ValueError, KeyError) as error:
        _fail(path, f"not in the format safetensors ({error})")
    if odd := sorted(set(found) ^ set(wanted)):
        _fail(
            path, f"{odd[0]}: {'unknown' if odd[0] in found else 'missing'}; allowed: the network's weights"
        )
    for name, value in wanted.items():
        got = found[name]
        if got.shape != value.shape or got.dtype != value.dtype:
            _fail(
                path,
                f"{name}: got {got.dtype} {tuple(got.shape)}; allowed: {value.dtype} {tuple(value.shape)}",
            )
        if not bool(torch.isfinite(got).all()):
            _fail(path, f"{name}: not every weight is a finite number")
    return found


def _check_bound(path: Path, network: BasePolicy) -> None:
    """Check that no observation overflows the network whose weights are, here, replaced by their absolute values.

    Its layers only add, multiply and dampen, so what it makes of ones bounds every number that it could come upon.
    """
    try:
        ones = np.ones((1, *network.observation_space.shape), np.float32)  # type: ignore[misc]
        network.predict(ones, deterministic=True)  # draws nothing
    except ValueError:  # logits that are infinite or none
        _fail(
            path, "weights so large that the probabilities of actions overflow; allowed: a trained network's"
        )


def _fail(path: Path, problem: str) -> NoReturn:
    raise PolicyFileError(" ".join(f"{path}: {problem:.{LONGEST_REASON}}".split())) from None


def _write(path: Path, content: bytes) -> None:
    with beside(path, content) as written:
        written.replace(path)
