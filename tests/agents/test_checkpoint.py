"""Checkpoints that a disk or a kill has damaged: noticed, set aside, and the training ends with the same policy."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load, save

import solvent
from solvent.lab.state import lab_dtype
from solvent_agents.learning.checkpoint import BEFORE, CHECKPOINT, HEAD, MAGIC
from solvent_agents.learning.learned import train
from solvent_agents.learning.recipe import Recipe
from tests.agents.trap import Trap

pytestmark = pytest.mark.slow

PARAMS = solvent.preset("default")
ROLLOUT = 8 * 16  # steps
RECIPE = Recipe.from_mapping(
    "PPO",
    {
        "n_timesteps": 8 * ROLLOUT,
        "n_envs": 8,
        "n_steps": 16,
        "batch_size": 64,
        "n_epochs": 2,
        "policy_kwargs": {"width": 8, "value_width": 8},
    },
)


@pytest.fixture(scope="module", autouse=True)
def often(monkeypatch_module):
    monkeypatch_module.setattr("solvent_agents.learning.learned.CHECKPOINT_EVERY", 2)


@pytest.fixture(scope="module")
def monkeypatch_module():
    with pytest.MonkeyPatch.context() as patch:
        yield patch


@pytest.fixture(scope="module")
def whole(often, tmp_path_factory):
    """The policy of a training that nothing happened to."""
    path = train(RECIPE, PARAMS, seed=3, folder=tmp_path_factory.mktemp("whole"))
    assert path is not None
    return path.read_bytes()


@pytest.fixture(scope="module")
def stopped(often, tmp_path_factory):
    """The folder of one that was stopped in its sixth rollout, with the checkpoints of four and of two."""
    folder = tmp_path_factory.mktemp("stopped")
    calls = iter(range(1000))
    assert train(RECIPE, PARAMS, seed=3, folder=folder, should_stop=lambda: next(calls) > 16 * 5) is None
    assert (folder / CHECKPOINT).exists()
    assert (folder / BEFORE).exists()
    return folder


def cut(path):
    os.truncate(path, path.stat().st_size // 2)


def empty(path):
    path.write_bytes(b"")


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def older(path):
    """As versions before the hash wrote it."""
    path.write_bytes(path.read_bytes()[HEAD:])


def sealed(path, payload):
    path.write_bytes(MAGIC + hashlib.sha256(payload).digest() + payload)


def foreign(path):
    """Whole, but no checkpoint."""
    sealed(path, b"not tensors")


def changed(path, change):
    saved = load(path.read_bytes()[HEAD:])
    change(saved)
    sealed(path, save(saved))


def fewer_labs(path):
    changed(path, lambda saved: saved.update(labs=saved["labs"][: len(saved["labs"]) // 2].clone()))


def other_network(path):
    name = "parameters/policy/mlp_extractor.actor.own.weight"
    changed(path, lambda saved: saved.update({name: saved[name][:-1].clone()}))


def other_moments(path):
    """The compiled step of Adam would read beyond them."""
    name = "parameters/policy.optimizer/0/exp_avg"
    changed(path, lambda saved: saved.update({name: saved[name][:1].clone()}))


def no_labs(path):
    """An instrument that there isn't: the process would end."""

    def change(saved):
        labs = np.frombuffer(bytearray(saved["labs"].numpy().tobytes()), lab_dtype(PARAMS))
        labs["instrument"] = -32768
        saved["labs"] = torch.frombuffer(bytearray(labs.tobytes()), dtype=torch.uint8)

    changed(path, change)


def not_finite(path):
    changed(path, lambda saved: saved["model/_last_obs"].fill_(float("nan")))


def no_numbers(path):
    changed(path, lambda saved: saved.pop("numbers"))


def pickled(path):
    """As versions before wrote it, and as a stranger might: it must not run."""
    buffer = io.BytesIO()
    torch.save({"labs": Trap(path.parent / "sprung")}, buffer)
    sealed(path, buffer.getvalue())


def gone(path):
    """As a kill between the two renames leaves it."""
    path.unlink()


def resume(folder):
    """The policy, where it was gone on from, and what was said of checkpoints."""
    progress: list[int] = []
    incidents: list[str] = []
    path = train(
        RECIPE,
        PARAMS,
        seed=3,
        folder=folder,
        on_progress=lambda done, _total: progress.append(done),
        on_incident=incidents.append,
    )
    assert path is not None
    return path.read_bytes(), progress[0], incidents


def copied(folder, to):
    return Path(shutil.copytree(folder, to / "training"))


def test_an_undamaged_one_is_gone_on_from(whole, stopped, tmp_path):
    folder = copied(stopped, tmp_path)
    assert resume(folder) == (whole, 4 * ROLLOUT, [])
    assert not list(folder.glob("checkpoint*"))


@pytest.mark.parametrize(
    "damage",
    [
        cut,
        empty,
        flip,
        older,
        foreign,
        fewer_labs,
        other_network,
        other_moments,
        no_labs,
        not_finite,
        no_numbers,
        pickled,
        gone,
    ],
    ids=lambda f: f.__name__,
)
def test_a_damaged_one_is_set_aside_and_the_one_before_taken(damage, whole, stopped, tmp_path):
    folder = copied(stopped, tmp_path)
    damage(folder / CHECKPOINT)
    policy, began_at, incidents = resume(folder)
    assert policy == whole
    assert began_at == 2 * ROLLOUT
    assert not (folder / "sprung").exists()
    if damage is gone:
        assert not incidents
    else:
        (said,) = incidents
        assert said.startswith(str(folder / CHECKPOINT))
        assert "set aside as checkpoint.damaged" in said
        assert "\n" not in said
        assert (folder / "checkpoint.damaged").exists()


def test_with_both_damaged_the_training_begins_anew(whole, stopped, tmp_path):
    folder = copied(stopped, tmp_path)
    (folder / "checkpoint.damaged").write_bytes(b"of an earlier fault")
    cut(folder / CHECKPOINT)
    flip(folder / BEFORE)
    policy, began_at, incidents = resume(folder)
    assert policy == whole
    assert began_at == 0
    assert len(incidents) == 2
    assert (folder / "checkpoint.damaged").read_bytes() == b"of an earlier fault"
    assert (folder / "checkpoint.damaged-1").exists()
    assert (folder / "checkpoint-before.damaged").exists()


def test_nothing_else_is_left_when_there_is_no_room(stopped, tmp_path):
    """A real limit on the size of files, since only root can mount a small disk."""
    resource = pytest.importorskip("resource")
    folder = copied(stopped, tmp_path)
    before = {path.name: path.read_bytes() for path in folder.glob("checkpoint*")}
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
    try:
        with pytest.raises(OSError, match=r"checkpoint\.bin") as caught:
            train(RECIPE, PARAMS, seed=3, folder=folder, tensorboard=False)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.filename == str(folder / CHECKPOINT)
    assert {path.name: path.read_bytes() for path in folder.glob("checkpoint*")} == before
