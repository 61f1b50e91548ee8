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
from solvent.lab.rendering.sheet import ESCAPE, NARROWEST, WIDTH, Sheet, bar, fit, paint
from solvent.lab.rendering.view import View
from solvent.lab.rendering.words import bits, clock, contaminated, in_units, lot_hours
from solvent.lab.settings import in_thousandths
from solvent.lab.words.sentences import policies_of

TITLES = {
    "costs": "energy costs now",
    "voice": "base costs (usual cost in brackets), proposals, energy by intent",
}
FIRST_TO_GO = ("costs", "page", "instrument", "voice", "gate")
TOLD_IN_PLAY = ("costs", "last")
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
    if sheet.playing:
        panels = {name: panel for name, panel in panels.items() if name not in TOLD_IN_PLAY}
    for least in FIRST_TO_GO:
        if height is not None and _height(panels) > height:
            panels.pop(least, None)
    if sheet.playing and height is not None and _height(panels) > height:
        panels = _brief(sheet, view)
    elif params.adequacy.enabled and "gate" not in panels and height is not None:
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


def _brief(sheet: Sheet, view: View) -> dict[str, list[str]]:
    """Return the least that a player has to see: the books in two lines, and the compounds."""
    params, lab = view.params, view.lab
    threshold, room = params.debt.threshold, sheet.inside - 70
    wells_left = fit(bar(lab["wells"] / params.budget.wells, room), room)
    owed = paint(
        f"debt {lab['debt']:.2f} (limit {threshold:g})", "bad" if lab["debt"] > threshold else "debt"
    )
    lot = "lot calibrated" if lab["lot_calibrated"] else "lot uncalibrated"
    score = paint(f"score {bits(lab['score']):>6} bits", "bold")
    wells_line = f"{lab['wells']:>3} wells {wells_left}▏ {owed}, {lot}"
    books = [sheet.line(wells_line, score)]
    policy = f"gate {gate.policy_in_force(params, lab)}" if params.gate.enabled else ""
    if params.energy.enabled:
        cap = in_thousandths(params.energy.cap)
        left = fit(bar(lab["energy"] / cap, room), room)
        now = f"{in_units(lab['energy']):>5} energy {left}▏ slot {energy.slot(view)}"
        books.append(sheet.line(f"{now}, {energy.presence(params, lab)}", policy))
    elif policy:
        limit = policies_of(params)[int(lab["strictness"])].tau_accept
        books.append(sheet.line(f"{policy} accepts up to {limit:.3f}", gate.tally(lab)))
    table = belief.compound_lines(sheet, view, FINDING + 4 * params.adequacy.enabled)
    return {"books": books + table[:-1]}


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
