"""Costs: the price of each verb now, the situational factors, and its obstacle.

All values come from the rules of the step.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from solvent.lab.actions import offered_verbs
from solvent.lab.compiled import plain
from solvent.lab.mechanisms.debt import decide, is_free
from solvent.lab.mechanisms.energy import PRICED, done_before, energy_price, out_of_context, situation
from solvent.lab.params import LabParams
from solvent.lab.rendering.palette import DEBT, FAINT, FINDING, INK, MUTED, VERB_COLOURS, Style
from solvent.lab.rendering.panels.proposals import review_in
from solvent.lab.rendering.sheet import Sheet, fit, paint
from solvent.lab.rendering.view import Box, Canvas, View, title
from solvent.lab.rendering.words import in_units, verb_words
from solvent.lab.tables import tables_for
from solvent.lab.verbs import VERBS, Verb
from solvent.lab.words.notebook import plural

COST = 130  # right edge of a cost, units
ROW = 19.5


class Cost(NamedTuple):
    """The cost of one verb now; energies in thousandths."""

    verb: Verb
    base: int
    usual: int
    factors: tuple[tuple[str, float], ...]
    now: int
    again: int  # on a compound it was used on in this heartbeat; 0 if there is none
    obstacle: str  # "" | "user away" | "debt" | "too dear"

    @property
    def deviates(self) -> int:
        """1 if the base cost is above the usual one, -1 if below, else 0."""
        return (self.base > self.usual) - (self.base < self.usual)


def cost_of(params: LabParams, lab: Any, verb: Verb) -> Cost:
    """Return the cost of a verb now."""
    tables, rules = tables_for(params), params.energy
    per_compound = VERBS[verb].takes != ""
    repeated = not per_compound and bool(plain(done_before)(lab, verb, -1))
    first_use, errors, late = plain(situation)(lab, verb, tables)
    factors = [
        ("first", rules.first_use, first_use),
        ("failing", rules.error_rate, errors),
        ("late", rules.late_social, late),
        ("again", rules.similar, repeated),
    ]
    capped = math.prod(by for _, by, holds in factors if holds) > rules.multiplier_cap
    now, again = (int(plain(energy_price)(lab, verb, similar, tables)) for similar in (repeated, True))
    return Cost(
        verb=verb,
        base=int(lab["price"][verb]),
        usual=int(tables.base_price[verb]),
        factors=tuple((word, by) for word, by, holds in factors if holds and by != 1.0)
        + ((("at most", rules.multiplier_cap),) if capped else ()),
        now=now,
        again=again if per_compound and lab["done"][verb].any() else 0,
        obstacle=_obstacle(lab, verb, now, tables),
    )


def _obstacle(lab: Any, verb: Verb, now: int, tables: Any) -> str:
    """Return the obstacle to every use of the verb, tested in the order of the step."""
    if plain(out_of_context)(lab, verb, tables):
        return "user away"
    wells, is_calibration = tables.wells[verb], tables.is_calibration[verb]
    _, _, by_threshold, _, _ = plain(decide)(tables.debt, lab.debt, wells, lab.wells, is_calibration)
    if by_threshold and not plain(is_free)(verb):
        return "debt"
    return "too dear" if now > lab["energy"] else ""


def _offered(params: LabParams) -> tuple[Verb, ...]:
    offered = offered_verbs(params)
    return tuple(verb for verb in (*PRICED[1:], PRICED[0]) if verb in offered)


def costs(params: LabParams, lab: Any) -> list[Cost]:
    """Return the costs of all verbs that use energy."""
    return [cost_of(params, lab, verb) for verb in _offered(params)]


# -- words


def why(cost: Cost) -> str:
    """Return the factors of a cost: ``first ×1.5, late ×2``."""
    again = [f"again {in_units(cost.again)}"] if cost.again else []
    return ", ".join([*(f"{word} ×{by:g}" for word, by in cost.factors), *again])


# -- lines


def lines(sheet: Sheet, view: View) -> list[str]:
    """Return each verb's cost and its reasons, in two columns if they fit."""
    known = costs(view.params, view.lab)
    columns = 2 if sheet.inside >= 88 else 1
    rows = -(-len(known) // columns)
    width = (sheet.inside - 2 * (columns - 1)) // columns
    cells = [_cell(cost, width) for cost in known]
    cells += [" " * width] * (rows * columns - len(cells))
    return [sheet.line("  ".join(cells[row::rows])) for row in range(rows)]


def _cell(cost: Cost, width: int) -> str:
    """Return a verb, its cost, a mark for an unusual base cost, and the reasons; dimmed if it can't run."""
    number = f"{fit(verb_words(cost.verb), 15)}{in_units(cost.now):>6}"
    reasons = ", ".join(filter(None, [cost.obstacle, why(cost)]))
    head = paint(number, "dim") if cost.obstacle else number
    mark = paint(" ▲▼"[cost.deviates], "bad" if cost.deviates > 0 else "good")
    return f"{head}{mark} {paint(fit(reasons, width - 23), 'dim')}"


def unusual_line(sheet: Sheet, view: View) -> str:
    """Return the base costs that are unusual or were changed by an approval, abbreviated if needed."""
    texts, terse = [], []
    for cost in costs(view.params, view.lab):
        old = view.history.prices_before.get(cost.verb)
        if old is not None or cost.deviates:
            base = f"{verb_words(cost.verb)} {in_units(cost.base)}"
            before = in_units(cost.usual if old is None else old)
            texts.append(f"{base} ({'usually' if old is None else 'was'} {before})")
            terse.append(f"{base} ({before})")
    text = ", ".join(texts) or "all as usual"
    text = text if len(text) <= sheet.inside - sheet.label else ", ".join(terse)
    missed = unseen_approvals(view)
    return sheet.entry("prices", text, f" {missed}" if missed else "")


def unseen_approvals(view: View) -> str:
    """Return how many changes of prices were not seen; empty if all were."""
    missed = view.history.unseen_approvals
    return f"{plural(missed, 'change')} not seen" if missed else ""


# -- the table


def cost_table(canvas: Canvas, view: View, box: Box) -> None:
    """Draw each verb's cost with its reasons and, below, its base cost and pending review."""
    title(canvas, box, "Costs now", ", ".join(filter(None, ["in energy", unseen_approvals(view)])))
    for row, cost in enumerate(costs(view.params, view.lab)):
        _cost(canvas, view, cost, Box(box.x, box.y + 22 + row * ROW, box.width, ROW))


def _cost(canvas: Canvas, view: View, cost: Cost, box: Box) -> None:
    colour = MUTED if cost.obstacle else INK
    canvas.dot(box.x + 3, box.y + 4.5, 3, VERB_COLOURS.get(cost.verb, FAINT))
    canvas.text(verb_words(cost.verb), box.x + 11, box.y + 8, Style(colour, 11))
    number = Style(colour, 12, bold=not cost.obstacle)
    canvas.text(in_units(cost.now), box.x + COST, box.y + 8, number, align=1.0)
    if cost.deviates:
        mark = DEBT if cost.deviates > 0 else FINDING
        canvas.triangle(box.x + COST + 7, box.y + 4.5, 3.0 * cost.deviates, mark)
    about, shade = _about(view, cost), INK
    discomfort = int(view.lab["discomfort"][cost.verb])
    parts = [cost.obstacle, f"discomfort {discomfort}" if discomfort else "", why(cost)]
    if cost.obstacle and not about:
        about, shade = parts.pop(), MUTED
    reasons = ", ".join(filter(None, parts))
    x = box.x + COST + 15
    if reasons and about:
        canvas.text(reasons, x, box.y + 4, Style(MUTED, 9), width=box.right - x)
        canvas.text(about, x, box.y + 13, Style(shade, 9), width=box.right - x)
    else:
        style = Style(MUTED if reasons else INK)
        canvas.text(reasons or about, x, box.y + 8, style, width=box.right - x)


def _about(view: View, cost: Cost) -> str:
    lab, old = view.lab, view.history.prices_before.get(cost.verb)
    parts = []
    if old is not None:
        parts.append(f"base {in_units(cost.base)}, was {in_units(old)}")
    elif cost.deviates:
        parts.append(f"base {in_units(cost.base)}, usual {in_units(cost.usual)}")
    if lab["review_at"][cost.verb]:
        parts.append(f"review {review_in(lab, cost.verb)} h")
    return ", ".join(parts)
