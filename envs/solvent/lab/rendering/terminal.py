"""The lab as text for a terminal: the order of its panels, and those left out if the screen is low.

Colour is optional: with ``NO_COLOR`` set, no information is lost.
"""

from __future__ import annotations

import os

from solvent.lab.params import LabParams
from solvent.lab.rendering.panels import (
    adequacy,
    belief,
    costs,
    debt,
    energy,
    gate,
    outcome,
    page,
    proposals,
    wells,
)
from solvent.lab.rendering.sheet import ESCAPE, NARROWEST, WIDTH, Sheet
from solvent.lab.rendering.view import View
from solvent.lab.rendering.words import clock, contaminated, lot_hours

TITLES = {
    "costs": "energy costs now",
    "voice": "base costs (usual cost in brackets), proposals, energy by intent",
}
FIRST_TO_GO = ("costs", "page", "instrument", "voice", "gate")
FINDING = 15
"""Width of the finding's column in the table of compounds, such as "review inactive, 4 h"."""


def draw_text(sheet: Sheet, view: View) -> str:
    """Return the lab as text; panels that do not fit the sheet's height are left out."""
    params, height = view.params, sheet.height
    judged = params.gate.enabled
    label = 8 if judged or params.energy.enabled else 6
    sheet = sheet._replace(width=max(NARROWEST, sheet.width), label=label)
    panels = _panels(sheet, view)
    titles = TITLES | ({"page": page.heading(view)} if judged else {})
    aside = ""
    for least in FIRST_TO_GO:
        if height is not None and _height(panels) > height:
            panels.pop(least, None)
    if params.adequacy.enabled and "gate" not in panels and height is not None:
        _make_room(panels, adequacy.brief_lines(sheet, view), height)
        if "gate" not in panels:
            titles["compounds"], aside = adequacy.in_short(view)
    when = f"heartbeat {view.lab['heartbeat']} of {params.budget.heartbeats} · {clock(params, view.lab)}"
    when += f" · new lot in {lot_hours(params, view.lab)} h"
    lines = [sheet.rule("╭", "╮", _name(params, sheet.inside - len(when) - 4), when)]
    for name, panel in panels.items():
        if len(lines) > 1:
            right = aside if name == "compounds" else ""
            lines.append(sheet.rule("├", "┤", titles.get(name, ""), right))
        lines += panel
    # If only debt is unenforced, the title already says so.
    mark = contaminated(params) if params.unenforced not in ((), ("debt",)) else ""
    text = "\n".join([*lines, sheet.rule("╰", "╯", mark)])
    return ESCAPE.sub("", text) if os.environ.get("NO_COLOR") else text


def _panels(sheet: Sheet, view: View) -> dict[str, list[str]]:
    params = view.params
    priced, judged, weighed = params.energy.enabled, params.gate.enabled, params.adequacy.enabled
    rows = (3 if (priced or judged) and sheet.width < WIDTH else 2) + weighed  # one more row for a correction
    panels = {"books": [wells.line(sheet, view), debt.line(sheet, view)]}
    if priced:
        panels["books"] += energy.lines(sheet, view)
    panels["last"] = outcome.lines(sheet, view, rows)
    if priced:
        panels["costs"] = costs.lines(sheet, view)
        voice = [proposals.line(sheet, view)] if params.proposals.enabled else []
        panels["voice"] = [costs.unusual_line(sheet, view), *voice, energy.intent_line(sheet, view)]
    if judged:
        panels["gate"] = (adequacy if weighed else gate).lines(sheet, view)
    panels["instrument"] = belief.instrument_lines(sheet, view)
    panels["compounds"] = belief.compound_lines(sheet, view, FINDING + 4 * weighed)
    if judged:
        panels["page"] = page.lines(sheet, view)
    return panels


def _height(panels: dict[str, list[str]]) -> int:
    return sum(len(panel) + 1 for panel in panels.values()) + 1


def _make_room(panels: dict[str, list[str]], brief: list[str], height: int) -> None:
    """Insert the brief panel of the gate above the compounds; if it does not fit, drop the table's legend instead."""
    if _height(panels) + len(brief) + 1 <= height:
        compounds = panels.pop("compounds")
        panels.update(gate=brief, compounds=compounds)
    elif _height(panels) > height:
        panels["compounds"].pop()  # the legend


def _name(params: LabParams, room: int) -> str:
    if not params.unenforced:
        return "Solvent"
    name = "Solvent, contaminated"
    return name if len(name) <= room else "contaminated"
