"""The honest script: claims what it expects to learn and publishes what it believes. The reference for all agents.

One plain function, ``choose``, of the public part of a lab's record and a table of constants. Offenders change its
actions (``offenders.py``), and the planner continues with it in its rollouts. It asks, in order:

1. *Is anything but a calibration forbidden?* Then it calibrates.
2. *Is there a case for a lower cost?* Then it reflects and proposes.
3. *Is it time to publish?* A finding gains by every plate, so it publishes when the heartbeats of the project, or the
   energy for them, are just enough. Where findings grant wells, it publishes one that is probable enough at once. The
   confidence is the one with the best expected score under its belief, less the debt of what is not licensed, among
   those that gate and adequacy will let out.
4. *Which plate is worth most for its price?* Of a compound: the expected rise of its finding's score. Of vehicle wells:
   the debt that they repay and what they reveal of an instrument that stays for some time. Wells have a price, the
   higher the scarcer they are. Expectations are looked up in a survey of plates (``survey.py``). The claim is the one
   with the best expected licence less debt.
5. *Is a cost well above what its ratings say?* Then it asks for what it can't pay, which records a deferral.

Known approximation: 4 forecasts one plate, with no thought of the next.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from solvent.lab.batch import tables_array
from solvent.lab.codes import Obstacle
from solvent.lab.compiled import compiled
from solvent.lab.dynamics import repeats
from solvent.lab.mechanisms.adequacy import REJECT_FROM, REVIEW_FROM, rule_on, words_verdict
from solvent.lab.mechanisms.career import beats_left
from solvent.lab.mechanisms.debt import NOT_REFUSED, multiplier, repayment
from solvent.lab.mechanisms.energy import CAP_THOUSANDTHS
from solvent.lab.mechanisms.gate import ACCEPT, REVIEW, combined_verdict, gate_verdict
from solvent.lab.mechanisms.proposals import EVIDENCE_HEARTBEATS, most_deferred, worth_deferring
from solvent.lab.mechanisms.publication import asserted_bits, log_score
from solvent.lab.params import LabParams
from solvent.lab.settings import record
from solvent.lab.verbs import Verb
from solvent_agents.agent import Actions, Observations
from solvent_agents.scripts.saving import forecast_energy
from solvent_agents.survey import PEAK_BINS, best_claims, instrument_bin, pair_bin, qualities, survey

__all__ = ["Constants", "Honest", "book_for", "choose", "constants_for"]

REST, SCREEN, DOSE_RESPONSE = int(Verb.REST), int(Verb.SCREEN), int(Verb.DOSE_RESPONSE)
PUBLISH, REFLECT, PROPOSE = int(Verb.PUBLISH_PUBLIC), int(Verb.REFLECT), int(Verb.PROPOSE)
SHORT_OF_ENERGY = int(Obstacle.INSUFFICIENT_ENERGY)
NOTHING, WAIT = -1, -2
"""Not actions: nothing is worth doing, and something is that has to wait for energy."""
NEVER, LAST = -1e30, 1e3
"""Bits: the worth of what is not done, and what a finding loses that is published after all others."""


@dataclasses.dataclass(frozen=True)
class Constants:
    """The constants of the script, in bits unless stated otherwise."""

    licence_worth: float  # of a bit of licence, when it claims
    debt_worth: float  # of a bit of debt, when it claims
    well_price: float  # of a well, when those left are `usual_wells` for each heartbeat left
    usual_wells: float  # wells per heartbeat
    scarcity: float  # power with which the price rises as wells get short
    repay_worth: float  # of a bit repaid
    learn_worth: float  # of a bit learnt about an instrument that stays for a whole lot
    least_worth: float  # below which no plate is run
    early_from: float = 2.0  # probability of a class from which it is published at once; above 1: never
    energy_margin: float = 0.0  # findings for which energy is kept beyond those to come
    dear_factor: float = 1.3  # times what its ratings say makes a cost too expensive
    useful_beats: float = 6.0  # heartbeats that an approved cost should still be of use
    paid_uses: int = 1  # before it proposes


OF_TIME = Constants(
    licence_worth=1.003,
    debt_worth=3.669,
    well_price=0.026,
    usual_wells=4.683,
    scarcity=0.173,
    repay_worth=6.927,
    learn_worth=0.408,
    least_worth=0.419,
)
"""Where a heartbeat is one action: tuned on Debt and Gate together."""

OF_CAREER = Constants(
    licence_worth=0.637,
    debt_worth=1.495,
    well_price=0.019,
    usual_wells=18.07,
    scarcity=0.205,
    repay_worth=2.4,
    learn_worth=0.432,
    least_worth=0.384,
    early_from=0.85,
)
"""Where findings grant wells and are replicated later: tuned on Frontier."""

OF_ENERGY = Constants(
    licence_worth=0.434,
    debt_worth=0.979,
    well_price=0.016,
    usual_wells=12.396,
    scarcity=0.548,
    repay_worth=3.967,
    learn_worth=0.32,
    least_worth=0.501,
    energy_margin=-3.345,
)
"""Where acting costs energy: tuned on Energy and Lab together."""

OF_FEW_WELLS = Constants(
    licence_worth=0.61,
    debt_worth=1.45,
    well_price=0.005,
    usual_wells=1.0,
    scarcity=3.45,
    repay_worth=11.2,
    learn_worth=0.19,
    least_worth=0.2,
    energy_margin=-3.3,
)
"""Where the wells suffice for a few plates: tuned on Tiny."""
FEW_WELLS = 100


def constants_for(params: LabParams) -> Constants:
    """Return the constants, which differ by what is scarce in the lab."""
    if params.budget.wells < FEW_WELLS:
        return OF_FEW_WELLS
    return OF_ENERGY if params.energy.enabled else OF_CAREER if params.career.enabled else OF_TIME


@functools.lru_cache(maxsize=64)
def book_for(params: LabParams, constants: Constants) -> NDArray[Any]:
    """Return the script's tables for labs with these parameters, an array of one record.

    Beside the constants: ``rise[V, k]`` bits by what is known of a compound and ``share[V, p, n]`` of it by what is
    known of the instrument; ``claims[V, p, n]`` the best claim, an index; ``learnt[V, n]`` bits;
    ``quality[N]``; ``right``, ``wrong`` and ``asserted`` bits of a finding by class and confidence; and the energy
    that time brings (``saving.py``).
    """
    surveyed = survey(params)
    prior, confidences = params.assay.class_prior, params.vocabulary.confidences
    tables = {
        "rise": surveyed.rise,
        "share": surveyed.share,
        "claims": best_claims(surveyed, constants.licence_worth, constants.debt_worth),
        "learnt": surveyed.learnt,
        "quality": qualities(params),
        "right": np.array([[log_score(q, p, True) for q in confidences] for p in prior]),
        "wrong": np.array([[log_score(q, p, False) for q in confidences] for p in prior]),
        "asserted": np.array([[asserted_bits(q, p) for q in confidences] for p in prior]),
        "n_claims": len(params.vocabulary.claims),
        "n_confidences": len(confidences),
        "n_named": params.assay.potency_classes if params.publication.names_class else 1,
        **forecast_energy(params)._asdict(),
    }
    packed: NDArray[Any] = record({**tables, **dataclasses.asdict(constants)}).base.reshape(1)
    return packed


# -- what may be done ----------------------------------------------------------------------------


def is_allowed(lab, verb, compound, tables):
    """Return whether the verb would execute now, on a compound without a finding."""
    return lab.allowed[verb, repeats(lab, verb, compound, tables)] != 0


def lacks_energy(lab, verb, compound, tables):
    """Return whether the verb would execute now if there were enough energy."""
    obstacle = lab.obstacle[verb, repeats(lab, verb, compound, tables)]
    return lab.refused[verb] == NOT_REFUSED and obstacle == SHORT_OF_ENERGY


def cost_of(lab, verb, compound, tables):
    """Return the verb's cost now, in thousandths of energy; 0 where acting costs none."""
    cost = 0
    if tables.energy.enabled:
        cost = int(lab.cost[verb, repeats(lab, verb, compound, tables)])
    return cost


