"""What the lab does: trajectories with infos, pages, logs and tables, single and vector, masked and unmasked."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from solvent import ENVIRONMENTS, preset
from tests.yardstick.digest import Digest, of_log

IDS = {arguments["preset"]: env_id for env_id, arguments in ENVIRONMENTS.items()}
PRESETS = ("default", "energy", "gate", "frontier", "lab", "tiny", "data", "document")
LABS = 64
STEPS = 130
PAGED = 3
LOGS = {
    "epistemic_refusals.jsonl": "ledger_path",
    "cost_discomfort_log.jsonl": "discomfort_path",
    "energy_cost_proposals.jsonl": "proposals_path",
    "gate_verdicts.jsonl": "verdicts_path",
}


def arguments_of(name: str) -> dict[str, Any]:
    """Return the arguments of ``gymnasium.make`` for a preset: its own id, or Debt's with ``preset``."""
    return {"id": IDS[name]} if name in IDS else {"id": IDS["default"], "preset": name}


def choose(table: Any, masks: Any, rng: np.random.Generator) -> Any:
    """Draw an action for each lab: a verb that the mask allows, each equally likely, then one of its actions."""
    of_verb = table["verb"] == np.arange(table["verb"].max() + 1)[:, None]
    open_verbs = (masks[:, None, :] & of_verb).any(axis=2)
    verb = (open_verbs * rng.random(open_verbs.shape)).argmax(axis=1)
    return (masks * of_verb[verb] * rng.random(masks.shape)).argmax(axis=1)


def vector(name: str, *, masked: bool) -> dict[str, Any]:
    """Play labs of one level together; half of them are reset in the step of their end, half in the next one."""
    text = {part: Digest() for part in ("observations", "rewards", "masks", "infos")}
    fields: dict[str, Digest] = {}
    for half, mode in enumerate(("SAME_STEP", "NEXT_STEP")):
        options = {"autoreset_mode": mode, "detailed_info": True}
        labs = gymnasium.make_vec(
            **arguments_of(name), num_envs=LABS // 2, vectorization_mode="vector_entry_point", **options
        ).unwrapped
        rng = np.random.default_rng(half)
        text["observations"].add(labs.reset(seed=half * LABS // 2)[0])
        for _ in range(STEPS):
            masks = labs.action_masks() if masked else np.ones((labs.num_envs, len(labs.actions)), bool)
            observations, rewards, terminated, truncated, infos = labs.step(choose(labs.actions, masks, rng))
            text["observations"].add(observations)
            text["rewards"].add(np.stack([rewards, terminated, truncated]))
            text["masks"].add(labs.action_masks())
            text["infos"].add(infos)
            for field in labs.batch.labs.dtype.names:
                fields.setdefault(field, Digest()).add(np.array(labs.batch.labs[field]))
    parts: dict[str, Any] = {part: str(digest) for part, digest in text.items()}
    return parts | {"fields": {field: str(digest) for field, digest in fields.items()}}


def single(name: str, *, masked: bool) -> dict[str, Any]:
    """Play one episode per seed in the single environment; keep its logs, and the pages of the first episodes."""
    text, pages = Digest(), Digest()
    with tempfile.TemporaryDirectory() as folder:
        paths = {argument: Path(folder, file) for file, argument in LOGS.items()}
        env = gymnasium.make(**arguments_of(name), detailed_info=True, **paths).unwrapped
        if env.params != preset(name):
            raise AssertionError(f"{arguments_of(name)}: its parameters are not those of the preset {name}")
        for seed in range(LABS // 2):
            rng = np.random.default_rng(seed)
            text.add(env.reset(seed=seed))
            ended = False
            while not ended:
                if seed < PAGED and env.params.gate.enabled:
                    pages.add([str(env.notebook(m)) for m in env.params.assay.compounds])
                mask = env.action_masks() if masked else np.ones(len(env.actions), bool)
                outcome = env.step(choose(env.actions, mask[None], rng)[0])
                text.add(outcome)
                ended = outcome[2] or outcome[3]
        logs = {file: of_log(Path(folder, file).read_text(encoding="utf-8").splitlines()) for file in LOGS}
    return {"told": str(text), "pages": str(pages), "logs": logs}


def world(name: str) -> dict[str, Any]:
    """Return everything recorded of one preset."""
    return {
        f"{play.__name__} {'masked' if masked else 'unmasked'}": play(name, masked=masked)
        for play in (vector, single)
        for masked in (True, False)
    }


def worlds() -> dict[str, Any]:
    return {name: world(name) for name in PRESETS}
