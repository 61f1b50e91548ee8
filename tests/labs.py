"""What tests of the lab share: put a lab into a situation, act in it by name, read what it showed and wrote."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from solvent import EpistemicController, LabEnv
from solvent.lab.params import LabParams, preset
from solvent.lab.verbs import Verb

ABOVE = float(np.nextafter(2.0, 3.0))
"""The first debt above the default threshold."""
HEDGED, PLAINLY, DEFINITIVE = 0.5, 0.75, 0.95


ASKED_FOR: dict[str, Any] = {
    "target_type": "action", "target_name": "screen", "current_cost": 4.0, "suggested_min": 2.4, "suggested_max": 3.2,
    "direction": "decrease", "rationale": "deferred in 5 heartbeats", "confidence": 0.71,
    "evidence": [{"source": "heartbeat_3", "summary": "2.1 energy, 4 needed"}], "heartbeat_refs": [3, 5],
    "status": "pending",
}  # fmt: skip
"""A proposal as a lab's ledger has it."""


WITHOUT_INTEREST = LabParams.from_mapping({"debt": {"interest": 0.0}})


def open_lab(
    params: Any = None, base: str | LabParams | None = None, seed: int = 0, **arguments: Any
) -> LabEnv:
    """Return a lab that was reset: a preset with changes, by default Debt without interest."""
    start = preset(base) if isinstance(base, str) else base or WITHOUT_INTEREST
    env = LabEnv(LabParams.from_mapping(params or {}, base=start), **arguments)
    env.reset(seed=seed)
    return env


NOON = 6
"""Heartbeat of 12:00, where acting costs energy."""
ENERGY_NUMBERS = {
    "budget": {"heartbeats": 48},
    "debt": {"interest": 0.0},
    "energy": {"start": 10.0, "regeneration": 10.0, "slots": 6, "leak": 0.0},
    "proposals": {"review_heartbeats": 12, "mispriced_most": 0},
}
"""The numbers that tests of energy and proposals are worked with, whatever the level is tuned to."""


def energy_lab(seed: int = 0, **params: Any) -> LabEnv:
    """Return a lab in which every price is the base cost, unless mispricing is asked for, and nothing leaks."""
    changes = {
        group: {**ENERGY_NUMBERS.get(group, {}), **params.get(group, {})} for group in ENERGY_NUMBERS | params
    }
    return open_lab(changes, "energy", seed, detailed_info=True)


def put(env: LabEnv, compound: Any = slice(None), /, **fields: Any) -> Any:
    """Change fields of the lab's record, of all compounds or of one, and return the record."""
    state = env.get_state()
    for name, value in fields.items():
        if state[name].shape:
            state[name][compound] = value
        else:
            state[name] = value
    env.set_state(state)
    return state


def study(
    env: LabEnv, compound: int = 0, *, screens: int = 0, dose_responses: int = 0, named: int = 4, right: bool = True,
    residual: int = 0, licence: float = 3.0,
) -> None:  # fmt: skip
    """Give a compound a page as so many plates would leave it: a belief, a fit and a residual."""
    classes = env.params.assay.potency_classes
    belief = [0.1 / (classes - 1)] * classes
    belief[named] = 0.9
    plates, truth = screens + dose_responses, named if right else (named + 3) % classes
    put(env, compound, marginal=belief, conditional=belief, coupled=1, named=named, measured_class=named)
    put(env, compound, plates=(screens, dose_responses), experiments=plates, licence=licence, potency=truth)
    if plates:
        put(env, compound, fit_class=named, fit_strength=3, residual=residual)


def in_debt(bits: float, params: LabParams | None = None, **arguments: Any) -> EpistemicController:
    """Return a controller that owes so many bits."""
    controller = EpistemicController(params, **arguments)
    controller.claim_action("owed", "exploration", bits)
    controller.resolve_action("owed", 0.0)
    return controller


