"""Digests of what the world does: trajectories, what a lab shows and logs, what a run leaves behind.

``tests/digests.json`` keeps them. A change that should leave the behaviour alone leaves them equal. After one that
should not, write them again, with the folders of finished smoke runs:

    python -m tests.digests smoke=runs/smoke smoke_energy=runs/smoke_energy ...
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from solvent import ENVIRONMENTS, preset
from solvent.lab.params import PRESETS
from solvent_agents import rollout
from solvent_agents.learning.learned import LearnedAgent
from solvent_agents.learning.shipped import shipped_policies
from solvent_agents.registry import AGENTS, PLAYERS

KEPT = Path(__file__).with_suffix(".json")
SEEDS = 200
STEPS = 130
NOTEBOOK_SEEDS = 4
PLAYED = 32
DEBT, LAB, TINY = "Solvent/Debt-v0", "Solvent/Lab-v0", "Solvent/Tiny-v0"
LOGS = (
    "epistemic_refusals.jsonl",
    "cost_discomfort_log.jsonl",
    "energy_cost_proposals.jsonl",
    "gate_verdicts.jsonl",
)
LATER = {"debt_interest", "energy_leaked", "blocked_by_reserve"}
"""Names added since version 1, left out so that its digests stay those of its time."""
PATHS = ("ledger_path", "discomfort_path", "proposals_path", "verdicts_path")


class Digest:
    """A running hash of arrays, texts and nested dictionaries."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def add(self, value: Any) -> None:
        if isinstance(value, dict):
            for key in sorted(value):
                if key.removeprefix("_") not in LATER:
                    self.add(key)
                    self.add(value[key])
        elif isinstance(value, np.ndarray) and value.dtype != object:
            self._hash.update(str(value.dtype).encode() + np.ascontiguousarray(value).tobytes())
        elif isinstance(value, np.ndarray):
            self.add(value.tolist())
        elif isinstance(value, (list, tuple)):
            for item in value:
                self.add(item)
        else:
            self._hash.update(repr(value).encode())

    def __str__(self) -> str:
        return self._hash.hexdigest()[:32]


class FieldDigests:
    """A short hash of each field of records, in no order: neither the fields' order nor their names count."""

    def __init__(self) -> None:
        self._fields: dict[str, Digest] = {}

    def add(self, records: Any) -> None:
        for name in records.dtype.names:
            self._fields.setdefault(name, Digest()).add(np.array(records[name]))

    def __str__(self) -> str:
        return " ".join(sorted(str(field)[:10] for field in self._fields.values()))


def done(steps: Any) -> Any:
    """Step records without what an earlier step left in fields that this one had nothing to say in."""
    if "proposed_verb" not in steps.dtype.names:
        return steps
    steps = steps.copy()
    silent = steps["proposed_verb"] < 0
    for name in ("proposed_price", "proposed_low", "proposed_high", "evidence"):
        steps[name][silent] = 0
    for name in ("old_price", "new_price"):
        steps[name][steps["reviewed"] == 0] = 0
    return steps


def choose(table: Any, masks: Any, rng: np.random.Generator) -> Any:
    """An action for each lab: a verb that the mask allows, each equally likely, then one of its actions."""
    verbs = np.arange(table["verb"].max() + 1)
    of_verb = table["verb"] == verbs[:, None]
    open_verbs = (masks[:, None, :] & of_verb).any(axis=2)
    verb = (open_verbs * rng.random(open_verbs.shape)).argmax(axis=1)
    return (masks * of_verb[verb] * rng.random(masks.shape)).argmax(axis=1)


