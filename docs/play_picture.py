"""The picture of `solvent play` in docs/play.md: `python docs/play_picture.py` writes it again."""

from __future__ import annotations

import io
import re
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

from solvent.lab.params import preset
from solvent_experiments.play.game import Game
from solvent_experiments.play.screen import PROMPT, compose

PICTURE = Path(__file__).parent / "img" / "play.svg"
LINES = ("dmso", "rest", "rest", "dose eto 1.5", "screen eto 1")
BEGUN = "publish etoposide "
FROM_ELSEWHERE = re.compile(r"@font-face \{\{.*?\}\}\s*|<!--.*?-->", re.DOTALL)


def draw() -> str:
    """Return a screen of a game on Solvent/Lab-v0 as SVG, in the reader's own monospaced font."""
    game = Game(preset("lab"), 7)
    for line in LINES:
        game.enter(line)
    console = Console(width=80, record=True, file=io.StringIO(), force_terminal=True, color_system="standard")
    console.print(Text.from_ansi(f"{compose(game, BEGUN, 1, 80, 23)}\n{PROMPT}{BEGUN}"))
    # The format's own fonts would be fetched from the network.
    form = FROM_ELSEWHERE.sub("", CONSOLE_SVG_FORMAT).replace(
        "Fira Code", "DejaVu Sans Mono, Consolas, Menlo"
    )
    return console.export_svg(title="solvent play", theme=MONOKAI, code_format=form, unique_id="play")


if __name__ == "__main__":
    PICTURE.write_text(draw(), encoding="utf-8")
