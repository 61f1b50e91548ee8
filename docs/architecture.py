"""The picture of the architecture, from the imports of the sources: ``python docs/architecture.py``.

A box is a room: a folder, or the files beside the folders of a package. An arrow is an import, inside of functions too;
one that follows from other arrows is left out. The picture carries its arrows, which a test compares with the sources.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PICTURE = Path(__file__).with_name("img") / "architecture.png"
Edge = tuple[str, str]

ROOMS = {
    "solvent.lab": "lab",
    "solvent.debt": "debt",
    "solvent.energy": "energy",
    "solvent.gate": "gate",
    "solvent.adequacy": "adequacy",
    "solvent": "files",
    "solvent_agents.scripts": "scripts",
    "solvent_agents.planning": "planning",
    "solvent_agents.exact": "exact",
    "solvent_agents.learning": "learning",
    "solvent_agents.language": "language",
    "solvent_agents.agent": "agent",
    "solvent_agents.rollout": "agent",
    "solvent_agents.survey": "agent",
    "solvent_agents": "registry",
    "solvent_experiments.instruments": "instruments",
    "solvent_experiments.desk": "desk",
    "solvent_experiments.studies": "studies",
    "solvent_experiments.figures": "figures",
    "solvent_experiments.cli": "cli",
    "solvent_experiments.__main__": "cli",
    "solvent_experiments": "runs",
}
"""Module or package -> its room; the longest name that a module begins with counts."""


def room_of(module: str) -> str | None:
    """Return the room of a module, or of a name in one; None for another package's."""
    while module:
        if module in ROOMS:
            return ROOMS[module]
        module = module.rpartition(".")[0]
    return None


def exports() -> dict[str, str]:
    """Return the modules of the names that ``solvent`` gives on first use."""
    tree = ast.parse((ROOT / "envs/solvent/__init__.py").read_text(encoding="utf-8"))
    homes = next(
        n.value for n in tree.body if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "_HOME"
    )
    return {**ast.literal_eval(homes), "ENVIRONMENTS": "solvent.lab"}


def imports() -> Iterator[Edge]:
    """Yield each module with each module, or name in one, that it imports."""
    homes = exports()
    for folder in ("envs", "agents", "experiments"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            module = ".".join(path.relative_to(ROOT / folder).with_suffix("").parts).removesuffix(".__init__")
            if module == "solvent":  # the names of other modules, on first use
                continue
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Import):
                    yield from ((module, alias.name) for alias in node.names)
                elif isinstance(node, ast.ImportFrom):
                    for alias in node.names:
                        name = f"{node.module}.{alias.name}"
                        yield module, homes.get(alias.name, name) if node.module == "solvent" else name


def edges() -> set[Edge]:
    """Return which room imports which other one."""
    pairs = {(room_of(module), room_of(name)) for module, name in imports()}
    return {(a, b) for a, b in pairs if a and b and a != b}


def reachable(start: str, arrows: set[Edge]) -> set[str]:
    """Return the rooms that arrows lead to from ``start``, over any number of steps."""
    rooms: set[str] = set()
    waiting = [start]
    while waiting:
        room = waiting.pop()
        new = {b for a, b in arrows if a == room} - rooms
        rooms |= new
        waiting += new
    return rooms


def drawn(arrows: set[Edge]) -> set[Edge]:
    """Return the arrows that don't follow from the others."""
    left = set(arrows)
    for arrow in sorted(arrows):
        if arrow[1] in reachable(arrow[0], left - {arrow}):
            left.remove(arrow)
    return left


# -- the drawing ---------------------------------------------------------------------------------

