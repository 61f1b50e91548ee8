"""Trajectories depend on the seed alone: not on the process, its hash seed, nor on whether the code was compiled."""

from __future__ import annotations

import pytest

from solvent import ENVIRONMENTS
from tests.commands import execute_python

# Three labs that talk, through refusals, ends and new episodes, and an episode of the honest script. Prints one hash of
# everything told. A whole survey takes minutes as plain Python, so the script's has few plates.
PROGRAM = """
import functools, sys
import numpy as np
from solvent import ENVIRONMENTS, LabEnv, LabVectorEnv
from solvent_agents import episodes
from solvent_agents.scripts import honest
from tests.labs import talk_all
from tests.yardstick.digest import Digest

digest, about = Digest(), ENVIRONMENTS[sys.argv[1]]
for mode in ("SameStep", "NextStep"):
    labs = LabVectorEnv(3, {"budget": {"heartbeats": 9}}, **about, autoreset_mode=mode, detailed_info=True)
    digest.add(labs.reset(seed=2025)[0])
    rng = np.random.default_rng(8)
    for step in range(45):
        wild = rng.integers(labs.single_action_space.n, size=3)
        digest.add(labs.step(talk_all(labs, rng) if step % 3 else wild))
        digest.add(labs.get_state())
    assert (labs.get_state()["episode"] > 0).all()
lab = LabEnv(**about)
lab.reset(seed=7)
if lab.params.gate.enabled:
    for action in range(60, 64):
        digest.add(lab.step(action % lab.action_space.n))
    digest.add([str(lab.notebook(m)) for m in range(2)])
honest.survey = functools.partial(honest.survey, plates=300)
digest.add(episodes(honest.Honest(labs.params), labs.params, [5]))
print(digest)
"""


def run(env_id: str, **environment: str) -> str:
    return execute_python(PROGRAM, env_id, flags=("-W", "error"), env=environment, timeout=600).succeeded()


@pytest.mark.parametrize("env_id", ENVIRONMENTS)
def test_plain_python_and_hash_seed_change_no_bit(env_id):
    compiled = run(env_id, PYTHONHASHSEED="1")
    assert run(env_id, NUMBA_DISABLE_JIT="1", PYTHONHASHSEED="4242") == compiled
