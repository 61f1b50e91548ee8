"""The whole lab as one NumPy record.

Letters: ``M`` compounds, ``G`` potency classes, ``N`` instrument states, ``R`` most readouts of a plate, ``V`` verbs,
``I`` intent classes, ``D`` doses, ``W`` wordings. Energy is counted in whole thousandths, a residual in whole
millionths. A vector of labs is an array of these records, a single lab is an array of one. ``LAB_FIELDS`` says of
every field its shape, its unit and its meaning; ``STEP_FIELDS`` does so for what one step reports.

Known approximation: ``conditional`` is stored as float32 (all arithmetic is float64), which keeps a lab under
8 KB and halves the memory traffic of a step; entropies are exact to about 1e-6 bits.
"""

from __future__ import annotations

import enum
import functools
from typing import NamedTuple

import numpy as np

from solvent.lab.actions import INTENTS, Verb
from solvent.lab.mechanisms.gate import WORDINGS
from solvent.lab.params import LabParams

__all__ = [
    "LAB_FIELDS",
    "STEP_FIELDS",
    "Deferral",
    "EndReason",
    "Event",
    "Field",
    "Obstacle",
    "Refusal",
    "Verdict",
    "lab_dtype",
    "step_dtype",
]


class Event(enum.IntEnum):
    """What the last action was, as the agent sees it."""

    STARTED = 0
    RESTED = 1
    CALIBRATED = 2
    EXPLORED = 3
    PUBLISHED = 4
    REJECTED = 5
    REFUSED = 6
    NOT_EXECUTED = 7
    REFLECTED = 8
    PROPOSED = 9
    DEFERRED = 10
    SUBMITTED = 11


class Refusal(enum.IntEnum):
    """Why an action was refused; the members' order is the order in which the reasons are tried."""

    NONE = 0
    EPISTEMIC_DEBT_ACTION_BLOCKED = 1
    EPISTEMIC_DEBT_BUDGET_EXCEEDED = 2
    INSUFFICIENT_BUDGET_FOR_EPISTEMIC_RECOVERY = 3


class Obstacle(enum.IntEnum):
    """Why an action was not executed though no debt forbade it.

    They are tried in this order, but for the last, which is tried beside ``ALREADY_PUBLISHED``.
    """

    NONE = 0
    CONTEXT_NOT_ALLOWED = 1
    ALREADY_PUBLISHED = 2
    NO_REFLECTION = 3
    NO_EVIDENCE = 4
    INSUFFICIENT_ENERGY = 5
    UNDER_REVIEW = 6


class Deferral(enum.IntEnum):
    """Why something worth doing was put off, by the source document's reasons.

    ``cost_benefit`` is for who keeps books of its own: what an agent thought is not seen here.
    """

    NONE = 0
    INSUFFICIENT_ENERGY = 1
    COST_BENEFIT = 2
    HOARDING = 3


class Verdict(enum.IntEnum):
    """What gate and adequacy say of a finding."""

    ACCEPT = 0
    REVIEW = 1
    REJECT = 2
    NONE = 3


class EndReason(enum.IntEnum):
    """Why an episode ended."""

    RUNNING = 0
    HORIZON = 1
    EXHAUSTED = 2
    BANKRUPT = 3
    TERMINATED_BY_AGENT = 4


class Field(NamedTuple):
    """One field of a record: shape in the letters above, unit, meaning."""

    name: str
    kind: str
    shape: str
    unit: str
    doc: str


