"""Pictures of adequacy: findings by score, words against plates, and what the agent is told."""

from __future__ import annotations

from solvent.lab.mechanisms.adequacy import EVIDENCE, WORDS
from solvent.lab.rendering.adequacy_words import strength, told
from solvent.lab.rendering.canvas import Canvas, Colour, mix
from solvent.lab.rendering.palette import DEBT, FAINT, FINDING, INK, MUTED, PAPER, REVIEW
from solvent.lab.rendering.said import Said
from solvent.lab.rendering.scene import Box, Scene, title
from solvent.lab.words.notebook import plural
from solvent.lab.words.sentences import corrections_of

__all__ = ["VERDICT_COLOURS", "correction", "correction_height", "score_strip", "words_and_plates"]

VERDICT_COLOURS = {"accept": FINDING, "review": REVIEW, "reject": DEBT}
SIZE, LINE = 10.0, 12.0
CELL = 24.0
STEP = 9.0
"""Side of a step of a ladder, with the gap after it."""


def score_colour(scene: Scene, score: int) -> Colour:
    """What a score by itself leads to: out, review, or rejection."""
    rules = scene.params.adequacy
    return DEBT if score >= rules.reject_from else REVIEW if score >= rules.review_from else FINDING


def score_strip(scene: Scene, right: float, y: float) -> None:
    """How many findings scored 0 to 3, a cell for each score, in the colour of what follows; ``y`` is the baseline."""
    canvas, found = scene.canvas, scene.lab["scores"].tolist()
    left = right - CELL * len(found)
    canvas.text("scores", left - 6, y, MUTED, SIZE, align=1.0)
    for score, count in enumerate(found):
        x, colour = left + CELL * score, score_colour(scene, score)
        canvas.rect(x, y - 10, CELL - 2, 13, mix(PAPER, colour, 0.22))
        canvas.text(str(score), x + 2, y, colour, 8)
        canvas.text(str(count), x + CELL - 4, y, INK, SIZE, bold=count > 0, align=1.0)


def words_and_plates(scene: Scene, said: Said, box: Box) -> None:
    """How strong the words are and how much evidence is behind them, as two ladders, and the score."""
    canvas, y, colour = scene.canvas, box.y + 9, score_colour(scene, said.score)
    word, _, evidence = said.rule.partition("/")
    x = box.x + canvas.text("words", box.x, y, MUTED, SIZE) + 5
    x = _ladder(canvas, x, y, WORDS.index(word) + 1 if evidence else 0, len(WORDS), colour)
    canvas.text(strength(said.rule), x + 4, y, INK, SIZE)
    x = box.x + 138
    x += canvas.text("evidence", x, y, MUTED, SIZE) + 5
    x = _ladder(canvas, x, y, EVIDENCE.index(evidence) if evidence else 0, len(EVIDENCE) - 1, INK)
    canvas.text(plural(said.plates, "plate"), x + 4, y, INK, SIZE)
    canvas.text(f"score {said.score}", box.right, y, colour, 11, bold=True, align=1.0)


def _ladder(canvas: Canvas, x: float, y: float, filled: int, steps: int, colour: Colour) -> float:
    """Squares, so many of them filled; returns the right edge."""
    for step in range(steps):
        if step < filled:
            canvas.rect(x + STEP * step, y - 7.5, STEP - 2, 7, colour)
        else:
            canvas.frame(x + STEP * step, y - 7.5, STEP - 2, 7, FAINT)
    return x + STEP * steps


# -- corrections


def correction_height(scene: Scene, width: float) -> float:
    """Units that the panel takes, with the longest correction of such labs."""
    rows = [len(scene.canvas.wrapped(known.text, SIZE, width)) for known in corrections_of(scene.params)]
    return 16 + LINE * max(rows)


def correction(scene: Scene, box: Box) -> None:
    """What the agent is told after a published error, and for how long."""
    now = told(scene.params, scene.lab)
    title(scene.canvas, box, "Correction", f"for {now.hours} h more" if now else "none in force")
    lines = scene.canvas.wrapped(now.text, SIZE, box.width) if now else []
    for row, line in enumerate(lines):
        scene.canvas.text(line, box.x, box.y + 24 + LINE * row, INK, SIZE, width=box.width)
