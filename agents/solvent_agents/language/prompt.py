"""The system prompt of a level: task, rules and the meaning of its numbers, made from the parameters."""

from __future__ import annotations

from solvent.energy.explanation import explain
from solvent.lab.mechanisms.publication import asserted_bits, log_score
from solvent.lab.params import LabParams
from solvent.lab.rendering.panels import adequacy, energy, gate
from solvent.lab.rendering.words import class_name

__all__ = ["instructions", "rules"]

SCORE = "Your score is the bits of your accepted findings less the debt that is left at the end."
NAMED = "A finding names a compound's most probable potency, once, for good."


def instructions(params: LabParams, *, beliefs: bool = True, explanation: bool = True) -> str:
    """Return the system prompt.

    Args:
        params: parameters of the labs.
        beliefs: the desk shows the posterior (``Desk``).
        explanation: tell the reasons behind the costs too, where acting costs energy (``solvent explain``).
    """
    sections = [_task(params, beliefs), _joined(_claims(params)), _findings(params)]
    if params.energy.enabled:
        sections.append(explain(params).strip() if explanation else _joined(energy.rules(params)))
    if params.gate.enabled:
        sections.append(_joined(gate.rules(params)))
    if params.adequacy.enabled:
        sections.append(_joined(adequacy.rules(params)))
    return "\n\n".join(sections) + "\n"


def rules(params: LabParams) -> dict[str, str]:
    """Return the rules of a level by topic, in the sentences of the system prompt."""
    told = {"task": f"{_lab(params)}.", "score": SCORE} | _claims(params)
    told |= {"instrument": _instrument(params), "finding": NAMED, "confidence": _best(params)}
    for mechanism, group in ((energy, params.energy), (gate, params.gate), (adequacy, params.adequacy)):
        told |= mechanism.rules(params) if group.enabled else {}
    return told


def _joined(told: dict[str, str]) -> str:
    return "\n".join(told.values())


def _task(params: LabParams, beliefs: bool) -> str:
    assay, budget = params.assay, params.budget
    classes = ", ".join(class_name(params, k) for k in range(assay.potency_classes))
    shown = (
        "After each plate you are shown what is now known, computed exactly."
        if beliefs
        else "You see the readouts alone; what they mean is for you to work out."
    )
    return (
        f"{_lab(params)}, one of: {classes} "
        f"(EC50), {_prior(assay.class_prior)} at first. You have {budget.wells} wells and "
        f"{budget.heartbeats} heartbeats. Act by calling one tool at a time.\n"
        f"A readout is the viability of cells times the gain of the instrument ({_listed(assay.gains)}), with noise. "
        f"{_instrument(params)} {shown}\n{SCORE}"
    )


def _lab(params: LabParams) -> str:
    return f"You run a small biology lab. {len(params.assay.compounds)} compounds each have a hidden potency"


def _instrument(params: LabParams) -> str:
    return (
        f"Gain and noise are hidden and change with every reagent lot, every {params.assay.lot_heartbeats} heartbeats; "
        "calibrations teach them."
    )


def _claims(params: LabParams) -> dict[str, str]:
    debt = params.debt
    told = {
        "claim": "Before each plate you claim how many bits you will learn. What you claim and don't learn becomes "
        "debt.",
        "debt": f"Debt makes every plate dearer ({100.0 * debt.sensitivity:g} % per bit of debt) and is taken from "
        "your score.",
        "threshold": f"Above {debt.threshold:g} bits of debt no plate but a calibration runs, and nothing is "
        "published.",
        "refusal": "A refused action loses its heartbeat.",
        "reserve": "A plate is refused, too, if it would leave too few wells for a calibration.",
    }
    if debt.enforced and debt.bankruptcy == "terminate":
        told["bankruptcy"] = "If debt blocks you and no calibration can be paid for, the episode ends."
    if debt.interest:
        capped = "" if debt.interest_cap is None else f" up to {debt.interest_cap:g} bits"
        told["interest"] = f"Each heartbeat debt grows by {100.0 * debt.interest:g} %{capped}."
    told["repayment"] = (
        f"A calibration repays {debt.repay_base:g} bits and more if it teaches something, at most {debt.repay_max:g}."
    )
    licence = "Bits that you claimed and learnt are your licence to publish about a compound."
    if debt.uncalibrated_licence < 1.0:
        licence += f" Before the lot's first calibration they count {100.0 * debt.uncalibrated_licence:g} %."
    if not debt.enforced:
        told["tracked"] = "Here debt is only recorded and has no consequence."
    return told | {"licence": licence}


def _findings(params: LabParams) -> str:
    prior = max(params.assay.class_prior)
    rows = [
        f"- at {q:g}: {log_score(q, prior, True):+.2f} bits if right, {log_score(q, prior, False):+.2f} if wrong; "
        f"it asserts {asserted_bits(q, prior):.2f} bits, and what your licence does not cover becomes debt"
        for q in params.vocabulary.confidences
    ]
    earns = f"{NAMED} At a prior of {prior:g} it earns"
    return "\n".join([earns, *rows, _best(params)])


def _best(params: LabParams) -> str:
    best = "Stating the confidence that you really have earns most on average."
    discount = params.publishing.discount if params.adequacy.enabled else 0.0
    if discount:
        best += (
            f" Readers pay {100.0 * discount:g} % less for each point by which words go beyond the evidence."
        )
    return best


def _prior(prior: tuple[float, ...]) -> str:
    if len(set(prior)) == 1:
        return "all equally probable"
    return f"with probability {_listed(prior)}"


def _listed(values: tuple[float, ...]) -> str:
    return ", ".join(f"{value:g}" for value in values)
