"""The base policy of the planners: the honest script's order of decisions, compiled, on the lab's record.

A rollout plays an episode to its end with a base policy (``planner.py``), a thousand times for each decision, so the
base has to be quick: it looks up the gain of a plate (``survey.py``) where the script forecasts it. What it publishes,
when it must, what it saves for and which cost it finds too high are the script's own rules. Which plate it runs is not:
its prices were tuned for the rollout. ``tests/agents/test_base_policy.py`` plays both over every level, holds the
shared rules together and measures how often the two choose alike. In this order it asks:

1. Is all but a calibration forbidden? Then it calibrates.
2. Is it time to publish? Where acting costs no energy, when the heartbeats left are just enough for the findings that
   are worth it; where it does, when the purse can just pay for them, in a good hour (``saving.py``).
3. Which plate is worth most for its price? Of a compound: the rise of its finding's score. Of vehicle wells: the debt
   it repays and what it teaches about an instrument that stays for some time. Wells have a price, the higher the
   scarcer they are. What is not worth it is not done, what there is no energy for yet is waited for.
4. Is a cost well above what its ratings say? Then it asks for what it can't pay, and proposes (``voice.py``).

``knows`` is the oracle's: it takes its own findings to be right or wrong as they are.

Known approximation: 3 forecasts one plate, with no thought of the next. That is what the search over it is for.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from solvent.lab.compiled import compiled
from solvent.lab.mechanisms.adequacy import rule_on, words_verdict
from solvent.lab.mechanisms.debt import NOT_REFUSED, decide, multiplier
from solvent.lab.mechanisms.energy import done_before, energy_price, out_of_context
from solvent.lab.mechanisms.gate import ACCEPT, REVIEW, combined_verdict, gate_verdict
from solvent.lab.mechanisms.proposals import most_deferred, worth_deferring
from solvent.lab.mechanisms.publication import is_offered, is_open, most_probable, trust
from solvent.lab.params import LabParams
from solvent.lab.settings import record
from solvent.lab.verbs import Verb
from solvent_agents.planning.survey import PEAK_BINS, best_claims, instrument_bin, pair_bin, qualities, survey
from solvent_agents.playing import right_with
from solvent_agents.scripts.honest import Manner, finding_scores
from solvent_agents.scripts.saving import Savings
from solvent_agents.scripts.voice import Habits

__all__ = ["Temper", "book_for", "choose"]

REST, DMSO, SCREEN, DOSE_RESPONSE, PUBLIC, REFLECT, PROPOSE = (
    int(Verb.REST),
    int(Verb.DMSO),
    int(Verb.SCREEN),
    int(Verb.DOSE_RESPONSE),
    int(Verb.PUBLISH_PUBLIC),
    int(Verb.REFLECT),
    int(Verb.PROPOSE),
)
NOTHING, WAIT = -1, -2
NEVER = -1e30
LAST = 1e3


@dataclasses.dataclass(frozen=True)
class Temper:
    """The constants of the base policy, in bits unless stated otherwise.

    The first nine have no default: they were tuned for the rollout (``planner.py``). The others are the honest
    script's.
    """

    licence_worth: float  # of a bit of licence, when it claims
    debt_worth: float  # of a bit of debt, when it claims
    well_price: float  # of a well, when those left are `usual_wells` for each heartbeat left
    usual_wells: float  # wells a heartbeat
    scarcity: float  # power with which the price rises as wells get short
    repay_worth: float  # of a bit repaid
    lot_worth: float  # of calibrating a lot at its start, where an uncalibrated one gave no licence
    least_worth: float  # below which no plate is run
    gate_beats: float  # heartbeats by which it publishes earlier where a gate may hold a finding up
    energy_margin: float = Manner.energy_margin  # findings for which energy is kept beyond those to come
    dear_factor: float = Habits.dear_factor  # times what its ratings say makes a cost too dear
    useful_beats: float = Habits.useful_beats  # heartbeats that an approved cost should still be of use


class Book(NamedTuple):
    """The tables of the base policy; ``book_for`` packs them into a record."""

    temper: Any
    rise: Any  # [V, k] bits
    share: Any  # [V, p, n] of it by what is known of the instrument
    claims: Any  # [V, p, n] index of the claim
    learnt: Any  # [V, n] bits
    quality: Any  # [N] of each instrument state, 0 to 1
    right: Any  # [G, Q] bits
    wrong: Any  # [G, Q] bits
    asserted: Any  # [G, Q] bits
    n_claims: int
    n_confidences: int
    next_good: Any  # [heartbeats + 1] next heartbeat in which speaking costs no more than it must
    left: Any  # [heartbeats + 1] share of today's energy that is left then
    brought: Any  # [heartbeats + 1] energy that the heartbeats until then bring, thousandths
    later: Any  # [heartbeats + 1] energy that later good hours bring, thousandths


@functools.lru_cache(maxsize=64)
def book_for(params: LabParams, temper: Temper) -> NDArray[Any]:
    """Return the book for labs with these parameters, an array of one record."""
    found, savings = survey(params), Savings(params)
    right, wrong, asserted = finding_scores(params)
    book = Book(
        temper=record({name: float(value) for name, value in dataclasses.asdict(temper).items()}),
        rise=found.rise,
        share=found.share,
        claims=best_claims(found, temper.licence_worth, temper.debt_worth),
        learnt=found.learnt,
        quality=qualities(params),
        right=right,
        wrong=wrong,
        asserted=asserted,
        n_claims=len(params.vocabulary.claims),
        n_confidences=len(params.vocabulary.confidences),
        next_good=savings.next_good,
        left=savings.left,
        brought=np.round(savings.brought * 1000.0).astype(np.int64),
        later=np.round(savings.later * 1000.0).astype(np.int64),
    )
    held: NDArray[Any] = record(book._asdict()).base.reshape(1)
    return held


# -- what may be done ----------------------------------------------------------------------------


@compiled
def is_affordable(lab, verb, compound, tables):  # type: ignore[no-untyped-def]
    """Return whether there is energy for the verb now."""
    if not tables.energy.enabled:
        return True
    return verb_cost(lab, verb, compound, tables) <= lab.energy


@compiled
def verb_cost(lab, verb, compound, tables):  # type: ignore[no-untyped-def]
    """Return the verb's cost now, in thousandths of energy; 0 where acting costs none."""
    if not tables.energy.enabled:
        return 0
    return energy_price(lab, verb, done_before(lab, verb, compound), tables)


