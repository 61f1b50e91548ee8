"""The lab as a text of fixed width, for a terminal.

Colour helps where there is any; with ``NO_COLOR`` set, nothing but the colour is lost.
"""

from __future__ import annotations

import os
import re
from typing import Any, NamedTuple

import numpy as np

from solvent.params import LabParams
from solvent.rendering.history import History
from solvent.rendering.words import bits, class_name, clock, lot_hours, tell
from solvent.state import Event

__all__ = ["WIDTH", "draw_text"]

WIDTH = 96
INSIDE = WIDTH - 4

BLOCKS = "▁▂▃▄▅▆▇█"
EIGHTHS = " ▏▎▍▌▋▊▉"
CODES = {"bold": "1", "dim": "2", "debt": "35", "belief": "34", "good": "32", "bad": "31", "warn": "33"}
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def draw_text(params: LabParams, lab: Any, step: Any, history: History, *, reveal: bool = False) -> str:
    """The whole lab, lines of ``WIDTH`` characters."""
    lines = [
        _rule("╭", "╮", _name(params), _when(params, lab)),
        *_books(params, lab),
        _rule("├", "┤"),
        *_last(params, lab, step),
        _rule("├", "┤"),
        *_instrument(params, lab),
        _rule("├", "┤"),
        *_compounds(params, lab, history, reveal),
        _rule("╰", "╯"),
    ]
    text = "\n".join(lines)
    return ESCAPE.sub("", text) if os.environ.get("NO_COLOR") else text


def _paint(text: str, style: str) -> str:
    return f"\x1b[{CODES[style]}m{text}\x1b[0m" if text.strip() else text


def _long(text: str) -> int:
    return len(ESCAPE.sub("", text))


def _fit(text: str, width: int) -> str:
    """``text`` padded or cut to ``width``; cut only where it is plain."""
    if _long(text) > width:
        text = ESCAPE.sub("", text)[: width - 1] + "…"
    return text + " " * (width - _long(text))


def _line(left: str, right: str = "") -> str:
    space = INSIDE - _long(right)
    return f"{_paint('│', 'dim')} {_fit(left, space)}{right} {_paint('│', 'dim')}"


def _rule(start: str, end: str, left: str = "", right: str = "") -> str:
    left = f" {left} " if left else ""
    right = f" {right} " if right else ""
    dashes = "─" * (WIDTH - 4 - len(left) - len(right))
    return (
        _paint(f"{start}─", "dim")
        + _paint(left, "bold")
        + _paint(dashes, "dim")
        + right
        + _paint(f"─{end}", "dim")
    )


def _name(params: LabParams) -> str:
    return "Solvent" if params.debt.enforced else "Solvent, contaminated"


def _when(params: LabParams, lab: Any) -> str:
    hours = lot_hours(params, lab)
    horizon = params.budget.heartbeats
    return f"heartbeat {lab['heartbeat']} of {horizon} · {clock(params, lab)} · new lot in {hours} h"


def _bar(share: float, width: int) -> str:
    """A bar of ``width`` characters, to an eighth of a character."""
    eighths = round(min(1.0, max(0.0, share)) * width * 8)
    full, rest = divmod(eighths, 8)
    return "█" * full + (EIGHTHS[rest] if rest else "")


def _books(params: LabParams, lab: Any) -> list[str]:
    start = params.budget.wells
    wells = _fit(_bar(lab["wells"] / start, 32), 32)
    score = f"score {bits(lab['score']):>6} bits"
    pages = f"{lab['accepted']} published, {lab['wrong']} wrong · {lab['refusals'].sum()} refused"
    threshold = f" of {params.debt.threshold:.2f} bits"
    return [
        _line(f"wells {wells}▏{lab['wells']:>5} of {start}", _paint(score, "bold")),
        _line(f"debt  {_debt_bar(params, lab)}▏ {lab['debt']:4.2f}{threshold}", pages),
    ]


def _debt_bar(params: LabParams, lab: Any) -> str:
    """Debt as a bar that reaches half as far again as the threshold, which is marked."""
    width, threshold = 32, params.debt.threshold
    scale = 1.5 * threshold or 1.0
    bar = _fit(_bar(lab["debt"] / scale, width), width)
    mark = min(width - 1, round(threshold / scale * width))
    style = "bad" if lab["debt"] > threshold else "debt"
    return _paint(bar[:mark], style) + "┃" + _paint(bar[mark + 1 :], style)


