"""Film an episode for the README: `python docs/film.py` writes `docs/img/episode.webp`.

The honest script plays, with two faults that it hasn't by itself: its first claims are the highest there are, and in
the middle of the episode it states its findings definitively. So the film shows overclaims, a refusal, calibrations
that free it, and findings accepted, reviewed and rejected. A frame an action; what matters stays longer.
"""

from __future__ import annotations

import argparse
import functools
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.font_manager import FontProperties, findfont
from picture import pick
from PIL import Image, ImageDraw, ImageFont

from solvent import LabEnv
from solvent.lab.codes import Event
from solvent.lab.rendering import Renderer
from solvent.lab.rendering.palette import DEBT, FINDING, INK, MUTED, PAPER, REVIEW
from solvent.lab.rendering.panels.outcome import tell
from solvent.lab.rendering.words import bits, clock
from solvent.lab.verbs import Verb
from solvent_agents.agent import act_one
from solvent_agents.scripts.honest import Honest

OUT = Path(__file__).resolve().parent / "img" / "episode.webp"
BOASTS, CERTAIN = range(10), range(12, 34)
"""Heartbeats in which it claims the most, and in which it states findings definitively."""
DOUBTED = (Event.REJECTED, Event.SUBMITTED)
LEFT, RIGHT, HEIGHT = (16, 440), (1280, 1656), (60, 590)
"""Of the whole lab's picture: plate, debt and wells; gate, last finding and page."""
CAPTION = 84
LONGEST = 19_000  # milliseconds
HELD = {
    Event.REFUSED: 1500,
    Event.PUBLISHED: 1300,
    Event.SUBMITTED: 1500,
    Event.REJECTED: 1300,
}
"""Milliseconds that an event stays."""
FREED = 1300
COLOURS = {
    Event.REFUSED: DEBT,
    Event.PUBLISHED: FINDING,
    Event.SUBMITTED: REVIEW,
    Event.REJECTED: DEBT,
}


class Boaster:
    """The honest script with two faults."""

    def __init__(self, env: LabEnv) -> None:
        self.honest = Honest(env.params, 0)
        self.plate = -1

    def act(self, env: LabEnv, lab: Any, observation: Any) -> int:
        action = act_one(self.honest, observation, env.action_masks())
        verb, compound = Verb(env.actions["verb"][action]), int(env.actions["compound"][action])
        if lab["debt"] > env.params.debt.threshold:  # it tries once more what it did
            action, self.plate = (action, -1) if self.plate < 0 else (self.plate, -1)
        elif verb in (Verb.SCREEN, Verb.DOSE_RESPONSE):
            self.plate = action
            if lab["heartbeat"] in BOASTS and lab["lot_calibrated"]:
                return pick(env, verb, compound, claim=max(env.params.vocabulary.claims))
        elif verb is Verb.PUBLISH_PUBLIC and lab["heartbeat"] in CERTAIN and lab["last_event"] not in DOUBTED:
            return pick(env, verb, compound, confidence=max(env.params.vocabulary.confidences))
        return action


def film(seed: int) -> tuple[list[Image.Image], list[int]]:
    """Return the frames of the episode and how long each stays, in milliseconds."""
    env = LabEnv(preset="lab")
    renderer = Renderer(env.params, "rgb_array")
    observation, _ = env.reset(seed=seed)
    lab, step, player = env.batch.labs[0], env.batch.steps[0], Boaster(env)
    frames, held = [framed(env, renderer.draw(lab, step), lab, step)], [FREED]
    while lab["end_reason"] == 0:
        owed = float(lab["debt"])
        observation, *_ = env.step(player.act(env, lab, observation))
        frames.append(framed(env, renderer.draw(lab, step), lab, step))
        freed = owed > env.params.debt.threshold >= lab["debt"]
        held.append(FREED if freed else HELD.get(Event(int(lab["last_event"])), 0))
    held[-1] = 2 * FREED
    quick = max(20, (LONGEST - sum(held)) // max(1, held.count(0)))
    return frames, [stays or min(300, quick) for stays in held]


def framed(env: LabEnv, picture: Any, lab: Any, step: Any) -> Image.Image:
    """Return the two outer columns of the lab's picture below a caption: what was done, and what came of it."""
    rows = slice(*HEIGHT)
    columns = np.concatenate([picture[rows, slice(*LEFT)], picture[rows, slice(*RIGHT)]], axis=1)
    height, width, _ = columns.shape
    frame = Image.new("RGB", (width, height + CAPTION), PAPER)
    frame.paste(Image.fromarray(columns), (0, CAPTION))
    pen, (done, outcome) = ImageDraw.Draw(frame), tell(env.params, lab, step)
    event = Event(int(lab["last_event"]))
    pen.text((16, 8), done, COLOURS.get(event, INK), font(17, "bold"))
    now = f"{clock(env.params, lab)}   score {bits(float(lab['score']))} bits"
    pen.text((width - 16, 10), now, MUTED, font(14), anchor="ra")
    for i, line in enumerate(textwrap.wrap(outcome, 108)[:2]):
        pen.text((16, 36 + 20 * i), line, COLOURS.get(event, INK), font(14))
    return frame


@functools.cache
def font(size: int, weight: str = "normal") -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(findfont(FontProperties(family="DejaVu Sans", weight=weight)), size)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=15, help="another lab")
    parser.add_argument("--out", type=Path, default=OUT, help="a file that ends in .webp or .gif")
    arguments = parser.parse_args()
    if arguments.out.suffix not in (".webp", ".gif"):
        parser.error(f"--out: got {arguments.out}; allowed: a file that ends in .webp or .gif")

    frames, held = film(arguments.seed)
    first, *others = frames
    options: dict[str, Any] = {"quality": 60, "method": 2} if arguments.out.suffix == ".webp" else {}
    first.save(arguments.out, save_all=True, append_images=others, duration=held, loop=0, **options)
    size = arguments.out.stat().st_size / 2**20
    print(
        f"{arguments.out}: {len(frames)} frames, {sum(held) / 1000:.1f} s, {size:.2f} MB; a browser shows it"
    )


if __name__ == "__main__":
    main()
