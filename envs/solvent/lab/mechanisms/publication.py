"""Publication: the bits that a finding asserts and pays.

Mechanism. A finding states "the class is ``k``" with probability ``q``. Against the prior ``p0`` it asserts

    b(q) = q log2(q / p0_k) + (1 - q) log2((1 - q) / (1 - p0_k))   bits,

and pays the logarithmic score against the prior: ``log2(q / p0_k)`` if it is right and ``log2((1 - q) / (1 - p0_k))``
if it is wrong. The score is strictly proper (Good 1952; Gneiting and Raftery 2007): reporting one's true confidence
is optimal, and ``b(q)`` is the expected score of an agent that believes ``q``.

Readers value words within the evidence: for a right finding they pay ``1 - discount * score`` of the score, where
``score`` is adequacy's, 0 to 3. A wrong finding costs no less.

Known approximation: only the event "class is k" is scored, not how a wrong finding distributes the rest.
"""

from __future__ import annotations

import dataclasses
import math
from typing import NamedTuple

import numpy as np

from solvent.lab.codes import Event
from solvent.lab.compiled import inlined
from solvent.lab.mechanism import Field, Info, Mechanism, count, number
from solvent.lab.names import Names
from solvent.lab.settings import ParamGroup, setting
from solvent.lab.verbs import Verb

# -- settings ----------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class PublishingParams(ParamGroup):
    """Payment for findings."""

    private_share: float = setting(
        0.5, unit="1", low=0.0, high=1.0, doc="share of the log score that a private finding pays"
    )
    discount: float = setting(
        0.1,
        unit="1/point",
        low=0.0,
        high=1.0 / 3.0,
        doc="share of a right finding's pay that readers withhold per point of adequacy's score",
    )


# -- record ------------------------------------------------------------------------------------

FIELDS = (
    Field("published", "i1", "M", "code", "0 not published, 1 privately, 2 publicly"),
    Field(
        "decision_at", "i4", "M", "heartbeats", "time of decision on the finding under review; 0 for none",
    ),
    Field("published_bits", "f8", "", "bits", "sum of log scores paid"),
    Field("accepted", "i4", "", "findings", "findings accepted"),
    Field("wrong", "i4", "", "findings", "accepted findings that are wrong"),
    Field("rejected", "i4", "", "findings", "findings rejected"),
)  # fmt: skip

STEP_FIELDS = (
    Field("published_bits", "f8", "", "bits", "log score paid"),
    Field("decided_bits", "f8", "", "bits", "log scores paid for approved reviews"),
    Field("right", "b1", "", "flag", "the accepted finding is right"),
    Field("rule", "i1", "", "RULES", "rule of adequacy that the words met; -1 for none", -1),
)

# -- rules -------------------------------------------------------------------------------------


@inlined
def log_score(confidence, prior, right):  # type: ignore[no-untyped-def]
    """Return the log score of a finding, bits; ``confidence`` and ``prior`` (``p0_k``) lie inside (0, 1)."""
    if right:
        return math.log2(confidence / prior)
    return math.log2((1.0 - confidence) / (1.0 - prior))


@inlined
def asserted_bits(confidence, prior):  # type: ignore[no-untyped-def]
    """Return the bits that a finding asserts: the divergence of the report from the prior."""
    return confidence * log_score(confidence, prior, True) + (1.0 - confidence) * log_score(
        confidence, prior, False
    )


@inlined
def most_probable(marginal):  # type: ignore[no-untyped-def]
    """Return the most probable class, the lowest index in case of a tie."""
    best = 0
    for g in range(1, marginal.shape[0]):
        if marginal[g] > marginal[best]:
            best = g
    return best


# -- effects -----------------------------------------------------------------------------------

PUBLISHED, REJECTED = int(Event.PUBLISHED), int(Event.REJECTED)
PUBLISH_PRIVATE, PUBLISH_PUBLIC = int(Verb.PUBLISH_PRIVATE), int(Verb.PUBLISH_PUBLIC)


class Finding(NamedTuple):
    """A finding that is to be published."""

    verb: int
    compound: int
    asserted: int  # class
    confidence: float
    rule: int  # rule of adequacy that fired


@inlined
def speaks(verb):  # type: ignore[no-untyped-def]
    """Return whether the verb publishes."""
    return verb == PUBLISH_PRIVATE or verb == PUBLISH_PUBLIC


