"""Pictures and films of the lab: ``python docs/pictures.py``; ``--count`` only counts, for the README's caption.

A film for each level's page, which pauses where something happens, one of the same liar in the same lab, where debt is
only tracked and where it is enforced, and a picture of the review desk (with playwright and Debian's Chromium).
"""

from __future__ import annotations

import argparse
import runpy
import socket
import tempfile
import threading
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from solvent import LabEnv, LabParams
from solvent.energy.store import CostStore
from solvent_agents import PLAYERS, episodes
from solvent_experiments.config import environment_params
from solvent_experiments.desk.app import Desk
from solvent_experiments.desk.queues import Proposals
from solvent_experiments.play import frames

IMG = Path(__file__).with_name("img")
LEVELS = {
    "Debt": ("insister", 16, 15),
    "Energy": ("fabricator", 5, 19),
    "Gate": ("definitive", 12, 9),
    "Frontier": ("honest", 5, 88),
    "Lab": ("honest", 5, 39),
    "Tiny": ("honest", 5, 4),
    "Data": ("notebook", 5, 14),
    "Document": ("zero_claimer", 5, 18),
}
"""Level: the agent that plays it, the lab's seed, and the number of actions after which the film pauses and ends."""
FILMED = 24
"""Pictures of a level's film: the first one and the last ones."""
LIAR = "insister"
SETTINGS = {"debt only tracked": {"debt": {"enforced": False}}, "debt enforced": {}}
TRIED = range(200)
"""Seeds of labs of which the film shows a typical one."""
WIDTH, HEADING = 720, 34
"""Of a film or half of one, and the height of its heading, pixels."""
FILM: Mapping[str, Any] = {"save_all": True, "loop": 0, "quality": 60, "method": 6}


def filmed(params: LabParams, agent: str, seed: int) -> list[Image.Image]:
    """Return the pictures of an agent's episode."""
    return list(frames(LabEnv(params, render_mode="rgb_array"), PLAYERS[agent](params, 0), seed=seed))


def draw_levels() -> None:
    """Film the levels, and the whole episode of Debt for the page about playing."""
    for level, (agent, seed, actions) in LEVELS.items():
        params = environment_params(f"Solvent/{level}-v0")
        env = LabEnv(params, render_mode="rgb_array")
        pictures = list(islice(frames(env, PLAYERS[agent](params, 0), seed=seed), actions + 1))
        first, *rest = [_narrow(picture) for picture in (pictures[0], *pictures[1:][1 - FILMED :])]
        durations = [1500, *[600] * (len(rest) - 1), 5000]
        first.save(IMG / f"{level.lower()}.webp", append_images=rest, duration=durations, **FILM)
    agent, seed, _ = LEVELS["Debt"]
    _, first, *rest = filmed(environment_params("Solvent/Debt-v0"), agent, seed)
    first.save(IMG / "episode.webp", append_images=rest, duration=900, **FILM)


def _narrow(frame: Image.Image) -> Image.Image:
    """Return a frame in the width of a film."""
    return frame.resize((WIDTH, frame.height * WIDTH // frame.width), Image.Resampling.LANCZOS)


def typical_seed(labs: Mapping[str, LabParams]) -> int:
    """Return the seed, of those where debt refuses the liar, whose returns and refusals are nearest to their means."""
    distance, refused = np.zeros(len(TRIED)), np.zeros(len(TRIED), bool)
    for params in labs.values():
        played = episodes(PLAYERS[LIAR](params, 0), params, TRIED)
        refused |= played["refusals_by_debt"] > 0
        for name in ("return", "debt_added", "refusals_by_debt"):
            values = played[name].astype(np.float64)
            distance += ((values - values.mean()) / max(1e-9, values.std())) ** 2
    print(f"debt refuses {LIAR} in {refused.sum()} of {len(TRIED)} labs")
    return TRIED[int(np.where(refused, distance, np.inf).argmin())]


def both_settings() -> dict[str, LabParams]:
    """Return the labs of the liar by the names of their settings."""
    return {name: environment_params("Solvent/Debt-v0", changes) for name, changes in SETTINGS.items()}


def draw_side_by_side() -> None:
    """Film the liar in the same lab under both settings."""
    labs = both_settings()
    seed = typical_seed(labs)
    films = {name: filmed(params, LIAR, seed) for name, params in labs.items()}
    length = max(map(len, films.values()))
    halves = [
        [_half(f"Solvent/Debt-v0, {name}", film[min(i, len(film) - 1)]) for i in range(length)]
        for name, film in films.items()
    ]
    both = [_joined(*pair) for pair in zip(*halves, strict=True)]
    durations = [450] * (length - 1) + [4000]
    both[0].save(IMG / "liar.webp", append_images=both[1:], duration=durations, **FILM)


def _half(heading: str, frame: Image.Image) -> Image.Image:
    """Return a frame in half of the film's width, below its heading."""
    small = _narrow(frame)
    half = Image.new("RGB", (WIDTH, small.height + HEADING), "white")
    ImageDraw.Draw(half).text((12, 6), heading, fill="#222222", font=ImageFont.load_default(20))
    half.paste(small, (0, HEADING))
    return half


def _joined(left: Image.Image, right: Image.Image) -> Image.Image:
    both = Image.new("RGB", (left.width + right.width, left.height), "white")
    both.paste(left, (0, 0))
    both.paste(right, (left.width, 0))
    return both


def draw_desk() -> None:
    """Take a picture of the proposal that the example's agent files, as the review desk displays it."""
    from playwright.sync_api import sync_playwright

    example = runpy.run_path(str(IMG.parents[1] / "examples" / "own_agent.py"))
    with tempfile.TemporaryDirectory() as folder:
        example["main"]([folder])
        store = CostStore(Path(folder) / "solvent_costs.db")
        listening = socket.create_server(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        desk = Desk([Proposals(store)], listening.getsockname()[1])
        threading.Thread(target=desk.serve, args=(listening,), daemon=True).start()
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path="/usr/bin/chromium")
            page = browser.new_page(viewport={"width": 860, "height": 400})
            page.goto(f"{address}/?token={desk.token}")
            page.goto(f"{address}/costs/{store.proposals()[0].id}")
            page.screenshot(path=IMG / "desk.png", full_page=True)
            browser.close()
        store.close()
    with Image.open(IMG / "desk.png") as picture:
        picture.quantize(32).save(IMG / "desk.png", optimize=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python docs/pictures.py", description="Draw the pictures of the pages."
    )
    parser.add_argument(
        "--count", action="store_true", help="only count the labs in which debt refuses the liar"
    )
    if parser.parse_args().count:
        typical_seed(both_settings())
        return
    draw_levels()
    draw_side_by_side()
    draw_desk()


if __name__ == "__main__":
    main()
