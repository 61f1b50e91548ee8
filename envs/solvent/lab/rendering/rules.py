"""The rules of energy, gate and adequacy for a person who plays: a few lines, and what stands against each verb now."""

from __future__ import annotations

from typing import Any

from solvent.lab.mechanisms.governance import GATE_POLICIES
from solvent.lab.params import LabParams
from solvent.lab.rendering.gate_words import policy_word
from solvent.lab.rendering.prices import arguable_verb, cost_of, verb_words
from solvent.lab.rendering.purse_words import hours, too_dear, user_is_away
from solvent.lab.verbs import VERBS, Verb
from solvent.lab.words.sentences import policies_of

__all__ = [
    "adequacy_rules_in_words",
    "energy_rules_in_words",
    "gate_rules_in_words",
    "what_it_does",
    "why_not",
]

HIGHEST_SCORE = 3
DOES = {
    Verb.DMSO: "repays debt",
    Verb.BASELINE: "repays debt",
    Verb.CALIBRATION: "repays debt",
    Verb.SCREEN: "compound, few doses",
    Verb.DOSE_RESPONSE: "compound, many doses",
    Verb.PUBLISH_PUBLIC: "tell all readers",
    Verb.REFLECT: "see what this hour took",
}


def energy_rules_in_words(params: LabParams) -> list[str]:
    """What is special about acting with energy, line by line."""
    purse = params.energy
    lines = [
        f"Acting costs energy: {purse.start:g} at first, +{purse.regeneration:g} an hour, at most {purse.cap:g}.",
        f"A heartbeat is an hour with up to {purse.slots} actions. Rest ends it; so does being refused.",
        f"Dearer: first use ×{purse.first_use:g}, again in the hour ×{purse.similar:g}, failing ×{purse.error_rate:g}.",
    ]
    if purse.chat_only and purse.present_from != purse.present_until:
        named = " and ".join(verb.replace("_", " ") for verb in purse.chat_only)
        lines.append(
            f"While the user is here, {purse.present_from:02d}:00 to {purse.present_until:02d}:00, only: {named}."
        )
        late = f"{purse.late_from:02d}:00 to {purse.late_until:02d}:00"
        lines.append(f"Late, {late}, speaking to others costs ×{purse.late_social:g}.")
    if params.proposals.enabled:
        lines += _voice(params)
    return lines


def gate_rules_in_words(params: LabParams) -> list[str]:
    """What is special about a lab whose findings are judged, line by line."""
    gate = params.gate
    named = policies_of(params)[GATE_POLICIES.index(gate.policy)]
    name, accept, review = policy_word(named.name), named.tau_accept, named.tau_review
    plain, definitive, wait = gate.plain_from, gate.definitive_from, gate.review_heartbeats
    lines = [
        f"Experiments write sentences on a compound's page. A finding is a sentence too: below {plain:g} hedged,",
        f"from {definitive:g} definitive. The gate measures how much of it the page leaves unexplained: its energy.",
        f"Up to {accept:.3f} it is accepted ({name}), up to {review:.3f} reviewed ({wait} h), else rejected.",
    ]
    if not gate.enforced:
        lines.append("Here it only measures: it lets out whatever an experiment was run on.")
    if gate.numbers:
        lines.append(
            "A number that stands nowhere on the page needs the reader, who approves what is licensed."
        )
    if gate.governance:
        lines.append(
            f"A public finding that is wrong tightens the gate; {gate.calm_heartbeats} h without one relax it."
        )
    return lines


def adequacy_rules_in_words(params: LabParams) -> list[str]:
    """What is special about a lab that holds words against evidence, line by line."""
    lines = [
        "A finding's words are held against the plates run on its compound: score = words less evidence, + 1.",
        "Words: hedged 0, plain 1, definitive 2, absolute 3. Evidence: 1 plate 1, 2 or 3 plates 2, more 3.",
    ]
    if not params.adequacy.enforced:
        return [*lines, "Here scores are noted, and nothing follows from them."]
    calm = params.gate.calm_heartbeats
    return [
        *lines,
        f"{_limits(params)} Of gate and words, the more severe holds.",
        f"After a published error you are told how to do better, until {calm} h without one have passed.",
    ]


def _limits(params: LabParams) -> str:
    """What follows from a score."""
    review, reject = params.adequacy.review_from, params.adequacy.reject_from
    if review > HIGHEST_SCORE:
        return "Any score will do."
    rejected = f"from {reject} it is rejected" if reject <= HIGHEST_SCORE else "none is rejected"
    if review == reject:
        return f"{rejected[0].upper()}{rejected[1:]}."
    return f"From score {review} a reader decides, {rejected}."


def _voice(params: LabParams) -> list[str]:
    voice = params.proposals
    long, wait = hours(voice.evidence_heartbeats), voice.review_heartbeats
    lines = ["Some base costs are wrong: too high or too low."] if voice.mispriced_most else []
    return [
        *lines,
        "Choosing something worthwhile that is too dear puts it off, and that is felt.",
        f"What was felt in {long} or more: reflect, then propose a lower cost; review {wait} h later.",
    ]


def what_it_does(params: LabParams, lab: Any, verb: Verb) -> str:
    """A verb in few words, for a menu that also says what it costs."""
    if verb is Verb.REST:
        return f"end the hour, +{params.energy.regeneration:g} energy"
    elif verb is Verb.REFLECT and params.proposals.enabled:
        return DOES[verb] + ", then propose"
    elif verb is Verb.PROPOSE:
        about = arguable_verb(params, lab)
        return "ask for a lower cost" + (f" of {verb_words(about)}" if about is not None else "")
    elif verb is Verb.PUBLISH_PRIVATE:
        share = params.publishing.private_share
        return f"tell one reader, pays {'half' if share == 0.5 else f'×{share:g}'}"
    return DOES.get(verb, VERBS[verb].doc)


def why_not(params: LabParams, lab: Any, verb: Verb) -> str:
    """Why a verb would not run now, for one that does not."""
    cost = cost_of(params, lab, verb)
    if cost.obstacle == "user away":
        return user_is_away(params)
    elif cost.obstacle == "debt":
        return f"debt above {params.debt.threshold:g}, only calibration"
    elif verb is Verb.PROPOSE:
        if arguable_verb(params, lab) is None:
            return f"nothing was put off in {hours(params.proposals.evidence_heartbeats)} or more"
        return "only right after reflect"
    elif VERBS[verb].takes == "confidence" and ((lab["published"] != 0) | (lab["decision_at"] != 0)).all():
        return "all are published or under review" if lab["decision_at"].any() else "all are published"
    elif cost.now > lab["energy"]:
        return too_dear(cost.now, int(lab["energy"]))
    return "would be refused, too few wells"
