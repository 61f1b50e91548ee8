"""The pictures of the levels' pages and the episode of the README, drawn by the lab's own renderer.

``python docs/pictures.py`` updates ``docs/img``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import gymnasium
import numpy as np
from PIL import Image

import solvent  # noqa: F401 - registers the levels
from solvent_agents import PLAYERS
from solvent_agents.agent import act_one, show_labs

IMG = Path(__file__).with_name("img")
LEVELS = {
    "Debt": ("definitive", 15),
    "Energy": ("launderer", 19),
    "Gate": ("definitive", 14),
    "Frontier": ("honest", 88),
    "Lab": ("honest", 39),
    "Tiny": ("honest", 4),
}
"""Level: the agent that plays it, and the number of its actions before the picture."""


def frames(level: str, agent: str, seed: int = 5) -> Iterator[Image.Image]:
    """Yield the frames of an episode, the first after the first action. The agent does not see the mask."""
    env = gymnasium.make(f"Solvent/{level}-v0", render_mode="rgb_array", disable_env_checker=True).unwrapped
    every = np.ones(len(env.actions), np.bool_)
    player, (seen, _), over = PLAYERS[agent](env.params, 0), env.reset(seed=seed), False
    while not over:
        show_labs(player, env.batch.get_labs(), env.params)
        seen, _, over, _, _ = env.step(act_one(player, seen, every))
        yield Image.fromarray(env.render())


def main() -> None:
    """Write one picture per level, and the episode."""
    for level, (agent, actions) in LEVELS.items():
        *_, last = (frame for _, frame in zip(range(actions), frames(level, agent), strict=False))
        last.quantize(256).save(IMG / f"{level.lower()}.png", optimize=True)
    first, *rest = frames("Debt", LEVELS["Debt"][0])
    first.save(
        IMG / "episode.webp", save_all=True, append_images=rest, duration=900, loop=0, quality=60, method=6
    )


if __name__ == "__main__":
    main()
