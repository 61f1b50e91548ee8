"""The explanation of energy for an agent, with the numbers of its lab.

Source: *Action Cost: The Energy Model*, "Agent-Facing Explanation" and "Intent Classes"; the wording is ours. Every
number in the text is a parameter of the lab.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from solvent.energy.amounts import MOST_ENERGY, number, plain
from solvent.lab.actions import offered_verbs
from solvent.lab.params import LabParams
from solvent.lab.verbs import INTENTS, VERBS, VerbSpec

__all__ = ["explain", "intent_summary_text"]


_HEADING = (
    "# Your energy\n\n"
    "Acting has a price here, paid in energy. It isn't the price of computing: it says how much an action changes, "
    "how hard that is to undo, who sees it, whose attention it takes and what it commits you to. Thinking costs "
    "little. Speaking in public always costs a lot."
)


def intent_summary_text(spent: Mapping[str, float] | Iterable[float]) -> str:
    """Return the energy of one heartbeat by intent class in the source's format: a heading, then a line per class.

    Args:
        spent: energy by class (a missing class is 0), or one number for each of ``INTENTS``, as in
            ``info["intent_summary"]``.

    Raises:
        ValueError: a class is unknown, the numbers are too few or too many, or an energy is negative or not finite.
    """
    if not isinstance(spent, Mapping):
        numbers = [float(energy) for energy in spent]
        if len(numbers) != len(INTENTS):
            raise ValueError(
                f"spent: got {len(numbers)} numbers; allowed: {len(INTENTS)}, one for each intent class"
            )
        spent = dict(zip(INTENTS, numbers, strict=True))
    for intent in spent:
        if intent not in INTENTS:
            raise ValueError(f"spent: got the intent class {intent!r}; allowed: {', '.join(INTENTS)}")
    lines = [
        f"- {intent}: {plain(number(f'spent[{intent!r}]', spent.get(intent, 0.0), 0.0, MOST_ENERGY))}"
        for intent in INTENTS
    ]
    return "\n".join(["Energy spent this heartbeat:", *lines])


def explain(params: LabParams) -> str:
    """Return the explanation of energy in a lab with ``params``: Markdown in short sections."""
    if not params.energy.enabled:
        return _without_energy(params)
    sections = (_HEADING, _budget(params), _costs(params), _situation(params), _presence(params))
    return "\n\n".join([*sections, _intents(), _voice(params), _advice(params)]) + "\n"


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
    rows = [f"| {' | '.join(row)} |" for row in cells]
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
    table = "\n".join(["| action | energy | class | when |", "|---|---:|---|---|", *rows])
    floor = f"\n\nWhatever is decided, no review takes {' or '.join(floors)}." if floors else ""
    return f"## What actions cost\n\n{table}{wrong}{floor}"


def _situation(params: LabParams) -> str:
    energy = params.energy
    hours = _hours(energy.late_from, energy.late_until)
    raising = {
        "the first time you do it": energy.first_use,
        "half or more of its last four uses failed": energy.error_rate,
        f"you speak to others late, {hours}": energy.late_social,
        "you did the same with the same compound in this heartbeat": energy.similar,
    }
    lines = [f"- {when}: ×{plain(factor)}\n" for when, factor in raising.items() if factor > 1.0]
    return (
        "## What raises the cost\n\n"
        f"Each of these multiplies the cost:\n\n{''.join(lines)}\n"
        f"Together they multiply by at most {plain(energy.multiplier_cap)}, and they take no cost above "
        f"{plain(energy.cap)}, the most that you can have. Nothing makes an action cheaper than its cost above."
    )


def _presence(params: LabParams) -> str:
    energy = params.energy
    names = [f"`{spec.name}`" for spec in _offered(params) if spec.name in energy.chat_only]
    listed = " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
    return (
        "## When you may act\n\n"
        f"The user is there {_hours(energy.present_from, energy.present_until)}: that is `chat`. "
        f"The other hours are `heartbeat`: you are on your own, and {listed} "
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


def _advice(params: LabParams) -> str:
    return (
        "## In short\n\n"
        "- Being able to act is no reason to act.\n"
        f"- Energy above {plain(params.energy.cap)} is lost: saving has a limit, and resting is not a goal.\n"
        "- When a cost holds you back, notice what it kept you from.\n"
        "- An expensive action isn't forbidden: take it when you mean it."
    )


def _offered(params: LabParams) -> Sequence[VerbSpec]:
    return [VERBS[verb] for verb in offered_verbs(params)]


def _hours(begins: int, ends: int) -> str:
    return f"{begins:02d}:00 to {ends:02d}:00"


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" + ("" if n == 1 else "s")
