"""The gate: its policies, the last judged finding with verdict and reason, and reviews."""

from __future__ import annotations

import textwrap
from typing import Any

from solvent.lab.mechanisms.governance import start_level
from solvent.lab.params import LabParams
from solvent.lab.rendering.findings import JudgedFinding, decisions
from solvent.lab.rendering.palette import (
    DEBT,
    FINDING,
    INK,
    LABEL,
    MUTED,
    PAPER,
    REVIEW,
    RULE,
    VERDICT_COLOURS,
    Colour,
    Style,
    mix,
)
from solvent.lab.rendering.sheet import Sheet, fit, paint
from solvent.lab.rendering.view import Box, Canvas, View, title
from solvent.lab.words.notebook import NO_PLATE, plural
from solvent.lab.words.sentences import policies_of

SCALE = 3.0
"""Upper end of the energy scale, as a multiple of the review threshold."""
SENTENCE, VALUE = Style(INK, 11.5), Style(MUTED, 9.5)
ROWS = 3  # rows of a finding's sentence in the terminal
VERDICT_STYLES = {"accept": "good", "review": "warn", "reject": "bad"}


# -- words


def rules(params: LabParams) -> dict[str, str]:
    """Return the rules about the gate by topic."""
    gate = params.gate
    policy = policies_of(params)[start_level(gate.policy)]
    name, accept, review = policy_word(policy.name), policy.tau_accept, policy.tau_review
    plain, definitive, wait = gate.plain_from, gate.definitive_from, gate.review_heartbeats
    told = {
        "page": f"Experiments write sentences on a compound's page. A finding is a sentence too: below {plain:g} "
        "hedged,\n"
        f"from {definitive:g} definitive. The gate measures how much of it the page leaves unexplained.",
        "verdict": f"Up to {accept:.3f} it is accepted ({name}), up to {review:.3f} reviewed ({wait} h), "
        "else rejected.",
    }
    if not gate.enforced:
        told["measures"] = "Here it only measures: every finding with an experiment behind it is accepted."
    if gate.numbers:
        told["reader"] = (
            "A finding with a number that is not on the page goes to the reader, who approves what is licensed."
        )
    if gate.governance:
        told["governance"] = (
            f"A wrong public finding tightens the gate; {gate.calm_heartbeats} h without one relax it."
        )
    return told


def policy_word(name: str) -> str:
    """Return the short name of a policy: ``P20`` for ``adaptive.P20.v1``."""
    return name.split(".")[1] if name.count(".") > 1 else name


def policy_in_force(params: LabParams, lab: Any) -> str:
    """Return the short name of the policy in force."""
    return policy_word(policies_of(params)[int(lab["strictness"])].name)


def because(energy: float, verdict: str, tau_accept: float, tau_review: float, missing: bool) -> str:
    """Return the reason for a verdict: ``0.053 unexplained, at most 0.067``."""
    if verdict == "accept":
        limits = f"at most {tau_accept:.3f}"
    elif verdict == "reject":
        limits = f"above {tau_review:.3f}"
    elif missing and energy <= tau_accept:
        limits = "but a number is missing"
    else:
        limits = f"between {tau_accept:.3f} and {tau_review:.3f}"
    return f"{energy:.3f} unexplained, {limits}"


def deserved(params: LabParams, finding: JudgedFinding) -> str:
    """Return the reason for the gate's own verdict."""
    if finding.decided_by == NO_PLATE:
        return "no experiment was run on it"
    limits = finding.tau_accept, finding.tau_review
    why = because(finding.energy, finding.gate_verdict, *limits, finding.number_missing)
    return why if params.gate.enforced else f"{why}, not enforced"


def decided(params: LabParams, lab: Any, step: Any) -> list[str]:
    """Return the reviews decided at the end of the heartbeat, and a change of policy."""
    outcomes = []
    for decision in decisions(params, lab, step):
        name = params.assay.compounds[decision.compound]
        if decision.approved:
            outcomes.append(f"The reader approved {name}, which is {'wrong' if decision.wrong else 'right'}.")
        else:
            outcomes.append(f"The reader declined {name}: not licensed.")
    if step["approved"]:
        outcomes.append(f"Paid: {step['decided_bits']:+.2f} bits.".replace("-", "−"))
    now = policy_in_force(params, lab)
    if params.gate.governance and step["incident"]:
        outcomes.append(f"A published error: the gate is at {now}.")
    elif params.gate.governance and step["closed"] and lab["calm"] == 0:
        relaxed = lab["heartbeat"] >= params.gate.calm_heartbeats
        outcomes += [f"The gate relaxes to {now}."] if relaxed else []
    return outcomes


def tally(lab: Any) -> str:
    """Return the number of findings by verdict: ``3 accepted, 1 reviewed, 2 rejected``."""
    counts = zip(lab["verdicts"].tolist(), ("accepted", "reviewed", "rejected"), strict=True)
    return ", ".join(f"{count} {word}" for count, word in counts)


