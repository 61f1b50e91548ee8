"""Trajectories depend on the seed alone: not on the process, its hash seed, nor on whether the code was compiled."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

from solvent import ENVIRONMENTS, LabEnv, LabVectorEnv

# Two labs, 45 steps: through three lot changes, refusals, an end and a new episode. Prints one hash of everything told.
PROGRAM = """
import hashlib
import numpy as np
import solvent
from solvent.lab.verbs import Verb

def fold(digest, value):
    if isinstance(value, dict):
        for key in sorted(value):
            digest.update(key.encode())
            fold(digest, value[key])
    elif isinstance(value, np.ndarray) and value.dtype != object:
        digest.update(str(value.dtype).encode() + value.tobytes())
    else:
        digest.update(repr(value.tolist() if isinstance(value, np.ndarray) else value).encode())

digest = hashlib.sha256()
for mode in ("SameStep", "NextStep"):
    labs = solvent.LabVectorEnv(2, autoreset_mode=mode, detailed_info=True)
    fold(digest, labs.reset(seed=2025)[0])
    rng = np.random.default_rng(8)
    events = set()
    for beat in range(45):
        masks = labs.action_masks()
        wanted = [rng.choice(np.flatnonzero(mask)) if beat % 4 else rng.integers(len(mask)) for mask in masks]
        for told in labs.step(np.array(wanted)):
            fold(digest, told)
        fold(digest, labs.get_state())
        events |= set(labs.batch.steps["event"].tolist())
    assert events >= {2, 3, 4, 6}, events  # calibrated, explored, published, refused
    assert (labs.get_state()["episode"] > 0).all()
single = solvent.LabEnv(preset="two_tier")
fold(digest, single.reset(seed=7)[0])
for action in (1, 98, 118, 144, 1, 58):
    fold(digest, single.step(action))

# Where acting costs energy: two labs, three episodes of several actions a heartbeat, with proposals and their reviews.
params = {
    "budget": {"heartbeats": 12},
    "energy": {"start": 10.0, "regeneration": 8.0},
    "proposals": {"evidence_heartbeats": 1, "review_heartbeats": 2, "mispriced_least": 3, "half_trusted": 0.1},
}
for mode in ("SameStep", "NextStep"):
    labs = solvent.LabVectorEnv(2, params, preset="energy", autoreset_mode=mode, detailed_info=True)
    fold(digest, labs.reset(seed=2025)[0])
    rng = np.random.default_rng(4)
    events, reviewed, verbs = set(), False, labs.actions["verb"]
    for _ in range(150):
        wanted = []
        for mask in labs.action_masks().astype(bool):
            able = np.flatnonzero(mask) if rng.random() < 0.5 else np.arange(len(mask))
            verb = 10 if mask[verbs == 10].any() else rng.choice(np.unique(verbs[able]))
            wanted.append(rng.choice(able[verbs[able] == verb]) if verb in verbs[able] else mask.size - 1)
        for told in labs.step(np.array(wanted)):
            fold(digest, told)
        fold(digest, labs.get_state())
        events |= set(labs.batch.steps["event"].tolist())
        reviewed |= bool(labs.batch.steps["reviewed"].any())
    assert events >= {1, 2, 3, 5, 6, 7, 8, 9, 10}, events
    assert reviewed and (labs.get_state()["episode"] > 1).all()

# Where a gate judges: eight labs that publish early, through verdicts of all kinds, decisions and changes of policy.
params = {
    "budget": {"heartbeats": 16},
    "debt": {"threshold": 5.0, "interest_cap": 5.0},
    "gate": {
        "review_heartbeats": 2, "calm_heartbeats": 3, "policy": "adaptive.P5", "governance": True, "numbers": True
    },
    "vocabulary": {"extra": ["baseline", "calibration", "publish_private"]},
}
for mode in ("SameStep", "NextStep"):
    labs = solvent.LabVectorEnv(8, params, preset="gate", autoreset_mode=mode, detailed_info=True)
    fold(digest, labs.reset(seed=2025)[0])
    rng = np.random.default_rng(5)
    table, verdicts, decided, levels = labs.actions, set(), set(), set()
    sober = np.isin(table["claim"], [0.5, 1.0]) | (table["confidence"] < 0.8)
    for _ in range(50):
        wanted = []
        for mask, licence in zip(labs.action_masks(), labs.get_state()["licence"]):
            earned = (table["verb"] < 6) | (licence[table["compound"]] > rng.choice([0.2, 0.6, 1.5]))
            able = np.flatnonzero(mask & sober & earned & (table["verb"] == rng.choice([4, 4, 5, 6, 7])))
            wanted.append(rng.choice(able) if len(able) else 0)
        for told in labs.step(np.array(wanted)):
            fold(digest, told)
        fold(digest, labs.get_state())
        steps = labs.batch.steps
        verdicts |= set(steps["verdict"].tolist())
        levels |= set(steps["strictness"].tolist())
        decided |= {1 for bits in steps["approved"] if bits} | {2 for bits in steps["declined"] if bits}
    assert verdicts == {0, 1, 2, 3} and decided == {1, 2} and len(levels) > 1, (verdicts, decided, levels)
    assert (labs.get_state()["episode"] > 1).all()
lab = solvent.LabEnv(preset="gate")
lab.reset(seed=7)
for action in (98, 144, 108):
    fold(digest, lab.step(action))
digest.update(str([lab.notebook(m) for m in range(8)]).encode())

