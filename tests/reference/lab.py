"""A slow lab, written from the rules and not from the code: NumPy, dictionaries and one function per rule.

It draws nothing: the hidden truth is given at the start, the readouts of a plate with its action. Everything else is
computed here. Energy is in thousandths, as in the lab, so that sums are exact.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy.stats import norm

from solvent.lab.actions import action_table
from solvent.lab.params import LabParams
from solvent.lab.verbs import VERBS, Verb
from solvent.lab.words.measured import measured_for, policy_of

FREE = {Verb.REST, Verb.REFLECT, Verb.PROPOSE}
CALIBRATIONS = {Verb.DMSO, Verb.BASELINE, Verb.CALIBRATION}
EVIDENCE = (0, 1, 2, 2, 3)  # no look, one, two, three, four: none, thin, reasonable, ample


class ReferenceLab:
    """One lab; ``step`` returns what came of an action as a namespace."""

    def __init__(self, params: LabParams, truth: Any) -> None:
        assay, n = params.assay, len(params.assay.compounds)
        self.params, self.table = params, action_table(params)
        self.potency, self.fair = truth["potency"].tolist(), truth.get("fair")
        self.prior = np.array(assay.class_prior)
        self.states = [(gain, sd) for gain in assay.gains for sd in assay.plate_sds]
        self.instrument = np.full(len(self.states), 1 / len(self.states))
        self.joint = np.tile(self.prior, (n, len(self.states), 1)).astype(np.float32)  # p(class | instrument)
        self.marginal = np.tile(self.prior, (n, 1))
        self.lowest = np.full(n, bits_of(self.prior))
        self.measured_in_lot = [False] * n
        self.plates = [[] for _ in range(n)]  # verbs
        self.page: list[dict[int, int]] = [{} for _ in range(n)]  # dose -> bin
        self.fit: list[tuple[int, int] | None] = [None] * n  # class, strength
        self.published, self.licence = [False] * n, [0.0] * n
        self.debt, self.wells, self.heartbeat, self.slot = 0.0, params.budget.wells, 0, 0
        self.over = ""
        self.energy = thousandths(params.energy.start)
        self.price = {verb: int(truth["price"][verb]) for verb in Verb} if params.energy.enabled else {}
        self.uses, self.past = dict.fromkeys(Verb, 0), {verb: [] for verb in Verb}
        self.done: set[tuple[Verb, int]] = set()
        self.reflected = False
        self.felt: dict[Verb, list[int]] = {verb: [] for verb in Verb}  # deferrals, not yet argued
        self.last_felt: dict[Verb, int] = {}
        self.pending: dict[Verb, SimpleNamespace] = {}
        self.changed: dict[Verb, int] = {}  # heartbeats of the last approvals
        self.waiting: list[SimpleNamespace] = []  # findings to be replicated
        self.read: dict[tuple[int, int], list[int]] = {}  # readouts in this lot by compound and dose
        self.read_earlier: dict[tuple[int, int], list[int]] = {}
        self.vehicle: list[int] = []
        self.last_plate_alone = params.observation.belief == "plate"
        self.measured, self.policy = measured_for(params), policy_of(params)

    # -- section 1: the world and the belief

    def likelihood(self, verb: Verb, readout: int, seen: int) -> np.ndarray:
        """Return p(bin | instrument, class), shape (instruments, classes)."""
        assay, template = self.params.assay, getattr(self.params.plates, VERBS[verb].name)
        edges = np.linspace(assay.bin_low, assay.bin_high, assay.bins + 1)
        low = -np.inf if seen == 0 else edges[seen]
        high = np.inf if seen == assay.bins - 1 else edges[seen + 1]
        viability = np.ones(assay.potency_classes)
        if verb not in CALIBRATIONS:
            for k in range(1, assay.potency_classes):
                ec50 = assay.lowest_ec50 * 10 ** (assay.ec50_step * (k - 1))
                share = 1 / (1 + (template.doses[readout] / ec50) ** 1.2)
                viability[k] = 0.05 + 0.95 * share
        result = np.empty((len(self.states), assay.potency_classes))
        for i, (gain, sd) in enumerate(self.states):
            deviation = math.sqrt(sd**2 + 0.15**2 / template.replicates)
            a, b = (low - gain * viability) / deviation, (high - gain * viability) / deviation
            # From the nearer tail, or a small difference of two numbers near 1 would be lost.
            result[i] = np.where(a > 0, norm.sf(a) - norm.sf(b), norm.cdf(b) - norm.cdf(a))
        return result

    def entropy(self, m: int) -> float:
        return bits_of(self.marginal[m])

    def named(self, m: int) -> int:
        return int(self.marginal[m].argmax())

    def learn(self, verb: Verb, compound: int, bins: list[int]) -> None:
        """Update instrument and compounds by Bayes' rule with the readouts of a plate."""
        if verb in CALIBRATIONS:
            for seen in bins:
                likely = self.likelihood(verb, 0, seen)[:, 0]
                self.instrument = normalised(self.instrument * likely, self.instrument)
        else:
            rows = self.joint[compound].astype(np.float64)
            for readout, seen in enumerate(bins):
                rows = rows * self.likelihood(verb, readout, seen)
            evidence = rows.sum(axis=1)
            possible = evidence > 0
            self.joint[compound][possible] = (rows[possible] / evidence[possible, None]).astype(np.float32)
            self.instrument = normalised(self.instrument * evidence, self.instrument)
            self.measured_in_lot[compound] = True
        for m in range(len(self.potency)):
            if self.measured_in_lot[m]:
                mixed = self.instrument @ self.joint[m].astype(np.float64)
                self.marginal[m] = mixed / mixed.sum()
                self.lowest[m] = min(self.lowest[m], self.entropy(m))

    def begin_plate(self) -> None:
        """Forget the plate before, where only the last one is shown."""
        if self.last_plate_alone:
            self.read, self.vehicle = {}, []

    def change_lot(self) -> None:
        """Forget the instrument; each compound keeps its marginal."""
        self.instrument = np.full(len(self.states), 1 / len(self.states))
        for m in range(len(self.potency)):
            if self.measured_in_lot[m]:
                self.joint[m] = self.marginal[m].astype(np.float32)
        self.measured_in_lot = [False] * len(self.potency)
        if not self.last_plate_alone:
            for where, seen in self.read.items():
                self.read_earlier.setdefault(where, []).extend(seen)
            self.read, self.vehicle = {}, []

    # -- section 3: debt

    def base_wells(self, verb: Verb) -> int:
        template = getattr(self.params.plates, VERBS[verb].name, None)
        return template.wells if template else 0

    def inflated(self, base: int) -> float:
        rules = self.params.debt
        if not rules.enforced:
            return float(base)
        if rules.inflation == "two_tier":
            return base * (1 + 0.02 * self.debt) * (1 + rules.sensitivity * base / 100 * self.debt)
        return base * (1 + rules.sensitivity * self.debt)

    def charged(self, verb: Verb) -> int:
        return math.ceil(round(self.inflated(self.base_wells(verb)), 9))

    def blocked_by_threshold(self, verb: Verb) -> bool:
        rules = self.params.debt
        return rules.enforced and self.debt > rules.threshold and verb not in CALIBRATIONS

    def refusal(self, verb: Verb) -> str:
        if verb in FREE:
            return ""
        if self.blocked_by_threshold(verb):
            return "epistemic_debt_action_blocked"
        return "epistemic_debt_budget_exceeded" if self.charged(verb) > self.wells else ""

    # -- section 4: energy

    def hour(self) -> int:
        return (self.params.budget.start_hour + self.heartbeat) % 24

    def cost(self, verb: Verb, compound: int) -> int:
        rules, base = self.params.energy, self.price[verb]
        factor = 1.0
        factor *= rules.first_use if self.uses[verb] == 0 else 1.0
        factor *= rules.error_rate if sum(self.past[verb][-4:]) >= 2 else 1.0
        late = self.hour() >= 22 or self.hour() < 7
        factor *= rules.late_social if verb is Verb.PUBLISH_PUBLIC and late else 1.0
        factor *= rules.similar if (verb, compound) in self.done else 1.0
        raised = math.floor(base * min(max(factor, 1.0), 2.5) + 0.5)
        return min(raised, max(base, 20_000))

    def obstacle(self, verb: Verb, compound: int) -> str:
        rules = self.params.energy
        if verb is Verb.PUBLISH_PUBLIC and self.published[compound]:
            return "already_published"
        if not rules.enabled:
            return ""
        if verb is Verb.PUBLISH_PUBLIC and self.hour() < 8:
            return "context_not_allowed"
        if verb is Verb.PROPOSE and not self.reflected:
            return "no_reflection"
        if verb is Verb.PROPOSE and self.most_felt() is None:
            return "no_evidence"
        return "insufficient_energy" if self.cost(verb, compound) > self.energy else ""

    # -- section 5: publishing

    def asserted_class(self, row: Any) -> int:
        return int(row["potency"]) if self.params.publication.names_class else self.named(row["compound"])

    def asserted_bits(self, k: int, q: float) -> float:
        p = self.prior[k]
        return q * math.log2(q / p) + (1 - q) * math.log2((1 - q) / (1 - p))

    def wording(self, q: float) -> int:
        return int(q >= 0.65) + int(q >= 0.9)

    def residual(self, m: int, wording: int) -> int:
        """Return the part of the finding that its page leaves unexplained, in millionths, by least squares."""
        if self.fit[m] is None:
            return 1_000_000
        assay, classes = self.params.assay, self.params.assay.potency_classes
        readouts = len(self.params.doses) * assay.bins
        named, strength = self.fit[m]
        rows = [dose * assay.bins + seen for dose, seen in sorted(self.page[m].items())]
        rows += [readouts] + [readouts + 1 + s * classes + named for s in range(strength)]
        claim = readouts + 1 + (3 + wording) * classes + self.named(m)
        gram = self.measured.gram[m]
        own, cross = gram[np.ix_(rows, rows)], gram[rows, claim]
        values, vectors = np.linalg.eigh(own)
        kept = values > 1e-8
        along = vectors[:, kept].T @ cross
        left = gram[claim, claim] - (along**2 / values[kept]).sum()
        return int(min(1.0, max(0.0, left)) * 1_000_000 + 0.5)

    def looks(self, m: int) -> int:
        screen = self.params.plates.screen.readouts
        return sum(getattr(self.params.plates, VERBS[v].name).readouts // screen for v in self.plates[m])

    def inadequacy(self, m: int, wording: int) -> int:
        words = 3 if wording == 2 and self.named(m) == 0 else wording
        return min(3, max(0, words - EVIDENCE[min(4, self.looks(m))] + 1))

    def verdict(self, m: int, wording: int, text: SimpleNamespace) -> str:
        """Return the more severe verdict of gate and words."""
        gate, words = self.params.gate, self.params.adequacy
        order = ("accept", "review", "reject")
        text.residual = self.residual(m, wording)
        limits = [int(tau * 1_000_000 + 0.5) for tau in (self.policy.tau_accept, self.policy.tau_review)]
        text.gate_verdict = order[sum(text.residual > limit for limit in limits)]
        by_gate = text.gate_verdict
        if not gate.enforced:
            by_gate = "accept" if self.plates[m] else "reject"
        by_words = "accept"
        if words.enabled:
            text.score = self.inadequacy(m, wording)
            if words.enforced:
                by_words = order[(text.score >= 2) + (text.score >= 3)]
        return max(by_gate, by_words, key=order.index)

    def publish(self, m: int, k: int, q: float, text: SimpleNamespace) -> None:
        asserted = self.asserted_bits(k, q)
        if self.params.debt.of_findings:
            text.debt_added = max(0.0, asserted - self.licence[m])
            self.debt += text.debt_added
        accepted = bool(self.plates[m])
        if self.params.gate.enabled:
            text.verdict = self.verdict(m, self.wording(q), text)
            licensed = asserted <= self.licence[m]
            text.decision = "none" if text.verdict != "review" else "approved" if licensed else "declined"
            accepted = text.verdict == "accept" or text.decision == "approved"
        text.event = "published" if accepted else "rejected"
        if accepted:
            self.published[m] = True
            right, p = k == self.potency[m], self.prior[k]
            gain, loss = math.log2(q / p), math.log2((1 - q) / (1 - p))
            if self.params.career.enabled:
                text.reward += gain
                self.wells += math.floor(self.params.career.grant_per_bit * gain + 1e-9)
                at = self.heartbeat + self.params.career.delay
                self.waiting.append(SimpleNamespace(at=at, stake=gain - loss, wrong=not right))
            else:
                text.reward += gain if right else loss

    # -- Frontier

    def replicate(self, due: list[SimpleNamespace], text: SimpleNamespace) -> None:
        """Replicate findings: of a wrong one, what it was paid and what it loses become debt."""
        for finding in due:
            self.waiting.remove(finding)
            text.replicated += 1
            if finding.wrong:
                text.recalled += finding.stake
                self.debt += finding.stake

    def begin_project(self, potency: list[int]) -> None:
        """Start a new project: new compounds and wells. Debt and what waits for its replication stay."""
        fresh = ReferenceLab(self.params, {"potency": np.array(potency)})
        of_compounds = (
            "potency",
            "joint",
            "marginal",
            "lowest",
            "plates",
            "published",
            "licence",
            "read",
            "read_earlier",
        )
        for name in (*of_compounds, "wells"):
            setattr(self, name, getattr(fresh, name))

    def project_follows(self) -> bool:
        rules = self.params.career
        ends = (self.heartbeat // rules.project_heartbeats + 1) * rules.project_heartbeats
        return rules.enabled and ends < self.params.budget.heartbeats

    # -- section 6: voice

    def suggested(self, verb: Verb) -> tuple[int, int]:
        floor = thousandths(self.params.energy.floor(VERBS[verb].name))
        low, high = (max(floor, math.floor(share * self.price[verb] + 0.5)) for share in (0.4, 0.9))
        return low, high

    def most_felt(self) -> Verb | None:
        """Return the verb with most discomfort that a proposal can be about, the first in case of a tie."""
        able = [
            verb
            for verb in Verb
            if len(self.felt[verb]) >= 2
            and verb not in self.pending
            and self.suggested(verb)[0] < self.suggested(verb)[1] < self.price[verb]
        ]
        return max(able, key=lambda verb: (len(self.felt[verb]), -verb)) if able else None

    def worth(self, row: Any, verb: Verb, compound: int, gain_shares: Any) -> float:
        """Return the bits of a licensed finding or of an experiment that tells enough; 0 for all else."""
        if compound < 0 or self.published[compound]:
            return 0.0
        if verb is Verb.PUBLISH_PUBLIC:
            asserted = self.asserted_bits(self.asserted_class(row), row["confidence"])
            return asserted if self.plates[compound] and asserted <= self.licence[compound] else 0.0
        gain = gain_shares[verb] * self.entropy(compound)
        return gain if gain > 0.3 else 0.0

    def defer(self, worth: float, verb: Verb, text: SimpleNamespace) -> None:
        """Count discomfort once per verb and heartbeat, where the action was worth taking."""
        if worth > 0.0 and self.last_felt.get(verb) != self.heartbeat:
            text.discomfort = ("insufficient_energy", verb, worth)
            self.felt[verb].append(self.heartbeat)
            self.last_felt[verb] = self.heartbeat

    def passed_over(self, gain_shares: Any) -> tuple[str, Verb, float]:
        """Return what a rest passes over at the cap: the action of most value among those that may run."""
        result = ("none", Verb.REST, 0.0)
        if self.energy >= 20_000:
            for action, row in enumerate(self.table):
                verb, compound = Verb(row["verb"]), int(row["compound"])
                worth = self.worth(row, verb, compound, gain_shares) if self.allowed(action) else 0.0
                if worth > result[2]:
                    result = ("hoarding", verb, worth)
        return result

    def review(self, text: SimpleNamespace) -> None:
        """Decide the proposals that are due, from paid uses and deferrals, never from deferrals alone."""
        for verb in [verb for verb, one in self.pending.items() if one.at <= self.heartbeat]:
            one, price = self.pending.pop(verb), self.price[verb]
            experience = self.uses[verb] * one.heartbeats / (one.heartbeats + 2)
            guess = price + (int(self.fair[verb]) - price) * experience / (experience + 0.1)
            if guess <= one.high < price:
                nearest = max(one.low, math.floor(guess + 0.5))
                floor = thousandths(self.params.energy.floor(VERBS[verb].name))
                self.price[verb] = max(floor, nearest, price - 10_000)
                self.changed[verb] = self.heartbeat
            text.reviewed.append(verb)

    # -- one step

    def allowed(self, action: int) -> bool:
        row = self.table[action]
        verb, compound = Verb(row["verb"]), int(row["compound"])
        return not self.refusal(verb) and not self.obstacle(verb, compound)

    def step(
        self, action: int, bins: list[int], gain_shares: Any = (), potency: Any = None
    ) -> SimpleNamespace:
        """Take an action whose plate, if it runs, shows ``bins``; a new project has compounds of ``potency``.

        ``gain_shares`` are the shares of a compound's entropy that an experiment of each verb is expected to take.
        """
        row, energetic = self.table[action], self.params.energy.enabled
        verb, compound = Verb(row["verb"]), int(row["compound"])
        text = SimpleNamespace(
            refusal=self.refusal(verb), obstacle=self.obstacle(verb, compound), event="", reward=0.0, reviewed=[],
            debt_added=0.0, gain=0.0, verdict="", decision="none", caused_by_debt=False, interest=0.0,
            debt_before=self.debt, replicated=0, recalled=0.0, potency=potency,
            discomfort=("none", Verb.REST, 0.0),
        )  # fmt: skip
        runs = not text.refusal and not text.obstacle
        if text.refusal:
            text.event = "refused"
            text.caused_by_debt = self.base_wells(verb) <= self.wells and not text.obstacle
            text.blocked_by_cost, text.obstacle = self.charged(verb) > self.wells, ""
        elif text.obstacle == "insufficient_energy":
            text.event = "deferred"
            self.defer(self.worth(row, verb, compound, gain_shares), verb, text)
        elif text.obstacle:
            text.event = "not_executed"
        else:
            if energetic and verb is Verb.REST:
                text.discomfort = self.passed_over(gain_shares)
            if energetic:
                self.energy -= self.cost(verb, compound)
                self.uses[verb] += 1
                self.done.add((verb, compound))
            self.act(row, verb, compound, bins, text)
        if energetic and (runs or text.refusal):
            self.past[verb].append(text.event in ("refused", "rejected"))
        self.reflected = text.event == "reflected"
        self.slot += 1
        if text.refusal or (runs and verb is Verb.REST) or self.slot >= self.params.slots:
            self.close(text)
        self.finish(text)
        return text

    def act(self, row: Any, verb: Verb, m: int, bins: list[int], text: SimpleNamespace) -> None:
        if verb is Verb.REST:
            text.event = "rested"
        elif verb is Verb.REFLECT:
            text.event = "reflected"
        elif verb is Verb.PROPOSE:
            about = self.most_felt()
            low, high = self.suggested(about)
            at = self.heartbeat + self.params.proposals.review_heartbeats
            if about in self.changed:  # a price changes at most once a day, so its review waits
                at = max(at, self.changed[about] + 24)
            self.pending[about] = SimpleNamespace(low=low, high=high, at=at, heartbeats=len(self.felt[about]))
            self.felt[about] = []
            text.event = "proposed"
        elif verb is Verb.PUBLISH_PUBLIC:
            self.publish(m, self.asserted_class(row), float(row["confidence"]), text)
        elif verb in CALIBRATIONS:
            self.wells -= self.charged(verb)
            self.learn(verb, m, bins)
            self.begin_plate()
            self.vehicle += bins
            self.debt -= min(self.debt, self.params.debt.repay_per_well * self.base_wells(verb))
            text.event = "calibrated"
        else:
            self.wells -= self.charged(verb)
            before, lowest = self.entropy(m), self.lowest[m]
            self.learn(verb, m, bins)
            text.gain = before - self.entropy(m)
            text.debt_added = max(0.0, row["claim"] - text.gain)
            self.debt += text.debt_added
            self.licence[m] += max(0.0, min(row["claim"], lowest - self.entropy(m)))
            self.plates[m].append(verb)
            doses = getattr(self.params.plates, VERBS[verb].name).doses
            self.begin_plate()
            for dose, seen in zip(map(self.params.doses.index, doses), bins, strict=True):
                self.page[m][dose] = seen
                self.read.setdefault((m, dose), []).append(seen)
            strength = sum(self.marginal[m].max() >= limit for limit in (0.5, 0.75, 0.95))
            self.fit[m] = (self.named(m), int(strength))
            text.event = "explored"

    def close(self, text: SimpleNamespace) -> None:
        """Close the heartbeat: interest, clock, energy, reviews, reagent lot."""
        debt, energy = self.params.debt, self.params.energy
        if debt.enforced and debt.interest:
            text.interest = max(0.0, min(debt.interest * self.debt, debt.interest_cap - self.debt))
            self.debt += text.interest
        self.heartbeat += 1
        self.slot, self.done, self.reflected = 0, set(), False
        if energy.enabled:
            self.energy -= math.floor(self.energy * energy.leak)
            self.energy = min(self.energy + thousandths(energy.regeneration), 20_000)
            if self.params.proposals.enabled:
                self.review(text)
        self.replicate([one for one in self.waiting if one.at <= self.heartbeat], text)
        goes_on = self.heartbeat < self.params.budget.heartbeats
        if goes_on and self.heartbeat % self.params.assay.lot_heartbeats == 0:
            self.change_lot()
            if self.params.career.enabled and self.heartbeat % self.params.career.project_heartbeats == 0:
                self.begin_project(text.potency)

    def finish(self, text: SimpleNamespace) -> None:
        """End the episode if it is over, and take the change of the debt off the reward."""
        rules = self.params.debt
        plates = [verb for verb in Verb if self.base_wells(verb) and not self.refusal(verb)]
        findings = not self.refusal(Verb.PUBLISH_PUBLIC) and not all(self.published)
        stuck = not self.project_follows()  # else new wells will come
        blocked = rules.enforced and self.debt > rules.threshold
        if stuck and rules.bankruptcy and blocked and not CALIBRATIONS & set(plates):
            self.over = "bankrupt"
        elif stuck and not plates and not findings:
            self.over = "exhausted"
        elif self.heartbeat >= self.params.budget.heartbeats:
            self.over = "horizon"
        if self.over:
            self.replicate(list(self.waiting), text)
        if rules.enforced and rules.scored:
            text.reward -= self.debt - text.debt_before


def bits_of(p: np.ndarray) -> float:
    return float(-(p[p > 0] * np.log2(p[p > 0])).sum())


def normalised(p: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
    return p / p.sum() if p.sum() > 0 else otherwise


def thousandths(energy: float) -> int:
    return round(energy * 1000)
