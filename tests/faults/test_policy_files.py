"""Policy files from a stranger: refused in a line, or a policy that acts."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load, save

import solvent
from solvent_agents.learning.learned import LearnedAgent
from solvent_agents.learning.networks import build_network, network_arguments
from solvent_agents.learning.policy_file import ABOUT, WEIGHTS, PolicyFileError, save_policy
from tests.faults.tally import Tally, rounds

POLICIES: tuple[tuple[str, str, str, dict[str, Any]], ...] = (
    ("default", "PPO", "SharedPolicy", {"width": 8, "value_width": 8}),
    ("lab", "MaskablePPO", "MlpPolicy", {"net_arch": [16, 8]}),
    ("tiny", "QRDQN", "MlpPolicy", {"net_arch": [16], "n_quantiles": 5}),
)
ZERO = Path("/dev/zero")
RESEALED = ("tensors", "headers", "numbers")


@pytest.fixture(scope="module")
def policies(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folders = []
    for preset, algorithm, policy, sizes in POLICIES:
        params = solvent.preset(preset)
        network = build_network(algorithm, policy, network_arguments(algorithm, policy, sizes), params)
        recipe = {"algorithm": algorithm, "policy": policy, "hyperparameters": {"policy_kwargs": sizes}}
        folders.append(tmp_path_factory.mktemp(preset))
        save_policy(folders[-1], network, recipe, params)
    return folders


@pytest.fixture(scope="module")
def shown() -> list[tuple[Any, Any]]:
    """Observations and masks of the levels."""
    seen = []
    for preset, *_ in POLICIES:
        labs = solvent.LabVectorEnv(8, preset=preset)
        observations, infos = labs.reset(seed=3)
        seen.append((observations, infos["action_mask"]))
    return seen


# -- what is done to a folder ----------------------------------------------------------------------


def some_file(folder: Path, rng: Any) -> Path:
    return folder / str(rng.choice([ABOUT, WEIGHTS]))


def flipped(folder: Path, rng: Any, _: Any) -> None:
    path = some_file(folder, rng)
    content = bytearray(path.read_bytes())
    for bit in rng.integers(0, 8 * len(content), rng.integers(1, 4)):
        content[bit // 8] ^= 1 << (bit % 8)
    path.write_bytes(content)


def cut(folder: Path, rng: Any, _: Any) -> None:
    path = some_file(folder, rng)
    content = path.read_bytes()
    first, last = sorted(rng.integers(0, len(content), 2).tolist())
    parts = (
        content[:first],
        content[first:last],
        content[:first] + content[last:],
        content + content[first:last],
    )
    path.write_bytes(parts[rng.integers(len(parts))])


def others(folder: Path, rng: Any, policies: list[Path]) -> None:
    """A file of another level's policy, or the other file."""
    path, other = some_file(folder, rng), some_file(policies[rng.integers(len(policies))], rng)
    path.write_bytes(other.read_bytes())


def tensors(folder: Path, rng: Any, _: Any) -> None:
    weights = load((folder / WEIGHTS).read_bytes())
    names = sorted(weights)
    one, other = (str(name) for name in rng.choice(names, 2))
    value = weights[one]
    changes: tuple[Callable[[], object], ...] = (
        lambda: weights.update({one: weights[other].clone(), other: value}),
        lambda: weights.update(
            {one: value.to([torch.float64, torch.float16, torch.int64, torch.bool][len(one) % 4])}
        ),
        lambda: weights.update({one: value[:-1].contiguous() if value.ndim else value[None]}),
        lambda: weights.update({one: value.t().contiguous() if value.ndim == 2 else torch.zeros(0)}),
        lambda: weights.update({one: value[None].contiguous()}),
        lambda: weights.pop(one),
        lambda: weights.update({one + "\x1b[31m\n": value.clone()}),
        lambda: weights.update({"x" * 100_000: value.clone()}),
        weights.clear,
    )
    changes[rng.integers(len(changes))]()
    (folder / WEIGHTS).write_bytes(save(weights))


def numbers(folder: Path, rng: Any, _: Any) -> None:
    weights = load((folder / WEIGHTS).read_bytes())
    value = weights[str(rng.choice(sorted(weights)))]
    odd = float(rng.choice([np.nan, np.inf, -np.inf, 3e38, -3e38, 1e30, 1e-45, 0.0, 1e6]))
    if rng.random() < 0.5 and value.ndim:
        value.view(-1)[rng.integers(value.numel())] = odd
    else:
        value.fill_(odd)
        for each in weights.values() if rng.random() < 0.5 else ():
            each.copy_(torch.from_numpy(rng.choice([odd, -odd], each.shape).astype(np.float32)))
    (folder / WEIGHTS).write_bytes(save(weights))


