"""Records that outlive a step: refusals, deferrals, proposals and reviews, verdicts of the gate and what came of them.

The fields of ``RefusalEvent`` are those of *Epistemic Debt Enforcement* ("Refusal Log Format"), those of
``DiscomfortEvent`` and ``ProposalEvent`` those of *Action Cost: The Energy Model* ("Schema"), in their order. The
first four of a ``VerdictEvent`` are the gate's answer in *Deterministic Policy Gates for Stochastic Systems* ("What
This System Actually Does"). No event of a finding says whether it is true, but for the ``IncidentEvent`` of a published
error, which is known at once in this lab.
"""

from __future__ import annotations

import datetime
from dataclasses import asdict, dataclass
from typing import Any

from solvent.lab.actions import EXPERIMENTS, VERBS, Verb, action_table
from solvent.lab.mechanisms.adequacy import RULES
from solvent.lab.mechanisms.energy import UNIT
from solvent.lab.mechanisms.gate import MILLION, WORDINGS
from solvent.lab.mechanisms.proposals import confidence
from solvent.lab.params import LabParams
from solvent.lab.state import Deferral, Event, Obstacle, Refusal, Verdict
from solvent.lab.tables import tables_for
from solvent.lab.words.sentences import corrections_of, is_strong_negative, policy_names, sentences_of

__all__ = [
    "DEFERRAL_REASONS",
    "NUMBERS",
    "OBSTACLES",
    "REFUSAL_REASONS",
    "VERDICTS",
    "DecisionEvent",
    "DiscomfortEvent",
    "IncidentEvent",
    "ProposalEvent",
    "RefusalEvent",
    "ReviewEvent",
    "VerdictEvent",
    "decision_events",
    "discomfort_event",
    "incident_events",
    "lab_time",
    "proposal_event",
    "refusal_event",
    "review_events",
    "verdict_event",
]

REFUSAL_REASONS = tuple(reason.name.lower() for reason in Refusal if reason is not Refusal.NONE)
"""Reasons of refusal as they are logged, in the order in which they are tried."""

OBSTACLES = tuple(obstacle.name.lower() for obstacle in Obstacle)
"""What stands against an action that debt allows, by code."""

DEFERRAL_REASONS = tuple(deferral.name.lower() for deferral in Deferral)
"""Why something worth doing was put off, by code."""

VERDICTS = tuple(verdict.name.lower() for verdict in Verdict if verdict is not Verdict.NONE)
"""What the gate says of a finding, by code."""

NUMBERS = "numbers"
"""The gate's check that fires in the lab: a number of the finding stands in no sentence of its page."""

_FIRST_DAY = datetime.datetime(2025, 1, 1, tzinfo=datetime.UTC)
_DAYS = 2_900_000  # dates end with the year 9999; a lab that plays on begins its calendar again


@dataclass(frozen=True)
class RefusalEvent:
    """A lasting record that an action was refused because epistemic debt made it unaffordable or forbade it."""

    cycle: int
    timestamp: str
    refusal_reason: str
    proposed_template: str
    proposed_hypothesis: str
    proposed_wells: int
    debt_bits: float
    base_cost_wells: int
    inflated_cost_wells: float
    budget_remaining: int
    debt_threshold: float
    blocked_by_cost: bool
    blocked_by_threshold: bool
    design_id: str

    def to_dict(self) -> dict[str, Any]:
        """The fields in the document's order."""
        return asdict(self)


@dataclass(frozen=True)
class DiscomfortEvent:
    """Something worth doing was put off: a row of ``cost_discomfort_log``. Energies are units, values are bits."""

    heartbeat_number: int
    action_considered: str
    estimated_value: float
    energy_cost: float
    energy_available: float
    deferral_reason: str
    agent_notes: str
    similar_deferrals_recent: int
    created_at: str
    design_id: str

    def to_dict(self) -> dict[str, Any]:
        """The fields in the document's order."""
        return asdict(self)


@dataclass(frozen=True)
class ProposalEvent:
    """An argument for another cost: a row of ``energy_cost_proposals`` as it is filed. Costs are units of energy."""

    target_type: str
    target_name: str
    current_cost: float
    suggested_min: float
    suggested_max: float
    direction: str
    rationale: str
    confidence: float
    evidence: tuple[dict[str, str], ...]
    heartbeat_refs: tuple[int, ...]
    memory_refs: tuple[str, ...]
    status: str
    created_at: str
    design_id: str

    def to_dict(self) -> dict[str, Any]:
        """The fields in the document's order."""
        return asdict(self)


