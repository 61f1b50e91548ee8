"""Panels of what is believed: compounds as small multiples, the instrument, and the last plate's readouts."""

from __future__ import annotations

import math

import numpy as np

from solvent.lab.codes import Event
from solvent.lab.mechanisms.assay import DoseTemplate, viability
from solvent.lab.params import LabParams
from solvent.lab.rendering.canvas import Colour, mix
from solvent.lab.rendering.history import Plate
from solvent.lab.rendering.palette import (
    BELIEF,
    FAINT,
    FINDING,
    INK,
    MUTED,
    PAPER,
    REVIEW,
    RULE,
    TEMPLATE_COLOURS,
)
from solvent.lab.rendering.scene import Box, Scene, title
from solvent.lab.rendering.words import class_name, concentration
from solvent.lab.verbs import Verb

__all__ = ["compounds", "instrument", "readouts"]

COLUMNS = ((2, 1), (10, 2), (18, 3), (32, 4), (64, 6))  # up to so many compounds: so many columns


def compounds(scene: Scene, box: Box) -> None:
    """A small chart for each compound: as many as there are, smaller the more there are."""
    count = len(scene.params.assay.compounds)
    last = class_name(scene.params, scene.params.assay.potency_classes - 1)
    title(scene.canvas, box, "Compounds", f"belief: inactive | EC50 {class_name(scene.params, 1)} to {last}")
    columns = next(c for most, c in COLUMNS if count <= most)
    rows = math.ceil(count / columns)
    gap_x, gap_y = (28, 16) if columns <= 2 else (16, 10)
    if rows > 6:
        gap_y = 5
    width = (box.width - gap_x * (columns - 1)) / columns
    height = min(110.0, (box.height - 24 - gap_y * (rows - 1)) / rows)
    for m in range(count):
        row, column = divmod(m, columns)
        x, y = box.x + column * (width + gap_x), box.y + 24 + row * (height + gap_y)
        _compound(scene, m, Box(x, y, width, height))


def _compound(scene: Scene, m: int, box: Box) -> None:
    """Name, belief over classes, and where there is room: what is known and licensed, as a bar and in numbers."""
    canvas, lab = scene.canvas, scene.lab
    with_numbers, with_bar = box.height >= 58, box.height >= 36
    tag, tag_colour = _tag(scene, m, roomy=box.width > 180)
    x = box.x
    if m == scene.history.last.compound:
        canvas.dot(x + 3, box.y + 6, 3, TEMPLATE_COLOURS.get(scene.history.last.verb, FINDING))
        x += 10
    tag_width = canvas.text(tag, box.right, box.y + 10, tag_colour, 10, align=1.0) if box.width > 130 else 0.0
    name = scene.params.assay.compounds[m]
    colour = FINDING if lab["published"][m] and not tag_width else INK
    canvas.text(name, x, box.y + 10, colour, 11, bold=True, width=box.right - x - tag_width - 6)
    below = 20.0 if with_numbers else 8.0 if with_bar else 1.0
    _bars(scene, m, Box(box.x, box.y + 17, box.width, box.height - 17 - below))
    if with_bar:
        _meter(scene, m, Box(box.x, box.bottom - below + 3, box.width, 4))
    if with_numbers:
        unknown, licence = f"{lab['entropy'][m]:.2f} bits unknown", f"licence {lab['licence'][m]:.2f}"
        roomy = box.width > 150
        canvas.text(unknown if roomy else unknown[:4], box.x, box.bottom, MUTED, 10)
        canvas.text(licence if roomy else licence[8:], box.right, box.bottom, BELIEF, 10, align=1.0)


