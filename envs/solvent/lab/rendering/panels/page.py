"""The page of the last compound acted on, and the outcomes of findings about it."""

from __future__ import annotations

import textwrap

from solvent.lab.rendering.palette import (
    BODY,
    FAINT,
    INK,
    LABEL,
    MUTED,
    NOTE,
    RULE,
    VERDICT_COLOURS,
    Colour,
    Style,
)
from solvent.lab.rendering.panels.adequacy import by_whom
from solvent.lab.rendering.panels.gate import VERDICT_STYLES
from solvent.lab.rendering.sheet import Sheet, fit, paint
from solvent.lab.rendering.view import Box, Canvas, View, title
from solvent.lab.words.notebook import NO_PLATE, UNWEIGHED, Finding, Notebook, page_of, plural

LINE, INDENT = 12.0, 8.0


def would_be(finding: Finding) -> str:
    """Return the outcome of a finding if submitted now: ``accept, 0.053 unexplained``.

    With adequacy: ``review by its words, score 2, 0.053 unexplained``.
    """
    lacking = finding.number_missing and finding.gate_verdict == "review"
    energy = f"{finding.energy:.3f} unexplained"
    if finding.adequacy == UNWEIGHED:
        shadow = f" (the gate: {finding.gate_verdict})" if finding.gate_verdict != finding.verdict else ""
        missing = ", a number is not on the page" if lacking else ""
        return f"{finding.verdict}{shadow}, {energy}{missing}"
    missing = ", number missing" if lacking else ""
    by = by_whom(finding.decided_by)
    return f"{finding.verdict}{by}, score {finding.adequacy}, {energy}{missing}"


def _page(view: View) -> Notebook | None:
    subject = view.history.subject
    return None if subject < 0 else page_of(view.params, view.lab, subject)


def _no_page(view: View) -> str:
    if view.history.unseen:
        return "the last action on a compound was not seen"
    return "no sentences yet: experiments write them"


# -- lines


def heading(view: View) -> str:
    """Return a heading with the compound, the number of sentences and the fit."""
    page = _page(view)
    if page is None:
        return "page not seen" if view.history.unseen else "notebook"
    fitted = f", {page.fit} fit" if page.spans else ""
    return f"page of {page.compound}: {plural(len(page.spans), 'sentence')}{fitted}"


def lines(sheet: Sheet, view: View) -> list[str]:
    """Return the sentences of the page and the outcome of a finding in each wording."""
    page = _page(view)
    if page is None:
        return [sheet.line(paint(_no_page(view), "dim"))]
    rows = [row for span in page.fits + page.readouts for row in textwrap.wrap(span, sheet.inside)]
    lines = [sheet.line(row) for row in rows] or [sheet.line(paint("no sentences yet", "dim"))]
    for finding in page.findings:
        would = " would be: " if finding.adequacy == UNWEIGHED else "would be "
        verdict = paint(would_be(finding), VERDICT_STYLES[finding.verdict])
        lines.append(sheet.line(f"{fit(finding.wording, 11)}{would}{verdict}"))
    return lines


# -- the picture


def page(canvas: Canvas, view: View, box: Box) -> None:
    """Draw the sentences of the page and the outcome of each finding about it."""
    notes = _page(view)
    if notes is None:
        title(canvas, box, "Page not seen" if view.history.unseen else "Notebook")
        canvas.text(_no_page(view), box.x, box.y + 30, Style(MUTED, 11))
        return
    count = plural(len(notes.spans), "sentence")
    title(
        canvas,
        box,
        f"Page of {notes.compound}",
        f"{count}, {notes.fit} fit" if notes.spans else "empty",
        count,
    )
    scores = 0.0 if notes.findings[0].adequacy == UNWEIGHED else 12.0
    _spans(canvas, notes, Box(box.x, box.y + 18, box.width, box.height - 40 - scores))
    _could_be(canvas, notes, box, box.bottom - scores)


def _spans(canvas: Canvas, notes: Notebook, box: Box) -> None:
    """Draw the fits, strongest first, then the readouts; lines that do not fit are counted."""
    ordered = [(span, INK) for span in notes.fits] + [(span, MUTED) for span in notes.readouts]
    rows: list[tuple[str, float, Colour]] = []
    for span, shade in ordered:
        for k, text in enumerate(canvas.wrapped(span, BODY, box.width - INDENT)):
            rows.append((text, INDENT if k else 0.0, shade))
    room = int(box.height / LINE)
    if len(rows) > room:
        rows = [*rows[: room - 1], (f"and {len(rows) - room + 1} more lines", 0.0, FAINT)]
    for k, (text, indent, shade) in enumerate(rows):
        y = box.y + 10 + LINE * k
        canvas.text(text, box.x + indent, y, Style(shade), width=box.width - indent)


def _could_be(canvas: Canvas, notes: Notebook, box: Box, y: float) -> None:
    """Draw a finding's energy in each wording at ``y``, and its score and who decides at the bottom."""
    canvas.across(box.x, box.right, y - 15, RULE)
    x = box.x + canvas.text("if said now:", box.x, y, LABEL) + 12
    width = (box.right - x + 8) / len(notes.findings)
    for finding in notes.findings:
        canvas.dot(x + 3, y - 3.5, 3, VERDICT_COLOURS[finding.verdict])
        canvas.text(f"{finding.wording} {finding.energy:.3f}", x + 9, y, BODY)
        if finding.adequacy != UNWEIGHED:
            canvas.text(_scored(finding), x + 9, box.bottom, NOTE, width=width - 17)
        x += width


def _scored(finding: Finding) -> str:
    if finding.decided_by == NO_PLATE:
        return NO_PLATE
    by = {"": "", "adequacy": " (words)"}.get(finding.decided_by, f" ({finding.decided_by})")
    return f"score {finding.adequacy}{by}"