WIDE, HIGH, ROW, HEAD = 1.6, 0.62, 0.96, 0.34  # inches: a box, from row to row, and a package's heading
INK, SOFT = "#22303c", "#55646f"
BANDS = {
    "experiments/solvent_experiments": ("#fbe9ef", 0, 2, 10.0),
    "agents/solvent_agents": ("#e5f3ea", 3, 7, 5.75),
    "envs/solvent": ("#e6eff9", 8, 10, 10.0),
}
"""Package -> colour, first and last row, right end."""
BOXES = {
    "cli": (5.0, 0, "cli", "the command solvent"),
    "studies": (3.0, 1, "studies/", "claims about rules"),
    "instruments": (6.3, 1, "instruments/", "commands: gate, …"),
    "desk": (8.8, 1, "desk/", "reviews by people"),
    "runs": (4.75, 2, "other files", "config, run, tables"),
    "figures": (2.4, 2, "figures/", "figures of a run"),
    "language": (3.75, 3, "language/", "language models"),
    "registry": (1.05, 4, "registry", "agents by name"),
    "learning": (4.8, 4, "learning/", "training, policies"),
    "planning": (1.05, 5, "planning/", "search in copies"),
    "exact": (2.75, 5, "exact/", "optimum of Tiny"),
    "scripts": (1.05, 6, "scripts/", "honest, offenders"),
    "agent": (2.3, 7, "agent, rollout", "what an agent is"),
    "energy": (3.75, 8, "energy/", "what acting costs"),
    "debt": (5.65, 8, "debt/", "unpaid claims"),
    "gate": (7.35, 8, "gate/", "claim and evidence"),
    "adequacy": (9.0, 8, "adequacy/", "words and evidence"),
    "lab": (3.1, 9, "lab/", "the world"),
    "files": (6.4, 10, "other files", "files, errors, chat"),
}
"""Room -> centre, row, name and what it is for."""


def height(row: int) -> float:
    """Return the distance of a row's centre from the top, below the headings of its package and those above."""
    headings = sum(first <= row for _, first, *_ in BANDS.values())
    return (row + 0.5) * ROW + HEAD * headings


def draw(arrows: set[Edge]) -> None:
    """Draw the rooms and these arrows, and write the picture."""
    from matplotlib.figure import Figure
    from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

    bottom = height(max(row for _, row, *_ in BOXES.values())) + ROW / 2 + 0.45
    figure = Figure((10.0, bottom), dpi=150)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0), xlim=(0.0, 10.0), ylim=(bottom, 0.0))
    axes.set_axis_off()
    for package, (colour, first, last, right) in BANDS.items():
        top = height(first) - ROW / 2 - HEAD
        style = "round,pad=0,rounding_size=0.12"
        size = (right - 0.2, height(last) + ROW / 2 - top - 0.04)
        axes.add_patch(FancyBboxPatch((0.1, top + 0.06), *size, boxstyle=style, fc=colour, ec="none"))
        axes.text(0.25, top + 0.26, package, size=10, weight="bold", color=SOFT, va="center")
    patches = {}
    for room, (x, row, name, purpose) in BOXES.items():
        y = height(row)
        style = "round,pad=0,rounding_size=0.08"
        box = FancyBboxPatch(
            (x - WIDE / 2, y - HIGH / 2), WIDE, HIGH, boxstyle=style, fc="white", ec=INK, lw=1.0
        )
        patches[room] = axes.add_patch(box)
        axes.text(x, y - 0.11, name, size=11, weight="bold", color=INK, ha="center", va="center")
        axes.text(x, y + 0.14, purpose, size=9.5, color=SOFT, ha="center", va="center")
    for a, b in sorted(arrows):
        ends = [(BOXES[room][0], height(BOXES[room][1])) for room in (a, b)]
        arrow = FancyArrowPatch(
            *ends,
            patchA=patches[a],
            patchB=patches[b],
            arrowstyle="-|>",
            mutation_scale=11,
            color=INK,
            lw=1.1,
        )
        axes.add_patch(arrow)
    legend = "An arrow is an import; one that follows from other arrows is left out."
    axes.text(0.25, bottom - 0.2, legend, size=9.5, color=SOFT, va="center")
    figure.savefig(PICTURE, metadata={"Description": json.dumps(sorted(arrows)), "Software": None})


if __name__ == "__main__":
    draw(drawn(edges()))
