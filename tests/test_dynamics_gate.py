"""The gate in the step: the whole rule of publication once more in plain numpy, and its cases by hand."""

from __future__ import annotations

import functools
import math
import os
import subprocess
import sys
import tomllib
from importlib.resources import files

import numpy as np
import pytest

from solvent import LabEnv
from solvent.gate.checks import run_checks
from solvent.gate.energy import gram_energy
from solvent.lab.codes import EndReason, Event, Obstacle, Verdict
from solvent.lab.params import PRESETS
from solvent.lab.settings import ParamError
from solvent.lab.verbs import Verb
from solvent.lab.words.measured import load_measured
from solvent.lab.words.notebook import rows_of
from solvent.lab.words.rows import finding_row
from solvent.lab.words.sentences import policies_of
from tests.labs import (
    ABOVE,
    DEFINITIVE,
    HEDGED,
    LEFT_OUT,
    PLAIN,
    PLAINLY,
    REST,
    SOCIAL,
    by_hand,
    find,
    merged,
    open_lab,
    put,
    shown,
    take,
)

P30, P20, P10, P5, P1 = range(5)
FIT = {"poor": 0, "rough": 1, "good": 2, "precise": 3}
COMPOUNDS = PRESETS["gate"].assay.compounds
BETWEEN = round(5e5 * (load_measured().policies[P20].tau_accept + load_measured().policies[P20].tau_review))
"""A residual in millionths that ``adaptive.P20`` reviews."""
FREE = {"debt": {"enforced": False}, "budget": {"wells": 100_000}}
"""Debt has no consequence and wells are plenty: what is published depends on the gate alone."""

# The numbers that the tests are worked with, whatever the level is tuned to; thresholds are those of the policies.
BASIS = {
    "budget": {"heartbeats": 40},
    "gate": {
        "policy": "adaptive.P20",
        "review_heartbeats": 4,
        "calm_heartbeats": 12,
        "rough": 0.35,
        "good": 0.6,
        "precise": 0.85,
        "plain_from": 0.65,
        "definitive_from": 0.9,
    },
}


def lab(seed=0, **params):
    return open_lab(merged(BASIS, params), by_hand("gate"), seed, detailed_info=True)


def believe(env, compound, named, peak=0.9):
    """Set the belief in a compound: ``named`` with ``peak``, the rest shared; whatever the instrument is."""
    state = env.get_state()
    row = np.full(8, (1 - peak) / 7)
    row[named] = peak
    state["marginal"][compound] = row
    state["conditional"][compound] = row
    state["coupled"][compound] = 1
    state["measured_class"][compound] = -1
    env.set_state(state)


def notebook(env, compound=0, *, named=4, strength="precise", bins=(), now=None, licence=3.0, potency=None):
    """Give a compound a page, as if plates had left it; one heartbeat of calibration has it measured."""
    state = env.get_state()
    state["page"][compound] = -1
    for dose, observed in bins:
        state["page"][compound, dose] = observed
    state["fit_class"][compound] = named
    state["fit_strength"][compound] = FIT[strength]
    state["experiments"][compound] = 1
    state["licence"][compound] = licence
    state["potency"][compound] = named if potency is None else potency
    env.set_state(state)
    believe(env, compound, named if now is None else now)
    take(env, Verb.DMSO)
    return env


# -- the rule, written a second time --------------------------------------------------------------

DOSES = ("10 nM", "32 nM", "100 nM", "320 nM", "1 µM", "3.2 µM", "10 µM", "32 µM")
PERCENTS = (15, 25, 35, 45, 55, 65, 75, 85, 95, 105, 115, 125)
PEC50 = ("8.0", "7.5", "7.0", "6.5", "6.0", "5.5", "5.0")
WORDS = tomllib.loads((files("solvent.lab.words") / "catalogue.toml").read_text("utf-8"))
CLASSES = (
    WORDS["classes"]["inactive"],
    *(text.replace("{pec50}", value) for text, value in zip(WORDS["classes"]["active"], PEC50, strict=True)),
)
STRENGTHS, WORDINGS = ("poor", "rough", "good", "precise"), ("hedged", "plain", "definitive")


def say(text, compound, **slots):
    for name, value in {"compound": COMPOUNDS[compound], **slots}.items():
        text = text.replace(f"{{{name}}}", str(value))
    return text


def finding_text(compound, wording, named):
    return say(WORDS["claim"][WORDINGS[wording]], compound, **{"class": CLASSES[named]})


@functools.cache
def all_sentences(compound):
    """Every sentence about a compound in the order of the tables' rows."""
    texts = [say(WORDS["readout"]["text"], compound, dose=d, percent=p) for d in DOSES for p in PERCENTS]
    texts += [say(WORDS["fit"]["poor"], compound)]
    texts += [say(WORDS["fit"][s], compound, **{"class": k}) for s in STRENGTHS[1:] for k in CLASSES]
    texts += [finding_text(compound, w, k) for w in range(3) for k in range(8)]
    return {text: row for row, text in enumerate(texts)}


@functools.cache
def page_texts(compound, readouts, fit):
    """The sentences on a page: ``readouts`` as (dose, bin), ``fit`` as (class, strength)."""
    texts = [
        say(WORDS["readout"]["text"], compound, dose=DOSES[d], percent=PERCENTS[b])
        for d, b in sorted(readouts)
    ]
    if fit is None:
        return texts
    return texts + [
        say(WORDS["fit"][STRENGTHS[s]], compound, **{"class": CLASSES[fit[0]]}) for s in range(fit[1] + 1)
    ]


