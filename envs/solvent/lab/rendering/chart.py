"""A chart over the heartbeats of an episode."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from solvent.lab.rendering.palette import FAINT, LABEL, NOTE, PAPER, RULE, UNSEEN, Colour, mix
from solvent.lab.rendering.view import Box, Canvas, View

AXIS = 22  # width of the labels to the left of a chart


class Chart(NamedTuple):
    """A chart with heartbeats on the x axis and values from 0 to ``top`` on the y axis."""

    box: Box
    horizon: int
    top: float

    def x(self, heartbeat: float) -> float:
        """Return the x position of a heartbeat."""
        return self.box.x + self.box.width * heartbeat / self.horizon

    def y(self, value: float) -> float:
        """Return the y position of a value."""
        return self.box.bottom - self.box.height * min(value, self.top) / self.top


def axes(canvas: Canvas, view: View, box: Box, top: float) -> Chart:
    """Draw an empty chart with its base line and a line at each new reagent lot."""
    inner = Box(box.x + AXIS, box.y + 20, box.width - AXIS, box.height - 34)
    chart = Chart(inner, view.params.budget.heartbeats, top)
    lot = view.params.assay.lot_heartbeats
    if chart.horizon / lot <= 60:
        for heartbeat in range(lot, chart.horizon, lot):
            canvas.down(chart.x(heartbeat), inner.y, inner.bottom, RULE)
    canvas.across(inner.x, inner.right, inner.bottom, FAINT)
    return chart


def mark_levels(canvas: Canvas, chart: Chart, label: str, y: float) -> None:
    """Label a level and 0 to the left of a chart."""
    canvas.text(label, chart.box.x - 5, y, LABEL, align=1.0)
    canvas.text("0", chart.box.x - 5, chart.box.bottom + 3, LABEL, align=1.0)


def shade_unseen(canvas: Canvas, view: View, chart: Chart, below: float = 0.0) -> None:
    """Shade the time of actions that were not drawn, down to ``below`` the base line."""
    for before, beat in pairwise(view.history.beats):
        if beat.follows(before):
            continue
        left, right = chart.x(before.time), chart.x(beat.time)
        canvas.rect(left, chart.box.y, right - left, chart.box.height + below, mix(PAPER, UNSEEN, 0.35))
        if canvas.length("not seen", NOTE) < right - left - 4:
            canvas.text("not seen", (left + right) / 2, chart.box.y + 10, NOTE, align=0.5)


def steps(canvas: Canvas, view: View, chart: Chart, field: str, colours: tuple[Colour, Colour]) -> None:
    """Draw a field of the beats, constant between actions, as a line with its area filled; gaps stay empty."""
    beats, (line, fill) = view.history.beats, colours
    every = max(1, len(beats) // int(2 * chart.box.width))
    kept = [*range(0, len(beats) - 1, every), len(beats) - 1]
    points = [(chart.x(beats[i].time), chart.y(getattr(beats[i], field))) for i in kept]
    seen = [
        (points[k], points[k + 1])
        for k, (i, j) in enumerate(pairwise(kept))
        if beats[j].step - beats[i].step <= j - i
    ]
    for (x0, y0), (x1, _) in seen:
        canvas.rect(x0, y0, x1 - x0, chart.box.bottom - y0, fill)
    for (x0, y0), (x1, y1) in seen:
        canvas.across(x0, x1 + 1.5, y0 - 0.5, line, 1.5)
        canvas.down(x1, y0, y1, line, 1.5)
    canvas.dot(*points[-1], 3.2, line)
