"""Epistemic debt: refusals and repayment in words, debt against its threshold, the findings over time."""

from __future__ import annotations

from typing import Any

from solvent.lab.codes import Event, Refusal
from solvent.lab.compiled import plain
from solvent.lab.mechanisms.debt import multiplier
from solvent.lab.params import LabParams
from solvent.lab.rendering.chart import Chart, axes, mark_levels, shade_unseen, steps
from solvent.lab.rendering.palette import DEBT, FINDING, INK, LABEL, NOTE, PAPER, REVIEW, mix
from solvent.lab.rendering.sheet import Sheet, bar, fit, paint
from solvent.lab.rendering.view import Box, Canvas, View, title
from solvent.lab.tables import debt_rules


def refused(params: LabParams, step: Any) -> str:
    """Return the reason for a refusal."""
    reason = Refusal(int(step["refusal"]))
    if reason is Refusal.EPISTEMIC_DEBT_ACTION_BLOCKED:
        return f"debt of {step['debt_before']:.2f} bits is above {params.debt.threshold:g}, only calibration runs"
    elif reason is Refusal.EPISTEMIC_DEBT_BUDGET_EXCEEDED:
        return f"it would cost {step['inflated_cost']:.4g} wells, with {step['wells_before']} left"
    return f"it would leave too few of {step['wells_before']} wells for a calibration"


def new_debt(step: Any) -> str:
    """Return the debt that a step added: ``, 0.50 bits of new debt``."""
    return f", {step['debt_added']:.2f} bits of new debt" if step["debt_added"] >= 0.005 else ""


def grown(step: Any) -> list[str]:
    """Return the interest of the heartbeat that closed, as a sentence."""
    return (
        [f"Interest adds {step['debt_interest']:.2f} bits of debt."] if step["debt_interest"] >= 0.005 else []
    )


def line(sheet: Sheet, view: View) -> str:
    """Return the debt as a bar with its threshold marked, and the counts of findings and refusals."""
    lab, threshold = view.lab, view.params.debt.threshold
    scale = 1.5 * threshold or 1.0
    filled = fit(bar(lab["debt"] / scale, sheet.bar), sheet.bar)
    mark = min(sheet.bar - 1, round(threshold / scale * sheet.bar))
    style = "bad" if lab["debt"] > threshold else "debt"
    marked = paint(filled[:mark], style) + "┃" + paint(filled[mark + 1 :], style)
    verdicts = f"{lab['accepted']} published, {lab['wrong']} wrong · {lab['refusals'].sum()} refused"
    return sheet.entry("debt", f"{marked}▏ {lab['debt']:4.2f} bits, limit {threshold:g}", verdicts)


def debt_chart(canvas: Canvas, view: View, box: Box, inflates: str) -> None:
    """Draw debt over time against its threshold, with findings and refusals below; debt raises ``inflates``."""
    now, threshold = float(view.lab["debt"]), view.params.debt.threshold
    price = plain(multiplier)(debt_rules(view.params), now, view.params.plates.screen.wells, False)
    title(canvas, box, "Debt", f"{now:.2f} bits, {inflates} ×{price:.2f}")
    canvas.cross(box.x + 50, box.y + 6.5, 2.5, INK)
    canvas.text("refused", box.x + 57, box.y + 10, LABEL)
    canvas.dot(box.x + 108, box.y + 6.5, 3, FINDING)
    canvas.text("published", box.x + 115, box.y + 10, LABEL)
    chart = axes(canvas, view, box, max(1.5 * threshold, 1.1 * float(view.lab["debt_peak"]), 0.5))
    above = chart.y(threshold)
    canvas.rect(chart.box.x, chart.box.y, chart.box.width, above - chart.box.y, mix(PAPER, DEBT, 0.06))
    shade_unseen(canvas, view, chart, below=12)
    steps(canvas, view, chart, "debt", (DEBT, mix(PAPER, DEBT, 0.22)))
    canvas.dashes(chart.box.x, chart.box.right, above, INK)
    mark_levels(canvas, chart, f"{threshold:g}", above + 3.5)
    canvas.text("threshold", chart.box.right - 3, above - 4, NOTE, align=1.0)
    _verdicts(canvas, view, chart)


def review_legend(canvas: Canvas, box: Box) -> None:
    """Add the mark of a submission to the legend of the debt chart."""
    canvas.dot(box.x + 169, box.y + 6.5, 3, REVIEW, 1.6)
    canvas.text("to review", box.x + 176, box.y + 10, LABEL)


def _verdicts(canvas: Canvas, view: View, chart: Chart) -> None:
    each, y = 1 / view.params.slots, chart.box.bottom + 7
    for beat in view.history.beats[1:]:
        x = (chart.x(beat.began + each) + chart.x(beat.began)) / 2
        if beat.event == Event.REFUSED:
            canvas.cross(x, y, 2.5, INK)
        elif beat.event == Event.PUBLISHED:
            canvas.dot(x, y, 3, FINDING)
        elif beat.event == Event.SUBMITTED:
            canvas.dot(x, y, 3, REVIEW, 1.6)
    for decision in view.history.decisions:
        if decision.approved:
            canvas.dot(chart.x(decision.heartbeat), y, 3, FINDING)
