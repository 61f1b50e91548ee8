"""The last action, its outcome in each mechanism, and the effects of a closed heartbeat."""

from __future__ import annotations

from typing import Any

from solvent.lab.actions import action_table, sentence
from solvent.lab.codes import EndReason, Event, Obstacle
from solvent.lab.params import LabParams
from solvent.lab.rendering.findings import JudgedFinding, judged_finding
from solvent.lab.rendering.history import is_fresh
from solvent.lab.rendering.palette import DEBT, FINDING, INK, REVIEW, Style
from solvent.lab.rendering.panels import adequacy, debt, energy, gate, proposals, wells
from solvent.lab.rendering.sheet import Sheet, paint
from solvent.lab.rendering.view import Box, Canvas, View
from solvent.lab.rendering.words import bits, in_units, lot_hours
from solvent.lab.words.notebook import NO_PLATE, plural

ENDINGS = {
    EndReason.HORIZON: "The horizon is reached",
    EndReason.EXHAUSTED: "Only rest can still run",
    EndReason.BANKRUPT: "Bankrupt: no calibration can be paid",
    EndReason.TERMINATED_BY_AGENT: "Ended by the agent",
}
OUTCOMES = {
    Event.STARTED: "Nothing is known yet.",
    Event.RESTED: "An hour passed.",
    Event.CALIBRATED: "The instrument was calibrated.",
    Event.EXPLORED: "The plate was read.",
    Event.PUBLISHED: "Accepted.",
    Event.REJECTED: "Rejected: no experiment was run on it.",
    Event.REFUSED: "Refused.",
    Event.NOT_EXECUTED: "Not executed: it is published already.",
    Event.REFLECTED: "Looked at the energy spent this hour.",
    Event.PROPOSED: "A lower cost was proposed.",
    Event.DEFERRED: "Deferred: too dear.",
    Event.SUBMITTED: "Under review.",
}
STYLES = {
    Event.REFUSED: "bad",
    Event.REJECTED: "bad",
    Event.NOT_EXECUTED: "warn",
    Event.DEFERRED: "warn",
    Event.PUBLISHED: "good",
    Event.SUBMITTED: "warn",
}
VERDICT_WORDS = {"accept": "Accepted", "review": "Under review", "reject": "Rejected"}


def tell(params: LabParams, lab: Any, step: Any) -> tuple[str, str]:
    """Return the last action as a sentence, and its outcome."""
    action = int(lab["last_action"])
    done = "the episode starts" if action < 0 else sentence(params, action)
    event, fresh = Event(int(lab["last_event"])), is_fresh(lab, step)
    parts = [OUTCOMES[event]]
    if fresh:
        parts = [_outcome(params, lab, step, event)]
        if params.gate.enabled:
            parts += gate.decided(params, lab, step) + adequacy.corrected(params, lab, step)
        parts += debt.grown(step)
        if params.energy.enabled and step["closed"]:
            parts += energy.closed(params, step) + proposals.reviewed(step)
    settled = float(step["settled"]) if fresh else 0.0
    return done[0].upper() + done[1:], " ".join(parts + _afterwards(params, lab, settled))


def _outcome(params: LabParams, lab: Any, step: Any, event: Event) -> str:
    if event is Event.NOT_EXECUTED and step["obstacle"] != Obstacle.NONE:
        return f"Not executed: {_obstacle(params, step)}."
    elif event is Event.DEFERRED:
        return proposals.deferred(step)
    elif event is Event.REFLECTED:
        return proposals.reflected(lab, step)
    elif event is Event.PROPOSED:
        return proposals.proposed(params, step)
    uses = params.energy.enabled and step["energy_spent"]
    spent = f", {in_units(step['energy_spent'])} energy" if uses else ""
    return f"{_result(params, lab, step, event)}{spent}."


def _result(params: LabParams, lab: Any, step: Any, event: Event) -> str:
    """Return the outcome of an action that was executed or refused, without the final full stop."""
    if event in (Event.CALIBRATED, Event.EXPLORED):
        took = wells.charged(params, action_table(params)[step["action"]]["verb"], int(step["wells_charged"]))
        gain = bits(step["gain"]) if step["gain"] < 0 else f"{step['gain']:.2f}"
        if event is Event.EXPLORED:
            return f"Learnt {gain} of {step['claim']:.2f} bits claimed{debt.new_debt(step)}; {took}"
        return f"Learnt {gain} bits about the instrument, repaid {step['debt_repaid']:.2f} of debt; {took}"
    elif event is Event.PUBLISHED:
        right, verdict = "right" if step["right"] else "wrong", judged(params, lab, step)
        paid = f"{bits(step['published_bits'] - step['decided_bits'])} bits{debt.new_debt(step)}"
        return f"{verdict}; it is {right}, {paid}" if verdict else f"Accepted, and {right}: {paid}"
    elif event in (Event.SUBMITTED, Event.REJECTED):
        verdict = judged(params, lab, step) or OUTCOMES[event].removesuffix(".")
        return f"{verdict}{debt.new_debt(step)}"
    elif event is Event.REFUSED:
        return f"Refused: {debt.refused(params, step)}. The heartbeat is lost"
    return OUTCOMES[event].removesuffix(".")


