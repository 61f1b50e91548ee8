"""Panels of the books: the plate of wells, debt against its threshold, the budget over time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from solvent.lab.codes import Event
from solvent.lab.mechanisms.debt import multiplier
from solvent.lab.params import LabParams
from solvent.lab.rendering.canvas import Canvas, Colour, mix
from solvent.lab.rendering.history import Beat
from solvent.lab.rendering.palette import (
    DEBT,
    FAINT,
    FINDING,
    INK,
    MUTED,
    PAPER,
    REVIEW,
    RULE,
    TEMPLATE_COLOURS,
    UNSEEN,
)
from solvent.lab.rendering.scene import Box, Scene, title
from solvent.lab.tables import debt_rules
from solvent.lab.verbs import TEMPLATES, Verb

__all__ = ["AXIS", "Chart", "axes", "debt_chart", "plate", "plate_background", "steps", "wells_chart"]

FORMATS = ((2, 3), (4, 6), (8, 12), (16, 24), (32, 48))  # rows and columns of plates that one can buy
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
AXIS = 22  # room for the labels left of a chart


class Wells(NamedTuple):
    """Where the wells are: a standard plate that holds the budget, or one well for several."""

    rows: int
    columns: int
    per_dot: int
    dots: int
    pitch: float
    radius: float
    x: float
    y: float

    def centre(self, index: int) -> tuple[float, float]:
        """Where a well is; the plate is filled row by row."""
        row, column = divmod(index, self.columns)
        return self.x + (column + 0.5) * self.pitch, self.y + (row + 0.5) * self.pitch


def layout(params: LabParams, box: Box) -> Wells:
    """The smallest standard plate that holds the budget."""
    wells = params.budget.wells
    rows, columns = next((f for f in FORMATS if f[0] * f[1] >= wells), FORMATS[-1])
    per_dot = -(-wells // (rows * columns))
    pitch = min((box.width - AXIS) / columns, (box.height - 54) / rows)
    left = box.x + AXIS + (box.width - AXIS - pitch * columns) / 2
    dots = -(-wells // per_dot)
    return Wells(rows, columns, per_dot, dots, pitch, 0.39 * pitch, left, box.y + 30)


def plate_background(canvas: Canvas, params: LabParams, box: Box) -> None:
    """The empty plate with its coordinates."""
    wells = layout(params, box)
    for index in range(wells.dots):
        canvas.dot(*wells.centre(index), wells.radius, mix(RULE, FAINT, 0.5), wells.radius - 1)
    for column in {0, *range(5, wells.columns, 6)} if wells.columns > 6 else range(wells.columns):
        canvas.text(str(column + 1), wells.centre(column)[0], wells.y - 4, MUTED, 9, align=0.5)
    for row in range(0, -(-wells.dots // wells.columns), 1 if wells.rows <= 16 else 4):
        y = wells.centre(row * wells.columns)[1] + 3
        canvas.text(_letter(row), wells.x - 5, y, MUTED, 9, align=1.0)


def _letter(row: int) -> str:
    return LETTERS[row] if row < 26 else "A" + LETTERS[row - 26]


def plate(scene: Scene, box: Box) -> None:
    """The plate as it has been filled: a colour a template, rings for what debt added to the price."""
    canvas, params = scene.canvas, scene.params
    left, start = int(scene.lab["wells"]), params.budget.wells
    wells = layout(params, box)
    scale = f", a dot is {wells.per_dot}" if wells.per_dot > 1 else ""
    title(canvas, box, "Wells", f"{left} of {start} left{scale}")
    half = canvas.sprite(wells.radius, INK).get_width() / 2
    blits = []
    spent = 0
    for colour, count, hollow in _fillings(scene):
        sprite = canvas.sprite(wells.radius, colour, wells.radius - 1.8 if hollow else 0.0)
        for index in range(spent // wells.per_dot, min(wells.dots, (spent + count) // wells.per_dot)):
            x, y = wells.centre(index)
            blits.append((sprite, (round(x * canvas.scale - half), round(y * canvas.scale - half))))
        spent += count
    canvas.surface.blits(blits)
    _legend(canvas, wells, box)


def _fillings(scene: Scene) -> Iterator[tuple[Colour, int, bool]]:
    """What the wells went to, in order: (colour, wells, whether debt took them)."""
    for before, beat in pairwise(scene.history.beats):
        charged = before.wells - beat.wells
        base = _base_wells(scene.params, beat) if beat.event in (Event.CALIBRATED, Event.EXPLORED) else 0
        known = beat.step == before.step + 1
        if known:
            yield TEMPLATE_COLOURS.get(beat.verb, UNSEEN), min(base, charged), False
            yield DEBT, max(0, charged - base), True
        else:
            yield UNSEEN, max(0, charged - base), False
            yield TEMPLATE_COLOURS.get(beat.verb, UNSEEN), min(base, charged), False


def _base_wells(params: LabParams, beat: Beat) -> int:
    if beat.verb not in TEMPLATES:
        return 0
    return int(getattr(params.plates, Verb(beat.verb).name.lower()).wells)


def _legend(canvas: Canvas, wells: Wells, box: Box) -> None:
    x, y = box.x + AXIS, wells.y + wells.rows * wells.pitch + 17
    for verb, colour in TEMPLATE_COLOURS.items():
        canvas.dot(x + 4, y - 3.5, 4, colour)
        x += 12 + canvas.text(Verb(verb).name.lower().replace("_", " "), x + 11, y, MUTED, 10) + 8
    canvas.dot(x + 4, y - 3.5, 4, DEBT, 2.4)
    canvas.text("surcharge", x + 11, y, MUTED, 10)


# -- over time


class Chart(NamedTuple):
    """Heartbeats across, ``top`` at the upper edge, 0 at the lower."""

    box: Box
    horizon: int
    top: float

    def x(self, heartbeat: float) -> float:
        """Where a heartbeat is."""
        return self.box.x + self.box.width * heartbeat / self.horizon

    def y(self, value: float) -> float:
        """Where a value is."""
        return self.box.bottom - self.box.height * min(value, self.top) / self.top


def axes(scene: Scene, box: Box, top: float) -> Chart:
    """The empty chart: base line, and a tick where a new reagent lot comes."""
    inner = Box(box.x + AXIS, box.y + 20, box.width - AXIS, box.height - 34)
    chart = Chart(inner, scene.params.budget.heartbeats, top)
    lot = scene.params.assay.lot_heartbeats
    if chart.horizon / lot <= 60:
        for heartbeat in range(lot, chart.horizon, lot):
            scene.canvas.down(chart.x(heartbeat), inner.y, inner.bottom, RULE)
    scene.canvas.across(inner.x, inner.right, inner.bottom, FAINT)
    return chart


def steps(scene: Scene, chart: Chart, values: list[float], line: Colour, fill: Colour) -> None:
    """A value that holds from one heartbeat to the next, as a line over its area."""
    canvas, beats = scene.canvas, scene.history.beats
    every = max(1, len(beats) // int(2 * chart.box.width))
    points = [(chart.x(b.time), chart.y(v)) for b, v in zip(beats, values, strict=True)]
    points = points[:-1:every] + points[-1:]
    for (x0, y0), (x1, _) in pairwise(points):
        canvas.rect(x0, y0, x1 - x0, chart.box.bottom - y0, fill)
    for (x0, y0), (x1, y1) in pairwise(points):
        canvas.across(x0, x1 + 1.5, y0 - 0.5, line, 1.5)
        canvas.down(x1, y0, y1, line, 1.5)
    canvas.dot(*points[-1], 3.2, line)


def _price(params: LabParams, debt: float) -> float:
    """What debt makes of the price of a screen; in plain Python, since compiling takes longer than a frame."""
    rule = getattr(multiplier, "py_func", multiplier)
    return float(rule(debt_rules(params), debt, params.plates.screen.wells, False))


def debt_chart(scene: Scene, box: Box) -> None:
    """Debt over time against the threshold above which exploration is refused; under it, verdicts."""
    canvas, debt = scene.canvas, scene.params.debt
    price = _price(scene.params, float(scene.lab["debt"]))
    what = "wells" if scene.params.energy.enabled else "prices"
    title(canvas, box, "Debt", f"{scene.lab['debt']:.2f} bits, {what} ×{price:.2f}")
    canvas.cross(box.x + 50, box.y + 6.5, 2.5, INK)
    canvas.text("refused", box.x + 57, box.y + 10, MUTED, 10)
    canvas.dot(box.x + 108, box.y + 6.5, 3, FINDING)
    canvas.text("published", box.x + 115, box.y + 10, MUTED, 10)
    if scene.params.gate.enabled:
        canvas.dot(box.x + 169, box.y + 6.5, 3, REVIEW, 1.6)
        canvas.text("to review", box.x + 176, box.y + 10, MUTED, 10)
    values = [beat.debt for beat in scene.history.beats]
    chart = axes(scene, box, max(1.5 * debt.threshold, 1.1 * max(values), 0.5))
    above = chart.y(debt.threshold)
    canvas.rect(chart.box.x, chart.box.y, chart.box.width, above - chart.box.y, mix(PAPER, DEBT, 0.06))
    steps(scene, chart, values, DEBT, mix(PAPER, DEBT, 0.22))
    canvas.dashes(chart.box.x, chart.box.right, above, INK)
    canvas.text(f"{debt.threshold:g}", chart.box.x - 5, above + 3.5, MUTED, 10, align=1.0)
    canvas.text("0", chart.box.x - 5, chart.box.bottom + 3, MUTED, 10, align=1.0)
    canvas.text("threshold", chart.box.right - 3, above - 4, MUTED, 9, align=1.0)
    _verdicts(scene, chart)


def _verdicts(scene: Scene, chart: Chart) -> None:
    """Under the chart, when it happened: a cross for a refusal, a dot for a finding, a ring for one under review."""
    each = 1 / scene.params.slots
    for before, beat in pairwise(scene.history.beats):
        x, y = (chart.x(beat.began + each) + chart.x(beat.began)) / 2, chart.box.bottom + 7
        if beat.refusals > before.refusals:
            scene.canvas.cross(x, y, 2.5, INK)
        elif beat.event == Event.PUBLISHED:
            scene.canvas.dot(x, y, 3, FINDING)
        elif beat.event == Event.SUBMITTED:
            scene.canvas.dot(x, y, 3, REVIEW, 1.6)
    for decision in scene.history.decisions:
        if decision.approved:
            scene.canvas.dot(chart.x(decision.heartbeat), chart.box.bottom + 7, 3, FINDING)


def wells_chart(scene: Scene, box: Box) -> None:
    """The budget over time; under it what was done in each heartbeat."""
    canvas, start = scene.canvas, scene.params.budget.wells
    title(canvas, box, "Budget", "wells left")
    chart = axes(scene, box, float(start))
    steps(scene, chart, [beat.wells for beat in scene.history.beats], INK, mix(PAPER, INK, 0.08))
    canvas.text(str(start), chart.box.x - 5, chart.box.y + 6, MUTED, 10, align=1.0)
    canvas.text("0", chart.box.x - 5, chart.box.bottom + 3, MUTED, 10, align=1.0)
    y = box.bottom - 1
    canvas.text("heartbeat 0", chart.box.x, y, MUTED, 9)
    canvas.text(str(chart.horizon), chart.box.right, y, MUTED, 9, align=1.0)
