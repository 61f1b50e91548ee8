"""The lab as an image: its panels and their positions."""

from __future__ import annotations

from solvent.lab.params import LabParams
from solvent.lab.rendering.canvas import Canvas
from solvent.lab.rendering.palette import DEBT, INK, LABEL, RULE, Style
from solvent.lab.rendering.panels import (
    adequacy,
    assay,
    belief,
    costs,
    debt,
    energy,
    gate,
    outcome,
    page,
    wells,
)
from solvent.lab.rendering.view import Box, View
from solvent.lab.rendering.words import bits, clock, contaminated, lot_hours
from solvent.lab.words.sentences import policies_of

WIDTH, HEIGHT = 960, 640
WIDTH_OF_ENERGY, WIDTH_OF_GATE = 320, 380
"""Widths of the optional columns for energy and gate, in this order."""
MARGIN, FOOTER = 28, 592

PLATE = Box(MARGIN, 76, 404, 300)
DEBT_CHART = Box(MARGIN, 398, 404, 82)
WELLS_CHART = Box(MARGIN, 494, 404, 82)
COMPOUNDS = Box(472, 76, 460, 344)
INSTRUMENT = Box(472, 448, 216, 128)
READOUTS = Box(716, 448, 216, 128)
FACTS: tuple[int, ...] = (472, 578, 652, 774, 858)
FACTS_WITH_ENERGY = (444, 554, 660, 772, 858, 972, 1094)

BALANCE = Box(972, 76, 280, 66)
ENERGY_CHART = Box(972, 156, 280, 130)
COSTS = Box(972, 300, 280, 186)
INTENTS = Box(972, 498, 280, 78)

GATE = Box(972, 76, 340, 62)  # moved right by WIDTH_OF_ENERGY if there is an energy column
LAST_FINDING = Box(972, 154, 340, 112)
PAGE = Box(972, 278, 340, 254)
REVIEWS = Box(972, 544, 340, 32)
CORRECTION = Box(972, 304, 340, 0)  # between the last finding and the page; the height is computed


class Picture:
    """A canvas for labs with these parameters."""

    def __init__(self, params: LabParams, scale: int = 1) -> None:
        width = WIDTH + WIDTH_OF_ENERGY * params.energy.enabled + WIDTH_OF_GATE * params.gate.enabled
        self.footer = Box(MARGIN, FOOTER, width - 2 * MARGIN, HEIGHT - FOOTER)
        self.canvas = Canvas(width, HEIGHT, scale)
        for y in (58, FOOTER):
            self.canvas.across(MARGIN, width - MARGIN, y, RULE)
        self.canvas.text("Solvent", MARGIN, 40, Style(INK, 21, bold=True))
        wells.plate_background(self.canvas, params, PLATE)
        self.background = self.canvas.surface.copy()

    def draw(self, view: View) -> None:
        """Draw one lab on the canvas."""
        canvas, params = self.canvas, view.params
        canvas.surface.blit(self.background, (0, 0))
        _header(canvas, view)
        wells.plate(canvas, view, PLATE)
        debt.debt_chart(canvas, view, DEBT_CHART, "wells" if params.energy.enabled else "prices")
        wells.wells_chart(canvas, view, WELLS_CHART)
        belief.compounds(canvas, view, COMPOUNDS)
        belief.instrument(canvas, view, INSTRUMENT)
        assay.readouts(canvas, view, READOUTS)
        if params.energy.enabled:
            energy.balance(canvas, view, BALANCE)
            energy.energy_chart(canvas, view, ENERGY_CHART)
            costs.cost_table(canvas, view, COSTS)
            energy.intent_bars(canvas, view, INTENTS)
        if params.adequacy.enabled:
            _weighed(canvas, view)
        elif params.gate.enabled:
            right = _column(params)
            gate.policies(canvas, view, GATE.moved(right), gap=12)
            gate.last_finding(canvas, view, LAST_FINDING.moved(right))
            page.page(canvas, view, PAGE.moved(right))
        if params.gate.enabled:
            debt.review_legend(canvas, DEBT_CHART)
            gate.reviews(canvas, view, REVIEWS.moved(_column(params)))
        outcome.footer(canvas, view, self.footer, rows=2 if params.adequacy.enabled else 1)


def _column(params: LabParams) -> int:
    return WIDTH_OF_ENERGY * params.energy.enabled


def _weighed(canvas: Canvas, view: View) -> None:
    """Draw the panels of gate and adequacy; the page gets the height that the longest correction leaves."""
    right = _column(view.params)
    gate.policies(canvas, view, GATE.moved(right), gap=7)
    adequacy.score_strip(canvas, view, GATE.moved(right))
    adequacy.last_finding(canvas, view, LAST_FINDING.moved(right))
    adequacy.correction(canvas, view, CORRECTION.moved(right))
    top = CORRECTION.y + adequacy.correction_height(canvas, view, CORRECTION.width) + 10
    page.page(canvas, view, PAGE._replace(y=top, height=PAGE.bottom - top).moved(right))


def _header(canvas: Canvas, view: View) -> None:
    lab, params = view.lab, view.params
    facts = [
        ("heartbeat", f"{lab['heartbeat']} of {params.budget.heartbeats}"),
        ("clock", clock(params, lab)),
        ("new reagent lot in", f"{lot_hours(params, lab)} h"),
        ("findings", f"{lab['accepted']}, {lab['wrong']} wrong" if lab["wrong"] else f"{lab['accepted']}"),
        ("score", f"{bits(lab['score'])} bits"),
    ]
    places = FACTS
    if params.energy.enabled:
        places = FACTS_WITH_ENERGY
        facts += [("slot", energy.slot(view)), ("user", energy.user(view))]
    if params.gate.enabled:
        left = int(GATE.x) + _column(params)
        places = (*places, left, left + 132)
        policy, waiting = policies_of(params)[int(lab["strictness"])], int((lab["decision_at"] != 0).sum())
        facts += [("policy in force", policy.name.rpartition(".v")[0]), ("under review", str(waiting))]
    for (label, value), x in zip(facts, places, strict=True):
        canvas.text(label, x, 26, LABEL)
        canvas.text(value, x, 43, Style(INK, 13, bold=True))
    if params.unenforced:
        canvas.text(contaminated(params), 128, 40, Style(DEBT, 11))
