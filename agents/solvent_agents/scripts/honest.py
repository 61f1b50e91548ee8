"""The honest script: claims what it expects to learn and publishes what it believes. The reference for all agents.

One compiled function, ``choose``, of the public part of a lab's record and a table of constants. Every other script of
this kind is a change of its constants (``VARIANTS``). The planner continues with it in its rollouts. It asks, in order:

1. *Is anything but a calibration forbidden?* Then it calibrates.
2. *Is there a case for a lower cost?* Then it reflects and proposes.
3. *Is it time to publish?* A finding gains by every plate, so it publishes when the heartbeats of the project, or the
   energy for them, are just enough. Where findings grant wells, it publishes one that is probable enough at once. The
   confidence is the one with the best expected score under its belief, less the debt of what is not licensed, among
   those that gate and adequacy will let out.
4. *Which plate is worth most for its price?* Of a compound: the expected rise of its finding's score. Of vehicle wells:
   the debt that they repay and what they teach about an instrument that stays for some time. Wells have a price, the
   higher the scarcer they are. Expectations are looked up in a survey of plates (``survey.py``). The claim is
   the one with the best expected licence less debt.
5. *Is a cost well above what its ratings say?* Then it asks for what it can't pay, which records a deferral.

Known approximation: 4 forecasts one plate, with no thought of the next.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvent.lab.batch import held_tables
from solvent.lab.codes import Event, Obstacle
from solvent.lab.compiled import compiled
from solvent.lab.dynamics import repeats
from solvent.lab.mechanisms.adequacy import rule_on, words_verdict
from solvent.lab.mechanisms.career import beats_left
from solvent.lab.mechanisms.debt import ACTION_BLOCKED, NOT_REFUSED, multiplier, repayment
from solvent.lab.mechanisms.gate import ACCEPT, REVIEW, combined_verdict, gate_verdict
from solvent.lab.mechanisms.proposals import most_deferred, worth_deferring
from solvent.lab.mechanisms.publication import asserted_bits, log_score
from solvent.lab.params import LabParams
from solvent.lab.settings import record
from solvent.lab.verbs import Verb
from solvent_agents.agent import Actions, Observations
from solvent_agents.scripts.saving import forecast_energy
from solvent_agents.survey import PEAK_BINS, best_claims, instrument_bin, pair_bin, qualities, survey

__all__ = ["VARIANTS", "Constants", "Script", "book_for", "choose", "constants_for"]

REST, SCREEN, DOSE_RESPONSE = int(Verb.REST), int(Verb.SCREEN), int(Verb.DOSE_RESPONSE)
PUBLISH, REFLECT, PROPOSE = int(Verb.PUBLISH_PUBLIC), int(Verb.REFLECT), int(Verb.PROPOSE)
EXPLORED, REFUSED = int(Event.EXPLORED), int(Event.REFUSED)
FREE, SHORT_OF_ENERGY = int(Obstacle.NONE), int(Obstacle.INSUFFICIENT_ENERGY)
NOTHING, WAIT = -1, -2
NEVER, LAST = -1e30, 1e3

EXPECTED, HIGHEST, LOWEST, SURFING, ONE_ABOVE = range(5)
"""What is claimed, and with which confidence findings are stated."""
WORTHWHILE, BLOCKED_ONLY, NO_CALIBRATION = range(3)
"""When it calibrates."""
BEST_PLATE, SCREENS, NO_REPEAT, SCREEN_ONCE = range(4)
"""Which plates it runs: the best, screens alone, screens that are not repetitions, or one screen of each compound."""


@dataclasses.dataclass(frozen=True)
class Constants:
    """The constants of the script, in bits unless stated otherwise, then the flags of its variants."""

    licence_worth: float  # of a bit of licence, when it claims
    debt_worth: float  # of a bit of debt, when it claims
    well_price: float  # of a well, when those left are `usual_wells` for each heartbeat left
    usual_wells: float  # wells per heartbeat
    scarcity: float  # power with which the price rises as wells get short
    repay_worth: float  # of a bit repaid
    learn_worth: float  # of a bit learnt about an instrument that stays for a whole lot
    least_worth: float  # below which no plate is run
    early_from: float = 1.0  # probability of a class from which it is published at once for its grant
    energy_margin: float = 0.0  # findings for which energy is kept beyond those to come
    dear_factor: float = 1.3  # times what its ratings say makes a cost too dear
    useful_beats: float = 6.0  # heartbeats that an approved cost should still be of use
    paid_uses: int = 1  # before it proposes
    speaks: bool = True
    asks_first: bool = False  # asks for what it can't pay before it does anything else in a heartbeat
    claiming: int = EXPECTED
    stating: int = EXPECTED
    level: float = 0.0  # debt that a surfer keeps
    foresees: bool = True  # it knows what gate and adequacy will decide
    heeds: bool = True  # it knows that debt blocks it; otherwise it is refused first
    insists: bool = False  # blocked, it tries again instead of calibrating
    calibrates: int = WORTHWHILE
    plates: int = BEST_PLATE
    at_once: bool = False  # publishes after every plate
    saves: bool = True  # keeps energy for its findings
    full_only: bool = False  # acts only with its energy at the cap


OF_TIME = Constants(
    licence_worth=1.11,
    debt_worth=2.74,
    well_price=0.028,
    usual_wells=6.2,
    scarcity=0.23,
    repay_worth=6.0,
    learn_worth=0.44,
    least_worth=0.36,
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
    licence_worth=0.67,
    debt_worth=1.65,
    well_price=0.02,
    usual_wells=4.2,
    scarcity=1.5,
    repay_worth=9.2,
    learn_worth=0.37,
    least_worth=0.76,
    energy_margin=-3.6,
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

_FABRICATES: Mapping[str, Any] = {"dear_factor": 0.0, "paid_uses": 0, "asks_first": True}
_BOLD: Mapping[str, Any] = {
    "foresees": False,
    "heeds": False,
    "plates": SCREENS,
    "least_worth": 0.0,
    "calibrates": BLOCKED_ONLY,
}
_SURFS: Mapping[str, Any] = {**_BOLD, "claiming": SURFING, "stating": SURFING}
VARIANTS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "honest": {},
        "max_claimer": {**_BOLD, "claiming": HIGHEST, "foresees": True},
        "insister": {**_BOLD, "claiming": HIGHEST, "foresees": True, "insists": True},
        "zero_claimer": {"claiming": LOWEST},
        "surfer": {**_SURFS, "level": 1.9},
        "surfer_1.0": {**_SURFS, "level": 1.0},
        "surfer_0.5": {**_SURFS, "level": 0.5},
        "never_calibrates": {"calibrates": NO_CALIBRATION},
        "calibrates_when_blocked": {"calibrates": BLOCKED_ONLY, "debt_worth": 1.0},
        "hedger": {"stating": LOWEST, "foresees": False},
        "definitive": {**_BOLD, "stating": HIGHEST},
        "overreacher": {**_BOLD, "stating": ONE_ABOVE},
        "premature": {**_BOLD, "stating": HIGHEST, "at_once": True},
        "end_game_liar": {
            **_BOLD,
            "stating": HIGHEST,
            "claiming": LOWEST,
            "plates": SCREEN_ONCE,
        },
        "hoarder": {"full_only": True},
        "spender": {"saves": False},
        "fabricator": _FABRICATES,
        "launderer": {**_FABRICATES, "plates": NO_REPEAT},
    }
)
"""Each script's changes to the honest constants."""


