"""Checkpoints of a training: written whole or not at all, and verified before use.

A checkpoint is everything that the policy of an on-policy training depends on: networks, optimisers, random generators,
the labs' records. The logger's running means begin anew. Its file is ``MAGIC``, a SHA-256, and the data it covers, so
data and hash are renamed into place together. The previous checkpoint is kept. A file that does not match its hash or
these labs is set aside under another name; training goes on from the previous checkpoint or from the start. Both end
with the same policy.

The data are tensors in the format of safetensors, and numbers as JSON: reading them runs no code. The hash detects
damage, not tampering: who changes a checkpoint decides how the training goes on.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load, save
from stable_baselines3.common.base_class import BaseAlgorithm
from torch import Tensor

from solvent.outputs import beside
from solvent_agents.learning.sb3 import LabVecEnv

__all__ = ["BEFORE", "CHECKPOINT", "drop_checkpoints", "resumed", "save_checkpoint"]

CHECKPOINT = "checkpoint.bin"
BEFORE = "checkpoint-before.bin"
MAGIC = b"solvent training 2\n"
HEAD = len(MAGIC) + hashlib.sha256().digest_size

NUMBERS = ("num_timesteps", "_n_updates", "_episode_num", "_current_progress_remaining", "multiplier")
ARRAYS = ("_last_obs", "_last_episode_starts", "_costs_so_far")
"""Attributes of an algorithm that its training depends on; those of PPOLagrangian last."""


class _UnusableError(Exception):
    """A checkpoint that can't be resumed; the message says why."""


def save_checkpoint(folder: Path, model: BaseAlgorithm, envs: LabVecEnv) -> None:
    """Write the checkpoint of a training between two rollouts, and keep the previous one."""
    payload = _pack(model, envs)
    last = folder / CHECKPOINT
    with beside(last, MAGIC + hashlib.sha256(payload).digest() + payload) as written:
        if last.exists():
            last.replace(folder / BEFORE)
        written.replace(last)


def resumed(
    begin: Callable[[], BaseAlgorithm], folder: Path, envs: LabVecEnv, on_incident: Callable[[str], None]
) -> BaseAlgorithm | None:
    """Return the training restored from the last usable checkpoint in ``folder``, or None.

    ``begin`` returns the training as it begins. ``on_incident`` receives a line about each checkpoint set aside.
    """
    for path in (folder / CHECKPOINT, folder / BEFORE):
        if path.exists():
            try:
                return _restored(begin(), _read(path, envs), envs)
            except _UnusableError as problem:
                aside = _set_aside(path)
                on_incident(f"{path}: {problem}; it is set aside as {aside.name}")
    return None


def drop_checkpoints(folder: Path) -> None:
    """Remove the checkpoints of a finished training."""
    for name in (CHECKPOINT, BEFORE):
        (folder / name).unlink(missing_ok=True)


def _pack(model: Any, envs: LabVecEnv) -> bytes:
    _, words, *rest = np.random.get_state()  # noqa: NPY002 - the generator that Stable-Baselines3 shuffles with
    numbers = {
        "model": {name: getattr(model, name) for name in NUMBERS if hasattr(model, name)},
        "numpy": rest,
        "python": random.getstate(),
    }
    arrays = {name: getattr(model, name) for name in ARRAYS if hasattr(model, name)}
    tensors = {
        "numbers": _bytes(json.dumps(numbers).encode()),
        "labs": _bytes(envs.labs.get_state().tobytes()),
        "while_blocked": torch.from_numpy(envs.while_blocked.counts.copy()),
        "torch": torch.get_rng_state(),
        "numpy": torch.from_numpy(np.asarray(words, np.int64)),
        **{f"model/{name}": torch.from_numpy(np.array(array)) for name, array in arrays.items()},
        **{f"parameters/{key}": tensor.contiguous() for key, tensor in _parameters(model).items()},
    }
    packed: bytes = save(tensors)
    return packed


def _bytes(content: bytes) -> Tensor:
    return torch.frombuffer(bytearray(content), dtype=torch.uint8)


def _parameters(model: BaseAlgorithm) -> dict[str, Tensor]:
    """Return the tensors of networks and optimisers: ``policy/<name>``, ``policy.optimizer/<parameter>/<name>``."""
    found: dict[str, Tensor] = {}
    for name, state in model.get_parameters().items():
        for key, value in state.get("state", state).items():
            if isinstance(value, Tensor):
                found[f"{name}/{key}"] = value
            else:
                found |= {f"{name}/{key}/{part}": torch.as_tensor(x) for part, x in value.items()}
    return found


def _read(path: Path, envs: LabVecEnv) -> dict[str, Tensor]:
    """Return the saved tensors. Reading changes nothing."""
    if not path.is_file():
        raise _UnusableError("is no file")
    content = path.read_bytes()
    payload = content[HEAD:]
    if not content.startswith(MAGIC) or hashlib.sha256(payload).digest() != content[len(MAGIC) : HEAD]:
        raise _UnusableError(f"damaged, or no checkpoint of this version ({len(content):,} bytes)")
    try:
        saved: dict[str, Tensor] = load(payload)
        size = saved["labs"].numel()
    except Exception as error:  # whole, but not what _pack writes
        raise _UnusableError(
            f"can't be read here ({type(error).__name__}: {str(error).partition(chr(10))[0]})"
        ) from error
    if odd := [key for key, value in saved.items() if not bool(torch.isfinite(value).all())]:
        raise _UnusableError(f"{odd[0]:.60}: not every number is finite")
    if size != envs.labs.batch.labs.nbytes:
        raise _UnusableError(f"has {size:,} bytes of labs, the training {envs.labs.batch.labs.nbytes:,}")
    return saved


