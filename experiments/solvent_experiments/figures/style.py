"""One style for all figures: column width, 8-point text, the palette of Okabe and Ito (2008) for colour blindness."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from solvent_experiments.artifacts.files import write_atomically

__all__ = [
    "DASHED",
    "DOTTED",
    "GREY",
    "INK",
    "PALETTE",
    "REASONS",
    "WIDTH",
    "as_image",
    "colours",
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
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D1F")

REASONS = {
    "epistemic_debt_action_blocked": ("debt above threshold", "#D55E00"),
    "epistemic_debt_budget_exceeded": ("inflated cost above wells left", "#0072B2"),
    "insufficient_budget_for_epistemic_recovery": ("no reserve for a calibration", "#E69F00"),
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


def colours(agents: Sequence[str]) -> dict[str, str]:
    return {agent: PALETTE[i % len(PALETTE)] for i, agent in enumerate(agents)}


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


def as_image(figure: Figure, kind: str, mark: str = "", salt: str = "") -> bytes:
    """Return the figure as ``pdf``, ``png`` or ``svg`` (letters as outlines): equal bytes for equal figures.

    ``mark`` is a line above the figure that names the mechanisms a run lacks; ``salt`` makes the ids in an SVG
    unique.
    """
    if mark:
        figure.suptitle(mark, color="#B00020", fontsize=8, fontweight="bold")
    buffer = io.BytesIO()
    with mpl.rc_context({"svg.fonttype": "path", "svg.hashsalt": salt}):
        figure.savefig(buffer, format=kind, dpi=DPI, metadata=METADATA[kind])
    return buffer.getvalue()


def save(figure: Figure, stem: Path, mark: str = "", kinds: Sequence[str] = ("png", "pdf")) -> Path:
    """Write the figure as ``stem.png`` and ``stem.pdf``, or as the given kinds; return the first path."""
    for kind in kinds:
        write_atomically(stem.with_suffix(f".{kind}"), as_image(figure, kind, mark))
        figure.set_layout_engine("none")  # one layout for all kinds: it takes as long as drawing
    return stem.with_suffix(f".{kinds[0]}")
