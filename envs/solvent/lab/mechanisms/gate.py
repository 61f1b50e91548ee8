"""The verity gate: the semantic residual of a finding, and the verdict on it.

Mechanism. A finding is a sentence ``c``; its evidence is the sentences ``e_1..e_n`` on the compound's page, all as
unit vectors. The part of the finding outside the span of the evidence is its hallucination energy,

    energy = 1 - sum_i (c . u_i)^2,   u_1..u_n an orthonormal basis of span(e_1..e_n),

a measure of verifiability, not of truth. It depends only on inner products, so the step uses a tabulated Gram matrix
and loads no model: a Cholesky factorisation builds the basis row by row, and the finding is one more row. The verdict
is ``accept`` up to a threshold, ``review`` up to a second one, and ``reject`` above. Energies are integers in
millionths, because floating-point sums can differ in their last digits between processors and verdicts must not.

The control claim, or oracle, is the first sentence of the page, and ``gap = energy - oracle energy``. Adaptive policies
compare the gap, the others the energy.

Source: "Deterministic Policy Gates for Stochastic Systems". A page has at most twelve sentences, the source's
``top_k``. Departure from it, undone by ``oracle: first``: the basis keeps all directions, whereas the source keeps the
leading eight. With all of them the oracle has energy 0 and the gap equals the energy.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from solvent.lab.codes import VERDICTS, Event, Verdict
from solvent.lab.compiled import compiled, inlined
from solvent.lab.mechanism import Column, Field, Info, Log, LogEvent, Mechanism, split
from solvent.lab.mechanisms.adequacy import RULES, weigh_words
from solvent.lab.mechanisms.governance import (
    FIXED_POLICIES,
    GATE_POLICIES,
    ORACLE_POLICIES,
    family_of,
    finding_id,
    incident_events,
    observe_governance,
    report_incident,
    start_level,
)
from solvent.lab.mechanisms.publication import Finding, most_probable, reject, release
from solvent.lab.names import Names
from solvent.lab.settings import ParamError, ParamGroup, numbers, setting
from solvent.lab.verbs import EXPERIMENTS, VERBS, Verb
from solvent.lab.words.rows import STRENGTHS, WORDINGS, finding_row, fit_row, readout_row

# -- settings ----------------------------------------------------------------------------------

ORACLES = ("none", "first")


@dataclasses.dataclass(frozen=True)
class GateParams(ParamGroup):
    """The verity gate, which compares findings with the sentences written by experiments."""

    enabled: bool = setting(
        False, unit="switch", doc="off: every finding on a compound with an experiment is accepted"
    )
    policy: str = setting(
        "adaptive.P20",
        unit="policy",
        choices=(*GATE_POLICIES, *FIXED_POLICIES, *ORACLE_POLICIES),
        source="document",
        doc="policy in force at the start",
    )
    oracle: str = setting(
        "none",
        unit="rule",
        choices=ORACLES,
        doc="first: eight leading directions of the page and its first sentence as oracle; none: all directions",
    )
    enforced: bool = setting(
        True, unit="switch", doc="off: findings are measured and logged, and accepted with any evidence"
    )
    numbers: bool = setting(
        False, unit="switch", doc="a finding with a number that is not in its evidence is reviewed at best"
    )
    review_heartbeats: int = setting(
        4, unit="heartbeats", low=1, high=10_000, doc="from submission to the reader's decision"
    )
    governance: bool = setting(
        False, unit="switch", doc="a published error tightens the gate, and time without one relaxes it"
    )
    calm_heartbeats: int = setting(
        12, unit="heartbeats", low=1, high=10_000, doc="time without a published error before relaxing"
    )
    # By default the confidences of the wordings, so that no wording is stronger than the fit.
    rough: float = setting(
        0.5, unit="probability", low=0.0, high=1.0, doc="belief in a class from which its fit is rough"
    )
    good: float = setting(0.75, unit="probability", low=0.0, high=1.0, doc="from which it is good")
    precise: float = setting(0.95, unit="probability", low=0.0, high=1.0, doc="from which it is precise")
    plain_from: float = setting(
        0.65, unit="probability", low=0.0, high=1.0, doc="confidence from which a finding is worded plainly"
    )
    definitive_from: float = setting(
        0.9, unit="probability", low=0.0, high=1.0, doc="confidence from which it is worded definitively"
    )
    tables: str = setting("", unit="path", doc="file from `solvent gate build`; empty: the shipped one")

    def __post_init__(self) -> None:
        super().__post_init__()
        for low, high in (("rough", "good"), ("good", "precise"), ("plain_from", "definitive_from")):
            if getattr(self, low) > getattr(self, high):
                raise ParamError(
                    low, f"got {getattr(self, low):g}; allowed: at most {high} {getattr(self, high):g}"
                )
        if self.oracle == "none" and self.policy in ORACLE_POLICIES:
            raise ParamError("policy", f"got {self.policy!r}; allowed: only where oracle is 'first'")

    @property
    def by_gap(self) -> bool:
        """True if the policy compares the gap to the oracle, otherwise it compares the energy."""
        return self.policy in GATE_POLICIES


def wording_at(gate: GateParams, confidence: float) -> int:
    """Return the wording of a finding at this confidence, an index of ``WORDINGS``."""
    return int(confidence >= gate.plain_from) + int(confidence >= gate.definitive_from)


def gate_rules(params: Any) -> Any:
    """Return the settings of gate and governance as a record of numbers; ``policy`` is the level at the start."""
    bins, gate = params.assay.bins, params.gate
    return numbers(
        gate,
        policy=start_level(gate.policy),
        strictest=len(family_of(gate.policy)) - 1,
        by_gap=gate.by_gap,
        bins=bins,
        readouts=len(params.doses) * bins,
    )


# -- record ------------------------------------------------------------------------------------

ACCEPT, REVIEW, REJECT = int(Verdict.ACCEPT), int(Verdict.REVIEW), int(Verdict.REJECT)
NO_VERDICT = int(Verdict.NONE)
MILLION = 1_000_000

FIELDS = (
    Field("page", "i1", "M,D", "bin", "latest readout at each dose; -1 for none", -1),
    Field("fit_class", "i1", "M", "class", "class named by the latest fit; -1 for no fit", -1),
    Field("fit_strength", "i1", "M", "STRENGTHS", "strength of the latest fit"),
    Field("measured_class", "i1", "M", "class", "class of the measured findings; -1 for none", -1),
    # Without a page, every finding has energy 1.
    Field("residual", "i4", "M,W", "1/1000000", "hallucination energy of a finding, by wording", MILLION),
    Field("oracle_energy", "i4", "M", "1/1000000", "hallucination energy of the page's first sentence"),
    Field("unsupported", "u1", "M,W", "flag", "a number of the finding is not in its evidence", 1),
    Field("submitted_class", "i1", "M", "class", "class asserted by the finding under review", -1),
    Field(
        "submitted_confidence", "f8", "M", "probability", "its confidence",
    ),
    Field("submitted_verb", "i1", "M", "Verb", "its verb"),
    Field("submitted_licensed", "u1", "M", "flag", "its asserted bits were licensed"),
    Field("submitted_rule", "i1", "M", "RULES", "its rule of adequacy", -1),
    Field("verdicts", "i4", "3", "findings", "number of verdicts, in the order of Verdict"),
    Field("decided", "i4", "2", "findings", "reviews declined, approved"),
    Field("plates", "i2", "M,2", "plates", "experiments run on the compound: screens, dose responses"),
)  # fmt: skip


STEP_FIELDS = (
    Field("verdict", "u1", "", "Verdict", "combined verdict of gate and adequacy", NO_VERDICT),
    Field("gate_verdict", "u1", "", "Verdict", "the gate's own verdict", NO_VERDICT),
    Field("residual", "i4", "", "1/1000000", "hallucination energy of the finding"),
    Field("gap", "i4", "", "1/1000000", "its energy less that of the oracle"),
    Field("unsupported", "u1", "", "flag", "a number of it is not in its evidence"),
    Field("wording", "i1", "", "WORDINGS", "its wording; -1 for no finding", -1),
    Field("asserted", "i1", "", "class", "class it asserted; -1 for no finding", -1),
    Field("policy", "i1", "", "level", "policy in force at the verdict"),
    Field("approved", "u8", "", "bits", "compounds whose review was approved as the heartbeat closed, one bit each"),
    Field("declined", "u8", "", "bits", "compounds whose review was declined, one bit each"),
    Field("reviews", "b1", "", "flag", "a review was decided as the heartbeat closed"),
)  # fmt: skip

# -- rules -------------------------------------------------------------------------------------

N_WORDINGS = len(WORDINGS)
DEPENDENT = 1e-8
"""Squared residual length below which a sentence counts as dependent, so that noise adds no direction."""
RANK = 8
"""Directions that a page with an oracle keeps: the source's ``rank_r``."""


