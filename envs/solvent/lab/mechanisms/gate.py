"""The verity gate: the semantic residual of a finding, and the verdict on it.

Mechanism. A finding is a sentence ``c``; its evidence is the sentences ``e_1..e_n`` on the compound's page, all as
unit vectors. The part of the finding outside the span of the evidence is its hallucination energy,

    energy = 1 - sum_i (c . u_i)^2,   u_1..u_n an orthonormal basis of span(e_1..e_n),

a measure of verifiability, not of truth. It depends only on inner products, so the step uses a tabulated Gram matrix
and loads no model: a Cholesky factorisation builds the basis row by row, and the finding is one more row. The verdict
is ``accept`` up to a threshold, ``review`` up to a second one, and ``reject`` above. Energies are integers in
millionths, because floating-point sums can differ in their last digits between processors and verdicts must not.

A finding under review is decided at once: the reader approves it if its asserted bits are licensed.

Source: "Deterministic Policy Gates for Stochastic Systems". A page has at most twelve sentences, the source's
``top_k``, and the control claim, or oracle, is its first sentence. Departure: the basis keeps all directions, whereas
the source keeps the leading eight, so the oracle has energy 0 and ``gap = energy - oracle energy`` is the energy.
"""

from __future__ import annotations

import math
from typing import Any, Literal, get_args

import numpy as np

from solvent.lab.codes import VERDICTS, Verdict
from solvent.lab.mechanism import Column, Field, Info, Mechanism, derived, split
from solvent.lab.mechanisms.adequacy import weigh_words
from solvent.lab.settings import ParamGroup, numbers, setting
from solvent.lab.verbs import DOSE_RESPONSE
from solvent.lab.words.rows import N_WORDINGS, STRENGTHS, WORDINGS, finding_row, fit_row, readout_row

GatePolicy = Literal["adaptive.P30", "adaptive.P20", "adaptive.P10", "adaptive.P5", "adaptive.P1"]
GATE_POLICIES = get_args(GatePolicy)
"""The gate's policies, laxest first; the number is the share of all claims about a page it accepts, in percent."""
VERSION = "v1"


class GateParams(ParamGroup):
    """The verity gate, which compares findings with the sentences written by experiments."""

    enabled: bool = setting(
        False, "switch", "off: every finding on a compound with an experiment is accepted"
    )
    policy: GatePolicy = setting("adaptive.P20", "policy", "policy in force", source="document")
    enforced: bool = setting(
        True, "switch", "off: findings are measured and logged, and accepted with any evidence"
    )


# The confidences of the wordings, so that no wording is stronger than the fit; measured.
ROUGH, GOOD, PRECISE = 0.5, 0.75, 0.95
"""Belief in a class from which its fit is rough, good, precise."""
PLAIN_FROM, DEFINITIVE_FROM = 0.65, 0.9
"""Confidence from which a finding is worded plainly, definitively; measured."""


def wording_at(confidence: float) -> int:
    """Return the wording of a finding at this confidence, an index of ``WORDINGS``."""
    return int(confidence >= PLAIN_FROM) + int(confidence >= DEFINITIVE_FROM)


ACCEPT, REVIEW, REJECT = int(Verdict.ACCEPT), int(Verdict.REVIEW), int(Verdict.REJECT)
NO_VERDICT = int(Verdict.NONE)
DECISIONS = ("none", "declined", "approved")
"""A reader's decisions on a finding under review."""
MILLION = 1_000_000

FIELDS = (
    Field("page", "i1", "M,D", "bin", "latest readout at each dose; -1 for none", -1, project=True),
    Field("fit_class", "i1", "M", "class", "class named by the latest fit; -1 for no fit", -1, project=True),
    Field("fit_strength", "i1", "M", "STRENGTHS", "strength of the latest fit", project=True),
    Field("measured_class", "i1", "M", "class", "class of the measured findings; -1 for none", -1, project=True),
    Field("plates", "i2", "M,2", "plates", "experiments run on the compound: screens, dose responses", project=True),
    *derived(
        # Without a page, every finding has energy 1.
        Field("residual", "i4", "M,W", "1/1000000", "energy of a finding, by wording", MILLION, project=True),
        Field("verdicts", "i4", "3", "findings", "number of verdicts, in the order of Verdict"),
        Field("decided", "i4", "2", "findings", "reviews declined, approved"),
    ),
)  # fmt: skip


