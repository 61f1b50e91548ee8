"""Compiled code must never be older than the rules that it was compiled from."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from numba.core.caching import IndexDataCacheFile

from solvent import LabVectorEnv
from solvent.lab import dynamics
from solvent.lab.batch import begin_labs
from solvent.lab.compiled import ContentNamedCacheFile, drop_stale_cache
from solvent.lab.dynamics import begin_episode

PLAIN_PYTHON = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


def test_compiled_code_older_than_a_source_is_dropped_and_younger_is_kept(tmp_path):
    source, cached = tmp_path / "rule.py", tmp_path / "__pycache__" / "step.nbi"
    cached.parent.mkdir()
    source.write_text("")
    cached.write_text("")
    os.utime(source, (100, 100))
    os.utime(cached, (200, 200))
    assert drop_stale_cache(tmp_path) == 0
    assert cached.exists()
    os.utime(source, (300, 300))
    assert drop_stale_cache(tmp_path) == 1
    assert not cached.exists()


def test_compiled_code_older_than_another_package_is_dropped(tmp_path):
    cached, other = tmp_path / "agents" / "script.nbi", tmp_path / "rules" / "rule.py"
    for path in (cached, other, cached.with_suffix(".py")):
        path.parent.mkdir(exist_ok=True)
        path.write_text("")
    os.utime(cached.with_suffix(".py"), (100, 100))
    os.utime(cached, (200, 200))
    os.utime(other, (300, 300))
    assert drop_stale_cache(cached.parent) == 0
    assert drop_stale_cache(cached.parent, other.parent) == 1


def test_what_is_drawn_or_read_is_not_compiled_and_drops_nothing(tmp_path):
    cached, rule, picture = (
        tmp_path / "step.nbi",
        tmp_path / "mechanisms" / "rule.py",
        tmp_path / "rendering" / "picture.py",
    )
    for path in (cached, rule, picture):
        path.parent.mkdir(exist_ok=True)
        path.write_text("")
    os.utime(rule, (100, 100))
    os.utime(cached, (200, 200))
    os.utime(picture, (300, 300))
    assert drop_stale_cache(tmp_path) == 0
    os.utime(rule, (300, 300))
    assert drop_stale_cache(tmp_path) == 1


def test_a_package_that_was_never_compiled_has_nothing_to_drop(tmp_path):
    (tmp_path / "rule.py").write_text("")
    assert drop_stale_cache(tmp_path) == 0


# -- two processes, two levels, one cache ----------------------------------------------------------


def racing(kind, folder):
    """Two caches of one function that both read the index before either has written to it, as two processes do."""
    first, second = (kind(str(folder), "step-1.py311", "stamp") for _ in range(2))
    read_before = second._load_index()
    first.save("debt", b"debt's code")
    second._load_index = lambda: read_before
    second.save("energy", b"energy's code")
    return kind(str(folder), "step-1.py311", "stamp")


def test_numbered_files_lead_one_level_to_the_others_code(tmp_path):
    """Why numba's own cache is not enough. Where this fails, it has become so, and ours can go."""
    racing(IndexDataCacheFile, tmp_path)
    assert [path.name for path in tmp_path.glob("*.nbc")] == [
        "step-1.py311.1.nbc"
    ]  # two signatures, one file


def test_named_files_never_do(tmp_path):
    after = racing(ContentNamedCacheFile, tmp_path)
    assert after.load("energy") == b"energy's code"
    assert after.load("debt") in (None, b"debt's code")  # forgotten at the worst
    assert len(list(tmp_path.glob("*.nbc"))) == 2


def test_code_of_other_sources_has_another_name(tmp_path):
    for stamp in ("old", "new"):
        ContentNamedCacheFile(str(tmp_path), "step-1.py311", stamp).save("debt", stamp)
    assert len(list(tmp_path.glob("*.nbc"))) == 2
    assert ContentNamedCacheFile(str(tmp_path), "step-1.py311", "new").load("debt") == "new"


@pytest.mark.skipif(PLAIN_PYTHON, reason="nothing is compiled")
def test_everything_that_is_compiled_is_cached_so():
    found = [value.whole for value in vars(dynamics).values() if hasattr(value, "whole")]
    assert len(found) > 30
    assert all(isinstance(value._cache._cache_file, ContentNamedCacheFile) for value in found)


@pytest.mark.skipif(PLAIN_PYTHON, reason="nothing is compiled")
def test_only_what_python_calls_is_translated():
    """The rules of a step are linked into it and nowhere translated by themselves."""
    LabVectorEnv(2, preset="tiny").reset(seed=0)
    assert begin_labs.whole.overloads
    assert not begin_episode.whole.overloads


@pytest.mark.slow
@pytest.mark.skipif(PLAIN_PYTHON, reason="nothing is compiled")
def test_a_plain_script_is_told_of_a_long_compilation_once_and_of_a_cached_one_never(tmp_path):
    script = "from solvent import LabEnv; env = LabEnv(preset='tiny'); env.reset(seed=0); env.step(0)"
    surroundings = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    told = [
        subprocess.run(
            [sys.executable, "-c", script], env=surroundings, capture_output=True, text=True, check=True
        )
        for _ in range(2)
    ]
    assert [run.stderr.count("solvent: compiling the lab") for run in told] == [1, 0]
    assert told[0].stderr.count("\n") == 1
    assert told[0].stdout == told[1].stdout == told[1].stderr == ""


PLAY = """
import hashlib, sys, numpy as np
from solvent import LabVectorEnv
for level in sys.argv[1:]:
    envs = LabVectorEnv(2, preset=level)
    observations, _ = envs.reset(seed=1)
    seen = hashlib.sha256(observations.tobytes())
    for action in (3, 5, 1, 0):
        observations, *_ = envs.step(np.array([action, action]))
        seen.update(observations.tobytes())
    print(level, seen.hexdigest())
"""


def start(*levels, **environment):
    """A process of its own that plays these levels."""
    return subprocess.Popen(
        [sys.executable, "-c", PLAY, *levels],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
@pytest.mark.skipif(PLAIN_PYTHON, reason="nothing is compiled")
def test_two_processes_that_compile_two_levels_at_once_spoil_nothing_for_a_third(tmp_path):
    """Numba names a record in a compiled symbol by a number of its own process, so two levels had one name."""
    levels, cache = ("default", "tiny"), {"NUMBA_CACHE_DIR": str(tmp_path)}
    told = start(*levels, NUMBA_DISABLE_JIT="1").communicate()[0]
    assert [line.split()[0] for line in told.splitlines()] == list(levels)
    side_by_side = [start(level, **cache) for level in levels]
    assert "".join(process.communicate()[0] for process in side_by_side) == told
    compiled = len(list(tmp_path.rglob("*.nbc")))
    assert start(*levels, **cache).communicate()[0] == told
    # The third compiles nothing but what one of the two forgot as both wrote to the index.
    assert len(list(tmp_path.rglob("*.nbc"))) < 1.2 * compiled
