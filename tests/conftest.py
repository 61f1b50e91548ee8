"""One setting for all tests: a machine without screen, one thread a process, examples that repeat.

The environment variables are set before anything that reads them is imported, so this file imports
neither numba nor the packages under test.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent
SOURCE_ROOTS = [ROOT / root for root in ("envs", "agents", "experiments")]
LAB = ROOT / "envs" / "solvent" / "lab"
COMPILED = (LAB, LAB / "mechanisms")

os.environ["SDL_VIDEODRIVER"] = "dummy"
os.environ["SDL_AUDIODRIVER"] = "dummy"
os.environ["MPLBACKEND"] = "Agg"
# OpenMP's threads spin while they wait: on a busy machine more of them are many times slower than one.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def compiled_cache() -> Path:
    """The folder of compiled code for the sources as they are now.

    Numba renews a cached function when the file *it* is written in changes, not when a function it calls
    does, in another file: a test would go on exercising the old mechanism inside the new step. A folder
    for each state of the sources can't be stale.
    """
    digest = hashlib.sha256()
    for path in sorted(path for root in SOURCE_ROOTS for path in root.rglob("*.py")):
        source = path.read_bytes()
        # Only files that compiled code can come from count: an edit of a figure recompiles nothing.
        if path.parent in COMPILED or b"lab.compiled" in source:
            digest.update(path.relative_to(ROOT).as_posix().encode())
            digest.update(source)
    return ROOT / ".numba_cache" / digest.hexdigest()[:16]


def drop_caches_unused_for_a_day(keep: Path) -> None:
    for folder in keep.parent.glob("*"):
        if folder != keep and folder.stat().st_mtime < time.time() - 86_400:
            shutil.rmtree(folder, ignore_errors=True)


if "NUMBA_CACHE_DIR" not in os.environ:  # set already in a worker of pytest-xdist, or by hand
    cache = compiled_cache()
    cache.mkdir(parents=True, exist_ok=True)
    cache.touch()
    drop_caches_unused_for_a_day(keep=cache)
    os.environ["NUMBA_CACHE_DIR"] = str(cache)


# No deadline: the first example of a test may compile for seconds. Nor is a slow machine a failure.
PROFILE = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow], "print_blob": True}
settings.register_profile("default", **PROFILE)
settings.register_profile("ci", derandomize=True, **PROFILE)
settings.load_profile("ci" if os.environ.get("CI") else "default")

PLAIN_PYTHON = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


def pytest_report_header() -> str:
    return "mechanisms: " + ("plain Python (NUMBA_DISABLE_JIT)" if PLAIN_PYTHON else "compiled")


def plain_subjects() -> set[str]:
    """What has to hold in plain Python as well: the mechanisms, their draws and the step that orders them."""
    mechanisms = (ROOT / "envs" / "solvent" / "lab" / "mechanisms").glob("[!_]*.py")
    return {path.stem for path in mechanisms} | {"draws", "dynamics", "mechanisms"}


def is_plain(test_file: Path, subjects: set[str]) -> bool:
    """Whether the place says so: ``tests/mechanisms/*``, ``tests/test_debt.py``, ``tests/test_debt_refusal.py``, ..."""
    subject = test_file.stem.removeprefix("test_")
    named = any(subject == name or subject.startswith(f"{name}_") for name in subjects)
    folder = test_file.relative_to(ROOT).parent.parts
    return (named and folder == ("tests",)) or "mechanisms" in folder


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    subjects = plain_subjects()
    for item in items:
        if is_plain(item.path, subjects):
            item.add_marker(pytest.mark.plain)


@pytest.fixture(scope="session", autouse=True)
def one_torch_thread() -> None:
    """For a run where OMP_NUM_THREADS said otherwise. Never imports torch: that costs seconds."""
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)


class Bench:
    """A lab that a test puts into a situation and acts in by name."""

    def __init__(self, params=None, preset="lab", seed=0, **arguments):
        from solvent import LabEnv

        self.env = LabEnv(params, preset=preset, **arguments)
        self.info = self.env.reset(seed=seed)[1]

    def find(self, verb, compound=0, **wanted):
        """The index of an action: ``find(Verb.SCREEN, 0, claim=0.5)``; the first of those that fit."""
        actions = self.env.actions
        fits = (actions["verb"] == verb) & ((actions["compound"] == compound) | (actions["compound"] < 0))
        for name, value in wanted.items():
            fits &= actions[name] == value
        return int(fits.nonzero()[0][0])

    def take(self, verb, compound=0, **wanted):
        """Take an action; its info, its step record and the lab's record."""
        *_, self.info = self.env.step(self.find(verb, compound, **wanted))
        return self.info, self.env.batch.steps[0].copy(), self.env.get_state()

    def put(self, compound=slice(None), **fields):
        """Change fields of the lab's record, of one compound or whole ones, as if it had come so far."""
        state = self.env.get_state()
        for name, value in fields.items():
            if state[name].shape:
                state[name][compound] = value
            else:
                state[name] = value
        self.env.set_state(state)

    def study(self, compound=0, *, screens=0, dose_responses=0, named=4, right=True, gap=0, licence=3.0):
        """Give a compound a page, as if so many plates had left it: a belief, a fit and a residual of ``gap``."""
        classes = self.env.params.assay.potency_classes
        belief = [0.1 / (classes - 1)] * classes
        belief[named] = 0.9
        measured = {"fit_class": named, "fit_strength": 3, "residual": gap, "unsupported": 0}
        self.put(
            compound,
            plates=(screens, dose_responses),
            experiments=screens + dose_responses,
            licence=licence,
            marginal=belief,
            conditional=belief,
            coupled=1,
            named=named,
            potency=named if right else (named + 3) % classes,
            **(measured if screens + dose_responses else {}),
        )

    @staticmethod
    def talk(table, mask, known, rng):
        """Findings about what has a page, plates of a few compounds, now and then anything that would run, or not."""
        from solvent.lab.verbs import Verb

        draw, mask = rng.random(), mask.astype(bool)
        says = (table["verb"] == Verb.PUBLISH_PRIVATE) | (table["verb"] == Verb.PUBLISH_PUBLIC)
        plates = (table["verb"] == Verb.SCREEN) | (table["verb"] == Verb.DOSE_RESPONSE)
        plates &= mask & ((table["claim"] == 0.25) | (table["claim"] == 1.0))
        if rng.random() < 0.7:
            plates &= table["compound"] < 3
        said = mask & says & (known[table["compound"]] > 0)
        pools = ((0.35, said), (0.8, plates), (0.85, says), (0.97, mask), (1.0, (table["verb"] >= 0)))
        pool = next(pool for limit, pool in pools if draw < limit)
        return int(rng.choice((pool if pool.any() else (table["verb"] >= 0)).nonzero()[0]))

    @classmethod
    def play(cls, env, steps, seed=0):
        """Talk; (record before, action, what step returned, record after, step record) of each step, over episodes."""
        import numpy as np

        rng = np.random.default_rng(seed)
        env.reset(seed=seed)
        for _ in range(steps):
            before = env.get_state()
            action = cls.talk(env.actions, env.action_masks(), before["experiments"], rng)
            outcome = env.step(action)
            yield before, action, outcome, env.get_state(), env.batch.steps[0].copy()
            if outcome[2] or outcome[3]:
                env.reset()

    @property
    def seen(self):
        """The observation by the names of its elements."""
        shown = self.env.batch.observations[0].tolist()
        return dict(zip(self.env.observation_fields, shown, strict=True))


@pytest.fixture(scope="session")
def bench() -> type[Bench]:
    """``bench(params, preset=..., seed=...)`` makes one."""
    return Bench
