"""What every panel is given: the canvas, the lab, what happened before; and a box to draw in."""

from __future__ import annotations

from typing import Any, NamedTuple

from solvent.lab.params import LabParams
from solvent.lab.rendering.canvas import Canvas
from solvent.lab.rendering.history import History
from solvent.lab.rendering.palette import INK, MUTED

__all__ = ["Box", "Scene", "title"]


class Box(NamedTuple):
    """A rectangle in units."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """Right edge."""
        return self.x + self.width

    @property
    def bottom(self) -> float:
        """Lower edge."""
        return self.y + self.height

    def moved(self, right: float) -> Box:
        """The same box further right."""
        return self._replace(x=self.x + right)


class Scene(NamedTuple):
    """One frame: where to draw and what."""

    canvas: Canvas
    params: LabParams
    lab: Any
    step: Any
    history: History
    reveal: bool


def title(canvas: Canvas, box: Box, name: str, value: str = "", shorter: str = "") -> None:
    """The panel's name at its upper left, its number at the upper right; ``shorter`` where that has no room."""
    length = canvas.text(name, box.x, box.y + 10, INK, 12, bold=True)
    room = box.width - length - 12
    if shorter and canvas.length(value, 11) > room:
        value = shorter
    canvas.text(value, box.right, box.y + 10, MUTED, 11, align=1.0, width=room)