def _restored(model: Any, saved: dict[str, Tensor], envs: LabVecEnv) -> BaseAlgorithm:
    """Return the model with everything restored, its labs and the random generators too."""
    try:
        numbers = json.loads(saved["numbers"].numpy().tobytes())
        model.set_parameters(_states(model, saved))
        for name in NUMBERS:
            if name in numbers["model"]:
                setattr(model, name, _number_like(getattr(model, name), name, numbers["model"][name]))
        like = {
            "_last_obs": envs.labs.batch.observations,
            "_last_episode_starts": np.zeros(envs.num_envs, np.bool_),
            "_costs_so_far": np.zeros(envs.num_envs),
        }
        for name in ARRAYS:
            if f"model/{name}" in saved:
                setattr(model, name, _array_like(like[name], name, saved[f"model/{name}"].numpy()))
        envs.labs.set_state(np.frombuffer(saved["labs"].numpy().tobytes(), envs.labs.batch.labs.dtype))
        counts = envs.while_blocked.counts
        counts[:] = _array_like(counts, "while_blocked", saved["while_blocked"].numpy())
        if envs.shaping is not None:
            envs.shaping.continue_from_state()
        torch.set_rng_state(saved["torch"])
        words = saved["numpy"].numpy().astype(np.uint32)
        position, *rest = numbers["numpy"]
        if not 0 <= position <= len(words):  # NumPy would read beyond them
            raise ValueError(f"numpy: got position {position!r:.60}; allowed: 0 to {len(words)}")
        np.random.set_state(("MT19937", words, position, *rest))  # noqa: NPY002
        version, state, gauss = numbers["python"]
        random.setstate((version, tuple(state), gauss))
    except Exception as error:
        raise _UnusableError(
            f"does not fit this training ({type(error).__name__}: {str(error).partition(chr(10))[0]})"
        ) from error
    restored: BaseAlgorithm = model
    return restored


def _number_like(own: Any, name: str, saved: Any) -> Any:
    if type(saved) is not type(own) or not math.isfinite(saved):
        raise ValueError(f"{name}: got {saved!r:.60}; allowed: a finite {type(own).__name__}")
    return saved


def _array_like(own: NDArray[Any], name: str, saved: NDArray[Any]) -> NDArray[Any]:
    if (saved.dtype, saved.shape) != (own.dtype, own.shape):
        raise ValueError(f"{name}: got {saved.dtype} {saved.shape}; allowed: {own.dtype} {own.shape}")
    return saved


def _states(model: BaseAlgorithm, saved: dict[str, Tensor]) -> dict[str, dict[str, Any]]:
    """Return the saved tensors as ``set_parameters`` takes them: those of optimisers by parameter."""
    states: dict[str, dict[str, Any]] = {}
    for name, state in model.get_parameters().items():
        prefix = f"parameters/{name}/"
        mine = {key.removeprefix(prefix): value for key, value in saved.items() if key.startswith(prefix)}
        if "param_groups" not in state:
            states[name] = mine
            continue
        by_parameter: dict[int, dict[str, Tensor]] = {}
        for key, value in mine.items():
            parameter, _, part = key.partition("/")
            by_parameter.setdefault(int(parameter), {})[part] = value
        _check_optimizer(name, attrgetter(name)(model), by_parameter)
        states[name] = {"state": by_parameter, "param_groups": state["param_groups"]}
    return states


def _check_optimizer(name: str, optimizer: Any, saved: dict[int, dict[str, Tensor]]) -> None:
    """Check the saved state of an optimizer. Its compiled step would read beyond tensors of another shape."""
    probes = [torch.zeros_like(each, requires_grad=True) for each in optimizer.param_groups[0]["params"]]
    for probe in probes:
        probe.grad = torch.zeros_like(probe)
    twin = type(optimizer)(probes, **optimizer.defaults)
    twin.step()
    own = [_forms(twin.state[probe]) for probe in probes]
    for parameter, parts in saved.items():
        if _forms(parts) != own[parameter]:
            raise ValueError(f"{name}: got {_forms(parts)}; allowed: {own[parameter]}")


def _forms(parts: dict[str, Any]) -> dict[str, Any]:
    tensors = {key: torch.as_tensor(value) for key, value in parts.items()}
    return {key: (value.dtype, tuple(value.shape)) for key, value in tensors.items()}


def _set_aside(path: Path) -> Path:
    names = (
        path.with_name(f"{path.stem}.damaged{suffix}") for suffix in ("", *(f"-{i}" for i in range(1, 1000)))
    )
    aside = next(name for name in names if not name.exists())
    path.replace(aside)
    return aside