@inlined
def strength_at(peak, rough, good, precise):  # type: ignore[no-untyped-def]
    """Return the strength of a fit whose class has probability ``peak``, an index of ``STRENGTHS``."""
    if peak < rough:
        return 0
    if peak < good:
        return 1
    return 2 if peak < precise else 3


@inlined
def add_direction(gram, rows, i, row, factor, inverse):  # type: ignore[no-untyped-def]
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


@compiled
def outside_leading(gram, page, row, rank):  # type: ignore[no-untyped-def]
    """Return the part of sentence ``row`` outside the ``rank`` leading directions of the sentences ``page``."""
    n = page.shape[0]
    own, cross = np.empty((n, n)), np.empty(n)
    for i in range(n):
        cross[i] = gram[row, page[i]]
        for j in range(n):
            own[i, j] = gram[page[i], page[j]]
    squares, vectors = np.linalg.eigh(own)  # in rising order
    left = gram[row, row]
    for k in range(max(0, n - rank), n):
        if squares[k] >= DEPENDENT * squares[n - 1]:
            along = 0.0
            for i in range(n):
                along += vectors[i, k] * cross[i]
            left -= along * along / squares[k]
    return max(0.0, left)


@inlined
def in_millionths(energy):  # type: ignore[no-untyped-def]
    """Return an energy in [0, 1] as millionths, rounded to the nearest integer."""
    return int(min(1.0, max(0.0, energy)) * MILLION + 0.5)