@functools.cache
def measured(compound, readouts, fit, wording, named):
    """Energy of a finding against a page, and whether one of its numbers stands in no sentence of it."""
    rows = [all_sentences(compound)[text] for text in page_texts(compound, readouts, fit)]
    finding = finding_text(compound, wording, named)
    gram = load_measured().gram[compound]
    energy = gram_energy(gram[all_sentences(compound)[finding], rows], gram[np.ix_(rows, rows)], 12, 12)
    checks = run_checks(finding, page_texts(compound, readouts, fit))
    return energy, {check.name: check.fired for check in checks}["numbers"]


def bits(q, p0):
    return q * math.log2(q / p0) + (1 - q) * math.log2((1 - q) / (1 - p0))


class Gate:
    """What the gate must make of each step, told by the sentences; beliefs and licences are the lab's."""

    def __init__(self, params):
        self.params, self.rules = params, params.gate
        self.levels = load_measured().policies
        self.start = ["adaptive.P30", "adaptive.P20", "adaptive.P10", "adaptive.P5", "adaptive.P1"].index(
            params.gate.policy
        )
        self.begin()

    def begin(self):
        self.pages = [{} for _ in COMPOUNDS]
        self.fits = [None for _ in COMPOUNDS]
        self.pending = {}
        self.out = {}
        self.level, self.calm = self.start, 0
        self.counts = dict.fromkeys(("accept", "review", "reject", "approved", "declined"), 0)
        self.incidents, self.tightenings = [0, 0], 0
        self.score = 0.0

    def measure(self, m, wording, named):
        return measured(m, tuple(sorted(self.pages[m].items())), self.fits[m], wording, named)

    def pay(self, m, verb, named, q, truth):
        """A finding is out: what it pays, and what it does to the gate."""
        prior = self.params.assay.class_prior[named]
        right = named == truth
        score = math.log2(q / prior) if right else math.log2((1 - q) / (1 - prior))
        self.out[m] = verb
        if not right and verb == Verb.PUBLISH_PUBLIC:
            self.incidents[1] += 1
            if self.rules.governance:
                self.tightenings += self.level < 4
                self.level, self.calm = min(4, self.level + 1), -1
        elif not right:
            self.incidents[0] += 1
        return score * (self.params.publishing.private_share if verb == Verb.PUBLISH_PRIVATE else 1.0)

    def obstacle(self, row):
        if row["verb"] not in SOCIAL:
            return Obstacle.NONE
        if row["compound"] in self.out:
            return Obstacle.ALREADY_PUBLISHED
        return Obstacle.UNDER_REVIEW if row["compound"] in self.pending else Obstacle.NONE

    def submit(self, row, before, step):
        """A finding is judged; returns what it pays at once."""
        m, q, verb = int(row["compound"]), float(row["confidence"]), Verb(row["verb"])
        named = int(np.argmax(before["marginal"][m]))
        wording = 0 if q < self.rules.plain_from else 1 if q < self.rules.definitive_from else 2
        asserted = bits(q, self.params.assay.class_prior[named])
        assert step["claim"] == pytest.approx(asserted, abs=1e-12)
        assert step["debt_added"] == pytest.approx(max(0.0, asserted - before["licence"][m]), abs=1e-12)
        assert (step["wording"], step["asserted"], step["policy"]) == (wording, named, self.level)
        energy, missing = self.measure(m, wording, named)
        assert step["residual"] == pytest.approx(energy * 1e6, abs=1.0)
        tau = self.levels[self.level]
        gap = int(step["residual"]) / 1e6
        verdict = 0 if gap <= tau.tau_accept else 1 if gap <= tau.tau_review else 2
        missing = missing and self.rules.numbers
        if self.fits[m] is not None:  # else nothing is there in which a number could stand
            assert step["unsupported"] == missing
            assert bool(before["unsupported"][m, wording]) >= missing
        verdict = max(verdict, int(missing))
        assert step["verdict"] == verdict
        self.counts[("accept", "review", "reject")[verdict]] += 1
        assert step["event"] == (Event.PUBLISHED, Event.SUBMITTED, Event.REJECTED)[verdict]
        assert step["right"] == (verdict == 0 and named == before["potency"][m])
        if verdict == 0:
            return self.pay(m, verb, named, q, before["potency"][m])
        if verdict == 1:
            due = before["heartbeat"] + self.rules.review_heartbeats
            licensed = step["claim"] <= before["licence"][m]
            self.pending[m] = (due, verb, named, q, licensed)
        return 0.0

    def write_down(self, row, after):
        """An experiment's sentences: the latest readout a dose, and the fit at this time."""
        m = int(row["compound"])
        plates = self.params.plates
        template = plates.screen if row["verb"] == Verb.SCREEN else plates.dose_response
        for r, dose in enumerate(template.doses):
            nearest = int(np.argmin(np.abs(np.log(np.array(self.params.doses) / dose))))
            self.pages[m][nearest] = int(after["last_bins"][r])
        named = int(np.argmax(after["marginal"][m]))
        peak = after["marginal"][m, named]
        rules = self.rules
        self.fits[m] = (named, int(sum(peak >= limit for limit in (rules.rough, rules.good, rules.precise))))

    def close(self, before, step):
        """The heartbeat is over: readers decide what is due, calm relaxes."""
        clock, pays, decided = before["heartbeat"] + 1, 0.0, {True: [], False: []}
        for m in sorted(m for m, (due, *_) in self.pending.items() if due <= clock):
            _, verb, named, q, licensed = self.pending.pop(m)
            decided[bool(licensed)].append(m)
            self.counts["approved" if licensed else "declined"] += 1
            if licensed:
                pays += self.pay(m, verb, named, q, before["potency"][m])
        self.calm += 1
        if self.rules.governance and self.level > self.start and self.calm >= self.rules.calm_heartbeats:
            self.level, self.calm = self.level - 1, 0
        assert step["approved"] == sum(2**m for m in decided[True])
        assert step["declined"] == sum(2**m for m in decided[False])
        return pays

    def follow(self, row, before, after, step, reward):
        """Hold one step of the lab against the rule."""
        wrong = self.incidents[1]
        pays = 0.0
        if step["refusal"] == 0:
            assert step["obstacle"] in (self.obstacle(row), Obstacle.CONTEXT_NOT_ALLOWED, *ENERGY_SHORT)
        if step["executed"] and row["verb"] in SOCIAL:
            pays += self.submit(row, before, step)
        else:
            assert (step["verdict"], step["wording"], step["asserted"]) == (Verdict.NONE, -1, -1)
            assert (step["residual"], step["unsupported"], step["policy"]) == (0, 0, 0)
        if step["executed"] and row["verb"] in (Verb.SCREEN, Verb.DOSE_RESPONSE):
            self.write_down(row, after)
        decided = 0.0
        if step["closed"]:
            decided = self.close(before, step)
            pays += decided
        else:
            assert (step["approved"], step["declined"]) == (0, 0)
        assert step["published_bits"] == pytest.approx(pays, abs=1e-12)
        assert step["decided_bits"] == pytest.approx(decided, abs=1e-12)
        assert reward == step["published_bits"] - step["settled"]
        self.score += reward
        assert step["incident"] == self.incidents[1] - wrong
        assert step["strictness"] == after["strictness"] == self.level
        self.books(after)

    def books(self, after):
        counts = self.counts
        assert after["calm"] == self.calm
        assert after["verdicts"].tolist() == [counts["accept"], counts["review"], counts["reject"]]
        assert after["decided"].tolist() == [counts["declined"], counts["approved"]]
        assert after["incidents"].tolist() == self.incidents
        assert after["tightenings"] == self.tightenings
        assert after["score"] == pytest.approx(self.score, abs=1e-9)
        assert after["accepted"] == counts["accept"] + counts["approved"] == len(self.out)
        assert after["rejected"] == counts["reject"] + counts["declined"]
        assert counts["review"] == counts["approved"] + counts["declined"] + len(self.pending)
        assert after["wrong"] == sum(self.incidents)
        due = [self.pending[m][0] if m in self.pending else 0 for m in range(len(COMPOUNDS))]
        assert after["decision_at"].tolist() == due
        assert (after["published"] != 0).tolist() == [m in self.out for m in range(len(COMPOUNDS))]

    def look(self, env, after):
        """Every element of the observation that is about the gate."""
        seen = shown(env)
        tau = self.levels[self.level]
        for m, name in enumerate(COMPOUNDS):
            named = int(np.argmax(after["marginal"][m]))
            told = [self.measure(m, wording, named) for wording in range(3)]
            for wording, (energy, _) in zip(WORDINGS, told, strict=True):
                assert seen[f"{name}/residual_{wording}"] == pytest.approx(energy, abs=1.1e-6)
                margin = min(1.0, max(-1.0, (tau.tau_accept - energy) / 0.1))
                assert seen[f"{name}/gate_margin_{wording}"] == pytest.approx(margin, abs=1.1e-5)
            if self.fits[m] is not None:
                assert seen[f"{name}/number_missing"] == all(missing for _, missing in told)
            page = page_texts(m, tuple(sorted(self.pages[m].items())), self.fits[m])
            assert len(page) <= 12
            assert seen[f"{name}/spans"] == pytest.approx(len(page) / 12, abs=1e-6)
            strength = self.fits[m][1] / 3 if self.fits[m] else 0.0
            assert seen[f"{name}/fit_strength"] == pytest.approx(strength, abs=1e-6)
            left = self.pending[m][0] - after["heartbeat"] if m in self.pending else 0
            assert seen[f"{name}/decision_in"] == pytest.approx(left / self.rules.review_heartbeats, abs=1e-6)
            assert 0.0 <= seen[f"{name}/decision_in"] <= 1.0
            _, verb, submitted, q, licensed = self.pending.get(m, (0, Verb.REST, -1, 0.0, False))
            assert seen[f"{name}/under_review_confidence"] == pytest.approx(q)
            assert seen[f"{name}/under_review_publicly"] == (verb == Verb.PUBLISH_PUBLIC)
            assert seen[f"{name}/under_review_licensed"] == bool(licensed)
            assert seen[f"{name}/under_review_agrees"] == (submitted == named)
        assert seen["strictness"] == self.level / 4
        assert seen["calm"] == pytest.approx(min(1.0, self.calm / self.rules.calm_heartbeats), abs=1e-6)
        assert seen["tau_accept"] == pytest.approx(tau.tau_accept, abs=1e-6)
        assert seen["tau_review"] == pytest.approx(tau.tau_review, abs=1e-6)
        assert seen["last_event/submitted"] == (after["last_event"] == Event.SUBMITTED)


