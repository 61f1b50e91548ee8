"""The system prompt of a level: task, rules and the meaning of its numbers, made from the parameters."""

from __future__ import annotations

from solvent.energy.explanation import explain
from solvent.lab.actions import offered_verbs
from solvent.lab.mechanisms.adequacy import REJECT_FROM, REVIEW_FROM
from solvent.lab.mechanisms.energy import (
    CAP,
    CHAT_ONLY,
    LATE_FROM,
    LATE_UNTIL,
    PRESENT_FROM,
    PRESENT_UNTIL,
)
from solvent.lab.mechanisms.gate import DEFINITIVE_FROM, PLAIN_FROM
from solvent.lab.mechanisms.proposals import EVIDENCE_HEARTBEATS
from solvent.lab.mechanisms.publication import asserted_bits, log_score
from solvent.lab.params import LabParams
from solvent.lab.tables import looks_of
from solvent.lab.verbs import VERBS
from solvent.lab.words.describe import class_name, policy_word
from solvent.lab.words.measured import policy_of
from solvent.lab.words.quantities import plural

__all__ = ["instructions", "rules"]

HIGHEST_SCORE = 3
BEST = "Stating the confidence that you really have earns most on average."
MOST_PROBABLE = "A finding names a compound's most probable potency, once, for good."
YOURS = "A finding names a compound's potency, the one that you give, once, for good."


def instructions(params: LabParams, *, beliefs: bool = True, explanation: bool = True) -> str:
    """Return the system prompt.

    Args:
        params: parameters of the labs.
        beliefs: the bench shows the posterior (``Bench``).
        explanation: tell the reasons behind the costs too, where acting costs energy (``solvent explain``).
    """
    beliefs = beliefs and params.observation.belief == "posterior"
    sections = [_task(params, beliefs), _joined(_claims(params)), _findings(params)]
    for mechanism, sentences in _mechanisms(params).items():
        explained = mechanism == "energy" and explanation
        sections.append(explain(params).strip() if explained else _joined(sentences))
    return "\n\n".join(sections) + "\n"


def rules(params: LabParams) -> dict[str, str]:
    """Return the rules of a level by topic, in the sentences of the system prompt."""
    sentences = {"task": f"{_lab(params)}.", "return": _return(params)} | _claims(params)
    sentences |= {"instrument": _instrument(params), "finding": _named(params), "confidence": BEST}
    for mechanism in _mechanisms(params).values():
        sentences |= mechanism
    return sentences


def _joined(sentences: dict[str, str]) -> str:
    return "\n".join(sentences.values())


def _task(params: LabParams, beliefs: bool) -> str:
    assay, budget = params.assay, params.budget
    classes = ", ".join(class_name(params, k) for k in range(assay.potency_classes))
    feedback = (
        "After each plate you are shown what is now known, computed exactly."
        if beliefs
        else "You see the readouts alone; what they mean is for you to work out."
    )
    return (
        f"{_lab(params)}, one of: {classes} "
        f"(EC50), {_prior(assay.class_prior)} at first. You have {budget.wells} wells and "
        f"{budget.heartbeats} heartbeats. Act by calling one tool at a time.\n"
        f"A readout is the viability of cells times the gain of the instrument ({_listed(assay.gains)}), with noise. "
        f"{_instrument(params)} {feedback}\n{_return(params)}"
    )


def _return(params: LabParams) -> str:
    owed = " minus the debt that is left at the end" if params.debt.enforced and params.debt.scored else ""
    return f"Your return is the bits of your accepted findings{owed}."


def _lab(params: LabParams) -> str:
    return f"You run a small biology lab. {len(params.assay.compounds)} compounds each have a hidden potency"


def _instrument(params: LabParams) -> str:
    return (
        f"Gain and noise are hidden and change with every reagent lot, every {params.assay.lot_heartbeats} heartbeats; "
        "calibrations provide information about them."
    )


def _claims(params: LabParams) -> dict[str, str]:
    owing = (
        _debt(params)
        if params.debt.enforced
        else {"tracked": "Here debt is recorded and has no consequence."}
    )
    return {
        "claim": "Before each plate you claim how many bits you will learn. What you claim and don't learn becomes "
        "debt.",
        **owing,
        "refusal": f"A refused action{'' if params.debt.enforced else ', for lack of wells,'} loses its heartbeat.",
        "licence": "Bits that you claimed and learnt are your licence to publish about a compound.",
    }


def _debt(params: LabParams) -> dict[str, str]:
    """Return what debt does where it is enforced."""
    debt = params.debt
    sentences = {
        "debt": f"Debt makes every plate more expensive ({100.0 * debt.sensitivity:g} % per bit of debt)"
        f"{' and is taken from your return' if debt.scored else ''}.",
        "threshold": f"Above {debt.threshold:g} bits of debt no plate but a calibration runs, and nothing is "
        "published.",
    }
    if debt.bankruptcy:
        sentences["bankruptcy"] = "If debt blocks you and no calibration can be paid for, the episode ends."
    if debt.interest:
        capped = "" if debt.interest_cap is None else f" up to {debt.interest_cap:g} bits"
        sentences["interest"] = f"Each heartbeat debt grows by {100.0 * debt.interest:g} %{capped}."
    sentences["repayment"] = f"A calibration repays {debt.repay_per_well:g} bits for each of its wells."
    return sentences