def _tag(scene: Scene, m: int, *, roomy: bool) -> tuple[str, Colour]:
    published, runs = int(scene.lab["published"][m]), int(scene.lab["experiments"][m])
    if published:
        what = class_name(scene.params, scene.history.findings[m])
        return (f"{'privately' if published == 1 else 'published'}: {what}" if roomy else what), FINDING
    if scene.lab["decision_at"][m]:
        left = int(scene.lab["decision_at"][m]) - int(scene.lab["heartbeat"])
        what = class_name(scene.params, int(scene.lab["submitted_class"][m]))
        return (f"in review, {left} h: {what}" if roomy else f"{left} h"), REVIEW
    return (f"{runs} plate{'s' if runs != 1 else ''}" if runs else ""), MUTED


def _bars(scene: Scene, m: int, box: Box) -> None:
    """The probability of each class, with a gap after ``inactive``; the shade behind is the prior."""
    canvas, marginal = scene.canvas, scene.lab["marginal"][m]
    prior = scene.params.assay.class_prior
    pitch = box.width / (len(marginal) + 0.5)
    width = max(1.0, 0.8 * pitch)
    finding = scene.history.findings.get(m)
    submitted = int(scene.lab["submitted_class"][m]) if scene.lab["decision_at"][m] else -1
    for g, probability in enumerate(marginal):
        x = box.x + (g + (0.5 if g else 0.0)) * pitch
        at_start, height = box.height * prior[g], box.height * float(probability)
        canvas.rect(x, box.bottom - at_start, width, at_start, mix(PAPER, BELIEF, 0.16))
        colour = FINDING if g == finding else REVIEW if g == submitted else BELIEF
        canvas.rect(x, box.bottom - height, width, height, colour)
        canvas.across(x, x + width, box.bottom, FAINT)
        if scene.reveal and g == scene.lab["potency"][m]:
            canvas.dot(x + width / 2, box.y + 3, 2.5, INK)


def _meter(scene: Scene, m: int, box: Box) -> None:
    """All bits there are to know: licensed (dark), known now (light), unknown."""
    ceiling = scene.params.assay.prior_entropy
    if ceiling <= 0.0:
        return
    known = max(0.0, 1.0 - float(scene.lab["entropy"][m]) / ceiling)
    licensed = min(1.0, float(scene.lab["licence"][m]) / ceiling)
    scene.canvas.rect(*box, RULE)
    scene.canvas.rect(box.x, box.y, box.width * known, box.height, mix(PAPER, BELIEF, 0.45))
    scene.canvas.rect(box.x, box.y, box.width * licensed, box.height, BELIEF)


def instrument(scene: Scene, box: Box) -> None:
    """The belief about the instrument: gain across, plate noise upwards, the darker the more probable."""
    canvas, assay = scene.canvas, scene.params.assay
    title(canvas, box, "Instrument", f"{scene.lab['instrument_entropy']:.2f} bits unknown")
    belief = np.asarray(scene.lab["instrument_belief"]).reshape(len(assay.gains), len(assay.plate_sds))
    inner = Box(box.x + 28, box.y + 22, box.width - 28, box.height - 52)
    width, height = inner.width / len(assay.gains), inner.height / len(assay.plate_sds)
    for (i, j), probability in np.ndenumerate(belief):
        shade = mix(RULE, BELIEF, min(1.0, 1.6 * float(probability)))
        y = inner.bottom - (j + 1) * height
        canvas.rect(inner.x + i * width, y, width - 2, height - 2, shade)
        if scene.reveal and i * len(assay.plate_sds) + j == scene.lab["instrument"]:
            canvas.dot(inner.x + (i + 0.5) * width - 1, y + height / 2 - 1, 2.5, INK)
    for i, gain in enumerate(assay.gains):
        canvas.text(f"{gain:g}", inner.x + (i + 0.5) * width - 1, inner.bottom + 12, MUTED, 10, align=0.5)
    for j, noise in enumerate(assay.plate_sds):
        y = inner.bottom - (j + 0.5) * height + 2.5
        canvas.text(f"{noise:g}", inner.x - 6, y, MUTED, 10, align=1.0)
    canvas.text("gain across, plate noise upwards", inner.x, box.bottom, MUTED, 9)


