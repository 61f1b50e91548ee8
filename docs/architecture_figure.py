"""Draws docs/img/architecture.png, the figure of docs/architecture.md: ``python docs/architecture_figure.py``."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch

from solvent.lab.mechanisms import MECHANISMS

FILE = Path(__file__).parent / "img" / "architecture.png"
INK, PAPER = "#222222", "#ffffff"
LAB, INSTRUMENTS, AGENTS, EXPERIMENTS = "#e3eef8", "#fdf0d5", "#e2f2e8", "#f6e3ec"

Box = tuple[float, float, float, float]  # left, bottom, width, height


def box(axes: Axes, at: Box, title: str, text: str = "", colour: str = PAPER) -> None:
    """Draw a room with its title in the upper left corner, or in the middle where there is no text."""
    left, bottom, width, height = at
    frame = "round,pad=0,rounding_size=0.12"
    patch = FancyBboxPatch(
        (left, bottom), width, height, boxstyle=frame, facecolor=colour, edgecolor=INK, linewidth=0.9
    )
    axes.add_patch(patch)
    if text:
        axes.text(left + 0.15, bottom + height - 0.14, title, va="top", fontsize=9.5, weight="bold")
        axes.text(left + 0.15, bottom + height - 0.5, text, va="top", fontsize=8, linespacing=1.35)
    else:
        axes.text(left + width / 2, bottom + height / 2, title, ha="center", va="center", fontsize=8.5)


def arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float], *, data: bool = False) -> None:
    """Draw an import, or with ``data`` a file that is written by one and read by the other."""
    style = {"arrowstyle": "-|>", "color": INK, "linewidth": 1.2, "linestyle": "--" if data else "-"}
    axes.annotate("", xy=end, xytext=start, arrowprops={**style, "shrinkA": 0, "shrinkB": 0})


def draw() -> None:
    """Draw the figure into ``FILE``."""
    figure, axes = plt.subplots(figsize=(9.6, 8.2), dpi=150)
    axes.set(xlim=(0, 12), ylim=(0, 10.0))
    axes.axis("off")

    box(axes, (0.1, 9.0, 11.8, 0.9), "experiments/solvent_experiments",
        "config and seed to artifact, figures, reports, studies, the command line", EXPERIMENTS)  # fmt: skip
    box(axes, (0.1, 7.5, 7.6, 0.9), "agents/solvent_agents",
        "scripted agents, learners, planner, exact solution", AGENTS)  # fmt: skip

    instruments = {
        "debt": "claims, refusals,\ntheir log",
        "energy": "budget, prices of tools,\nthe store of costs",
        "gate": "residual, policies,\ncalibration",
        "adequacy": "words against evidence,\njudge, drift",
    }
    for i, (name, text) in enumerate(instruments.items()):
        box(axes, (0.1 + 2.6 * i, 5.7, 2.45, 1.2), f"solvent/{name}", text, INSTRUMENTS)

    box(axes, (0.1, 0.1, 11.8, 5.1), "envs/solvent/lab", " ", LAB)
    box(axes, (0.35, 3.75, 3.4, 0.9), "shells", "environment  vector  batch  wrappers")
    box(axes, (0.35, 2.45, 3.4, 0.9), "dynamics", "the order in which mechanisms act")
    box(axes, (4.35, 2.45, 4.0, 2.2), "collectors",
        "state: fields of the records\nobservation, mask: the agent's view\ninfo, columns: what a step and an\n"
        "   episode are told as\nledger: the logs\ntables: what the step looks up")  # fmt: skip
    box(axes, (8.95, 2.45, 2.7, 0.9), "rendering", "terminal, frames")
    box(axes, (8.95, 3.75, 2.7, 0.9), "words", "catalogue, measured.npz")
    axes.text(2.35, 2.17, "mechanisms: one room each", va="center", fontsize=9.5, weight="bold")
    names = [mechanism.name for mechanism in MECHANISMS]
    for i, name in enumerate(names):
        row, column = divmod(i, 5)
        box(axes, (0.35 + 2.28 * column, 1.4 - 0.55 * row, 2.18, 0.45), name)
    axes.text(0.4, 0.42, "below them: settings, mechanism, codes, verbs, names, compiled "
              "(no mechanism imports a collector)", va="center", fontsize=8)  # fmt: skip

    arrow(axes, (3.9, 9.0), (3.9, 8.4))
    arrow(axes, (9.0, 9.0), (9.0, 6.9))
    arrow(axes, (3.9, 7.5), (3.9, 6.9))
    arrow(axes, (5.2, 5.7), (5.2, 5.2))
    arrow(axes, (2.05, 3.75), (2.05, 3.35))
    arrow(axes, (3.75, 4.2), (4.35, 4.2))
    arrow(axes, (2.05, 2.45), (2.05, 1.9))
    arrow(axes, (6.35, 2.45), (6.35, 1.9))
    arrow(axes, (8.35, 4.2), (8.95, 4.2))
    arrow(axes, (10.3, 3.35), (10.3, 3.75))
    arrow(axes, (11.35, 9.0), (11.35, 4.65), data=True)
    axes.text(11.22, 6.3, "solvent gate build", rotation=90, ha="right", va="center", fontsize=8)
    axes.text(9.2, 8.2, "arrow: may import", va="center", fontsize=8)
    axes.text(9.2, 7.9, "dashed: writes a data file", va="center", fontsize=8)

    figure.subplots_adjust(0, 0, 1, 1)
    figure.savefig(FILE, metadata={"Software": None})


if __name__ == "__main__":
    draw()
