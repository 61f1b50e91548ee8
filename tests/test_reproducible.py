"""Trajectories depend on the seed alone: not on the process, its hash seed, nor on whether the code was compiled."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from solvent import ENVIRONMENTS

# Three labs that talk, through refusals, ends and new episodes. Prints one hash of everything told.
PROGRAM = """
import hashlib, sys
import numpy as np
from solvent import ENVIRONMENTS, LabEnv, LabVectorEnv
from tests.labs import talk_all

def fold(digest, value):
    if isinstance(value, dict):
        for key in sorted(value):
            digest.update(key.encode())
            fold(digest, value[key])
    elif isinstance(value, np.ndarray) and value.dtype != object:
        digest.update(str(value.dtype).encode() + value.tobytes())
    else:
        digest.update(repr(value.tolist() if isinstance(value, np.ndarray) else value).encode())

digest, about, steps = hashlib.sha256(), ENVIRONMENTS[sys.argv[1]], 45
for mode in ("SameStep", "NextStep"):
    labs = LabVectorEnv(3, {"budget": {"heartbeats": 9}}, **about, autoreset_mode=mode, detailed_info=True)
    fold(digest, labs.reset(seed=2025)[0])
    rng = np.random.default_rng(8)
    for step in range(steps):
        wild = rng.integers(labs.single_action_space.n, size=3)
        for told in labs.step(talk_all(labs, rng) if step % 3 else wild):
            fold(digest, told)
        fold(digest, labs.get_state())
    assert (labs.get_state()["episode"] > 0).all()
lab = LabEnv(**about)
lab.reset(seed=7)
if lab.params.gate.enabled:
    for action in range(60, 64):
        fold(digest, lab.step(action % lab.action_space.n))
    digest.update(str([lab.notebook(m) for m in range(2)]).encode())
    fold(digest, [lab.tool_log(m) for m in range(2)])
print(digest.hexdigest())
"""


def run(env_id, **environment):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM, env_id],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("env_id", ENVIRONMENTS)
def test_plain_python_and_hash_seed_change_no_bit(env_id):
    compiled = run(env_id, PYTHONHASHSEED="1")
    assert len(compiled) == 64
    assert run(env_id, NUMBA_DISABLE_JIT="1", PYTHONHASHSEED="4242") == compiled
