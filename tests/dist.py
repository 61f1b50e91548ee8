"""Build the distributions, check them, install the wheel alone as a user does, and play a step on every level."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

from solvent import __version__

STEPS = """
import gymnasium, solvent
for name in solvent.ENVIRONMENTS:
    env = gymnasium.make(name)
    env.action_space.seed(0)
    _, info = env.reset(seed=0)
    action = env.action_space.sample(mask=info["action_mask"])
    _, reward, *_ = env.step(action)
    print(f"  {name}: {env.unwrapped.sentence(action)}, {reward:+.3f}")
"""


def run(*command: str, **environment: str) -> None:
    subprocess.run(command, check=True, env={**os.environ, **environment})


if (tag := os.environ.get("TAG")) and tag != f"v{__version__}":
    sys.exit(f"the tag {tag} is not the version; allowed: v{__version__}")
for folder in ("dist", "build/dist"):
    shutil.rmtree(folder, ignore_errors=True)
run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", "dist")
(source,) = Path("dist").glob("*.tar.gz")
pip = ("-m", "pip", "--disable-pip-version-check", "--quiet")
# From the source distribution, so that one is whole.
run(sys.executable, *pip, "wheel", "--no-deps", "--no-build-isolation", "-w", "dist", str(source))
run(sys.executable, "-m", "pytest", "-q", "tests/test_packaging.py", SOLVENT_DIST="dist")
venv.create("build/dist", with_pip=True)
(wheel,) = Path("dist").glob("*.whl")
run("build/dist/bin/python", *pip, "install", str(wheel))
run("build/dist/bin/python", "-I", "-c", STEPS)
for path in (source, wheel):
    print(
        f"{path}  {path.stat().st_size / 1e6:.1f} MB  sha256 {hashlib.sha256(path.read_bytes()).hexdigest()}"
    )