# -- the last plate


def readouts(scene: Scene, box: Box) -> None:
    """The last plate's readouts, and as a line what the belief now expects of them."""
    canvas, assay, plate = scene.canvas, scene.params.assay, scene.history.plate
    compound = assay.compounds[plate.compound] if plate and plate.compound >= 0 else ""
    title(canvas, box, "Last plate", compound)
    inner = Box(box.x + 24, box.y + 22, box.width - 24, box.height - 52)
    low, high = assay.bin_low, assay.bin_high
    for level in (0.0, 0.5, 1.0, 1.5):
        if low <= level <= high:
            y = _level(scene.params, inner, level)
            canvas.across(inner.x, inner.right, y, RULE)
            canvas.text(f"{level:g}", inner.x - 6, y + 3.5, MUTED, 10, align=1.0)
    canvas.across(inner.x, inner.right, inner.bottom, FAINT)
    if plate is None:
        canvas.text("no plate was read yet", inner.x + inner.width / 2, inner.y + 36, MUTED, 10, align=0.5)
        return
    template = getattr(scene.params.plates, plate.verb.name.lower())
    _expected(scene, inner, plate, template)
    _points(scene, inner, plate)
    if isinstance(template, DoseTemplate):
        canvas.text(concentration(template.doses[0]), inner.x, inner.bottom + 12, MUTED, 10)
        if len(template.doses) > 1:
            last = concentration(template.doses[-1])
            canvas.text(last, inner.right, inner.bottom + 12, MUTED, 10, align=1.0)
    what = plate.verb.name.lower().replace("_", " ").replace("dmso", "DMSO")
    canvas.text(f"{what}: readouts; line: expected", inner.x, box.bottom, MUTED, 9)


def _level(params: LabParams, box: Box, value: float) -> float:
    low, high = params.assay.bin_low, params.assay.bin_high
    return box.bottom - box.height * min(1.0, max(0.0, (value - low) / (high - low)))


def _across(box: Box, index: int, count: int) -> float:
    return box.x + box.width * (index + 0.5) / count


def _points(scene: Scene, box: Box, plate: Plate) -> None:
    """A readout is known to its bin: a dot in the middle, a bar as high as the bin."""
    assay = scene.params.assay
    height = (assay.bin_high - assay.bin_low) / assay.bins
    now = scene.lab["last_event"] in (Event.CALIBRATED, Event.EXPLORED)
    colour = (
        TEMPLATE_COLOURS[Verb(plate.verb)] if now else mix(PAPER, TEMPLATE_COLOURS[Verb(plate.verb)], 0.6)
    )
    for r, observed in enumerate(plate.bins):
        x = _across(box, r, len(plate.bins))
        below = _level(scene.params, box, assay.bin_low + observed * height)
        above = _level(scene.params, box, assay.bin_low + (observed + 1) * height)
        scene.canvas.down(x - 0.75, above, below, colour, 1.5)
        scene.canvas.dot(x, (below + above) / 2, 3.5, colour)


def _expected(scene: Scene, box: Box, plate: Plate, template: object) -> None:
    """The mean readout under the belief: of the gain, and of the compound's class."""
    assay, lab = scene.params.assay, scene.lab
    by_gain = np.asarray(lab["instrument_belief"]).reshape(len(assay.gains), len(assay.plate_sds)).sum(1)
    gain = float(by_gain @ np.array(assay.gains))
    means = np.full(len(plate.bins), gain)
    if isinstance(template, DoseTemplate):
        means = gain * viability(assay, template.doses) @ lab["marginal"][plate.compound]
    points = [
        (_across(box, r, len(means)), _level(scene.params, box, float(mean))) for r, mean in enumerate(means)
    ]
    points = [(box.x, points[0][1]), *points, (box.right, points[-1][1])]
    scene.canvas.polyline(points, INK)