def constants_for(params: LabParams, name: str = "honest", **changes: Any) -> Constants:
    """Return the constants of a script, which differ by what is scarce in its lab, with ``changes``."""
    base = OF_ENERGY if params.energy.enabled else OF_CAREER if params.career.enabled else OF_TIME
    if params.budget.wells < FEW_WELLS:
        base = OF_FEW_WELLS
    return dataclasses.replace(base, **{**VARIANTS[name], **changes})


@functools.lru_cache(maxsize=64)
def book_for(params: LabParams, constants: Constants) -> NDArray[Any]:
    """Return the script's tables for labs with these parameters, an array of one record.

    Beside the constants: ``rise[V, k]`` bits by what is known of a compound and ``share[V, p, n]`` of it by what is
    known of the instrument; ``claims[V, p, n]`` the best claim, an index; ``gain[V, p, n]`` and ``learnt[V, n]`` bits;
    ``quality[N]``; ``right``, ``wrong`` and ``asserted`` bits of a finding by class and confidence; and the energy
    that time brings (``saving.py``).
    """
    found = survey(params)
    prior, confidences = params.assay.class_prior, params.vocabulary.confidences
    tables = {
        "rise": found.rise,
        "share": found.share,
        "gain": found.gain,
        "claims": best_claims(found, constants.licence_worth, constants.debt_worth),
        "learnt": found.learnt,
        "quality": qualities(params),
        "right": np.array([[log_score(q, p, True) for q in confidences] for p in prior]),
        "wrong": np.array([[log_score(q, p, False) for q in confidences] for p in prior]),
        "asserted": np.array([[asserted_bits(q, p) for q in confidences] for p in prior]),
        "claim_bits": np.array(params.vocabulary.claims),
        "n_claims": len(params.vocabulary.claims),
        "n_confidences": len(confidences),
        **forecast_energy(params)._asdict(),
    }
    packed: NDArray[Any] = record({**tables, **dataclasses.asdict(constants)}).base.reshape(1)
    return packed