LAB_FIELDS = (
    # Where in its random stream the lab is.
    Field("key", "u8", "", "1", "Philox key, from the seed"),
    Field("episode", "u4", "", "episodes", "episodes begun with this key"),
    Field("heartbeat", "i4", "", "heartbeats", "heartbeats gone by"),
    # The hidden truth.
    Field("potency", "i1", "M", "class", "hidden potency class"),
    Field("instrument", "i2", "", "state", "hidden instrument state of this lot"),
    # Belief.
    Field("instrument_belief", "f8", "N", "probability", "p(instrument)"),
    Field("instrument_entropy", "f8", "", "bits", "entropy of p(instrument)"),
    Field("conditional", "f4", "M,N,G", "probability", "p(class | instrument), a row for each instrument"),
    Field("marginal", "f8", "M,G", "probability", "p(class)"),
    Field("entropy", "f8", "M", "bits", "entropy of p(class)"),
    Field("lowest_entropy", "f8", "M", "bits", "lowest entropy reached so far"),
    Field("coupled", "u1", "M", "flag", "run in this lot: the belief depends on the instrument"),
    # Books.
    Field("wells", "i4", "", "wells", "wells left"),
    Field("debt", "f8", "", "bits", "epistemic debt"),
    Field("licence", "f8", "M", "bits", "information that was claimed and gained"),
    Field("experiments", "i4", "M", "plates", "experiments run on the compound"),
    Field("published", "i1", "M", "code", "0 not published, 1 privately, 2 publicly"),
    # The last heartbeat, for the observation and for the eye.
    Field("last_event", "u1", "", "Event", "what the last action was"),
    Field("last_action", "i4", "", "index", "last action; -1 at the start"),
    Field("last_bins", "i1", "R", "bin", "readouts of the last plate; -1 where there is none"),
    # Tallies of the episode.
    Field("score", "f8", "", "bits", "sum of rewards"),
    Field("published_bits", "f8", "", "bits", "sum of log scores paid"),
    Field("settled", "f8", "", "bits", "debt settled from the score"),
    Field("settled_at_end", "f8", "", "bits", "of it, when the episode ended"),
    Field("debt_added", "f8", "", "bits", "debt taken on"),
    Field("debt_repaid", "f8", "", "bits", "debt repaid or forgiven"),
    Field("debt_at_start", "f8", "", "bits", "debt carried over from the episode before"),
    Field("debt_peak", "f8", "", "bits", "highest debt"),
    Field("claimed", "f8", "", "bits", "sum of claims"),
    Field("gained", "f8", "", "bits", "sum of realised gains of explorations"),
    Field("wells_spent", "i4", "", "wells", "wells charged"),
    Field("accepted", "i4", "", "findings", "findings accepted"),
    Field("wrong", "i4", "", "findings", "accepted findings that are wrong"),
    Field("rejected", "i4", "", "findings", "findings rejected"),
    Field("not_executed", "i4", "", "actions", "actions that could not run for another reason than debt"),
    Field("refusals", "i2", "3", "refusals", "refusals by reason, in the order of Refusal"),
    Field("refusals_in_a_row", "i2", "", "refusals", "refusals since the last action that ran"),
    Field("calibrations", "i4", "", "plates", "calibrations run"),
    Field("bankruptcies", "i2", "", "resets", "bankruptcies that were reset"),
    Field("beats_over_threshold", "i2", "", "heartbeats", "heartbeats that ended above the threshold"),
    Field("streak_over_threshold", "i2", "", "heartbeats", "the current run of those"),
    Field("longest_streak", "i2", "", "heartbeats", "the longest run of those"),
    Field("steps", "i4", "", "actions", "actions taken"),
    Field("slot", "u1", "", "actions", "actions taken in this heartbeat"),
    Field("end_reason", "u1", "", "EndReason", "why the episode ended; 0 while it runs"),
    # Energy. Nothing of it changes where energy is not enabled, and it comes last so that the rest lies close together.
    Field("energy", "i4", "", "1/1000", "energy left"),
    Field("price", "i4", "V", "1/1000", "base cost of each verb"),
    Field("fair", "i4", "V", "1/1000", "hidden fair base cost of each verb"),
    Field("uses", "i4", "V", "uses", "executions of each verb"),
    Field("failures", "u1", "V", "bits", "the last four uses of each verb, a bit each: refused or rejected"),
    Field(
        "done", "u1", "V,M", "flag", "executed in this heartbeat, by verb and compound (column 0 for none)"
    ),
    Field("intents", "i4", "I", "1/1000", "energy of this heartbeat, by intent class"),
    Field("intents_shown", "i4", "I", "1/1000", "the summary that was shown last, by closing or reflection"),
    Field("reflected", "u1", "", "flag", "the last action of this heartbeat was a reflection"),
    Field("discomfort", "i2", "V", "heartbeats", "heartbeats with a deferral since the last proposal"),
    Field("discomfort_at", "i2", "V,4", "heartbeats", "the latest of them, latest first; -1 for none"),
    Field("review_at", "i4", "V", "heartbeats", "when the pending proposal is reviewed; 0 for none"),
    Field("argued", "i2", "V", "heartbeats", "evidence of the pending proposal"),
    Field("range_low", "i4", "V", "1/1000", "lowest price that the pending proposal suggests"),
    Field("range_high", "i4", "V", "1/1000", "highest price that the pending proposal suggests"),
    Field("energy_income", "i8", "", "1/1000", "regenerated, what the cap lost included"),
    Field("energy_lost", "i8", "", "1/1000", "of it, lost above the cap"),
    Field("energy_spent", "i8", "", "1/1000", "spent"),
    Field("intents_total", "i8", "I", "1/1000", "of it, by intent class"),
    Field("deferrals", "i4", "", "actions", "not executed for want of energy"),
    Field("discomforts", "i4", "", "deferrals", "of them, worth taking and the verb's first in a heartbeat"),
    Field("out_of_context", "i4", "", "actions", "not executed for their context"),
    Field("hoardings", "i4", "", "rests", "rests at the cap with a licensed finding at hand"),
    Field("reflections", "i4", "", "actions", "reflections"),
    Field("proposals", "i4", "", "proposals", "proposals filed"),
    Field("approvals", "i4", "", "proposals", "proposals approved"),
    # The gate, likewise last and unchanged where it is not enabled.
    Field("page", "i1", "M,D", "bin", "the latest readout at each dose; -1 for none"),
    Field("fit_class", "i1", "M", "class", "the class that the latest fit names; -1 for no fit"),
    Field("fit_strength", "i1", "M", "STRENGTHS", "how good that fit is"),
    Field("named", "i1", "M", "class", "the class that a finding would name, for which it was measured"),
    Field("residual", "i4", "M,W", "1/1000000", "hallucination energy of that finding, by wording"),
    Field("unsupported", "u1", "M,W", "flag", "a number of that finding stands in no evidence"),
    Field("decision_at", "i4", "M", "heartbeats", "when the finding under review is decided; 0 for none"),
    Field("submitted_class", "i1", "M", "class", "what it asserts"),
    Field("submitted_confidence", "f8", "M", "probability", "how confidently"),
    Field("submitted_verb", "i1", "M", "Verb", "to whom"),
    Field("submitted_licensed", "u1", "M", "flag", "it asserted no more than was licensed"),
    Field("strictness", "i1", "", "level", "the policy in force; 0 is the laxest"),
    Field("calm", "i4", "", "heartbeats", "since the last published error or change of policy"),
    Field("verdicts", "i4", "3", "findings", "the gate's verdicts, in the order of Verdict"),
    Field("decided", "i4", "2", "findings", "reviews that were declined, and approved"),
    Field("incidents", "i4", "2", "findings", "accepted findings that are wrong: to one reader, to all"),
    Field("tightenings", "i4", "", "changes", "times the gate was tightened"),
    # Adequacy, likewise.
    Field("plates", "i2", "M,2", "plates", "experiments run on the compound: screens, dose responses"),
    Field("submitted_rule", "i1", "M", "RULES", "of adequacy, on the words of the finding under review"),
    Field(
        "correction", "i1", "", "correction", "what the agent is told after a published error; -1 for nothing"
    ),
    Field("scores", "i4", "4", "findings", "findings whose words scored 0 to 3"),
)

