"""The lab as one picture: wells and debt over time, what is believed of each compound, and the last plate.

Panels are functions of a ``Scene``; this module says where they stand.
"""

from __future__ import annotations

from typing import Any

from solvent.lab.codes import Event
from solvent.lab.params import LabParams
from solvent.lab.rendering import adequacy, beliefs, books, gate, purse
from solvent.lab.rendering.canvas import Canvas
from solvent.lab.rendering.history import History
from solvent.lab.rendering.palette import DEBT, FINDING, INK, MUTED, PAPER, REVIEW, RULE
from solvent.lab.rendering.scene import Box, Scene
from solvent.lab.rendering.words import bits, clock, contaminated, lot_hours, tell

__all__ = ["HEIGHT", "WIDTH", "WIDTH_OF_ENERGY", "WIDTH_OF_GATE", "Picture"]

WIDTH, HEIGHT = 960, 640
WIDTH_OF_ENERGY, WIDTH_OF_GATE = 320, 380
"""What the columns of energy and of the gate add, in this order."""
MARGIN = 28

LEFT = Box(MARGIN, 76, 404, 500)
RIGHT = Box(472, 76, 460, 500)
PLATE = Box(LEFT.x, LEFT.y, LEFT.width, 300)
DEBT_CHART = Box(LEFT.x, 398, LEFT.width, 82)
WELLS_CHART = Box(LEFT.x, 494, LEFT.width, 82)
COMPOUNDS = Box(RIGHT.x, RIGHT.y, RIGHT.width, 344)
INSTRUMENT = Box(RIGHT.x, 448, 216, 128)
READOUTS = Box(RIGHT.x + 244, 448, 216, 128)
FOOTER = 592
FACTS: tuple[int, ...] = (472, 578, 652, 774, 858)
FACTS_OF_GATE = (0, 132)  # right of the column's edge
FACTS_WITH_ENERGY = (444, 554, 660, 772, 858, 972, 1094)

PURSE = Box(972, 76, 280, 66)
ENERGY_CHART = Box(PURSE.x, 156, PURSE.width, 130)
COSTS = Box(PURSE.x, 300, PURSE.width, 186)
INTENTS = Box(PURSE.x, 498, PURSE.width, 78)

GATE = Box(972, 76, 340, 62)  # where there is no energy; else further right
SAID = Box(GATE.x, 154, GATE.width, 112)
PAGE = Box(GATE.x, 278, GATE.width, 254)
REVIEWS = Box(GATE.x, 544, GATE.width, 32)
CORRECTION = Box(GATE.x, 304, GATE.width, 0)  # between the last finding and the page, as high as it must be


class Picture:
    """Draws labs with these parameters on its canvas."""

    def __init__(self, params: LabParams, *, scale: int = 1, reveal: bool = False) -> None:
        self.params = params
        self.reveal = reveal
        width = width_of(params)
        self.canvas = Canvas(width, HEIGHT, scale, PAPER)
        self.canvas.across(MARGIN, width - MARGIN, 58, RULE)
        self.canvas.across(MARGIN, width - MARGIN, FOOTER, RULE)
        self.canvas.text("Solvent", MARGIN, 40, INK, 21, bold=True)
        books.plate_background(self.canvas, params, PLATE)
        self.background = self.canvas.keep()

    def draw(self, lab: Any, step: Any, history: History) -> None:
        """Draw one lab; the image stays on the canvas."""
        self.canvas.start_from(self.background)
        scene = Scene(self.canvas, self.params, lab, step, history, self.reveal)
        _header(scene)
        books.plate(scene, PLATE)
        books.debt_chart(scene, DEBT_CHART)
        books.wells_chart(scene, WELLS_CHART)
        beliefs.compounds(scene, COMPOUNDS)
        beliefs.instrument(scene, INSTRUMENT)
        beliefs.readouts(scene, READOUTS)
        if self.params.energy.enabled:
            purse.balance(scene, PURSE)
            purse.energy_chart(scene, ENERGY_CHART)
            purse.cost_table(scene, COSTS)
            purse.intent_bars(scene, INTENTS)
        if self.params.gate.enabled:
            right = WIDTH_OF_ENERGY if self.params.energy.enabled else 0
            gate.policies(scene, GATE.moved(right))
            gate.last_finding(scene, SAID.moved(right))
            page = PAGE
            if self.params.adequacy.enabled:
                adequacy.correction(scene, CORRECTION.moved(right))
                page = _under_correction(scene)
            gate.page(scene, page.moved(right))
            gate.reviews(scene, REVIEWS.moved(right))
        _footer(scene)


