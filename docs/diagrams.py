"""The loop of debt, and the gate in an agent's loop: ``python docs/diagrams.py``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from solvent_experiments.figures.style import GREEN, INK, RED, SIZE, styled

IMG = Path(__file__).with_name("img")
Boxes = Mapping[str, tuple[float, float, str, str]]
Arrows = tuple[tuple[str, str, str, float], ...]
"""From box to box: the words beside the arrow, and how far it bends."""

DEBT: tuple[Boxes, Arrows] = (
    {
        "claim": (1.3, 2.3, "the agent claims\nc bits for a plate", INK),
        "check": (4.3, 2.3, "debt at most 2 bits?\nwells for the cost?", INK),
        "run": (7.3, 2.3, "the plate runs;\nthe posterior gains g bits", INK),
        "refused": (4.3, 0.6, "refused: nothing runs,\nthe heartbeat is lost", RED),
        "calibrate": (1.3, 0.6, "a calibration repays\n0.03 bits per well", GREEN),
        "debt": (7.3, 0.6, "debt grows by max(0, c - g),\nand every cost with it", RED),
    },
    (
        ("claim", "check", "", 0.0),
        ("check", "run", "yes", 0.0),
        ("check", "refused", "no", 0.0),
        ("run", "debt", "", 0.0),
        ("refused", "calibrate", "", 0.0),
        ("calibrate", "claim", "", 0.0),
        ("debt", "check", "", -0.15),
    ),
)
GATE: tuple[Boxes, Arrows] = (
    {
        "agent": (1.2, 1.45, "the agent:\na claim and its\nevidence", INK),
        "gate": (4.2, 1.45, "the gate: how much\nof the claim do the\nspans leave unexplained?", INK),
        "accept": (7.4, 2.5, "accepted: send it", GREEN),
        "review": (7.4, 1.45, "review:\na person decides", INK),
        "reject": (7.4, 0.5, "rejected: look again,\nor say less", RED),
    },
    (
        ("agent", "gate", "", 0.0),
        ("gate", "accept", "little", 0.0),
        ("gate", "review", "some", 0.0),
        ("gate", "reject", "much", 0.0),
        ("reject", "agent", "", -0.2),
    ),
)
LETTER, LINE = 0.078, 0.175
"""Inches of a letter's width and of a line's height."""
DIAGRAMS = {"debt_loop": (DEBT, 2.9), "gate_loop": (GATE, 2.95)}
"""Name: what is drawn, and the height in inches."""


def draw(name: str) -> None:
    """Draw a diagram and write it as PNG."""
    (boxes, arrows), height = DIAGRAMS[name]
    figure = Figure((8.8, height), dpi=150)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0), xlim=(0.0, 8.8), ylim=(0.0, height))
    axes.set_axis_off()
    patches = {}
    for box, (x, y, text, colour) in boxes.items():
        lines = text.split("\n")
        width, high = 0.3 + LETTER * max(map(len, lines)), 0.25 + LINE * len(lines)
        corner, style = (x - width / 2, y - high / 2), "round,pad=0,rounding_size=0.08"
        patches[box] = axes.add_patch(
            FancyBboxPatch(corner, width, high, boxstyle=style, fc="white", ec=colour, lw=1.4)
        )
        axes.text(x, y, text, size=SIZE + 2, color=INK, ha="center", va="center")
    for start, end, words, bend in arrows:
        ends = [boxes[box][:2] for box in (start, end)]
        axes.add_patch(
            FancyArrowPatch(
                *ends, patchA=patches[start], patchB=patches[end], connectionstyle=f"arc3,rad={bend}", arrowstyle="-|>",
                mutation_scale=14, shrinkA=2, shrinkB=3, color=INK, lw=1.2,
            )
        )  # fmt: skip
        middle = [(a + b) / 2 for a, b in zip(*ends, strict=True)]
        axes.text(
            *middle,
            words,
            size=SIZE + 1,
            color=INK,
            ha="center",
            va="center",
            bbox={"fc": "white", "ec": "none"},
        )
    figure.savefig(IMG / f"{name}.png", metadata={"Software": None})


if __name__ == "__main__":
    with styled():
        for diagram in DIAGRAMS:
            draw(diagram)