ENERGY_SHORT = (Obstacle.INSUFFICIENT_ENERGY, Obstacle.NO_REFLECTION, Obstacle.NO_EVIDENCE)
LONG = {"budget": {"heartbeats": 300, "wells": 100_000}}
VARIANTS = {
    "default": {},
    "rich": {**LONG, "debt": {"threshold": 1000.0, "sensitivity": 0.0}},
    "free": {**LONG, "debt": {"enforced": False}},
    "poor": {"budget": {"wells": 90}},
    "bankruptcy resets": {
        "budget": {"wells": 120, "heartbeats": 60},
        "debt": {"bankruptcy": "reset", "bankruptcy_after_refusals": 4},
    },
    "carries debt": {"debt": {"carry_debt": True}, "budget": {"heartbeats": 15}},
    "carries and resets": {
        "debt": {"carry_debt": True, "bankruptcy": "reset", "bankruptcy_after_refusals": 3},
        "budget": {"wells": 100, "heartbeats": 25},
    },
    "forgiving": {**LONG, "debt": {"decay_per_heartbeat": 0.3, "repay_for_accuracy": 0.5}},
    "no governance": {**FREE, "gate": {"governance": False}},
    "no numbers": {**FREE, "gate": {"numbers": False}},
    "P30": {**FREE, "gate": {"policy": "adaptive.P30", "calm_heartbeats": 2}},
    "P10": {**FREE, "gate": {"policy": "adaptive.P10", "calm_heartbeats": 1}},
    "P5": {**FREE, "gate": {"policy": "adaptive.P5"}},
    "P1": {**FREE, "gate": {"policy": "adaptive.P1", "calm_heartbeats": 1}},
    "decided at once": {**FREE, "gate": {"review_heartbeats": 1}},
    "decided late": {**FREE, "gate": {"review_heartbeats": 9, "calm_heartbeats": 3}},
    "never decided": {**FREE, "gate": {"review_heartbeats": 10_000}},
    "easily precise": {**FREE, "gate": {"rough": 0.1, "good": 0.2, "precise": 0.3}},
    "never precise": {**FREE, "gate": {"good": 1.0, "precise": 1.0}},
    "always hedged": {**FREE, "gate": {"plain_from": 1.0, "definitive_from": 1.0}},
    "always definitive": {**FREE, "gate": {"plain_from": 0.0, "definitive_from": 0.5}},
    "skewed prior": {**FREE, "assay": {"prior": [0.5, 0.2, 0.1, 0.08, 0.06, 0.03, 0.02, 0.01]}},
    "quick lots": {**FREE, "assay": {"lot_heartbeats": 3}},
    "private pays all": {**FREE, "publishing": {"private_share": 1.0}},
}


