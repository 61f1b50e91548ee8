"""Film an episode for the README: `python docs/film.py` writes `docs/img/episode.webp`.

The honest script plays, except that its first claims are the highest there are. So the film shows overclaims, the
refusal that they lead to, the calibrations that free it, and findings that pay. A frame an action; what matters stays
longer.
"""

from __future__ import annotations

import argparse
import functools
import textwrap
from pathlib import Path
from typing import Any

from matplotlib.font_manager import FontProperties, findfont
from picture import pick
from PIL import Image, ImageDraw, ImageFont

from solvent import LabEnv
from solvent.lab.codes import Event
from solvent.lab.rendering import Renderer
from solvent.lab.rendering.palette import DEBT, FINDING, INK, MUTED, PAPER
from solvent.lab.rendering.panels.outcome import tell
from solvent.lab.rendering.words import bits
from solvent.lab.verbs import Verb
from solvent_agents.agent import act_one
from solvent_agents.scripts.honest import Honest

OUT = Path(__file__).resolve().parent / "img" / "episode.webp"
BOASTS = range(3, 10)
"""Heartbeats in which it claims the most."""
PANELS, INSTRUMENT = (64, 486), (472, 438)
"""Rows of the picture that the film keeps, and the left upper corner of what it leaves out of them."""
CAPTION = 100
SHOWN, FREED = 450, 1500  # milliseconds
HELD = {Event.REFUSED: 1800, Event.PUBLISHED: 900}
"""Milliseconds that an event stays."""


class Boaster:
    """The honest script with one fault."""

    def __init__(self, env: LabEnv) -> None:
        self.honest = Honest(env.params, 0)
        self.plate = -1

    def act(self, env: LabEnv, lab: Any, observation: Any) -> int:
        action = act_one(self.honest, observation, env.action_masks())
        verb, compound = Verb(env.actions["verb"][action]), int(env.actions["compound"][action])
        if lab["debt"] > env.params.debt.threshold:  # it tries once more what it did
            action, self.plate = (action, -1) if self.plate < 0 else (self.plate, -1)
        elif verb in (Verb.SCREEN, Verb.DOSE_RESPONSE) and lab["heartbeat"] in BOASTS:
            self.plate = pick(env, verb, compound, claim=max(env.params.vocabulary.claims))
            return self.plate
        return action


def film(seed: int) -> tuple[list[Image.Image], list[int]]:
    """Return the frames of the episode and how long each stays, in milliseconds."""
    env = LabEnv()
    renderer = Renderer(env.params, "rgb_array")
    observation, _ = env.reset(seed=seed)
    lab, step, player = env.batch.labs[0], env.batch.steps[0], Boaster(env)
    frames, held = [framed(env, renderer.draw(lab, step), lab, step)], [FREED]
    while lab["end_reason"] == 0:
        owed = float(lab["debt"])
        observation, *_ = env.step(player.act(env, lab, observation))
        frames.append(framed(env, renderer.draw(lab, step), lab, step))
        freed = owed > env.params.debt.threshold >= lab["debt"]
        held.append(FREED if freed else HELD.get(Event(int(lab["last_event"])), SHOWN))
    held[-1] = 2 * FREED
    return frames, held


def framed(env: LabEnv, picture: Any, lab: Any, step: Any) -> Image.Image:
    """Return wells, debt and compounds below a caption: what was done, and what came of it."""
    panels = Image.fromarray(picture)
    ImageDraw.Draw(panels).rectangle((*INSTRUMENT, *panels.size), PAPER)
    panels = panels.crop((0, PANELS[0], panels.width, PANELS[1]))
    frame = Image.new("RGB", (panels.width, panels.height + CAPTION), PAPER)
    frame.paste(panels, (0, CAPTION))
    pen, (done, outcome) = ImageDraw.Draw(frame), tell(env.params, lab, step)
    event = Event(int(lab["last_event"]))
    bad = event is Event.REFUSED or (event is Event.PUBLISHED and not step["right"])
    colour = DEBT if bad else FINDING if event is Event.PUBLISHED else INK
    pen.text((28, 10), done, colour, font(24, "bold"))
    score = f"heartbeat {lab['heartbeat']}   score {bits(float(lab['score']))} bits"
    pen.text((panels.width - 28, 12), score, MUTED, font(20), anchor="ra")
    for row, line in enumerate(textwrap.wrap(outcome, 96)[:2]):
        pen.text((28, 44 + 24 * row), line, colour, font(18))
    return frame


@functools.cache
def font(size: int, weight: str = "normal") -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(findfont(FontProperties(family="DejaVu Sans", weight=weight)), size)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=4, help="another lab")
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
