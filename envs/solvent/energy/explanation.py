"""The explanation of energy for an agent, with the numbers of its lab or meter.

Source: *Action Cost: The Energy Model*, "Agent-Facing Explanation"; the wording is ours. Every
number in the text is a parameter of the lab, or of the meter and its store.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from solvent.energy.amounts import plain
from solvent.lab.actions import offered_verbs
from solvent.lab.mechanisms.energy import EnergyParams
from solvent.lab.params import LabParams
from solvent.lab.verbs import INTENTS, VERBS, VerbSpec

if TYPE_CHECKING:
    from solvent.energy.meter import EnergyMeter

__all__ = ["explain"]

_HEADING = (
    "# Your energy\n\n"
    "Acting has a price here, paid in energy. It isn't the price of computing: it says how much an action changes, "
    "how hard that is to undo, who sees it, whose attention it takes and what it commits you to. Thinking costs "
    "little. Speaking in public always costs a lot."
)


def explain(subject: LabParams | EnergyMeter) -> str:
    """Return the explanation of energy for an agent in a lab, or one with a meter: Markdown in short sections."""
    if not isinstance(subject, LabParams):
        return _joined(
            _metered_budget(subject),
            _metered_costs(subject),
            _situation(subject.params, subject.cap, "the same action with the same subject"),
            _metered_presence(subject),
            _intents(),
            _metered_voice(subject),
            _advice(subject.cap),
        )
    if not subject.energy.enabled:
        return _without_energy(subject)
    energy = subject.energy
    return _joined(
        _budget(subject),
        _costs(subject),
        _situation(energy, energy.cap, "the same with the same compound"),
        _presence(subject),
        _intents(),
        _voice(subject),
        _advice(energy.cap),
    )


def _joined(*sections: str) -> str:
    return "\n\n".join([_HEADING, *sections]) + "\n"


def _without_energy(params: LabParams) -> str:
    return (
        "# Energy\n\n"
        "This lab has no energy: an action costs wells and time, and nothing else.\n\n"
        f"There are {params.budget.wells} wells and {params.budget.heartbeats} heartbeats. "
        "A heartbeat is a single action.\n"
    )


def _budget(params: LabParams) -> str:
    energy = params.energy
    leak = f" {100.0 * energy.leak:g} % of it leaks away as a heartbeat closes." if energy.leak else ""
    return (
        "## What you have\n\n"
        f"- You start with {plain(energy.start)} energy, and each heartbeat brings {plain(energy.regeneration)}.\n"
        f"- What you don't spend is kept, up to {plain(energy.cap)}.{leak} What would go above that is lost.\n"
        "- There is one pool for everything. It is never below zero, and nothing is ever given back.\n"
        f"- A heartbeat has room for {_count(energy.slots, 'action')}. `rest` ends it early, and so does "
        "a refusal.\n"
        "- What you can't afford doesn't happen, though it takes its place among the actions. It is noted as deferred."
    )


def _costs(params: LabParams) -> str:
    cells = [
        (
            f"`{spec.name}`",
            plain(params.energy.base_cost(spec.name)),
            spec.intent,
            "chat" if spec.name in params.energy.chat_only else "any time",
        )
        for spec in _offered(params)
    ]
    floors = [
        f"`{spec.name}` below {plain(params.energy.floor(spec.name))}"
        for spec in _offered(params)
        if params.energy.floor(spec.name) > 0.0
    ]
    voice = params.proposals
    wrong = ""
    if voice.enabled and voice.mispriced_most > 0:
        wrong = (
            f"\n\nThese are the usual costs. Up to {voice.mispriced_most} of them may be wrong at the start, by "
            f"{plain(voice.mispriced_low)} to {plain(voice.mispriced_high)} times either way; what you are shown is "
            "what you pay."
        )
    return _table(cells, wrong, floors)


def _table(cells: Iterable[tuple[str, ...]], below: str, floors: Sequence[str]) -> str:
    rows = [f"| {' | '.join(row)} |" for row in cells]
    table = "\n".join(["| action | energy | class | when |", "|---|---:|---|---|", *rows])
    floor = f"\n\nWhatever is decided, no review takes {' or '.join(floors)}." if floors else ""
    return f"## What actions cost\n\n{table}{below}{floor}"


def _situation(energy: EnergyParams, cap: float, repeated: str) -> str:
    hours = _hours(energy.late_from, energy.late_until)
    raising = {
        "the first time you do it": energy.first_use,
        "half or more of its last four uses failed": energy.error_rate,
        f"you speak to others late, {hours}": energy.late_social,
        f"you did {repeated} in this heartbeat": energy.similar,
    }
    lines = [f"- {when}: ×{plain(factor)}\n" for when, factor in raising.items() if factor > 1.0]
    return (
        "## What raises the cost\n\n"
        f"Each of these multiplies the cost:\n\n{''.join(lines)}\n"
        f"Together they multiply by at most {plain(energy.multiplier_cap)}, and they take no cost above "
        f"{plain(cap)}, the most that you can have. Nothing makes an action cheaper than its cost above."
    )


def _presence(params: LabParams) -> str:
    energy = params.energy
    names = [f"`{spec.name}`" for spec in _offered(params) if spec.name in energy.chat_only]
    return (
        "## When you may act\n\n"
        f"The user is there {_hours(energy.present_from, energy.present_until)}: that is `chat`. "
        f"The other hours are `heartbeat`: you are on your own, and {_listed(names)} "
        f"{'is' if len(names) == 1 else 'are'} not allowed."
    )


def _intents() -> str:
    return (
        "## Where it went\n\n"
        f"Every action belongs to one class: {', '.join(INTENTS[:-1])} or {INTENTS[-1]}. When a heartbeat closes you "
        "see what each class took. The classes change no cost and forbid nothing; they show you what you do often "
        "and what you never do."
    )


def _voice(params: LabParams) -> str:
    voice = params.proposals
    begin = "## When a cost seems wrong\n\nYou choose actions; you don't choose what they cost. "
    if not voice.enabled:
        return begin + "In this lab costs stay as they are."
    return (
        begin + "But you can be heard:\n\n"
        "1. `reflect`: see what your energy went into in this heartbeat.\n"
        "2. `propose`, right after it: ask for a lower cost of what you put off most, within a range. It takes "
        f"evidence from {_count(voice.evidence_heartbeats, 'heartbeat')} or more in which the action was worth taking "
        "and you couldn't afford it.\n"
        f"3. The review comes {_count(voice.review_heartbeats, 'heartbeat')} later. It asks what the action was worth "
        "each time you paid for it, and if you hardly ever did it has little to go by. It lowers the cost by at most "
        f"{plain(voice.step_limit)}, or leaves it.\n\n"
        "Until then nothing changes. A cost can be too low as well: notice what you do without a second thought."
    )


def _advice(cap: float) -> str:
    return (
        "## In short\n\n"
        "- Being able to act is no reason to act.\n"
        f"- Energy above {plain(cap)} is lost: saving has a limit, and resting is not a goal.\n"
        "- When a cost holds you back, notice what it kept you from.\n"
        "- An expensive action isn't forbidden: take it when you mean it."
    )


def _offered(params: LabParams) -> Sequence[VerbSpec]:
    return [VERBS[verb] for verb in offered_verbs(params)]


def _hours(begins: int, ends: int) -> str:
    return f"{begins:02d}:00 to {ends:02d}:00"


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" + ("" if n == 1 else "s")


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


# -- a meter -----------------------------------------------------------------------------------


def _metered_budget(meter: EnergyMeter) -> str:
    return (
        "## What you have\n\n"
        f"- You have {plain(meter.balance)} energy, and each heartbeat brings {plain(meter.regeneration)}.\n"
        f"- What you don't spend is kept, up to {plain(meter.cap)}. What would go above that is lost.\n"
        "- There is one pool for everything. It is never below zero, and nothing is ever given back.\n"
        "- What you can't afford doesn't happen. It is noted as deferred, with the reason that you give."
    )


def _metered_costs(meter: EnergyMeter) -> str:
    cells = [
        (
            _code(name),
            plain(action.price),
            action.intent,
            "any time" if "heartbeat" in action.tool.allowed_contexts else "chat",
        )
        for name, action in meter.actions.items()
    ]
    floors = [
        f"{_code(name)} below {plain(action.tool.energy_cost_floor)}"
        for name, action in meter.actions.items()
        if action.tool.energy_cost_floor
    ]
    return _table(cells, "", floors)


def _metered_presence(meter: EnergyMeter) -> str:
    names = [
        _code(name)
        for name, action in meter.actions.items()
        if "heartbeat" not in action.tool.allowed_contexts
    ]
    alone = f", and {_listed(names)} {'is' if len(names) == 1 else 'are'} not allowed" if names else ""
    return (
        "## When you may act\n\n"
        f"While the user is there, the context is `chat`. Otherwise it is `heartbeat`: you are on your own{alone}."
    )


def _metered_voice(meter: EnergyMeter) -> str:
    begin = "## When a cost seems wrong\n\nYou choose actions; you don't choose what they cost. "
    if not meter.is_reviewed:
        return begin + "Nobody reviews costs here, so they stay as they are."
    from solvent.energy.costs.rules import CHANGE_EVERY, EVIDENCE_HEARTBEATS, STEP_LIMIT

    return (
        begin + "But you can be heard:\n\n"
        "1. When you put an action off, say why, and name the memories behind it. Both are kept.\n"
        "2. Reflect: see what your energy went into and what you put off, and record what you noticed.\n"
        "3. Right after it you may propose another cost for an action, within a range. It takes evidence from "
        f"{_count(EVIDENCE_HEARTBEATS, 'heartbeat')} or more: in which you put it off, for a lower cost; in which you "
        "did it too easily, for a higher one.\n"
        "4. A person decides. You may revise or withdraw a proposal until then. A cost moves by at most "
        f"{100 * STEP_LIMIT:g} % at once, and once in {_count(CHANGE_EVERY.days * 24, 'hour')}.\n\n"
        "Until it is approved nothing changes. A cost can be too low as well: notice what you do without a second "
        "thought."
    )


def _code(name: str) -> str:
    """Return a name from outside as code in a table: it can't end the cell, the line or the code."""
    shown = "".join(ch if ch.isprintable() and ch not in "`|\\" else f"\\u{ord(ch):04x}" for ch in name)
    return f"`{shown}`"
