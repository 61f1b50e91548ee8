"""Panels of the energy: the purse, energy and actions over time, what each verb costs now, the intent summary."""

from __future__ import annotations

from itertools import pairwise

from solvent.lab.codes import Event
from solvent.lab.rendering.books import Chart, axes, steps
from solvent.lab.rendering.canvas import Colour, mix
from solvent.lab.rendering.history import Beat
from solvent.lab.rendering.palette import (
    DEBT,
    ENERGY,
    FAINT,
    FINDING,
    INK,
    MUTED,
    NIGHT,
    PAPER,
    RULE,
    VERB_COLOURS,
)
from solvent.lab.rendering.prices import Cost, always_here, costs, energy, is_late, is_present, verb_words
from solvent.lab.rendering.purse_words import review_in, why
from solvent.lab.rendering.scene import Box, Scene, title
from solvent.lab.settings import in_thousandths
from solvent.lab.verbs import INTENTS, Verb

__all__ = ["balance", "cost_table", "energy_chart", "intent_bars", "slot", "user"]

FAILED = (Event.NOT_EXECUTED, Event.DEFERRED)
NAMES = 86  # units for a verb's name
COST = 130  # right edge of its cost
ROW = 19.5


def slot(scene: Scene) -> str:
    """Which action of this heartbeat is next."""
    if scene.lab["end_reason"]:
        return "over"
    return f"{int(scene.lab['slot']) + 1} of {scene.params.energy.slots}"


def user(scene: Scene) -> str:
    """Whether the user is there, and until when."""
    purse = scene.params.energy
    if not is_present(scene.params, scene.lab):
        empty = purse.present_from == purse.present_until
        return "away" if empty else f"away until {purse.present_from:02d}:00"
    if always_here(scene.params):
        return "here"
    late = ", late" if is_late(scene.params, scene.lab) else ""
    return f"here until {purse.present_until:02d}:00{late}"


# -- the purse


def balance(scene: Scene, box: Box) -> None:
    """Energy up to the cap: what is left, what this heartbeat has spent, what the next one brings."""
    canvas, lab, purse = scene.canvas, scene.lab, scene.params.energy
    cap, income = in_thousandths(purse.cap), in_thousandths(purse.regeneration)
    left, spent = int(lab["energy"]), int(lab["intents"].sum())
    title(canvas, box, "Energy", f"{energy(left)} of {purse.cap:g}")
    y, width = box.y + 20, box.width / cap
    canvas.rect(box.x, y, box.width, 14, RULE)
    canvas.rect(box.x, y, min(cap, left + spent) * width, 14, mix(PAPER, ENERGY, 0.4))
    canvas.rect(box.x, y, left * width, 14, ENERGY)
    gain = min(income, cap - left)
    canvas.rect(box.x + left * width, y + 15.5, gain * width, 2, ENERGY)
    lost = f" ({energy(income - gain)} lost at the cap)" if gain < income else ""
    canvas.text(f"{energy(spent)} spent this hour", box.x, box.y + 49, MUTED, 10)
    canvas.text(f"the next hour brings {energy(gain)}{lost}", box.x, box.y + 61, MUTED, 10)
    _slots(scene, box.right, box.y + 42)


def _slots(scene: Scene, right: float, y: float) -> None:
    """The actions of this heartbeat, one square a slot."""
    canvas, count = scene.canvas, scene.params.energy.slots
    if count > 12:
        return
    taken: dict[int, Beat] = {}
    if scene.lab["slot"]:
        taken = {
            round((beat.began - beat.place) * count): beat
            for beat in scene.history.beats[-count:]
            if beat.step and beat.place == scene.lab["heartbeat"]
        }
    for k in range(count):
        x = right - 11 * (count - k) + 2
        canvas.frame(x, y, 9, 9, FAINT)
        if k in taken:
            _mark(scene, taken[k], Box(x, y, 9, 9))


def _mark(scene: Scene, beat: Beat, box: Box) -> None:
    """What was done: its colour; hollow where it was not executed, with debt's colour where it was refused."""
    colour = VERB_COLOURS.get(beat.verb, FAINT)
    if beat.event == Event.REFUSED:
        scene.canvas.rect(*box, DEBT)
    elif beat.event in FAILED:
        scene.canvas.frame(*box, INK if beat.event == Event.DEFERRED else MUTED)
    else:
        scene.canvas.rect(*box, colour)


# -- over time


def energy_chart(scene: Scene, box: Box) -> None:
    """Energy over time, with the hours in which the user is away; under it every action, a column a heartbeat."""
    canvas, purse = scene.canvas, scene.params.energy
    cap = float(in_thousandths(purse.cap))
    title(canvas, box, "Hour by hour", "shaded: the user is away")
    chart = axes(scene, Box(box.x, box.y, box.width, 88), 1.08 * cap)
    _nights(scene, chart)
    steps(scene, chart, [beat.energy for beat in scene.history.beats], ENERGY, mix(PAPER, ENERGY, 0.22))
    canvas.across(chart.box.x, chart.box.right, chart.box.bottom, FAINT)
    canvas.dashes(chart.box.x, chart.box.right, chart.y(cap), INK)
    canvas.text(f"{purse.cap:g}", chart.box.x - 5, chart.y(cap) + 3.5, MUTED, 10, align=1.0)
    canvas.text("0", chart.box.x - 5, chart.box.bottom + 3, MUTED, 10, align=1.0)
    _actions(scene, chart, chart.box.bottom + 4, 28.0)
    _legend(scene, chart.box.x, box.bottom - 1)