@dataclass(frozen=True)
class ReviewEvent:
    """How a proposal was decided; ``design_id`` is the proposal's. Only an approval has costs and a time of effect."""

    target_type: str
    target_name: str
    status: str
    reviewed_at: str
    reviewed_by: str
    review_notes: str
    old_cost: float | None
    new_cost: float | None
    effective_at: str | None
    design_id: str

    def to_dict(self) -> dict[str, Any]:
        """The fields in the document's order."""
        return asdict(self)


@dataclass(frozen=True)
class VerdictEvent:
    """What the gate said of a finding: the very sentence, how far its page explains it, and by which policy."""

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
    adequacy: dict[str, Any] | None = None  # where words are held against their evidence

    def to_dict(self) -> dict[str, Any]:
        """The fields, the document's first."""
        fields = asdict(self)
        if self.adequacy is None:
            del fields["adequacy"]
        return fields


@dataclass(frozen=True)
class DecisionEvent:
    """How a reader decided a finding under review; ``design_id`` is that of its verdict."""

    event: str
    cycle: int
    compound: str
    audience: str
    status: str
    reviewed_at: str
    reviewed_by: str
    review_notes: str
    design_id: str

    def to_dict(self) -> dict[str, Any]:
        """The fields in their order."""
        return asdict(self)


@dataclass(frozen=True)
class IncidentEvent:
    """A finding that is out is wrong; ``design_id`` is that of its verdict."""

    event: str
    cycle: int
    timestamp: str
    compound: str
    audience: str
    severity: str
    design_id: str
    correction: str | None = None  # what the agent is told from then on

    def to_dict(self) -> dict[str, Any]:
        """The fields in their order."""
        fields = asdict(self)
        if self.correction is None:
            del fields["correction"]
        return fields


