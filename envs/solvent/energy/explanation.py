"""The explanation of energy for an agent, with the numbers of its lab or meter.

Source: *Action Cost: The Energy Model*, "Agent-Facing Explanation"; the wording is ours. Every number in the text is a
parameter of the lab or of the meter, or a rule of proposals.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from solvent.energy.meter import plain
from solvent.energy.rules import CHANGE_EVERY, EVIDENCE_HEARTBEATS, STEP_LIMIT
from solvent.lab.actions import offered_verbs
from solvent.lab.mechanisms.energy import EnergyParams
from solvent.lab.params import LabParams
from solvent.lab.verbs import INTENTS, VERBS

if TYPE_CHECKING:
    from solvent.energy.meter import EnergyMeter

__all__ = ["explain"]


class _Priced(NamedTuple):
    name: str
    cost: float
    intent: str
    chat_only: bool
    floor: float


def explain(subject: LabParams | EnergyMeter, *, reviewed: bool = True) -> str:
    """Return the explanation of energy for an agent in a lab, or one with a meter: Markdown in short sections.

    Args:
        subject: the lab's parameters, or a meter.
        reviewed: for a meter, whether a person reviews proposals.
    """
    if isinstance(subject, LabParams):
        if not subject.energy.enabled:
            return (
                "# Energy\n\nThis lab has no energy: an action costs wells and time, and nothing else.\n\n"
                f"There are {subject.budget.wells} wells and {subject.budget.heartbeats} heartbeats. "
                "A heartbeat is a single action.\n"
            )
        return _in_a_lab(subject)
    actions = [
        _Priced(
            _code(name),
            action.price,
            action.intent,
            "heartbeat" not in action.tool.allowed_contexts,
            action.tool.energy_cost_floor or 0.0,
        )
        for name, action in subject.actions.items()
    ]
    heard = (
        "1. When you put an action off, say why. Your words are kept.\n"
        "2. Reflect: see what your energy went into, in this heartbeat and in those before, and what you put off.\n"
        "3. Right after it you may propose another cost for an action, within a range. It takes evidence from "
        f"{EVIDENCE_HEARTBEATS} heartbeats or more: in which you put it off, for a lower cost; in which you did it too "
        "easily, for a higher one.\n"
        "4. A person decides. You may revise or withdraw a proposal until then. A cost moves by at most "
        f"{100 * STEP_LIMIT:g} % at once, and once in {CHANGE_EVERY.days * 24} hours.\n\n"
        "Until it is approved nothing changes."
    )
    return _text(
        _budget(f"You have {plain(subject.balance)} energy", subject.regeneration, subject.cap)
        + "\n- What you can't afford doesn't happen. It is noted as deferred; the reason follows from your balance and "
        "the cost, and your own words are kept beside it.",
        _costs(actions),
        _situation(subject.params, subject.cap, "the same action with the same subject"),
        "While the user is there, the context is `chat`. Otherwise it is `heartbeat`: you are on your own",
        actions,
        heard if reviewed else "",
        subject.cap,
    )


def _in_a_lab(params: LabParams) -> str:
    energy, voice = params.energy, params.proposals
    verbs = [VERBS[verb] for verb in offered_verbs(params)]
    actions = [
        _Priced(
            f"`{spec.name}`",
            energy.base_cost(spec.name),
            spec.intent,
            spec.name in energy.chat_only,
            energy.floor(spec.name),
        )
        for spec in verbs
    ]
    leak = f" {100.0 * energy.leak:g} % of it leaks away as a heartbeat closes." if energy.leak else ""
    wrong = (
        f"\n\nThese are the usual costs. Up to {voice.mispriced_most} of them may be wrong at the start, by "
        f"{plain(voice.mispriced_low)} to {plain(voice.mispriced_high)} times either way; what you are shown is what "
        "you pay."
    )
    heard = (
        "1. `reflect`: see what your energy went into in this heartbeat.\n"
        "2. `propose`, right after it: ask for a lower cost of what you put off most, within a range. It takes "
        f"evidence from {_count(voice.evidence_heartbeats, 'heartbeat')} or more in which the action was worth taking "
        "and you couldn't afford it.\n"
        f"3. The review comes {_count(voice.review_heartbeats, 'heartbeat')} later. It asks what the action was worth "
        "each time you paid for it, and if you hardly ever did it has little to go by. It lowers the cost by at most "
        f"{plain(voice.step_limit)}, or leaves it.\n\nUntil then nothing changes."
    )
    return _text(
        _budget(f"You start with {plain(energy.start)} energy", energy.regeneration, energy.cap, leak)
        + f"\n- A heartbeat has room for {_count(energy.slots, 'action')}. `rest` ends it early, and so does a refusal."
        "\n- What you can't afford doesn't happen, though it takes its place among the actions. It is noted as "
        "deferred.",
        _costs(actions, wrong if voice.enabled and voice.mispriced_most > 0 else ""),
        _situation(energy, energy.cap, "the same with the same compound"),
        f"The user is there {_hours(energy.present_from, energy.present_until)}: that is `chat`. The other hours are "
        "`heartbeat`: you are on your own",
        actions,
        heard if voice.enabled else "",
        energy.cap,
    )


def _text(
    budget: str, costs: str, situation: str, presence: str, actions: Sequence[_Priced], heard: str, cap: float
) -> str:
    alone = [action.name for action in actions if action.chat_only]
    refused = f", and {_listed(alone)} {'is' if len(alone) == 1 else 'are'} not allowed" if alone else ""
    voice = (
        f"But you can be heard:\n\n{heard} A cost can be too low as well: notice what you do without a second thought."
        if heard
        else "Nobody reviews costs here, so they stay as they are."
    )
    return f"""# Your energy