STEP_FIELDS = (
    Field("verdict", "u1", "", "Verdict", "combined verdict of gate and adequacy", NO_VERDICT),
    Field("gate_verdict", "u1", "", "Verdict", "the gate's own verdict", NO_VERDICT),
    Field("decision", "u1", "", "DECISIONS", "the reader's decision on a finding under review"),
    Field("residual", "i4", "", "1/1000000", "hallucination energy of the finding"),
    Field("wording", "i1", "", "WORDINGS", "its wording; -1 for no finding", -1),
)  # fmt: skip

# -- rules -------------------------------------------------------------------------------------

DEPENDENT = 1e-8
"""Squared residual length below which a sentence counts as dependent, so that noise adds no direction."""


def strength_at(peak, rough, good, precise):
    """Return the strength of a fit whose class has probability ``peak``, an index of ``STRENGTHS``."""
    if peak < rough:
        return 0
    if peak < good:
        return 1
    return 2 if peak < precise else 3


def add_direction(gram, rows, i, row, factor, inverse):
    """Write sentence ``row`` in the basis of ``rows[0..i-1]`` into ``factor[i]``; return its residual.

    ``gram``, shape ``(T, T)``, holds the inner products. ``factor``, shape ``(n, n)``, and ``inverse``, shape
    ``(n,)``, hold the basis so far. The residual is the squared length outside the span, in [0, 1].
    """
    left = gram[row, row]
    for j in range(i):
        coordinate = gram[row, rows[j]]
        for k in range(j):
            coordinate -= factor[i, k] * factor[j, k]
        coordinate *= inverse[j]
        factor[i, j] = coordinate
        left -= coordinate * coordinate
    if not left >= 0.0:
        # A negative value is a rounding error; NaN counts as fully unexplained.
        left = 0.0 if left < 0.0 else 1.0
    factor[i, i] = math.sqrt(left)
    inverse[i] = 1.0 / factor[i, i] if left > DEPENDENT else 0.0
    return left


def in_millionths(energy):
    """Return an energy in [0, 1] as millionths, rounded to the nearest integer."""
    return int(min(1.0, max(0.0, energy)) * MILLION + 0.5)


def verdict_on(residual, accept, review):
    """Return the verdict of the policy; all arguments are in millionths."""
    if residual <= accept:
        return ACCEPT
    return REVIEW if residual <= review else REJECT


def combined_verdict(gate, words, plates, enforced):
    """Return the more severe of the verdicts of gate and words.

    A gate that is not enforced rejects a finding without a plate and accepts all others.
    """
    if not enforced:
        gate = REJECT if plates == 0 else ACCEPT
    return max(gate, words)


# -- effects -----------------------------------------------------------------------------------


def write_page(lab, verb, compound, tables):
    """Write the readouts of an experiment to the page, replacing older ones at the same doses, and its fit."""
    for r in range(tables.readouts[verb]):
        lab.page[compound, tables.dose[verb, r]] = lab.last_bins[r]
    named = lab.named[compound]
    lab.fit_class[compound] = named
    lab.fit_strength[compound] = strength_at(lab.marginal[compound, named], ROUGH, GOOD, PRECISE)
    lab.measured_class[compound] = -1  # forces a new measurement
    lab.plates[compound, int(verb == DOSE_RESPONSE)] += 1


def rename_findings(lab, tables):
    """Measure findings again if their page or their most probable class has changed."""
    for m in range(lab.measured_class.shape[0]):
        if lab.fit_class[m] >= 0 and lab.named[m] != lab.measured_class[m]:
            lab.measured_class[m] = lab.named[m]
            measure_findings(lab, m, tables)


def measure_findings(lab, compound, tables):
    """Measure the finding about the compound in every wording against the sentences of its page."""
    gram = tables.gram[compound]
    rules = tables.gate
    classes = lab.marginal.shape[1]
    n_doses = lab.page.shape[1]
    rows = np.empty(n_doses + N_WORDINGS + 1, np.int64)
    factor = np.empty((n_doses + N_WORDINGS + 2, n_doses + N_WORDINGS + 2))
    inverse = np.empty(n_doses + N_WORDINGS + 2)
    n = 0
    for d in range(n_doses):
        if lab.page[compound, d] >= 0:
            rows[n] = readout_row(d, lab.page[compound, d], rules.bins)
            add_direction(gram, rows, n, rows[n], factor, inverse)
            n += 1
    for strength in range(lab.fit_strength[compound] + 1):
        rows[n] = fit_row(rules.readouts, strength, lab.fit_class[compound], classes)
        add_direction(gram, rows, n, rows[n], factor, inverse)
        n += 1
    for wording in range(N_WORDINGS):
        row = finding_row(rules.readouts, wording, lab.measured_class[compound], classes)
        lab.residual[compound, wording] = in_millionths(add_direction(gram, rows, n, row, factor, inverse))


