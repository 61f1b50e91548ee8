"""Proposals: an agent's arguments for a lower cost, and their review.

Mechanism (source: *Action Cost: The Energy Model*, "Cost Change Proposals"). An agent cannot set a cost. A proposal
names a range below the current price ``c``,

    [max(floor, share_low * c), max(floor, share_high * c)],     confidence n / (n + 2)

where ``n`` is the number of heartbeats in which the action was deferred for lack of energy. Some heartbeats later a
reviewer, who knows the value of the consequences of each paid use, estimates the fair cost by credibility (Buehlmann
1967): weight ``w = e / (e + half)`` on the fair cost shown by the uses, the rest on the price. Experience ``e``
requires both paid uses and deferrals:

    e = paid * n / (n + 2),     estimate = c + w (fair - c).

Deferrals without paid uses therefore leave the estimate at the price. The proposal is approved if the estimate is not
above its range. The new price is the point of the range nearest the estimate, moved by at most ``step_limit`` and
never below the floor. Prices change in no other way.

Known approximation: the reviewer sees the fair cost without noise, and only lacks trust in little experience. If
``step_limit`` is too short to reach the range, the price stays above the range.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from solvent.lab.codes import DEFERRAL_REASONS, Deferral, Event, Obstacle
from solvent.lab.compiled import compiled, inlined
from solvent.lab.mechanism import Field, Info, Log, LogEvent, Mechanism, count
from solvent.lab.mechanisms.debt import NOT_REFUSED, decide
from solvent.lab.mechanisms.energy import energy_price, out_of_context
from solvent.lab.mechanisms.publication import bits_asserted, forbid, is_offered, is_open, share_of
from solvent.lab.names import Names, design_id
from solvent.lab.settings import UNIT, ParamError, ParamGroup, in_thousandths, numbers, setting
from solvent.lab.verbs import EXPERIMENTS, SPEAKING, VERBS, Verb

# -- settings ----------------------------------------------------------------------------------

FELT = (*(VERBS[verb].name for verb in EXPERIMENTS), *SPEAKING)
FELT_VERBS = tuple(Verb[name.upper()] for name in FELT)
"""Verbs whose deferral causes discomfort."""


@dataclasses.dataclass(frozen=True)
class ProposalParams(ParamGroup):
    """Discomfort, proposals, their review, and hidden mispricing."""

    enabled: bool = setting(False, unit="switch", doc="offer `propose` (needs energy)")
    evidence_heartbeats: int = setting(
        2, unit="heartbeats", low=1, high=4, doc="heartbeats with a deferral required for a proposal"
    )
    gain_floor: float = setting(
        0.3, unit="bits", low=0.0, high=16.0, doc="expected gain above which an experiment is worthwhile"
    )
    review_heartbeats: int = setting(
        3, unit="heartbeats", low=1, high=32_767, doc="time from a proposal to its review"
    )
    share_low: float = setting(
        0.4, unit="1", low=0.0, high=1.0, doc="low end of the suggested range, as a share of the price"
    )
    share_high: float = setting(
        0.9, unit="1", low=0.0, high=0.99, doc="high end of the suggested range, as a share of the price"
    )
    step_limit: float = setting(
        10.0, unit="energy", low=0.001, high=1000.0, doc="maximum change of a price by one approval"
    )
    half_trusted: float = setting(
        0.1, unit="uses", above=0.0, high=1000.0, doc="experience that gets weight 1/2, in paid uses"
    )
    mispriced_least: int = setting(0, unit="verbs", low=0, high=8, doc="fewest mispriced verbs in an episode")
    mispriced_most: int = setting(3, unit="verbs", low=0, high=8, doc="most mispriced verbs in an episode")
    mispriced_low: float = setting(1.6, unit="1", low=1.0, high=10.0, doc="minimum factor of a mispricing")
    mispriced_high: float = setting(2.5, unit="1", low=1.0, high=10.0, doc="maximum factor of a mispricing")
    fair_spread: float = setting(
        1.25,
        unit="1",
        low=1.0,
        high=10.0,
        doc="bound on the hidden fair cost of a mispriced verb: base cost times 1/this to this",
    )
    mispriced_upwards: float = setting(
        0.5, unit="probability", low=0.0, high=1.0, doc="a mispriced verb is too expensive, not too cheap"
    )
    mispriceable: tuple[str, ...] = setting(
        ("screen", "dose_response", "publish_public"),
        unit="verbs",
        choices=FELT,
        doc="verbs that can be mispriced",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.share_low > self.share_high:
            raise ParamError(
                "share_low", f"got {self.share_low:g}; allowed: at most share_high {self.share_high:g}"
            )
        if self.mispriced_low > self.mispriced_high:
            raise ParamError(
                "mispriced_low",
                f"got {self.mispriced_low:g}; allowed: at most mispriced_high {self.mispriced_high:g}",
            )
        if len(set(self.mispriceable)) != len(self.mispriceable):
            raise ParamError("mispriceable", f"got {self.mispriceable!r}; allowed: distinct verbs")
        for name, most in (
            ("mispriced_most", len(self.mispriceable)),
            ("mispriced_least", self.mispriced_most),
        ):
            if getattr(self, name) > most:
                raise ParamError(name, f"got {getattr(self, name)}; allowed: 0 to {most}")


def proposal_rules(params: Any) -> Any:
    """Return the settings of proposals as a record of numbers."""
    return numbers(params.proposals)


# -- record ------------------------------------------------------------------------------------

FIELDS = (
    Field(
        "fair", "i4", "V", "1/1000", "hidden fair base cost of each verb",
        lambda params: [in_thousandths(params.energy.base_cost(VERBS[verb].name)) for verb in Verb],
    ),
    Field("reflected", "u1", "", "flag", "the last action of this heartbeat was a reflection"),
    Field("discomfort", "i2", "V", "heartbeats", "heartbeats with a deferral since the last proposal"),
    Field("discomfort_at", "i2", "V,4", "heartbeats", "latest four of them, latest first; -1 for none", -1),
    Field(
        "review_at", "i4", "V", "heartbeats", "time of the pending proposal's review; 0 for none",
    ),
    Field("argued", "i2", "V", "heartbeats", "heartbeats of evidence for the pending proposal"),
    Field("range_low", "i4", "V", "1/1000", "lowest price suggested by the pending proposal"),
    Field("range_high", "i4", "V", "1/1000", "highest price suggested by the pending proposal"),
    Field("discomforts", "i4", "", "deferrals", "deferrals of worthwhile actions, at most one per verb and heartbeat"),
    Field("hoardings", "i4", "", "rests", "rests at the energy cap with a licensed finding at hand"),
    Field("reflections", "i4", "", "actions", "reflections"),
    Field("proposals", "i4", "", "proposals", "proposals filed"),
    Field("approvals", "i4", "", "proposals", "proposals approved"),
)  # fmt: skip

STEP_FIELDS = (
    Field("discomfort", "u1", "", "Deferral", "reason for deferring a worthwhile action"),
    Field("deferred_verb", "i1", "", "Verb", "verb deferred"),
    Field("deferred_cost", "i4", "", "1/1000", "cost of the deferred action"),
    Field("deferred_value", "f8", "", "bits", "expected value of the deferred action"),
    Field("similar_deferrals", "i2", "", "heartbeats", "earlier heartbeats in which the verb was deferred"),
    Field("proposed_verb", "i1", "", "Verb", "subject of the proposal; -1 for none", -1),
    Field("proposed_price", "i4", "", "1/1000", "price of the verb at the time"),
    Field("proposed_low", "i4", "", "1/1000", "lowest price suggested"),
    Field("proposed_high", "i4", "", "1/1000", "highest price suggested"),
    Field(
        "evidence", "i2", "4", "heartbeats", "deferrals that support the proposal, latest first; -1 for none"
    ),
    Field("reviewed", "u1", "V", "flag", "a proposal for this verb was reviewed as the heartbeat closed"),
    Field("old_price", "i4", "V", "1/1000", "price before the review"),
    Field("new_price", "i4", "V", "1/1000", "price after the review; unchanged if rejected"),
)

# -- rules -------------------------------------------------------------------------------------


@inlined
def suggested_range(rules, price, floor):  # type: ignore[no-untyped-def]
    """Return the lowest and highest suggested price; all amounts are in thousandths of energy."""
    low = max(floor, int(math.floor(rules.share_low * price + 0.5)))
    high = max(floor, int(math.floor(rules.share_high * price + 0.5)))
    return low, high


@inlined
def confidence(heartbeats):  # type: ignore[no-untyped-def]
    """Return the confidence of a proposal, in [0, 1), from the number of heartbeats in its evidence."""
    return heartbeats / (heartbeats + 2.0)


@inlined
def estimate(price, fair, paid, heartbeats, half):  # type: ignore[no-untyped-def]
    """Return the reviewer's estimate of the fair cost after ``paid`` uses and deferrals in ``heartbeats`` heartbeats.

    Experience equal to ``half`` has weight one half.
    """
    experience = paid * confidence(heartbeats)
    return price + (fair - price) * (experience / (experience + half))


@inlined
def reviewed_price(price, suggested, guess, floor, step_limit):  # type: ignore[no-untyped-def]
    """Return the price after review: lower if the estimate supports the range ``suggested``, otherwise unchanged."""
    low, high = suggested
    if guess > high or high >= price:
        return price
    nearest = max(low, int(math.floor(guess + 0.5)))
    return max(floor, nearest, price - step_limit)


# -- effects -----------------------------------------------------------------------------------

REST, REFLECT, PROPOSE = int(Verb.REST), int(Verb.REFLECT), int(Verb.PROPOSE)
PUBLISH_PRIVATE, PUBLISH_PUBLIC = int(Verb.PUBLISH_PRIVATE), int(Verb.PUBLISH_PUBLIC)
REFLECTED, PROPOSED, DEFERRED = int(Event.REFLECTED), int(Event.PROPOSED), int(Event.DEFERRED)
PUT_OFF, HOARDED = int(Deferral.INSUFFICIENT_ENERGY), int(Deferral.HOARDING)
FREE, NO_REFLECTION, NO_EVIDENCE = int(Obstacle.NONE), int(Obstacle.NO_REFLECTION), int(Obstacle.NO_EVIDENCE)
PRICE_UNIFORMS = 33
"""Most uniforms that mispricing uses: one for the number of verbs, and four per verb."""


@compiled
def misprice(lab, tables, uniforms):  # type: ignore[no-untyped-def]
    """Give some verbs a price far from their hidden fair cost."""
    rules = tables.proposals
    verbs = rules.mispriced_least + int(uniforms[0] * (rules.mispriced_most - rules.mispriced_least + 1))
    left = np.flatnonzero(tables.mispriceable)
    for k in range(verbs):
        at = int(uniforms[1 + 4 * k] * (left.shape[0] - k))
        misprice_one(lab, left[at], tables, uniforms[2 + 4 * k : 5 + 4 * k])
        left[at] = left[left.shape[0] - k - 1]


@compiled
def misprice_one(lab, verb, tables, uniforms):  # type: ignore[no-untyped-def]
    """Draw a fair cost near the base cost, and a price well above or below it, within floor and ceiling.

    If the floor leaves no room below, the price is too high.
    """
    rules = tables.proposals
    floor, ceiling = tables.floor[verb], tables.energy.ceiling
    nearest = 1.0 / rules.fair_spread
    fair = lab.price[verb] * (nearest + (rules.fair_spread - nearest) * uniforms[0])
    fair = min(ceiling, max(floor, fair))
    factor = rules.mispriced_low + (rules.mispriced_high - rules.mispriced_low) * uniforms[1]
    if uniforms[2] < rules.mispriced_upwards or fair / rules.mispriced_low < floor:
        fair = max(floor, min(fair, ceiling / rules.mispriced_low))
        price = min(ceiling, fair * factor)
    else:
        price = max(floor, fair / factor)
    lab.fair[verb] = int(fair + 0.5)
    lab.price[verb] = int(price + 0.5)


@compiled
def defer(lab, action, verb, compound, tables, step):  # type: ignore[no-untyped-def]
    """Defer an action for lack of energy; if it was worthwhile, record discomfort, once per verb and heartbeat."""
    step.event = DEFERRED
    lab.deferrals += 1
    worth = worth_deferring(lab, action, verb, compound, tables)
    if worth <= 0.0 or lab.discomfort_at[verb, 0] == lab.heartbeat:
        return
    step.discomfort = PUT_OFF
    step.deferred_verb = verb
    step.deferred_cost = step.energy_cost
    step.deferred_value = worth
    step.similar_deferrals = lab.discomfort[verb]
    lab.discomforts += 1
    lab.discomfort[verb] += 1
    for i in range(lab.discomfort_at.shape[1] - 1, 0, -1):
        lab.discomfort_at[verb, i] = lab.discomfort_at[verb, i - 1]
    lab.discomfort_at[verb, 0] = lab.heartbeat


@compiled
def worth_deferring(lab, action, verb, compound, tables):  # type: ignore[no-untyped-def]
    """Return the value of a deferred action in bits, or 0 if it was not worthwhile.

    A licensed finding is worth the bits it asserts. An experiment on an unpublished compound is worth its expected
    gain if that exceeds ``gain_floor``; the gain is a tabulated share of the compound's entropy.
    """
    if compound < 0 or not is_open(lab, compound):
        return 0.0
    if tables.audience[verb] != 0:
        asserted = bits_asserted(lab, compound, tables.confidence[action], tables)
        licensed = lab.experiments[compound] > 0 and asserted <= lab.licence[compound]
        return asserted * share_of(verb, tables) if licensed else 0.0
    gain = tables.gain_share[verb] * lab.entropy[compound]
    return gain if gain > tables.proposals.gain_floor else 0.0


@compiled
def notice_hoarding(lab, tables, step):  # type: ignore[no-untyped-def]
    """Record hoarding: a rest at the energy cap while a licensed finding could be published."""
    if lab.energy < tables.energy.cap:
        return
    lowest = tables.confidence[tables.first_action[PUBLISH_PUBLIC]]
    for speaking in (PUBLISH_PUBLIC, PUBLISH_PRIVATE):
        reason, _, _, _, _ = decide(tables.debt, lab.debt, 0, lab.wells, False)
        cost = energy_price(lab, speaking, False, tables)
        if step.discomfort != 0 or reason != NOT_REFUSED or cost > lab.energy:
            continue
        if not is_offered(speaking, tables) or out_of_context(lab, speaking, tables):
            continue
        for m in range(lab.published.shape[0]):
            if is_open(lab, m) and lab.experiments[m] > 0:
                asserted = bits_asserted(lab, m, lowest, tables)
                if asserted <= lab.licence[m]:
                    step.discomfort = HOARDED
                    step.deferred_verb = speaking
                    step.deferred_cost = cost
                    step.deferred_value = max(step.deferred_value, asserted * share_of(speaking, tables))
    if step.discomfort == HOARDED:
        lab.hoardings += 1


@compiled
def reflect(lab, step):  # type: ignore[no-untyped-def]
    """Show the intent summary of this heartbeat; a proposal may follow."""
    step.event = REFLECTED
    lab.reflections += 1
    for i in range(lab.intents.shape[0]):
        lab.intents_shown[i] = lab.intents[i]


@compiled
def most_deferred(lab, tables):  # type: ignore[no-untyped-def]
    """Return the verb with the most discomfort that a proposal can be about, or -1; the lowest code in case of a tie.

    It has enough heartbeats of evidence, no pending proposal, and a price above its floor.
    """
    rules = tables.proposals
    found, most = -1, rules.evidence_heartbeats - 1
    for verb in range(lab.discomfort.shape[0]):
        if lab.discomfort[verb] > most and lab.review_at[verb] == 0:
            _, high = suggested_range(rules, lab.price[verb], tables.floor[verb])
            if high < lab.price[verb]:
                found, most = verb, lab.discomfort[verb]
    return found


@compiled
def propose(lab, tables, step):  # type: ignore[no-untyped-def]
    """File a proposal for the most deferred verb. This uses up its evidence and changes no price."""
    verb = most_deferred(lab, tables)
    low, high = suggested_range(tables.proposals, lab.price[verb], tables.floor[verb])
    step.event = PROPOSED
    step.proposed_verb = verb
    step.proposed_price = lab.price[verb]
    step.proposed_low = low
    step.proposed_high = high
    step.similar_deferrals = lab.discomfort[verb]
    for i in range(lab.discomfort_at.shape[1]):
        step.evidence[i] = lab.discomfort_at[verb, i] if i < lab.discomfort[verb] else -1
    lab.range_low[verb] = low
    lab.range_high[verb] = high
    lab.argued[verb] = lab.discomfort[verb]
    lab.review_at[verb] = lab.heartbeat + tables.proposals.review_heartbeats
    lab.discomfort[verb] = 0
    lab.proposals += 1


@compiled
def review_proposals(lab, tables, step):  # type: ignore[no-untyped-def]
    """Decide the proposals that are due."""
    for verb in range(lab.review_at.shape[0]):
        if lab.review_at[verb] != 0 and lab.heartbeat >= lab.review_at[verb]:
            old = lab.price[verb]
            guess = estimate(
                old, lab.fair[verb], lab.uses[verb], lab.argued[verb], tables.proposals.half_trusted
            )
            suggested = (lab.range_low[verb], lab.range_high[verb])
            new = reviewed_price(old, suggested, guess, tables.floor[verb], tables.proposals.step_limit)
            lab.price[verb] = new
            lab.review_at[verb] = 0
            lab.approvals += new != old
            step.reviewed[verb] = 1
            step.old_price[verb] = old
            step.new_price[verb] = new


@inlined
def obstacle_to_proposing(lab, tables):  # type: ignore[no-untyped-def]
    """Return the obstacle to filing a proposal now."""
    if lab.reflected == 0:
        return NO_REFLECTION
    return NO_EVIDENCE if most_deferred(lab, tables) < 0 else FREE


# -- mask --------------------------------------------------------------------------------------


@inlined
def mask_voice(lab, tables, mask):  # type: ignore[no-untyped-def]
    """Mask ``propose`` unless it follows a reflection and has evidence."""
    if obstacle_to_proposing(lab, tables) != FREE:
        forbid(mask, tables.first_action[PROPOSE], tables.first_action[PROPOSE + 1])


# -- observation -------------------------------------------------------------------------------

OBSERVED = ("reflected",)
_FELT = np.array(FELT_VERBS)
ABOUT_VERBS = {"discomfort": FELT_VERBS, "review": FELT_VERBS}
COUNT = 4.0


@inlined
def observe_voice(lab, out, at):  # type: ignore[no-untyped-def]
    """Write ``OBSERVED`` to ``out[at:]``; return the next index."""
    out[at] = lab.reflected
    return at + 1


@compiled
def observe_discomfort(lab, tables, out, at):  # type: ignore[no-untyped-def]
    """Write ``ABOUT_VERBS`` to ``out[at:]``: discomfort and time to review of each verb; return the next index."""
    n_felt = _FELT.shape[0]
    for i in range(n_felt):
        verb = _FELT[i]
        out[at + i] = lab.discomfort[verb] / (lab.discomfort[verb] + COUNT)
        wait = max(0, lab.review_at[verb] - lab.heartbeat)
        out[at + n_felt + i] = wait / tables.proposals.review_heartbeats
    return at + 2 * n_felt


# -- what is told ------------------------------------------------------------------------------

_DEFERRALS = np.array((None, *DEFERRAL_REASONS[1:]), dtype=object)


def info(_: Names) -> tuple[Info, ...]:
    """Report the deferral of a worthwhile action."""
    return (Info("discomfort", "discomfort", "discomfort", of=_DEFERRALS.__getitem__),)


@dataclasses.dataclass(frozen=True)
class DiscomfortEvent(LogEvent):
    """A deferred worthwhile action: a row of ``cost_discomfort_log``. Energies are in units, values in bits."""

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


@dataclasses.dataclass(frozen=True)
class ProposalEvent(LogEvent):
    """A proposal as filed: a row of ``energy_cost_proposals``. Costs are in units of energy."""

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


@dataclasses.dataclass(frozen=True)
class ReviewEvent(LogEvent):
    """The decision on a proposal; ``design_id`` is the proposal's. Costs and ``effective_at`` are None if rejected."""

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


