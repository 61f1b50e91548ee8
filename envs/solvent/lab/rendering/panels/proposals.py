"""Proposals: discomfort, requested prices and reviews."""

from __future__ import annotations

from typing import Any

import numpy as np

from solvent.lab.codes import Deferral
from solvent.lab.compiled import plain
from solvent.lab.mechanisms.proposals import most_deferred
from solvent.lab.params import LabParams
from solvent.lab.rendering.sheet import Sheet
from solvent.lab.rendering.view import View
from solvent.lab.rendering.words import in_units, intents, too_dear, verb_words
from solvent.lab.tables import tables_for
from solvent.lab.verbs import Verb
from solvent.lab.words.notebook import plural


def rules(params: LabParams) -> dict[str, str]:
    """Return the rules about deferrals and proposals by topic."""
    voice = params.proposals
    long, wait = plural(voice.evidence_heartbeats, "hour"), voice.review_heartbeats
    mispriced = {"mispriced": "Some base costs are wrong: too high or too low."}
    return (mispriced if voice.mispriced_most else {}) | {
        "deferral": "Choosing a worthwhile action that is too dear defers it and adds discomfort.",
        "proposal": f"After discomfort in {long} or more: reflect, then propose a lower cost; the review is {wait} h "
        "later.",
    }


def arguable_verb(params: LabParams, lab: Any) -> Verb | None:
    """Return the verb that a proposal would be about now, or None."""
    verb = int(plain(most_deferred)(lab, tables_for(params)))
    return Verb(verb) if verb >= 0 else None


def deferred(step: Any) -> str:
    """Return the reason for a deferral, and the discomfort it caused."""
    outcome = f"Deferred: {too_dear(step['energy_cost'], step['energy_before'])}."
    if step["discomfort"] != Deferral.INSUFFICIENT_ENERGY:
        return outcome
    felt, verb = int(step["similar_deferrals"]) + 1, verb_words(int(step["deferred_verb"]))
    return f"{outcome} Worth {step['deferred_value']:.2f} bits, so discomfort over {verb} rises to {felt}."


def reflected(lab: Any, step: Any) -> str:
    """Return the summary shown by a reflection."""
    door = "The hour ends before a proposal" if step["closed"] else "Now a proposal may be filed"
    return f"This hour's energy: {intents(lab['intents_shown'])}. {door}."


def proposed(params: LabParams, step: Any) -> str:
    """Return the requested range, its evidence and the time of its review."""
    return (
        f"Asked for {verb_words(step['proposed_verb'])} at {in_units(step['proposed_low'])} to "
        f"{in_units(step['proposed_high'])} instead of {in_units(step['proposed_price'])}, deferred in "
        f"{plural(int(step['similar_deferrals']), 'hour')}; reviewed in {params.proposals.review_heartbeats} h."
    )


def reviewed(step: Any) -> list[str]:
    """Return the decisions on proposals as a heartbeat closed."""
    outcomes = []
    for verb in np.flatnonzero(step["reviewed"]).tolist():
        old, new = int(step["old_price"][verb]), int(step["new_price"][verb])
        if old == new:
            outcomes.append(f"The proposal for {verb_words(verb)} is declined.")
        else:
            outcomes.append(f"Approved: {verb_words(verb)} now {in_units(new)}, was {in_units(old)}.")
    return outcomes


def voice(lab: Any) -> str:
    """Return the discomfort by verb, and the proposals awaiting review."""
    felt = [f"{verb_words(verb)} {lab['discomfort'][verb]}" for verb in Verb if lab["discomfort"][verb]]
    asked = [
        f"{verb_words(verb)} at {in_units(lab['range_low'][verb])}–{in_units(lab['range_high'][verb])}, "
        f"review in {review_in(lab, verb)} h"
        for verb in Verb
        if lab["review_at"][verb]
    ]
    parts = [f"discomfort: {', '.join(felt)}"] if felt else []
    parts += [f"proposed: {', '.join(asked)}"] if asked else []
    return "; ".join(parts) or "no discomfort, no proposals"


def review_in(lab: Any, verb: Verb) -> int:
    """Return the number of heartbeats until a proposal is reviewed."""
    return int(lab["review_at"][verb]) - int(lab["heartbeat"])


def line(sheet: Sheet, view: View) -> str:
    """Return a line with discomfort and proposals."""
    return sheet.entry("voice", voice(view.lab))
