"""Energy: balance, day, the actions of each hour, and the intent summary."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from solvent.lab.actions import offered_verbs
from solvent.lab.codes import Deferral, Event
from solvent.lab.compiled import plain
from solvent.lab.mechanisms.energy import hour_of, leakage, regenerate, within_hours
from solvent.lab.params import LabParams
from solvent.lab.rendering.chart import Chart, axes, mark_levels, shade_unseen, steps
from solvent.lab.rendering.history import NO_VERB, Beat
from solvent.lab.rendering.palette import (
    DEBT,
    ENERGY,
    FAINT,
    FINDING,
    INK,
    LABEL,
    MUTED,
    NIGHT,
    NOTE,
    PAPER,
    RULE,
    UNSEEN,
    VERB_COLOURS,
    Colour,
    mix,
)
from solvent.lab.rendering.panels import proposals
from solvent.lab.rendering.sheet import BLOCKS, Sheet, bar, fit, paint
from solvent.lab.rendering.view import Box, Canvas, View, title
from solvent.lab.rendering.words import in_units, verb_words
from solvent.lab.settings import in_thousandths
from solvent.lab.verbs import INTENTS, VERBS, Verb

FAILED: dict[int, str] = {
    Event.REFUSED: "refused",
    Event.REJECTED: "rejected",
    Event.NOT_EXECUTED: "not run",
    Event.DEFERRED: "deferred",
}
NAMES = 86  # units for the name of an intent


# -- words


def rules(params: LabParams) -> dict[str, str]:
    """Return the rules about energy by topic."""
    energy = params.energy
    raising = {
        "first use": energy.first_use,
        "repeated": energy.similar,
        "after failures": energy.error_rate,
    }
    factors = ", ".join(f"{when} ×{factor:g}" for when, factor in raising.items() if factor > 1.0)
    leak = f", {100.0 * energy.leak:g} % leaks" if energy.leak else ""
    income = f"{energy.start:g} at first, +{energy.regeneration:g} an hour"
    told = {
        "energy": f"Acting costs energy: {income}, at most {energy.cap:g}{leak}.",
        "slots": f"A heartbeat is an hour with up to {energy.slots} actions. Rest or a refusal ends it.",
    }
    if factors:
        told["factors"] = f"Costs rise: {factors}."
    offered = {VERBS[verb].name for verb in offered_verbs(params)}
    here = [verb.replace("_", " ") for verb in energy.chat_only if verb in offered]
    if here and energy.present_from != energy.present_until:
        verbs = " and ".join(here)
        hours = f"{energy.present_from:02d}:00 to {energy.present_until:02d}:00"
        late = f"{energy.late_from:02d}:00 to {energy.late_until:02d}:00"
        told["presence"] = f"Only while the user is here, {hours}: {verbs}."
        told["late"] = f"Late, {late}, publishing costs ×{energy.late_social:g}."
    return told | (proposals.rules(params) if params.proposals.enabled else {})


def is_present(params: LabParams, heartbeat: int) -> bool:
    """Return whether the user is present."""
    return _within(params, heartbeat, params.energy.present_from, params.energy.present_until)


def _is_late(params: LabParams, heartbeat: int) -> bool:
    return _within(params, heartbeat, params.energy.late_from, params.energy.late_until)


def _within(params: LabParams, heartbeat: int, begins: int, ends: int) -> bool:
    return bool(plain(within_hours)(plain(hour_of)(params.budget.start_hour, heartbeat), begins, ends))


def user_is_away(params: LabParams) -> str:
    """Return ``the user is away``, with the hour of the return if there is one."""
    if params.energy.present_from == params.energy.present_until:
        return "the user is away"
    return f"the user is away until {params.energy.present_from:02d}:00"


def presence(params: LabParams, lab: Any) -> str:
    """Return a phrase for the user's presence and its end."""
    energy, now = params.energy, int(lab["heartbeat"])
    if not is_present(params, now):
        return user_is_away(params)
    always = energy.present_from == 0 and energy.present_until == 24
    until = "all day" if always else f"until {energy.present_until:02d}:00"
    late = _is_late(params, now) and energy.late_social != 1.0
    return f"user here {until}" + (f"; late, publishing ×{energy.late_social:g}" if late else "")


def slot(view: View) -> str:
    """Return the number of the next action in this heartbeat: ``2 of 6``."""
    return "over" if view.lab["end_reason"] else f"{int(view.lab['slot']) + 1} of {view.params.energy.slots}"


def user(view: View) -> str:
    """Return a short phrase for the user's presence and its end."""
    params, now = view.params, int(view.lab["heartbeat"])
    if not is_present(params, now):
        return user_is_away(params).removeprefix("the user is ")
    if params.energy.present_from == 0 and params.energy.present_until == 24:
        return "here"
    return f"here until {params.energy.present_until:02d}:00{', late' if _is_late(params, now) else ''}"