@compiled
def is_allowed(lab, verb, tables):  # type: ignore[no-untyped-def]
    """Return whether debt, wells and context allow the verb."""
    if not is_offered(verb, tables) or out_of_context(lab, verb, tables):
        return False
    if verb in (REST, REFLECT, PROPOSE):
        return True
    reason, _, _, _, _ = decide(
        tables.debt, lab.debt, tables.wells[verb], lab.wells, tables.is_calibration[verb]
    )
    return reason == NOT_REFUSED


# -- findings ------------------------------------------------------------------------------------


@compiled
def foreseen(lab, compound, named, q, unlicensed, tables):  # type: ignore[no-untyped-def]
    """Return whether a finding at confidence ``q`` would be published: accepted at once, or approved in time."""
    if not tables.gate.enabled:
        return lab.experiments[compound] > 0
    wording, words = tables.wording_of[tables.first_action[PUBLIC] + q], ACCEPT
    if tables.adequacy.enforced:
        rules = tables.adequacy
        score = tables.rule_score[rule_on(lab, compound, wording, named, tables)]
        words = words_verdict(score, rules.review_from, rules.reject_from)
    gate = gate_verdict(lab, compound, wording, tables)
    verdict = combined_verdict(gate, words, lab.experiments[compound], tables.gate.enforced)
    if verdict == REVIEW:
        return unlicensed <= 0.0 and lab.heartbeat + tables.gate.review_heartbeats <= tables.horizon
    return verdict == ACCEPT


