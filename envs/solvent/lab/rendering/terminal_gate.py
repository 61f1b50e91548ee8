"""The gate as lines of text: the policy in force, the finding that was said last, reviews, and a compound's page."""

from __future__ import annotations

import textwrap
from typing import Any

from solvent.lab.mechanisms.governance import GATE_POLICIES
from solvent.lab.params import LabParams
from solvent.lab.rendering.gate_words import deserved, governed, pending, policy_word, tally, would_be
from solvent.lab.rendering.history import History
from solvent.lab.rendering.said import Said
from solvent.lab.rendering.sheet import Sheet, fit, paint
from solvent.lab.rendering.terminal_adequacy import (
    LABEL,
    VERDICT_STYLES,
    energy_reason,
    told_lines,
    weighed_lines,
)
from solvent.lab.words.notebook import page_of
from solvent.lab.words.sentences import policies_of

__all__ = ["gate_lines", "page_lines", "page_title"]

SCALE = 3.0
"""The bar reaches so many times as far as the review threshold."""


def gate_lines(
    sheet: Sheet, params: LabParams, lab: Any, history: History, *, brief: bool = False
) -> list[str]:
    """The policies with the one in force, what was said last and why it got its verdict, and reviews.

    Where words are held against evidence, also that, and the correction; ``brief`` leaves the rest away.
    """
    policies = policies_of(params)
    now = policies[lab["strictness"]]
    limits = f"accept ≤ {now.tau_accept:.3f} · review ≤ {now.tau_review:.3f}"
    start = GATE_POLICIES.index(params.gate.policy)
    ladder = sheet.line(f"{fit('gate', LABEL)}{_ladder(params, int(lab['strictness']))}", limits)
    if brief:
        return [ladder, *weighed_lines(sheet, params, lab, history.said), *told_lines(sheet, params, lab)]
    so_far = f"{fit('so far', LABEL)}{tally(lab)} · {governed(params, lab, start)}"
    if params.adequacy.enabled and len(so_far) > sheet.inside:
        so_far = so_far.replace("published ", "").replace("the next one", "the next")
    reviews = sheet.line(_reviews(params, lab, history))
    said = _said(sheet, params, lab, history.said)
    told = told_lines(sheet, params, lab) if params.adequacy.enabled else []
    return [ladder, sheet.line(so_far), *said, *told, reviews]


def _ladder(params: LabParams, level: int) -> str:
    """The policies, the laxest first, with the one in force in brackets."""
    names = [policy_word(policy.name) for policy in policies_of(params)]
    marked = [paint(f"[{name}]", "bold") if i == level else f" {name} " for i, name in enumerate(names)]
    return "".join(marked)


def _said(sheet: Sheet, params: LabParams, lab: Any, said: Said | None) -> list[str]:
    """Always so many lines, so the picture does not jump."""
    width, count = sheet.inside - LABEL, 3
    weighed = params.adequacy.enabled
    if said is None:
        words = weighed_lines(sheet, params, lab, said) if weighed else [sheet.line()]
        return [
            sheet.line(f"{fit('said', LABEL)}{paint('nothing yet', 'dim')}"),
            *[sheet.line()] * (count - 1),
            *words,
            sheet.line(),
        ]
    style = VERDICT_STYLES[said.verdict]
    rows = textwrap.wrap(f"“{said.sentence}”", width, max_lines=count, placeholder=" …")
    rows += [""] * (count - len(rows))
    labels = ("said", *[""] * (len(rows) - 1))
    lines = [
        sheet.line(f"{fit(label, LABEL)}{paint(row, style)}") for label, row in zip(labels, rows, strict=True)
    ]
    if weighed:
        bar = f"{_scale(said, width - 34)} {energy_reason(params, said)}"
        return [
            *lines,
            *weighed_lines(sheet, params, lab, said),
            sheet.line(f"{fit('energy', LABEL)}{bar}"),
        ]
    verdict = f"{paint(said.verdict, style)} · {deserved(params, said)}"
    lines.append(sheet.line(f"{fit('verdict', LABEL)}{fit(verdict, width)}"))
    lines.append(sheet.line(f"{fit('energy', LABEL)}{_scale(said, width - 8)} {said.energy:.3f}"))
    return lines


def _scale(said: Said, width: int) -> str:
    """The energy as a bar from 0; ``┃`` is the threshold of acceptance, ``│`` that of review."""
    top = SCALE * said.tau_review
    cells = ["█" if (i + 0.5) / width * top < said.energy else "·" for i in range(width)]
    for mark, tau in (("│", said.tau_review), ("┃", said.tau_accept)):
        cells[min(width - 1, int(tau / top * width))] = mark
    end = "▸" if said.energy > top else "▏"
    return paint("".join(cells), VERDICT_STYLES[said.gate_verdict]) + end


def _reviews(params: LabParams, lab: Any, history: History) -> str:
    parts = pending(params, lab)
    for decision in history.decisions[-2:]:
        word = ("approved" if decision.approved else "declined") + (" and wrong" if decision.wrong else "")
        parts.append(f"{params.assay.compounds[decision.compound]} {word}")
    return f"{fit('reviews', LABEL)}{', '.join(parts) or paint('none', 'dim')}"


def page_title(params: LabParams, lab: Any, history: History) -> str:
    """Whose page it is."""
    if history.subject < 0:
        return "notebook"
    page = page_of(params, lab, history.subject)
    count = len(page.spans)
    fitted = f", {page.fit} fit" if page.spans else ""
    return f"page of {page.compound}: {count} sentence{'s' if count != 1 else ''}{fitted}"


def page_lines(sheet: Sheet, params: LabParams, lab: Any, history: History) -> list[str]:
    """The sentences on the page of the compound that was acted on last, and what could be said of it."""
    if history.subject < 0:
        return [sheet.line(paint("nothing was written yet: experiments do that", "dim"))]
    page = page_of(params, lab, history.subject)
    rows = [row for span in page.fits + page.readouts for row in textwrap.wrap(span, sheet.inside)]
    lines = [sheet.line(row) for row in rows] or [sheet.line(paint("nothing was written yet", "dim"))]
    would = "would be " if params.adequacy.enabled else " would be: "
    for finding in page.findings:
        said = paint(would_be(finding), VERDICT_STYLES[finding.verdict])
        lines.append(sheet.line(f"{fit(finding.wording, 11)}{would}{said}"))
    return lines
