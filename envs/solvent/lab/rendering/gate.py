"""Panels of the gate: the policies, the finding that was said last, the page it is held against, reviews."""

from __future__ import annotations

from solvent.lab.mechanisms.governance import GATE_POLICIES
from solvent.lab.rendering.adequacy import VERDICT_COLOURS, score_strip, words_and_plates
from solvent.lab.rendering.adequacy_words import by_whom
from solvent.lab.rendering.canvas import Colour, mix
from solvent.lab.rendering.gate_words import deserved, governed, pending, policy_word
from solvent.lab.rendering.palette import DEBT, FAINT, FINDING, INK, MUTED, PAPER, REVIEW, RULE
from solvent.lab.rendering.said import Said
from solvent.lab.rendering.scene import Box, Scene, title
from solvent.lab.words.notebook import NO_PLATE, Finding, Notebook, page_of, plural
from solvent.lab.words.sentences import policies_of

__all__ = ["in_force", "last_finding", "page", "policies", "reviews", "under_review"]

SCALE = 3.0
"""The scale of energies reaches so many times as far as the review threshold of the policy at the start."""
SAID_SIZE, PAGE_SIZE = 11.5, 10.0
LINE, INDENT = 12.0, 8.0


def in_force(scene: Scene) -> str:
    """The policy's name without its version."""
    return policies_of(scene.params)[int(scene.lab["strictness"])].name.rpartition(".v")[0]


def under_review(scene: Scene) -> str:
    """How many findings wait for a reader."""
    return str(int((scene.lab["decision_at"] != 0).sum()))


# -- the policies


def policies(scene: Scene, box: Box) -> None:
    """The policies from lax to strict with the one in force, what they have said so far, and what governs them."""
    canvas, lab, level = scene.canvas, scene.lab, int(scene.lab["strictness"])
    title(canvas, box, "Gate", "from lax to strict")
    known, weighed = policies_of(scene.params), scene.params.adequacy.enabled
    width = box.width / len(known)
    for i, policy in enumerate(known):
        x = box.x + i * width
        canvas.rect(x, box.y + 20, width - 3, 17, INK if i == level else RULE)
        colour = PAPER if i == level else MUTED
        name = policy_word(policy.name)
        canvas.text(name, x + width / 2 - 1.5, box.y + 32.5, colour, 11, bold=i == level, align=0.5)
    x, y = box.x, box.y + 51
    for count, (verdict, colour) in zip(lab["verdicts"].tolist(), VERDICT_COLOURS.items(), strict=True):
        canvas.dot(x + 3, y - 3.5, 3, colour)
        x += 9 + canvas.text(f"{count} {verdict}", x + 9, y, MUTED, 10) + (7 if weighed else 12)
    if weighed:
        score_strip(scene, box.right - 1, y)
    start = GATE_POLICIES.index(scene.params.gate.policy)
    canvas.text(governed(scene.params, lab, start), box.x, box.y + 63, MUTED, 10, width=box.width)


# -- the finding that was said last


def last_finding(scene: Scene, box: Box) -> None:
    """The sentence, its verdict and why, and its energy against the two thresholds of the policy that judged it."""
    canvas, said = scene.canvas, scene.history.said
    if said is None:
        title(canvas, box, "Last finding")
        canvas.text("nothing was said yet", box.x, box.y + 30, MUTED, 11)
        return
    name = scene.params.assay.compounds[said.compound]
    heard = "publicly" if said.public else "privately"
    full = f"{name}, {heard}, heartbeat {said.heartbeat + 1}"
    title(canvas, box, "Last finding", full, f"{name}, {heard}")
    lines = canvas.wrapped(f"“{said.sentence}”", SAID_SIZE, box.width)[:4]
    for row, line in enumerate(lines):
        canvas.text(line, box.x, box.y + 28 + 14 * row, INK, SAID_SIZE)
    y = box.y + 28 + 14 * len(lines) + 4
    colour = VERDICT_COLOURS[said.verdict]
    length = canvas.text(said.verdict, box.x, y, colour, 13, bold=True)
    why = deserved(scene.params, said)
    if scene.params.adequacy.enabled:
        why = _decided(said, why)
    canvas.text(why, box.x + length + 8, y, MUTED, 10, width=box.width - length - 8)
    _energies(scene, said, Box(box.x, y + 10, box.width, 12))
    if scene.params.adequacy.enabled:
        words_and_plates(scene, said, Box(box.x, y + 41, box.width, 12))


def _decided(said: Said, why: str) -> str:
    """Who decided, before what the gate made of the energy; in brackets where that is not the reason."""
    if not said.decided_by:
        return why
    by = by_whom(said.decided_by).lstrip()
    return f"{by} ({why})" if said.decided_by == "adequacy" else f"{by}: {why}"