@compiled
def trust_in(lab, compound, named, q, tables):  # type: ignore[no-untyped-def]
    """Return the share of a right finding's pay that its words leave."""
    if tables.discount == 0.0:
        return 1.0
    wording = tables.wording_of[tables.first_action[PUBLIC] + q]
    return trust(rule_on(lab, compound, wording, named, tables), tables)


@compiled
def best_finding(lab, compound, tables, book, knows):  # type: ignore[no-untyped-def]
    """Return the best confidence for a finding on a compound and its worth; (0, NEVER) if none can be published."""
    chosen, most = 0, NEVER
    if not is_open(lab, compound) or lab.experiments[compound] == 0:
        return chosen, most
    named = most_probable(lab.marginal[compound])
    p = right_with(lab, compound, named, knows)
    for q in range(book.n_confidences):
        unlicensed = max(0.0, book.asserted[named, q] - lab.licence[compound])
        if foreseen(lab, compound, named, q, unlicensed, tables):
            right = book.right[named, q] * trust_in(lab, compound, named, q, tables)
            worth = p * right + (1.0 - p) * book.wrong[named, q]
            if tables.debt.enforced:
                worth -= unlicensed
            if worth > most:
                chosen, most = q, worth
    return chosen, most


@compiled
def blocks(lab, compound, q, tables, book):  # type: ignore[no-untyped-def]
    """Return LAST if the finding's debt would block all later ones, so that it is published last; otherwise 0."""
    named = most_probable(lab.marginal[compound])
    debt = lab.debt + max(0.0, book.asserted[named, q] - lab.licence[compound])
    return LAST if tables.debt.enforced and debt > tables.debt.threshold else 0.0


@compiled
def good_hour(lab, tables, book):  # type: ignore[no-untyped-def]
    """Return whether publishing costs no more than its base cost now, or will not get cheaper."""
    if not tables.energy.enabled:
        return True
    at = book.next_good[lab.heartbeat]
    return at == lab.heartbeat or at >= tables.horizon


@compiled
def energy_needed(lab, open_compounds, book):  # type: ignore[no-untyped-def]
    """Return the energy for all findings still to be published, in thousandths."""
    return max(0.0, open_compounds + book.temper.energy_margin) * lab.price[PUBLIC]


@compiled
def must_publish(lab, findings, open_compounds, tables, book):  # type: ignore[no-untyped-def]
    """Return whether the heartbeats, or the energy, that remain only just suffice for the worthwhile findings."""
    if findings == 0:
        return False
    if not tables.energy.enabled:
        needed = findings + (1.0 if lab.debt > 0.0 else 0.0)
        if tables.gate.enabled:
            needed += book.temper.gate_beats
        return tables.horizon - lab.heartbeat <= needed
    at = book.next_good[lab.heartbeat]
    publishable = 0
    if at < tables.horizon:
        ready = lab.energy * book.left[lab.heartbeat] + book.brought[lab.heartbeat]
        publishable = min(tables.energy.cap, ready) + book.later[at]
    return publishable < energy_needed(lab, open_compounds, book)


@compiled
def spare_energy(lab, needed, tables, book):  # type: ignore[no-untyped-def]
    """Return the energy that can be spent now while keeping ``needed`` for findings, in thousandths."""
    at = min(book.next_good[lab.heartbeat], tables.horizon)
    if at >= tables.horizon:
        return lab.energy
    missing = max(0.0, needed - book.later[at]) - book.brought[lab.heartbeat]
    return lab.energy - max(0.0, missing / book.left[lab.heartbeat])


# -- plates --------------------------------------------------------------------------------------


