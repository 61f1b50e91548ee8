"""Mutation tests: apply the mistakes of ``mutations.toml`` one at a time, and say which test notices each.

    python -m tests.mutations                        all that no test of ``mutations.json`` noticed yet
    python -m tests.mutations --again                all, from the start
    python -m tests.mutations --only residual meter  those whose names hold one of these words

Each mistake is made in a scratch copy of the tree, where the tests of its module run until one fails: first the
quickest, then wider ones. With ``--record``, ``mutations.json`` keeps the first failing test, or null if all passed. An
entry whose old text was rewritten is ``gone``: its mistake has to be made anew in the new code. Recordings of behaviour
(digests) do not count, since they notice every change, intended or not. Exit code 1 if a mistake is missed or gone.

``requirements/faults_<instrument>.toml`` has a mistake for each requirement that is met, named as the requirement's
test. That test alone runs, and has to notice it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
MUTATIONS = Path(__file__).with_suffix(".toml")
RESULTS = Path(__file__).with_suffix(".json")
REQUIREMENTS = Path(__file__).with_name("requirements")
COPIED = (
    "envs",
    "agents",
    "experiments",
    "tests",
    "configs",
    "benchmarks",
    "examples",
    "tools",
    "docs",
    "notebooks",
)
TIMEOUT = 600  # seconds for one round of tests; a hang counts as noticed
PYTEST = (
    sys.executable,
    "-m",
    "pytest",
    "-x",
    "-q",
    "--no-header",
    "-m",
    "not slow",
    "-p",
    "no:cacheprovider",
)
GONE = "gone"

LAB = """tests/mechanisms/test_{stem}.py
tests/mechanisms
tests/reference
tests/contracts/test_environments.py tests/agents/test_scripts.py tests/test_words.py"""
TESTS = {
    "envs/solvent/lab/": LAB,
    "envs/solvent/debt/": "tests/debt\ntests/test_control.py tests/requirements/test_debt.py\ntests/test_own_agent.py",
    "envs/solvent/energy/": "tests/energy/test_meter.py\ntests/requirements/test_energy.py\ntests/energy/test_store.py",
    "envs/solvent/gate/policy.py": "tests/gate/test_policy.py tests/requirements/test_gate.py\ntests/gate",
    "envs/solvent/gate/": "tests/gate/test_energy.py tests/requirements/test_gate.py\ntests/gate",
    "envs/solvent/adequacy/formats/": "tests/adequacy/test_formats.py",
    "envs/solvent/adequacy/": "tests/adequacy/test_{stem}.py\ntests/requirements/test_adequacy.py\ntests/adequacy",
    "experiments/solvent_experiments/figures/": "tests/experiments/test_figures.py",
    "experiments/solvent_experiments/studies/": "tests/experiments/test_{stem}.py\ntests/experiments/test_studies.py",
    "experiments/solvent_experiments/desk/": "tests/experiments/test_review_desk.py",
    "experiments/solvent_experiments/instruments/proposals.py": "tests/energy/test_proposals_command.py",
    "experiments/solvent_experiments/instruments/": "tests/{stem}/test_*command*.py\ntests/{stem}",
    "experiments/solvent_experiments/leaderboard.py": "tests/experiments/test_summary.py",
    "experiments/solvent_experiments/evaluation.py": "tests/experiments/test_run.py",
    "experiments/solvent_experiments/folder.py": "tests/experiments/test_summary.py tests/experiments/test_run.py",
    "experiments/": "tests/experiments/test_{stem}.py\ntests/experiments",
    "agents/solvent_agents/language/inspect_task.py": "tests/agents/test_language.py",
    "agents/solvent_agents/language/server.py": "tests/agents/test_server.py",
    "agents/solvent_agents/language/": "tests/agents/test_bench.py",
    "agents/solvent_agents/learning/": "tests/agents/test_learning.py",
    "agents/solvent_agents/planning/": "tests/agents/test_planner.py",
    "agents/": "tests/agents/test_{stem}.py tests/agents/test_scripts.py\ntests/agents",
}
"""Start of a file's path -> patterns of its tests, one line per round, the quickest round first."""
PLAIN = ("tests/mechanisms", "tests/reference", "tests/requirements")
"""Tests that run as plain Python, unless the entry says ``compiled = true``."""


def all_mutations() -> dict[str, dict[str, Any]]:
    """Return the mistakes by name; one that breaks a requirement has its only ``test``."""
    mutations = tomllib.loads(MUTATIONS.read_text(encoding="utf-8"))
    for path in sorted(REQUIREMENTS.glob("faults_*.toml")):
        module = f"tests/requirements/test_{path.stem.removeprefix('faults_')}.py"
        for name, fault in tomllib.loads(path.read_text(encoding="utf-8")).items():
            mutations[name] = fault | {"test": f"{module}::{name}"}
    return mutations


