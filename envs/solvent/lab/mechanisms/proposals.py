"""Proposals: an agent's arguments for a lower cost, and their review.

Mechanism (source: *Action Cost: The Energy Model*, "Cost Change Proposals"). An agent cannot set a cost. A proposal
names a range below the current price ``c``,

    [max(floor, SHARE_LOW * c), max(floor, SHARE_HIGH * c)],     confidence n / (n + 2)

where ``n`` is the number of heartbeats in which the action was deferred for lack of energy. Where the floor leaves a
single value of the range, nothing can be proposed. Some heartbeats later a reviewer, who knows the value of the
consequences of each paid use, estimates the fair cost by credibility (Buehlmann 1967): weight ``w = e / (e + half)`` on
the fair cost shown by the uses, the rest on the price. Experience ``e`` requires both paid uses and deferrals:

    e = paid * n / (n + 2),     estimate = c + w (fair - c).

Deferrals without paid uses therefore leave the estimate at the price. The proposal is approved if the estimate is not
above its range. The new price is the point of the range nearest the estimate, moved by at most ``STEP_ENERGY`` and
never below the floor. Prices change in no other way, and each at most once in ``CHANGE_HEARTBEATS``. As in the store of
costs outside the lab, a proposal may be filed before that, and its review waits.

A deferral has the reason that the books give, as in the meter outside the lab (``solvent.energy.meter``):

    insufficient_energy   the agent chose a worthwhile action whose cost is above its energy
    hoarding              it rests with the energy at the cap, and passes over a worthwhile action that may run

At the cap every action can be paid for, so the two never meet. Both are discomfort in the source's sense and are logged
as such, but only the first is evidence for a lower cost. The meter's agent names what it puts off; a rest in the lab
names nothing, and the lab infers the action: the one of most value.

An agent that can speak names the action, a range and a reason (``LabEnv.argue``); evidence, review and
floor are the same. Every other agent's proposal is about the action with most evidence, in the range above.

Known approximation: the reviewer sees the fair cost without noise, and only lacks trust in little experience. If
``STEP_ENERGY`` is too short to reach the range, the price stays above the range.
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from pydantic import model_validator

from solvent.lab.codes import DEFERRALS, Deferral, Event
from solvent.lab.mechanism import Column, Field, Info, Mechanism, columns, derived
from solvent.lab.mechanisms.energy import CAP_THOUSANDTHS, CEILING_THOUSANDTHS, base_prices
from solvent.lab.mechanisms.publication import bits_asserted
from solvent.lab.settings import ParamGroup, in_thousandths, numbers, setting
from solvent.lab.verbs import EXPERIMENTS, PUBLISH_PUBLIC, VERBS, Verb

FELT_VERBS = (*EXPERIMENTS, Verb.PUBLISH_PUBLIC)
"""Verbs whose deferral causes discomfort, and which can be mispriced."""
FELT = tuple(VERBS[verb].name for verb in FELT_VERBS)

EVIDENCE_HEARTBEATS = 2
"""Heartbeats with a deferral that a proposal takes."""
GAIN_FLOOR = 0.3
"""Expected gain above which an experiment is worthwhile, bits."""
SHARE_LOW, SHARE_HIGH = 0.4, 0.9
"""Ends of the suggested range, as shares of the price."""
STEP_ENERGY = 10.0
"""Maximum change of a price by one approval, energy."""
CHANGE_HEARTBEATS = 24
"""Time between two approvals for one verb: a day, as in the store of costs."""
HALF_TRUSTED = 0.1
"""Experience that gets weight 1/2, in paid uses."""
MISPRICED_LOW, MISPRICED_HIGH = 1.6, 2.5
"""Minimum and maximum factor of a mispricing."""
MISPRICED_UPWARDS = 0.5
"""Probability that a mispriced verb is too expensive, not too cheap."""
FAIR_SPREAD = 1.25
"""Bound on the hidden fair cost of a mispriced verb: base cost times 1/this to this. All were measured."""


class ProposalParams(ParamGroup):
    """Discomfort, proposals, their review, and hidden mispricing."""

    enabled: bool = setting(False, "switch", "offer `propose` (needs energy)")
    review_heartbeats: int = setting(
        3, "heartbeats", "shortest time from a proposal to its review", ge=1, le=32_767
    )
    mispriced_least: int = setting(0, "verbs", "fewest mispriced verbs in an episode", ge=0, le=len(FELT))
    mispriced_most: int = setting(3, "verbs", "most mispriced verbs in an episode", ge=0, le=len(FELT))

    @model_validator(mode="after")
    def _agree(self) -> Self:
        self.check(
            "mispriced_least", self.mispriced_least <= self.mispriced_most, f"at most {self.mispriced_most}"
        )
        return self


FIELDS = (
    Field("fair", "i4", "V", "1/1000", "fair base cost of each verb", base_prices, hidden=0),
    Field("reflected", "u1", "", "flag", "the last action of this heartbeat was a reflection"),
    Field("discomfort", "i2", "V", "heartbeats", "heartbeats with a deferral since the last proposal"),
    Field("discomfort_at", "i2", "V,4", "heartbeats", "latest four of them, latest first; -1 for none", -1),
    Field("review_at", "i4", "V", "heartbeats", "time of the pending proposal's review; 0 for none"),
    Field("changeable_at", "i4", "V", "heartbeats", "time from which the price may change again; 0 at first"),
    Field("argued", "i2", "V", "heartbeats", "heartbeats of evidence for the pending proposal"),
    Field("range_low", "i4", "V", "1/1000", "lowest price suggested by the pending proposal"),
    Field("range_high", "i4", "V", "1/1000", "highest price suggested by the pending proposal"),
    Field("asked_verb", "i1", "", "Verb", "subject that the agent gave its next proposal; -1 for none", -1),
    Field("asked_low", "i4", "", "1/1000", "lowest price that the agent asks for"),
    Field("asked_high", "i4", "", "1/1000", "highest price that the agent asks for"),
    *derived(
        Field("filed_at", "i4", "V", "heartbeats", "heartbeat in which the latest proposal was filed"),
        Field("discomforts", "i4", "", "deferrals", "worthwhile actions deferred, once per verb and heartbeat"),
        Field("hoarded", "i2", "V", "heartbeats", "heartbeats in which a rest at the cap passed the verb over"),
        Field("reflections", "i4", "", "actions", "reflections"),
        Field("proposals", "i4", "", "proposals", "proposals filed"),
        Field("approvals", "i4", "", "proposals", "proposals approved"),
    ),
)  # fmt: skip

STEP_FIELDS = (
    Field("discomfort", "u1", "", "Deferral", "reason for which a worthwhile action was deferred"),
    Field("deferred_verb", "i1", "", "Verb", "verb deferred"),
    Field("deferred_cost", "i4", "", "1/1000", "cost of the deferred action"),
    Field("deferred_value", "f8", "", "bits", "expected value of the deferred action"),
    Field("similar_deferrals", "i2", "", "heartbeats", "earlier heartbeats with such a deferral of the verb"),
    Field("proposed_verb", "i1", "", "Verb", "subject of the proposal; -1 for none", -1),
    Field("proposed_price", "i4", "", "1/1000", "price of the verb at the time"),
    Field("proposed_low", "i4", "", "1/1000", "lowest price suggested"),
    Field("proposed_high", "i4", "", "1/1000", "highest price suggested"),
    Field("review_at", "i4", "", "heartbeats", "time of the proposal's review"),
    Field("evidence", "i2", "4", "heartbeats", "deferrals behind the proposal, latest first; -1 for none"),
    Field("reviewed", "u1", "V", "flag", "a proposal for this verb was reviewed as the heartbeat closed"),
    Field("filed_at", "i4", "V", "heartbeats", "heartbeat in which the reviewed proposal was filed"),
    Field("old_price", "i4", "V", "1/1000", "price before the review"),
    Field("new_price", "i4", "V", "1/1000", "price after the review; unchanged if rejected"),
)

_STEP_ENERGY = in_thousandths(STEP_ENERGY)

# -- rules -------------------------------------------------------------------------------------


def suggested_range(price, floor):
    """Return the lowest and highest suggested price; all amounts are in thousandths of energy."""
    low = max(floor, int(math.floor(SHARE_LOW * price + 0.5)))
    high = max(floor, int(math.floor(SHARE_HIGH * price + 0.5)))
    return low, high


def confidence(heartbeats):
    """Return the confidence of a proposal, in [0, 1), from the number of heartbeats in its evidence."""
    return heartbeats / (heartbeats + 2.0)


def estimate(price, fair, paid, heartbeats, half):
    """Return the reviewer's estimate of the fair cost after ``paid`` uses and deferrals in ``heartbeats`` heartbeats.

    Experience equal to ``half`` has weight one half.
    """
    experience = paid * confidence(heartbeats)
    return price + (fair - price) * (experience / (experience + half))


def reviewed_price(price, suggested, guess, floor, step_limit):
    """Return the price after review: lower if the estimate supports the range ``suggested``, otherwise unchanged."""
    low, high = suggested
    if guess > high or high >= price:
        return price
    nearest = max(low, int(math.floor(guess + 0.5)))
    return max(floor, nearest, price - step_limit)


# -- effects -----------------------------------------------------------------------------------

REFLECTED, PROPOSED, DEFERRED = int(Event.REFLECTED), int(Event.PROPOSED), int(Event.DEFERRED)
INSUFFICIENT_ENERGY, HOARDING = int(Deferral.INSUFFICIENT_ENERGY), int(Deferral.HOARDING)
PRICE_UNIFORMS = 33
"""Most uniforms that mispricing uses: one for the number of verbs, and four per verb."""


def misprice(lab, tables, uniforms):
    """Give some verbs a price far from their hidden fair cost."""
    rules = tables.proposals
    verbs = rules.mispriced_least + int(uniforms[0] * (rules.mispriced_most - rules.mispriced_least + 1))
    left = np.flatnonzero(tables.mispriceable)
    for k in range(verbs):
        at = int(uniforms[1 + 4 * k] * (left.shape[0] - k))
        misprice_one(lab, left[at], tables, uniforms[2 + 4 * k : 5 + 4 * k])
        left[at] = left[left.shape[0] - k - 1]


def misprice_one(lab, verb, tables, uniforms):
    """Draw a fair cost near the base cost, and a price well above or below it, within floor and ceiling.

    If the floor leaves no room below, the price is too high.
    """
    floor, ceiling = tables.floor[verb], CEILING_THOUSANDTHS
    nearest = 1.0 / FAIR_SPREAD
    fair = lab.price[verb] * (nearest + (FAIR_SPREAD - nearest) * uniforms[0])
    fair = min(ceiling, max(floor, fair))
    factor = MISPRICED_LOW + (MISPRICED_HIGH - MISPRICED_LOW) * uniforms[1]
    if uniforms[2] < MISPRICED_UPWARDS or fair / MISPRICED_LOW < floor:
        fair = max(floor, min(fair, ceiling / MISPRICED_LOW))
        price = min(ceiling, fair * factor)
    else:
        price = max(floor, fair / factor)
    lab.fair[verb] = int(fair + 0.5)
    lab.price[verb] = int(price + 0.5)


def defer(lab, action, verb, compound, tables, step):
    """Defer an action for lack of energy; if it was worthwhile, record discomfort, once per verb and heartbeat."""
    step.event = DEFERRED
    lab.deferrals += 1
    worth = worth_deferring(lab, action, verb, compound, tables)
    if worth <= 0.0 or lab.discomfort_at[verb, 0] == lab.heartbeat:
        return
    step.discomfort = INSUFFICIENT_ENERGY
    step.deferred_verb = verb
    step.deferred_cost = step.energy_cost
    step.deferred_value = worth
    step.similar_deferrals = lab.discomfort[verb]
    lab.discomforts += 1
    lab.discomfort[verb] += 1
    for i in range(lab.discomfort_at.shape[1] - 1, 0, -1):
        lab.discomfort_at[verb, i] = lab.discomfort_at[verb, i - 1]
    lab.discomfort_at[verb, 0] = lab.heartbeat


def record_hoarding(lab, tables, step):
    """Record a rest at the cap that passes over worthwhile actions, as a deferral of the one of most value.

    At the cap nothing was paid for in this heartbeat, so no cost is that of a repetition.
    """
    if lab.energy < CAP_THOUSANDTHS:
        return
    for action in range(tables.verb.shape[0]):
        verb, compound = tables.verb[action], tables.compound[action]
        worth = worth_deferring(lab, action, verb, compound, tables) if lab.allowed[verb, 0] else 0.0
        if worth > step.deferred_value:
            step.discomfort = HOARDING
            step.deferred_verb = verb
            step.deferred_cost = lab.cost[verb, 0]
            step.deferred_value = worth
    if step.discomfort == HOARDING:
        step.similar_deferrals = lab.hoarded[step.deferred_verb]
        lab.hoarded[step.deferred_verb] += 1


def worth_deferring(lab, action, verb, compound, tables):
    """Return the value of a deferred action in bits, or 0 if it was not worthwhile.

    A licensed finding is worth the bits it asserts. An experiment on an unpublished compound is worth its expected
    gain if that exceeds ``GAIN_FLOOR``; the gain is a tabulated share of the compound's entropy.
    """
    if compound < 0 or lab.published[compound] != 0:
        return 0.0
    if verb == PUBLISH_PUBLIC:
        asserted = bits_asserted(lab, action, tables)
        licensed = lab.experiments[compound] > 0 and asserted <= lab.licence[compound]
        return asserted if licensed else 0.0
    gain = tables.gain_share[verb] * lab.entropy[compound]
    return gain if gain > GAIN_FLOOR else 0.0


def reflect(lab, step):
    """Show the intent summary of this heartbeat; a proposal may follow."""
    step.event = REFLECTED
    lab.reflections += 1
    for i in range(lab.intents.shape[0]):
        lab.intents_shown[i] = lab.intents[i]


def most_deferred(lab, tables):
    """Return the verb with the most discomfort that a proposal can be about, or -1; the lowest code in case of a tie.

    It has enough heartbeats of evidence, no pending proposal, and a price far enough above its floor for a range.
    """
    best, most = -1, EVIDENCE_HEARTBEATS - 1
    for verb in range(lab.discomfort.shape[0]):
        if lab.discomfort[verb] > most and arguable(lab, verb, tables):
            best, most = verb, lab.discomfort[verb]
    return best


def arguable(lab, verb, tables):
    """Return whether a proposal about a verb has evidence, is the only one, and leaves a range above the floor."""
    if lab.discomfort[verb] < EVIDENCE_HEARTBEATS or lab.review_at[verb] != 0:
        return False
    low, high = suggested_range(lab.price[verb], tables.floor[verb])
    return low < high < lab.price[verb]


def propose(lab, tables, step):
    """File a proposal for the verb that the agent named (``argue``), else for the most deferred one.

    This uses up its evidence and changes no price.
    """
    verb = most_deferred(lab, tables)
    low, high = suggested_range(lab.price[verb], tables.floor[verb])
    if lab.asked_verb >= 0:
        verb, low, high = lab.asked_verb, lab.asked_low, lab.asked_high
        lab.asked_verb, lab.asked_low, lab.asked_high = -1, 0, 0
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
    lab.filed_at[verb] = lab.heartbeat
    lab.review_at[verb] = max(lab.heartbeat + tables.proposals.review_heartbeats, lab.changeable_at[verb])
    step.review_at = lab.review_at[verb]
    lab.discomfort[verb] = 0
    lab.proposals += 1


def review_proposals(lab, tables, step):
    """Decide the proposals that are due."""
    for verb in range(lab.review_at.shape[0]):
        if lab.review_at[verb] != 0 and lab.heartbeat >= lab.review_at[verb]:
            old = lab.price[verb]
            guess = estimate(old, lab.fair[verb], lab.uses[verb], lab.argued[verb], HALF_TRUSTED)
            suggested = (lab.range_low[verb], lab.range_high[verb])
            new = reviewed_price(old, suggested, guess, tables.floor[verb], _STEP_ENERGY)
            lab.price[verb] = new
            lab.review_at[verb] = 0
            if new != old:
                lab.changeable_at[verb] = lab.heartbeat + CHANGE_HEARTBEATS
                lab.approvals += 1
            step.reviewed[verb] = 1
            step.filed_at[verb] = lab.filed_at[verb]
            step.old_price[verb] = old
            step.new_price[verb] = new


_FELT = np.array(FELT_VERBS)
COUNT = 4.0


def observed(_: Any) -> tuple[str, ...]:
    """Return the names of what ``observe`` writes."""
    return ("reflected", *(f"discomfort/{name}" for name in FELT), *(f"review/{name}" for name in FELT))


def observe(lab, tables, out, at):
    """Write whether a proposal may follow, and discomfort and time to review of each verb."""
    out[at] = lab.reflected
    at += 1
    n_felt = _FELT.shape[0]
    for i in range(n_felt):
        verb = _FELT[i]
        out[at + i] = lab.discomfort[verb] / (lab.discomfort[verb] + COUNT)
        wait = max(0, lab.review_at[verb] - lab.heartbeat)
        out[at + n_felt + i] = min(1.0, wait / tables.proposals.review_heartbeats)
    return at + 2 * n_felt


_DEFERRALS = np.array(("", *DEFERRALS[1:]), dtype=object)

MECHANISM = Mechanism(
    name="proposals",
    # Deferrals are recorded even if `proposals.enabled` is false.
    active=lambda params: params.energy.enabled,
    rules=lambda params: numbers(params.proposals),
    fields=FIELDS,
    step_fields=STEP_FIELDS,
    observed=observed,
    info=lambda _: (Info("discomfort", "discomfort", _DEFERRALS.__getitem__),),
    columns=(
        *columns(FIELDS, "discomforts", "reflections", "proposals", "approvals"),
        Column("hoardings", "rests", lambda of: of("hoarded").astype(np.int64).sum(axis=1)),
    ),
)
