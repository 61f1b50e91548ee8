"""Energy in words: what an action cost, why it was not executed, and what the end of a heartbeat brought."""

from __future__ import annotations

from typing import Any

import numpy as np

from solvent.lab.codes import Deferral, Event, Obstacle
from solvent.lab.params import LabParams
from solvent.lab.rendering.prices import Cost, always_here, energy, is_late, is_present, verb_words
from solvent.lab.settings import in_thousandths
from solvent.lab.verbs import INTENTS, Verb

__all__ = [
    "hours",
    "intents",
    "marks",
    "not_executed",
    "paid",
    "presence",
    "prices",
    "review_in",
    "too_dear",
    "user_is_away",
    "voice",
    "what_closed",
    "why",
]


def hours(count: int) -> str:
    """A number of heartbeats, as time: ``1 hour``, ``12 hours``."""
    return f"{count} hour{'s' if count != 1 else ''}"


def user_is_away(params: LabParams) -> str:
    """Why who speaks is not heard."""
    if params.energy.present_from == params.energy.present_until:
        return "the user is away"
    return f"the user is away until {params.energy.present_from:02d}:00"


def too_dear(cost: float, left: float) -> str:
    """Why something is deferred."""
    return f"too dear, {energy(cost)} energy with {energy(left)} left"


def presence(params: LabParams, lab: Any) -> str:
    """Whether the user is there, and until when."""
    if not is_present(params, lab):
        return user_is_away(params)
    until = "all day" if always_here(params) else f"until {params.energy.present_until:02d}:00"
    late = params.energy.late_social
    dearer = f"; late, publishing ×{late:g}" if is_late(params, lab) and late != 1.0 else ""
    return f"user here {until}{dearer}"


# -- the last action


def not_executed(params: LabParams, lab: Any, step: Any) -> str:
    """Why the action did not run, or what came of reflecting and proposing; empty where energy has no say."""
    event = Event(int(step["event"]))
    if event is Event.DEFERRED:
        return _deferred(step)
    elif event is Event.NOT_EXECUTED:
        return f"Not executed: {_obstacle(params, step)}."
    elif event is Event.REFLECTED:
        return _reflected(lab, step)
    elif event is Event.PROPOSED:
        return _proposed(params, step)
    return ""


def _obstacle(params: LabParams, step: Any) -> str:
    return {
        Obstacle.CONTEXT_NOT_ALLOWED: user_is_away(params),
        Obstacle.ALREADY_PUBLISHED: "it is published already",
        Obstacle.NO_REFLECTION: "a proposal is filed right after a reflection, in the same hour",
        Obstacle.NO_EVIDENCE: "no open verb was deferred in "
        f"{hours(params.proposals.evidence_heartbeats)} or more",
        Obstacle.INSUFFICIENT_ENERGY: "too dear",
        Obstacle.UNDER_REVIEW: "a finding on it is under review",
    }[Obstacle(int(step["obstacle"]))]


def _deferred(step: Any) -> str:
    said = f"Deferred: {too_dear(step['energy_cost'], step['energy_before'])}."
    if step["discomfort"] != Deferral.INSUFFICIENT_ENERGY:
        return said
    felt = int(step["similar_deferrals"]) + 1
    worth = f"Worth {step['deferred_value']:.2f} bits, so it is felt"
    return f"{said} {worth}: discomfort {felt} for {verb_words(int(step['deferred_verb']))}."


def _reflected(lab: Any, step: Any) -> str:
    """What a reflection saw; where it closed the heartbeat, the summary is the step's."""
    door = "The hour ends before a proposal" if step["closed"] else "Now a proposal may be filed"
    return f"This hour's energy: {intents(lab['intents_shown'])}. {door}."


def intents(spent: Any) -> str:
    """An intent summary: ``exploration 8.0, maintenance 1.0``."""
    parts = [f"{name} {energy(value)}" for name, value in zip(INTENTS, spent, strict=True) if value]
    return ", ".join(parts) or "nothing"


def _proposed(params: LabParams, step: Any) -> str:
    return (
        f"Asked for {verb_words(step['proposed_verb'])} at {energy(step['proposed_low'])} to "
        f"{energy(step['proposed_high'])} instead of {energy(step['proposed_price'])}, deferred in "
        f"{hours(int(step['similar_deferrals']))}; reviewed in {params.proposals.review_heartbeats} h."
    )


def paid(step: Any) -> str:
    """The energy that an action took: ``, 4.0 energy``."""
    return f", {energy(step['energy_spent'])} energy" if step["energy_spent"] else ""


def what_closed(params: LabParams, step: Any) -> list[str]:
    """What the end of a heartbeat brought: energy, and decisions about prices."""
    if not step["closed"]:
        return []
    lost = in_thousandths(params.energy.regeneration) - int(step["energy_gained"])
    at_cap = f", {energy(lost)} lost at the cap" if lost else ""
    said = [f"Energy +{energy(step['energy_gained'])}{at_cap}."]
    if step["discomfort"] == Deferral.HOARDING:
        said.append(f"Hoarding: {verb_words(step['deferred_verb'])} was at hand.")
    for verb in np.flatnonzero(step["reviewed"]).tolist():
        old, new = int(step["old_price"][verb]), int(step["new_price"][verb])
        if old == new:
            said.append(f"The proposal about {verb_words(verb)} is turned down.")
        else:
            said.append(f"Approved: {verb_words(verb)} now {energy(new)}, was {energy(old)}.")
    return said


# -- costs


def why(cost: Cost) -> str:
    """What makes a cost what it is, or what stands against it: ``first ×1.5, late ×2``."""
    parts = [f"{word} ×{by:g}" for word, by in cost.factors]
    if cost.again:
        parts.append(f"again {energy(cost.again)}")
    return ", ".join(parts)


def marks(cost: Cost) -> str:
    """One character: dearer or cheaper than usual."""
    return " ▲▼"[cost.deviates]


def prices(known: list[Cost], changes: Any, width: int) -> str:
    """Base costs that are not the usual ones, or were changed by an approval; tersely where there is little room."""
    said, terse = [], []
    for cost in known:
        change = changes.get(cost.verb)
        if change is None and not cost.deviates:
            continue
        before = f"was {energy(change.old)}" if change else f"usually {energy(cost.usual)}"
        said.append(f"{verb_words(cost.verb)} {energy(cost.base)} ({before})")
        terse.append(f"{verb_words(cost.verb)} {energy(cost.base)} ({before.rsplit(maxsplit=1)[-1]})")
    text = ", ".join(said) or "all as usual"
    return text if len(text) <= width else ", ".join(terse)


def voice(lab: Any) -> str:
    """Discomfort by verb, and the proposals that wait for their review."""
    felt = [f"{verb_words(verb)} {lab['discomfort'][verb]}" for verb in Verb if lab["discomfort"][verb]]
    asked = [_waiting(lab, verb) for verb in Verb if lab["review_at"][verb]]
    parts = [f"discomfort: {', '.join(felt)}"] if felt else []
    parts += [f"asked: {', '.join(asked)}"] if asked else []
    return "; ".join(parts) or "no discomfort, nothing asked"


def _waiting(lab: Any, verb: Verb) -> str:
    low, high = energy(lab["range_low"][verb]), energy(lab["range_high"][verb])
    return f"{verb_words(verb)} at {low}–{high}, review in {review_in(lab, verb)} h"


def review_in(lab: Any, verb: Verb) -> int:
    """Heartbeats until a pending proposal is reviewed."""
    return int(lab["review_at"][verb]) - int(lab["heartbeat"])