def rounds_of(mutation: dict[str, Any]) -> list[list[str]]:
    """Return the test files of each round that exist; those of one round are left out of the next."""
    file = mutation["file"]
    if "test" in mutation:
        return [[mutation["test"]]]
    patterns = next(rounds for start, rounds in TESTS.items() if file.startswith(start))
    done: set[Path] = set()
    rounds = []
    for line in patterns.format(stem=Path(file).stem).splitlines():
        named = [path for pattern in line.split() for path in sorted(ROOT.glob(pattern))]
        files = [test for path in named for test in (sorted(path.rglob("test_*.py")) or [path])]
        rounds.append([test.relative_to(ROOT).as_posix() for test in files if test not in done])
        done.update(files)
    return [paths for paths in rounds if paths]


def first_failure(tree: Path, tests: list[str], *, compiled: bool = False) -> str | None:
    """Return the first test that fails in the tree, or None."""
    # Most need not be compiled: as plain Python their tests take seconds.
    simple = not compiled and all(test.startswith(PLAIN) for test in tests)
    # Two of the reference's labs have every rule, a third the other inflation: enough for a mistake.
    few = (
        ["-k", "step_by_step and (Lab or wrong or two_tier)"]
        if "reference" in tests[0] and "::" not in tests[0]
        else []
    )
    switches = {"CI": "1", "OMP_NUM_THREADS": "1", "NUMBA_DISABLE_JIT": str(int(simple))}
    # For the commands that tests start; pytest itself finds the packages by its own settings.
    switches["PYTHONPATH"] = os.pathsep.join(str(tree / name) for name in ("envs", "agents", "experiments"))
    options = {"cwd": tree, "env": os.environ | switches, "timeout": TIMEOUT}
    try:
        ended = subprocess.run(
            [*PYTEST, *few, *tests], capture_output=True, text=True, check=False, **options
        )
    except subprocess.TimeoutExpired:
        return f"timeout of {tests[0]}"
    if ended.returncode in (0, 5):  # 5: no test collected
        return None
    result = re.search(r"^(?:FAILED|ERROR) ([^\s\[]+)", ended.stdout, re.MULTILINE)
    return result[1] if result else f"exit code {ended.returncode} of {tests[0]}"


def tried(tree: Path, mutation: dict[str, Any]) -> str | None:
    """Make a mistake in the tree, run its tests, and take it back. A test that fails anyway does not count."""
    path = tree / mutation["file"]
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    if text.count(mutation["old"]) != 1:
        return GONE
    compiled = mutation.get("compiled", False)
    for tests in rounds_of(mutation):
        path.write_text(text.replace(mutation["old"], mutation["new"]), encoding="utf-8")
        try:
            test = first_failure(tree, tests, compiled=compiled)
        finally:
            path.write_text(text, encoding="utf-8")
        if "test" in mutation and test != mutation["test"]:
            return None  # a timeout, or a module that can't be imported, is no evidence
        if test is not None and "::" in test and first_failure(tree, [test], compiled=compiled):
            raise SystemExit(f"{test} fails without a mistake, too")
        if test is not None:
            return test
    return None


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutations")
    parser.add_argument(
        "--only", nargs="+", default=[""], metavar="WORD", help="mutations with a word in their name"
    )
    parser.add_argument("--again", action="store_true", help="try those that have a result, too")
    parser.add_argument("--record", action="store_true", help=f"write results to {RESULTS.name} as they come")
    given = parser.parse_args()
    mutations = all_mutations()
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    chosen = [name for name in mutations if any(word in name for word in given.only)]
    if not chosen:
        parser.error(f"--only: no mutation has {' or '.join(given.only)!r:.80} in its name")
    missed = 0
    with tempfile.TemporaryDirectory(prefix="mutations-") as folder:
        tree = Path(folder, "tree")
        unwanted = shutil.ignore_patterns("__pycache__", ".numba_cache")
        for name in COPIED:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, tree / name, ignore=unwanted)
        shutil.copy(ROOT / "pyproject.toml", tree)
        for name in chosen:
            noticed = results.get(name) not in (None, GONE)  # what was missed is tried again
            if noticed and not given.again and given.only == [""]:
                continue
            began = time.monotonic()
            test = tried(tree, mutations[name])
            missed += test in (None, GONE)
            print(f"{name}: {test or 'MISSED'} ({time.monotonic() - began:.0f} s)", flush=True)
            if given.record:
                results[name] = test
                RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return int(missed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