def busy(env, rng, state):
    """A lab that plays on few compounds and publishes a lot, before and after it knows anything."""
    m = int(rng.integers(3)) if rng.random() < 0.7 else int(rng.integers(len(COMPOUNDS)))
    kind = rng.random()
    if kind < 0.35:
        verb = SOCIAL[int(rng.random() < 0.7)]
        m = m if rng.random() < 0.3 else int(np.argmax(state["experiments"] * (state["published"] == 0)))
        return find(env, verb, m, confidence=float(rng.choice(env.params.vocabulary.confidences)))
    if kind < 0.85:
        verb = Verb.DOSE_RESPONSE if rng.random() < 0.5 else Verb.SCREEN
        return find(env, verb, m, claim=float(rng.choice([0.0, 0.25, 0.5, 1.0, 2.0])))
    if kind < 0.95:
        return find(env, Verb.CALIBRATION)
    return int(rng.integers(len(env.actions)))


def watched(env, seed, steps, choose=busy, gate=None):
    """Play ``steps`` steps, every one held against the rule; return what happened."""
    rng = np.random.default_rng(seed)
    env.reset(seed=seed)
    gate = gate or Gate(env.params)
    seen = {
        "verdicts": np.zeros(3, int),
        "decided": np.zeros(2, int),
        "ends": set(),
        "events": set(),
        "levels": set(),
    }
    for i in range(steps):
        before, mask = env.get_state(), env.action_masks()
        action = choose(env, rng, before)
        _, reward, terminated, truncated, _ = env.step(action)
        after, step = env.get_state(), env.batch.steps[0].copy()
        assert bool(step["executed"]) == mask[action], env.sentence(action)
        gate.follow(env.actions[action], before, after, step, reward)
        if i % (20 if PLAIN else 10) == 0:
            gate.look(env, after)
        seen["events"].add(int(step["event"]))
        seen["levels"].add(int(step["strictness"]))
        if terminated or truncated:
            seen["verdicts"] += after["verdicts"]
            seen["decided"] += after["decided"]
            seen["ends"].add(int(after["end_reason"]))
            env.reset()
            gate.begin()
    seen["verdicts"] += after["verdicts"] if not (terminated or truncated) else 0
    return seen


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_rule_holds_over_random_play(variant):
    watched(lab(**VARIANTS[variant]), seed=len(variant), steps=60 if PLAIN else 300)


@pytest.mark.skipif(PLAIN, reason="takes thousands of steps")
def test_random_play_meets_everything_that_the_rule_is_about():
    """Else the test above would be of nothing."""
    variants = ("default", "rich", "free", "poor", "P30", "decided late")
    told = [watched(lab(**VARIANTS[variant]), seed=1, steps=700) for variant in variants]
    assert (sum(seen["verdicts"] for seen in told) > 10).all()
    assert (sum(seen["decided"] for seen in told) > 1).all()
    ends, events, levels = (
        set().union(*(seen[name] for seen in told)) for name in ("ends", "events", "levels")
    )
    assert {EndReason.HORIZON, EndReason.BANKRUPT} <= ends
    assert {Event.PUBLISHED, Event.REJECTED, Event.SUBMITTED, Event.NOT_EXECUTED, Event.REFUSED} <= events
    assert levels >= {0, 1, 2, 3}