def judge(lab, compound, tables, step):
    """Return whether a finding is published, by the verdict of gate and words or, under review, by the reader."""
    wording = tables.wording_of[step.action]
    step.wording = wording
    step.residual = lab.residual[compound, wording]
    step.gate_verdict = gate_verdict(lab, compound, wording, tables)
    words = weigh_words(lab, compound, wording, tables, step) if tables.adequacy.enabled else ACCEPT
    step.verdict = combined_verdict(step.gate_verdict, words, lab.experiments[compound], tables.gate.enforced)
    lab.verdicts[step.verdict] += 1
    if step.verdict != REVIEW:
        return step.verdict == ACCEPT
    licensed = step.claim <= lab.licence[compound]
    step.decision = 1 + licensed
    lab.decided[int(licensed)] += 1
    return licensed


def gate_verdict(lab, compound, wording, tables):
    """Return the gate's own verdict on a finding now."""
    return verdict_on(lab.residual[compound, wording], tables.tau_accept, tables.tau_review)


MARGIN = 0.1
"""Margins to the threshold are clipped at this energy."""
_STRONGEST = len(STRENGTHS) - 1


def observed(params: Any) -> tuple[str, ...]:
    """Return the names of what ``observe`` writes."""
    compounds = params.assay.compounds
    by_wording = [f"{what}_{wording}" for what in ("gate_margin", "residual") for wording in WORDINGS]
    return (
        *(f"{name}/{element}" for name in compounds for element in by_wording),
        *(f"{name}/spans" for name in compounds),
        *(f"{name}/fit_strength" for name in compounds),
    )


def observe(lab, tables, out, at):
    """Write the margin and residual of each possible finding, and the length and fit of each page."""
    n_compounds, n_doses = lab.page.shape
    for m in range(n_compounds):
        for wording in range(N_WORDINGS):
            residual = lab.residual[m, wording]
            margin = (tables.tau_accept - residual) / (MILLION * MARGIN)
            out[at + wording] = max(-1.0, min(1.0, margin))
            out[at + N_WORDINGS + wording] = residual / MILLION
        at += 2 * N_WORDINGS
    for m in range(n_compounds):
        spans = 0
        for dose in range(n_doses):
            spans += lab.page[m, dose] >= 0
        if lab.fit_class[m] >= 0:
            spans += lab.fit_strength[m] + 1
        out[at + m] = spans / (n_doses + _STRONGEST + 1)
        out[at + n_compounds + m] = lab.fit_strength[m] / _STRONGEST
    return at + 2 * n_compounds


_VERDICTS = np.array((*VERDICTS, ""), dtype=object)
_DECISIONS = np.array(("", *DECISIONS[1:]), dtype=object)


def info(params: Any) -> tuple[Info, ...]:
    """Report the verdict on a finding with its reasons, and the reader's decision."""
    policy = np.full(len(_VERDICTS), f"{params.gate.policy}.{VERSION}", dtype=object)
    policy[NO_VERDICT] = ""
    return (
        Info("verdict", "verdict", _VERDICTS.__getitem__),
        Info("hallucination_energy", "residual", lambda residual: residual / MILLION),
        Info("policy_applied", "verdict", policy.__getitem__),
        Info("review_decision", "decision", _DECISIONS.__getitem__),
    )


MECHANISM = Mechanism(
    name="gate",
    active=lambda params: params.gate.enabled,
    rules=lambda params: numbers(
        params.gate, bins=params.assay.bins, readouts=len(params.doses) * params.assay.bins
    ),
    fields=FIELDS,
    step_fields=STEP_FIELDS,
    observed=observed,
    info=info,
    columns=(
        split("verdicts", "findings", VERDICTS),
        Column("reviews_declined", "findings", lambda of: of("decided").astype(np.int64)[:, 0]),
        Column("reviews_approved", "findings", lambda of: of("decided").astype(np.int64)[:, 1]),
    ),
)