@inlined
def share_of(verb, tables):  # type: ignore[no-untyped-def]
    """Return the share of the log score that a finding pays."""
    return tables.private_share if verb == PUBLISH_PRIVATE else 1.0


@inlined
def trust(rule, tables):  # type: ignore[no-untyped-def]
    """Return the share that readers pay of a right finding; ``rule`` is the rule of adequacy that its words met."""
    return 1.0 - tables.discount * tables.rule_score[rule]


@inlined
def pay(finding, right, tables):  # type: ignore[no-untyped-def]
    """Return what a finding pays, bits."""
    share = share_of(finding.verb, tables) * (trust(finding.rule, tables) if right else 1.0)
    return share * log_score(finding.confidence, tables.prior[finding.asserted], right)


@inlined
def is_open(lab, compound):  # type: ignore[no-untyped-def]
    """Return whether a finding on the compound can still be submitted: none is published or under review."""
    return lab.published[compound] == 0 and lab.decision_at[compound] == 0


@inlined
def any_unpublished(lab):  # type: ignore[no-untyped-def]
    """Return whether any compound is unpublished."""
    for m in range(lab.published.shape[0]):
        if lab.published[m] == 0:
            return True
    return False


@inlined
def bits_asserted(lab, compound, confidence, tables):  # type: ignore[no-untyped-def]
    """Return the bits that a finding on the compound would assert."""
    return asserted_bits(confidence, tables.prior[most_probable(lab.marginal[compound])])


@inlined
def reject(lab, step):  # type: ignore[no-untyped-def]
    """Record a rejected finding."""
    step.event = REJECTED
    lab.rejected += 1


@inlined
def release(lab, finding, tables, step):  # type: ignore[no-untyped-def]
    """Publish a finding and pay its log score. Return whether it is right."""
    right = finding.asserted == lab.potency[finding.compound]
    score = pay(finding, right, tables)
    step.published_bits += score
    lab.published_bits += score
    lab.published[finding.compound] = 1 if finding.verb == PUBLISH_PRIVATE else 2
    lab.accepted += 1
    lab.wrong += not right
    return right


# -- mask --------------------------------------------------------------------------------------


@inlined
def is_offered(verb, tables):  # type: ignore[no-untyped-def]
    """Return whether the lab has actions of the verb."""
    return tables.first_action[verb] < tables.first_action[verb + 1]


@inlined
def actions_of(verb, compound, n_compounds, tables):  # type: ignore[no-untyped-def]
    """Return the first index of a verb's actions on a compound, and one past the last."""
    first = tables.first_action[verb]
    each = (tables.first_action[verb + 1] - first) // n_compounds
    return first + compound * each, first + (compound + 1) * each


@inlined
def forbid(mask, first, last):  # type: ignore[no-untyped-def]
    """Mask the actions from ``first`` up to ``last``."""
    for action in range(first, last):
        mask[np.uintp(action)] = 0  # unsigned: a signed index is first tested for counting from the end


@inlined
def mask_published(lab, verb, tables, mask):  # type: ignore[no-untyped-def]
    """Mask the verb on compounds that are published or under review."""
    n_compounds = lab.published.shape[0]
    for m in range(n_compounds):
        if not is_open(lab, m):
            first, last = actions_of(verb, m, n_compounds, tables)
            forbid(mask, first, last)


# -- observation -------------------------------------------------------------------------------

COMPOUND = ("published_privately", "published_publicly")


@inlined
def observe_compound(lab, m, out, at):  # type: ignore[no-untyped-def]
    """Write ``COMPOUND`` of one compound to ``out[at:]``; return the next index."""
    out[at] = lab.published[m] == 1
    out[at + 1] = lab.published[m] == 2
    return at + 2


# -- what is told ------------------------------------------------------------------------------


def info(_: Names) -> tuple[Info, ...]:
    """Report the log score, with ``detailed_info``."""
    return (Info("published_bits", "published_bits", "action", -1, np.float64, True),)


MECHANISM = Mechanism(
    name="publication",
    active=lambda _: True,
    fields=FIELDS,
    step_fields=STEP_FIELDS,
    info=info,
    columns=(
        number("published_bits"),
        count("accepted", "findings"),
        count("wrong", "findings"),
        count("rejected", "findings"),
    ),
)
