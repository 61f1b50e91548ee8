"""The lab's posterior against brute force: the joint over instrument and all compounds, enumerated on a small lab."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from solvent import LabEnv
from solvent.lab.verbs import EXTRA, Verb
from tests.labs import PLAIN

pytestmark = (
    [] if PLAIN else [pytest.mark.slow]
)  # half a minute to compile this shape; the plain pass has it too
COMPOUNDS, CLASSES = 2, 3
GAINS, PLATE_SDS = (0.7, 1.2), (0.1, 0.3)
STATES = [(gain, sd) for gain in GAINS for sd in PLATE_SDS]
SCREEN_DOSES = (1e-8, 3e-7)
DEEP_DOSES = (1e-9, 1e-8, 1e-7, 1e-6)
LOT = 6
SMALL = {
    "assay": {
        "compounds": ["first", "second"],
        "potency_classes": CLASSES,
        "gains": list(GAINS),
        "plate_sds": list(PLATE_SDS),
        "bins": 7,
        "lot_heartbeats": LOT,
    },
    "plates": {
        "dmso": {"readouts": 1, "replicates": 8},
        "baseline": {"readouts": 1, "replicates": 12},
        "calibration": {"readouts": 3, "replicates": 8},
        "screen": {"doses": list(SCREEN_DOSES), "replicates": 4},
        "dose_response": {"doses": list(DEEP_DOSES), "replicates": 6},
    },
    "vocabulary": {"extra": list(EXTRA)},
    "budget": {"wells": 2_000, "heartbeats": 20},
    "debt": {"enforced": False},
}
SKEWED = {**SMALL, "assay": {**SMALL["assay"], "prior": [0.6, 0.3, 0.1]}}
TOLERANCE = 1e-5  # p(class | instrument) is stored as float32


class BruteForce:
    """Every hypothesis (instrument, class of the first, class of the second) with its probability."""

    def __init__(self, prior):
        self.prior = np.asarray(prior)
        marginals = [self.prior] * COMPOUNDS
        self.start_lot(marginals)

    def start_lot(self, marginals):
        self.joint = {
            (nu, *classes): math.prod(marginals[m][g] for m, g in enumerate(classes)) / len(STATES)
            for nu in range(len(STATES))
            for classes in itertools.product(range(CLASSES), repeat=COMPOUNDS)
        }

    def likelihood(self, observed, nu, viability, replicates):
        gain, sd = STATES[nu]
        edges = [-math.inf, *np.linspace(0.1, 1.3, 8)[1:-1], math.inf]
        spread = math.sqrt(sd**2 + 0.15**2 / replicates)

        low, high = (
            (edge - gain * viability) / (spread * math.sqrt(2)) for edge in edges[observed : observed + 2]
        )
        if low > 0:  # far above the mean both cumulative probabilities round to 1: subtract the upper tails
            return 0.5 * (math.erfc(low) - math.erfc(high))
        return 0.5 * (math.erfc(-high) - math.erfc(-low))

    def viability(self, dose, potency):
        if potency == 0:
            return 1.0
        ec50 = 1e-8 * 10 ** (0.5 * (potency - 1))
        return 0.05 + 0.95 / (1 + (dose / ec50) ** 1.2)

    def observe(self, compound, doses, bins, replicates):
        """Doses of a compound, or vehicle wells (compound None)."""
        for hypothesis in self.joint:
            nu = hypothesis[0]
            for dose, observed in zip(doses, bins, strict=True):
                v = 1.0 if compound is None else self.viability(dose, hypothesis[1 + compound])
                self.joint[hypothesis] *= self.likelihood(int(observed), nu, v, replicates)
        total = sum(self.joint.values())
        self.joint = {h: p / total for h, p in self.joint.items()}

    def instrument(self):
        return np.array([sum(p for h, p in self.joint.items() if h[0] == nu) for nu in range(len(STATES))])

    def marginal(self, m):
        return np.array([sum(p for h, p in self.joint.items() if h[1 + m] == g) for g in range(CLASSES)])

    def conditional(self, m):
        table = np.zeros((len(STATES), CLASSES))
        for h, p in self.joint.items():
            table[h[0], h[1 + m]] += p
        return table / table.sum(axis=1, keepdims=True)


def entropy(p):
    p = p[p > 0]
    return float(-(p * np.log2(p)).sum())


def assert_same_belief(lab, exact):
    assert lab["instrument_belief"] == pytest.approx(exact.instrument(), abs=TOLERANCE)
    assert lab["instrument_entropy"] == pytest.approx(entropy(exact.instrument()), abs=TOLERANCE)
    for m in range(COMPOUNDS):
        assert lab["marginal"][m] == pytest.approx(exact.marginal(m), abs=TOLERANCE)
        assert lab["entropy"][m] == pytest.approx(entropy(exact.marginal(m)), abs=10 * TOLERANCE)
        weight = exact.instrument()[:, None]
        assert weight * lab["conditional"][m] == pytest.approx(weight * exact.conditional(m), abs=TOLERANCE)


REPLICATES = {Verb.DMSO: 8, Verb.BASELINE: 12, Verb.CALIBRATION: 8, Verb.SCREEN: 4, Verb.DOSE_RESPONSE: 6}
READOUTS = {Verb.DMSO: 1, Verb.BASELINE: 1, Verb.CALIBRATION: 3}
DOSES = {Verb.SCREEN: SCREEN_DOSES, Verb.DOSE_RESPONSE: DEEP_DOSES}


def run_beside_brute_force(params, seed, actions):
    """Run the actions and hold the belief against enumeration after each; return the lab's step records."""
    env = LabEnv(params)
    env.reset(seed=seed)
    exact = BruteForce(env.params.assay.class_prior)
    assert_same_belief(env.get_state(), exact)
    records = []
    for action in actions:
        row = env.actions[action]
        verb, compound = Verb(row["verb"]), int(row["compound"])
        before = [entropy(exact.marginal(m)) for m in range(COMPOUNDS)]
        instrument_before = entropy(exact.instrument())
        _, _, terminated, truncated, _ = env.step(action)
        lab, step = env.get_state(), env.batch.steps[0].copy()
        if verb in READOUTS:
            bins = lab["last_bins"][: READOUTS[verb]]
            assert (bins >= 0).all()
            exact.observe(None, [0.0] * len(bins), bins, REPLICATES[verb])
            assert step["gain"] == pytest.approx(instrument_before - entropy(exact.instrument()), abs=1e-4)
        elif verb in DOSES:
            bins = lab["last_bins"][: len(DOSES[verb])]
            exact.observe(compound, DOSES[verb], bins, REPLICATES[verb])
            gain = before[compound] - entropy(exact.marginal(compound))
            assert step["gain"] == pytest.approx(gain, abs=1e-4)
            assert step["debt_added"] == pytest.approx(max(0.0, row["claim"] - gain), abs=1e-4)
        if lab["heartbeat"] % LOT == 0 and lab["heartbeat"] < 20:
            exact.start_lot([exact.marginal(m) for m in range(COMPOUNDS)])
        assert_same_belief(lab, exact)
        records.append(step)
        if terminated or truncated:
            break
    return records