def lab_time(params: LabParams, episode: int, heartbeat: int) -> str:
    """The lab's clock: ISO 8601, UTC. A heartbeat is an hour; each episode starts on a day of its own."""
    days_an_episode = -(-(params.budget.start_hour + params.budget.heartbeats) // 24)
    moment = _FIRST_DAY + datetime.timedelta(
        days=episode * days_an_episode % _DAYS, hours=params.budget.start_hour + heartbeat
    )
    return moment.strftime("%Y-%m-%dT%H:%M:%S.000Z")


def _hypothesis(params: LabParams, verb: Verb, compound: int, row: Any) -> str:
    if compound < 0:
        return "The vehicle wells show the state of the instrument"
    name = params.assay.compounds[compound]
    if verb in (Verb.PUBLISH_PRIVATE, Verb.PUBLISH_PUBLIC):
        return f"The most probable potency class of {name} is right with probability {row['confidence']:g}"
    return (
        f"{name} changes A549 viability with its dose; this plate tells {row['claim']:g} bits about its EC50"
    )


def refusal_event(params: LabParams, step: Any, lab_index: int | None = None) -> RefusalEvent:
    """The event of a step record whose action was refused; ``lab_index`` marks the lab of a vector."""
    row = action_table(params)[step["action"]]
    verb, compound = Verb(row["verb"]), int(row["compound"])
    template = verb.name.lower()
    cycle = int(step["heartbeat"]) + 1
    subject = f"_{params.assay.compounds[compound].replace(' ', '-')}" if compound >= 0 else ""
    plate = getattr(params.plates, template, None)
    base_wells = plate.wells if plate is not None else 0
    return RefusalEvent(
        cycle=cycle,
        timestamp=lab_time(params, int(step["episode"]), cycle - 1),
        refusal_reason=Refusal(step["refusal"]).name.lower(),
        proposed_template=template,
        proposed_hypothesis=_hypothesis(params, verb, compound, row),
        proposed_wells=base_wells,
        debt_bits=float(step["debt_before"]),
        base_cost_wells=base_wells,
        inflated_cost_wells=float(step["inflated_cost"]),
        budget_remaining=int(step["wells_before"]),
        debt_threshold=params.debt.threshold,
        blocked_by_cost=bool(step["blocked_by_cost"]),
        blocked_by_threshold=bool(step["blocked_by_threshold"]),
        design_id=_design(f"{template}{subject}", cycle, lab_index),
    )


def _design(subject: str, cycle: int, lab_index: int | None) -> str:
    lab = "" if lab_index is None else f"_lab{lab_index}"
    return f"{subject}_{cycle:03d}{lab}"


def discomfort_event(params: LabParams, step: Any, lab_index: int | None = None) -> DiscomfortEvent:
    """The event of a step record with a deferral; ``lab_index`` marks the lab of a vector."""
    hoarded = step["discomfort"] == Deferral.HOARDING
    name = VERBS[Verb(step["deferred_verb"])].name
    cycle = int(step["heartbeat"]) + 1
    return DiscomfortEvent(
        heartbeat_number=cycle,
        action_considered=name,
        estimated_value=float(step["deferred_value"]),
        energy_cost=float(step["deferred_cost"]) / UNIT,
        energy_available=float(step["energy_before"]) / UNIT,
        deferral_reason=DEFERRAL_REASONS[step["discomfort"]],
        agent_notes="rested at the cap with a licensed finding at hand"
        if hoarded
        else "chosen, and too dear",
        similar_deferrals_recent=int(step["similar_deferrals"]),
        created_at=lab_time(params, int(step["episode"]), cycle - 1),
        design_id=_design(f"{name}_{int(step['episode']):03d}", cycle, lab_index),
    )


def proposal_event(params: LabParams, step: Any, lab_index: int | None = None) -> ProposalEvent:
    """The event of a step record that filed a proposal."""
    name = VERBS[Verb(step["proposed_verb"])].name
    cycle, heartbeats = int(step["heartbeat"]) + 1, int(step["similar_deferrals"])
    refs = tuple(int(beat) + 1 for beat in step["evidence"] if beat >= 0)
    return ProposalEvent(
        target_type="action",
        target_name=name,
        current_cost=float(step["proposed_price"]) / UNIT,
        suggested_min=float(step["proposed_low"]) / UNIT,
        suggested_max=float(step["proposed_high"]) / UNIT,
        direction="decrease",
        rationale=f"{name} was worth its while and deferred for want of energy in {heartbeats} heartbeats",
        confidence=confidence(heartbeats),
        evidence=tuple(
            {"source": f"heartbeat_{ref}", "summary": f"deferred {name}, insufficient energy"} for ref in refs
        ),
        heartbeat_refs=refs,
        memory_refs=(),
        status="pending",
        created_at=lab_time(params, int(step["episode"]), cycle - 1),
        design_id=_design(f"{name}_{int(step['episode']):03d}", cycle, lab_index),
    )


def review_events(params: LabParams, step: Any, lab_index: int | None = None) -> list[ReviewEvent]:
    """The decisions that fell as a step closed its heartbeat."""
    beat = int(step["heartbeat"]) + 1
    when = lab_time(params, int(step["episode"]), beat)
    events = []
    for verb in Verb:
        if not step["reviewed"][verb]:
            continue
        name = VERBS[verb].name
        old, new = float(step["old_price"][verb]) / UNIT, float(step["new_price"][verb]) / UNIT
        approved = new != old
        filed = beat - params.proposals.review_heartbeats + 1
        events.append(
            ReviewEvent(
                target_type="action",
                target_name=name,
                status="approved" if approved else "rejected",
                reviewed_at=when,
                reviewed_by="system",
                review_notes="by what was paid for" if approved else "not borne out by what was paid for",
                old_cost=old if approved else None,
                new_cost=new if approved else None,
                effective_at=when if approved else None,
                design_id=_design(f"{name}_{int(step['episode']):03d}", filed, lab_index),
            )
        )
    return events


# -- the gate


def verdict_event(params: LabParams, step: Any, lab: Any, lab_index: int | None = None) -> VerdictEvent:
    """The event of a step record whose finding was judged, of the ``lab`` that it left.

    ``lab_index`` marks the lab of a vector.
    """
    row = action_table(params)[step["action"]]
    compound, cycle = int(row["compound"]), int(step["heartbeat"]) + 1
    energy = int(step["residual"]) / MILLION
    wording = int(step["wording"])
    claim = sentences_of(params).finding(compound, wording, int(step["asserted"]))
    return VerdictEvent(
        verdict=VERDICTS[step["verdict"]],
        hallucination_energy=energy,
        energy_gap=energy,
        policy_applied=policy_names(params)[step["policy"]],
        event="verdict",
        cycle=cycle,
        timestamp=lab_time(params, int(step["episode"]), cycle - 1),
        compound=params.assay.compounds[compound],
        audience=VERBS[Verb(row["verb"])].audience,
        confidence=float(row["confidence"]),
        claim=claim,
        wording=WORDINGS[wording],
        checks=(NUMBERS,) if step["unsupported"] else (),
        design_id=_finding_id(params, step, Verb(row["verb"]), compound, cycle, lab_index),
        adequacy=_adequacy(step, lab["plates"][compound], claim) if params.adequacy.enabled else None,
    )


def _adequacy(step: Any, plates: Any, sentence: str) -> dict[str, Any]:
    """The score of a finding's words, and the source's ``tool_context`` of it; tools by kind, not by time."""
    counts = zip(EXPERIMENTS, plates.tolist(), strict=True)
    types = [VERBS[verb].name for verb, count in counts for _ in range(count)]
    return {
        "score": int(step["adequacy"]),
        "rule": RULES[step["rule"]],
        "gate_verdict": VERDICTS[step["gate_verdict"]],
        "tool_context": {
            "tool_calls": len(types),
            "tool_types": types,
            "has_strong_negative": is_strong_negative(sentence),
        },
    }


def _finding_id(
    params: LabParams, step: Any, verb: Verb, compound: int, cycle: int, lab_index: int | None
) -> str:
    name = params.assay.compounds[compound].replace(" ", "-")
    return _design(f"{VERBS[verb].name}_{name}_{int(step['episode']):03d}", cycle, lab_index)


def decision_events(
    params: LabParams, step: Any, lab: Any, lab_index: int | None = None
) -> list[DecisionEvent]:
    """The reviews that were decided as a step closed its heartbeat; ``lab`` is the record that it left."""
    events = []
    beat = int(step["heartbeat"]) + 1
    for compound, name in enumerate(params.assay.compounds):
        approved = bool(int(step["approved"]) >> compound & 1)
        if not approved and not int(step["declined"]) >> compound & 1:
            continue
        verb, submitted = Verb(lab["submitted_verb"][compound]), beat - params.gate.review_heartbeats + 1
        events.append(
            DecisionEvent(
                event="review",
                cycle=beat,
                compound=name,
                audience=VERBS[verb].audience,
                status="approved" if approved else "declined",
                reviewed_at=lab_time(params, int(step["episode"]), beat),
                reviewed_by="reader",
                review_notes="asserted no more than was licensed"
                if approved
                else "asserted more than was licensed",
                design_id=_finding_id(params, step, verb, compound, submitted, lab_index),
            )
        )
    return events


def incident_events(
    params: LabParams, step: Any, lab: Any, lab_index: int | None = None
) -> list[IncidentEvent]:
    """The published errors of a step: of the finding it accepted, and of those that readers approved at its end."""
    row, beat = action_table(params)[step["action"]], int(step["heartbeat"]) + 1
    wrong = []
    if step["event"] == Event.PUBLISHED and not step["right"]:
        wrong.append((int(row["compound"]), Verb(row["verb"]), beat, beat - 1, int(step["rule"])))
    submitted = beat - params.gate.review_heartbeats + 1
    for compound in range(len(params.assay.compounds)):
        approved = int(step["approved"]) >> compound & 1
        if approved and lab["submitted_class"][compound] != lab["potency"][compound]:
            rule = int(lab["submitted_rule"][compound])
            wrong.append((compound, Verb(lab["submitted_verb"][compound]), submitted, beat, rule))
    return [
        IncidentEvent(
            event="incident",
            cycle=beat,
            timestamp=lab_time(params, int(step["episode"]), when),
            compound=params.assay.compounds[compound],
            audience=VERBS[verb].audience,
            severity="high" if verb is Verb.PUBLISH_PUBLIC else "low",
            design_id=_finding_id(params, step, verb, compound, cycle, lab_index),
            correction=_told(params, rule) if verb is Verb.PUBLISH_PUBLIC else None,
        )
        for compound, verb, cycle, when, rule in wrong
    ]


def _told(params: LabParams, rule: int) -> str | None:
    """What the agent is told after an error under a rule of adequacy; None where that is not enforced."""
    adequacy = params.adequacy
    if not (adequacy.enabled and adequacy.enforced):
        return None
    tables: Any = tables_for(params)
    text: str = corrections_of(params)[tables.rule_correction[rule]].text
    return text
