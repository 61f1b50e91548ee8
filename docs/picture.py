"""Draw a picture of each level, and the headline figure: `python docs/picture.py` writes them to `docs/img`.

`words_ablation` shows the numbers of `docs/results/words.json`; the others are frames.

Four scripts play, so that one frame shows everything. The hasty one, on the level with debt alone and on the smallest,
claims a little too much and publishes as soon as it is fairly sure: plates, debt above and below its threshold, a
surcharge, refusals, findings. The outspoken one, on the level with energy, tries what is too dear and asks for lower
costs: deferrals, proposals, hours of several actions. The talkative one, where a gate judges findings, says what it
believes as soon as it believes it, and learns more where that was rejected. The certain one, where words are held
against evidence, is sure after one plate: findings that its words keep from coming out, and an error that brings a
correction.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from solvent import LabEnv
from solvent.lab.codes import Event
from solvent.lab.rendering import Renderer
from solvent.lab.rendering.panels.energy import is_present
from solvent.lab.rendering.panels.proposals import arguable_verb
from solvent.lab.verbs import Verb
from solvent_experiments.figures.style import save, styled
from solvent_experiments.figures.words import words_ablation

HERE = Path(__file__).resolve().parent
HEADLINE = "words_ablation"


def hasty(env: LabEnv, lab: Any) -> int:
    if lab["debt"] > env.params.debt.threshold and lab["last_event"] == Event.REFUSED:
        return pick(env, Verb.DMSO)
    if lab["heartbeat"] % env.params.assay.lot_heartbeats == 0:
        return pick(env, Verb.DMSO)
    open_ = np.flatnonzero(lab["published"] == 0)
    sure = [m for m in open_ if lab["marginal"][m].max() > 0.7]
    if sure:
        return pick(env, Verb.PUBLISH_PUBLIC, int(sure[0]), confidence=0.75)
    if not len(open_):
        return pick(env, Verb.REST)
    m = int(open_[0] if lab["heartbeat"] % 3 else open_[lab["experiments"][open_].argmin()])
    if lab["experiments"][m] == 0 and lab["wells"] > 160:
        return pick(env, Verb.DOSE_RESPONSE, m, claim=2.0)
    return pick(env, Verb.SCREEN, m, claim=0.5)


def pick(env: LabEnv, verb: Verb, compound: int = -1, **says: float) -> int:
    rows = (env.actions["verb"] == verb) & (env.actions["compound"] == compound)
    for name, value in says.items():
        rows &= env.actions[name] == value
    return int(np.flatnonzero(rows)[0])


def outspoken(env: LabEnv, lab: Any) -> int:
    if lab["reflected"]:
        return pick(env, Verb.PROPOSE)
    executes = env.action_masks()
    if arguable_verb(env.params, lab) is not None and executes[pick(env, Verb.REFLECT)]:
        return pick(env, Verb.REFLECT)
    tired = lab["last_event"] in (Event.DEFERRED, Event.REFUSED) and lab["slot"] > 0
    if tired or lab["slot"] >= 4:
        return pick(env, Verb.REST)
    if lab["debt"] > 1.0 or not lab["lot_calibrated"]:
        return pick(env, Verb.DMSO if lab["slot"] == 0 else Verb.REST)
    open_ = np.flatnonzero(lab["published"] == 0)
    licensed = [m for m in open_ if lab["licence"][m] > 1.0 and lab["marginal"][m].max() > 0.7]
    if licensed and is_present(env.params, int(lab["heartbeat"])):
        return pick(env, Verb.PUBLISH_PUBLIC, int(licensed[0]), confidence=0.75)
    unsure = [m for m in open_ if m not in licensed]
    if not unsure:
        return pick(env, Verb.REST)
    m = int(min(unsure, key=lambda compound: lab["experiments"][compound]))
    return pick(env, Verb.SCREEN, m, claim=0.5)


def talkative(env: LabEnv, lab: Any) -> int:
    if lab["debt"] > env.params.debt.threshold or lab["heartbeat"] % env.params.assay.lot_heartbeats == 0:
        return pick(env, Verb.DMSO)
    open_ = np.flatnonzero((lab["published"] == 0) & (lab["decision_at"] == 0))
    if not len(open_):
        return pick(env, Verb.REST)
    last = env.actions["compound"][lab["last_action"]]
    rejected = lab["last_event"] == Event.REJECTED and lab["last_action"] >= 0
    for m in open_:
        peak = lab["marginal"][m].max()
        if peak > 0.45 and not (rejected and m == last):
            confidence = 0.95 if peak > 0.9 else 0.75 if peak > 0.6 else 0.5
            return pick(env, Verb.PUBLISH_PUBLIC, int(m), confidence=confidence)
    m = int(last) if rejected else int(min(open_, key=lambda compound: lab["experiments"][compound]))
    if lab["experiments"][m]:
        return pick(env, Verb.SCREEN, m, claim=0.5)
    return pick(env, Verb.DOSE_RESPONSE, m, claim=1.5)


def certain(env: LabEnv, lab: Any) -> int:
    executes = env.action_masks()
    if (lab["debt"] > 1.0 or not lab["lot_calibrated"]) and lab["slot"] == 0:
        return pick(env, Verb.DMSO)
    open_ = np.flatnonzero((lab["published"] == 0) & (lab["decision_at"] == 0))
    last = env.actions["compound"][lab["last_action"]] if lab["last_event"] == Event.REJECTED else -1
    for m in open_:
        peak = lab["marginal"][m].max()
        confidence = 0.95 if peak >= 0.95 and m != last else 0.75
        action = pick(env, Verb.PUBLISH_PUBLIC, int(m), confidence=confidence)
        if peak >= 0.75 and executes[action] and action != lab["last_action"]:
            return action
    fresh = [m for m in open_ if lab["experiments"][m] == 0] or [*open_]
    plates = [pick(env, Verb.DOSE_RESPONSE, int(m), claim=1.5) for m in fresh]
    able = [action for action in plates if executes[action]]
    return able[0] if able and lab["slot"] < 2 else pick(env, Verb.REST)


class Shot(NamedTuple):
    """One picture: who plays which lab until when."""

    preset: str
    player: Callable[[LabEnv, Any], int]
    seed: int
    heartbeat: int
    slot: int


SHOTS = {
    "lab": Shot("default", hasty, 2, 21, 0),
    "energy": Shot("energy", outspoken, 15, 36, 1),
    "gate": Shot("gate", talkative, 71, 14, 0),
    "words": Shot("lab", certain, 37, 29, 1),
    "tiny": Shot("tiny", hasty, 4, 5, 0),
}


def draw(shot: Shot, scale: int) -> Any:
    env = LabEnv(preset=shot.preset)
    renderer = Renderer(env.params, "rgb_array", scale=scale)
    env.reset(seed=shot.seed)
    lab, step = env.batch.labs[0], env.batch.steps[0]
    frame = renderer.draw(lab, step)
    while (lab["heartbeat"], lab["slot"]) < (shot.heartbeat, shot.slot) and lab["end_reason"] == 0:
        env.step(shot.player(env, lab))
        frame = renderer.draw(lab, step)
    return frame


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shot", choices=(HEADLINE, *SHOTS), help="only this picture")
    parser.add_argument("--seed", type=int, help="another lab")
    parser.add_argument("--heartbeat", type=int, help="another moment")
    parser.add_argument("--scale", type=int, default=2, help="pixels a unit")
    parser.add_argument("--out", type=Path, default=HERE / "img", help="folder")
    arguments = parser.parse_args()

    arguments.out.mkdir(parents=True, exist_ok=True)
    if arguments.shot in (None, HEADLINE):
        found = json.loads((HERE / "results" / "words.json").read_text(encoding="utf-8"))
        with styled():
            print(save(words_ablation(found, "ppo"), arguments.out / HEADLINE, kinds=("png",)))
    for name, shot in SHOTS.items():
        if arguments.shot not in (None, name):
            continue
        seed = shot.seed if arguments.seed is None else arguments.seed
        heartbeat = shot.heartbeat if arguments.heartbeat is None else arguments.heartbeat
        frame = draw(shot._replace(seed=seed, heartbeat=heartbeat), arguments.scale)
        path = arguments.out / f"{name}.png"
        # A palette takes a third of the bytes and looks the same.
        Image.fromarray(frame).quantize(method=Image.Quantize.MAXCOVERAGE).save(path, optimize=True)
        print(f"{path}: {path.stat().st_size / 1024:.0f} KB")


if __name__ == "__main__":
    main()
