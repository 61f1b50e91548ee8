"""An episode is the same in any process, alone or in a vector of any size, also later in a lab's stream."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

EPISODES, SIZES = 3, (1, 3, 8)[:2]


def told(**environment: str) -> Any:
    program = [sys.executable, "-m", "tests.faults.tell_trajectories", str(EPISODES), *map(str, SIZES)]
    env = {**os.environ, **environment}
    done = subprocess.run(program, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_episode_of_every_environment_is_told_alike() -> None:
    first, *others = told(PYTHONHASHSEED="1"), told(PYTHONHASHSEED="4242")
    different, tried = [], 0
    for process in (first, *others):
        for env_id, forms in process.items():
            for form, labs in forms.items():
                for lab, episodes in enumerate(labs):
                    wanted = first[env_id]["single"][lab]
                    assert len(set(wanted)) == EPISODES
                    if episodes is wanted:
                        continue
                    tried += EPISODES
                    pairs = enumerate(zip(episodes, wanted, strict=True))
                    different += [(env_id, form, lab, episode) for episode, (a, b) in pairs if a != b]
    assert different[:5] == []