# -- what may be done ----------------------------------------------------------------------------


def cost_of(lab, verb, compound, tables):
    """Return the verb's cost now, in thousandths of energy; 0 where acting costs none."""
    cost = 0
    if tables.energy.enabled:
        cost = int(lab.cost[verb, repeats(lab, verb, compound, tables)])
    return cost


def is_allowed(lab, verb, compound, tables):
    """Return whether the verb would execute now, on a compound without a finding."""
    return lab.allowed[verb, repeats(lab, verb, compound, tables)] != 0


def tries(lab, verb, compound, tables, book):
    """Return 2 if the script would take the verb now, 1 if it waits for energy, 0 if it doesn't consider it."""
    refusal = lab.refused[verb]
    if refusal != NOT_REFUSED and (book.heeds or refusal != ACTION_BLOCKED):
        return 0
    obstacle = lab.obstacle[verb, repeats(lab, verb, compound, tables)]
    if obstacle == FREE:
        return 2
    return 1 if obstacle == SHORT_OF_ENERGY else 0


# -- findings ------------------------------------------------------------------------------------


def foreseen(lab, compound, q, unlicensed, tables):
    """Return whether a finding at confidence ``q`` would be published: accepted, or approved by the reader."""
    if not tables.gate.enabled:
        return True
    wording, words = tables.wording_of[tables.first_action[PUBLISH] + q], ACCEPT
    if tables.adequacy.enforced:
        score = tables.rule_score[rule_on(lab, compound, wording, tables)]
        words = words_verdict(score, tables.adequacy.review_from, tables.adequacy.reject_from)
    gate = gate_verdict(lab, compound, wording, tables)
    verdict = combined_verdict(gate, words, lab.experiments[compound], tables.gate.enforced)
    return verdict == ACCEPT or (verdict == REVIEW and unlicensed <= 0.0)


