"""Wells: the budget as a plate, and over time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from solvent.lab.actions import offered_verbs
from solvent.lab.codes import Event
from solvent.lab.params import LabParams
from solvent.lab.rendering.chart import AXIS, axes, mark_levels, shade_unseen, steps
from solvent.lab.rendering.palette import (
    DEBT,
    FAINT,
    INK,
    LABEL,
    NOTE,
    PAPER,
    RULE,
    TEMPLATE_COLOURS,
    UNSEEN,
    Colour,
    mix,
)
from solvent.lab.rendering.sheet import Sheet, bar, fit, paint
from solvent.lab.rendering.view import Box, Canvas, View, title
from solvent.lab.rendering.words import bits, verb_words
from solvent.lab.verbs import TEMPLATES, VERBS, Verb

FORMATS = ((2, 3), (4, 6), (8, 12), (16, 24), (32, 48))  # rows and columns of standard plates
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def charged(params: LabParams, verb: int, wells: int) -> str:
    """Return the wells of an experiment, with the number charged if debt raised it."""
    base = _base_wells(params, verb)
    return f"{base} wells" if wells == base else f"{base} wells charged as {wells}"


def _base_wells(params: LabParams, verb: int) -> int:
    return int(getattr(params.plates, VERBS[Verb(verb)].name).wells) if verb in TEMPLATES else 0


def line(sheet: Sheet, view: View) -> str:
    """Return the wells left as a bar, and the score."""
    left, start = view.lab["wells"], view.params.budget.wells
    score = paint(f"score {bits(view.lab['score']):>6} bits", "bold")
    return sheet.entry("wells", f"{fit(bar(left / start, sheet.bar), sheet.bar)}▏{left:>5} of {start}", score)


# -- the plate


class Wells(NamedTuple):
    """Positions of the wells on a standard plate; one dot may stand for several wells."""

    rows: int
    columns: int
    per_dot: int
    dots: int
    pitch: float
    radius: float
    x: float
    y: float

    def centre(self, index: int) -> tuple[float, float]:
        """Return the centre of a well; wells are ordered row by row."""
        row, column = divmod(index, self.columns)
        return self.x + (column + 0.5) * self.pitch, self.y + (row + 0.5) * self.pitch


def _layout(params: LabParams, box: Box) -> Wells:
    """Return the smallest standard plate that holds the budget."""
    wells = params.budget.wells
    rows, columns = next((f for f in FORMATS if f[0] * f[1] >= wells), FORMATS[-1])
    per_dot = -(-wells // (rows * columns))
    pitch = min((box.width - AXIS) / columns, (box.height - 54) / rows)
    left = box.x + AXIS + (box.width - AXIS - pitch * columns) / 2
    return Wells(rows, columns, per_dot, -(-wells // per_dot), pitch, 0.39 * pitch, left, box.y + 30)


def plate_background(canvas: Canvas, params: LabParams, box: Box) -> None:
    """Draw the empty plate with its coordinates."""
    wells = _layout(params, box)
    for index in range(wells.dots):
        canvas.dot(*wells.centre(index), wells.radius, mix(RULE, FAINT, 0.5), wells.radius - 1)
    for column in {0, *range(5, wells.columns, 6)} if wells.columns > 6 else range(wells.columns):
        canvas.text(str(column + 1), wells.centre(column)[0], wells.y - 4, NOTE, align=0.5)
    for row in range(0, -(-wells.dots // wells.columns), 1 if wells.rows <= 16 else 4):
        letter = LETTERS[row] if row < 26 else "A" + LETTERS[row - 26]
        canvas.text(letter, wells.x - 5, wells.centre(row * wells.columns)[1] + 3, NOTE, align=1.0)


def plate(canvas: Canvas, view: View, box: Box) -> None:
    """Draw the used wells in the colours of their templates, and wells added by debt as rings."""
    wells = _layout(view.params, box)
    scale = f", a dot is {wells.per_dot}" if wells.per_dot > 1 else ""
    title(canvas, box, "Wells", f"{int(view.lab['wells'])} of {view.params.budget.wells} left{scale}")
    half = canvas.sprite(wells.radius, INK).get_width() / 2
    blits: list[Any] = []
    spent = 0
    for colour, count, hollow in _fillings(view):
        sprite = canvas.sprite(wells.radius, colour, wells.radius - 1.8 if hollow else 0.0)
        for index in range(spent // wells.per_dot, min(wells.dots, (spent + count) // wells.per_dot)):
            x, y = wells.centre(index)
            blits.append((sprite, (round(x * canvas.scale - half), round(y * canvas.scale - half))))
        spent += count
    canvas.surface.blits(blits)
    _legend(canvas, view, box.x + AXIS, wells.y + wells.rows * wells.pitch + 17)


def _fillings(view: View) -> Iterator[tuple[Colour, int, bool]]:
    """Yield the uses of the wells in order: colour, number, and whether debt added them."""
    for before, beat in pairwise(view.history.beats):
        taken = before.wells - beat.wells
        base = _base_wells(view.params, beat.verb) if beat.event in (Event.CALIBRATED, Event.EXPLORED) else 0
        of_plate = TEMPLATE_COLOURS.get(beat.verb, UNSEEN), min(base, taken), False
        if beat.follows(before):
            yield of_plate
            yield DEBT, max(0, taken - base), True
        else:
            yield UNSEEN, max(0, taken - base), False
            yield of_plate


def _legend(canvas: Canvas, view: View, x: float, y: float) -> None:
    for verb in offered_verbs(view.params):
        if verb not in TEMPLATE_COLOURS:
            continue
        canvas.dot(x + 4, y - 3.5, 4, TEMPLATE_COLOURS[verb])
        x += 12 + canvas.text(verb_words(verb), x + 11, y, LABEL) + 8
    canvas.dot(x + 4, y - 3.5, 4, DEBT, 2.4)
    x += 12 + canvas.text("surcharge", x + 11, y, LABEL) + 8
    if view.history.unseen:
        canvas.dot(x + 4, y - 3.5, 4, UNSEEN)
        canvas.text("not seen", x + 11, y, LABEL)


# -- over time


def wells_chart(canvas: Canvas, view: View, box: Box) -> None:
    """Draw the wells left over time."""
    start = view.params.budget.wells
    title(canvas, box, "Budget", view.history.gap() or "wells left")
    chart = axes(canvas, view, box, float(start))
    shade_unseen(canvas, view, chart)
    steps(canvas, view, chart, "wells", (INK, mix(PAPER, INK, 0.08)))
    mark_levels(canvas, chart, str(start), chart.box.y + 6)
    canvas.text("heartbeat 0", chart.box.x, box.bottom - 1, NOTE)
    canvas.text(str(chart.horizon), chart.box.right, box.bottom - 1, NOTE, align=1.0)