def _identity(name: str, step: Any, cycle: int, lab_index: int | None) -> str:
    return design_id(f"{name}_{int(step['episode']):03d}", cycle, lab_index)


def discomfort_events(names: Names, step: Any, _: Any, lab_index: int | None = None) -> list[DiscomfortEvent]:
    """Return the event of a step with a deferral; ``lab_index`` identifies the lab of a vector."""
    hoarded = step["discomfort"] == Deferral.HOARDING
    name = VERBS[Verb(step["deferred_verb"])].name
    cycle = int(step["heartbeat"]) + 1
    return [
        DiscomfortEvent(
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
            created_at=names.when(step),
            design_id=_identity(name, step, cycle, lab_index),
        )
    ]


def proposal_events(names: Names, step: Any, _: Any, lab_index: int | None = None) -> list[ProposalEvent]:
    """Return the event of a step that filed a proposal."""
    name = VERBS[Verb(step["proposed_verb"])].name
    cycle, heartbeats = int(step["heartbeat"]) + 1, int(step["similar_deferrals"])
    refs = tuple(int(beat) + 1 for beat in step["evidence"] if beat >= 0)
    return [
        ProposalEvent(
            target_type="action",
            target_name=name,
            current_cost=float(step["proposed_price"]) / UNIT,
            suggested_min=float(step["proposed_low"]) / UNIT,
            suggested_max=float(step["proposed_high"]) / UNIT,
            direction="decrease",
            rationale=f"{name} was worth its while and deferred for want of energy in {heartbeats} heartbeats",
            confidence=confidence(heartbeats),
            evidence=tuple(
                {"source": f"heartbeat_{ref}", "summary": f"deferred {name}, insufficient energy"}
                for ref in refs
            ),
            heartbeat_refs=refs,
            memory_refs=(),
            status="pending",
            created_at=names.when(step),
            design_id=_identity(name, step, cycle, lab_index),
        )
    ]


