"""The pictures of the levels' pages and the episode of the page about playing: ``python docs/pictures.py``."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from solvent import LabEnv
from solvent_agents import PLAYERS
from solvent_experiments.config import environment_params
from solvent_experiments.play import frames

IMG = Path(__file__).with_name("img")
LEVELS = {
    "Energy": ("fabricator", 19),
    "Gate": ("definitive", 14),
    "Frontier": ("honest", 88),
    "Lab": ("honest", 39),
    "Tiny": ("honest", 4),
    "Debt": ("definitive", 15),
}
"""Level: the agent that plays it, and the number of its actions before the picture."""

for level, (agent, actions) in LEVELS.items():
    params = environment_params(f"Solvent/{level}-v0")
    env = LabEnv(params, render_mode="rgb_array")
    shown = list(islice(frames(env, PLAYERS[agent](params, 0), seed=5), 1, None))
    shown[actions - 1].quantize(256).save(IMG / f"{level.lower()}.png", optimize=True)
first, *rest = shown
film = {"save_all": True, "append_images": rest, "duration": 900, "loop": 0, "quality": 60, "method": 6}
first.save(IMG / "episode.webp", **film)