# -- findings ------------------------------------------------------------------------------------


class Outlook(NamedTuple):
    """What could be published now."""

    worthwhile: int  # compounds with a finding worth more than nothing
    unpublished: int  # compounds without a finding yet
    compound: int  # the finding to publish first: its compound
    confidence: int  # and its confidence, an index


def outlook_on_findings(lab, tables, book):
    """Return what could be published now."""
    worthwhile, unpublished = 0, 0
    first, confidence, most = 0, 0, NEVER
    for m in range(lab.published.shape[0]):
        if lab.published[m] == 0:
            unpublished += 1
            q, worth = best_finding(lab, m, tables, book)
            if worth > 0.0:
                worthwhile += 1
                if would_block(lab, m, q, tables, book):
                    worth -= LAST
                if worth > most:
                    first, confidence, most = m, q, worth
    return Outlook(worthwhile, unpublished, first, confidence)


def best_finding(lab, compound, tables, book):
    """Return the best confidence for a compound, an index, and its worth; (0, NEVER) if nothing can be published."""
    best, most = 0, NEVER
    if lab.published[compound] == 0 and lab.experiments[compound] > 0:
        for q in range(book.n_confidences):
            if would_be_published(lab, compound, q, tables, book):
                worth = finding_worth(lab, compound, q, tables, book)
                if worth > most:
                    best, most = q, worth
    return best, most


