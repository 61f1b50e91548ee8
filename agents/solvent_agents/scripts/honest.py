"""Honest: claims what it expects to learn and publishes what it believes. The reference for all other agents.

Every heartbeat it asks, in this order:

1. *Is anything but a calibration forbidden?* Then it calibrates.
2. *Is it time to publish?* A finding loses nothing by waiting and gains by every plate, so it publishes when the
   heartbeats left are just enough. The confidence is the one with the best expected log score under its belief,
   less the debt of what is not licensed. Where a gate judges findings it words none stronger than the gate will let out
   (``foresight.py``).
3. *Is a calibration worth its heartbeat?* When it can be expected to repay enough, or to teach enough about the
   instrument of a new lot.
4. *Which plate improves a finding most for its price?* The expected rise of a finding's score, less the wells at a
   price that rises as they get short. It claims a quantile of the gain's distribution, the newsvendor's choice: a
   bit claimed and not gained costs debt, a bit gained and not claimed costs licence.

Where acting costs energy, it keeps what its findings will need in the hours when they can be published (``saving.py``),
spends the rest on plates, waits for the better plate rather than take the one that it can pay already, and speaks up
where a cost is well above what its ratings say (``voice.py``).

Its constants were measured on seeds below 10,000 (docs/why_these_numbers.md);
evaluations begin at 10,000.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvent.lab.actions import action_table
from solvent.lab.mechanisms.publication import asserted_bits, log_score
from solvent.lab.params import LabParams
from solvent.lab.tables import debt_rules, tables_for
from solvent.lab.verbs import EXPERIMENTS, Verb
from solvent_agents.agent import Actions, Observations
from solvent_agents.planning.expected_gain import Forecaster, quantile
from solvent_agents.planning.foresight import Foresight
from solvent_agents.reading import Reader, Reading, action_index
from solvent_agents.scripts.saving import Savings
from solvent_agents.scripts.voice import Habits, Voice

__all__ = ["Honest", "Manner", "finding_scores"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

EXPLORE = -1
HABITS = Habits()


@dataclasses.dataclass(frozen=True)
class Manner:
    """The constants of the script."""

    claim_quantile: float = 0.5  # of the gain's distribution
    well_price: float = 0.02  # bits a well, when the wells left are `usual_wells` for each heartbeat left
    usual_wells: float = 12.0  # wells a heartbeat
    repay_worth: float = 0.1  # bits: calibrate when repaying saves as much more than its wells are worth
    learn_worth: float = 0.8  # bits: calibrate when its plate can be expected to teach as much
    learn_beats: int = 4  # heartbeats that a lot must still have for that, or to be calibrated at all
    learn_plates: float = 2.0  # plates of vehicle wells that must be affordable for that
    energy_price: float = 0.05  # bits a unit of energy
    energy_margin: float = -0.5  # findings for which energy is kept beyond those to come
    usual_energy: float = 5.0  # energy of a plate, to know how many there can still be
    gate_beats: int = 2  # heartbeats by which it publishes earlier where a gate may hold a finding up
    habits: Habits = HABITS  # of its voice


def finding_scores(params: LabParams) -> tuple[Floats, Floats, Floats]:
    """Return the log score of a right finding, that of a wrong one, and the bits that both assert.

    Each is by the class named and the confidence, of shape ``(G, Q)``, in bits.
    """
    prior, confidences = params.assay.class_prior, params.vocabulary.confidences
    right = np.array([[log_score(q, p, True) for q in confidences] for p in prior])
    wrong = np.array([[log_score(q, p, False) for q in confidences] for p in prior])
    asserted = np.array([[asserted_bits(q, p) for q in confidences] for p in prior])
    return right, wrong, asserted


class Honest:
    """The honest script. ``manner`` has its constants."""

    name = "honest"

    def __init__(self, params: LabParams, seed: int = 0, manner: Manner | None = None) -> None:
        self.params = params
        self.manner = manner or Manner()
        self.reader = Reader(params)
        self.actions = action_index(params)
        self.forecaster = Forecaster(params)
        self.rules = debt_rules(params)
        self.savings = Savings(params)
        self.voice = Voice(params, self.manner.habits)
        self.foresight = Foresight(params)
        self.verbs: Ints = action_table(params)["verb"].astype(np.int64)
        self.wells: Any = tables_for(params).wells
        self.right, self.wrong, self.asserted = finding_scores(params)

    def act(self, observations: Observations, masks: NDArray[Any]) -> Actions:
        """Return actions for ``n`` labs."""
        seen = self.reader.read(observations)
        may = masks.astype(np.bool_)
        worth, finding = self.best_findings(seen)
        labs = np.arange(len(worth))
        publish = finding[labs, worth.argmax(axis=1)]
        findings = (worth > 0.0).sum(axis=1)
        blocked = self.is_blocked(seen, may)
        may_calibrate = may[:, self.actions.dmso] & self.accepts_calibration(seen, blocked)
        may_explore = may[:, self.actions.screen[:, 0]].any(axis=1)
        may_publish = may[labs, publish] & (findings > 0)
        saves = self.must_save(seen, findings)
        spare = self.spare_energy(seen)

        rules: list[tuple[Any, Any]] = [
            (blocked & may_calibrate & (seen.debt > 0.0), self.actions.dmso),
            (saves & may_publish & self.good_hour(seen), publish),
            (may_calibrate & self.calibration_is_due(seen), self.actions.dmso),
            (may_explore & seen.unpublished.any(axis=1) & ~saves & (spare > 0.0), EXPLORE),
            (may_calibrate & (seen.debt > 0.0) & ~saves, self.actions.dmso),
            (may_publish & self.good_hour(seen), publish),
        ]
        chosen: Ints = np.select([when for when, _ in rules], [what for _, what in rules], self.actions.rest)
        explore = np.flatnonzero(chosen == EXPLORE)
        if len(explore):
            chosen[explore] = self.best_experiment(seen.rows(explore), may[explore])
        return self.voice.speak(seen, may, chosen, publish)

    def is_blocked(self, seen: Reading, may: NDArray[np.bool_]) -> Flags:
        """Return whether debt forbids all but calibrations, shape ``(n,)``."""
        if self.savings.enabled:
            return seen.blocked
        others = np.append(self.actions.screen[:, 0], self.actions.publish_public[:, 0])
        blocked: Flags = np.logical_not(may[:, others].any(axis=1))
        return blocked

    def accepts_calibration(self, seen: Reading, blocked: Flags) -> Flags:
        """Return in which labs a calibration is considered at all: in all of them; shape ``(n,)``."""
        return np.ones(blocked.shape, np.bool_)

    def must_save(self, seen: Reading, findings: Ints) -> Flags:
        """Return whether heartbeats, or energy, only just suffice for the worthwhile findings; shape ``(n,)``."""
        hours_needed = findings + (seen.debt > 0.0)  # one more, to repay what publishing cost
        if self.params.gate.enabled:
            hours_needed = hours_needed + self.manner.gate_beats
        if not self.savings.enabled:
            late: Flags = np.logical_and(findings > 0, seen.beats_left <= hours_needed)
            return late
        publishable = self.savings.publishable(seen.heartbeat, seen.energy)
        short: Flags = np.logical_and(publishable < self.needed(seen), findings > 0)
        return short

    def needed(self, seen: Reading) -> Floats:
        """Return the energy to keep for findings, less those that may stay unpublished; shape ``(n,)``."""
        findings = np.maximum(0.0, seen.unpublished.sum(axis=1) + self.manner.energy_margin)
        energy: Floats = findings * self.voice.price(seen)[:, Verb.PUBLISH_PUBLIC]
        return energy

    def good_hour(self, seen: Reading) -> Flags:
        """Return whether publishing costs no more than its base cost now, or will not get cheaper; shape ``(n,)``."""
        if not self.savings.enabled:
            return np.ones(len(seen.heartbeat), np.bool_)
        at = self.savings.next_good[seen.heartbeat]
        good: Flags = (at == seen.heartbeat) | (at >= self.params.budget.heartbeats)
        return good

    def spare_energy(self, seen: Reading) -> Floats:
        """Return the energy that findings will not need, shape ``(n,)``."""
        return self.savings.spendable(seen.heartbeat, seen.energy, self.needed(seen))

    def best_findings(self, seen: Reading) -> tuple[Floats, Ints]:
        """Return each compound's worth at its best confidence, bits, and the action; shape ``(n, M)``."""
        named = seen.marginal.argmax(axis=-1)
        score = self.expected_scores(seen)
        unlicensed = np.maximum(0.0, self.asserted[named] - seen.licence[..., None])
        let_through = self.foresight.passes(seen, unlicensed)
        worth = np.where(let_through, score, -np.inf) - (unlicensed if self.rules.enforced else 0.0)
        worth = np.where((seen.unpublished & (seen.experiments > 0))[..., None], worth, -np.inf)
        compounds = np.arange(worth.shape[1])
        return worth.max(axis=-1), self.actions.publish_public[compounds, worth.argmax(axis=-1)]

    def expected_scores(self, seen: Reading) -> Floats:
        """Return the expected score of a finding by compound and confidence, bits; shape ``(n, M, Q)``."""
        named, peak = seen.marginal.argmax(axis=-1), seen.peak[..., None]
        right = self.right[named] * self.foresight.trust(seen)
        scores: Floats = peak * right + (1.0 - peak) * self.wrong[named]
        return scores

    def calibration_is_due(self, seen: Reading) -> Flags:
        """Return whether a calibration repays or teaches enough, or the lot needs one; shape ``(n,)``."""
        rules, manner = self.rules, self.manner
        learnt = self.forecaster.calibration(seen.instrument)
        repaid = rules.repay_base + np.minimum(rules.repay_learnt_max, rules.repay_per_bit * learnt)
        repaid = np.minimum(seen.debt, np.minimum(repaid, rules.repay_max))
        wells = seen.inflation * self.wells[Verb.DMSO]
        price = self.well_price(seen) * wells
        repays = rules.enforced & (repaid * self.growth(seen) >= manner.repay_worth + price)
        matters = (learnt >= manner.learn_worth) | ~seen.lot_calibrated
        serves = (seen.lot_beats_left >= manner.learn_beats) & (seen.wells >= manner.learn_plates * wells)
        due: Flags = repays | (matters & serves)
        return due

    def growth(self, seen: Reading) -> Floats:
        """Return by how much interest would multiply the debt to the end of the episode, shape ``(n,)``."""
        rules = self.rules
        cap = np.maximum(1.0, rules.interest_cap / np.maximum(seen.debt, 1e-9))
        grown: Floats = np.minimum((1.0 + rules.interest) ** seen.beats_left, cap)
        return grown

    def well_price(self, seen: Reading) -> Floats:
        """Return the price of a well, bits, which rises as wells get scarce; shape ``(n,)``."""
        scarcity = self.manner.usual_wells / np.maximum(1.0, seen.wells / self.plates_left(seen))
        price: Floats = self.manner.well_price * scarcity**2
        return price

    def best_experiment(self, seen: Reading, may: Flags) -> Ints:
        """Return the experiment that improves a finding most for its price, with its claim; shape ``(n,)``.

        In each of these labs some experiment on an unpublished compound must be possible.
        """
        manner = self.manner
        budget = self.energy_to_come(seen)
        well_price = self.well_price(seen)
        now = self.score_of(seen.peak)
        values, costs = [], []
        for verb in EXPERIMENTS:
            wanted = self.wanted(seen, verb, may)
            rise = self.forecaster.expected(
                verb, seen.instrument, seen.marginal, wanted, of=lambda _, peaks: self.score_of(peaks)
            )
            price = well_price * seen.inflation * self.wells[verb]
            value = rise - now - price[:, None]
            if self.savings.enabled:
                energy = self.cost_of(seen, verb)
                value = np.where(energy <= budget[:, None], value - manner.energy_price * energy, -np.inf)
                costs.append(energy)
            values.append(value)
        stacked = np.stack(values, axis=1).reshape(len(now), -1)
        number, compound = np.divmod(stacked.argmax(axis=1), now.shape[1])
        chosen = np.empty(len(now), np.int64)
        for which, verb in enumerate(EXPERIMENTS):
            rows = np.flatnonzero(number == which)
            if len(rows):
                claim = self.claim(verb, seen.rows(rows), compound[rows])
                chosen[rows] = self.actions.experiment(verb, compound[rows], claim)
        if self.savings.enabled:
            labs, spare = np.arange(len(now)), self.spare_energy(seen)
            energy = np.stack(costs, axis=1).reshape(len(now), -1)[labs, stacked.argmax(axis=1)]
            runs = may[labs, chosen] & (energy <= spare)
            chosen = np.where(runs, chosen, self.actions.rest)
        return chosen

    def wanted(self, seen: Reading, verb: Verb, may: Flags) -> Flags:
        """Return the compounds to run a plate on, now or once there is energy for it; shape ``(n, M)``."""
        first = self.actions.experiment(verb, np.arange(seen.unpublished.shape[1]), 0)
        wanted: Flags = seen.unpublished & (
            may[:, first] | self.savings.waits_only_for_energy(seen, verb)[:, None]
        )
        return wanted

    def plates_left(self, seen: Reading) -> Any:
        """Return how many plates heartbeats, or energy, still allow; shape ``(n,)``."""
        if not self.savings.enabled:
            return np.maximum(1, seen.beats_left - seen.unpublished.sum(axis=1) + 1)
        return np.maximum(1.0, self.energy_to_come(seen) / self.manner.usual_energy)

    def energy_to_come(self, seen: Reading) -> Floats:
        """Return the energy for experiments from now to the end, shape ``(n,)``."""
        return seen.energy + self.savings.income * (seen.beats_left - 1) - self.needed(seen)

    def cost_of(self, seen: Reading, verb: Verb) -> Floats:
        """Return the energy of an experiment on each compound, shape ``(n, M)``."""
        again = np.where(seen.done[:, :, EXPERIMENTS.index(verb)], self.params.energy.similar, 1.0)
        cost: Floats = seen.cost[:, verb, None] * again
        return cost

    def score_of(self, peak: Floats) -> Floats:
        """Return the expected score of a finding that is right with probability ``peak``, bits; any shape."""
        score = peak[..., None] * self.right.mean(axis=0) + (1.0 - peak[..., None]) * self.wrong.mean(axis=0)
        best: Floats = np.maximum(0.0, score.max(axis=-1))
        return best

    def claim(self, verb: Verb, seen: Reading, compound: Ints) -> Ints:
        """Return the index of the claim for an experiment on ``compound``; all of shape ``(n,)``."""
        own = seen.marginal[np.arange(len(compound)), compound]
        weights, gains, _ = self.forecaster.experiment(verb, seen.instrument, own)
        return self.actions.claim_below(quantile(weights, gains, self.manner.claim_quantile))