@pytest.mark.slow
def test_the_rule_holds_where_acting_costs_energy():
    """Several actions a heartbeat: reviews are decided when the heartbeat closes, not after so many steps."""
    params = {
        "gate": {"enabled": True},
        "budget": {"wells": 100_000, "heartbeats": 200},
        "debt": {"enforced": False},
        "energy": {"start": 20.0, "regeneration": 20.0},
    }
    env = LabEnv(merged(LEFT_OUT, merged(BASIS, params)), preset="energy", detailed_info=True)
    seen = watched(env, seed=3, steps=60 if PLAIN else 600)
    assert PLAIN or (seen["verdicts"][[0, 2]] > 0).all()


# -- verdicts by hand ----------------------------------------------------------------------------


READOUTS = tuple(enumerate((8, 8, 8, 7, 4, 1, 0, 0)))


@pytest.mark.parametrize("named", range(8))
def test_a_definitive_finding_is_accepted_on_a_precise_fit_and_rejected_on_a_rough_one(named):
    verdicts = {}
    for strength in FIT:
        env = notebook(lab(**FREE), named=named, strength=strength, bins=READOUTS)
        _, step, _ = take(env, Verb.PUBLISH_PUBLIC, 0, confidence=DEFINITIVE)
        verdicts[strength] = Verdict(step["verdict"])
        assert step["asserted"] == named
    assert verdicts["precise"] == Verdict.ACCEPT
    assert verdicts["rough"] == verdicts["poor"] == Verdict.REJECT
    assert verdicts["good"] != Verdict.ACCEPT


@pytest.mark.parametrize("named", range(8))
@pytest.mark.parametrize(
    ("strength", "confidence"), [("rough", HEDGED), ("good", PLAINLY), ("precise", DEFINITIVE)]
)
def test_what_is_worded_as_its_fit_is_accepted_and_no_other_class_is(named, strength, confidence):
    """Not by the residual alone: at the precise end it can be lower for a class beside, whose number is missing."""
    env = notebook(lab(**FREE), named=named, strength=strength, bins=READOUTS)
    wording = {HEDGED: 0, PLAINLY: 1, DEFINITIVE: 2}[confidence]
    accept = load_measured().policies[P20].tau_accept * 1e6
    assert env.get_state()["residual"][0, wording] <= accept
    for other in set(range(8)) - {named}:
        energy, missing = measured(0, READOUTS, (named, FIT[strength]), wording, other)
        assert missing or energy * 1e6 > accept
        assert missing == (other != 0)


def test_a_class_that_changed_since_the_fit_has_its_number_missing_and_is_reviewed_at_best():
    for now in (1, 2, 3, 5, 6, 7):
        for confidence in (HEDGED, PLAINLY, DEFINITIVE):
            env = notebook(lab(**FREE, gate={"policy": "adaptive.P30"}), named=4, now=now, bins=READOUTS)
            _, step, _ = take(env, Verb.PUBLISH_PUBLIC, 0, confidence=confidence)
            assert step["asserted"] == now
            assert step["unsupported"] == 1
            assert step["verdict"] >= Verdict.REVIEW
            assert shown(env)["nocodazole/number_missing"] == 1.0


@pytest.mark.parametrize("level", range(5))
def test_each_policy_accepts_at_its_own_threshold(level):
    """The residual put exactly at, and one millionth beside, both thresholds."""
    policy = ("adaptive.P30", "adaptive.P20", "adaptive.P10", "adaptive.P5", "adaptive.P1")[level]
    tau = load_measured().policies[level]
    accept, review = round(tau.tau_accept * 1e6), round(tau.tau_review * 1e6)
    assert tau.name.startswith(policy)
    for residual, verdict in (
        (0, Verdict.ACCEPT),
        (accept, Verdict.ACCEPT),
        (accept + 1, Verdict.REVIEW),
        (review, Verdict.REVIEW),
        (review + 1, Verdict.REJECT),
    ):
        env = notebook(lab(**FREE, gate={"policy": policy}), bins=READOUTS)
        state = env.get_state()
        state["residual"][0] = residual
        env.set_state(state)
        _, step, _ = take(env, Verb.PUBLISH_PUBLIC, 0, confidence=PLAINLY)
        assert (step["policy"], step["verdict"]) == (level, verdict)


@pytest.mark.parametrize("policy", ["adaptive.P20", "fixed.strict", "oracle.k16"])
def test_with_an_oracle_a_policy_compares_what_the_instrument_measures(policy):
    """Twelve sentences, eight directions, the first sentence as oracle; its energy is put where it decides."""
    env = notebook(lab(**FREE, gate={"policy": policy, "oracle": "first"}), bins=READOUTS)
    state = env.get_state()
    gram, rows = load_measured().gram[0], rows_of(env.params, state, 0)
    assert len(rows) == 12
    row = finding_row(96, 1, 4, 8)
    own = gram[np.ix_(rows, rows)]
    assert state["oracle_energy"][0] == pytest.approx(1e6 * gram_energy(own[0], own), abs=1) != 0
    assert state["residual"][0, 1] == pytest.approx(1e6 * gram_energy(gram[row, rows], own), abs=1)
    tau = policies_of(env.params)[state["strictness"]]
    assert tau.label == policy
    state["residual"][0] = round(1e6 * tau.tau_accept) + 10
    state["oracle_energy"][0] = 10
    env.set_state(state)
    _, step, _ = take(env, Verb.PUBLISH_PUBLIC, 0, confidence=PLAINLY)
    assert step["residual"] - step["gap"] == 10
    assert step["verdict"] == (Verdict.ACCEPT if policy == "adaptive.P20" else Verdict.REVIEW)


