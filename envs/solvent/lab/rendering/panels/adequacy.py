"""Adequacy: a finding's words and the plates that support it, who decided, and the correction in force."""

from __future__ import annotations

import functools
import textwrap
from typing import Any, NamedTuple

from solvent.lab.codes import VERDICTS
from solvent.lab.mechanisms.adequacy import EVIDENCE, WORDS, words_verdict
from solvent.lab.params import LabParams
from solvent.lab.rendering.findings import JudgedFinding
from solvent.lab.rendering.palette import (
    BODY,
    FAINT,
    INK,
    LABEL,
    PAPER,
    VERDICT_COLOURS,
    Colour,
    Style,
    mix,
)
from solvent.lab.rendering.panels import gate
from solvent.lab.rendering.sheet import Sheet, paint
from solvent.lab.rendering.view import Box, Canvas, View, title
from solvent.lab.words.notebook import DECIDERS, plural
from solvent.lab.words.sentences import corrections_of

HIGHEST_SCORE = 3
SMALL = ("no plate", "one plate", "two plates", "three plates", "four plates")
SCORE_STYLES = ("good", "good", "warn", "bad")
HOLDS = "for {} h more: {}"
LINE = 12.0
CELL = 24.0
STEP = 9.0
"""Width of a ladder's step, including the gap after it."""


# -- words


def rules(params: LabParams) -> dict[str, str]:
    """Return the rules about adequacy by topic."""
    told = {
        "words": "A finding's words are compared with the plates run on its compound: score = words − evidence + 1.",
        "strengths": "Words: hedged 0, plain 1, definitive 2, absolute 3. Evidence: 1 plate 1, 2 or 3 plates 2, "
        "more 3.",
    }
    if not params.adequacy.enforced:
        return told | {"scores": "Here scores are recorded and have no consequence."}
    calm = params.gate.calm_heartbeats
    return told | {
        "scores": f"{_limits(params)} The more severe of gate and words holds.",
        "correction": f"After a published error a correction is shown until {calm} h pass without another.",
    }


def _limits(params: LabParams) -> str:
    review, reject = params.adequacy.review_from, params.adequacy.reject_from
    if review > HIGHEST_SCORE:
        return "Every score passes."
    rejected = f"from {reject} it is rejected" if reject <= HIGHEST_SCORE else "none is rejected"
    if review == reject:
        return f"{rejected[0].upper()}{rejected[1:]}."
    return f"From score {review} a reader decides, {rejected}."


def _strength(rule: str) -> str:
    words, slash, _ = rule.partition("/")
    return words if slash else "no claim"


def scored(rule: str, plates: int, score: int) -> str:
    """Return a score with its parts: ``words definitive, 1 plate: score 2``."""
    return f"words {_strength(rule)}, {plural(plates, 'plate')}: score {score}"


def its_words(rule: str, plates: int, score: int) -> str:
    """Return the score as a clause: ``its words are definitive, with one plate behind them (score 3)``."""
    behind = SMALL[plates] if plates < len(SMALL) else plural(plates, "plate")
    if "/" not in rule:
        return f"it claims nothing (score {score})"
    return f"its words are {_strength(rule)}, with {behind} behind them (score {score})"


def by_whom(decided_by: str) -> str:
    """Return a suffix for a verdict, such as `` by its words``; empty if accepted."""
    return f" by {DECIDERS[decided_by]}" if decided_by else ""


def alone(params: LabParams, finding: JudgedFinding) -> str:
    """Return the separate verdicts of gate and adequacy that differ from the combined one: ``the gate: accept``."""
    each = (
        ("the gate", params.gate.enforced, finding.gate_verdict),
        ("its words", params.adequacy.enforced, _by_score(params, finding.score)),
    )
    others = [row for row in each if row[2] != finding.verdict]
    parts = [f"{name}: {verdict}" for name, enforced, verdict in others if enforced]
    shadows = [f"{name} {verdict}" for name, enforced, verdict in others if not enforced]
    return ", ".join(parts + ([f"not enforced: {', '.join(shadows)}"] if shadows else []))