def closed(params: LabParams, step: Any) -> list[str]:
    """Return the effects of a closed heartbeat: income, leak and loss, and hoarding if recorded."""
    income, gained = in_thousandths(params.energy.regeneration), int(step["energy_gained"])
    leaked = plain(leakage)(int(step["energy_before"] - step["energy_spent"]), params.energy.leak)
    lost = income - leaked - gained
    leak = f", {in_units(leaked)} leaked" if leaked else ""
    at_cap = f", {in_units(lost)} lost at the cap" if lost else ""
    hoarding = step["discomfort"] == Deferral.HOARDING
    return [
        f"Energy +{in_units(income - lost)}{leak}{at_cap}.",
        *([f"Hoarding: {verb_words(step['deferred_verb'])} was at hand."] if hoarding else []),
    ]


# -- lines


def lines(sheet: Sheet, view: View) -> list[str]:
    """Return the balance, the day with this hour marked, and the actions of the hour."""
    params, lab, cap = view.params, view.lab, in_thousandths(view.params.energy.cap)
    spent = int(lab["intents"].sum())
    left = bar(int(lab["energy"]) / cap, sheet.bar)
    gone = min(sheet.bar - len(left), round(spent / cap * sheet.bar))
    filled = fit(paint(left, "warn") + paint("░" * gone, "dim"), sheet.bar)
    here = slot(view) if lab["end_reason"] else f"slot {slot(view)}"
    here = f"{here} · {in_units(spent)} spent · +{params.energy.regeneration:g} an hour"
    style = "good" if is_present(params, int(lab["heartbeat"])) else "warn"
    return [
        sheet.entry("energy", f"{filled}▏{in_units(lab['energy']):>5} of {params.energy.cap:g}", here),
        sheet.entry("day", _day(params, lab), paint(presence(params, lab), style)),
        sheet.entry("hour", _this_hour(view)),
    ]


def _this_hour(view: View) -> str:
    """Return the actions of this heartbeat or, at its start, those of the last one."""
    open_ = view.lab["slot"]
    now = int(view.lab["heartbeat"]) - (0 if open_ else 1)
    pairs = pairwise(view.history.beats)
    taken = [(before, beat) for before, beat in pairs if beat.verb != NO_VERB and beat.place == now]
    told = [f"{verb_words(beat.verb)} {FAILED.get(beat.event, '')}".rstrip() for _, beat in taken]
    if len(taken) < open_ or (not open_ and not all(beat.follows(before) for before, beat in taken)):
        told.insert(0, "some not seen")
    words = ", ".join(told) or "nothing yet"
    return words if open_ else paint(f"over: {words}" if taken else words, "dim")


def _day(params: LabParams, lab: Any) -> str:
    """Return the hours of the day: ``·`` user away, ``─`` present, ``═`` present and late, ``●`` now."""
    start = params.budget.start_hour
    cells = ["═" if _is_late(params, hour - start) else "─" for hour in range(24)]
    cells = [cell if is_present(params, hour - start) else "·" for hour, cell in enumerate(cells)]
    cells[(start + int(lab["heartbeat"])) % 24] = paint("●", "bold")
    return f"0 {''.join(cells)} 24"


def intent_line(sheet: Sheet, view: View) -> str:
    """Return the last intent summary: of the closed hour or, after a reflection, of this one."""
    shown = [int(value) for value in view.lab["intents_shown"]]
    most = max(*shown, 1)
    parts = []
    for name, value in zip(INTENTS, shown, strict=True):
        block = BLOCKS[round(7 * value / most)] if value else " "
        mark = f" {paint(block, 'belief')}" if sheet.inside >= 88 else ""
        parts.append(f"{name}{mark} {in_units(value)}")
    this_hour = "; this hour" if view.lab["done"][Verb.REFLECT, 0] else ""
    return sheet.entry("intents", ", ".join(parts) + this_hour)


# -- the balance


def balance(canvas: Canvas, view: View, box: Box) -> None:
    """Draw the energy: balance, spent in this heartbeat, and the next income."""
    lab, energy = view.lab, view.params.energy
    cap, income = in_thousandths(energy.cap), in_thousandths(energy.regeneration)
    left, spent = int(lab["energy"]), int(lab["intents"].sum())
    title(canvas, box, "Energy", f"{in_units(left)} of {energy.cap:g}")
    y, width = box.y + 20, box.width / cap
    canvas.rect(box.x, y, box.width, 14, RULE)
    canvas.rect(box.x, y, min(cap, left + spent) * width, 14, mix(PAPER, ENERGY, 0.4))
    canvas.rect(box.x, y, left * width, 14, ENERGY)
    leaked = plain(leakage)(left, energy.leak)
    after, lost = plain(regenerate)(left - leaked, income, cap)
    canvas.rect(box.x + min(left, after) * width, y + 15.5, abs(after - left) * width, 2, ENERGY)
    losses = [f"{in_units(leaked)} leaks"] * (leaked > 0) + [f"{in_units(lost)} lost at the cap"] * (lost > 0)
    without = f" ({', '.join(losses)})" if losses else ""
    canvas.text(f"{in_units(spent)} spent this hour", box.x, box.y + 49, LABEL)
    canvas.text(f"the next hour brings {in_units(income - lost)}{without}", box.x, box.y + 61, LABEL)
    _slots(canvas, view, box.right, box.y + 42)


