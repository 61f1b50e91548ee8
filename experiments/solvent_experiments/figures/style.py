"""One style for all figures: their width, type of 8.5 points, an agent's colour, and how they are written to files."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from solvent.files import write_atomically
from solvent.lab.codes import VERDICTS
from solvent.lab.verbs import INTENTS
from solvent_agents import AGENTS

WIDTH = 5.1  # inches
DPI = 200
SIZE = 8.5  # points
INK, GREY, WARNING = "#222222", "#777777", "#B00020"
DASHED = (0, (4, 2))
PALETTE = BLUE, GREEN, RED, INDIGO, WINE, MAUVE, BLACK = (
    "#0F69FF", "#00875A", "#D22D00", "#5A2DA5", "#87004B", "#965A96", "#000000",
)  # fmt: skip
CATEGORIES = TEAL, OCHRE, LAVENDER, MINT, ROSE = ("#10B8A8", "#D0A038", "#B098F0", "#80E098", "#E8C0E0")
"""Strong colours are agents, paler ones are categories. Any two differ as people with colour blindness see them."""

DASHES = (
    DASHED,
    (0, (1, 1)),
    (0, (6, 1.5, 1, 1.5)),
    (0, (8, 2)),
    (0, (3, 1, 1, 1, 1, 1)),
    (0, (2, 2)),
    (0, (5, 1)),
)
GREYS = ("#3A3A3A", "#707070", "#9C9C9C")


@dataclass(frozen=True)
class Look:
    """How an agent is drawn, in every figure."""

    colour: str
    dash: Any = "-"

    @property
    def line(self) -> dict[str, Any]:
        """The arguments of a line."""
        return {"color": self.colour, "ls": self.dash}


LOOKS = {
    "ppo": Look(BLUE),
    "maskable_ppo": Look(INDIGO),
    "plain": Look(RED),
    "a2c": Look(WINE),
    "dqn": Look(MAUVE),
    "honest": Look(GREEN, DASHED),
    "notebook": Look(TEAL, DASHED),
    "planner": Look(BLACK, DASHED),
    "exact": Look(BLACK, DASHES[1]),
}
_SCRIPTS = [name for name in AGENTS if name not in LOOKS]
LOOKS |= {name: Look(GREYS[i // len(DASHES)], DASHES[i % len(DASHES)]) for i, name in enumerate(_SCRIPTS)}
"""Learners have strong colours, scripts greys, each with another dash."""

SETTING_NAMES = {"enforced": "debt enforced", "tracked": "debt only tracked"}
SETTING_LOOKS = {"enforced": Look(GREEN), "tracked": Look(RED, DASHED)}
"""Settings of the debt rules: their names in figures, and how what learns under them is drawn."""

BY_DEBT, OTHERWISE = ("caused by debt", OCHRE), ("would not run at zero debt either", LAVENDER)
"""Causes of refusals: their names in figures, and their colours."""
VERDICT_COLOURS = dict(zip(VERDICTS, (TEAL, LAVENDER, OCHRE), strict=True))
INTENT_COLOURS = dict(zip(INTENTS, (LAVENDER, MINT, TEAL, OCHRE, ROSE), strict=True))

SETTINGS: dict[str, Any] = {
    **dict.fromkeys(("font.size", "axes.labelsize", "axes.titlesize", "legend.fontsize"), SIZE),
    **dict.fromkeys(("xtick.labelsize", "ytick.labelsize"), SIZE),
    **dict.fromkeys(("axes.labelcolor", "xtick.labelcolor", "ytick.labelcolor"), INK),
    **dict.fromkeys(("axes.edgecolor", "xtick.color", "ytick.color"), GREY),
    "font.family": "DejaVu Sans",
    "text.parse_math": False,  # a name is text, whatever its characters
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.titlepad": 4,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#E6E6E6",
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.4,
    "legend.frameon": False,
    "legend.handlelength": 1.4,
    "pdf.fonttype": 42,
    "savefig.dpi": DPI,
}
METADATA: dict[str, dict[str, Any]] = {
    "pdf": {"CreationDate": None, "Producer": None, "Creator": None},
    "png": {"Software": None},
}
"""Metadata by kind of image, without the fields that change from one drawing to the next."""


@contextmanager
def styled() -> Iterator[None]:
    """Apply the style within the context, regardless of the user's settings."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(SETTINGS)  # type: ignore[arg-type]
        yield


def new_figure(height: float) -> Figure:
    """Return an empty figure of the common width, without a window or global state."""
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def look_of(agent: str) -> Look:
    """Return how an agent is drawn, whichever agents are beside it; an own agent has the look of its name's hash."""
    number = crc32(agent.encode())
    return LOOKS.get(agent) or Look(PALETTE[number % len(PALETTE)], DASHES[number % len(DASHES)])


def colour_of(agent: str) -> str:
    """Return the agent's colour."""
    return look_of(agent).colour


def signed(number: float) -> str:
    """Return a number with two digits and a true minus sign, as on the axes."""
    return f"{round(number, 2) + 0.0:.2f}".replace("-", "\N{MINUS SIGN}")


def head(figure: Figure, heading: str, mark: str = "") -> None:
    """Write above a figure what it shows and, in red, what the run tracks without consequence or lacks."""
    lines = textwrap.wrap(heading, 88)
    marks = textwrap.wrap(mark, 80)
    figure.suptitle(
        "\n".join([*lines, *marks]), x=0.01, ha="left", fontsize=SIZE, color=WARNING if mark else GREY
    )


def as_image(figure: Figure, kind: str) -> bytes:
    """Return the figure as ``pdf`` or ``png``: equal bytes for equal figures."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format=kind, dpi=DPI, metadata=METADATA[kind])
    return buffer.getvalue()


def save(figure: Figure, stem: Path, kinds: Sequence[str] = ("png",)) -> Path:
    """Write the figure as ``stem.png`` or as the given kinds; return the first path."""
    for kind in kinds:
        write_atomically(stem.with_suffix(f".{kind}"), as_image(figure, kind))
        figure.set_layout_engine("none")  # the next kind has the same layout, which takes long to find
    return stem.with_suffix(f".{kinds[0]}")