@inlined
def verdict_on(gap, accept, review):  # type: ignore[no-untyped-def]
    """Return the verdict of the policy; all arguments are in millionths."""
    if gap <= accept:
        return ACCEPT
    return REVIEW if gap <= review else REJECT


@inlined
def combined_verdict(gate, words, plates, enforced):  # type: ignore[no-untyped-def]
    """Return the more severe of the verdicts of gate and words.

    A gate that is not enforced rejects a finding without a plate and accepts all others.
    """
    if not enforced:
        gate = REJECT if plates == 0 else ACCEPT
    return max(gate, words)


# -- effects -----------------------------------------------------------------------------------

PUBLISHED, SUBMITTED = int(Event.PUBLISHED), int(Event.SUBMITTED)
DOSE_RESPONSE, PUBLISH_PUBLIC = int(Verb.DOSE_RESPONSE), int(Verb.PUBLISH_PUBLIC)


@compiled
def write_page(lab, verb, compound, tables):  # type: ignore[no-untyped-def]
    """Write the readouts of an experiment to the page, replacing older ones at the same doses, and its fit."""
    for r in range(tables.readouts[verb]):
        lab.page[compound, tables.dose[verb, r]] = lab.last_bins[r]
    named = most_probable(lab.marginal[compound])
    lab.fit_class[compound] = named
    rules, peak = tables.gate, lab.marginal[compound, named]
    lab.fit_strength[compound] = strength_at(peak, rules.rough, rules.good, rules.precise)
    lab.measured_class[compound] = -1  # forces a new measurement
    lab.plates[compound, int(verb == DOSE_RESPONSE)] += 1


@compiled
def rename_findings(lab, tables):  # type: ignore[no-untyped-def]
    """Measure findings again if their page or their most probable class has changed."""
    for m in range(lab.measured_class.shape[0]):
        if lab.fit_class[m] >= 0 and lab.coupled[m] != 0:
            named = most_probable(lab.marginal[m])
            if named != lab.measured_class[m]:
                lab.measured_class[m] = named
                measure_findings(lab, m, tables)


@compiled
def measure_findings(lab, compound, tables):  # type: ignore[no-untyped-def]
    """Measure the finding about the compound in every wording against the sentences of its page."""
    gram = tables.gram[compound]
    contains = tables.contains[compound]
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
    lab.oracle_energy[compound] = 0
    if rules.oracle and n > RANK:
        lab.oracle_energy[compound] = in_millionths(outside_leading(gram, rows[:n], rows[0], RANK))
    for wording in range(N_WORDINGS):
        row = finding_row(rules.readouts, wording, lab.measured_class[compound], classes)
        if rules.oracle and n > RANK:
            left = outside_leading(gram, rows[:n], row, RANK)
        else:
            left = add_direction(gram, rows, n, row, factor, inverse)
        lab.residual[compound, wording] = in_millionths(left)
        finding = row - contains.shape[1]
        lab.unsupported[compound, wording] = 1
        for i in range(n):
            if contains[finding, rows[i]]:
                lab.unsupported[compound, wording] = 0


