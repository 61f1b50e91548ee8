"""The career: projects in a row, findings that are paid at their word, and replications that come later.

Mechanism. Every ``project_heartbeats`` a new project begins with new compounds, a new reagent lot and new wells; debt
and what is due stay. An accepted finding of class ``k`` at confidence ``q`` is paid as if it were right, and grants
wells at once:

    paid = log2(q / p0_k)   bits,        granted = floor(grant_per_bit * paid)   wells.

``delay`` heartbeats later, or when the episode ends, the finding is replicated. A right one changes nothing; for a
wrong one the payment and the loss become debt, which inflates, blocks and bears interest like any other:

    stake = paid - log2((1 - q) / (1 - p0_k))   bits.

Without interest the sum is the logarithmic score of ``publication.py``, so stating one's true confidence stays
optimal. Source: the first open question of *Epistemic Debt Enforcement*, debt that persists.

Known approximations: a replication never errs. The observation shows when a finding is replicated and its stake, but
of past projects not how probable it was.
"""

from __future__ import annotations

from typing import Any, Self

from pydantic import model_validator

from solvent.lab.mechanism import Field, Info, Mechanism, columns, copy_fields, derived, detail
from solvent.lab.mechanisms.assay import draw_class
from solvent.lab.mechanisms.publication import log_score
from solvent.lab.settings import ParamGroup, numbers, setting


class CareerParams(ParamGroup):
    """The career: several projects, grants, and replications that come later."""

    enabled: bool = setting(False, "switch", "findings are paid at their word and replicated later")
    project_heartbeats: int = setting(
        36, "heartbeats", "length of a project, a multiple of a lot's life", ge=1, le=32_767
    )
    delay: int = setting(
        36, "heartbeats", "from a finding to its replication, at most a project", ge=1, le=32_767
    )
    grant_per_bit: float = setting(
        8.0, "wells/bit", "wells that an accepted finding grants per bit paid", ge=0.0, le=1000.0
    )

    @model_validator(mode="after")
    def _agree(self) -> Self:
        most = self.project_heartbeats
        self.check("delay", self.delay <= most, f"at most {most}, a project")
        return self


def career_rules(params: Any) -> Any:
    """Return the settings of the career as a record of numbers, with the most wells that a project can hold."""
    assay, career = params.assay, params.career
    most = 0
    if career.enabled:
        highest = log_score(max(params.vocabulary.confidences), min(assay.class_prior), True)
        most = len(assay.compounds) * granted(career.grant_per_bit, highest)
    return numbers(career, most_wells=params.budget.wells + most)


# Row 0 is for findings of this project, row 1 for those of the one before.
FIELDS = (
    Field("due_at", "i4", "2,M", "heartbeats", "heartbeat of the finding's replication; 0 for none"),
    Field("stake", "f8", "2,M", "bits", "debt that comes if the finding is wrong"),
    Field("due_wrong", "u1", "2,M", "flag", "the finding is wrong", hidden=0),
    *derived(
        Field("wells_granted", "i4", "", "wells", "wells granted by findings"),
        Field(
            "wells_renewed", "i4", "", "wells", "wells that new projects brought, less those that they found"
        ),
        Field("replicated", "i2", "", "findings", "findings replicated"),
        Field("retracted", "i2", "", "findings", "findings that a replication showed to be wrong"),
        Field("debt_recalled", "f8", "", "bits", "debt from wrong findings"),
    ),
)

STEP_FIELDS = (
    Field("wells_granted", "i4", "", "wells", "wells granted by the finding"),
    Field("replicated", "i2", "", "findings", "findings replicated as the heartbeat closed"),
    Field("retracted", "i2", "", "findings", "of these, the wrong ones"),
    Field("debt_recalled", "f8", "", "bits", "debt from wrong findings"),
)

# -- rules -------------------------------------------------------------------------------------


def granted(per_bit, paid):
    """Return the wells that a finding grants for the bits that it is paid, whole and at least 0."""
    return int(max(0.0, per_bit * paid) + 1e-9)