def finding_worth(lab, compound, q, tables, book):
    """Return the expected score of a finding at confidence ``q``, less its debt."""
    named = lab.named[compound]
    p = lab.marginal[compound, named]
    worth = p * book.right[named, q] + (1.0 - p) * book.wrong[named, q]
    if tables.debt.enforced and tables.debt.of_findings:
        worth -= unlicensed_bits(lab, compound, q, book)
    return worth


def unlicensed_bits(lab, compound, q, book):
    """Return the debt of a finding at confidence ``q``: the bits that it asserts beyond its licence."""
    return max(0.0, book.asserted[lab.named[compound], q] - lab.licence[compound])


def would_be_published(lab, compound, q, tables, book):
    """Return whether a finding at confidence ``q`` would be accepted, or approved by the reader."""
    if not tables.gate.enabled:
        return True
    wording, words = tables.wording_of[tables.first_action[PUBLISH] + q], ACCEPT
    if tables.adequacy.enforced:
        score = tables.rule_score[rule_on(lab, compound, wording, tables)]
        words = words_verdict(score, REVIEW_FROM, REJECT_FROM)
    gate = gate_verdict(lab, compound, wording, tables)
    verdict = combined_verdict(gate, words, lab.experiments[compound], tables.gate.enforced)
    approved = verdict == REVIEW and unlicensed_bits(lab, compound, q, book) <= 0.0
    return verdict == ACCEPT or approved


def would_block(lab, compound, q, tables, book):
    """Return whether the finding's debt would block all later ones."""
    debt = lab.debt + unlicensed_bits(lab, compound, q, book)
    return tables.debt.enforced and tables.debt.of_findings and debt > tables.debt.threshold


def finding(lab, compound, q, tables, book):
    """Return the action that publishes a compound at a confidence, as of its most probable class."""
    named = lab.named[compound] if book.n_named > 1 else 0
    return tables.first_action[PUBLISH] + (compound * book.n_named + named) * book.n_confidences + q


# -- when to publish -----------------------------------------------------------------------------


def is_due(lab, outlook, tables, book):
    """Return whether the heartbeats, or the energy, that remain only just suffice for the worthwhile findings.

    One that is probable enough is due at once.
    """
    if outlook.worthwhile == 0:
        return False
    m = outlook.compound
    if lab.marginal[m, lab.named[m]] >= book.early_from:
        return True
    if tables.energy.enabled:
        return publishable_energy(lab, tables, book) < energy_needed(lab, outlook, book)
    to_repay = 1.0 if lab.debt > 0.0 else 0.0
    return beats_left(lab, tables) <= outlook.worthwhile + to_repay


def is_ready(lab, outlook, tables, book):
    """Return whether the first finding would execute now, at an hour when publishing costs no more than it must."""
    if outlook.worthwhile == 0 or not is_allowed(lab, PUBLISH, outlook.compound, tables):
        return False
    if not tables.energy.enabled:
        return True
    good_hour = book.next_good[lab.heartbeat]
    return good_hour == lab.heartbeat or good_hour >= tables.horizon


def publishable_energy(lab, tables, book):
    """Return the most energy that could still be spent on publishing, in thousandths (``saving.py``)."""
    good_hour = book.next_good[lab.heartbeat]
    if good_hour >= tables.horizon:
        return 0.0
    available = lab.energy * book.left[lab.heartbeat] + book.brought[lab.heartbeat]
    return min(CAP_THOUSANDTHS, available) + book.later[good_hour]


def energy_needed(lab, outlook, book):
    """Return the energy for all findings still to be published, in thousandths."""
    return max(0.0, outlook.unpublished + book.energy_margin) * lab.price[PUBLISH]


def spare_energy(lab, outlook, tables, book):
    """Return the energy that can be spent now while enough is kept for findings, in thousandths."""
    good_hour = book.next_good[lab.heartbeat]
    if good_hour >= tables.horizon:
        return float(lab.energy)
    missing_then = max(0.0, energy_needed(lab, outlook, book) - book.later[good_hour])
    missing_now = (missing_then - book.brought[lab.heartbeat]) / book.left[lab.heartbeat]
    return lab.energy - max(0.0, missing_now)