# Where words are held against evidence: twelve labs that talk, for episodes on end.
params = {
    "budget": {"heartbeats": 14, "wells": 3000},
    "debt": {"threshold": 6.0, "interest_cap": 6.0},
    "energy": {"start": 20.0, "regeneration": 12.0},
    "gate": {"policy": "adaptive.P30", "review_heartbeats": 2, "calm_heartbeats": 3},
    "adequacy": {"reject_from": 4},
}
rules, told = set(), set()
for mode in ("SameStep", "NextStep"):
    labs = solvent.LabVectorEnv(12, params, preset="lab", autoreset_mode=mode, detailed_info=True)
    fold(digest, labs.reset(seed=2025)[0])
    rng, table = np.random.default_rng(6), labs.actions
    says = np.isin(table["verb"], [Verb.PUBLISH_PRIVATE, Verb.PUBLISH_PUBLIC])
    plates = np.isin(table["verb"], [Verb.SCREEN, Verb.DOSE_RESPONSE]) & (table["claim"] == 0.25)
    for _ in range(45):
        wanted = []
        for mask, known in zip(labs.action_masks().astype(bool), labs.get_state()["experiments"]):
            pool = mask & (says & (known[table["compound"]] > 0) if rng.random() < 0.5 else plates)
            wanted.append(rng.choice(np.flatnonzero(pool if pool.any() else mask)))
        outcome = labs.step(np.array(wanted))
        for part in outcome:
            fold(digest, part)
        fold(digest, labs.get_state())
        rules |= set(labs.batch.steps["rule"].tolist())
        told |= outcome[4].keys()
assert len(rules) > 8 and "correction" in told, (rules, told)
single = solvent.LabEnv(params, preset="lab")
single.reset(seed=1)
for action in (98, 58, 98, 118, 1):
    fold(digest, single.step(action))
fold(digest, [single.tool_log(m) for m in range(8)])
print(digest.hexdigest())
"""


def run(**environment):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_compiled_and_plain_python_and_any_hash_seed_agree_to_the_last_bit():
    compiled = run(PYTHONHASHSEED="1")
    assert len(compiled) == 64
    assert run(NUMBA_DISABLE_JIT="1", PYTHONHASHSEED="4242") == compiled


# -- within a process ----------------------------------------------------------------------------


def play(env, actions):
    told = []
    for action in actions % len(env.actions):
        observation, reward, terminated, truncated, info = env.step(action)
        told.append((observation.tobytes(), reward, terminated, truncated, info.get("refusal")))
        if terminated or truncated:
            env.reset()
    return told, env.get_state()


ACTIONS = np.random.default_rng(1).integers(0, 154, 100)


every_preset = pytest.mark.parametrize("preset", [kwargs["preset"] for kwargs in ENVIRONMENTS.values()])


@every_preset
def test_a_seed_is_a_trajectory(preset):
    results = []
    for _ in range(2):
        env = LabEnv(preset=preset)
        env.reset(seed=12)
        results.append(play(env, ACTIONS))
    assert results[0] == results[1]
    env.reset(seed=13)
    assert play(env, ACTIONS) != results[0]


def test_reseeding_forgets_what_was_before():
    fresh, used = LabEnv(), LabEnv()
    used.reset(seed=1)
    play(used, ACTIONS[::-1])
    fresh.reset(seed=12)
    used.reset(seed=12)
    assert play(fresh, ACTIONS) == play(used, ACTIONS)


def test_other_environments_in_the_process_do_not_matter():
    alone = LabEnv()
    alone.reset(seed=12)
    expected = play(alone, ACTIONS)
    env, noise = LabEnv(), LabVectorEnv(5, {"debt": {"threshold": 0.5}})
    env.reset(seed=12)
    noise.reset(seed=12)
    told = []
    for action in ACTIONS:
        noise.step(np.full(5, action))
        np.random.default_rng().random()
        told += play(env, np.array([action]))[0]
    assert (told, env.get_state()) == expected


def test_episodes_of_a_stream_differ_and_come_again():
    def worlds():
        env = LabEnv()
        env.reset(seed=3)
        drawn = [env.get_state()["potency"].tolist()]
        for _ in range(5):
            env.reset()
            drawn.append(env.get_state()["potency"].tolist())
        return drawn

    assert worlds() == worlds()
    assert len({tuple(world) for world in worlds()}) == 6


@pytest.mark.parametrize("seed", [0, 2**31 - 1, 2**32, 2**63, 2**64, 2**200])
def test_any_integer_is_a_seed_of_its_own(seed):
    env = LabEnv()
    env.reset(seed=seed)
    one = env.get_state()["key"]
    env.reset(seed=seed + 1)
    assert env.get_state()["key"] != one


@every_preset
@pytest.mark.parametrize("through", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_continues_identically_and_apart(preset, through):
    env = LabEnv({"debt": {"carry_debt": True}}, preset=preset, detailed_info=True)
    env.reset(seed=12)
    play(env, ACTIONS[:17])
    twin = through(env)
    assert twin.get_state() == env.get_state()
    assert (twin.action_masks() == env.action_masks()).all()
    expected = play(env, ACTIONS[17:])
    assert twin.get_state() != env.get_state()
    assert play(twin, ACTIONS[17:]) == expected
    assert twin.params == env.params
    # Also where the next world is drawn.
    env.reset()
    twin.reset()
    assert twin.get_state() == env.get_state()


def test_a_copy_without_a_seed_draws_the_same_world_next():
    env = LabEnv()
    env.reset()
    twin = copy.deepcopy(env)
    env.reset()
    twin.reset()
    assert twin.get_state() == env.get_state()


def test_equal_states_have_equal_bytes():
    one, other = LabEnv(), LabEnv()
    one.reset(seed=12)
    other.reset(seed=12)
    play(one, ACTIONS[:20])
    play(other, ACTIONS[:20])
    assert one.get_state().tobytes() == other.get_state().tobytes()
    other.set_state(one.get_state())
    assert other.get_state().tobytes() == one.get_state().tobytes()