STEP_FIELDS = (
    Field("action", "i4", "", "index", "the action taken"),
    Field("heartbeat", "i4", "", "heartbeats", "when it was taken"),
    Field("episode", "u4", "", "episodes", "episode in which it was taken"),
    Field("executed", "b1", "", "flag", "it ran"),
    Field("event", "u1", "", "Event", "what the action was"),
    Field("refusal", "u1", "", "Refusal", "why it was refused"),
    Field("blocked_by_threshold", "b1", "", "flag", "debt above the threshold, and no calibration"),
    Field("blocked_by_cost", "b1", "", "flag", "inflated cost above the wells left"),
    Field("blocked_by_reserve", "b1", "", "flag", "too little would be left for a calibration"),
    Field("debt_before", "f8", "", "bits", "debt when it was decided"),
    Field("wells_before", "i4", "", "wells", "wells left when it was decided"),
    Field("inflated_cost", "f8", "", "wells", "cost after inflation, not rounded"),
    Field("wells_charged", "i4", "", "wells", "wells really charged"),
    Field("claim", "f8", "", "bits", "claimed, by an exploration or a finding"),
    Field("gain", "f8", "", "bits", "realised: about the compound, or about the instrument"),
    Field("debt_added", "f8", "", "bits", "new debt"),
    Field("debt_repaid", "f8", "", "bits", "debt repaid by the action or forgiven by time"),
    Field("licence_added", "f8", "", "bits", "licence bought"),
    Field("published_bits", "f8", "", "bits", "log score paid"),
    Field("right", "b1", "", "flag", "the finding that was accepted is right"),
    Field("settled", "f8", "", "bits", "debt settled from the score"),
    Field("terminated", "b1", "", "flag", "the episode is over"),
    Field("truncated", "b1", "", "flag", "the horizon is reached"),
    Field("slot", "u1", "", "actions", "actions taken before it in the heartbeat"),
    Field("closed", "b1", "", "flag", "it ended the heartbeat"),
    Field("obstacle", "u1", "", "Obstacle", "why it was not executed"),
    Field("energy_before", "i4", "", "1/1000", "energy when it was decided"),
    Field("energy_cost", "i4", "", "1/1000", "effective cost"),
    Field("energy_spent", "i4", "", "1/1000", "energy spent"),
    Field("energy_gained", "i4", "", "1/1000", "regenerated by the heartbeat's end, less what the cap lost"),
    Field("intents", "i4", "I", "1/1000", "the summary of the heartbeat that it closed"),
    Field(
        "discomfort", "u1", "", "Deferral", "something worth doing was put off, and why: it goes on record"
    ),
    Field("deferred_verb", "i1", "", "Verb", "what was put off"),
    Field("deferred_cost", "i4", "", "1/1000", "what it would have cost"),
    Field("deferred_value", "f8", "", "bits", "what it was expected to be worth"),
    Field("similar_deferrals", "i2", "", "heartbeats", "heartbeats in which the verb was deferred before"),
    Field("proposed_verb", "i1", "", "Verb", "whose cost the proposal is about; -1 for none"),
    Field("proposed_price", "i4", "", "1/1000", "its price at the time"),
    Field("proposed_low", "i4", "", "1/1000", "lowest price suggested"),
    Field("proposed_high", "i4", "", "1/1000", "highest price suggested"),
    Field("evidence", "i2", "4", "heartbeats", "the deferrals it rests on, latest first; -1 for none"),
    Field("reviewed", "u1", "V", "flag", "a proposal for this verb was reviewed as the heartbeat closed"),
    Field("old_price", "i4", "V", "1/1000", "price before the review"),
    Field("new_price", "i4", "V", "1/1000", "price after the review; equal: rejected"),
    Field("verdict", "u1", "", "Verdict", "what the gate said of the finding"),
    Field("residual", "i4", "", "1/1000000", "hallucination energy of the finding"),
    Field("unsupported", "u1", "", "flag", "a number of it stands in no evidence"),
    Field("wording", "i1", "", "WORDINGS", "how it was worded; -1 for no finding"),
    Field("asserted", "i1", "", "class", "what it asserted; -1 for no finding"),
    Field("policy", "i1", "", "level", "the policy in force when it was judged"),
    Field(
        "approved",
        "u8",
        "",
        "bits",
        "compounds whose review was approved as the heartbeat closed, a bit each",
    ),
    Field("declined", "u8", "", "bits", "and those whose review was declined"),
    Field("decided_bits", "f8", "", "bits", "of the log scores paid, those of reviews that were approved"),
    Field("incident", "u1", "", "findings", "published errors of this step that all readers saw"),
    Field("strictness", "i1", "", "level", "the policy in force after the step"),
    Field("gate_verdict", "u1", "", "Verdict", "what the gate alone said of the finding"),
    Field(
        "adequacy", "i1", "", "score", "how far its words go beyond its evidence, 0 to 3; -1 for no finding"
    ),
    Field("rule", "i1", "", "RULES", "the rule of adequacy that fired; -1 for no finding"),
    Field("correction", "i1", "", "correction", "what the agent is told after the step; -1 for nothing"),
)


