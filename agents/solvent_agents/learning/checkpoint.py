"""Checkpoints of a training: written whole or not at all, and verified before use.

A checkpoint is everything that the rest of an on-policy training depends on: networks, optimiser, random generators,
the labs' records. Its file is ``MAGIC``, a SHA-256, and the data it covers, so data and hash are renamed into
place together. The previous checkpoint is kept. A file that does not match its hash or these labs is set aside under
another name; training goes on from the previous checkpoint or from the start. Both end with the same policy.

The hash detects damage, not tampering: a checkpoint is a pickle, read only from one's own run.
"""

from __future__ import annotations

import hashlib
import io
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from stable_baselines3.common.base_class import BaseAlgorithm

from solvent_agents.learning.files import beside
from solvent_agents.learning.sb3 import LabVecEnv

__all__ = ["BEFORE", "CHECKPOINT", "drop_checkpoints", "resumed", "save_checkpoint"]

CHECKPOINT = "checkpoint.pt"
BEFORE = "checkpoint-before.pt"
MAGIC = b"solvent training\n"
HEAD = len(MAGIC) + hashlib.sha256().digest_size


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
    cls: type[BaseAlgorithm],
    folder: Path,
    envs: LabVecEnv,
    logs: str | None,
    on_incident: Callable[[str], None],
) -> BaseAlgorithm | None:
    """Return the training restored from the last usable checkpoint in ``folder``, or None.

    ``on_incident`` receives a line about each checkpoint set aside.
    """
    for path in (folder / CHECKPOINT, folder / BEFORE):
        if path.exists():
            try:
                return _restored(cls, _read(path, envs), envs, logs)
            except _UnusableError as problem:
                aside = _set_aside(path)
                on_incident(f"{path}: {problem}; it is set aside as {aside.name}")
    return None


def drop_checkpoints(folder: Path) -> None:
    """Remove the checkpoints of a finished training."""
    for name in (CHECKPOINT, BEFORE):
        (folder / name).unlink(missing_ok=True)


def _pack(model: BaseAlgorithm, envs: LabVecEnv) -> bytes:
    zipped = io.BytesIO()
    model.save(zipped)
    buffer = io.BytesIO()
    torch.save(
        {
            "model": zipped.getvalue(),
            "labs": envs.labs.get_state().tobytes(),
            "while_blocked": envs.while_blocked.counts.copy(),
            "torch": torch.get_rng_state(),
            "numpy": np.random.get_state(),  # noqa: NPY002 - the generator that Stable-Baselines3 shuffles with
            "python": random.getstate(),
        },
        buffer,
    )
    return buffer.getvalue()


def _read(path: Path, envs: LabVecEnv) -> dict[str, Any]:
    """Return the saved values. Reading changes nothing."""
    content = path.read_bytes()
    payload = content[HEAD:]
    if not content.startswith(MAGIC) or hashlib.sha256(payload).digest() != content[len(MAGIC) : HEAD]:
        raise _UnusableError(f"damaged, or no checkpoint of this version ({len(content):,} bytes)")
    try:
        saved: dict[str, Any] = torch.load(io.BytesIO(payload), weights_only=False)
        labs = np.frombuffer(saved["labs"], dtype=envs.labs.batch.labs.dtype)
    except Exception as error:  # whole, but of other versions of what is pickled in it
        raise _UnusableError(
            f"can't be read here ({type(error).__name__}: {str(error).partition(chr(10))[0]})"
        ) from error
    if labs.shape != envs.labs.batch.labs.shape:
        raise _UnusableError(f"has {len(labs)} labs, the training {len(envs.labs.batch.labs)}")
    return saved | {"labs": labs}


def _restored(
    cls: type[BaseAlgorithm], saved: dict[str, Any], envs: LabVecEnv, logs: str | None
) -> BaseAlgorithm:
    """Return the model with its labs and random generators restored."""
    try:
        model = cls.load(io.BytesIO(saved["model"]), env=envs, force_reset=False, tensorboard_log=logs)
    except Exception as error:
        raise _UnusableError(f"its model can't be read here ({type(error).__name__}: {error})") from error
    envs.labs.set_state(saved["labs"])
    envs.while_blocked.counts[:] = saved["while_blocked"]
    if envs.shaping is not None:
        envs.shaping.continue_from_state()
    torch.set_rng_state(saved["torch"])
    np.random.set_state(saved["numpy"])  # noqa: NPY002
    random.setstate(saved["python"])
    return model


def _set_aside(path: Path) -> Path:
    names = (
        path.with_name(f"{path.stem}.damaged{suffix}") for suffix in ("", *(f"-{i}" for i in range(1, 1000)))
    )
    aside = next(name for name in names if not name.exists())
    path.replace(aside)
    return aside
