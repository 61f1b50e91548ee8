"""The view of a lab that every panel receives, and the boxes of a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from solvent.lab.params import LabParams
from solvent.lab.rendering.history import History
from solvent.lab.rendering.palette import INK, MUTED, Style

if TYPE_CHECKING:
    from solvent.lab.rendering.canvas import Canvas
else:
    Canvas = Any  # the terminal uses panels too, without pygame

__all__ = ["Box", "Canvas", "View", "title"]

NAME, VALUE = Style(INK, 12, bold=True), Style(MUTED, 11)


class View(NamedTuple):
    """A lab at one moment."""

    params: LabParams
    lab: Any  # a record of ``state.lab_fields``
    step: Any  # the record of its last step
    history: History


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
        """Return the box moved to the right."""
        return self._replace(x=self.x + right)


def title(canvas: Canvas, box: Box, name: str, value: str = "", shorter: str = "") -> None:
    """Draw a panel's name at the upper left and its value at the upper right, ``shorter`` if space is tight."""
    room = box.width - canvas.text(name, box.x, box.y + 10, NAME) - 12
    if shorter and canvas.length(value, VALUE) > room:
        value = shorter
    canvas.text(value, box.right, box.y + 10, VALUE, align=1.0, width=room)