@compiled
def judge(lab, verb, compound, confidence, tables, step):  # type: ignore[no-untyped-def]
    """Decide on a finding: publish it, submit it to a reader, or reject it."""
    wording = tables.wording_of[step.action]
    step.wording = wording
    step.asserted = most_probable(lab.marginal[compound])
    step.policy = lab.strictness
    step.residual = lab.residual[compound, wording]
    step.gap = step.residual - lab.oracle_energy[compound]
    step.gate_verdict = gate_verdict(lab, compound, wording, tables)
    step.unsupported = tables.gate.numbers and lab.unsupported[compound, wording] != 0
    words = weigh_words(lab, compound, wording, tables, step) if tables.adequacy.enabled else ACCEPT
    plates = lab.experiments[compound]
    step.verdict = combined_verdict(step.gate_verdict, words, plates, tables.gate.enforced)
    lab.verdicts[step.verdict] += 1
    if step.verdict == REJECT:
        reject(lab, step)
    elif step.verdict == REVIEW:
        submit(lab, verb, compound, confidence, tables, step)
    else:
        step.event = PUBLISHED


@inlined
def compared(lab, compound, wording, tables):  # type: ignore[no-untyped-def]
    """Return the gap or the energy of a finding, millionths: what the policy compares with its thresholds."""
    oracle = lab.oracle_energy[compound] if tables.gate.by_gap else 0
    return lab.residual[compound, wording] - oracle


@inlined
def gate_verdict(lab, compound, wording, tables):  # type: ignore[no-untyped-def]
    """Return the gate's own verdict on a finding now; it is at best ``review`` if a number is missing."""
    accept, review = tables.tau_accept[lab.strictness], tables.tau_review[lab.strictness]
    verdict = verdict_on(compared(lab, compound, wording, tables), accept, review)
    if tables.gate.numbers and lab.unsupported[compound, wording] != 0:
        verdict = max(verdict, REVIEW)
    return verdict


@inlined
def submit(lab, verb, compound, confidence, tables, step):  # type: ignore[no-untyped-def]
    """Submit a finding to a reader."""
    step.event = SUBMITTED
    lab.decision_at[compound] = lab.heartbeat + tables.gate.review_heartbeats
    lab.submitted_class[compound] = step.asserted
    lab.submitted_confidence[compound] = confidence
    lab.submitted_verb[compound] = verb
    lab.submitted_licensed[compound] = step.claim <= lab.licence[compound]
    lab.submitted_rule[compound] = step.rule


@compiled
def close_reviews(lab, tables, step):  # type: ignore[no-untyped-def]
    """Decide the reviews that are due: readers approve licensed findings and decline the others."""
    published = step.published_bits
    for m in range(lab.decision_at.shape[0]):
        if lab.decision_at[m] == 0 or lab.heartbeat < lab.decision_at[m]:
            continue
        lab.decision_at[m] = 0
        lab.decided[lab.submitted_licensed[m]] += 1
        step.reviews = True
        if lab.submitted_licensed[m]:
            step.approved |= np.uint64(1) << np.uint64(m)
            finding = Finding(
                lab.submitted_verb[m],
                m,
                lab.submitted_class[m],
                lab.submitted_confidence[m],
                lab.submitted_rule[m],
            )
            if not release(lab, finding, tables, step):
                report_incident(lab, finding.verb, finding.rule, tables, step)
        else:
            step.declined |= np.uint64(1) << np.uint64(m)
            lab.rejected += 1
    step.decided_bits = step.published_bits - published


@inlined
def any_under_review(lab):  # type: ignore[no-untyped-def]
    """Return whether any finding is under review."""
    for m in range(lab.decision_at.shape[0]):
        if lab.decision_at[m] != 0:
            return True
    return False


# -- observation -------------------------------------------------------------------------------

