"""Belief: the entropy and licence of each compound, and the instrument."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from solvent.lab.params import LabParams
from solvent.lab.rendering.history import UNKNOWN
from solvent.lab.rendering.palette import (
    BELIEF,
    FAINT,
    FINDING,
    INK,
    LABEL,
    MUTED,
    NOTE,
    PAPER,
    REVIEW,
    RULE,
    TEMPLATE_COLOURS,
    Colour,
    Style,
    mix,
)
from solvent.lab.rendering.sheet import BLOCKS, Sheet, bar, fit, paint
from solvent.lab.rendering.view import Box, Canvas, View, title
from solvent.lab.rendering.words import class_name
from solvent.lab.words.notebook import plural

COLUMNS = ((2, 1), (10, 2), (18, 3), (32, 4), (64, 6))  # most compounds, columns


def _classes(params: LabParams) -> str:
    ends = (class_name(params, potency) for potency in (1, params.assay.potency_classes - 1))
    return " to ".join(dict.fromkeys(ends))


def _review(view: View, m: int) -> tuple[int, str]:
    """Return the number of heartbeats until the review of a finding, and the class it asserts."""
    left = int(view.lab["decision_at"][m]) - int(view.lab["heartbeat"])
    return left, class_name(view.params, int(view.lab["submitted_class"][m]))


def _asserted(view: View, m: int) -> str:
    """Return the class that a published finding asserts; empty if it was published between drawings."""
    asserted = view.history.asserted[m]
    return "" if asserted == UNKNOWN else class_name(view.params, asserted)


def _by_state(view: View) -> Any:
    assay = view.params.assay
    return np.asarray(view.lab["instrument_belief"]).reshape(len(assay.gains), len(assay.plate_sds))


# -- lines


def _spark(probabilities: Any) -> str:
    return paint("".join(BLOCKS[min(7, int(p * 8))] if p >= 0.005 else " " for p in probabilities), "belief")


def instrument_lines(sheet: Sheet, view: View) -> list[str]:
    """Return the beliefs about gain and plate noise, one line each."""
    assay, belief = view.params.assay, _by_state(view)
    gains, noises = (
        " ".join(f"{value:>5g} {_spark([share])}" for value, share in zip(values, shares, strict=True))
        for values, shares in ((assay.gains, belief.sum(1)), (assay.plate_sds, belief.sum(0)))
    )
    unknown = f"{view.lab['instrument_entropy']:.2f} bits unknown"
    return [sheet.line(f"instrument   gain {gains}", unknown), sheet.line(f"             noise{noises}")]


class Columns(NamedTuple):
    """Column widths of the table of compounds."""

    name: int
    belief: int
    bar: int


def compound_lines(sheet: Sheet, view: View, finding: int) -> list[str]:
    """Return one row per compound; bars shrink to make room for many classes and long names.

    ``finding`` is the width of the finding's column, such as "private 3.2 µM".
    """
    params = view.params
    name = min(16, max(8, *(len(compound) for compound in params.assay.compounds)))
    belief = max(9, params.assay.potency_classes + 1)
    others = 28 + finding  # numbers and gaps
    columns = Columns(name, belief, min(8, max(0, (sheet.inside - name - belief - others) // 2)))
    heading = (
        f"{fit('compound', columns.name)}   {fit('belief', columns.belief)}   "
        f"{fit('unknown', columns.bar + 5)} {fit('licence', columns.bar + 5)} plates   finding"
    )
    rows = [sheet.line(_row(view, m, columns)) for m in range(len(params.assay.compounds))]
    legend = f"belief over inactive, {_classes(params)}"
    return [sheet.line(paint(heading, "dim")), *rows, sheet.line(paint(legend, "dim"))]


def _row(view: View, m: int, columns: Columns) -> str:
    params, lab, marginal = view.params, view.lab, view.lab["marginal"][m]
    ceiling = params.assay.prior_entropy or 1.0
    unknown, licence = (
        f"{value:4.2f} " + paint(fit(bar(value / ceiling, columns.bar), columns.bar), style)
        for value, style in ((lab["entropy"][m], "dim"), (lab["licence"][m], "good"))
    )
    acted = "▸" if m == view.history.last.compound else " "
    finding = ""
    if lab["published"][m]:
        reader = "private" if lab["published"][m] == 1 else "public"
        asserted = _asserted(view, m)
        finding = paint(f"{reader} {asserted}" if asserted else f"{reader}, unseen", "good")
    elif lab["decision_at"][m]:
        left, waiting = _review(view, m)
        finding = paint(f"review {waiting}, {left} h", "warn")
    shape = fit(f"{_spark(marginal[:1])} {_spark(marginal[1:])}", columns.belief)
    name = fit(params.assay.compounds[m], columns.name)
    return f"{name} {acted} {shape}   {unknown} {licence} {lab['experiments'][m]:>6}   {finding}"


# -- compounds


def compounds(canvas: Canvas, view: View, box: Box) -> None:
    """Draw a small chart for each compound."""
    count = len(view.params.assay.compounds)
    title(canvas, box, "Compounds", f"belief: inactive | EC50 {_classes(view.params)}")
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
        _compound(canvas, view, m, Box(x, y, width, height))


def _compound(canvas: Canvas, view: View, m: int, box: Box) -> None:
    """Draw the name and the belief over classes; if there is room, also a meter and its numbers."""
    lab, last, x = view.lab, view.history.last, box.x
    with_numbers, with_bar = box.height >= 58, box.height >= 36
    if m == last.compound:
        canvas.dot(x + 3, box.y + 6, 3, TEMPLATE_COLOURS.get(last.verb, FINDING))
        x += 10
    tag_width = 0.0
    if box.width > 130:
        tag, tag_colour = _tag(view, m, roomy=box.width > 180)
        tag_width = canvas.text(tag, box.right, box.y + 10, Style(tag_colour), align=1.0)
    colour = FINDING if lab["published"][m] and not tag_width else INK
    name, width = view.params.assay.compounds[m], box.right - x - tag_width - 6
    canvas.text(name, x, box.y + 10, Style(colour, 11, bold=True), width=width)
    below = 20.0 if with_numbers else 8.0 if with_bar else 1.0
    _bars(canvas, view, m, Box(box.x, box.y + 17, box.width, box.height - 17 - below))
    if with_bar:
        _meter(canvas, view, m, Box(box.x, box.bottom - below + 3, box.width, 4))
    if with_numbers:
        unknown, licence = f"{lab['entropy'][m]:.2f} bits unknown", f"licence {lab['licence'][m]:.2f}"
        roomy = box.width > 150
        canvas.text(unknown if roomy else unknown[:4], box.x, box.bottom, LABEL)
        canvas.text(licence if roomy else licence[8:], box.right, box.bottom, Style(BELIEF), align=1.0)


def _tag(view: View, m: int, *, roomy: bool) -> tuple[str, Colour]:
    published, runs = int(view.lab["published"][m]), int(view.lab["experiments"][m])
    if published:
        asserted = _asserted(view, m) or "unseen"
        return (
            f"{'privately' if published == 1 else 'published'}: {asserted}" if roomy else asserted
        ), FINDING
    if view.lab["decision_at"][m]:
        left, waiting = _review(view, m)
        return (f"in review, {left} h: {waiting}" if roomy else f"{left} h"), REVIEW
    return (plural(runs, "plate") if runs else ""), MUTED


def _bars(canvas: Canvas, view: View, m: int, box: Box) -> None:
    lab, marginal, prior = view.lab, view.lab["marginal"][m], view.params.assay.class_prior
    pitch = box.width / (len(marginal) + 0.5)
    width = max(1.0, 0.8 * pitch)
    submitted = int(lab["submitted_class"][m]) if lab["decision_at"][m] else -1
    for g, probability in enumerate(marginal):
        x = box.x + (g + (0.5 if g else 0.0)) * pitch
        at_start, height = box.height * prior[g], box.height * float(probability)
        canvas.rect(x, box.bottom - at_start, width, at_start, mix(PAPER, BELIEF, 0.16))
        colour = FINDING if g == view.history.asserted.get(m) else REVIEW if g == submitted else BELIEF
        canvas.rect(x, box.bottom - height, width, height, colour)
        canvas.across(x, x + width, box.bottom, FAINT)


def _meter(canvas: Canvas, view: View, m: int, box: Box) -> None:
    """Draw the prior entropy as a bar: licensed (dark), known now (light), unknown."""
    ceiling = view.params.assay.prior_entropy
    if ceiling <= 0.0:
        return
    known = max(0.0, 1.0 - float(view.lab["entropy"][m]) / ceiling)
    licensed = min(1.0, float(view.lab["licence"][m]) / ceiling)
    canvas.rect(*box, RULE)
    canvas.rect(box.x, box.y, box.width * known, box.height, mix(PAPER, BELIEF, 0.45))
    canvas.rect(box.x, box.y, box.width * licensed, box.height, BELIEF)


# -- the instrument


def instrument(canvas: Canvas, view: View, box: Box) -> None:
    """Draw the belief about the instrument as a heat map: gain on the x axis, plate noise on the y axis."""
    assay = view.params.assay
    title(canvas, box, "Instrument", f"{view.lab['instrument_entropy']:.2f} bits unknown")
    inner = Box(box.x + 28, box.y + 22, box.width - 28, box.height - 52)
    width, height = inner.width / len(assay.gains), inner.height / len(assay.plate_sds)
    for (i, j), probability in np.ndenumerate(_by_state(view)):
        shade = mix(RULE, BELIEF, min(1.0, 1.6 * float(probability)))
        y = inner.bottom - (j + 1) * height
        canvas.rect(inner.x + i * width, y, width - 2, height - 2, shade)
    for i, gain in enumerate(assay.gains):
        canvas.text(f"{gain:g}", inner.x + (i + 0.5) * width - 1, inner.bottom + 12, LABEL, align=0.5)
    for j, noise in enumerate(assay.plate_sds):
        canvas.text(f"{noise:g}", inner.x - 6, inner.bottom - (j + 0.5) * height + 2.5, LABEL, align=1.0)
    canvas.text("gain across, plate noise upwards", inner.x, box.bottom, NOTE)