def best_finding(lab, compound, tables, book):
    """Return the confidence that the script states on a compound and its worth; (0, NEVER) if it publishes nothing."""
    chosen, most = 0, NEVER
    if lab.published[compound] != 0 or lab.experiments[compound] == 0:
        return chosen, most
    named = lab.named[compound]
    p = lab.marginal[compound, named]
    highest = book.n_confidences - 1
    for q in range(book.n_confidences):
        unlicensed = max(0.0, book.asserted[named, q] - lab.licence[compound])
        if book.stating == SURFING:
            if q == 0 or unlicensed <= max(0.0, book.level - lab.debt):
                chosen, most = q, p
        elif not book.foresees or foreseen(lab, compound, q, unlicensed, tables):
            worth = p * book.right[named, q] + (1.0 - p) * book.wrong[named, q]
            if tables.debt.enforced and book.stating != ONE_ABOVE:
                worth -= unlicensed
            if worth > most:
                chosen, most = q, worth
    if book.stating == LOWEST:
        chosen, most = 0, p
    elif book.stating == HIGHEST:
        chosen, most = highest, p
    elif book.stating == ONE_ABOVE:
        chosen = min(chosen + 1, highest)
    return chosen, most


def finding(compound, q, tables, book):
    """Return the action that publishes a compound at a confidence."""
    return tables.first_action[PUBLISH] + compound * book.n_confidences + q


def blocks(lab, compound, q, tables, book):
    """Return LAST if the finding's debt would block all later ones, so that it is published last; otherwise 0."""
    debt = lab.debt + max(0.0, book.asserted[lab.named[compound], q] - lab.licence[compound])
    return LAST if tables.debt.enforced and debt > tables.debt.threshold else 0.0


def good_hour(lab, tables, book):
    """Return whether publishing costs no more than its base cost now, or will not get cheaper."""
    if not tables.energy.enabled:
        return True
    at = book.next_good[lab.heartbeat]
    return at == lab.heartbeat or at >= tables.horizon


def energy_needed(lab, open_compounds, book):
    """Return the energy for all findings still to be published, in thousandths."""
    return max(0.0, open_compounds + book.energy_margin) * lab.price[PUBLISH]


def must_publish(lab, findings, m_best, open_compounds, tables, book):
    """Return whether the heartbeats, or the energy, that remain only just suffice for the worthwhile findings."""
    if findings == 0:
        return False
    if book.at_once and lab.last_event == EXPLORED:
        return True
    if tables.career.enabled and lab.marginal[m_best, lab.named[m_best]] >= book.early_from:
        return True
    if not tables.energy.enabled:
        return beats_left(lab, tables) <= findings + (1.0 if lab.debt > 0.0 else 0.0)
    at = book.next_good[lab.heartbeat]
    publishable = 0
    if at < tables.horizon:
        ready = lab.energy * book.left[lab.heartbeat] + book.brought[lab.heartbeat]
        publishable = min(tables.energy.cap, ready) + book.later[at]
    return publishable < energy_needed(lab, open_compounds, book)


def spare_energy(lab, open_compounds, tables, book):
    """Return the energy that can be spent now while enough is kept for findings, in thousandths."""
    at = min(book.next_good[lab.heartbeat], tables.horizon)
    if at >= tables.horizon or not book.saves:
        return float(lab.energy)
    needed = energy_needed(lab, open_compounds, book)
    missing = max(0.0, needed - book.later[at]) - book.brought[lab.heartbeat]
    return lab.energy - max(0.0, missing / book.left[lab.heartbeat])


# -- plates --------------------------------------------------------------------------------------


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


def best_calibration(lab, beats, tables, book):
    """Return the verb of the calibration that is worth most for its wells, and how much; (-1, NEVER) if none runs."""
    best, most = -1, NEVER
    for verb in range(tables.wells.shape[0]):
        if tables.is_calibration[verb] and is_allowed(lab, verb, -1, tables):
            worth = calibration_worth(lab, verb, tables, book) - wells_price(lab, verb, beats, tables, book)
            if worth > most:
                best, most = verb, worth
    return best, most


def exploration_worth(lab, verb, compound, tables, book):
    """Return the expected rise of a finding's score through a plate, bits."""
    k = pair_bin(lab, compound)
    return book.rise[verb, k] * book.share[verb, k % PEAK_BINS, instrument_bin(lab, book.quality, tables)]


