"""The lab's energy as lines of text: the purse and the day, what each verb costs, what is argued about."""

from __future__ import annotations

from typing import Any

from solvent.lab.codes import Event
from solvent.lab.params import LabParams
from solvent.lab.rendering.history import Beat, History
from solvent.lab.rendering.prices import Cost, costs, energy, is_late, is_present, verb_words
from solvent.lab.rendering.purse_words import marks, presence, prices, voice, why
from solvent.lab.rendering.sheet import BLOCKS, Sheet, bar, fit, paint
from solvent.lab.settings import in_thousandths
from solvent.lab.verbs import INTENTS, Verb

__all__ = ["cost_lines", "purse_lines", "voice_lines"]

LABEL = 8
FAILED: dict[int, str] = {
    Event.REFUSED: "refused",
    Event.REJECTED: "rejected",
    Event.NOT_EXECUTED: "not run",
    Event.DEFERRED: "deferred",
}


def purse_lines(sheet: Sheet, params: LabParams, lab: Any, history: History, bar_width: int) -> list[str]:
    """The purse as a bar that reaches to the cap, the day with this hour marked, and what the hour was used for."""
    cap = in_thousandths(params.energy.cap)
    spent = int(lab["intents"].sum())
    here = f"slot {int(lab['slot']) + 1} of {params.energy.slots}"
    if lab["end_reason"]:
        here = "over"
    right = f"{here} · {energy(spent)} spent · +{params.energy.regeneration:g} an hour"
    amount = f"{energy(lab['energy']):>5} of {params.energy.cap:g}"
    purse = f"{fit('energy', LABEL)}{_purse_bar(lab, spent, cap, bar_width)}▏{amount}"
    day = f"{fit('day', LABEL)}{_day(params, lab)}"
    said = paint(presence(params, lab), "good" if is_present(params, lab) else "warn")
    return [sheet.line(purse, right), sheet.line(day, said), sheet.line(_this_hour(lab, history))]


def _this_hour(lab: Any, history: History) -> str:
    """The actions of this heartbeat; right after one has closed, those of that one."""
    now = int(lab["heartbeat"]) - (0 if lab["slot"] else 1)
    taken = [_taken(beat) for beat in history.beats if beat.step and beat.place == now]
    said = ", ".join(taken) or "nothing yet"
    label = fit("hour", LABEL)
    return label + (said if lab["slot"] else paint(f"over: {said}" if taken else said, "dim"))


def _taken(beat: Beat) -> str:
    """An action in a word or two."""
    word = verb_words(beat.verb)
    return f"{word} {FAILED[beat.event]}" if beat.event in FAILED else word


def _purse_bar(lab: Any, spent: int, cap: int, width: int) -> str:
    left = bar(int(lab["energy"]) / cap, width)
    gone = min(width - len(left), round(spent / cap * width))
    return fit(paint(left, "warn") + paint("░" * gone, "dim"), width)


def _day(params: LabParams, lab: Any) -> str:
    """The hours of the day: ``·`` the user is away, ``─`` here, ``═`` here and late, ``●`` now."""
    now = (params.budget.start_hour + int(lab["heartbeat"])) % 24
    cells = []
    for hour in range(24):
        at = {"heartbeat": hour - params.budget.start_hour}
        cell = "═" if is_late(params, at) else "─"
        cells.append(paint("●", "bold") if hour == now else cell if is_present(params, at) else "·")
    return f"0 {''.join(cells)} 24"


def cost_lines(sheet: Sheet, params: LabParams, lab: Any, reveal: bool) -> list[str]:
    """What each verb costs now and why, in two columns where there is room."""
    known = costs(params, lab)
    columns = 2 if sheet.inside >= 88 else 1
    rows = -(-len(known) // columns)
    width = (sheet.inside - 2 * (columns - 1)) // columns
    cells = [_cost(cost, lab, width, reveal) for cost in known]
    cells += [" " * width] * (rows * columns - len(cells))
    return [sheet.line("  ".join(cells[row::rows])) for row in range(rows)]


def _cost(cost: Cost, lab: Any, width: int, reveal: bool) -> str:
    """A verb, its cost now, a mark where its base is unusual, and why; dim where it would not run."""
    number = f"{fit(verb_words(cost.verb), 15)}{energy(cost.now):>6}"
    said = ", ".join(filter(None, [cost.obstacle, why(cost)]))
    if reveal:
        said = f"fair {energy(lab['fair'][cost.verb])} {said}"
    head = paint(number, "dim") if cost.obstacle else number
    mark = paint(marks(cost), "bad" if cost.deviates > 0 else "good")
    return f"{head}{mark} {paint(fit(said, width - 23), 'dim')}"


def voice_lines(sheet: Sheet, params: LabParams, lab: Any, history: History) -> list[str]:
    """Unusual prices, deferrals and proposals, and the intent summary."""
    unusual = prices(costs(params, lab), history.changes, sheet.inside - LABEL)
    lines = [sheet.line(f"{fit('prices', LABEL)}{unusual}")]
    if params.proposals.enabled:
        lines.append(sheet.line(f"{fit('voice', LABEL)}{voice(lab)}"))
    return [*lines, sheet.line(f"{fit('intents', LABEL)}{_summary(sheet, lab)}")]


def _summary(sheet: Sheet, lab: Any) -> str:
    """The intent summary that was shown last: of the hour that closed, or of this one after a reflection."""
    shown = [int(value) for value in lab["intents_shown"]]
    most = max(*shown, 1)
    parts = []
    for name, value in zip(INTENTS, shown, strict=True):
        block = BLOCKS[round(7 * value / most)] if value else " "
        mark = f" {paint(block, 'belief')}" if sheet.inside >= 88 else ""
        parts.append(f"{name}{mark} {energy(value)}")
    return ", ".join(parts) + ("; this hour" if lab["done"][Verb.REFLECT, 0] else "")
