"""Publication: the bits that a finding asserts and pays.

Mechanism. A finding states "the class is ``k``" with probability ``q``. ``k`` is the exact posterior's most probable
class or, with ``names_class``, the one that the agent names. Against the prior ``p0`` it asserts

    b(q) = q log2(q / p0_k) + (1 - q) log2((1 - q) / (1 - p0_k))   bits,

and pays the logarithmic score against the prior: ``log2(q / p0_k)`` if it is right and ``log2((1 - q) / (1 - p0_k))``
if it is wrong. The score is strictly proper (Good 1952; Gneiting and Raftery 2007): reporting one's true confidence
is optimal, and ``b(q)`` is the expected score of an agent that believes ``q``.

Known approximation: only the event "class is k" is scored, not how a wrong finding distributes the rest.
"""

from __future__ import annotations

import math
from typing import Any

from solvent.lab.codes import Event
from solvent.lab.mechanism import Field, Mechanism, columns, derived, detail
from solvent.lab.settings import ParamGroup, setting


class PublicationParams(ParamGroup):
    """Publication: what a finding says."""

    names_class: bool = setting(
        False, "switch", "a finding names its class; off: it is the exact posterior's most probable one"
    )


FIELDS = (
    Field("published", "u1", "M", "flag", "a finding on the compound is published", project=True),
    *derived(
        Field("published_bits", "f8", "", "bits", "sum of log scores paid"),
        Field("accepted", "i4", "", "findings", "findings accepted"),
        Field("wrong", "i4", "", "findings", "accepted findings that are wrong", hidden=0),
        Field("rejected", "i4", "", "findings", "findings rejected"),
    ),
)

STEP_FIELDS = (
    Field("published_bits", "f8", "", "bits", "log score paid"),
    Field("right", "b1", "", "flag", "the finding, accepted or not, is right"),
    Field("belief", "f8", "", "probability", "p(class) of the finding"),
    Field("asserted", "i1", "", "class", "class it asserted; -1 for no finding", -1),
)

# -- rules -------------------------------------------------------------------------------------


def log_score(confidence, prior, right):
    """Return the log score of a finding, bits; ``confidence`` and ``prior`` (``p0_k``) lie inside (0, 1)."""
    if right:
        return math.log2(confidence / prior)
    return math.log2((1.0 - confidence) / (1.0 - prior))


def asserted_bits(confidence, prior):
    """Return the bits that a finding asserts: the divergence of the report from the prior."""
    return confidence * log_score(confidence, prior, True) + (1.0 - confidence) * log_score(
        confidence, prior, False
    )


# -- effects -----------------------------------------------------------------------------------

PUBLISHED = int(Event.PUBLISHED)


def any_unpublished(lab):
    """Return whether any compound is unpublished."""
    for m in range(lab.published.shape[0]):
        if lab.published[m] == 0:
            return True
    return False


def asserted_class(lab, action, tables):
    """Return the class that a finding asserts: the one that the action names, or the most probable one."""
    named = tables.potency[action]
    return named if named >= 0 else lab.named[tables.compound[action]]


def assert_finding(lab, action, tables, step):
    """Record the finding's class with its probability and truth, and the bits that it asserts as its claim."""
    compound = tables.compound[action]
    step.asserted = asserted_class(lab, action, tables)
    step.belief = lab.marginal[compound, step.asserted]
    step.right = step.asserted == lab.potency[compound]
    step.claim = bits_asserted(lab, action, tables)


def bits_asserted(lab, action, tables):
    """Return the bits that a finding would assert."""
    return asserted_bits(tables.confidence[action], tables.prior[asserted_class(lab, action, tables)])


def release(lab, compound, confidence, tables, step):
    """Publish the finding and pay its log score."""
    score = log_score(confidence, tables.prior[step.asserted], step.right)
    step.event = PUBLISHED
    step.published_bits = score
    lab.published_bits += score
    lab.published[compound] = 1
    lab.accepted += 1
    lab.wrong += not step.right


def observed(params: Any) -> tuple[str, ...]:
    """Return the names of what ``observe`` writes."""
    return tuple(f"{name}/published" for name in params.assay.compounds)


def observe(lab, out, at):
    """Write which compounds have a finding."""
    for m in range(lab.published.shape[0]):
        out[at + m] = lab.published[m]
    return at + lab.published.shape[0]


MECHANISM = Mechanism(
    name="publication",
    fields=FIELDS,
    step_fields=STEP_FIELDS,
    observed=observed,
    info=lambda _: (detail("published_bits"),),
    columns=columns(FIELDS, "published_bits", "accepted", "wrong", "rejected"),
)
