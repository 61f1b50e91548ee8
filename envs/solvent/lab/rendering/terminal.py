"""The lab as a text of fixed width, for a terminal.

Colour helps where there is any; with ``NO_COLOR`` set, nothing but the colour is lost.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np

from solvent.lab.codes import Event
from solvent.lab.params import LabParams
from solvent.lab.rendering.history import History
from solvent.lab.rendering.sheet import BLOCKS, ESCAPE, Sheet, bar, fit, paint
from solvent.lab.rendering.terminal_adequacy import in_short
from solvent.lab.rendering.terminal_gate import gate_lines, page_lines, page_title
from solvent.lab.rendering.terminal_purse import LABEL, cost_lines, purse_lines, voice_lines
from solvent.lab.rendering.words import bits, class_name, clock, contaminated, lot_hours, tell

__all__ = ["NARROWEST", "WIDTH", "draw_text"]

WIDTH = 96
NARROWEST = 76
TITLES = {
    "costs": "costs in energy, now",
    "voice": "base costs (usual ones in brackets), proposals, what energy went into",
}


def draw_text(
    params: LabParams,
    lab: Any,
    step: Any,
    history: History,
    *,
    reveal: bool = False,
    width: int = WIDTH,
    height: int | None = None,
) -> str:
    """The whole lab, lines of ``width`` characters; to fit into ``height`` lines, panels are left out."""
    sheet = Sheet(max(NARROWEST, width))
    panels = {
        "books": _books(sheet, params, lab, history),
        "last": _last(sheet, params, lab, step),
        **_energy(sheet, params, lab, history, reveal),
        **({"gate": gate_lines(sheet, params, lab, history)} if params.gate.enabled else {}),
        "instrument": _instrument(sheet, params, lab),
        "compounds": _compounds(sheet, params, lab, history, reveal),
        **({"page": page_lines(sheet, params, lab, history)} if params.gate.enabled else {}),
    }
    titles = TITLES | ({"page": page_title(params, lab, history)} if params.gate.enabled else {})
    asides: dict[str, str] = {}
    for least in ("costs", "page", "instrument", "voice", "gate"):
        if height is not None and _height(panels) > height:
            panels.pop(least, None)
    if params.adequacy.enabled and "gate" not in panels and height is not None:
        _make_room(panels, gate_lines(sheet, params, lab, history, brief=True), height)
        if "gate" not in panels:
            titles["compounds"], asides["compounds"] = in_short(params, lab, history)
    when = _when(params, lab)
    lines = [sheet.rule("╭", "╮", _name(params, sheet.inside - len(when) - 4), when)]
    for name, panel in panels.items():
        if len(lines) > 1:
            lines.append(sheet.rule("├", "┤", titles.get(name, ""), asides.get(name, "")))
        lines += panel
    text = "\n".join([*lines, sheet.rule("╰", "╯", _mark(params))])
    return ESCAPE.sub("", text) if os.environ.get("NO_COLOR") else text


def _height(panels: dict[str, list[str]]) -> int:
    """Lines of these panels, with a rule over each and one below."""
    return sum(len(panel) + 1 for panel in panels.values()) + 1


def _make_room(panels: dict[str, list[str]], brief: list[str], height: int) -> None:
    """Where there is none for the gate: the most important of it over the compounds, else no line too many."""
    if _height(panels) + len(brief) + 1 <= height:
        compounds = panels.pop("compounds")
        panels.update(gate=brief, compounds=compounds)
    elif _height(panels) > height:
        panels["compounds"].pop()  # what the shapes mean


def _energy(
    sheet: Sheet, params: LabParams, lab: Any, history: History, reveal: bool
) -> dict[str, list[str]]:
    if not params.energy.enabled:
        return {}
    return {
        "costs": cost_lines(sheet, params, lab, reveal),
        "voice": voice_lines(sheet, params, lab, history),
    }


def _name(params: LabParams, room: int) -> str:
    if not params.unenforced:
        return "Solvent"
    name = "Solvent, contaminated"
    return name if len(name) <= room else "contaminated"


def _mark(params: LabParams) -> str:
    """What has no consequence, where that is more than debt, whose mark is in the title."""
    return contaminated(params) if params.unenforced not in ((), ("debt",)) else ""


def _when(params: LabParams, lab: Any) -> str:
    hours = lot_hours(params, lab)
    horizon = params.budget.heartbeats
    return f"heartbeat {lab['heartbeat']} of {horizon} · {clock(params, lab)} · new lot in {hours} h"


def _books(sheet: Sheet, params: LabParams, lab: Any, history: History) -> list[str]:
    start, threshold = params.budget.wells, f" of {params.debt.threshold:.2f} bits"
    label = LABEL if params.energy.enabled or params.gate.enabled else 6
    width = min(32, sheet.inside - 60) if label == 6 else min(30, sheet.inside - 62)
    wells = fit(bar(lab["wells"] / start, width), width)
    score = f"score {bits(lab['score']):>6} bits"
    pages = f"{lab['accepted']} published, {lab['wrong']} wrong · {lab['refusals'].sum()} refused"
    debt = f"{_debt_bar(params, lab, width)}▏ {lab['debt']:4.2f}{threshold}"
    lines = [
        sheet.line(f"{fit('wells', label)}{wells}▏{lab['wells']:>5} of {start}", paint(score, "bold")),
        sheet.line(f"{fit('debt', label)}{debt}", pages),
    ]
    return lines + (purse_lines(sheet, params, lab, history, width) if params.energy.enabled else [])


def _debt_bar(params: LabParams, lab: Any, width: int) -> str:
    """Debt as a bar that reaches half as far again as the threshold, which is marked."""
    threshold = params.debt.threshold
    scale = 1.5 * threshold or 1.0
    filled = fit(bar(lab["debt"] / scale, width), width)
    mark = min(width - 1, round(threshold / scale * width))
    style = "bad" if lab["debt"] > threshold else "debt"
    return paint(filled[:mark], style) + "┃" + paint(filled[mark + 1 :], style)


def _last(sheet: Sheet, params: LabParams, lab: Any, step: Any) -> list[str]:
    said, outcome = tell(params, lab, step)
    style = {
        Event.REFUSED: "bad",
        Event.REJECTED: "bad",
        Event.NOT_EXECUTED: "warn",
        Event.DEFERRED: "warn",
        Event.PUBLISHED: "good",
        Event.SUBMITTED: "warn",
    }.get(Event(int(lab["last_event"])))
    if style == "good" and "wrong" in outcome:
        style = "bad"
    rows = 3 if (params.energy.enabled or params.gate.enabled) and sheet.width < WIDTH else 2
    rows += params.adequacy.enabled  # a correction
    said_rows = [paint(row, style) if style else row for row in sheet.wrapped(outcome, rows)]
    return [sheet.line(row) for row in (paint(said, "bold"), *said_rows)]


def _spark(probabilities: Any) -> str:
    return "".join(BLOCKS[min(7, int(p * 8))] if p >= 0.005 else " " for p in probabilities)


def _instrument(sheet: Sheet, params: LabParams, lab: Any) -> list[str]:
    assay = params.assay
    belief = np.asarray(lab["instrument_belief"]).reshape(len(assay.gains), len(assay.plate_sds))
    rows = []
    for name, values, shares in (
        ("gain ", assay.gains, belief.sum(1)),
        ("noise", assay.plate_sds, belief.sum(0)),
    ):
        pairs = zip(values, shares, strict=True)
        marks = [f"{value:>5g} " + paint(_spark([share]), "belief") for value, share in pairs]
        rows.append(f"{name}{' '.join(marks)}")
    unknown = f"{lab['instrument_entropy']:.2f} bits unknown"
    return [sheet.line(f"instrument   {rows[0]}", unknown), sheet.line(f"             {rows[1]}")]


def _compounds(sheet: Sheet, params: LabParams, lab: Any, history: History, reveal: bool) -> list[str]:
    """A row a compound; columns give way to many classes and long names."""
    columns = _columns(sheet, params, reveal)
    heading = (
        f"{fit('compound', columns.name)}   {fit('belief', columns.belief)}   "
        f"{fit('unknown', columns.bar + 5)} {fit('licence', columns.bar + 5)} plates   finding"
    )
    rows = [sheet.line(paint(heading, "dim"))]
    for m in range(len(params.assay.compounds)):
        row = _compound(params, lab, history, m, columns)
        truth = f"({class_name(params, int(lab['potency'][m]))})" if reveal else ""
        rows.append(sheet.line(row, paint(truth, "warn")))
    last = class_name(params, params.assay.potency_classes - 1)
    return [*rows, sheet.line(paint(f"belief over inactive, {class_name(params, 1)} to {last}", "dim"))]


class Columns(NamedTuple):
    """Widths of the table of compounds."""

    name: int
    belief: int
    bar: int


def _columns(sheet: Sheet, params: LabParams, reveal: bool) -> Columns:
    """Many classes and long names take their room from the bars."""
    name = min(16, max(8, *(len(compound) for compound in params.assay.compounds)))
    belief = max(9, params.assay.potency_classes + 1)
    others = 54 if reveal else 43  # numbers, gaps, and a finding such as "private 3.2 µM"
    others += 4 * params.adequacy.enabled  # where more is reviewed: "review inactive, 4 h"
    return Columns(name, belief, min(8, max(0, (sheet.inside - name - belief - others) // 2)))


def _compound(params: LabParams, lab: Any, history: History, m: int, columns: Columns) -> str:
    marginal = lab["marginal"][m]
    ceiling = params.assay.prior_entropy or 1.0
    shape = paint(_spark(marginal[:1]), "belief") + " " + paint(_spark(marginal[1:]), "belief")
    unknown, licence = (
        f"{value:4.2f} " + paint(fit(bar(value / ceiling, columns.bar), columns.bar), style)
        for value, style in ((lab["entropy"][m], "dim"), (lab["licence"][m], "good"))
    )
    acted = "▸" if m == history.last.compound else " "
    finding = ""
    if lab["published"][m]:
        reader = "private" if lab["published"][m] == 1 else "public"
        finding = paint(f"{reader} {class_name(params, history.findings[m])}", "good")
    elif lab["decision_at"][m]:
        left = int(lab["decision_at"][m]) - int(lab["heartbeat"])
        finding = paint(f"review {class_name(params, int(lab['submitted_class'][m]))}, {left} h", "warn")
    return (
        f"{fit(params.assay.compounds[m], columns.name)} {acted} {fit(shape, columns.belief)}   {unknown} "
        f"{licence} {lab['experiments'][m]:>6}   {finding}"
    )
