"""A process that puts corrupted records into labs: ``python -m tests.faults.corrupt_records ENV_ID FIRST LAST``.

Prints a line of JSON before an attempt and one after it, so that whoever reads them knows which attempt killed it.
"""

from __future__ import annotations

import json
import math
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from solvent import ENVIRONMENTS, LabEnv, LabVectorEnv
from solvent.lab.records import _ranges
from tests.labs import talk_all

STEPS = 30
LABS = 24
PATHS = ("ledger_path", "discomfort_path", "proposals_path", "verdicts_path")
REFUSAL = re.compile(r"state(\[\d+\])?: (\w+)(\[[\d, ]+\])?: got .+; allowed: .+")
OTHER_SHAPE = re.compile(r"state: got .* records of \d+ bytes; allowed: .*")


def played(preset: str) -> Any:
    """Records from the middle of episodes, and of some that have ended."""
    labs = LabVectorEnv(LABS, preset=preset)
    labs.reset(seed=11)
    rng = np.random.default_rng(12)
    kept = [labs.get_state()]
    for i in range(60):
        labs.step(talk_all(labs, rng))
        if i % 10 == 9:
            kept.append(labs.get_state())
    return np.concatenate(kept)


# -- what is done to a record --------------------------------------------------------------------


def extreme(record: Any, rng: Any, _: Any, __: Any) -> Any:
    """A field, or one element of it, at the ends of its type, or no number."""
    name = str(rng.choice(record.dtype.names))
    kind = record.dtype[name].base
    if kind.kind == "f":
        ends = [math.nan, math.inf, -math.inf, -1.0, -1e-9, 2.0, 1e9, 1e10, 1e300, -1e300, 5e-324, 0.0]
    elif kind.kind == "b":
        ends = [True, False]
    else:
        info = np.iinfo(kind)
        ends = [info.min, info.max, info.min // 2, info.max // 2, 0, 1, info.max - 1]
    put(record, name, rng, ends[rng.integers(len(ends))])
    return record


def put(record: Any, name: str, rng: Any, value: Any) -> None:
    with np.errstate(over="ignore"):  # 1e300 is infinite in float32
        if record[name].shape and rng.random() < 0.7:
            record[name].flat[rng.integers(record[name].size)] = value
        else:
            record[name] = value


def edge(record: Any, rng: Any, _: Any, params: Any) -> Any:
    """Values at the edge of their range or one beyond, in one field or in several."""
    ranges = _ranges(params)
    for _ in range(rng.choice([1, 1, 2, 5])):
        at = ranges[rng.integers(len(ranges))]
        column = rng.integers(len(at.places))
        bound, away = [(at.low[column], -1), (at.high[column], 1)][rng.integers(2)]
        if rng.random() < 0.3:
            bound = (
                np.nextafter(bound, away * np.inf) if at.kind.kind == "f" else beyond(at.kind, bound, away)
            )
        put(record, at.fields[column], rng, bound)
    return record


def beyond(kind: Any, bound: Any, away: int) -> int:
    """The next integer, where the type has one."""
    following = int(bound) + away
    return following if np.iinfo(kind).min <= following <= np.iinfo(kind).max else int(bound)


def inside(record: Any, rng: Any, _: Any, params: Any) -> Any:
    """Every number of some fields anywhere in its range: allowed one by one, and nothing adds up."""
    chosen = set(
        rng.choice(record.dtype.names, rng.choice([1, 3, 10, len(record.dtype.names)]), replace=False)
    )
    chosen -= {"instrument_belief", "marginal", "conditional"} if rng.random() < 0.8 else set()
    flat = np.frombuffer(bytearray(record.tobytes()), np.uint8)
    for at in _ranges(params):
        values = flat.view(at.kind)
        for place, low, high, name in zip(at.places, at.low, at.high, at.fields, strict=True):
            if name in chosen and at.kind.kind == "f":
                values[place] = rng.choice([low, high, rng.uniform(low, high)])
            elif name in chosen:
                values[place] = int(rng.choice([low, high, low + int(rng.random() * (int(high) - int(low)))]))
    return flat.view(record.dtype)[0]


def noise(record: Any, rng: Any, _: Any, __: Any) -> Any:
    """Random bytes over a field or anywhere, or a few flipped bits."""
    flat = np.frombuffer(bytearray(record.tobytes()), np.uint8)
    name = str(rng.choice(record.dtype.names))
    kind, offset = record.dtype.fields[name][:2]
    if (draw := rng.random()) < 0.4:
        flat[offset : offset + kind.itemsize] = rng.integers(0, 256, kind.itemsize)
    elif draw < 0.6:
        first = rng.integers(len(flat))
        flat[first : first + rng.integers(1, 200)] = rng.integers(0, 256)
    else:
        for bit in rng.integers(0, 8 * len(flat), rng.integers(1, 6)):
            flat[bit // 8] ^= 1 << (bit % 8)
    return flat.view(record.dtype)[0]


def belief(record: Any, rng: Any, _: Any, __: Any) -> Any:
    """Beliefs that are none, or certain, or of something else."""
    name = str(rng.choice(["instrument_belief", "marginal", "conditional"]))
    rows = record[name].reshape(-1, record[name].shape[-1])
    row = rows[rng.integers(len(rows))] if rng.random() < 0.7 else rows
    how = rng.integers(8)
    if how == 0:
        row[...] = 0.0
    elif how == 1:
        row *= rng.choice([0.5, 2.0, 1.0 + 1e-6, -1.0])
    elif how == 2:
        row[...] = rng.permuted(row, axis=-1)
    elif how == 3:
        row[...] = 0.0
        row[..., rng.integers(row.shape[-1])] = 1.0
    elif how == 4:
        row[..., 0] -= 0.5
        row[..., -1] += 0.5
    elif how == 5:
        row[...] = rng.dirichlet(np.full(row.shape[-1], 0.05), row.shape[:-1] or None)
    elif how == 6:
        row[...] = 1e-300
        row[..., 0] = 1.0
    else:
        row[..., rng.integers(row.shape[-1])] = rng.choice([math.nan, -math.inf, math.inf])
    return record


def mixed(record: Any, rng: Any, other: Any, _: Any) -> Any:
    """Some fields of another lab: each was true somewhere."""
    for name in rng.choice(record.dtype.names, rng.integers(1, len(record.dtype.names)), replace=False):
        record[name] = other[name]
    return record


def swapped(record: Any, rng: Any, _: Any, __: Any) -> Any:
    """The contents of two fields of one type and size exchanged, or of two compounds in one field."""
    names = [str(name) for name in rng.permutation(record.dtype.names)]
    for i, one in enumerate(names):
        for other in names[i + 1 :]:
            if record.dtype[one] == record.dtype[other]:
                kept = np.copy(record[one])
                record[one], record[other] = record[other], kept
                return record
    return record


def foreign(record: Any, rng: Any, _: Any, __: Any) -> Any:
    """No record of this lab at all."""
    whole = np.array([record], record.dtype)
    inputs: list[Callable[[], Any]] = [
        lambda: None,
        dict,
        lambda: "state",
        record.tobytes,
        record.tolist,
        lambda: np.zeros(3),
        lambda: np.concatenate([whole, whole, whole, whole]),
        lambda: whole[:0],
        lambda: whole.reshape(1, 1),
        lambda: whole.astype(record.dtype.newbyteorder()),
        lambda: whole.view(np.dtype([("x", "u1", record.dtype.itemsize)])),
        lambda: np.array([record.tolist()], object),
        lambda: whole[[name for name in record.dtype.names if name != "wells"]],
        lambda: np.zeros(1, np.dtype([(name, "f8") for name in record.dtype.names])),
        lambda: [[1], [2, 3]],
    ]
    return inputs[rng.integers(len(inputs))]()


ATTACKS = (extreme, edge, inside, noise, belief, mixed, swapped, foreign)


# -- what must hold ------------------------------------------------------------------------------


def outcome_of(env: Any, state: Any, rng: Any) -> str:
    """Return ``refused`` (by name), ``stepped`` (on, as a lab should), or what went wrong with a state."""
    before = env.get_state().tobytes()
    try:
        env.set_state(state)
    except ValueError as error:
        text = str(error)
        named = REFUSAL.fullmatch(text)
        if isinstance(state, np.void | np.ndarray) and getattr(state, "dtype", None) == env.batch.labs.dtype:
            told = (named is not None and named[2] in env.batch.labs.dtype.names) or OTHER_SHAPE.fullmatch(
                text
            )
        else:
            told = "\n" not in text
        if not told:
            return f"refused with {text!r}"
        return "refused" if env.get_state().tobytes() == before else "refused, and the lab has changed"
    many = isinstance(env, LabVectorEnv)
    over = np.atleast_1d(env.batch.labs["end_reason"] != 0)
    if over.all() and not many:
        env.reset()
    env.render()
    for _ in range(STEPS):
        masks = env.batch.masks.copy()
        actions = np.array([rng.choice(np.flatnonzero(mask)) if rng.random() < 0.7 and mask.any()
                            else rng.integers(len(mask)) for mask in masks])  # fmt: skip
        over = env.batch.labs["end_reason"] != 0
        observation, reward, *ended, _ = env.step(actions if many else int(actions[0]))
        if not np.isfinite(reward).all():
            return f"reward {reward}"
        if not env.observation_space.contains(observation):
            seen = np.atleast_2d(observation)
            bad = np.argwhere(~((seen >= -1) & (seen <= 1)))[0]
            return f"observation {env.observation_fields[bad[1]]} is {seen[tuple(bad)]}"
        steps = env.batch.steps
        allowed = masks[np.arange(len(actions)), actions] != 0
        if (steps["executed"] != allowed)[~over].any():
            return f"the mask was wrong about {env.sentence(int(actions[0]))}"
        if not many and any(ended):
            env.reset()
    env.render()
    if "page" in env.batch.labs.dtype.names and not many:
        for m in range(len(env.params.assay.compounds)):
            env.notebook(m)
    return "stepped"


def main() -> None:
    env_id, first, last = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    preset = ENVIRONMENTS[env_id]["preset"]
    records = played(preset)
    with tempfile.TemporaryDirectory() as folder:
        logs: dict[str, Any] = {path: Path(folder) / path for path in PATHS}
        one = LabEnv(preset=preset, render_mode="ansi", detailed_info=True, **logs)
        three = LabVectorEnv(3, preset=preset, render_mode="ansi", **logs)
        for env in (one, three):
            env.reset(seed=1)
        for i in range(first, last):
            attack = ATTACKS[i % len(ATTACKS)]
            print(json.dumps({"attempt": i, "attack": attack.__name__}), flush=True)
            rng = np.random.default_rng([5, i])
            chosen = records[rng.integers(len(records), size=4)]
            env = three if attack is not foreign and rng.random() < 0.25 else one
            state = attack(chosen[0].copy(), rng, chosen[3], env.params)
            if env is three:
                state = np.array([chosen[1], state, chosen[2]], chosen.dtype)
            print(json.dumps({"outcome": outcome_of(env, state, rng)}), flush=True)


if __name__ == "__main__":
    main()