def _energies(scene: Scene, said: Said, box: Box) -> None:
    """Bands of acceptance and review from 0 upwards, the energy as a dot, or as an arrow where it is off the scale."""
    canvas = scene.canvas
    start = policies_of(scene.params)[GATE_POLICIES.index(scene.params.gate.policy)]
    top = SCALE * max(start.tau_review, said.tau_review)
    accept, review = (box.x + box.width * min(1.0, tau / top) for tau in (said.tau_accept, said.tau_review))
    bands: tuple[tuple[float, float, Colour], ...] = (
        (box.x, accept, FINDING),
        (accept, review, REVIEW),
        (review, box.right, DEBT),
    )
    for left, right, colour in bands:
        canvas.rect(left, box.y, right - left, box.height, mix(PAPER, colour, 0.22))
    for x in (accept, review):
        canvas.down(x, box.y, box.bottom + 3, INK)
    length = canvas.text(f"{said.tau_accept:.3f}", accept + 2, box.bottom + 12, MUTED, 9.5, align=1.0)
    if accept - length > box.x + 8 or not scene.params.adequacy.enabled:
        canvas.text("0", box.x, box.bottom + 12, MUTED, 9.5)
    canvas.text(f"{said.tau_review:.3f}", review + 4, box.bottom + 12, MUTED, 9.5)
    canvas.text(f"energy {top:.2f}", box.right, box.bottom + 12, MUTED, 9.5, align=1.0)
    middle, colour = box.y + box.height / 2, VERDICT_COLOURS[said.gate_verdict]
    if said.energy <= top:
        canvas.dot(box.x + box.width * said.energy / top, middle, 5, colour)
    else:
        canvas.text("»", box.right - 4, box.bottom - 2, colour, 14, bold=True, align=1.0)


# -- the page


def page(scene: Scene, box: Box) -> None:
    """The sentences on the page of the compound that was acted on last, and what could be said of it."""
    canvas, compound = scene.canvas, scene.history.subject
    if compound < 0:
        title(canvas, box, "Notebook")
        canvas.text("experiments write it", box.x, box.y + 30, MUTED, 11)
        return
    notes = page_of(scene.params, scene.lab, compound)
    count = len(notes.spans)
    value = f"{plural(count, 'sentence')}, {notes.fit} fit" if count else "empty"
    title(canvas, box, f"Page of {notes.compound}", value, plural(count, "sentence"))
    _spans(scene, notes, Box(box.x, box.y + 18, box.width, box.height - 40 - _second_row(scene)))
    _could_say(scene, notes, box)


def _spans(scene: Scene, notes: Notebook, box: Box) -> None:
    """What was fitted first, the best first, then the readouts; what finds no room is counted."""
    canvas = scene.canvas
    ordered = [(span, INK) for span in notes.fits] + [(span, MUTED) for span in notes.readouts]
    rows: list[tuple[str, float, Colour]] = []
    for span, shade in ordered:
        for k, line in enumerate(canvas.wrapped(span, PAGE_SIZE, box.width - INDENT)):
            rows.append((line, INDENT if k else 0.0, shade))
    room = int(box.height / LINE)
    if len(rows) > room:
        rows = [*rows[: room - 1], (f"and {len(rows) - room + 1} more lines", 0.0, FAINT)]
    for k, (line, indent, shade) in enumerate(rows):
        canvas.text(line, box.x + indent, box.y + 10 + LINE * k, shade, PAGE_SIZE, width=box.width - indent)


def _could_say(scene: Scene, notes: Notebook, box: Box) -> None:
    """The energy of a finding now, in each wording, in its verdict's colour; with adequacy its score, who decides."""
    canvas, y = scene.canvas, box.bottom - _second_row(scene)
    canvas.across(box.x, box.right, y - 15, RULE)
    x = box.x + canvas.text("if said now:", box.x, y, MUTED, 10) + 12
    width = (box.right - x + 8) / len(notes.findings)
    for finding in notes.findings:
        canvas.dot(x + 3, y - 3.5, 3, VERDICT_COLOURS[finding.verdict])
        canvas.text(f"{finding.wording} {finding.energy:.3f}", x + 9, y, INK, 10)
        if scene.params.adequacy.enabled:
            canvas.text(_scored(finding), x + 9, box.bottom, MUTED, 9, width=width - 17)
        x += width


def _scored(finding: Finding) -> str:
    """Its score, and who decides where it would not get out."""
    if finding.decided_by == NO_PLATE:
        return NO_PLATE
    by = {"": "", "adequacy": " (words)"}.get(finding.decided_by, f" ({finding.decided_by})")
    return f"score {finding.adequacy}{by}"


def _second_row(scene: Scene) -> float:
    """Units for the scores under the energies."""
    return 12.0 if scene.params.adequacy.enabled else 0.0


# -- reviews


def reviews(scene: Scene, box: Box) -> None:
    """What waits for a reader, and what was decided last."""
    canvas, params = scene.canvas, scene.params
    waiting = ", ".join(pending(params, scene.lab))
    title(canvas, box, "Reviews", waiting or "none pending")
    x = box.x
    for decision in scene.history.decisions[-3:]:
        colour = DEBT if decision.wrong or not decision.approved else FINDING
        word = ("approved" if decision.approved else "declined") + (", wrong" if decision.wrong else "")
        canvas.dot(x + 3, box.y + 23.5, 3, colour)
        said = f"{params.assay.compounds[decision.compound]} {word}"
        x += 9 + canvas.text(said, x + 9, box.y + 27, MUTED, 10) + 12