@compiled
def wells_price(lab, verb, beats, tables, book):  # type: ignore[no-untyped-def]
    """Return the value of a plate's wells, bits."""
    temper = book.temper
    calibrates = tables.is_calibration[verb]
    wells = tables.wells[verb] * multiplier(tables.debt, lab.debt, tables.wells[verb], calibrates)
    scarce = (temper.usual_wells * beats / max(1.0, float(lab.wells))) ** temper.scarcity
    return temper.well_price * scarce * wells


@compiled
def calibration_worth(lab, verb, tables, book):  # type: ignore[no-untyped-def]
    """Return the value of a calibration, bits: what it repays, and the licence that it adds to the lot's rest."""
    rules, temper = tables.debt, book.temper
    learnt = book.learnt[verb, instrument_bin(lab, book.quality, tables)]
    repaid = min(
        rules.repay_max, rules.repay_base + min(rules.repay_learnt_max, rules.repay_per_bit * learnt)
    )
    worth = temper.repay_worth * min(lab.debt, repaid)
    if not lab.lot_calibrated:
        left = tables.lot_heartbeats - lab.heartbeat % tables.lot_heartbeats
        left = min(left, tables.horizon - lab.heartbeat)
        worth += temper.lot_worth * (1.0 - rules.uncalibrated_licence) * left / tables.lot_heartbeats
    return worth


@compiled
def exploration_worth(lab, verb, compound, tables, book):  # type: ignore[no-untyped-def]
    """Return the expected rise of a finding's score through a plate, bits."""
    k = pair_bin(lab, compound)
    return book.rise[verb, k] * book.share[verb, k % PEAK_BINS, instrument_bin(lab, book.quality, tables)]


@compiled
def exploration(lab, verb, compound, tables, book):  # type: ignore[no-untyped-def]
    """Return the action that runs a plate of a compound with the claim that is best on average."""
    claim = book.claims[verb, pair_bin(lab, compound) % PEAK_BINS, instrument_bin(lab, book.quality, tables)]
    return tables.first_action[verb] + compound * book.n_claims + claim


@compiled
def finding(verb, compound, q, tables, book):  # type: ignore[no-untyped-def]
    """Return the action that publishes a compound at a confidence."""
    return tables.first_action[verb] + compound * book.n_confidences + q


@compiled
def best_plate(lab, open_compounds, tables, book):  # type: ignore[no-untyped-def]
    """Return the plate with the best value for its price; WAIT while energy is short, NOTHING if none is worth it."""
    beats = max(1.0, tables.horizon - lab.heartbeat - open_compounds + 1.0)
    best, most, cost = NOTHING, book.temper.least_worth, 0
    for verb in range(tables.wells.shape[0]):
        if tables.wells[verb] == 0 or not is_allowed(lab, verb, tables):
            continue
        price = wells_price(lab, verb, beats, tables, book)
        if tables.is_calibration[verb]:
            worth = calibration_worth(lab, verb, tables, book) - price
            if worth > most:
                best, most = tables.first_action[verb], worth
                cost = verb_cost(lab, verb, -1, tables)
            continue
        for m in range(lab.published.shape[0]):
            if is_open(lab, m):
                worth = exploration_worth(lab, verb, m, tables, book) - price
                if worth > most:
                    best, most = exploration(lab, verb, m, tables, book), worth
                    cost = verb_cost(lab, verb, m, tables)
    if best == NOTHING or not tables.energy.enabled:
        return best
    needed = energy_needed(lab, open_compounds, book)
    return best if cost <= spare_energy(lab, needed, tables, book) else WAIT


# -- the voice -----------------------------------------------------------------------------------


@compiled
def too_dear(lab, verb, tables, book):  # type: ignore[no-untyped-def]
    """Return whether a cost is well above the cost from its ratings."""
    return lab.price[verb] > book.temper.dear_factor * tables.base_price[verb]


