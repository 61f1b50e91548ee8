"""Compiled code is never older than the rules that it was compiled from, and a cache that fails costs time alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from numba.core.caching import NullCache

from solvent.lab.announcement import ANNOUNCED
from solvent.lab.batch import begin_labs, show_labs, step_labs
from solvent.lab.jit import ContentCacheFile, _Linked, called_rules, loop, rule
from solvent_agents.planning import search

ROOT = Path(__file__).resolve().parent.parent
pytestmark = pytest.mark.skipif("NUMBA_DISABLE_JIT" in os.environ, reason="nothing is compiled")

PLAY = """
import sys, numpy as np
from solvent import LabEnv
env = LabEnv()
env.reset(seed=1)
env.step(1)
print(float(env.get_state()["debt_repaid"]), env.get_state()["wells"])
"""


NOWHERE = """
import numba.core.caching as c
for kind in (c.CacheImpl, c.CompileResultCacheImpl):
    kind._locator_classes = []
"""


def play(*, code=PLAY, sources=ROOT / "envs", **environment):
    """A process of its own; without NUMBA_CACHE_DIR numba caches beside the sources."""
    inherited = {
        name: value for name, value in os.environ.items() if name not in ("NUMBA_CACHE_DIR", ANNOUNCED)
    }
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**inherited, "PYTHONPATH": str(sources), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """A copy of the sources that was played once, and what that run said."""
    folder = tmp_path_factory.mktemp("sources")
    ignored = shutil.ignore_patterns("__pycache__", "energy", "gate", "adequacy")
    shutil.copytree(ROOT / "envs" / "solvent", folder / "solvent", ignore=ignored)
    for name in ("gate", "energy", "adequacy"):  # mechanisms have these names too
        shutil.copy(ROOT / "envs/solvent/lab/mechanisms" / f"{name}.py", folder / "solvent/lab/mechanisms")
    return folder, play(sources=folder)


@pytest.mark.slow
def test_compiling_is_told_once(played):
    folder, first = played
    assert first.stderr.count("solvent: compiling the lab") == 1
    again = play(sources=folder)
    assert (again.stdout, again.stderr) == (first.stdout, "")


ANNOUNCE = "from solvent.lab.jit import _announce; _announce()"
THREE_AT_A_TIME = f"""
import subprocess, sys
from solvent.lab.announcement import share_announcement
share_announcement()
children = [subprocess.Popen([sys.executable, "-c", {ANNOUNCE!r}]) for _ in range(3)]
assert not any(child.wait() for child in children)
{ANNOUNCE}
"""


def test_the_processes_of_a_command_announce_compiling_once(tmp_path):
    run = play(code=THREE_AT_A_TIME, TMPDIR=str(tmp_path))
    assert (run.returncode, run.stderr.count("compiling the lab")) == (0, 1)
    assert "later runs of this level load it from a cache" in run.stderr
    assert not list(tmp_path.iterdir())


def test_a_command_shares_its_announcement_with_its_workers(tmp_path):
    code = "import sys; sys.argv = ['solvent', '--version']\nfrom solvent_experiments.__main__ import main\nmain()"
    paths = os.pathsep.join(str(ROOT / folder) for folder in ("envs", "agents", "experiments"))
    output = (
        "import atexit, os\natexit.register(lambda: print(os.environ['SOLVENT_COMPILATION_ANNOUNCED']))\n"
    )
    run = play(code=output + code, sources=paths, TMPDIR=str(tmp_path))
    assert run.stdout.splitlines()[-1].startswith(str(tmp_path))


def test_two_commands_each_announce_compiling(tmp_path):
    assert all("compiling the lab" in play(code=ANNOUNCE, TMPDIR=str(tmp_path)).stderr for _ in range(2))


def test_without_a_folder_for_temporary_files_compiling_is_announced(tmp_path):
    nowhere = "import tempfile\ndef fails(**_): raise OSError\ntempfile.mkdtemp = fails\n"
    assert play(code=nowhere + ANNOUNCE).stderr.count("compiling the lab") == 1


def test_no_cache_is_promised_where_there_is_none():
    loop = (
        "from solvent.lab.batch import step_labs; from solvent.lab.jit import loop; loop(step_labs.python)\n"
    )
    run = play(code=NOWHERE + loop + ANNOUNCE)
    assert "compiled code is not cached" in run.stderr
    assert run.stderr.splitlines()[-1] == "solvent: compiling the lab, up to a minute"


@pytest.mark.slow
def test_edited_rule_with_an_older_time_runs(played, tmp_path):
    folder, first = played
    shutil.copytree(folder, tmp_path / "copy")
    rule = tmp_path / "copy" / "solvent" / "lab" / "mechanisms" / "assay.py"
    text = rule.read_text(encoding="utf-8")
    rule.write_text(
        text.replace("    lab.wells -= wells\n", "    lab.wells -= wells + 1\n"), encoding="utf-8"
    )
    os.utime(rule, (100, 100))
    edited = play(sources=tmp_path / "copy")
    wells = [int(run.stdout.split()[1]) for run in (first, edited)]
    assert wells[1] == wells[0] - 1


FULL = """
import errno, numba.core.caching as c
def full(*_): raise OSError(errno.ENOSPC, "No space left")
c.IndexDataCacheFile._save_data = full
"""


@pytest.mark.slow
@pytest.mark.parametrize(("broken", "reason"), [(NOWHERE, "no locator available"), (FULL, "No space left")])
def test_cache_that_can_not_be_written_is_one_warning(broken, reason, played, tmp_path):
    _, first = played
    run = play(code=broken + PLAY, NUMBA_CACHE_DIR=str(tmp_path))
    assert run.stdout == first.stdout
    assert run.stderr.count("compiled code is not cached") == run.stderr.count(reason) == 1


# -- two processes, two levels, one cache ----------------------------------------------------------


def test_two_processes_lose_an_entry_at_most(tmp_path):
    """Two caches of one function that both read the index before either has written to it."""
    first, second, after = (ContentCacheFile(str(tmp_path), "step-1.py311", "stamp") for _ in range(3))
    read_before = second._load_index()
    first.save("debt", b"debt's code")
    second._load_index = lambda: read_before or {"other": "entry"}
    second.save("energy", b"energy's code")
    assert after.load("energy") == b"energy's code"
    assert after.load("debt") in (None, b"debt's code")  # forgotten at the worst
    assert len(list(tmp_path.glob("*.nbc"))) == 2


def test_code_of_other_sources_is_dropped(tmp_path):
    for stamp in ("old", "new"):
        ContentCacheFile(str(tmp_path), "step-1.py311", stamp).save("debt", stamp)
    assert len(list(tmp_path.glob("*.nbc"))) == 1
    assert ContentCacheFile(str(tmp_path), "step-1.py311", "new").load("debt") == "new"


@pytest.mark.parametrize("loop", [begin_labs, show_labs, step_labs, search.plan_actions])
def test_every_loop_is_cached_by_content(loop):
    assert isinstance(loop._machine_code._cache._cache_file, ContentCacheFile)


def double(x):
    return 2 * x


def sum_of_doubles(n):
    total = 0
    for i in range(n):
        total += double(i)
    return total


def test_a_rule_is_translated_only_as_a_part_of_its_loop():
    code = loop(sum_of_doubles)
    code._cache = NullCache()
    assert code(4) == 12
    (compiled,) = rule(double).overloads.values()
    assert isinstance(compiled.library, _Linked)


def test_rules_taken_from_a_module_are_found():
    from solvent.lab import dynamics
    from solvent.lab.mechanisms import debt

    assert debt.refuse in set(called_rules(dynamics.advance))


def test_fork_waits_for_a_compilation_in_another_thread():
    code = """
import os, threading
from numba.core.compiler_lock import global_compiler_lock
from solvent import LabEnv
env = LabEnv()
env.reset(seed=0)
holding, forking = threading.Event(), threading.Event()
os.register_at_fork(before=forking.set)  # the latest is called first: before the lab waits for the lock
def hold():
    with global_compiler_lock:
        holding.set()
        forking.wait(60)
threading.Thread(target=hold).start()
holding.wait(60)
child = os.fork()
if child == 0:
    env.step(0)
    os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    run = play(code=code, NUMBA_CACHE_DIR=os.environ["NUMBA_CACHE_DIR"])
    assert run.stdout.strip() == "7", run.stderr
