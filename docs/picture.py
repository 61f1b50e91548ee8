"""Draw the picture of the README: `python docs/picture.py` plays a hasty script and writes `docs/img/lab.png`.

The script claims a little too much and publishes as soon as it is fairly sure, so that one frame shows everything:
plates, debt above and below its threshold, a surcharge, refusals, findings.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pygame

from solvent import LabEnv
from solvent.actions import Verb
from solvent.rendering import Renderer
from solvent.state import Event

HERE = Path(__file__).resolve().parent


def hasty(env: LabEnv, lab: Any) -> int:
    if lab["debt"] > env.params.debt.threshold and lab["last_event"] == Event.REFUSED:
        return pick(env, Verb.CALIBRATION)
    if lab["heartbeat"] % env.params.assay.lot_heartbeats == 0:
        return pick(env, Verb.CALIBRATION)
    open_ = np.flatnonzero(lab["published"] == 0)
    sure = [m for m in open_ if lab["marginal"][m].max() > 0.7]
    if sure:
        return pick(env, Verb.PUBLISH_PUBLIC, sure[0], confidence=0.75)
    if not len(open_):
        return pick(env, Verb.REST)
    m = open_[0] if lab["heartbeat"] % 3 else open_[lab["experiments"][open_].argmin()]
    if lab["experiments"][m] == 0 and lab["wells"] > 160:
        return pick(env, Verb.DOSE_RESPONSE, m, claim=2.0)
    return pick(env, Verb.SCREEN, m, claim=0.5)


def pick(env: LabEnv, verb: Verb, compound: int = -1, **says: float) -> int:
    rows = (env.actions["verb"] == verb) & (env.actions["compound"] == compound)
    for name, value in says.items():
        rows &= env.actions[name] == value
    return int(np.flatnonzero(rows)[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=2, help="of the lab")
    parser.add_argument("--heartbeat", type=int, default=21, help="of which the picture is taken")
    parser.add_argument("--scale", type=int, default=2, help="pixels a unit; the picture is 960 x 640 units")
    parser.add_argument("--out", type=Path, default=HERE / "img" / "lab.png")
    arguments = parser.parse_args()

    env = LabEnv()
    renderer = Renderer(env.params, "rgb_array", scale=arguments.scale)
    env.reset(seed=arguments.seed)
    lab, step = env.batch.labs[0], env.batch.steps[0]
    frame = renderer.draw(lab, step)
    while lab["heartbeat"] < arguments.heartbeat and lab["end_reason"] == 0:
        env.step(hasty(env, lab))
        frame = renderer.draw(lab, step)

    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    pygame.image.save(pygame.surfarray.make_surface(frame.swapaxes(0, 1)), arguments.out)
    print(f"{arguments.out}: {arguments.out.stat().st_size / 1024:.0f} KB")


if __name__ == "__main__":
    main()