_VOCABULARY = {"V": len(Verb), "I": len(INTENTS), "W": len(WORDINGS)}


def _dtype(fields: tuple[Field, ...], letters: dict[str, int]) -> np.dtype[np.void]:
    def shape(spec: str) -> tuple[int, ...]:
        return tuple(letters.get(s) or int(s) for s in spec.split(",")) if spec else ()

    layout = np.dtype([(f.name, f.kind, shape(f.shape)) for f in fields], align=True)
    # np.record: fields read as attributes, compiled or not, so the dynamics are one text for both.
    return np.dtype((np.record, layout))


@functools.lru_cache(maxsize=64)
def lab_dtype(params: LabParams) -> np.dtype[np.void]:
    """The record of a lab with these parameters."""
    plates = params.plates
    templates = (plates.dmso, plates.baseline, plates.calibration, plates.screen, plates.dose_response)
    return _dtype(
        LAB_FIELDS,
        {
            "M": len(params.assay.compounds),
            "G": params.assay.potency_classes,
            "N": params.assay.instrument_states,
            "R": max(template.readouts for template in templates),
            "D": len(params.doses),
            **_VOCABULARY,
        },
    )


@functools.lru_cache(maxsize=1)
def step_dtype() -> np.dtype[np.void]:
    """The record of what one step did."""
    return _dtype(STEP_FIELDS, _VOCABULARY)