def vector(preset_name: str, *, masked: bool) -> dict[str, str]:
    """200 labs of one level, stepped together; half of the play begins anew in the same step, half in the next one."""
    told = {name: Digest() for name in ("observations", "rewards", "masks", "infos")}
    records = {"labs": FieldDigests(), "steps": FieldDigests()}
    for half, mode in enumerate(("SAME_STEP", "NEXT_STEP")):
        labs = gymnasium.make_vec(
            DEBT, num_envs=SEEDS // 2, vectorization_mode="vector_entry_point", autoreset_mode=mode,
            preset=preset_name, detailed_info=True,
        ).unwrapped  # fmt: skip
        rng = np.random.default_rng(half)
        told["observations"].add(labs.reset(seed=half * SEEDS // 2)[0])
        for _ in range(STEPS):
            masks = labs.action_masks() if masked else np.ones((labs.num_envs, len(labs.actions)), bool)
            observations, rewards, terminated, truncated, infos = labs.step(choose(labs.actions, masks, rng))
            told["observations"].add(observations)
            told["rewards"].add(np.stack([rewards, terminated, truncated]))
            told["masks"].add(labs.action_masks())
            told["infos"].add(infos)
            records["labs"].add(labs.batch.labs)
            records["steps"].add(done(labs.batch.steps))
    return {name: str(digest) for name, digest in {**told, **records}.items()}


def single(preset_name: str, *, masked: bool) -> dict[str, str]:
    """An episode for each of 200 seeds, up to 60 steps, by the single environment."""
    env = gymnasium.make(DEBT, preset=preset_name, detailed_info=True).unwrapped
    told, records = Digest(), FieldDigests()
    everything = np.ones((1, len(env.actions)), bool)
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        told.add(env.reset(seed=seed)[0])
        for _ in range(60):
            action = choose(env.actions, env.action_masks()[None] if masked else everything, rng)[0]
            outcome = env.step(action)
            for part in outcome:
                told.add(part)
            if outcome[2] or outcome[3]:
                break
        records.add(env.batch.labs)
    return {"told": str(told), "labs": str(records)}


def notebook(preset_name: str) -> dict[str, str]:
    """What a person sees of some episodes (terminal, page, tool log), and the logs that they leave."""
    frames, pages = Digest(), Digest()
    with tempfile.TemporaryDirectory() as folder:
        paths = dict(zip(PATHS, (Path(folder, name) for name in LOGS), strict=True))
        env = gymnasium.make(DEBT, preset=preset_name, render_mode="ansi", **paths).unwrapped
        for seed in range(NOTEBOOK_SEEDS):
            rng = np.random.default_rng(seed)
            env.reset(seed=seed)
            ended = False
            while not ended:
                frames.add(env.render())
                if env.params.gate.enabled:
                    pages.add([(str(env.notebook(m)), env.tool_log(m)) for m in env.params.assay.compounds])
                mask = (
                    env.action_masks()[None] if rng.random() < 0.8 else np.ones((1, len(env.actions)), bool)
                )
                *_, terminated, truncated, _ = env.step(choose(env.actions, mask, rng)[0])
                ended = terminated or truncated
            frames.add(env.render())
        logs = {name: of(log_text(path)) for name, path in zip(LOGS, paths.values(), strict=True)}
    return {"frames": str(frames), "pages": str(pages), **logs}


def log_text(path: Path) -> str:
    """The lines of a log without the names that were added since."""
    return re.sub(rf', "({"|".join(LATER)})": (true|false)', "", path.read_text(encoding="utf-8"))


def of(value: Any) -> str:
    """The digest of one value."""
    digest = Digest()
    digest.add(value)
    return str(digest)


def run_folder(folder: Path) -> dict[str, Any]:
    """What a finished run left behind.

    Of scripted agents every number and every log. Of learners the columns, and the mean size of each layer's weights:
    training is the same to the bit on one machine, not between machines.
    """
    import pyarrow.parquet as pq
    from safetensors.numpy import load_file

    left: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.suffix == ".jsonl" and "/seed-" not in name:
            left[name] = of(log_text(path))
        elif path.suffix == ".parquet":
            columns = pq.read_table(path).to_pydict()
            learned = "/seed-" in name or "ppo" in columns.get("agent", ())
            left[name] = " ".join(sorted(columns)) if learned else of(columns)
        elif path.suffix == ".safetensors":
            left[name] = {key: round(float(abs(w).mean()), 4) for key, w in sorted(load_file(path).items())}
    return left


def plays(agent: Any, env_id: str) -> str:
    """The episodes of an agent on the evaluation's first seeds."""
    params = preset(ENVIRONMENTS[env_id]["preset"])
    return of([*rollout.generate(agent(params), params, range(10_000, 10_000 + PLAYED))])


def agents() -> dict[str, str]:
    """Every script on the whole lab, and what is shipped: policies, and the exact solution of the smallest level."""
    found = {
        f"{name} {LAB}": plays(lambda params, name=name: PLAYERS[name](params, 0), LAB) for name in AGENTS
    }
    for name, path in shipped_policies().items():
        found[name] = plays(partial(LearnedAgent.load, path), name.partition(":")[2])
    return found | {f"exact {TINY}": plays(lambda params: PLAYERS["exact"](params, 0), TINY)}


def world(preset_name: str) -> dict[str, Any]:
    """All digests of the labs with the parameters of a preset."""
    found: dict[str, Any] = {
        f"{play.__name__} {'masked' if masked else 'unmasked'}": play(preset_name, masked=masked)
        for play in (vector, single)
        for masked in (True, False)
    }
    return found | {"notebook": notebook(preset_name)}


if __name__ == "__main__":
    everything = {"worlds": {name: world(name) for name in PRESETS}, "agents": agents()}
    everything["runs"] = {
        name: run_folder(Path(folder)) for name, folder in (a.split("=") for a in sys.argv[1:])
    }
    KEPT.write_text(json.dumps(everything, indent=1, sort_keys=True) + "\n", encoding="utf-8")
