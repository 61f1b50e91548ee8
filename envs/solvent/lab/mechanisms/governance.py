"""Governance: the response of the gate to published errors.

Mechanism. An accepted finding that is wrong is an incident, of severity ``high`` if it was public and ``low`` if it
was private. Each high incident tightens the gate by one policy of its family (P30 > P20 > P10 > P5 > P1). A number of
heartbeats without one relaxes it by one, never past the policy in force at the start.

Known approximation: an incident is known at once. In a real lab an error is discovered later, or never.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from solvent.lab.codes import Event
from solvent.lab.compiled import compiled, inlined
from solvent.lab.mechanism import Column, Field, Info, LogEvent, Mechanism, count
from solvent.lab.names import Names, design_id
from solvent.lab.verbs import VERBS, Verb

GATE_POLICIES = ("adaptive.P30", "adaptive.P20", "adaptive.P10", "adaptive.P5", "adaptive.P1")
"""The gate's policies, laxest first; the number is the share of all claims about a page it accepts, in percent."""
FIXED_POLICIES = ("fixed.editorial", "fixed.standard", "fixed.strict")
"""Policies with absolute thresholds of the energy, laxest first."""
ORACLE_POLICIES = ("oracle.k32", "oracle.k16", "oracle.k8", "oracle.k4", "oracle.k2")
"""Policies relative to the energies of oracles, laxest first; the number is of standard deviations above their mean."""

FAMILIES = (GATE_POLICIES, FIXED_POLICIES, ORACLE_POLICIES)


def family_of(policy: str) -> tuple[str, ...]:
    """Return the policies of the same family, laxest first; governance moves along them."""
    return next(family for family in FAMILIES if policy in family)


def start_level(policy: str) -> int:
    """Return the place of a policy in its family."""
    return family_of(policy).index(policy)


# -- record ------------------------------------------------------------------------------------

FIELDS = (
    Field(
        "strictness", "i1", "", "level", "policy in force; 0 is the laxest",
        lambda params: start_level(params.gate.policy),
    ),
    Field(
        "calm", "i4", "", "heartbeats", "heartbeats since the last published error or change of policy; -1 in its own",
    ),
    Field("incidents", "i4", "2", "findings", "accepted findings that are wrong: private, public"),
    Field("tightenings", "i4", "", "changes", "times the gate was tightened"),
    Field(
        "correction", "i1", "", "correction",
        "correction in force after a published error; -1 for none", -1,
    ),
)  # fmt: skip

STEP_FIELDS = (
    Field("incident", "u1", "", "findings", "public errors of this step"),
    Field("strictness", "i1", "", "level", "policy in force after the step"),
    Field("policy_changed", "b1", "", "flag", "the policy changed"),
    Field("correction", "i1", "", "correction", "correction in force after the step; -1 for none", -1),
    Field("corrected", "b1", "", "flag", "the correction was given in this step"),
)

# -- rules -------------------------------------------------------------------------------------


@inlined
def tightened(level, strictest):  # type: ignore[no-untyped-def]
    """Return the policy after a high incident; 0 is the laxest."""
    return min(level + 1, strictest)


@inlined
def relaxed(level, start, calm, patience):  # type: ignore[no-untyped-def]
    """Return the policy after ``calm`` heartbeats without a high incident."""
    return level - 1 if level > start and calm >= patience else level


# -- effects -----------------------------------------------------------------------------------

PUBLISHED, PUBLISH_PUBLIC = int(Event.PUBLISHED), int(Verb.PUBLISH_PUBLIC)


@inlined
def remember_governance(lab, step):  # type: ignore[no-untyped-def]
    """Record in ``step`` the policy and correction in force before the action."""
    step.strictness = lab.strictness
    step.correction = lab.correction


@compiled
def report_incident(lab, verb, rule, tables, step):  # type: ignore[no-untyped-def]
    """Record a published error. If it was public, tighten the gate and correct the agent.

    ``rule`` is the rule of adequacy that fired on the finding.
    """
    if verb != PUBLISH_PUBLIC:
        lab.incidents[0] += 1
        return
    lab.incidents[1] += 1
    step.incident += 1
    if tables.gate.governance:
        level = tightened(lab.strictness, tables.gate.strictest)
        lab.tightenings += level != lab.strictness
        lab.strictness = level
        lab.calm = -1  # close_governance makes it 0: this heartbeat doesn't count
    if tables.adequacy.enforced:
        lab.correction = tables.rule_correction[rule]
        lab.calm = -1