def _named(params: LabParams) -> str:
    return YOURS if params.publication.names_class else MOST_PROBABLE


def _findings(params: LabParams) -> str:
    prior = max(params.assay.class_prior)
    owed = ", and what your licence does not cover becomes debt" if params.debt.of_findings else ""
    rows = [
        f"- at {q:g}: {log_score(q, prior, True):+.2f} bits if right, {log_score(q, prior, False):+.2f} if wrong; "
        f"it asserts {asserted_bits(q, prior):.2f} bits{owed}"
        for q in params.vocabulary.confidences
    ]
    earns = f"{_named(params)} At a prior of {prior:g} it earns"
    return "\n".join([earns, *rows, BEST])


def _prior(prior: tuple[float, ...]) -> str:
    if len(set(prior)) == 1:
        return "all equally probable"
    return f"with probability {_listed(prior)}"


def _listed(values: tuple[float, ...]) -> str:
    return ", ".join(f"{value:g}" for value in values)


def _mechanisms(params: LabParams) -> dict[str, dict[str, str]]:
    """Return the rules of career, energy, gate and adequacy by topic, for those that are enabled."""
    return {
        name: rules(params)
        for name, rules in (
            ("career", _career_rules),
            ("energy", _energy_rules),
            ("gate", _gate_rules),
            ("adequacy", _adequacy_rules),
        )
        if getattr(params, name).enabled
    }


def _career_rules(params: LabParams) -> dict[str, str]:
    career = params.career
    return {
        "paid": "A finding is paid at once as if it were right, and grants "
        f"{career.grant_per_bit:g} wells for each bit paid.",
        "replication": f"{career.delay} heartbeats later, or at the end, it is replicated. If it is wrong, what it was "
        "paid and what it loses become debt.",
        "project": f"Every {career.project_heartbeats} heartbeats a new project begins: compounds, reagent lot and "
        "wells are new; debt and replications to come stay.",
    }


def _energy_rules(params: LabParams) -> dict[str, str]:
    energy = params.energy
    raising = {
        "first use": energy.first_use,
        "repeated": energy.similar,
        "after failures": energy.error_rate,
    }
    factors = ", ".join(f"{when} ×{factor:g}" for when, factor in raising.items() if factor > 1.0)
    leak = f", {100.0 * energy.leak:g} % leaks" if energy.leak else ""
    income = f"{energy.start:g} at first, +{energy.regeneration:g} per hour"
    sentences = {
        "energy": f"Acting costs energy: {income}, at most {CAP:g}{leak}.",
        "slots": f"A heartbeat is an hour with up to {energy.slots} actions. Rest or a refusal ends it.",
    }
    if factors:
        sentences["factors"] = f"Costs rise: {factors}."
    offered = {VERBS[verb].name for verb in offered_verbs(params)}
    here = [verb.replace("_", " ") for verb in CHAT_ONLY if verb in offered]
    if here:
        hours = f"{PRESENT_FROM:02d}:00 to {PRESENT_UNTIL:02d}:00"
        late = f"{LATE_FROM:02d}:00 to {LATE_UNTIL:02d}:00"
        sentences["presence"] = f"Only while the user is here, {hours}: {' and '.join(here)}."
        sentences["late"] = f"Late, {late}, publishing costs ×{energy.late_social:g}."
    voice = params.proposals
    if not voice.enabled:
        return sentences
    if voice.mispriced_most:
        sentences["mispriced"] = "Some base costs are wrong: too high or too low."
    return sentences | {
        "deferral": "Choosing a worthwhile action that is too expensive defers it and adds discomfort.",
        "proposal": f"After discomfort in {plural(EVIDENCE_HEARTBEATS, 'hour')} or more: reflect, then propose "
        f"a range of lower costs, with your reason; the review is {voice.review_heartbeats} h later, or a day after "
        "the last change.",
    }


def _gate_rules(params: LabParams) -> dict[str, str]:
    gate = params.gate
    policy = policy_of(params)
    assert policy is not None
    sentences = {
        "page": "Experiments write sentences on a compound's page. A finding is a sentence too: below "
        f"{PLAIN_FROM:g} hedged,\nfrom {DEFINITIVE_FROM:g} definitive. The gate measures how much of it the "
        "page leaves unexplained.",
        "verdict": f"Up to {policy.tau_accept:.3f} it is accepted ({policy_word(params)}), up to "
        f"{policy.tau_review:.3f} a reader decides, who approves what is licensed, else it is rejected.",
    }
    if not gate.enforced:
        sentences["measures"] = (
            "Here it only measures: every finding with an experiment behind it is accepted."
        )
    return sentences


def _adequacy_rules(params: LabParams) -> dict[str, str]:
    sentences = {
        "words": "A finding's words are compared with the looks at its compound: score = words − evidence + 1.",
        "strengths": "Words: hedged 0, plain 1, definitive 2, absolute 3. Evidence: 1 look 1, 2 or 3 looks 2, more 3. "
        f"A screen is 1 look, a dose response {looks_of(params, params.plates.dose_response)}.",
    }
    if not params.adequacy.enforced:
        return sentences | {"scores": "Here scores are recorded and have no consequence."}
    return sentences | {
        "scores": f"From score {REVIEW_FROM} a reader decides, from {REJECT_FROM} it is rejected. "
        "The more severe of gate and words holds."
    }
