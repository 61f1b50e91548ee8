"""A lab as a picture of 960 by 640 pixels: its books and actions on the left, its compounds on the right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pygame
from pygame import Rect

from solvent.lab.codes import Event
from solvent.lab.mechanisms.energy import CAP, CAP_THOUSANDTHS
from solvent.lab.params import LabParams
from solvent.lab.registration import level_name
from solvent.lab.rendering.text import (
    FAILURES,
    actions_now,
    contaminated,
    debt_scale,
    findings,
    gate_limits,
    inflation,
    last_compound,
    voice,
)
from solvent.lab.words.describe import (
    bits,
    class_name,
    clock,
    in_units,
    intents,
    is_fresh,
    known_wrong,
    lot_hours,
    presence,
    project,
    tell,
    waiting,
)
from solvent.lab.words.rows import WORDINGS

Colour = tuple[int, int, int]

SIZE = 960, 640
LEFT, RIGHT, TOP, BOTTOM = Rect(20, 60, 290, 486), Rect(340, 60, 600, 486), 44, 556
PAPER, INK, MUTED, RULE = (252, 251, 248), (32, 42, 54), (96, 107, 119), (226, 228, 230)
BELIEF, FINDING, DEBT = (78, 104, 141), (0, 143, 104), (170, 51, 119)
ENERGY, REVIEW = (138, 128, 38), (176, 104, 0)
"""Colours that colour-blind readers can tell apart (after Okabe and Ito, and Tol)."""
BELIEVED, METERS, PLATES, FINDING_LEFT, FINDING_WIDTH = 116, 280, 386, 436, 54
"""Left edges of the columns of the table of compounds, and the width of a finding's."""
VERDICTS: dict[str, Colour] = {"accept": FINDING, "review": REVIEW, "reject": DEBT}
VERDICT_WORDS = {"accept": "ok", "review": "?", "reject": "no"}
BODY, SMALL, TITLE = 20, 17, 28
"""Heights of the default font, pixels."""
FINE = 3
"""Text is drawn so many times larger and shrunk: at its own size letters stand on whole pixels, unevenly."""