COMPOUND = (
    *(f"gate_margin_{wording}" for wording in WORDINGS),
    *(f"residual_{wording}" for wording in WORDINGS),
    "number_missing",
    "spans",
    "fit_strength",
    "decision_in",
    "under_review_confidence",
    "under_review_publicly",
    "under_review_licensed",
    "under_review_agrees",
)
"""Elements of each compound: possible findings by wording, the page, and the finding under review.

Margin and residual are those of the gap where the policy compares it, otherwise of the energy.
The finding under review agrees if it asserts the class that is now most probable.
"""
THRESHOLDS = ("tau_accept", "tau_review")
MARGIN = 0.1
"""Margins to the threshold are clipped at this energy."""
_STRONGEST = len(STRENGTHS) - 1


@compiled
def observe_gate(lab, tables, out, at):  # type: ignore[no-untyped-def]
    """Write ``COMPOUND`` of each compound, governance and ``THRESHOLDS`` to ``out[at:]``; return the next index."""
    accept, review = tables.tau_accept[lab.strictness], tables.tau_review[lab.strictness]
    for m in range(lab.marginal.shape[0]):
        for wording in range(N_WORDINGS):
            value = compared(lab, m, wording, tables)
            out[at + wording] = max(-1.0, min(1.0, (accept - value) / (MILLION * MARGIN)))
            out[at + N_WORDINGS + wording] = value / MILLION
        at += 2 * N_WORDINGS
        spans = 0
        for dose in range(lab.page.shape[1]):
            spans += lab.page[m, dose] >= 0
        if lab.fit_class[m] >= 0:
            spans += lab.fit_strength[m] + 1
        missing = 1.0
        for wording in range(N_WORDINGS):
            missing = min(missing, lab.unsupported[m, wording])
        out[at] = missing
        out[at + 1] = spans / (lab.page.shape[1] + _STRONGEST + 1)
        out[at + 2] = lab.fit_strength[m] / _STRONGEST
        pending = lab.decision_at[m] != 0
        out[at + 3] = max(0, lab.decision_at[m] - lab.heartbeat) / tables.gate.review_heartbeats
        out[at + 4] = lab.submitted_confidence[m] if pending else 0.0
        out[at + 5] = pending and lab.submitted_verb[m] == PUBLISH_PUBLIC
        out[at + 6] = pending and lab.submitted_licensed[m] != 0
        out[at + 7] = pending and lab.submitted_class[m] == most_probable(lab.marginal[m])
        at += 8
    at = observe_governance(lab, tables, out, at)
    out[at] = accept / MILLION
    out[at + 1] = review / MILLION
    return at + 2


# -- what is told ------------------------------------------------------------------------------

NUMBERS = "numbers"
"""The check for numbers in a finding that occur in no sentence of its page."""
_VERDICTS = np.array((*VERDICTS, None), dtype=object)
_CHECKS = np.array((None, NUMBERS), dtype=object)


def _energy(residual: Any) -> Any:
    return residual / MILLION


def _bits_set(compounds: Any) -> Any:
    return np.int64(np.bitwise_count(compounds))


def info(names: Names) -> tuple[Info, ...]:
    """Report the verdict on a finding with its reasons, and decided reviews."""
    policies = np.array((*(policy.name for policy in names.policies), None), dtype=object)
    return (
        Info("verdict", "verdict", "verdict", NO_VERDICT, _VERDICTS.__getitem__),
        Info("hallucination_energy", "residual", "verdict", NO_VERDICT, _energy),
        Info("energy_gap", "gap", "verdict", NO_VERDICT, _energy),
        Info("policy_applied", "policy", "verdict", NO_VERDICT, policies.__getitem__),
        Info("gate_check", "unsupported", "unsupported", of=_CHECKS.__getitem__),
        Info("reviews_approved", "approved", "reviews", of=_bits_set),
        Info("reviews_declined", "declined", "reviews", of=_bits_set),
    )


COLUMNS = (
    split("verdicts", "findings", VERDICTS),
    Column("reviews_declined", "findings", lambda of: of("decided").astype(np.int64)[:, 0]),
    Column("reviews_approved", "findings", lambda of: of("decided").astype(np.int64)[:, 1]),
)


@dataclasses.dataclass(frozen=True)
class VerdictEvent(LogEvent):
    """A verdict on a finding: its sentence, energy and policy."""

    MAYBE = ("adequacy",)

    verdict: str
    hallucination_energy: float
    energy_gap: float
    policy_applied: str
    event: str
    cycle: int
    timestamp: str
    compound: str
    audience: str
    confidence: float
    claim: str
    wording: str
    checks: tuple[str, ...]
    design_id: str
    adequacy: dict[str, Any] | None = None  # only if adequacy is enabled