def test_governance_moves_along_the_family_of_the_policy():
    env = lab(**FREE, gate={"policy": "fixed.standard"})
    for compound, level in ((0, 2), (1, 2)):
        notebook(env, compound, bins=READOUTS, potency=0)
        _, step, _ = take(env, Verb.PUBLISH_PUBLIC, compound, confidence=PLAINLY)
        assert (step["incident"], step["strictness"]) == (1, level)
        assert shown(env)["strictness"] == 1.0


def test_a_policy_relative_to_an_oracle_needs_one():
    with pytest.raises(
        ParamError, match=r"gate.policy: got 'oracle.k2'; allowed: only where oracle is 'first'"
    ):
        lab(gate={"policy": "oracle.k2"})


# -- reviews -------------------------------------------------------------------------------------


def under_review(env, compound=0, confidence=PLAINLY, verb=Verb.PUBLISH_PUBLIC, licence=3.0, **page):
    """Submit a finding that is neither accepted nor rejected."""
    notebook(env, compound, licence=licence, **page)
    state = env.get_state()
    state["residual"][compound] = BETWEEN
    env.set_state(state)
    _, step, _ = take(env, verb, compound, confidence=confidence)
    assert step["verdict"] == Verdict.REVIEW
    return env


@pytest.mark.parametrize("beats", [1, 4])
def test_a_review_is_decided_after_exactly_so_many_heartbeats(beats):
    env = under_review(lab(**FREE, gate={"review_heartbeats": beats}))
    for left in range(beats - 1, 0, -1):
        assert shown(env)["nocodazole/decision_in"] == pytest.approx(left / beats)
        assert not env.action_masks()[find(env, Verb.PUBLISH_PUBLIC, 0)]
        assert env.get_state()["accepted"] == 0
        _, step, after = take(env, Verb.REST)
    if beats == 1:
        step, after = env.batch.steps[0].copy(), env.get_state()
    assert step["approved"] == 1
    assert (after["published"][0], after["accepted"], after["decided"].tolist()) == (2, 1, [0, 1])
    assert step["published_bits"] == pytest.approx(math.log2(0.75 * 8))
    assert shown(env)["nocodazole/decision_in"] == 0.0
    assert not env.action_masks()[find(env, Verb.PUBLISH_PUBLIC, 0)]


def test_it_is_the_licence_at_submission_that_counts():
    """Just enough is enough; what is earned or taken later changes nothing."""
    asserted = float(under_review(lab(**FREE)).batch.steps[0]["claim"])
    for licence, then, approved in ((asserted, 0.0, True), (float(np.nextafter(asserted, 0.0)), 3.0, False)):
        env = under_review(lab(**FREE), licence=licence)
        put(env, licence=[then] * 8)
        for _ in range(3):
            _, step, _ = take(env, Verb.REST)
        assert (step["approved"], step["declined"]) == (int(approved), int(not approved))


def test_two_reviews_decided_at_once():
    """One approved and wrong, one declined, submitted at one heartbeat as far as the readers are concerned."""
    env = under_review(lab(**FREE), 0, licence=3.0, potency=1)
    under_review(env, 5, licence=0.0)
    state = env.get_state()
    state["decision_at"][[0, 5]] = state["heartbeat"] + 1
    env.set_state(state)
    _, step, after = take(env, Verb.REST)
    assert (step["approved"], step["declined"]) == (1, 32)
    assert (after["decided"].tolist(), after["verdicts"].tolist()) == ([1, 1], [0, 2, 0])
    assert step["incident"] == 1
    assert after["strictness"] == P10
    assert not after["decision_at"].any()


def test_two_wrong_findings_approved_at_once_tighten_twice_and_pay_twice():
    env = under_review(lab(**FREE), 0, potency=1)
    under_review(env, 7, potency=1)
    state = env.get_state()
    state["decision_at"][[0, 7]] = state["heartbeat"] + 1
    env.set_state(state)
    _, reward, *_ = env.step(REST)
    step, after = env.batch.steps[0], env.get_state()
    assert step["approved"] == 1 + 128
    assert (step["incident"], step["strictness"], after["tightenings"]) == (2, P5, 2)
    assert reward == pytest.approx(2 * math.log2(0.25 / (7 / 8)))
    assert not step["right"]


def test_a_review_decides_what_was_submitted_not_what_is_believed_since():
    env = under_review(lab(**FREE), potency=4)
    believe(env, 0, 1)
    for _ in range(3):
        _, step, after = take(env, Verb.REST)
    assert after["wrong"] == 0
    assert step["published_bits"] == pytest.approx(math.log2(6))


def test_a_private_finding_under_review_pays_its_share_and_reports_no_incident():
    for potency, score in ((4, math.log2(6)), (1, math.log2(0.25 / (7 / 8)))):
        env = under_review(lab(**FREE), verb=Verb.PUBLISH_PRIVATE, potency=potency)
        rewards = [env.step(REST)[1] for _ in range(3)]
        after = env.get_state()
        assert rewards[-1] == pytest.approx(score / 2)
        assert after["published"][0] == 1
        assert after["strictness"] == P20
        assert after["incidents"].tolist() == [int(potency != 4), 0]


@pytest.mark.parametrize(("beats_left", "pays"), [(4, True), (3, False), (1, False)])
def test_a_review_that_the_horizon_overtakes_pays_nothing(beats_left, pays):
    env = lab(**FREE)
    notebook(env)
    state = env.get_state()
    state["residual"][0] = BETWEEN
    state["heartbeat"] = 40 - beats_left
    env.set_state(state)
    take(env, Verb.PUBLISH_PUBLIC, 0, confidence=PLAINLY)
    over = bool(env.get_state()["end_reason"])
    while not over:
        *_, terminated, truncated, _ = env.step(REST)
        over = terminated or truncated
    after = env.get_state()
    assert after["end_reason"] == EndReason.HORIZON
    assert (after["accepted"], after["score"] > 0) == (int(pays), pays)
    assert (after["decision_at"][0] == 0) == pays
    env.reset()
    fresh = env.get_state()
    assert not fresh["decision_at"].any()
    assert not fresh["verdicts"].any()
    assert (fresh["page"] == -1).all()
    assert (fresh["residual"] == 1_000_000).all()