def _obstacle(params: LabParams, step: Any) -> str:
    evidence = plural(params.proposals.evidence_heartbeats, "hour")
    return {
        Obstacle.CONTEXT_NOT_ALLOWED: energy.user_is_away(params),
        Obstacle.ALREADY_PUBLISHED: "it is published already",
        Obstacle.NO_REFLECTION: "a proposal must follow a reflection in the same hour",
        Obstacle.NO_EVIDENCE: f"it takes deferrals of one verb in {evidence}",
        Obstacle.INSUFFICIENT_ENERGY: "too dear",
        Obstacle.UNDER_REVIEW: "a finding on it is under review",
    }[Obstacle(int(step["obstacle"]))]


def judged(params: LabParams, lab: Any, step: Any) -> str:
    """Return the verdict on a step's finding without the final full stop, or an empty text."""
    finding = judged_finding(params, lab, step)
    if finding is None:
        return ""
    wait = f" for {params.gate.review_heartbeats} h" if step["event"] == Event.SUBMITTED else ""
    return f"{VERDICT_WORDS[finding.verdict]}{wait}: {_reasons(params, finding)}"


def _reasons(params: LabParams, finding: JudgedFinding) -> str:
    by_gate = f"{gate.deserved(params, finding)} ({gate.policy_word(finding.policy)})"
    if finding.score < 0 or finding.decided_by == NO_PLATE:
        return by_gate
    words = adequacy.its_words(finding.rule, finding.plates, finding.score)
    if finding.decided_by == "adequacy":
        return words
    if finding.decided_by == "both":
        return f"{by_gate}, and {words}"
    shadow = "" if params.adequacy.enforced else ", not enforced"
    return f"{by_gate}, words score {finding.score}{shadow}"


def _afterwards(params: LabParams, lab: Any, settled: float) -> list[str]:
    """Return further events of the heartbeat: the end of the episode, or a new reagent lot."""
    end = EndReason(int(lab["end_reason"]))
    if end is not EndReason.RUNNING:
        bill = f": {settled:.2f} bits of debt settled" if settled >= 0.005 else ""
        dropped = " Pending reviews are dropped." if lab["decision_at"].any() else ""
        return [f"{ENDINGS[end]}{bill}.{dropped}"]
    if lab["heartbeat"] > 0 and not lab["slot"] and lot_hours(params, lab) == params.assay.lot_heartbeats:
        return ["A new reagent lot: the instrument is unknown again."]
    return []


def lines(sheet: Sheet, view: View, rows: int) -> list[str]:
    """Return the last action, and its outcome in ``rows`` rows."""
    done, outcome = tell(view.params, view.lab, view.step)
    style = STYLES.get(Event(int(view.lab["last_event"])))
    if style == "good" and "wrong" in outcome:
        style = "bad"
    texts = [paint(row, style) if style else row for row in sheet.wrapped(outcome, rows)]
    return [sheet.line(text) for text in (paint(done, "bold"), *texts)]


def footer(canvas: Canvas, view: View, box: Box, rows: int) -> None:
    """Draw the last action with a coloured mark, and its outcome in one or two rows."""
    done, outcome = tell(view.params, view.lab, view.step)
    event = Event(int(view.lab["last_event"]))
    bad = event in (Event.REFUSED, Event.REJECTED) or "wrong" in outcome
    good = event is Event.PUBLISHED and not bad
    mark = FINDING if good else DEBT if bad else REVIEW if event is Event.SUBMITTED else INK
    x, width = box.x + 12, box.width - 14
    canvas.rect(box.x, box.y + 11, 3, 27, mark)
    texts = canvas.wrapped(outcome, Style(INK, 11.5), width) if rows > 1 else [outcome]
    if len(texts) > 1:
        canvas.rect(box.x, box.y + 38, 3, 5, mark)
        canvas.text(done, x, box.y + 17, Style(INK, 12, bold=True), width=width)
        for row, text in enumerate((texts[0], " ".join(texts[1:]))):
            canvas.text(text, x, box.y + 30 + 12.5 * row, Style(INK, 11), width=width)
        return
    canvas.text(done, x, box.y + 20, Style(INK, 12.5, bold=True), width=width)
    canvas.text(outcome, x, box.y + 36, Style(INK, 11.5), width=width)