@dataclasses.dataclass(frozen=True)
class DecisionEvent(LogEvent):
    """A reader's decision on a finding; ``design_id`` is that of its verdict."""

    event: str
    cycle: int
    compound: str
    audience: str
    status: str
    reviewed_at: str
    reviewed_by: str
    review_notes: str
    design_id: str


def verdict_events(names: Names, step: Any, lab: Any, lab_index: int | None = None) -> list[Any]:
    """Return the events of a step: the verdict on a finding, reviews decided, and published errors.

    ``lab`` is the record after the step; ``lab_index`` identifies the lab of a vector.
    """
    judged = [_verdict_event(names, step, lab, lab_index)] if step["wording"] >= 0 else []
    return [
        *judged,
        *decision_events(names, step, lab, lab_index),
        *incident_events(names, step, lab, lab_index),
    ]


def _verdict_event(names: Names, step: Any, lab: Any, lab_index: int | None) -> VerdictEvent:
    row = names.actions[step["action"]]
    verb, compound, cycle = Verb(row["verb"]), int(row["compound"]), int(step["heartbeat"]) + 1
    wording, asserted = int(step["wording"]), int(step["asserted"])
    return VerdictEvent(
        verdict=VERDICTS[step["verdict"]],
        hallucination_energy=int(step["residual"]) / MILLION,
        energy_gap=int(step["gap"]) / MILLION,
        policy_applied=names.policies[step["policy"]].name,
        event="verdict",
        cycle=cycle,
        timestamp=names.when(step),
        compound=names.compounds[compound],
        audience=VERBS[verb].audience,
        confidence=float(row["confidence"]),
        claim=names.sentences.finding(compound, wording, asserted),
        wording=WORDINGS[wording],
        checks=(NUMBERS,) if step["unsupported"] else (),
        design_id=finding_id(names, step, verb, compound, cycle, lab_index),
        adequacy=_adequacy(names, step, lab["plates"][compound], compound) if step["rule"] >= 0 else None,
    )


def _adequacy(names: Names, step: Any, plates: Any, compound: int) -> dict[str, Any]:
    """Return the score of a finding's words with the source's ``tool_context``; tools are ordered by kind, not time."""
    counts = zip(EXPERIMENTS, plates.tolist(), strict=True)
    types = [VERBS[verb].name for verb, count in counts for _ in range(count)]
    return {
        "score": int(step["adequacy"]),
        "rule": RULES[step["rule"]],
        "gate_verdict": VERDICTS[step["gate_verdict"]],
        "tool_context": {
            "tool_calls": len(types),
            "tool_types": types,
            "has_strong_negative": names.is_strong_negative(
                compound, int(step["wording"]), int(step["asserted"])
            ),
        },
    }


def decision_events(names: Names, step: Any, lab: Any, lab_index: int | None = None) -> list[DecisionEvent]:
    """Return the reviews decided at the end of a heartbeat; ``lab`` is the record after the step."""
    events = []
    beat = int(step["heartbeat"]) + 1
    for compound, name in enumerate(names.compounds):
        approved = bool(int(step["approved"]) >> compound & 1)
        if not approved and not int(step["declined"]) >> compound & 1:
            continue
        verb = Verb(lab["submitted_verb"][compound])
        submitted = beat - names.params.gate.review_heartbeats + 1
        events.append(
            DecisionEvent(
                event="review",
                cycle=beat,
                compound=name,
                audience=VERBS[verb].audience,
                status="approved" if approved else "declined",
                reviewed_at=names.time(int(step["episode"]), beat),
                reviewed_by="reader",
                review_notes="asserted no more than was licensed"
                if approved
                else "asserted more than was licensed",
                design_id=finding_id(names, step, verb, compound, submitted, lab_index),
            )
        )
    return events


MECHANISM = Mechanism(
    name="gate",
    active=lambda params: params.gate.enabled,
    fields=FIELDS,
    step_fields=STEP_FIELDS,
    info=info,
    columns=COLUMNS,
    logs=(
        Log(
            "verdicts",
            "gate_verdicts.jsonl",
            lambda steps: (steps["wording"] >= 0) | steps["reviews"],
            verdict_events,
        ),
    ),
)