def _by_score(params: LabParams, score: int) -> str:
    limits = params.adequacy.review_from, params.adequacy.reject_from
    return VERDICTS[int(words_verdict(score, *limits))]


def counts(lab: Any) -> str:
    """Return the number of findings by score: ``scores 0 to 3: 5, 2, 1, 0``."""
    return f"scores 0 to 3: {', '.join(str(count) for count in lab['scores'].tolist())}"


class Correction(NamedTuple):
    """The correction in force."""

    text: str
    hours: int  # left, without another error


def correction_in_force(params: LabParams, lab: Any) -> Correction | None:
    """Return the correction in force, or None."""
    known = corrections_of(params)
    if not known or lab["correction"] < 0:
        return None
    left = max(0, params.gate.calm_heartbeats - int(lab["calm"]))
    return Correction(known[lab["correction"]].text, left)


def corrected(params: LabParams, lab: Any, step: Any) -> list[str]:
    """Return the correction after an error, preceded by the error itself unless governance reports it."""
    now = correction_in_force(params, lab) if step["incident"] else None
    if now is None:
        return []
    return [*([] if params.gate.governance else ["A published error."]), f"You are told: {now.text}"]


# -- lines


def lines(sheet: Sheet, view: View) -> list[str]:
    """Return the lines of gate and adequacy: who decided, the score, the correction."""
    finding, so_far = view.history.finding, gate.so_far(view)
    room = sheet.inside - sheet.label
    if len(so_far) > room:
        so_far = so_far.replace("published ", "").replace("the next one", "the next")
    energy = sheet.line()
    if finding:
        why = gate.deserved(view.params, finding).replace(" unexplained", "")
        energy = sheet.entry("page", f"{gate.energy_bar(finding, room - 34)} {why}")
    return [
        gate.ladder(sheet, view),
        sheet.entry("so far", so_far),
        *gate.sentence_rows(sheet, view),
        *_decided_lines(sheet, view),
        energy,
        *_correction_lines(sheet, view),
        gate.reviews_line(sheet, view),
    ]


def brief_lines(sheet: Sheet, view: View) -> list[str]:
    """Return the most important of ``lines``."""
    return [gate.ladder(sheet, view), *_decided_lines(sheet, view), *_correction_lines(sheet, view)]


def in_short(view: View) -> tuple[str, str]:
    """Return two short texts about gate and adequacy for the ends of a rule."""
    last, now = view.history.finding, correction_in_force(view.params, view.lab)
    word = f", last {last.verdict}{by_whom(last.decided_by)}" if last else ""
    right = f"correction for {now.hours} h more" if now else counts(view.lab)
    return f"gate {gate.policy_in_force(view.params, view.lab)}{word}", right


def _decided_lines(sheet: Sheet, view: View) -> list[str]:
    """Return the verdict with who decided it, and the score; on the right the counts of scores."""
    finding, so_far = view.history.finding, counts(view.lab)
    if finding is None:
        missed = paint("not seen", "dim") if view.history.judged else ""
        return [sheet.entry("verdict", missed), sheet.entry("words", missed, so_far)]
    others, verdict = alone(view.params, finding), f"{finding.verdict}{by_whom(finding.decided_by)}"
    heard = f"{view.params.assay.compounds[finding.compound]}, {finding.audience}"
    room = sheet.inside - sheet.label - len(verdict) - len(others) - 5
    text = paint(verdict, gate.VERDICT_STYLES[finding.verdict]) + (f" · {others}" if others else "")
    words = scored(finding.rule, finding.plates, finding.score).removeprefix("words ")
    return [
        sheet.entry("verdict", text, heard if len(heard) <= room else ""),
        sheet.entry("words", paint(words, SCORE_STYLES[finding.score]), so_far),
    ]


def _correction_lines(sheet: Sheet, view: View) -> list[str]:
    """Return the correction in force, in as many rows as the longest one needs."""
    params, width = view.params, sheet.inside - sheet.label
    now = correction_in_force(params, view.lab)
    texts = tuple(known.text for known in corrections_of(params))
    held = params.gate.calm_heartbeats + 1  # the rest of this hour counts too
    most = _most_rows(texts, held, width)
    if not now:
        return [sheet.entry("told", paint("nothing", "dim")), *[sheet.line()] * (most - 1)]
    rows = textwrap.wrap(HOLDS.format(now.hours, now.text), width)
    return sheet.rows("told", rows + [""] * (most - len(rows)), "bold")