def _last(params: LabParams, lab: Any, step: Any) -> list[str]:
    said, outcome = tell(params, lab, step)
    style = {
        Event.REFUSED: "bad",
        Event.REJECTED: "bad",
        Event.NOT_EXECUTED: "warn",
        Event.PUBLISHED: "good",
    }.get(Event(int(lab["last_event"])))
    if style == "good" and "wrong" in outcome:
        style = "bad"
    rows = _wrapped(outcome)
    return [_line(_paint(said, "bold"))] + [_line(_paint(row, style) if style else row) for row in rows]


def _wrapped(text: str) -> list[str]:
    """Always two rows, so the picture does not jump."""
    if len(text) <= INSIDE:
        return [text, ""]
    cut = text.rfind(" ", 0, INSIDE)
    return [text[:cut], text[cut + 1 :]]


def _spark(probabilities: Any) -> str:
    return "".join(BLOCKS[min(7, int(p * 8))] if p >= 0.005 else " " for p in probabilities)


def _instrument(params: LabParams, lab: Any) -> list[str]:
    assay = params.assay
    belief = np.asarray(lab["instrument_belief"]).reshape(len(assay.gains), len(assay.plate_sds))
    rows = []
    for name, values, shares in (
        ("gain ", assay.gains, belief.sum(1)),
        ("noise", assay.plate_sds, belief.sum(0)),
    ):
        pairs = zip(values, shares, strict=True)
        marks = [f"{value:>5g} " + _paint(_spark([share]), "belief") for value, share in pairs]
        rows.append(f"{name}{' '.join(marks)}")
    unknown = f"{lab['instrument_entropy']:.2f} bits unknown"
    return [_line(f"instrument   {rows[0]}", unknown), _line(f"             {rows[1]}")]


def _compounds(params: LabParams, lab: Any, history: History, reveal: bool) -> list[str]:
    """A row a compound; columns give way to many classes and long names."""
    columns = _columns(params, reveal)
    heading = (
        f"{_fit('compound', columns.name)}   {_fit('belief', columns.belief)}   "
        f"{_fit('unknown', columns.bar + 5)} {_fit('licence', columns.bar + 5)} plates   finding"
    )
    rows = [_line(_paint(heading, "dim"))]
    for m in range(len(params.assay.compounds)):
        row = _compound(params, lab, history, m, columns)
        truth = f"({class_name(params, int(lab['potency'][m]))})" if reveal else ""
        rows.append(_line(row, _paint(truth, "warn")))
    last = class_name(params, params.assay.potency_classes - 1)
    return [*rows, _line(_paint(f"belief over inactive, {class_name(params, 1)} to {last}", "dim"))]


class Columns(NamedTuple):
    """Widths of the table of compounds."""

    name: int
    belief: int
    bar: int


def _columns(params: LabParams, reveal: bool) -> Columns:
    """Many classes and long names take their room from the bars."""
    name = min(16, max(8, *(len(compound) for compound in params.assay.compounds)))
    belief = max(9, params.assay.potency_classes + 1)
    others = 54 if reveal else 43  # numbers, gaps, and a finding such as "private 3.2 µM"
    return Columns(name, belief, min(8, max(0, (INSIDE - name - belief - others) // 2)))


def _compound(params: LabParams, lab: Any, history: History, m: int, columns: Columns) -> str:
    marginal = lab["marginal"][m]
    ceiling = params.assay.prior_entropy or 1.0
    shape = _paint(_spark(marginal[:1]), "belief") + " " + _paint(_spark(marginal[1:]), "belief")
    unknown, licence = (
        f"{value:4.2f} " + _paint(_fit(_bar(value / ceiling, columns.bar), columns.bar), style)
        for value, style in ((lab["entropy"][m], "dim"), (lab["licence"][m], "good"))
    )
    acted = "▸" if m == history.last.compound else " "
    finding = ""
    if lab["published"][m]:
        reader = "private" if lab["published"][m] == 1 else "public"
        finding = _paint(f"{reader} {class_name(params, history.findings[m])}", "good")
    return (
        f"{_fit(params.assay.compounds[m], columns.name)} {acted} {_fit(shape, columns.belief)}   {unknown} "
        f"{licence} {lab['experiments'][m]:>6}   {finding}"
    )