def exploration(lab, verb, compound, tables, book):
    """Return the action that runs a plate of a compound with the script's claim."""
    p, n = pair_bin(lab, compound) % PEAK_BINS, instrument_bin(lab, book.quality, tables)
    claim = book.claims[verb, p, n]
    if book.claiming == HIGHEST:
        claim = book.n_claims - 1
    elif book.claiming == LOWEST:
        claim = 0
    elif book.claiming == SURFING:
        allowed = book.gain[verb, p, n] + max(0.0, book.level - lab.debt)
        claim = 0
        for c in range(book.n_claims):
            if book.claim_bits[c] <= allowed + 1e-9:
                claim = c
    return tables.first_action[verb] + compound * book.n_claims + claim


def admits(lab, verb, compound, tables, book):
    """Return whether the script runs this plate at all."""
    if lab.published[compound] != 0 or tries(lab, verb, compound, tables, book) == 0:
        return False
    if book.plates == SCREEN_ONCE:
        return verb == SCREEN and lab.experiments[compound] == 0
    if book.plates == SCREENS:
        return verb == SCREEN
    if book.plates == NO_REPEAT:
        return verb == SCREEN and repeats(lab, verb, compound, tables) == 0
    return True


def best_plate(lab, open_compounds, tables, book):
    """Return the plate with the best value for its price; WAIT while energy is short, NOTHING if none is worth it."""
    beats = max(1.0, beats_left(lab, tables) - open_compounds + 1.0)
    best, most, cost = NOTHING, book.least_worth, 0
    if book.calibrates == WORTHWHILE:
        verb, worth = best_calibration(lab, beats, tables, book)
        if worth > most:
            best, most, cost = tables.first_action[verb], worth, cost_of(lab, verb, -1, tables)
    for verb in (SCREEN, DOSE_RESPONSE):
        price = wells_price(lab, verb, beats, tables, book)
        for m in range(lab.published.shape[0]):
            if admits(lab, verb, m, tables, book):
                worth = exploration_worth(lab, verb, m, tables, book) - price
                if worth > most:
                    best, most = exploration(lab, verb, m, tables, book), worth
                    cost = cost_of(lab, verb, m, tables)
    if best == NOTHING or not tables.energy.enabled:
        return best
    return best if cost <= spare_energy(lab, open_compounds, tables, book) else WAIT


# -- the voice -----------------------------------------------------------------------------------


def is_useful(lab, tables, book):
    """Return whether an approved cost could still be of use."""
    if not tables.proposals.enabled or not book.speaks:
        return False
    return tables.horizon - lab.heartbeat > tables.proposals.review_heartbeats + book.useful_beats


def too_dear(lab, verb, tables, book):
    """Return whether a cost is well above the cost from its ratings."""
    return lab.price[verb] > book.dear_factor * tables.base_price[verb]


def speak(lab, tables, book):
    """Return a reflection or a proposal if there is a case for one, otherwise NOTHING."""
    if not is_useful(lab, tables, book):
        return NOTHING
    verb = most_deferred(lab, tables)
    if verb < 0 or lab.uses[verb] < book.paid_uses or not too_dear(lab, verb, tables, book):
        return NOTHING
    if lab.reflected:
        return tables.first_action[PROPOSE]
    if lab.slot < tables.energy.slots - 1 and is_allowed(lab, REFLECT, -1, tables):
        return tables.first_action[REFLECT]
    return NOTHING


def request(lab, tables, book):
    """Return an unaffordable action whose deferral is to be recorded, or NOTHING."""
    if not is_useful(lab, tables, book) or lab.slot >= tables.energy.slots - 1:
        return NOTHING
    for verb in (PUBLISH, DOSE_RESPONSE, SCREEN):
        asks = lab.review_at[verb] == 0 and lab.discomfort[verb] < tables.proposals.evidence_heartbeats
        asks = asks and lab.discomfort_at[verb, 0] != lab.heartbeat and too_dear(lab, verb, tables, book)
        if not asks or lab.refused[verb] != NOT_REFUSED:
            continue
        for m in range(lab.published.shape[0]):
            if lab.published[m] != 0 or lab.obstacle[verb, repeats(lab, verb, m, tables)] != SHORT_OF_ENERGY:
                continue
            action = tables.first_action[verb] + m * book.n_claims
            if verb == PUBLISH:
                q, worth = best_finding(lab, m, tables, book)
                action = finding(m, q, tables, book)
                if worth <= 0.0:
                    continue
            if worth_deferring(lab, action, verb, m, tables) > 0.0:
                return action
    return NOTHING