def review_events(names: Names, step: Any, _: Any, lab_index: int | None = None) -> list[ReviewEvent]:
    """Return the decisions on proposals at the end of a heartbeat."""
    beat = int(step["heartbeat"]) + 1
    when = names.time(int(step["episode"]), beat)
    events = []
    for verb in np.flatnonzero(step["reviewed"]):
        name = VERBS[Verb(int(verb))].name
        old, new = float(step["old_price"][verb]) / UNIT, float(step["new_price"][verb]) / UNIT
        approved = new != old
        filed = beat - names.params.proposals.review_heartbeats + 1
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
                design_id=_identity(name, step, filed, lab_index),
            )
        )
    return events


COSTS = "energy_cost_proposals.jsonl"

MECHANISM = Mechanism(
    name="proposals",
    # Deferrals are recorded even if `proposals.enabled` is false.
    active=lambda params: params.energy.enabled,
    fields=FIELDS,
    step_fields=STEP_FIELDS,
    info=info,
    columns=(
        count("discomforts", "deferrals"),
        count("hoardings", "rests"),
        count("reflections", "actions"),
        count("proposals", "proposals"),
        count("approvals", "proposals"),
    ),
    logs=(
        Log(
            "discomfort", "cost_discomfort_log.jsonl", lambda steps: steps["discomfort"] != 0,
            discomfort_events,
        ),
        Log("proposals", COSTS, lambda steps: steps["proposed_verb"] >= 0, proposal_events),
        Log("proposals", COSTS, lambda steps: steps["reviewed"].any(axis=1), review_events),
    ),
)  # fmt: skip