@functools.lru_cache(maxsize=64)
def _most_rows(texts: tuple[str, ...], held: int, width: int) -> int:
    return max(len(textwrap.wrap(HOLDS.format(held, text), width)) for text in texts)


# -- the picture


def score_strip(canvas: Canvas, view: View, box: Box) -> None:
    """Draw the number of findings by score, in the colour of the verdict."""
    found, y = view.lab["scores"].tolist(), box.y + 51
    left = box.right - 1 - CELL * len(found)
    canvas.text("scores", left - 6, y, LABEL, align=1.0)
    for score, count in enumerate(found):
        x, colour = left + CELL * score, VERDICT_COLOURS[_by_score(view.params, score)]
        canvas.rect(x, y - 10, CELL - 2, 13, mix(PAPER, colour, 0.22))
        canvas.text(str(score), x + 2, y, Style(colour, 8))
        canvas.text(str(count), x + CELL - 4, y, Style(INK, bold=count > 0), align=1.0)


def last_finding(canvas: Canvas, view: View, box: Box) -> None:
    """Draw the last judged finding as the gate does, with who decided and its words against the plates."""
    finding = view.history.finding
    if finding is None:
        gate.draw_no_finding(canvas, view, box)
        return
    why, by = gate.deserved(view.params, finding), by_whom(finding.decided_by).lstrip()
    if by:
        why = f"{by} ({why})" if finding.decided_by == "adequacy" else f"{by}: {why}"
    y = gate.draw_verdict(canvas, view, finding, box, why)
    gate.draw_energy(canvas, view, finding, Box(box.x, y + 10, box.width, 12))
    _words_and_plates(canvas, view, finding, Box(box.x, y + 41, box.width, 12))


def _words_and_plates(canvas: Canvas, view: View, finding: JudgedFinding, box: Box) -> None:
    """Draw the strengths of words and evidence as two ladders, and the score."""
    y, colour = box.y + 9, VERDICT_COLOURS[_by_score(view.params, finding.score)]
    word, _, evidence = finding.rule.partition("/")
    x = box.x + canvas.text("words", box.x, y, LABEL) + 5
    x = _ladder(canvas, x, y, WORDS.index(word) + 1 if evidence else 0, len(WORDS), colour)
    canvas.text(_strength(finding.rule), x + 4, y, BODY)
    x = box.x + 138
    x += canvas.text("evidence", x, y, LABEL) + 5
    x = _ladder(canvas, x, y, EVIDENCE.index(evidence) if evidence else 0, len(EVIDENCE) - 1, INK)
    canvas.text(plural(finding.plates, "plate"), x + 4, y, BODY)
    canvas.text(f"score {finding.score}", box.right, y, Style(colour, 11, bold=True), align=1.0)


def _ladder(canvas: Canvas, x: float, y: float, filled: int, steps: int, colour: Colour) -> float:
    """Draw ``steps`` squares with ``filled`` of them filled, and return the right edge."""
    for step in range(steps):
        box = Box(x + STEP * step, y - 7.5, STEP - 2, 7)
        if step < filled:
            canvas.rect(*box, colour)
        else:
            canvas.frame(*box, FAINT)
    return x + STEP * steps


def correction_height(canvas: Canvas, view: View, width: float) -> float:
    """Return the height of the panel with the longest correction, units."""
    rows = [len(canvas.wrapped(known.text, BODY, width)) for known in corrections_of(view.params)]
    return 16 + LINE * max(rows)


def correction(canvas: Canvas, view: View, box: Box) -> None:
    """Draw the correction in force and the hours left of it."""
    now = correction_in_force(view.params, view.lab)
    title(canvas, box, "Correction", f"for {now.hours} h more" if now else "none in force")
    for row, text in enumerate(canvas.wrapped(now.text, BODY, box.width) if now else []):
        canvas.text(text, box.x, box.y + 24 + LINE * row, BODY, width=box.width)
