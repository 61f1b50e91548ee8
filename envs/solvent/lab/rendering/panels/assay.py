"""The assay: the readouts of the last plate, and those that the belief expects."""

from __future__ import annotations

import numpy as np

from solvent.lab.codes import Event
from solvent.lab.mechanisms.assay import DoseTemplate, viability
from solvent.lab.rendering.history import Plate, plates_run
from solvent.lab.rendering.palette import FAINT, INK, LABEL, NOTE, PAPER, RULE, TEMPLATE_COLOURS, mix
from solvent.lab.rendering.view import Box, Canvas, View, title
from solvent.lab.rendering.words import concentration, verb_words


def readouts(canvas: Canvas, view: View, box: Box) -> None:
    """Draw the last plate's readouts as dots, and the readouts expected under the belief as a line."""
    assay, plate = view.params.assay, view.history.plate
    title(canvas, box, "Last plate", assay.compounds[plate.compound] if plate and plate.compound >= 0 else "")
    inner = Box(box.x + 24, box.y + 22, box.width - 24, box.height - 52)
    for level in (0.0, 0.5, 1.0, 1.5):
        if assay.bin_low <= level <= assay.bin_high:
            y = _level(view, inner, level)
            canvas.across(inner.x, inner.right, y, RULE)
            canvas.text(f"{level:g}", inner.x - 6, y + 3.5, LABEL, align=1.0)
    canvas.across(inner.x, inner.right, inner.bottom, FAINT)
    if plate is None:
        run = "the last plate was not seen" if plates_run(view.lab) else "no plate yet"
        canvas.text(run, inner.x + inner.width / 2, inner.y + 36, LABEL, align=0.5)
        return
    template = getattr(view.params.plates, plate.verb.name.lower())
    _expected(canvas, view, inner, plate)
    _points(canvas, view, inner, plate)
    if isinstance(template, DoseTemplate):
        canvas.text(concentration(template.doses[0]), inner.x, inner.bottom + 12, LABEL)
        if len(template.doses) > 1:
            canvas.text(concentration(template.doses[-1]), inner.right, inner.bottom + 12, LABEL, align=1.0)
    what = verb_words(plate.verb).replace("dmso", "DMSO")
    canvas.text(f"{what}: readouts; line: expected", inner.x, box.bottom, NOTE)


def _level(view: View, box: Box, value: float) -> float:
    low, high = view.params.assay.bin_low, view.params.assay.bin_high
    return box.bottom - box.height * min(1.0, max(0.0, (value - low) / (high - low)))


def _across(box: Box, index: int, count: int) -> float:
    return box.x + box.width * (index + 0.5) / count


def _points(canvas: Canvas, view: View, box: Box, plate: Plate) -> None:
    """Draw each readout as a dot at the middle of its bin, with a bar over the bin."""
    assay, colour = view.params.assay, TEMPLATE_COLOURS[plate.verb]
    height = (assay.bin_high - assay.bin_low) / assay.bins
    if view.lab["last_event"] not in (Event.CALIBRATED, Event.EXPLORED):
        colour = mix(PAPER, colour, 0.6)
    for r, observed in enumerate(plate.bins):
        x = _across(box, r, len(plate.bins))
        below = _level(view, box, assay.bin_low + observed * height)
        above = _level(view, box, assay.bin_low + (observed + 1) * height)
        canvas.down(x - 0.75, above, below, colour, 1.5)
        canvas.dot(x, (below + above) / 2, 3.5, colour)


def _expected(canvas: Canvas, view: View, box: Box, plate: Plate) -> None:
    assay, lab = view.params.assay, view.lab
    template = getattr(view.params.plates, plate.verb.name.lower())
    by_gain = np.asarray(lab["instrument_belief"]).reshape(len(assay.gains), len(assay.plate_sds)).sum(1)
    gain = float(by_gain @ np.array(assay.gains))
    means = np.full(len(plate.bins), gain)
    if isinstance(template, DoseTemplate):
        means = gain * viability(assay, template.doses) @ lab["marginal"][plate.compound]
    points = [(_across(box, r, len(means)), _level(view, box, float(mean))) for r, mean in enumerate(means)]
    canvas.polyline([(box.x, points[0][1]), *points, (box.right, points[-1][1])], INK)