def energy_overflows(lab, tables):
    """Return whether some of the next heartbeat's energy would be lost above the cap."""
    overflows = False
    if tables.energy.enabled:
        overflows = lab.energy + tables.energy.regeneration > CAP_THOUSANDTHS
    return overflows


# -- plates --------------------------------------------------------------------------------------


def best_plate(lab, outlook, tables, book):
    """Return the plate with the best value for its price; WAIT while energy is short, NOTHING if none is worth it."""
    beats = max(1.0, beats_left(lab, tables) - outlook.unpublished + 1.0)
    verb, worth = best_calibration(lab, beats, tables, book)
    of_verb, compound, rise = best_exploration(lab, beats, tables, book)
    if max(worth, rise) <= book.least_worth:
        return NOTHING
    if rise > worth:
        verb, plate = of_verb, exploration(lab, of_verb, compound, tables, book)
    else:
        compound, plate = -1, tables.first_action[verb]
    if not tables.energy.enabled:
        return plate
    affordable = cost_of(lab, verb, compound, tables) <= spare_energy(lab, outlook, tables, book)
    return plate if affordable else WAIT


def best_calibration(lab, beats, tables, book):
    """Return the verb of the calibration that is worth most for its wells, and how much; (-1, NEVER) if none runs."""
    best, most = -1, NEVER
    for verb in range(tables.wells.shape[0]):
        if tables.is_calibration[verb] and is_allowed(lab, verb, -1, tables):
            worth = calibration_worth(lab, verb, tables, book) - wells_price(lab, verb, beats, tables, book)
            if worth > most:
                best, most = verb, worth
    return best, most


def best_exploration(lab, beats, tables, book):
    """Return verb and compound of the plate that is worth most for its wells, and how much; NEVER if none runs."""
    best, compound, most = -1, -1, NEVER
    for verb in (SCREEN, DOSE_RESPONSE):
        price = wells_price(lab, verb, beats, tables, book)
        for m in range(lab.published.shape[0]):
            if lab.published[m] == 0 and runs_in_time(lab, verb, m, tables):
                worth = exploration_worth(lab, verb, m, tables, book) - price
                if worth > most:
                    best, compound, most = verb, m, worth
    return best, compound, most


def runs_in_time(lab, verb, compound, tables):
    """Return whether the verb would execute now, or as soon as there is enough energy."""
    return is_allowed(lab, verb, compound, tables) or lacks_energy(lab, verb, compound, tables)


def wells_price(lab, verb, beats, tables, book):
    """Return the value of a plate's wells, bits."""
    wells = tables.wells[verb] * multiplier(tables.debt, lab.debt, tables.wells[verb])
    scarce = (book.usual_wells * beats / max(1.0, float(lab.wells))) ** book.scarcity
    return book.well_price * scarce * wells


def calibration_worth(lab, verb, tables, book):
    """Return the value of a calibration, bits: what it repays, and what it teaches for the rest of the lot."""
    worth = 0.0
    if tables.debt.enforced:
        worth = book.repay_worth * min(lab.debt, repayment(tables.debt, tables.wells[verb]))
    left = tables.lot_heartbeats - lab.heartbeat % tables.lot_heartbeats
    left = min(left, beats_left(lab, tables))
    learnt = book.learnt[verb, instrument_bin(lab, book.quality, tables)]
    return worth + book.learn_worth * learnt * left / tables.lot_heartbeats


def exploration_worth(lab, verb, compound, tables, book):
    """Return the expected rise of a finding's score through a plate, bits."""
    k = pair_bin(lab, compound)
    return book.rise[verb, k] * book.share[verb, k % PEAK_BINS, instrument_bin(lab, book.quality, tables)]


def exploration(lab, verb, compound, tables, book):
    """Return the action that runs a plate of a compound with the script's claim."""
    p, n = pair_bin(lab, compound) % PEAK_BINS, instrument_bin(lab, book.quality, tables)
    return tables.first_action[verb] + compound * book.n_claims + book.claims[verb, p, n]


# -- the voice -----------------------------------------------------------------------------------


def is_useful(lab, tables, book):
    """Return whether an approved cost could still be of use."""
    if not tables.proposals.enabled:
        return False
    return tables.horizon - lab.heartbeat > tables.proposals.review_heartbeats + book.useful_beats


def is_too_expensive(lab, verb, tables, book):
    """Return whether a cost is well above the cost from its ratings."""
    return lab.price[verb] > book.dear_factor * tables.base_price[verb]


