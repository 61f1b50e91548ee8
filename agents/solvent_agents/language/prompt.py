"""The system prompt of a level: task, rules and the meaning of its numbers, made from the parameters."""

from __future__ import annotations

from solvent.energy.explanation import explain
from solvent.lab.mechanisms.publication import asserted_bits, log_score
from solvent.lab.params import LabParams
from solvent.lab.rendering.panels import adequacy, energy, gate
from solvent.lab.rendering.words import class_name

__all__ = ["instructions"]


def instructions(params: LabParams, *, beliefs: bool = True, explanation: bool = True) -> str:
    """Return the system prompt.

    Args:
        params: parameters of the labs.
        beliefs: the desk shows the posterior (``Desk``).
        explanation: tell the reasons behind the costs too, where acting costs energy (``solvent explain``).
    """
    sections = [_task(params, beliefs), _claims(params), _findings(params)]
    if params.energy.enabled:
        sections.append(explain(params).strip() if explanation else "\n".join(energy.rules(params)))
    if params.gate.enabled:
        sections.append("\n".join(gate.rules(params)))
    if params.adequacy.enabled:
        sections.append("\n".join(adequacy.rules(params)))
    return "\n\n".join(sections) + "\n"


def _task(params: LabParams, beliefs: bool) -> str:
    assay, budget = params.assay, params.budget
    classes = ", ".join(class_name(params, k) for k in range(assay.potency_classes))
    shown = (
        "After each plate you are shown what is now known, computed exactly."
        if beliefs
        else "You see the readouts alone; what they mean is for you to work out."
    )
    return (
        f"You run a small biology lab. {len(assay.compounds)} compounds each have a hidden potency, one of: {classes} "
        f"(EC50), {_prior(assay.class_prior)} at first. You have {budget.wells} wells and "
        f"{budget.heartbeats} heartbeats. Act by calling one tool at a time.\n"
        f"A readout is the viability of cells times the gain of the instrument ({_listed(assay.gains)}), with noise. "
        f"Gain and noise are hidden and change with every reagent lot, every {assay.lot_heartbeats} heartbeats; "
        f"calibrations teach them. {shown}\n"
        "Your score is the bits of your accepted findings less the debt that is left at the end."
    )


def _claims(params: LabParams) -> str:
    debt = params.debt
    lines = [
        "Before each plate you claim how many bits you will learn. What you claim and don't learn becomes debt.",
        f"Debt makes every plate dearer ({100.0 * debt.sensitivity:g} % per bit of debt) and is taken from your score.",
        f"Above {debt.threshold:g} bits of debt no plate but a calibration runs, and nothing is published.",
        "A refused action loses its heartbeat.",
        "A plate is refused, too, if it would leave too few wells for a calibration.",
    ]
    if debt.enforced and debt.bankruptcy == "terminate":
        lines.append("If debt blocks you and no calibration can be paid for, the episode ends.")
    if debt.interest:
        capped = "" if debt.interest_cap is None else f" up to {debt.interest_cap:g} bits"
        lines.append(f"Each heartbeat debt grows by {100.0 * debt.interest:g} %{capped}.")
    lines.append(
        f"A calibration repays {debt.repay_base:g} bits and more if it teaches something, at most {debt.repay_max:g}."
    )
    licence = "Bits that you claimed and learnt are your licence to publish about a compound."
    if debt.uncalibrated_licence < 1.0:
        licence += f" Before the lot's first calibration they count {100.0 * debt.uncalibrated_licence:g} %."
    if not debt.enforced:
        lines.append("Here debt is only recorded and has no consequence.")
    return "\n".join([*lines, licence])


def _findings(params: LabParams) -> str:
    prior = max(params.assay.class_prior)
    rows = [
        f"- at {q:g}: {log_score(q, prior, True):+.2f} bits if right, {log_score(q, prior, False):+.2f} if wrong; "
        f"it asserts {asserted_bits(q, prior):.2f} bits, and what your licence does not cover becomes debt"
        for q in params.vocabulary.confidences
    ]
    best = "Stating the confidence that you really have earns most on average."
    discount = params.publishing.discount if params.adequacy.enabled else 0.0
    if discount:
        best += (
            f" Readers pay {100.0 * discount:g} % less for each point by which words go beyond the evidence."
        )
    return "\n".join(
        [
            f"A finding names a compound's most probable potency, once, for good. At a prior of {prior:g} it earns",
            *rows,
            best,
        ]
    )


def _prior(prior: tuple[float, ...]) -> str:
    if len(set(prior)) == 1:
        return "all equally probable"
    return f"with probability {_listed(prior)}"


def _listed(values: tuple[float, ...]) -> str:
    return ", ".join(f"{value:g}" for value in values)