def test_beliefs_are_the_exact_posterior_through_three_lot_changes():
    env = LabEnv(SMALL)
    verb = env.actions["verb"]
    plates = np.flatnonzero((verb >= Verb.DMSO) & (verb <= Verb.DOSE_RESPONSE))
    for seed in range(4):
        actions = np.random.default_rng(seed).choice(plates, 20)
        assert len(run_beside_brute_force(SMALL, seed, actions)) == 20


def test_beliefs_are_exact_under_a_prior_that_is_not_uniform():
    env = LabEnv(SKEWED)
    actions = np.random.default_rng(9).integers(0, len(env.actions), 20)
    run_beside_brute_force(SKEWED, 9, actions)


@settings(max_examples=15)
@given(st.integers(0, 2**32), st.lists(st.integers(0, 10**6), min_size=1, max_size=8))
@example(seed=61399, choices=[0, 492])
def test_beliefs_are_exact_for_any_seed_and_actions(seed, choices):
    n = len(LabEnv(SMALL).actions)
    run_beside_brute_force(SMALL, seed, [choice % n for choice in choices])


def test_an_experiment_on_one_compound_teaches_about_another_only_through_the_instrument():
    env = LabEnv(SMALL)
    verb, compound = env.actions["verb"], env.actions["compound"]
    first = int(np.flatnonzero((verb == Verb.DOSE_RESPONSE) & (compound == 0))[0])
    second = int(np.flatnonzero((verb == Verb.DOSE_RESPONSE) & (compound == 1))[0])
    env.reset(seed=3)
    env.step(first)
    untouched = env.get_state()
    assert (untouched["marginal"][1] == np.full(CLASSES, 1 / CLASSES)).all()
    assert untouched["instrument_entropy"] < 2.0
    env.step(second)
    moved = env.get_state()
    env.step(first)
    assert (env.get_state()["marginal"][1] != moved["marginal"][1]).any()