def test_a_pending_review_keeps_exhaustion_away():
    env = under_review(lab(), compound=7)
    state = put(env, wells=0, published=[1] * 7 + [0])
    for left in range(3):
        *_, terminated, _, _ = env.step(REST)
        assert terminated == (left == 2)
    after = env.get_state()
    assert state["accepted"] == 0
    assert (after["accepted"], after["end_reason"]) == (1, EndReason.EXHAUSTED)
    assert after["score"] == pytest.approx(math.log2(6) - after["settled"])


def test_bankruptcy_ends_the_episode_and_drops_what_is_undecided():
    env = under_review(lab(), compound=7)
    put(env, wells=0, debt=ABOVE)
    _, reward, terminated, _, info = env.step(REST)
    after = env.get_state()
    assert terminated
    assert after["end_reason"] == EndReason.BANKRUPT
    assert (after["accepted"], after["published"][7]) == (0, 0)
    assert reward == -ABOVE
    assert info["episode_summary"]["return"] == pytest.approx(-ABOVE)


def test_a_bankruptcy_that_resets_leaves_the_review_pending():
    env = under_review(lab(debt={"bankruptcy": "reset"}), compound=7)
    put(env, wells=0, debt=ABOVE)
    rewards = [env.step(REST)[1] for _ in range(3)]
    after = env.get_state()
    assert rewards == [-ABOVE, 0.0, pytest.approx(math.log2(6))]
    assert (after["bankruptcies"], after["debt"], after["published"][7]) == (1, 0.0, 2)


def test_carried_debt_crosses_the_episode_and_the_gate_does_not():
    env = under_review(lab(debt={"carry_debt": True}), licence=1.0, potency=1)
    put(env, heartbeat=39, strictness=P5, calm=7)
    *_, truncated, _ = env.step(REST)
    left = env.get_state()["debt"]
    assert truncated
    assert left == pytest.approx(bits(PLAINLY, 1 / 8) - 1.0)
    env.reset()
    fresh = env.get_state()
    assert (fresh["debt"], fresh["strictness"], fresh["calm"]) == (left, P20, 0)
    assert not fresh["decision_at"].any()
    assert (fresh["measured_class"] == -1).all()


# -- governance ----------------------------------------------------------------------------------


def wrong_finding(env, compound=0, verb=Verb.PUBLISH_PUBLIC):
    notebook(env, compound, potency=1)
    state = env.get_state()
    state["residual"][compound] = 0
    env.set_state(state)
    return take(env, verb, compound, confidence=PLAINLY)


def test_a_wrong_public_finding_tightens_and_twelve_heartbeats_relax():
    env = lab(**FREE)
    _, step, after = wrong_finding(env)
    assert (step["policy"], step["strictness"], step["incident"]) == (P20, P10, 1)
    assert not step["right"]
    assert (after["tightenings"], after["incidents"].tolist()) == (1, [0, 1])
    levels = []
    for _ in range(14):
        assert shown(env)["tau_accept"] == pytest.approx(
            load_measured().policies[after["strictness"]].tau_accept, abs=1e-6
        )
        _, step, after = take(env, Verb.REST)
        levels.append(int(step["strictness"]))
    # The heartbeat of the error is none of the twelve.
    assert levels == [P10] * 11 + [P20] * 3
    assert after["strictness"] == P20


def test_without_the_number_check_a_stale_class_is_judged_by_its_residual_alone():
    env = notebook(lab(**FREE, gate={"numbers": False}), named=4, now=5, bins=READOUTS)
    state = env.get_state()
    assert state["unsupported"][0].all()
    state["residual"][0] = 0
    env.set_state(state)
    _, step, _ = take(env, Verb.PUBLISH_PUBLIC, 0, confidence=PLAINLY)
    assert (step["verdict"], step["unsupported"]) == (Verdict.ACCEPT, 0)


def test_a_lab_without_a_gate_reports_no_verdict():
    env = LabEnv()
    env.reset(seed=1)
    take(env, Verb.SCREEN, 0, claim=0.0)
    _, step, after = take(env, Verb.PUBLISH_PUBLIC, 0, confidence=HEDGED)
    assert step["event"] == Event.PUBLISHED
    assert "verdicts" not in after.dtype.names
    assert "verdict" not in step.dtype.names
    assert not any(name.startswith(("tau_", "strictness")) for name in env.observation_fields)


# -- padding -------------------------------------------------------------------------------------

EXTRA = 6


