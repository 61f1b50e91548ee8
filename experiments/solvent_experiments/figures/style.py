"""One style for all figures: column width, 8-point text, an agent's colour, the colours of everything else.

Strong colours are agents and the arms of a study. Paler ones are categories, such as verdicts and reasons of refusals.
Any two of the twelve differ by at least 12 in CAM02-UCS, also as people see them who lack one kind of cone.
"""

from __future__ import annotations

import io
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from solvent_experiments.artifacts.files import write_atomically

__all__ = [
    "AGENTS",
    "CATEGORIES",
    "DASHED",
    "DOTTED",
    "GREY",
    "INK",
    "LAVENDER",
    "MINT",
    "OCHRE",
    "PALETTE",
    "REASONS",
    "ROSE",
    "TEAL",
    "WIDTH",
    "Look",
    "as_image",
    "colour_of",
    "head",
    "looks",
    "new_figure",
    "save",
    "signed",
    "spread",
    "styled",
]

WIDTH = 3.4  # inches: a column of a paper
DPI = 200
INK = "#222222"
GREY = "#777777"
DASHED, DOTTED = (0, (4, 2)), (0, (1, 1))
PALETTE = BLUE, GREEN, RED, INDIGO, WINE, MAUVE, BLACK = (
    *("#0F69FF", "#00875A", "#D22D00", "#5A2DA5", "#87004B", "#965A96"),
    "#000000",
)
CATEGORIES = TEAL, OCHRE, LAVENDER, MINT, ROSE = ("#10B8A8", "#D0A038", "#B098F0", "#80E098", "#E8C0E0")

AGENTS = {
    **dict.fromkeys(("ppo",), BLUE),
    **dict.fromkeys(("honest", "adequate"), GREEN),
    **dict.fromkeys(("oracle", "planner", "exact"), BLACK),
    **dict.fromkeys(("random", "random_masked", "hermit"), MAUVE),
    **dict.fromkeys(("max_claimer", "definitive", "overreacher", "spammer"), RED),
    **dict.fromkeys(("surfer", "surfer_1.0", "surfer_0.5", "hoarder", "premature", "hedger"), WINE),
    **dict.fromkeys(("zero_claimer", "calibrator", "cheapest_first", "value_per_cost", "padder"), INDIGO),
}
"""The colours of agents that are often seen together. Any other name has the colour of its hash."""

REASONS = {
    "epistemic_debt_action_blocked": ("debt above threshold", OCHRE),
    "epistemic_debt_budget_exceeded": ("inflated cost above wells left", LAVENDER),
    "insufficient_budget_for_epistemic_recovery": ("no reserve for a calibration", ROSE),
}
"""Reason of a refusal -> its name in figures, and its colour."""

SETTINGS: dict[str, Any] = {
    "font.size": 8,
    "axes.labelsize": 8,
    "axes.titlesize": 8,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.fontsize": 8,
    "font.family": "DejaVu Sans",
    "text.parse_math": False,  # a name is text, whatever its characters
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.6,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "axes.grid": True,
    "grid.color": "#E6E6E6",
    "grid.linewidth": 0.5,
    "axes.axisbelow": True,
    "lines.linewidth": 1.4,
    "legend.frameon": False,
    "legend.handlelength": 1.4,
    "pdf.fonttype": 42,
    "figure.constrained_layout.use": True,
    "savefig.dpi": DPI,
}


@contextmanager
def styled() -> Iterator[None]:
    """Apply the style within the context, regardless of the user's settings."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(SETTINGS)  # type: ignore[arg-type]
        yield


def new_figure(height: float) -> Figure:
    """Return an empty figure of column width, without a window or global state."""
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


class Look(NamedTuple):
    """How an agent is drawn."""

    colour: str
    line: Any
    mark: str


LINES_AND_MARKS: tuple[tuple[Any, str], ...] = (
    ("-", "o"), (DASHED, "s"), (DOTTED, "^"), ((0, (6, 1.5, 1, 1.5)), "v"), ((0, (8, 3)), "P"), ((0, (3, 1)), "X"),
)  # fmt: skip


def colour_of(agent: str) -> str:
    """Return the agent's colour: the same in every figure, whichever agents are beside it."""
    return AGENTS.get(agent) or PALETTE[crc32(agent.encode()) % len(PALETTE)]