@inlined
def close_governance(lab, tables):  # type: ignore[no-untyped-def]
    """Count a heartbeat without a published error; relax the gate and end the correction when due."""
    rules = tables.gate
    lab.calm += 1
    if lab.calm >= rules.calm_heartbeats:
        lab.correction = -1
    if rules.governance:
        level = relaxed(lab.strictness, rules.policy, lab.calm, rules.calm_heartbeats)
        if level != lab.strictness:
            lab.strictness = level
            lab.calm = 0


@inlined
def show_governance(lab, step):  # type: ignore[no-untyped-def]
    """Record in ``step`` the policy and correction after it, and whether they changed."""
    step.policy_changed = lab.strictness != step.strictness
    step.corrected = lab.correction >= 0 and (step.incident != 0 or lab.correction != step.correction)
    step.strictness = lab.strictness
    step.correction = lab.correction


# -- observation -------------------------------------------------------------------------------

OBSERVED = ("strictness", "calm")


@inlined
def observe_governance(lab, tables, out, at):  # type: ignore[no-untyped-def]
    """Write ``OBSERVED`` to ``out[at:]``; return the next index."""
    out[at] = lab.strictness / tables.gate.strictest
    out[at + 1] = min(1.0, lab.calm / tables.gate.calm_heartbeats)
    return at + 2


# -- what is told ------------------------------------------------------------------------------


def info(names: Names) -> tuple[Info, ...]:
    """Report a changed policy and a new correction."""
    texts = np.array((*(correction.text for correction in names.corrections), None), dtype=object)
    changed = Info("strictness", "strictness", "policy_changed", of=np.int64)
    told = Info("correction", "correction", "corrected", of=texts.__getitem__)
    return (changed, told) if names.corrections else (changed,)


COLUMNS = (
    Column("incidents_low", "findings", lambda of: of("incidents").astype(np.int64)[:, 0]),
    Column("incidents_high", "findings", lambda of: of("incidents").astype(np.int64)[:, 1]),
    count("tightenings", "changes"),
    count("strictness", "level"),
)


@dataclasses.dataclass(frozen=True)
class IncidentEvent(LogEvent):
    """A published error; ``design_id`` is that of its verdict."""

    MAYBE = ("correction",)

    event: str
    cycle: int
    timestamp: str
    compound: str
    audience: str
    severity: str
    design_id: str
    correction: str | None = None


def finding_id(names: Names, step: Any, verb: Verb, compound: int, cycle: int, lab_index: int | None) -> str:
    """Return the identifier of a finding: audience, compound, and time of submission."""
    name = names.compounds[compound].replace(" ", "-")
    return design_id(f"{VERBS[verb].name}_{name}_{int(step['episode']):03d}", cycle, lab_index)


def incident_events(names: Names, step: Any, lab: Any, lab_index: int | None = None) -> list[IncidentEvent]:
    """Return the published errors of a step: the finding it accepted, and those approved at its end."""
    row, beat = names.actions[step["action"]], int(step["heartbeat"]) + 1
    wrong = []
    if step["event"] == Event.PUBLISHED and not step["right"]:
        wrong.append((int(row["compound"]), Verb(row["verb"]), beat, beat - 1, int(step["rule"])))
    submitted = beat - names.params.gate.review_heartbeats + 1
    for compound in range(len(names.compounds)):
        approved = int(step["approved"]) >> compound & 1
        if approved and lab["submitted_class"][compound] != lab["potency"][compound]:
            rule = int(lab["submitted_rule"][compound])
            wrong.append((compound, Verb(lab["submitted_verb"][compound]), submitted, beat, rule))
    return [
        IncidentEvent(
            event="incident",
            cycle=beat,
            timestamp=names.time(int(step["episode"]), when),
            compound=names.compounds[compound],
            audience=VERBS[verb].audience,
            severity="high" if verb is Verb.PUBLISH_PUBLIC else "low",
            design_id=finding_id(names, step, verb, compound, cycle, lab_index),
            correction=names.correction_of(rule) if verb is Verb.PUBLISH_PUBLIC else None,
        )
        for compound, verb, cycle, when, rule in wrong
    ]


MECHANISM = Mechanism(
    name="governance",
    active=lambda params: params.gate.enabled,
    fields=FIELDS,
    step_fields=STEP_FIELDS,
    info=info,
    columns=COLUMNS,
)