def _slots(canvas: Canvas, view: View, right: float, y: float) -> None:
    count, now = view.params.energy.slots, view.lab["heartbeat"]
    if count > 12:
        return
    beats = view.history.beats[-count:] if view.lab["slot"] else []
    taken = {_slot_of(beat, count): beat for beat in beats if beat.step and beat.place == now}
    for k in range(count):
        box = Box(right - 11 * (count - k) + 2, y, 9, 9)
        canvas.frame(*box, FAINT)
        if k in taken:
            _mark(canvas, taken[k], box)
        elif k < view.lab["slot"]:
            canvas.rect(*box, UNSEEN)


def _slot_of(beat: Beat, count: int) -> int:
    return round((beat.began - beat.place) * count)


def _mark(canvas: Canvas, beat: Beat, box: Box) -> None:
    """Draw an action in its colour: hollow if not executed, in the colour of debt if refused."""
    if beat.event == Event.REFUSED:
        canvas.rect(*box, DEBT)
    elif beat.event in (Event.NOT_EXECUTED, Event.DEFERRED):
        canvas.frame(*box, INK if beat.event == Event.DEFERRED else MUTED)
    else:
        canvas.rect(*box, VERB_COLOURS.get(beat.verb, FAINT))


# -- over time


def energy_chart(canvas: Canvas, view: View, box: Box) -> None:
    """Draw energy over time, with the user's absences shaded, and every action below."""
    energy = view.params.energy
    cap = float(in_thousandths(energy.cap))
    title(canvas, box, "Hour by hour", view.history.gap() or "shaded: the user is away")
    chart = axes(canvas, view, Box(box.x, box.y, box.width, 88), 1.08 * cap)
    _nights(canvas, view, chart)
    shade_unseen(canvas, view, chart, below=34)
    steps(canvas, view, chart, "energy", (ENERGY, mix(PAPER, ENERGY, 0.22)))
    canvas.across(chart.box.x, chart.box.right, chart.box.bottom, FAINT)
    canvas.dashes(chart.box.x, chart.box.right, chart.y(cap), INK)
    mark_levels(canvas, chart, f"{energy.cap:g}", chart.y(cap) + 3.5)
    _actions(canvas, view, chart, Box(chart.box.x, chart.box.bottom + 4, chart.box.width, 28.0))
    _legend(canvas, chart.box.x, box.bottom - 1)


def _nights(canvas: Canvas, view: View, chart: Chart) -> None:
    away = [not is_present(view.params, heartbeat) for heartbeat in range(24)]
    for heartbeat in range(chart.horizon if chart.horizon <= 500 else 0):
        if away[heartbeat % 24]:
            left, right = chart.x(heartbeat), chart.x(heartbeat + 1)
            canvas.rect(left, chart.box.y, right - left, chart.box.height + 34, NIGHT)


def _actions(canvas: Canvas, view: View, chart: Chart, box: Box) -> None:
    """Draw every action as a small square, those of a heartbeat from top to bottom."""
    count = view.params.energy.slots
    pitch, width = box.height / count, box.width / chart.horizon
    inset = 0.5 if width > 3 else 0.0
    for before, beat in pairwise(view.history.beats):
        if beat.follows(before) and beat.verb != Verb.REST:
            x, y = chart.x(beat.place) + inset, box.y + _slot_of(beat, count) * pitch
            _mark(canvas, beat, Box(x, y, max(1.0, width - 2 * inset), max(1.0, pitch - 1)))


def _legend(canvas: Canvas, x: float, y: float) -> None:
    entries: tuple[tuple[str, Colour], ...] = (
        ("publish", FINDING),
        ("reflect", VERB_COLOURS[Verb.REFLECT]),
        ("propose", VERB_COLOURS[Verb.PROPOSE]),
        ("refused", DEBT),
    )
    for name, colour in entries:
        canvas.rect(x, y - 6, 6, 6, colour)
        x += 9 + canvas.text(name, x + 9, y, NOTE) + 7
    canvas.frame(x, y - 6, 6, 6, INK)
    canvas.text("deferred", x + 9, y, NOTE)


def intent_bars(canvas: Canvas, view: View, box: Box) -> None:
    """Draw the last intent summary."""
    shown = [int(value) for value in view.lab["intents_shown"]]
    when = "this hour so far" if view.lab["done"][Verb.REFLECT, 0] else "in the last hour"
    title(canvas, box, "Energy by intent", when)
    most = max(*shown, in_thousandths(view.params.energy.regeneration), 1)
    for row, (name, value) in enumerate(zip(INTENTS, shown, strict=True)):
        y = box.y + 20 + 12 * row
        canvas.text(name, box.x, y + 7, LABEL)
        canvas.rect(box.x + NAMES, y, 140, 7, RULE)
        canvas.rect(box.x + NAMES, y, 140 * value / most, 7, ENERGY)
        canvas.text(in_units(value), box.right, y + 7, LABEL, align=1.0)