def governed(params: LabParams, lab: Any) -> str:
    """Return the published errors so far and the next action of governance."""
    errors = plural(int(lab["incidents"][1]), "published error")
    if not params.gate.governance:
        return f"{errors}; the policy stays"
    elif lab["strictness"] > start_level(params.gate.policy):
        return f"{errors}; relaxes in {max(0, params.gate.calm_heartbeats - int(lab['calm']))} h"
    return f"{errors}; the next one tightens it"


def pending(params: LabParams, lab: Any) -> list[str]:
    """Return the findings under review, earliest decision first: ``CCCP in 1 h``."""
    due = sorted(
        (int(at) - int(lab["heartbeat"]), name)
        for at, name in zip(lab["decision_at"], params.assay.compounds, strict=True)
        if at
    )
    return [f"{name} in {hours} h" for hours, name in due]


def unseen_decisions(view: View) -> str:
    """Return how many decisions on reviews were not seen; empty if all were."""
    missed = int(view.lab["decided"].sum()) - len(view.history.decisions)
    return f"{plural(missed, 'decision')} not seen" if missed > 0 else ""


# -- lines


def lines(sheet: Sheet, view: View) -> list[str]:
    """Return the policies, the last judged finding with verdict and energy, and reviews."""
    finding = view.history.finding
    verdict = [sheet.line(), sheet.line()]
    if finding:
        width = sheet.inside - sheet.label
        word = paint(finding.verdict, VERDICT_STYLES[finding.verdict])
        verdict = [
            sheet.entry("verdict", fit(f"{word} · {deserved(view.params, finding)}", width)),
            sheet.entry("page", f"{energy_bar(finding, width - 8)} {finding.energy:.3f}"),
        ]
    counts = sheet.entry("so far", so_far(view))
    return [ladder(sheet, view), counts, *sentence_rows(sheet, view), *verdict, reviews_line(sheet, view)]


def ladder(sheet: Sheet, view: View) -> str:
    """Return the policies, laxest first, with the one in force in brackets, and its thresholds."""
    known, level = policies_of(view.params), int(view.lab["strictness"])
    names = [policy_word(policy.name) for policy in known]
    marked = [paint(f"[{name}]", "bold") if i == level else f" {name} " for i, name in enumerate(names)]
    limits = f"accept ≤ {known[level].tau_accept:.3f} · review ≤ {known[level].tau_review:.3f}"
    return sheet.entry("gate", "".join(marked), limits)


def so_far(view: View) -> str:
    """Return the counts of verdicts and the state of governance."""
    return f"{tally(view.lab)} · {governed(view.params, view.lab)}"


def sentence_rows(sheet: Sheet, view: View) -> list[str]:
    """Return the sentence of the last finding in a fixed number of rows, so that the layout is stable."""
    finding = view.history.finding
    if finding is None:
        said = "the last finding was not seen" if view.history.judged else "nothing yet"
        return [sheet.entry("said", paint(said, "dim")), *[sheet.line()] * (ROWS - 1)]
    width = sheet.inside - sheet.label
    rows = textwrap.wrap(f"“{finding.sentence}”", width, max_lines=ROWS, placeholder=" …")
    return sheet.rows("said", rows + [""] * (ROWS - len(rows)), VERDICT_STYLES[finding.verdict])


def energy_bar(finding: JudgedFinding, width: int) -> str:
    """Return the energy as a bar from 0; ``┃`` is the acceptance threshold, ``│`` the review threshold."""
    top = SCALE * finding.tau_review
    cells = ["█" if (i + 0.5) / width * top < finding.energy else "·" for i in range(width)]
    for mark, tau in (("│", finding.tau_review), ("┃", finding.tau_accept)):
        cells[min(width - 1, int(tau / top * width))] = mark
    end = "▸" if finding.energy > top else "▏"
    return paint("".join(cells), VERDICT_STYLES[finding.gate_verdict]) + end


def reviews_line(sheet: Sheet, view: View) -> str:
    """Return the findings under review and the last decisions."""
    parts = pending(view.params, view.lab)
    for decision in view.history.decisions[-2:]:
        parts.append(f"{view.params.assay.compounds[decision.compound]} {decision.word(' and wrong')}")
    if missed := unseen_decisions(view):
        parts.append(missed)
    return sheet.entry("reviews", ", ".join(parts) or paint("none", "dim"))


# -- the picture