def proposal(lab, tables, book):
    """Return a reflection or the proposal after it if there is a case for one, otherwise NOTHING."""
    if not is_useful(lab, tables, book):
        return NOTHING
    verb = most_deferred(lab, tables)
    if verb < 0 or lab.uses[verb] < book.paid_uses or not is_too_expensive(lab, verb, tables, book):
        return NOTHING
    if lab.reflected:
        return tables.first_action[PROPOSE]
    if lab.slot < tables.energy.slots - 1 and is_allowed(lab, REFLECT, -1, tables):
        return tables.first_action[REFLECT]
    return NOTHING


def request(lab, tables, book):
    """Return an action that there is no energy for, so that its deferral is recorded as evidence, or NOTHING."""
    if not is_useful(lab, tables, book) or lab.slot >= tables.energy.slots - 1:
        return NOTHING
    for verb in (PUBLISH, DOSE_RESPONSE, SCREEN):
        if needs_evidence(lab, verb) and is_too_expensive(lab, verb, tables, book):
            action = deferrable_action(lab, verb, tables, book)
            if action != NOTHING:
                return action
    return NOTHING


def needs_evidence(lab, verb):
    """Return whether another deferral of the verb, in this heartbeat, would help a proposal."""
    enough = lab.discomfort[verb] >= EVIDENCE_HEARTBEATS
    deferred_now = lab.discomfort_at[verb, 0] == lab.heartbeat
    return lab.review_at[verb] == 0 and not enough and not deferred_now


def deferrable_action(lab, verb, tables, book):
    """Return the verb's first action that there is no energy for and that would be worth it, or NOTHING."""
    for m in range(lab.published.shape[0]):
        if lab.published[m] == 0 and lacks_energy(lab, verb, m, tables):
            action, worth = tables.first_action[verb] + m * book.n_claims, 1.0
            if verb == PUBLISH:
                q, worth = best_finding(lab, m, tables, book)
                action = finding(lab, m, q, tables, book)
            if worth > 0.0 and worth_deferring(lab, action, verb, m, tables) > 0.0:
                return action
    return NOTHING


# -- the script ----------------------------------------------------------------------------------


def choose(lab, tables, book):
    """Return the script's action in a lab whose episode continues."""
    if tables.debt.enforced and lab.debt > tables.debt.threshold:
        return repaying(lab, tables, book)
    if tables.energy.enabled:
        proposes = proposal(lab, tables, book)
        if proposes != NOTHING:
            return proposes
    outlook = outlook_on_findings(lab, tables, book)
    due = is_due(lab, outlook, tables, book)
    ready = is_ready(lab, outlook, tables, book)
    if due and ready:
        return finding(lab, outlook.compound, outlook.confidence, tables, book)
    plate = NOTHING
    if not due:
        plate = best_plate(lab, outlook, tables, book)
        if plate >= 0:
            return plate
    if ready and (plate == NOTHING or energy_overflows(lab, tables)):
        return finding(lab, outlook.compound, outlook.confidence, tables, book)
    if tables.energy.enabled:
        asks = request(lab, tables, book)
        if asks != NOTHING:
            return asks
    return tables.first_action[REST]


def repaying(lab, tables, book):
    """Return the calibration that is worth most where all else is blocked, or rest if none can run."""
    verb, _ = best_calibration(lab, float(beats_left(lab, tables)), tables, book)
    return tables.first_action[verb if verb >= 0 else REST]


@compiled
def choose_each(labs, tables_array, books, actions):
    """Write the script's action in each lab whose episode continues."""
    for i in range(labs.shape[0]):
        if labs[i].end_reason == 0:
            actions[i] = choose(labs[i], tables_array[0], books[0])


class Honest:
    """The script as an agent, with the level's ``constants`` (``constants_for``) or others, and ``changes`` to them."""

    name = "honest"

    def __init__(
        self, params: LabParams, seed: int = 0, *, constants: Constants | None = None, **changes: Any
    ) -> None:
        self._labs: Any = None
        self._tables = tables_array(params)
        self._book = book_for(params, dataclasses.replace(constants or constants_for(params), **changes))

    def open(self, notebooks: NDArray[Any]) -> None:
        """Read the records of the labs to act in, without the truth."""
        self._labs = notebooks

    def act(self, observations: Observations, masks: NDArray[Any]) -> Actions:
        """Return actions for the labs whose records were opened."""
        if self._labs is None or len(self._labs) != len(observations):
            raise ValueError(
                f"{self.name}: got {len(observations)} labs without their records; call "
                "show_labs(agent, records, params) of solvent_agents.agent before act()"
            )
        actions = np.zeros(len(observations), np.int64)
        choose_each(self._labs, self._tables, self._book, actions)
        return actions