def beats_left(lab, tables):
    """Return the heartbeats left of the project, or of the episode where there are no projects."""
    left = tables.horizon - lab.heartbeat
    if tables.career.enabled:
        left = min(left, tables.career.project_heartbeats - lab.heartbeat % tables.career.project_heartbeats)
    return left


# -- effects -----------------------------------------------------------------------------------


def credit(lab, compound, confidence, tables, step):
    """Pay a released finding at its word, grant its wells and note when it is replicated."""
    prior, rules = tables.prior[step.asserted], tables.career
    paid = log_score(confidence, prior, True)
    lab.published_bits += paid - step.published_bits
    step.published_bits = paid
    step.wells_granted = granted(rules.grant_per_bit, paid)
    lab.wells += step.wells_granted
    lab.wells_granted += step.wells_granted
    lab.due_at[0, compound] = lab.heartbeat + rules.delay
    lab.stake[0, compound] = paid - log_score(confidence, prior, False)
    lab.due_wrong[0, compound] = not step.right


def replicate(lab, all_of_them, step):
    """Replicate the findings that are due, or all that wait. What wrong ones were paid and lose becomes debt."""
    for row in range(lab.due_at.shape[0]):
        for m in range(lab.due_at.shape[1]):
            due = lab.due_at[row, m]
            if due == 0 or not (all_of_them or due <= lab.heartbeat):
                continue
            step.replicated += 1
            lab.replicated += 1
            if lab.due_wrong[row, m]:
                step.retracted += 1
                lab.retracted += 1
                step.debt_recalled += lab.stake[row, m]
                lab.debt_recalled += lab.stake[row, m]
                lab.debt += lab.stake[row, m]
                lab.debt_peak = max(lab.debt_peak, lab.debt)
            lab.due_at[row, m], lab.stake[row, m], lab.due_wrong[row, m] = 0, 0.0, 0


def begin_project(lab, uniforms, tables):
    """Draw new compounds, forget what was known of the old ones, renew the wells. ``uniforms`` has shape ``(M,)``."""
    copy_fields(lab, tables.project)
    for m in range(lab.potency.shape[0]):
        lab.potency[m] = draw_class(tables.prior, uniforms[m])
        lab.due_at[1, m], lab.due_at[0, m] = lab.due_at[0, m], 0
        lab.stake[1, m], lab.stake[0, m] = lab.stake[0, m], 0.0
        lab.due_wrong[1, m], lab.due_wrong[0, m] = lab.due_wrong[0, m], 0
    lab.wells_renewed += tables.blank.wells - lab.wells
    lab.wells = tables.blank.wells


BITS = 4.0
"""A stake ``x`` is shown as ``x / (x + BITS)``."""


def observed(params: Any) -> tuple[str, ...]:
    """Return the names of what ``observe`` writes."""
    compounds = params.assay.compounds
    parts = [f"{row}{what}" for row in ("", "past_") for what in ("countdown", "stake")]
    return ("project_countdown", *(f"{name}/{part}" for name in compounds for part in parts))


def observe(lab, tables, out, at):
    """Write the share of the project that is left, and when each finding is replicated and its stake."""
    out[at] = beats_left(lab, tables) / tables.career.project_heartbeats
    at += 1
    for m in range(lab.due_at.shape[1]):
        for row in range(lab.due_at.shape[0]):
            waits = max(0, lab.due_at[row, m] - lab.heartbeat)
            out[at] = waits / tables.career.delay
            out[at + 1] = lab.stake[row, m] / (lab.stake[row, m] + BITS)
            at += 2
    return at


MECHANISM = Mechanism(
    name="career",
    active=lambda params: params.career.enabled,
    rules=career_rules,
    fields=FIELDS,
    step_fields=STEP_FIELDS,
    observed=observed,
    info=lambda _: (
        Info("replicated", "replicated"),
        Info("retracted", "retracted"),
        Info("debt_recalled", "debt_recalled"),
        detail("wells_granted"),
    ),
    columns=columns(FIELDS, "wells_granted", "wells_renewed", "replicated", "retracted", "debt_recalled"),
)