def policies(canvas: Canvas, view: View, box: Box, gap: float) -> None:
    """Draw the policies from lax to strict, the counts of verdicts, and the state of governance."""
    lab, level, known = view.lab, int(view.lab["strictness"]), policies_of(view.params)
    title(canvas, box, "Gate", "from lax to strict")
    width = box.width / len(known)
    for i, policy in enumerate(known):
        x = box.x + i * width
        canvas.rect(x, box.y + 20, width - 3, 17, INK if i == level else RULE)
        style = Style(PAPER, 11, bold=True) if i == level else Style(MUTED, 11)
        canvas.text(policy_word(policy.name), x + width / 2 - 1.5, box.y + 32.5, style, align=0.5)
    x, y = box.x, box.y + 51
    for count, (verdict, colour) in zip(lab["verdicts"].tolist(), VERDICT_COLOURS.items(), strict=True):
        canvas.dot(x + 3, y - 3.5, 3, colour)
        x += 9 + canvas.text(f"{count} {verdict}", x + 9, y, LABEL) + gap
    canvas.text(governed(view.params, lab), box.x, box.y + 63, LABEL, width=box.width)


def last_finding(canvas: Canvas, view: View, box: Box) -> None:
    """Draw the last judged finding: its verdict, the reason, and its energy against both thresholds."""
    finding = view.history.finding
    if finding is None:
        draw_no_finding(canvas, view, box)
        return
    y = draw_verdict(canvas, view, finding, box, deserved(view.params, finding))
    draw_energy(canvas, view, finding, Box(box.x, y + 10, box.width, 12))


def draw_no_finding(canvas: Canvas, view: View, box: Box) -> None:
    """Draw the empty panel of the last finding."""
    title(canvas, box, "Last finding")
    canvas.text("not seen" if view.history.judged else "no finding yet", box.x, box.y + 30, Style(MUTED, 11))


def draw_verdict(canvas: Canvas, view: View, finding: JudgedFinding, box: Box, why: str) -> float:
    """Draw a finding's sentence with its verdict and reason below; return the verdict's baseline."""
    short = f"{view.params.assay.compounds[finding.compound]}, {finding.audience}"
    title(canvas, box, "Last finding", f"{short}, heartbeat {finding.heartbeat + 1}", short)
    rows = canvas.wrapped(f"“{finding.sentence}”", SENTENCE, box.width)[:4]
    for row, text in enumerate(rows):
        canvas.text(text, box.x, box.y + 28 + 14 * row, SENTENCE)
    y = box.y + 32 + 14 * len(rows)
    verdict = Style(VERDICT_COLOURS[finding.verdict], 13, bold=True)
    length = canvas.text(finding.verdict, box.x, y, verdict)
    canvas.text(why, box.x + length + 8, y, LABEL, width=box.width - length - 8)
    return y


def draw_energy(canvas: Canvas, view: View, finding: JudgedFinding, box: Box) -> None:
    """Draw the bands of acceptance and review, and the energy as a dot, or as an arrow if off the scale."""
    start = policies_of(view.params)[start_level(view.params.gate.policy)]
    limits = (finding.tau_accept, finding.tau_review)
    top, under = SCALE * max(start.tau_review, finding.tau_review), box.bottom + 12
    accept, review = (box.x + box.width * min(1.0, tau / top) for tau in limits)
    bands: tuple[tuple[float, float, Colour], ...] = (
        (box.x, accept, FINDING),
        (accept, review, REVIEW),
        (review, box.right, DEBT),
    )
    for left, right, colour in bands:
        canvas.rect(left, box.y, right - left, box.height, mix(PAPER, colour, 0.22))
    for x in (accept, review):
        canvas.down(x, box.y, box.bottom + 3, INK)
    length = canvas.text(f"{finding.tau_accept:.3f}", accept + 2, under, VALUE, align=1.0)
    if accept - length > box.x + 8 or finding.score < 0:
        canvas.text("0", box.x, under, VALUE)
    canvas.text(f"{finding.tau_review:.3f}", review + 4, under, VALUE)
    canvas.text(f"unexplained {top:.2f}", box.right, under, VALUE, align=1.0)
    colour = VERDICT_COLOURS[finding.gate_verdict]
    if finding.energy <= top:
        canvas.dot(box.x + box.width * finding.energy / top, box.y + box.height / 2, 5, colour)
    else:
        canvas.text("»", box.right - 4, box.bottom - 2, Style(colour, 14, bold=True), align=1.0)


def reviews(canvas: Canvas, view: View, box: Box) -> None:
    """Draw the findings under review and the last decisions."""
    title(canvas, box, "Reviews", ", ".join(pending(view.params, view.lab)) or "none pending")
    x = box.x
    for decision in view.history.decisions[-3:]:
        good = decision.approved and not decision.wrong
        canvas.dot(x + 3, box.y + 23.5, 3, FINDING if good else DEBT)
        text = f"{view.params.assay.compounds[decision.compound]} {decision.word(', wrong')}"
        x += 9 + canvas.text(text, x + 9, box.y + 27, LABEL) + 12
    canvas.text(unseen_decisions(view), x, box.y + 27, LABEL)