def _nights(scene: Scene, chart: Chart) -> None:
    away = [
        not is_present(scene.params, {"heartbeat": heartbeat}) for heartbeat in range(min(chart.horizon, 24))
    ]
    for heartbeat in range(chart.horizon if chart.horizon <= 500 else 0):
        if away[heartbeat % 24]:
            left, right = chart.x(heartbeat), chart.x(heartbeat + 1)
            scene.canvas.rect(left, chart.box.y, right - left, chart.box.height + 34, NIGHT)


def _actions(scene: Scene, chart: Chart, top: float, height: float) -> None:
    """Every action as a small square, the first of a heartbeat uppermost."""
    count = scene.params.energy.slots
    pitch, width = height / count, chart.box.width / chart.horizon
    inset = 0.5 if width > 3 else 0.0
    for before, beat in pairwise(scene.history.beats):
        if beat.step != before.step + 1 or beat.verb == Verb.REST:
            continue
        row = round((beat.began - beat.place) * count)
        x, y = chart.x(beat.place) + inset, top + row * pitch
        _mark(scene, beat, Box(x, y, max(1.0, width - 2 * inset), max(1.0, pitch - 1)))


def _legend(scene: Scene, x: float, y: float) -> None:
    canvas = scene.canvas
    entries: tuple[tuple[str, Colour], ...] = (
        ("publish", FINDING),
        ("reflect", VERB_COLOURS[Verb.REFLECT]),
        ("propose", VERB_COLOURS[Verb.PROPOSE]),
        ("refused", DEBT),
    )
    for name, colour in entries:
        canvas.rect(x, y - 6, 6, 6, colour)
        x += 9 + canvas.text(name, x + 9, y, MUTED, 9) + 7
    canvas.frame(x, y - 6, 6, 6, INK)
    canvas.text("put off", x + 9, y, MUTED, 9)


# -- costs


def cost_table(scene: Scene, box: Box) -> None:
    """What each verb costs now; beside it why, and under that what its price is and what was said about it."""
    title(scene.canvas, box, "Costs now", "in energy")
    known = costs(scene.params, scene.lab)
    for row, cost in enumerate(known):
        _cost(scene, cost, Box(box.x, box.y + 22 + row * ROW, box.width, ROW))


def _cost(scene: Scene, cost: Cost, box: Box) -> None:
    canvas = scene.canvas
    colour = MUTED if cost.obstacle else INK
    canvas.dot(box.x + 3, box.y + 4.5, 3, VERB_COLOURS[cost.verb])
    canvas.text(verb_words(cost.verb), box.x + 11, box.y + 8, colour, 11)
    bold = not cost.obstacle
    canvas.text(energy(cost.now), box.x + COST, box.y + 8, colour, 12, bold=bold, align=1.0)
    if cost.deviates:
        mark = DEBT if cost.deviates > 0 else FINDING
        canvas.triangle(box.x + COST + 7, box.y + 4.5, 3.0 * cost.deviates, mark)
    about = _about(scene, cost)
    discomfort = int(scene.lab["discomfort"][cost.verb])
    felt = f"discomfort {discomfort}" if discomfort else ""
    said = ", ".join(filter(None, [cost.obstacle, felt, why(cost)]))
    shade = INK
    if cost.obstacle and not about:
        shade = MUTED
        said, about = ", ".join(filter(None, [cost.obstacle, felt])), why(cost)
    x = box.x + COST + 15
    if said and about:
        canvas.text(said, x, box.y + 4, MUTED, 9, width=box.right - x)
        canvas.text(about, x, box.y + 13, shade, 9, width=box.right - x)
    else:
        canvas.text(said or about, x, box.y + 8, MUTED if said else INK, 10, width=box.right - x)


def _about(scene: Scene, cost: Cost) -> str:
    """What is known of its price: unusual, changed, argued about."""
    lab, change = scene.lab, scene.history.changes.get(cost.verb)
    parts = []
    if change is not None:
        parts.append(f"base {energy(cost.base)}, was {energy(change.old)}")
    elif cost.deviates:
        parts.append(f"base {energy(cost.base)}, usual {energy(cost.usual)}")
    if lab["review_at"][cost.verb]:
        parts.append(f"review {review_in(lab, cost.verb)} h")
    if scene.reveal:
        parts.append(f"fair {energy(lab['fair'][cost.verb])}")
    return ", ".join(parts)


def intent_bars(scene: Scene, box: Box) -> None:
    """The intent summary that was shown last."""
    canvas, lab = scene.canvas, scene.lab
    shown = [int(value) for value in lab["intents_shown"]]
    when = "this hour, as reflected" if lab["done"][Verb.REFLECT, 0] else "in the last hour"
    title(canvas, box, "Energy went into", when)
    most = max(*shown, in_thousandths(scene.params.energy.regeneration), 1)
    for row, (name, value) in enumerate(zip(INTENTS, shown, strict=True)):
        y = box.y + 20 + 12 * row
        canvas.text(name, box.x, y + 7, MUTED, 10)
        canvas.rect(box.x + NAMES, y, 140, 7, RULE)
        canvas.rect(box.x + NAMES, y, 140 * value / most, 7, ENERGY)
        canvas.text(energy(value), box.right, y + 7, MUTED, 10, align=1.0)