def looks(agents: Sequence[str]) -> dict[str, Look]:
    """Return how the agents of one figure are drawn; lines and marks tell apart those that share a colour."""
    found, sharing = {}, Counter[str]()
    for agent in sorted(agents, key=lambda name: (name not in AGENTS, name)):
        colour = colour_of(agent)
        found[agent] = Look(colour, *LINES_AND_MARKS[sharing[colour] % len(LINES_AND_MARKS)])
        sharing[colour] += 1
    return {agent: found[agent] for agent in agents}


def signed(number: float, digits: int) -> str:
    """Return a number with a true minus sign, as on the axes."""
    return f"{number:.{digits}f}".replace("-", "\N{MINUS SIGN}")


def spread(places: Sequence[float], gap: float) -> list[float]:
    """Return ``places`` of labels, sorted, moved apart to at least ``gap``."""
    moved = list(places)
    for _ in range(200):
        overlaps = [i for i in range(len(moved) - 1) if moved[i + 1] - moved[i] < gap * 0.999]
        if not overlaps:
            break
        for i in overlaps:
            push = (gap - (moved[i + 1] - moved[i])) / 2
            moved[i] -= push
            moved[i + 1] += push
    return moved


METADATA: dict[str, dict[str, Any]] = {
    "pdf": {"CreationDate": None, "Producer": None, "Creator": None},
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
}
"""Metadata by kind of image, without the fields that change from one drawing to the next."""


HEAD_WIDTH = 50  # characters of a line above a figure
HEAD_LINE = 0.145  # inches


def head(figure: Figure, heading: str, mark: str = "", *, bold: bool = False) -> None:
    """Write above a finished figure what it is about and, in red, the mechanisms that a run lacks; it grows."""
    lines = [(line, INK, "bold" if bold else "normal") for line in textwrap.wrap(heading, HEAD_WIDTH)]
    lines += [(line, "#B00020", "bold") for line in textwrap.wrap(mark, HEAD_WIDTH)]
    width, below = figure.get_size_inches()
    height = below + 0.08 + HEAD_LINE * len(lines)
    figure.set_size_inches(width, height)
    engine: Any = figure.get_layout_engine()
    engine.set(rect=(0, 0, 1, below / height))
    for _ in range(2):  # ticks may change when the axes do
        figure.draw_without_rendering()
    figure.set_layout_engine("none")  # the layout knows no legend above which something stands
    for legend in figure.legends:
        legend.set_bbox_to_anchor((0, 0, 1, below / height), figure.transFigure)
    for i, (line, colour, weight) in enumerate(lines):
        place = 1 - (0.05 + HEAD_LINE * i) / height
        figure.text(0.02, place, line, va="top", color=colour, fontweight=weight)


def as_image(figure: Figure, kind: str, salt: str = "") -> bytes:
    """Return the figure as ``pdf``, ``png`` or ``svg`` (letters as outlines): equal bytes for equal figures.

    ``salt`` makes the ids in an SVG unique.
    """
    buffer = io.BytesIO()
    with mpl.rc_context({"svg.fonttype": "path", "svg.hashsalt": salt}):
        figure.savefig(buffer, format=kind, dpi=DPI, metadata=METADATA[kind])
    return buffer.getvalue()


def save(figure: Figure, stem: Path, kinds: Sequence[str] = ("png", "pdf")) -> Path:
    """Write the figure as ``stem.png`` and ``stem.pdf``, or as the given kinds; return the first path."""
    for kind in kinds:
        write_atomically(stem.with_suffix(f".{kind}"), as_image(figure, kind))
        figure.set_layout_engine("none")  # one layout for all kinds: it takes as long as drawing
    return stem.with_suffix(f".{kinds[0]}")