def test_a_new_lot_voids_what_was_learnt_about_the_instrument_and_keeps_every_marginal():
    env = LabEnv(SMALL)
    deep = np.flatnonzero(env.actions["verb"] == Verb.DOSE_RESPONSE)
    env.reset(seed=1)
    for beat in range(LOT - 1):
        env.step(deep[beat % len(deep)])
    before = env.get_state()
    assert before["instrument_entropy"] < 1.9
    env.step(0)
    after = env.get_state()
    assert after["heartbeat"] == LOT
    assert (after["instrument_belief"] == 0.25).all()
    assert after["instrument_entropy"] == 2.0
    assert (after["marginal"] == before["marginal"]).all()
    assert (after["entropy"] == before["entropy"]).all()
    assert (after["lowest_entropy"] == before["lowest_entropy"]).all()
    for m in range(COMPOUNDS):
        assert after["conditional"][m] == pytest.approx(np.tile(after["marginal"][m], (4, 1)), abs=1e-7)


def test_the_belief_is_calibrated_what_it_holds_for_probable_happens_as_often():
    """The most probable class is the true one as often as the belief says: the draws are of the model."""
    env = LabEnv(SMALL)
    deep = np.flatnonzero((env.actions["verb"] == Verb.DOSE_RESPONSE) & (env.actions["compound"] == 0))
    confidence, right, gains = [], [], []
    for seed in range(300):
        env.reset(seed=seed)
        env.step(deep[0])
        lab = env.get_state()
        best = lab["marginal"][0].argmax()
        confidence.append(lab["marginal"][0][best])
        right.append(lab["potency"][0] == best)
        gains.append(env.batch.steps[0]["gain"])
    variance = np.sum(np.array(confidence) * (1 - np.array(confidence)))
    assert abs(np.sum(confidence) - np.sum(right)) < 4 * math.sqrt(variance)
    assert 0 < np.mean(gains) < math.log2(3)  # information is gained on average, though not every time


def test_licence_can_not_be_farmed_from_noise():
    """However often a plate is repeated, licence never exceeds how far the entropy fell below the prior's."""
    env = LabEnv({**SMALL, "debt": {"enforced": False, "uncalibrated_licence": 1.0}})
    screens = np.flatnonzero((env.actions["verb"] == Verb.SCREEN) & (env.actions["compound"] == 0))
    boldest = screens[-1]
    went_back = 0
    for seed in range(20):
        env.reset(seed=seed)
        licence, lowest = 0.0, math.log2(3)
        for _ in range(20):
            env.step(boldest)
            lab, step = env.get_state(), env.batch.steps[0]
            credited = max(0.0, min(2.5, lowest - lab["entropy"][0]))
            assert step["licence_added"] == pytest.approx(credited, abs=1e-12)
            went_back += step["gain"] > 0.01 and step["licence_added"] == 0.0
            lowest = min(lowest, lab["entropy"][0])
            licence += step["licence_added"]
            assert lab["lowest_entropy"][0] == lowest
        assert env.get_state()["licence"][0] == pytest.approx(licence, abs=1e-12)
        assert licence <= math.log2(3) - lowest + 1e-9
    assert went_back > 0  # the rule was put to the test


def test_a_claim_of_nothing_buys_no_licence():
    env = LabEnv(SMALL)
    silent = np.flatnonzero((env.actions["verb"] == Verb.DOSE_RESPONSE) & (env.actions["claim"] == 0.0))
    env.reset(seed=0)
    for _ in range(10):
        env.step(silent[0])
    lab = env.get_state()
    assert lab["lowest_entropy"][0] < 1.0
    assert lab["licence"][0] == 0.0


def test_after_a_new_lot_the_instrument_says_nothing_about_a_compound_until_it_is_run_again():
    env = LabEnv(SMALL)
    env.reset(seed=1)
    deep = np.flatnonzero((env.actions["verb"] == Verb.DOSE_RESPONSE) & (env.actions["compound"] == 0))[0]
    for _ in range(LOT):
        env.step(deep)
    before = env.get_state()
    env.step(int(Verb.CALIBRATION))
    after = env.get_state()
    assert after["instrument_entropy"] < 2.0
    assert after["marginal"].tobytes() == before["marginal"].tobytes()
    assert after["entropy"].tobytes() == before["entropy"].tobytes()