Acting has a price here, paid in energy. It isn't the price of computing: it says how much an action changes, \
how hard that is to undo, who sees it, whose attention it takes and what it commits you to. Thinking costs little. \
Speaking in public always costs a lot.

## What you have

{budget}

## What actions cost

{costs}

## What raises the cost

{situation}

## When you may act

{presence}{refused}.

## Where it went

Every action belongs to one class: {", ".join(INTENTS[:-1])} or {INTENTS[-1]}. When a heartbeat closes, what each \
class took is summed up, and a reflection shows it. The classes change no cost and forbid nothing; they show you what \
you do often and what you never do.

## When a cost seems wrong

You choose actions; you don't choose what they cost. {voice}

## In short

- Being able to act is no reason to act.
- Energy above {plain(cap)} is lost: saving has a limit, and resting is not a goal.
- When a cost holds you back, notice what it kept you from.
- An expensive action isn't forbidden: take it when you mean it.
"""


def _budget(begin: str, regeneration: float, cap: float, leak: str = "") -> str:
    return (
        f"- {begin}, and each heartbeat brings {plain(regeneration)}.\n"
        f"- What you don't spend is kept, up to {plain(cap)}.{leak} What would go above that is lost.\n"
        "- There is one pool for everything. It is never below zero, and nothing is ever given back."
    )


def _costs(actions: Sequence[_Priced], below: str = "") -> str:
    rows = [
        f"| {a.name} | {plain(a.cost)} | {a.intent} | {'chat' if a.chat_only else 'any time'} |"
        for a in actions
    ]
    floors = [f"{action.name} below {plain(action.floor)}" for action in actions if action.floor]
    floor = f"\n\nWhatever is decided, no review takes {' or '.join(floors)}." if floors else ""
    return "\n".join(["| action | energy | class | when |", "|---|---:|---|---|", *rows]) + below + floor


def _situation(energy: EnergyParams, cap: float, repeated: str) -> str:
    raising = {
        "the first time you do it": energy.first_use,
        "half or more of its last four uses failed": energy.error_rate,
        f"you speak to others late, {_hours(energy.late_from, energy.late_until)}": energy.late_social,
        f"you did {repeated} in this heartbeat": energy.similar,
    }
    lines = [f"- {when}: ×{plain(factor)}\n" for when, factor in raising.items() if factor > 1.0]
    return (
        f"Each of these multiplies the cost:\n\n{''.join(lines)}\nTogether they multiply by at most "
        f"{plain(energy.multiplier_cap)}, and they take no cost above {plain(cap)}, the most that you can have. "
        "Nothing makes an action cheaper than its cost above."
    )


def _hours(begins: int, ends: int) -> str:
    return f"{begins:02d}:00 to {ends:02d}:00"


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" + ("" if n == 1 else "s")


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _code(name: str) -> str:
    """Return a name from outside as code in a table: it can't end the cell, the line or the code."""
    shown = "".join(ch if ch.isprintable() and ch not in "`|\\" else f"\\u{ord(ch):04x}" for ch in name)
    return f"`{shown}`"