def headers(folder: Path, rng: Any, _: Any) -> None:
    content = (folder / WEIGHTS).read_bytes()
    (size,) = struct.unpack("<Q", content[:8])
    header, data = content[8 : 8 + size], content[8 + size :]
    about = json.loads(header)
    name = str(rng.choice(sorted(about)))
    about[name]["shape"] = [[2**62, 8], [-1], [0], [1] * 1000, "no list"][rng.integers(5)]
    moved = {key: {**value, "data_offsets": [0, 4]} for key, value in json.loads(header).items()}
    headers = (
        json.dumps(about).encode(),
        json.dumps(moved).encode(),
        b"{" + header[1:-1] + b"," + header[1:],  # every key twice
        b"[" * 50_000,
        b'{"a":' * 20_000,
        b"\xff" * 100,
        header.replace(b"F32", bytes(rng.choice([b"F64", b"I32", b"F8_E4M3", b"X99"]))),
        header.replace(b"[", b"[1.5,", 1),
    )
    lengths = (2**60, 2**63, 0, 7, len(content), 100_000_001)
    if (draw := rng.integers(len(headers) + 4)) < len(headers):
        content = struct.pack("<Q", len(headers[draw])) + headers[draw] + data
    else:
        content = struct.pack("<Q", lengths[rng.integers(len(lengths))]) + header + data
    (folder / WEIGHTS).write_bytes(content)


def descriptions(folder: Path, rng: Any, _: Any) -> None:
    """Another JSON value somewhere, keys that are missing, new, or given twice."""
    text = (folder / ABOUT).read_text()
    about = json.loads(text)
    group = (
        about[str(rng.choice(["network", "weights", "layout", "params", "recipe"]))]
        if rng.random() < 0.5
        else about
    )
    key = str(rng.choice(sorted(group)))
    odd = (
        None,
        True,
        -1,
        0,
        1.5,
        10**400,
        2**31,
        "",
        "PPO",
        "\x1b]0;x\x07",
        "y" * 100_000,
        [],
        [[]],
        {},
        {"a": 1},
        "é",
    )
    if (draw := rng.random()) < 0.6:
        group[key] = odd[rng.integers(len(odd))]
    elif draw < 0.7:
        del group[key]
    else:
        group[["", "\x1b[2J", "unknown\n", "k" * 100_000][rng.integers(4)]] = odd[rng.integers(len(odd))]
    written = json.dumps(about)
    if rng.random() < 0.3:
        twice = json.dumps({key: odd[rng.integers(len(odd))]})[1:-1]
        written = (
            text.replace("{", "{" + twice + ",", 1)
            if group is about
            else text.replace('"' + key + '"', twice + ',"' + key + '"', 1)
        )
    (folder / ABOUT).write_text(written)


def deep(folder: Path, rng: Any, _: Any) -> None:
    text = (folder / ABOUT).read_text()
    nested = [
        b"[" * 1_000_000,
        b'{"a":' * 100_000,
        b"[" * 3000 + b"]" * 3000,
        b"9" * 5000,
        b"NaN",
        b"-Infinity",
        b"1e999",
    ]
    value = nested[rng.integers(len(nested))]
    content = text.encode().replace(b'"version": 1', b'"more": ' + value + b', "version": 1')
    (folder / ABOUT).write_bytes(content if rng.random() < 0.8 else value)


def no_file(folder: Path, rng: Any, _: Any) -> None:
    path = some_file(folder, rng)
    path.unlink()
    kinds: list[Callable[[], object]] = [path.mkdir, lambda: None]
    if ZERO.exists():
        kinds += [lambda: os.mkfifo(path), lambda: path.symlink_to(path), lambda: path.symlink_to(ZERO)]
    kinds[rng.integers(len(kinds))]()


ATTACKS = (flipped, cut, others, tensors, numbers, headers, descriptions, deep, no_file)


def sealed(folder: Path) -> None:
    """Give the description length and hash of the weights, as a stranger would."""
    data = (folder / WEIGHTS).read_bytes()
    about = json.loads((folder / ABOUT).read_text())
    about["weights"] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    (folder / ABOUT).write_text(json.dumps(about))


# -- what must hold --------------------------------------------------------------------------------


def problem_of(folder: Path, preset: str, seen: tuple[Any, Any]) -> str:
    """Return what goes wrong with a policy; empty if it is refused in a line or acts."""
    params = solvent.preset(preset)
    try:
        agent = LearnedAgent.load(folder, params)
    except PolicyFileError as error:
        text = str(error)
        whole = "\n" not in text and text.startswith(str(folder)) and len(text) < len(str(folder)) + 400
        return "" if whole else f"refused with {text:.500}"
    actions = agent.act(*seen)
    acts = actions.dtype == np.int64 and actions.shape == (8,) and actions.min() >= 0
    return "" if acts and actions.max() < seen[1].shape[1] else f"acted with {actions}"


def test_a_policy_file_of_a_stranger_is_refused_or_acts(
    policies: list[Path], shown: list[tuple[Any, Any]], tally: Tally, tmp_path: Path
) -> None:
    failures, tried = [], rounds(90, 1800)
    for i in range(tried):
        attack = ATTACKS[i % len(ATTACKS)]
        rng = np.random.default_rng([7, i])
        which = int(rng.integers(len(POLICIES)))
        folder = Path(shutil.copytree(policies[which], tmp_path / str(i)))
        attack(folder, rng, policies)
        if attack.__name__ in RESEALED:
            sealed(folder)
        try:
            problem = problem_of(folder, POLICIES[which][0], shown[which])
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            problem = f"{type(error).__name__}: {error!s:.300}"
        if problem:
            failures.append((i, attack.__name__, problem))
        shutil.rmtree(folder)
    tally("policy files", tried, tried - len(failures))
    assert failures[:5] == []