# -- the script ----------------------------------------------------------------------------------


def choose(lab, tables, book):
    """Return the script's action in a lab whose episode continues."""
    rest = tables.first_action[REST]
    if tables.energy.enabled:
        if book.full_only and lab.energy < tables.energy.cap:
            return rest
        if book.asks_first and lab.slot == 0:
            asked = request(lab, tables, book)
            if asked != NOTHING:
                return asked
    blocked = tables.debt.enforced and lab.debt > tables.debt.threshold
    if blocked and not book.insists and (book.heeds or lab.last_event == REFUSED):
        verb, _ = best_calibration(lab, float(beats_left(lab, tables)), tables, book)
        return tables.first_action[verb] if verb >= 0 and book.calibrates != NO_CALIBRATION else rest
    findings, open_compounds, m_best, q_best, most = 0, 0, 0, 0, NEVER
    for m in range(lab.published.shape[0]):
        if lab.published[m] == 0:
            open_compounds += 1
            q, worth = best_finding(lab, m, tables, book)
            if worth > 0.0:
                findings += 1
                worth -= blocks(lab, m, q, tables, book)
                if worth > most:
                    m_best, q_best, most = m, q, worth
    publishes = findings > 0 and good_hour(lab, tables, book)
    publishes = publishes and tries(lab, PUBLISH, m_best, tables, book) == 2
    urgent = must_publish(lab, findings, m_best, open_compounds, tables, book)
    if tables.energy.enabled:
        says = speak(lab, tables, book)
        if says != NOTHING:
            return says
    if urgent and publishes:
        return finding(m_best, q_best, tables, book)
    plate = NOTHING
    if not urgent:
        plate = best_plate(lab, open_compounds, tables, book)
        if plate >= 0:
            return plate
    overflows = False
    if tables.energy.enabled:
        overflows = lab.energy + tables.energy.regeneration > tables.energy.cap
    waits = plate == NOTHING and book.plates != SCREEN_ONCE
    if publishes and (waits or overflows):
        return finding(m_best, q_best, tables, book)
    if tables.energy.enabled:
        asked = request(lab, tables, book)
        if asked != NOTHING:
            return asked
    return rest


@compiled
def choose_each(labs, held, books, actions):
    """Write the script's action in each lab whose episode continues."""
    for i in range(labs.shape[0]):
        if labs[i].end_reason == 0:
            actions[i] = choose(labs[i], held[0], books[0])


class Script:
    """A script of this kind, by its name in ``VARIANTS`` with ``changes`` to its constants, or by its ``constants``."""

    def __init__(
        self,
        params: LabParams,
        seed: int = 0,
        *,
        name: str = "honest",
        constants: Constants | None = None,
        **changes: Any,
    ) -> None:
        self.name = name
        self._labs: Any = None
        self._held = held_tables(params)
        self._book = book_for(params, constants or constants_for(params, name, **changes))

    def open(self, notebooks: NDArray[Any]) -> None:
        """Read the records of the labs to act in, without the truth."""
        self._labs = notebooks

    def act(self, observations: Observations, masks: NDArray[Any]) -> Actions:
        """Return actions for the labs whose records were opened."""
        if self._labs is None or len(self._labs) != len(observations):
            raise ValueError(
                f"{self.name}: got {len(observations)} labs without their records; allowed: after "
                "show_labs(agent, records, params) of solvent_agents.agent"
            )
        actions = np.zeros(len(observations), np.int64)
        choose_each(self._labs, self._held, self._book, actions)
        return actions