class Picture:
    """A surface for labs with these parameters."""

    def __init__(self, params: LabParams) -> None:
        pygame.font.init()
        self.params = params
        self.surface = pygame.Surface(SIZE)
        self._fonts = {size: pygame.font.Font(None, size * FINE) for size in (BODY, SMALL, TITLE)}
        self._level = level_name(params)

    def show(self, lab: Any, step: Any, seed: int | None) -> Any:
        """Return the picture of a lab, shape ``(640, 960, 3)`` uint8."""
        self.draw(lab, step, seed)
        return np.ascontiguousarray(pygame.surfarray.array3d(self.surface).swapaxes(0, 1))

    def draw(self, lab: Any, step: Any, seed: int | None) -> None:
        """Draw a lab on the surface."""
        self.surface.fill(PAPER)
        self._title(lab, seed)
        y = self._books(lab)
        y = self._instrument(lab, y + 8)
        self._actions(lab, y + 8)
        self._compounds(lab)
        self._last_action(lab, step)

    # -- panels

    def _title(self, lab: Any, seed: int | None) -> None:
        params = self.params
        x = self._text("Solvent", LEFT.x, 12, size=TITLE).right + 12
        x = self._text(self._level if seed is None else f"{self._level}, seed {seed}", x, 18).right + 16
        self._text(contaminated(params), x, 18, DEBT)
        now = f"{clock(params, lab)}, new lot in {lot_hours(params, lab)} h"
        self._text(f"{now}      return {bits(lab['score'])} bits", RIGHT.right, 18, align=1)
        self.surface.fill(RULE, Rect(LEFT.x, TOP, RIGHT.right - LEFT.x, 1))

    def _books(self, lab: Any) -> float:
        """Draw time, wells, debt and energy as bars, and the counts below; return the lower edge."""
        params, energy = self.params, self.params.energy
        debt, limit, scale = float(lab["debt"]), params.debt.threshold, debt_scale(params)
        wells, horizon = params.budget.wells, params.budget.heartbeats
        time = f"{lab['heartbeat']} of {horizon}{', over' if lab['end_reason'] else ''}"
        y = self._book("heartbeat", time, lab["heartbeat"] / horizon, LEFT.y, MUTED)
        y = self._book("wells left", f"{lab['wells']} of {wells}", lab["wells"] / wells, y, INK)
        owed = f"{debt:.2f} bits, wells cost ×{inflation(params, lab):.2f}"
        y = self._book("debt", owed, debt / scale, y, DEBT, limit / scale)
        notes = [f"{lab['accepted']} published, {known_wrong(params, lab)}, {lab['refusals'].sum()} refused"]
        notes += [label for label in (project(params, lab), waiting(params, lab)) if label]
        if energy.enabled:
            label = f"{in_units(lab['energy'])} of {CAP:g}, action {lab['slot'] + 1} of {energy.slots}"
            y = self._book("energy", label, lab["energy"] / CAP_THOUSANDTHS, y, ENERGY)
            notes += [presence(params, lab), f"energy by intent: {intents(lab['intents_shown'])}"]
        if params.gate.enabled:
            accepted, reviewed, rejected = lab["verdicts"]
            notes.append(f"gate: {gate_limits(params).replace('✓ ', '').replace('? ', '')}")
            notes.append(f"so far {accepted} accepted, {reviewed} reviewed, {rejected} rejected")
        for note in notes:
            y = self._text(note, LEFT.x, y, INK, width=LEFT.width).bottom + 2
        return y

    def _book(
        self, name: str, label: str, share: float, y: float, colour: Colour, limit: float = -1
    ) -> float:
        """Draw one bar with its name and value above, and a threshold; return the lower edge."""
        self._text(name, LEFT.x, y)
        self._text(label, LEFT.right, y, MUTED, align=1)
        bar = Rect(LEFT.x, round(y) + 16, LEFT.width, 12)
        self._bar(bar, share, colour)
        if limit >= 0:
            self.surface.fill(INK, Rect(round(bar.x + limit * bar.width) - 1, bar.y - 3, 3, bar.height + 6))
        return y + 36

    def _instrument(self, lab: Any, y: float) -> float:
        """Draw the belief about the instrument as columns per gain and per plate noise; return the lower edge."""
        assay = self.params.assay
        belief = np.reshape(lab["instrument_belief"], (len(assay.gains), len(assay.plate_sds)))
        self._text("instrument", LEFT.x, y)
        self._text(f"{lab['instrument_entropy']:.2f} bits unknown", LEFT.right, y, MUTED, align=1)
        values = [*assay.gains, *assay.plate_sds]
        pitch, top = LEFT.width / (len(values) + 1), round(y) + 18
        for i, (value, share) in enumerate(zip(values, [*belief.sum(1), *belief.sum(0)], strict=True)):
            x = LEFT.x + pitch * (i + (i >= len(assay.gains)))
            self._column(Rect(round(x), top, round(pitch) - 6, 30), float(share), BELIEF)
            self._text(f"{value:g}", x, top + 33, MUTED, size=SMALL)
        self._text("gain", LEFT.x, top + 47, MUTED, size=SMALL)
        self._text("plate noise", LEFT.x + pitch * (len(assay.gains) + 1), top + 47, MUTED, size=SMALL)
        return top + 60

    def _actions(self, lab: Any, y: float) -> None:
        able, unable = actions_now(self.params, lab)
        texts = [f"can run: {', '.join(able) or 'none'}", f"blocked: {', '.join(unable) or 'none'}"]
        for text, colour in zip(
            [*texts, *voice(self.params, lab)], (INK, MUTED, ENERGY, ENERGY), strict=False
        ):
            y = self._text(text, LEFT.x, y, colour, width=LEFT.width).bottom + 4

    def _compounds(self, lab: Any) -> None:
        """Draw the headings and one row per compound."""
        params, names = self.params, self.params.assay.compounds
        active = dict.fromkeys(class_name(params, k) for k in (1, params.assay.potency_classes - 1))
        headings = [
            (f"inactive, {' to '.join(active)}", BELIEVED),
            ("unknown, licence", METERS),
            ("plates", PLATES),
        ]
        if params.gate.enabled:
            headings += [(name, FINDING_LEFT + i * FINDING_WIDTH) for i, name in enumerate(WORDINGS)]
        for name, x in headings:
            self._text(name, RIGHT.x + x, RIGHT.y, MUTED, size=SMALL)
        height = min(58.0, (RIGHT.height - 22) / len(names))
        for m in range(len(names)):
            top = round(RIGHT.y + 22 + m * height)
            self._compound(lab, m, Rect(RIGHT.x, top, RIGHT.width, round(height - 6)))

    def _compound(self, lab: Any, m: int, row: Rect) -> None:
        """Draw the belief, the entropy and licence as bars, the plates, and the finding or what it would be."""
        params, belief, ceiling = self.params, lab["marginal"][m], self.params.assay.prior_entropy or 1.0
        middle = row.centery - 6
        if m == last_compound(params, lab):
            self.surface.fill(INK, Rect(row.x - 10, row.y, 4, row.height))
        name = params.assay.compounds[m]
        while self._fonts[BODY].size(name)[0] > (BELIEVED - 8) * FINE:
            name = f"{name[:-2]}…"
        self._text(name, row.x, middle)
        pitch = 150 / (len(belief) + 0.5)
        for k, share in enumerate(belief):
            x = row.x + BELIEVED + pitch * (k + (0.5 if k else 0.0))
            column = Rect(round(x), row.y, max(1, round(0.8 * pitch)), row.height)
            self._column(column, float(share), FINDING if lab["published"][m] else BELIEF)
        for y, value, colour in ((-9, lab["entropy"][m], MUTED), (3, lab["licence"][m], BELIEF)):
            self._bar(Rect(row.x + METERS, row.centery + y, 64, 6), value / ceiling, colour)
            self._text(f"{value:.2f}", row.x + PLATES - 8, row.centery + y - 3, colour, size=SMALL, align=1)
        self._text(str(lab["experiments"][m]), row.x + PLATES + 14, middle, MUTED)
        if lab["published"][m]:
            self._text("published", row.x + FINDING_LEFT, middle, FINDING)
        for i, finding in enumerate(() if lab["published"][m] else findings(params, lab, m)):
            x = row.x + FINDING_LEFT + i * FINDING_WIDTH
            verdict = finding.verdict
            self._text(
                f"{finding.energy:.3f} {VERDICT_WORDS[verdict]}", x, middle, VERDICTS[verdict], size=SMALL
            )

    def _last_action(self, lab: Any, step: Any) -> None:
        """Draw the last action with a mark in the colour of its event, and its outcome in up to three rows."""
        done, outcome = tell(self.params, lab, step)
        event = Event(int(lab["last_event"]))
        recalled = is_fresh(lab, step) and step["debt_recalled"] > 0 if self.params.career.enabled else False
        colour = DEBT if event in FAILURES or recalled else FINDING if event is Event.PUBLISHED else INK
        self.surface.fill(RULE, Rect(LEFT.x, BOTTOM, RIGHT.right - LEFT.x, 1))
        self.surface.fill(colour, Rect(LEFT.x, BOTTOM + 10, 4, 64))
        self._text(done, LEFT.x + 14, BOTTOM + 10)
        self._text(outcome, LEFT.x + 14, BOTTOM + 28, colour, width=890)

    # -- shapes

    def _bar(self, box: Rect, share: float, colour: Colour) -> None:
        """Draw a horizontal bar that fills a share of its box."""
        self.surface.fill(RULE, box)
        filled = round(box.width * min(1.0, max(0.0, share)))
        self.surface.fill(colour, Rect(box.x, box.y, filled, box.height))

    def _column(self, box: Rect, share: float, colour: Colour) -> None:
        """Draw a vertical bar that fills a share of its box from below."""
        filled = round(box.height * share)
        self.surface.fill(RULE, box)
        self.surface.fill(colour, Rect(box.x, box.bottom - filled, box.width, filled))

    def _text(self, text: str, x: float, y: float, colour: Colour = INK, **layout: Any) -> Rect:
        """Draw text and return its box.

        ``x`` is its left edge, with ``align=1`` its right one; rows are broken at ``width``, in a font of ``size``.
        """
        font = self._fonts[layout.get("size", BODY)]
        large = font.render(text, True, colour, None, layout.get("width", 0) * FINE)
        size = round(large.get_width() / FINE), round(large.get_height() / FINE)
        drawn = pygame.transform.smoothscale(large, size)
        return self.surface.blit(drawn, (round(x - layout.get("align", 0) * drawn.get_width()), round(y)))