def find(env: Any, verb: int, compound: int = 0, **wanted: float) -> int:
    """Return the first action of these columns: ``find(env, Verb.SCREEN, 0, claim=0.5)``."""
    actions = env.unwrapped.actions
    fits = (actions["verb"] == verb) & ((actions["compound"] == compound) | (actions["compound"] < 0))
    for name, value in wanted.items():
        fits &= actions[name] == value
    return int(fits.nonzero()[0][0])


def take(env: LabEnv, verb: int, compound: int = 0, **wanted: float) -> tuple[dict[str, Any], Any, Any]:
    """Take an action; return its info, its step record and the lab's record."""
    *_, info = env.step(find(env, verb, compound, **wanted))
    return info, env.batch.steps[0].copy(), env.get_state()


def argue(env: LabEnv, verb: int, **fields: float) -> tuple[dict[str, Any], Any]:
    """Propose a lower cost of a verb with evidence and these fields of it; return info and the step's record."""
    put(env, verb, discomfort=2, reflected=1, **fields)
    return take(env, Verb.PROPOSE)[:2]


def talk(table: Any, mask: Any, known: Any, rng: np.random.Generator) -> int:
    """Return an action that makes a lab talk.

    Findings about what has a page, plates of a few compounds, and now and then any action, whether it would run or not.
    """
    draw, mask = rng.random(), mask.astype(bool)
    says = table["verb"] == Verb.PUBLISH_PUBLIC
    plates = (table["verb"] == Verb.SCREEN) | (table["verb"] == Verb.DOSE_RESPONSE)
    plates &= mask & ((table["claim"] == 0.25) | (table["claim"] == 1.0))
    if rng.random() < 0.7:
        plates &= table["compound"] < 3
    message = mask & says & (known[table["compound"]] > 0)
    pools = ((0.35, message), (0.8, plates), (0.85, says), (0.97, mask), (1.0, (table["verb"] >= 0)))
    pool = next(pool for limit, pool in pools if draw < limit)
    return int(rng.choice((pool if pool.any() else (table["verb"] >= 0)).nonzero()[0]))


def talk_all(labs: Any, rng: np.random.Generator) -> Any:
    """Return an action of ``talk`` for each lab of a vector."""
    known, masks = labs.get_state()["experiments"], labs.action_masks()
    return np.array([talk(labs.actions, mask, row, rng) for mask, row in zip(masks, known, strict=True)])


def observed(env: Any) -> dict[str, float]:
    """Return the observation by the names of its elements."""
    return dict(zip(env.observation_fields, env.batch.observations[0].tolist(), strict=True))


def lines(path: Path) -> list[Any]:
    """Return the objects in a file of JSON lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def uncoloured(text: str) -> str:
    """Return the text without its colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def one_line(error: Any, *parts: str) -> None:
    """Assert that the error that was raised is one line, says what is allowed, and names ``parts``."""
    text = str(error.value)
    assert "\n" not in text
    assert "allowed: " in text
    assert [part for part in parts if part not in text] == []


def assert_equal(left: Any, right: Any, where: str = "") -> None:
    """Assert the same types, keys and bits at any depth."""
    assert type(left) is type(right), where
    if isinstance(left, dict):
        assert left.keys() == right.keys(), f"{where}: {left.keys() ^ right.keys()}"
        for key in left:
            assert_equal(left[key], right[key], f"{where}/{key}")
    elif isinstance(left, (tuple, list)):
        assert len(left) == len(right), where
        for i, (a, b) in enumerate(zip(left, right, strict=True)):
            assert_equal(a, b, f"{where}[{i}]")
    elif isinstance(left, np.ndarray):
        assert (left.dtype, left.shape) == (right.dtype, right.shape), where
        if left.dtype == object:
            assert_equal(left.tolist(), right.tolist(), where)
        else:
            assert left.tobytes() == right.tobytes(), (where, left, right)
    else:
        assert left == right, where