def padded(first, extra, n):
    """Residuals (millionths) of findings after ``0..EXTRA`` more plates with the fit held as it was.

    Shape ``(n, EXTRA + 1, 3)``: by the lab's own notebook, and by one that would keep every readout.
    """
    env = lab(**FREE, assay={"lot_heartbeats": 10_000})
    rng = np.random.default_rng(5)
    ours, kept = np.zeros((2, n, EXTRA + 1, 3))
    for i in range(n):
        env.reset(seed=i)
        m, fit = i % 8, (int(rng.integers(8)), int(rng.integers(4)))
        readouts = []
        for k in range(EXTRA + 1):
            before = set(enumerate(env.get_state()["page"][m].tolist()))
            after = take(env, extra if k else first, m, claim=0.0)[2]
            readouts += sorted(set(enumerate(after["page"][m].tolist())) - before)
            assert (after["page"][m] >= 0).sum() + 4 <= 12
            put(env, fit_class=[fit[0]] * 8, fit_strength=[fit[1]] * 8, experiments=[1] * 8)
            believe(env, m, fit[0])
            ours[i, k] = take(env, Verb.DMSO)[2]["residual"][m]
            page = tuple(sorted({(d, b) for d, b in readouts if b >= 0}))
            kept[i, k] = [measured(m, page, fit, wording, fit[0])[0] * 1e6 for wording in range(3)]
    return ours, kept


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "extra"),
    [
        (Verb.SCREEN, Verb.SCREEN),
        (Verb.DOSE_RESPONSE, Verb.SCREEN),
        (Verb.DOSE_RESPONSE, Verb.DOSE_RESPONSE),
    ],
)
def test_piling_up_plates_leaves_residuals_as_they_are(first, extra):
    """On average no lower: within five standard errors, and within a ten-thousandth of energy a plate."""
    ours, kept = padded(first, extra, 150)
    change = (ours[:, -1] - ours[:, 0]) / EXTRA
    error = change.std(axis=0) / math.sqrt(len(change))
    print(
        f"{first.name} + {extra.name}: {change.mean(axis=0).round(1)} +- {error.round(1)} millionths a plate"
    )
    assert (change.mean(axis=0) > -5 * error).all()
    assert (np.abs(change.mean(axis=0)) < 100).all()
    if extra == Verb.SCREEN and first == Verb.SCREEN:
        would = ((kept[:, -1] - kept[:, 0]) / EXTRA).mean(axis=0)
        print(f"a notebook that keeps every readout: {would.round(1)}")
        assert (would < -200).all()


# -- nothing leaks, and nothing drifts -----------------------------------------------------------


@pytest.mark.parametrize("seed", range(2 if PLAIN else 4))
def test_the_gate_knows_nothing_of_the_hidden_potency(seed):
    """Two labs that differ in one compound's potency alone, until a public finding about it is out."""
    rng = np.random.default_rng(seed)
    here, there = lab(seed=seed, **FREE), lab(seed=seed, **FREE)
    for _ in range(20):
        here.step(busy(here, rng, here.get_state()))
    state = here.get_state()
    m = int(np.argmax(state["experiments"] * (state["published"] == 0)))
    state["heartbeat"] = 1
    here.set_state(state)
    state["potency"][m] = (state["potency"][m] + 1 + rng.integers(7)) % 8
    assert (there.set_state(state) == here.batch.observations[0]).all()
    for _ in range(30):
        action = busy(here, rng, here.get_state())
        row = here.actions[action]
        if row["verb"] in (Verb.SCREEN, Verb.DOSE_RESPONSE) and row["compound"] == m:
            continue  # what a plate shows does depend on it
        one, two = here.step(action), there.step(action)
        steps = here.batch.steps[0], there.batch.steps[0]
        for name in (
            "verdict",
            "residual",
            "unsupported",
            "wording",
            "asserted",
            "policy",
            "approved",
            "declined",
        ):
            assert steps[0][name] == steps[1][name]
        if here.get_state()["published"][m] == 2:
            break
        assert one[0].tobytes() == two[0].tobytes()
        if here.get_state()["published"][m]:
            continue  # to one reader: it pays, and shows nowhere else
        assert one[1] == two[1]


SMALLER = """
import numpy as np
from solvent import LabEnv
from solvent.lab.words.measured import load_measured
from solvent.gate.energy import gram_energy
names, places, classes = ["etoposide", "nocodazole", "CCCP"], [1, 4, 5, 7], 5
whole = load_measured()
doses = [whole.about["doses"][p] for p in places]
env = LabEnv(
    {
        "assay": {"compounds": names, "potency_classes": classes},
        "plates": {"screen": {"doses": [doses[3], doses[0]]}, "dose_response": {"doses": doses[:3]}},
        "debt": {"enforced": False},
    },
    preset="gate",
)
rng, worst, measured = np.random.default_rng(0), 0.0, 0
exploring = np.flatnonzero(env.actions["claim"] >= 0)
for seed in range(4):
    env.reset(seed=seed)
    pages = [{}, {}, {}]
    for _ in range(30):
        action = rng.choice(exploring)
        *_, terminated, truncated, _ = env.step(action)
        state, row = env.get_state(), env.actions[action]
        if env.batch.steps[0]["executed"]:
            measures = [3, 0] if row["verb"] == 4 else [0, 1, 2]
            for r, d in enumerate(measures):
                pages[row["compound"]][places[d]] = int(state["last_bins"][r])
        for m in range(3):
            if not pages[m]:
                continue
            gram = whole.gram[whole.about["compounds"].index(names[m])]
            fit, strength = state["fit_class"][m], state["fit_strength"][m]
            rows = [d * 12 + b for d, b in pages[m].items()]
            rows += [96 if s == 0 else 97 + (s - 1) * 8 + fit for s in range(strength + 1)]
            for wording in range(3):
                finding = 121 + wording * 8 + state["marginal"][m].argmax()
                energy = gram_energy(gram[finding, rows], gram[np.ix_(rows, rows)], 12, 12)
                worst, measured = max(worst, abs(energy * 1e6 - state["residual"][m, wording])), measured + 1
        if terminated or truncated:
            break
print(worst <= 1.0, measured > 500)
"""


@pytest.mark.slow
def test_a_smaller_lab_is_measured_by_the_same_sentences():
    """Fewer compounds, classes and doses, in another order; in plain Python, which compiles nothing."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SMALLER],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ["True", "True"], done.stdout + done.stderr