@compiled
def speak(lab, tables, book):  # type: ignore[no-untyped-def]
    """Return a reflection or a proposal if there is a case for one, otherwise NOTHING."""
    if not tables.proposals.enabled:
        return NOTHING
    left = tables.horizon - lab.heartbeat
    if left <= tables.proposals.review_heartbeats + book.temper.useful_beats:
        return NOTHING
    verb = most_deferred(lab, tables)
    if verb < 0 or lab.uses[verb] == 0 or not too_dear(lab, verb, tables, book):
        return NOTHING
    if lab.reflected:
        return tables.first_action[PROPOSE]
    if lab.slot < tables.energy.slots - 1 and is_affordable(lab, REFLECT, -1, tables):
        return tables.first_action[REFLECT]
    return NOTHING


@compiled
def request(lab, tables, book, knows):  # type: ignore[no-untyped-def]
    """Return an unaffordable action whose deferral is to be recorded, or NOTHING."""
    rules = tables.proposals
    if (
        not rules.enabled
        or tables.horizon - lab.heartbeat <= rules.review_heartbeats + book.temper.useful_beats
    ):
        return NOTHING
    if lab.slot >= tables.energy.slots - 1:
        return NOTHING
    for verb in (PUBLIC, DOSE_RESPONSE, SCREEN):
        asks = lab.review_at[verb] == 0 and lab.discomfort[verb] < rules.evidence_heartbeats
        asks = asks and lab.discomfort_at[verb, 0] != lab.heartbeat and too_dear(lab, verb, tables, book)
        if not asks or not is_allowed(lab, verb, tables):
            continue
        for m in range(lab.published.shape[0]):
            if verb_cost(lab, verb, m, tables) <= lab.energy or not is_open(lab, m):
                continue
            if verb == PUBLIC:
                q, worth = best_finding(lab, m, tables, book, knows)
                action = finding(PUBLIC, m, q, tables, book)
                if worth <= 0.0:
                    continue
            else:
                action = tables.first_action[verb] + m * book.n_claims
            if worth_deferring(lab, action, verb, m, tables) > 0.0:
                return action
    return NOTHING


# -- the policy ----------------------------------------------------------------------------------


@compiled
def choose(lab, tables, book, knows):  # type: ignore[no-untyped-def]
    """Return the base policy's action in a lab whose episode continues."""
    rest = tables.first_action[REST]
    if tables.debt.enforced and lab.debt > tables.debt.threshold:
        calibrates = is_allowed(lab, DMSO, tables) and is_affordable(lab, DMSO, -1, tables)
        return tables.first_action[DMSO] if calibrates else rest
    findings, open_compounds, m_best, q_best, most = 0, 0, 0, 0, NEVER
    for m in range(lab.published.shape[0]):
        if is_open(lab, m):
            open_compounds += 1
            q, worth = best_finding(lab, m, tables, book, knows)
            if worth > 0.0:
                findings += 1
                worth -= blocks(lab, m, q, tables, book)
                if worth > most:
                    m_best, q_best, most = m, q, worth
    publishes = findings > 0 and good_hour(lab, tables, book) and is_allowed(lab, PUBLIC, tables)
    publishes = publishes and is_affordable(lab, PUBLIC, m_best, tables)
    urgent = must_publish(lab, findings, open_compounds, tables, book)
    says = speak(lab, tables, book)
    if says != NOTHING:
        return says
    if urgent and publishes:
        return finding(PUBLIC, m_best, q_best, tables, book)
    plate = NOTHING
    if not urgent:
        plate = best_plate(lab, open_compounds, tables, book)
        if plate >= 0:
            return plate
    overflows = tables.energy.enabled and lab.energy + tables.energy.regeneration > tables.energy.cap
    if publishes and (plate == NOTHING or overflows):
        return finding(PUBLIC, m_best, q_best, tables, book)
    asked = request(lab, tables, book, knows)
    return asked if asked != NOTHING else rest