def _under_correction(scene: Scene) -> Box:
    """The page's box, with room for the longest correction over it."""
    top = CORRECTION.y + adequacy.correction_height(scene, CORRECTION.width) + 10
    return PAGE._replace(y=top, height=PAGE.bottom - top)


def width_of(params: LabParams) -> int:
    """Units across."""
    return WIDTH + WIDTH_OF_ENERGY * params.energy.enabled + WIDTH_OF_GATE * params.gate.enabled


def _header(scene: Scene) -> None:
    """Labels over values, from the right."""
    lab, params = scene.lab, scene.params
    facts = [
        ("heartbeat", f"{lab['heartbeat']} of {params.budget.heartbeats}"),
        ("clock", clock(params, lab)),
        ("new reagent lot in", f"{lot_hours(params, lab)} h"),
        ("findings", _findings(lab)),
        ("score", f"{bits(lab['score'])} bits"),
    ]
    places = FACTS
    if params.energy.enabled:
        places = FACTS_WITH_ENERGY
        facts += [("slot", purse.slot(scene)), ("user", purse.user(scene))]
    if params.gate.enabled:
        left = int(GATE.x) + WIDTH_OF_ENERGY * params.energy.enabled
        places = (*places, *(left + x for x in FACTS_OF_GATE))
        facts += [("policy in force", gate.in_force(scene)), ("under review", gate.under_review(scene))]
    for (label, value), x in zip(facts, places, strict=True):
        scene.canvas.text(label, x, 26, MUTED, 10)
        scene.canvas.text(value, x, 43, INK, 13, bold=True)
    if params.unenforced:
        scene.canvas.text(contaminated(params), 128, 40, DEBT, 11)


def _findings(lab: Any) -> str:
    wrong = f", {lab['wrong']} wrong" if lab["wrong"] else ""
    return f"{lab['accepted']}{wrong}"


def _footer(scene: Scene) -> None:
    said, outcome = tell(scene.params, scene.lab, scene.step)
    event = Event(int(scene.lab["last_event"]))
    good = event is Event.PUBLISHED and "wrong" not in outcome
    bad = event in (Event.REFUSED, Event.REJECTED) or "wrong" in outcome
    mark = FINDING if good else DEBT if bad else REVIEW if event is Event.SUBMITTED else INK
    width = width_of(scene.params) - 70
    scene.canvas.rect(MARGIN, FOOTER + 11, 3, 27, mark)
    rows = scene.canvas.wrapped(outcome, 11.5, width) if scene.params.adequacy.enabled else [outcome]
    if len(rows) > 1:
        scene.canvas.rect(MARGIN, FOOTER + 38, 3, 5, mark)
        scene.canvas.text(said, MARGIN + 12, FOOTER + 17, INK, 12, bold=True, width=width)
        for row, line in enumerate((rows[0], " ".join(rows[1:]))):
            scene.canvas.text(line, MARGIN + 12, FOOTER + 30 + 12.5 * row, INK, 11, width=width)
        return
    scene.canvas.text(said, MARGIN + 12, FOOTER + 20, INK, 12.5, bold=True, width=width)
    scene.canvas.text(outcome, MARGIN + 12, FOOTER + 36, INK, 11.5, width=width)
