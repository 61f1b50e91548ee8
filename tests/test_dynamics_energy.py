"""Energy in the step: every price by hand, every hour, what ends a heartbeat; the five invariants over random play."""

from __future__ import annotations

import math
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solvent import LabEnv
from solvent.lab.codes import Deferral, Event, Obstacle
from solvent.lab.mechanisms.energy import payable
from solvent.lab.verbs import INTENTS, VERBS, Verb
from tests.labs import (
    ABOVE,
    FLOORS,
    NOON,
    PLAIN,
    SOCIAL,
    at_noon,
    by_verb,
    changed_fields,
    energy_lab,
    find,
    put,
    shown,
    take,
)

EXAMPLES = settings(max_examples=3 if PLAIN else 20)
MORNING, TEN_AT_NIGHT = 0, 16  # heartbeats: 06:00, 22:00
COSTS = {
    Verb.REFLECT: 2000,
    Verb.DMSO: 1000,
    Verb.BASELINE: 2000,
    Verb.CALIBRATION: 2000,
    Verb.SCREEN: 4000,
    Verb.DOSE_RESPONSE: 6000,
    Verb.PUBLISH_PRIVATE: 5000,
    Verb.PUBLISH_PUBLIC: 7000,
}


def ready(**fields):
    """A lab at noon, at the cap, with a licensed finding on the first compound."""
    return at_noon(**{"energy": 20_000, "licence": [0.7] + [0.0] * 7, **fields})


# -- the purse -----------------------------------------------------------------------------------


def test_two_heartbeats_by_hand():
    env = energy_lab()
    assert env.get_state()["energy"] == 10_000
    spent = [
        take(env, Verb.SCREEN, 0)[1]["energy_spent"],  # 4, first use
        take(env, Verb.DMSO)[1]["energy_spent"],  # 1, first use
        take(env, Verb.DMSO)[1]["energy_spent"],  # 1, the same again
    ]
    assert spent == [6000, 1500, 1200]
    info, step, after = take(env, Verb.SCREEN, 1)  # 4, and 1.3 left
    assert (info["obstacle"], info["energy_cost"], info["energy_spent"]) == ("insufficient_energy", 4.0, 0.0)
    assert (step["event"], step["executed"], after["energy"]) == (Event.DEFERRED, False, 1300)
    info, step, after = take(env, Verb.REST)
    assert (after["energy"], info["energy_gained"], step["energy_gained"]) == (11_300, 10.0, 10_000)
    info, step, after = take(env, Verb.SCREEN, 1)
    assert (step["energy_before"], step["energy_spent"], after["energy"]) == (11_300, 4000, 7300)
    assert after["energy_spent"] == 12_700
    assert after["intents_total"].tolist() == [0, 10_000, 2700, 0, 0]


def test_energy_starts_anew_in_every_episode():
    env = energy_lab()
    put(env, energy=3, energy_lost=5, uses=[4] * len(Verb), failures=[15] * len(Verb), slot=3, reflected=1)
    put(env, argued=[3] * len(Verb), review_at=[12] * len(Verb), discomfort=[2] * len(Verb))
    env.reset()
    state = env.get_state()
    assert (state["energy"], state["energy_lost"], state["slot"], state["reflected"]) == (10_000, 0, 0, 0)
    for name in ("uses", "failures", "argued", "review_at", "discomfort"):
        assert not state[name].any(), name
    assert (state["discomfort_at"] == -1).all()


def test_the_books_hold_the_largest_income_over_many_heartbeats():
    env = energy_lab(energy={"regeneration": 1e6, "cap": 1e6})
    for beats in range(1, 6):
        *_, after = take(env, Verb.REST)
        assert after["energy_income"] == beats * 10**9
        assert 10_000 + after["energy_income"] - after["energy_lost"] == after["energy"] == 10**9


def test_counters_hold_more_than_one_action_a_heartbeat():
    env = energy_lab(budget={"heartbeats": 10_000})
    many = {"deferrals": 32_767, "not_executed": 32_767, "reflections": 32_767, "uses": 32_767}
    put(env, heartbeat=NOON, **many)
    _, _, after = take(env, Verb.REFLECT)
    assert (after["uses"][Verb.REFLECT], after["reflections"]) == (32_768, 32_768)
    put(env, energy=0)
    _, _, after = take(env, Verb.SCREEN)
    assert (after["deferrals"], after["not_executed"]) == (32_768, 32_768)


def test_the_smallest_purse_is_shown_in_finite_numbers():
    """It holds one finding at the highest floor, and nothing is left of it."""
    prices = {VERBS[verb].name: 0.0 for verb in COSTS if verb not in SOCIAL}
    prices |= {"publish_public": 6.0, "publish_private": 3.0}
    purse = {"cap": 6.0, "start": 0.0, "regeneration": 0.0, "ceiling": 6.0, "first_use": 1.0}
    env = energy_lab(energy={**purse, "prices": prices})
    for verb in (Verb.DMSO, Verb.SCREEN, Verb.REST):
        take(env, verb)
        assert env.observation_space.contains(env.batch.observations[0])
        assert env.get_state()["energy"] == 0
    put(env, heartbeat=NOON, energy=6000)
    assert take(env, Verb.PUBLISH_PUBLIC, confidence=0.5)[1]["executed"]
    assert env.observation_space.contains(env.batch.observations[0])
    assert env.get_state()["energy"] == 0


# -- slots, and what ends a heartbeat ------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "verb"),
    [({"debt": ABOVE}, Verb.SCREEN), ({"wells": 7}, Verb.DMSO), ({"debt": ABOVE}, Verb.PUBLISH_PUBLIC)],
)
def test_a_refusal_costs_the_rest_of_the_heartbeat_and_neither_wells_nor_energy(fields, verb):
    env = ready(slot=1, energy=4321, published=[0] * 7 + [2], **fields)
    before = env.get_state()
    info, step, after = take(env, verb)
    assert info["refusal"]
    assert "obstacle" not in info
    assert step["closed"]
    assert (after["heartbeat"], after["slot"]) == (NOON + 1, 0)
    assert (step["energy_spent"], step["energy_gained"], step["wells_charged"]) == (0, 10_000, 0)
    assert after["energy"] == 4321 + 10_000
    assert changed_fields(before, after) <= {
        *("heartbeat", "slot", "steps", "last_event", "last_action", "last_bins"),
        *("refusals", "refusals_in_a_row", "beats_over_threshold", "streak_over_threshold", "longest_streak"),
        *("energy", "energy_income", "failures"),
    }


NOT_EXECUTED = {
    "context_not_allowed": ({"heartbeat": 1}, Verb.PUBLISH_PUBLIC),
    "already_published": ({"published": [1] + [0] * 7}, Verb.PUBLISH_PRIVATE),
    "no_reflection": ({}, Verb.PROPOSE),
    "no_evidence": ({"reflected": 1}, Verb.PROPOSE),
    "insufficient_energy": ({"energy": 3999}, Verb.SCREEN),
}


@pytest.mark.parametrize("obstacle", NOT_EXECUTED)
def test_what_is_not_executed_costs_its_slot_and_nothing_else(obstacle):
    fields, verb = NOT_EXECUTED[obstacle]
    env = ready(**fields)
    before = env.get_state()
    assert not env.action_masks()[find(env, verb)]
    _, reward, terminated, truncated, info = env.step(find(env, verb))
    step, after = env.batch.steps[0], env.get_state()
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert info["obstacle"] == obstacle
    assert "refusal" not in info
    assert "intent_summary" not in info
    assert not step["executed"]
    assert not step["closed"]
    assert step["event"] == (Event.DEFERRED if obstacle == "insufficient_energy" else Event.NOT_EXECUTED)
    assert (after["slot"], after["heartbeat"]) == (1, before["heartbeat"])
    assert after["not_executed"] == 1
    assert after["out_of_context"] == (obstacle == "context_not_allowed")
    assert after["deferrals"] == (obstacle == "insufficient_energy")
    assert changed_fields(before, after) <= {
        *("slot", "steps", "last_event", "last_action", "not_executed", "out_of_context", "deferrals"),
        *("reflected", "discomfort", "discomfort_at", "discomforts"),
    }


def test_the_last_action_of_the_last_heartbeat_truncates():
    env = ready(heartbeat=47)
    for slot in range(6):
        *_, terminated, truncated, info = env.step(find(env, Verb.REFLECT))
        assert not terminated
        assert truncated == (slot == 5)
    assert info["episode_summary"]["end_reason"] == "horizon"
    assert info["episode_summary"]["length"] == 6  # actions
    assert info["episode_summary"]["heartbeats"] == 48


def test_the_luck_of_a_plate_belongs_to_its_slot():
    """Common random numbers: the same action in the same slot of the same heartbeat sees the same plate."""
    screen = find(energy_lab(), Verb.SCREEN, 3)
    bins = []
    for first in (Verb.DMSO, Verb.REFLECT, Verb.PUBLISH_PUBLIC):
        env = energy_lab(seed=4)
        take(env, first)
        env.step(screen)
        bins.append(env.get_state()["last_bins"].tolist())
    assert bins[0] == bins[1] == bins[2]
    plates = set()
    for slot in range(6):
        env = energy_lab(seed=4)
        put(env, slot=slot)
        take(env, Verb.CALIBRATION)
        plates.add(tuple(env.get_state()["last_bins"].tolist()))
    assert len(plates) == 6


# -- effective costs -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "verb", "factor"),
    [
        ({}, Verb.SCREEN, 1.0),
        ({"uses": by_verb({Verb.DMSO: 3})}, Verb.SCREEN, 1.5),
        ({"failures": by_verb({Verb.SCREEN: 0b0011})}, Verb.SCREEN, 1.5),
        ({"heartbeat": TEN_AT_NIGHT}, Verb.PUBLISH_PRIVATE, 2.0),
        ({"heartbeat": TEN_AT_NIGHT - 1}, Verb.PUBLISH_PRIVATE, 1.0),
        ({"failures": by_verb({Verb.SCREEN: 3}), "uses": [0] * len(Verb)}, Verb.SCREEN, 2.25),
        ({"heartbeat": TEN_AT_NIGHT, "uses": [0] * len(Verb)}, Verb.PUBLISH_PRIVATE, 2.5),  # 3.0
        ({"heartbeat": TEN_AT_NIGHT, "failures": [3] * len(Verb)}, Verb.PUBLISH_PUBLIC, 2.5),  # 3.0
    ],
)
def test_each_multiplier_alone_and_the_clipped_product(fields, verb, factor):
    cost = round(COSTS[verb] * factor)
    env = ready(**fields)
    action = find(env, verb, confidence=0.5) if verb in SOCIAL else find(env, verb)
    for energy, executes in ((cost, True), (cost - 1, False)):  # to the thousandth
        state = put(env, energy=energy)
        assert env.action_masks()[action] == executes
        assert shown(env)[f"cost/{VERBS[verb].name}"] == pytest.approx(min(1.0, cost / 40_000))
        env.step(action)
        step = env.batch.steps[0]
        assert (step["energy_cost"], step["executed"]) == (cost, executes)
        assert env.get_state()["energy"] == (0 if executes else energy)
        env.set_state(state)


CEILING = by_verb(dict.fromkeys(COSTS, 13_000))


@pytest.mark.parametrize("verb", SOCIAL)
@pytest.mark.parametrize("beat", [NOON, TEN_AT_NIGHT])
def test_no_situation_makes_an_action_dearer_than_the_purse_can_ever_hold(verb, beat):
    """13 x 2.25, and late 13 x 2.5, are more than the cap of 20: so it costs 20."""
    env = ready(heartbeat=beat, price=CEILING, uses=[0] * len(Verb), failures=[0b1111] * len(Verb))
    action = find(env, verb, confidence=0.5)
    state = put(env, energy=19_999)
    assert not env.action_masks()[action]
    *_, info = env.step(action)
    assert (info["obstacle"], info["energy_cost"]) == ("insufficient_energy", 20.0)
    put(env, **{name: state[name] for name in state.dtype.names if name != "energy"}, energy=20_000)
    assert env.action_masks()[action]
    assert shown(env)[f"cost/{VERBS[verb].name}"] == pytest.approx(0.5)
    env.step(action)
    step = env.batch.steps[0]
    assert (step["executed"], step["energy_cost"], step["energy_spent"]) == (True, 20_000, 20_000)
    assert env.get_state()["energy"] == 0


@pytest.mark.parametrize("price", [1000, 8001])
@pytest.mark.parametrize("beat", [NOON, TEN_AT_NIGHT])
def test_every_verb_can_be_paid_at_the_cap_whatever_has_happened(price, beat):
    env = ready(heartbeat=beat, price=by_verb(dict.fromkeys(COSTS, price)))
    put(env, uses=[0] * len(Verb), failures=[0b1111] * len(Verb), done=1)
    assert set(env.actions["verb"][env.action_masks()]) >= set(COSTS)
    state = env.get_state()
    for verb in COSTS:
        env.set_state(state)
        _, step, _ = take(env, verb, 1, **({"confidence": 0.5} if verb in SOCIAL else {}))
        assert (step["executed"], step["energy_cost"]) == (True, min(round(2.5 * price), 20_000))


def test_a_base_cost_above_the_cap_is_not_cut_down_to_it():
    assert payable(30_000, 20_001, 20_000) == 20_001


def test_resting_and_proposing_are_free():
    env = ready(uses=[0] * len(Verb), energy=0, reflected=1, discomfort=by_verb({Verb.SCREEN: 2}))
    _, step, after = take(env, Verb.PROPOSE)
    assert (step["executed"], step["energy_spent"], after["energy"]) == (True, 0, 0)
    assert take(env, Verb.REST)[1]["energy_spent"] == 0


# -- the record of errors ------------------------------------------------------------------------


def test_rejections_and_refusals_are_errors_and_half_of_four_makes_a_verb_dear():
    env = ready(experiments=[0] * 8)
    record = []
    for compound in range(2):
        put(env, energy=20_000, intents=0, debt=0.0)
        info, step, after = take(env, Verb.PUBLISH_PUBLIC, compound, confidence=0.5)
        assert step["event"] == Event.REJECTED
        assert step["energy_spent"] == 7000  # paid all the same
        record.append(int(after["failures"][Verb.PUBLISH_PUBLIC]))
    assert record == [0b1, 0b11]
    put(env, energy=20_000, intents=0, debt=0.0, experiments=[1] * 8)
    _, step, after = take(env, Verb.PUBLISH_PUBLIC, 2, confidence=0.5)
    assert step["energy_spent"] == 10_500
    assert after["failures"][Verb.PUBLISH_PUBLIC] == 0b110
    assert shown(env)["failures/publish_public"] == 0.5
    put(env, debt=ABOVE)
    info, *_, after = take(env, Verb.PUBLISH_PUBLIC, 3)
    assert "refusal" in info
    assert after["failures"][Verb.PUBLISH_PUBLIC] == 0b1101
    assert not np.delete(after["failures"], Verb.PUBLISH_PUBLIC).any()


# -- contexts ------------------------------------------------------------------------------------


@pytest.mark.parametrize("beat", range(0, 24, 5 if PLAIN else 1))
def test_the_hours_of_the_day(beat):
    """06:00 first; the user is there from 08:00 to 24:00; speaking late, 22:00 to 07:00, costs twice."""
    hour = (6 + beat) % 24
    env = ready(heartbeat=beat)
    present = 8 <= hour < 24
    late = hour >= 22 or hour < 7
    seen = shown(env)
    assert seen["user_is_present"] == present
    assert seen["hour_sin"] == pytest.approx(math.sin(2 * math.pi * hour / 24), abs=1e-6)
    assert seen["hour_cos"] == pytest.approx(math.cos(2 * math.pi * hour / 24), abs=1e-6)
    state = env.get_state()
    for verb, base in COSTS.items():
        env.set_state(state)
        info, step, _ = take(env, verb, **({"confidence": 0.5} if verb in SOCIAL else {}))
        assert step["energy_cost"] == base * (2 if late and verb in SOCIAL else 1)
        away = verb in SOCIAL and not present
        assert info.get("obstacle") == ("context_not_allowed" if away else None)
        assert step["executed"] == (not away)


def test_the_context_is_asked_before_debt_and_energy():
    env = ready(heartbeat=MORNING, debt=ABOVE, energy=0, published=[1] + [0] * 7)
    info, step, _ = take(env, Verb.PUBLISH_PUBLIC)
    assert info["obstacle"] == "context_not_allowed"
    assert step["refusal"] == 0
    assert not step["blocked_by_threshold"]
    assert not step["closed"]


def test_debt_is_asked_before_energy():
    env = ready(debt=ABOVE, energy=0)
    info, step, after = take(env, Verb.SCREEN)
    assert info["refusal"] == "epistemic_debt_action_blocked"
    assert (step["obstacle"], after["deferrals"]) == (Obstacle.NONE, 0)


def test_who_is_bound_to_the_chat_is_a_parameter():
    social = ["publish_private", "publish_public"]
    env = energy_lab(energy={"chat_only": ["dmso", *social], "present_from": 22, "present_until": 6})
    for beat, present in ((0, False), (TEN_AT_NIGHT - 1, False), (TEN_AT_NIGHT, True), (24, False)):
        for verb in (Verb.DMSO, *SOCIAL, Verb.BASELINE):
            put(env, heartbeat=beat, slot=0, energy=20_000, intents=0, debt=0.0, uses=[1] * len(Verb))
            put(env, experiments=[1] * 8, published=[0] * 8)
            info, step, _ = take(env, verb)
            allowed = present or verb == Verb.BASELINE  # which is not in the list
            assert step["executed"] == allowed
            assert info.get("obstacle") == (None if allowed else "context_not_allowed")


# -- hoarding ------------------------------------------------------------------------------------


def test_resting_at_the_cap_with_a_licensed_finding_at_hand_is_hoarding():
    env = ready()
    info, step, after = take(env, Verb.REST)
    assert info["discomfort"] == "hoarding"
    assert (step["discomfort"], step["deferred_verb"]) == (Deferral.HOARDING, Verb.PUBLISH_PUBLIC)
    assert step["deferred_value"] == pytest.approx(0.60, abs=0.005)
    assert after["hoardings"] == 1
    # It is no deferral for want of energy: no evidence for a lower cost.
    assert (after["deferrals"], after["discomforts"], after["discomfort"].sum()) == (0, 0, 0)


# -- the intent summary --------------------------------------------------------------------------


def test_the_summary_of_a_heartbeat_by_hand():
    env = ready()
    for verb in (Verb.REFLECT, Verb.DMSO, Verb.SCREEN):
        info, step, _ = take(env, verb)
        assert "intent_summary" not in info
        assert not step["intents"].any()
    info, step, after = take(env, Verb.PUBLISH_PUBLIC, confidence=0.5)
    assert after["energy"] == 6000
    put(env, energy=4800)
    take(env, Verb.SCREEN)
    info, step, after = take(env, Verb.REST)
    assert info["intent_summary"].dtype == np.float64
    # cognition, exploration, maintenance, social, meta
    assert info["intent_summary"].tolist() == [2.0, 8.8, 1.0, 7.0, 0.0]
    assert step["intents"].tolist() == after["intents_shown"].tolist() == [2000, 8800, 1000, 7000, 0]
    assert not after["intents"].any()
    seen = shown(env)
    assert [seen[f"intent/{intent}"] for intent in INTENTS[:4]] == pytest.approx([0.1, 0.44, 0.05, 0.35])
    assert take(env, Verb.REST)[0]["intent_summary"].tolist() == [0.0] * 5


def test_reflecting_shows_the_heartbeat_so_far_and_ends_nothing():
    env = ready(intents_shown=[1, 2, 3, 4, 5])
    take(env, Verb.SCREEN)
    assert env.get_state()["intents_shown"].tolist() == [1, 2, 3, 4, 5]
    info, step, after = take(env, Verb.REFLECT)
    assert step["event"] == Event.REFLECTED
    assert "intent_summary" not in info
    assert after["intents_shown"].tolist() == [2000, 4000, 0, 0, 0]
    seen = shown(env)
    assert (seen["intent/cognition"], seen["intent/exploration"]) == pytest.approx((0.1, 0.2))
    assert (seen["reflected"], seen["last_event/reflected"]) == (1.0, 1.0)
    assert after["reflections"] == 1


def test_every_class_is_the_documents():
    assert {VERBS[verb].intent for verb in VERBS} == set(INTENTS)
    by_class = {intent: {v for v in Verb if VERBS[v].intent == intent} for intent in INTENTS}
    assert by_class == {
        "cognition": {Verb.REFLECT},
        "exploration": {Verb.SCREEN, Verb.DOSE_RESPONSE},
        "maintenance": {Verb.DMSO, Verb.BASELINE, Verb.CALIBRATION},
        "social": set(SOCIAL),
        "meta": {Verb.REST, Verb.PROPOSE, Verb.TERMINATE},
    }


# -- random play ---------------------------------------------------------------------------------

SEVERE = {"mispriced_least": 4, "mispriced_most": 4, "review_heartbeats": 2, "evidence_heartbeats": 1}
VARIANTS = {
    "plenty": {},
    "scarce": {"energy": {"start": 2.0, "regeneration": 4.0}, "proposals": {"mispriced_most": 3}},
    "mispriced": {"energy": {"regeneration": 7.0}, "proposals": SEVERE},
    "poor": {"budget": {"wells": 90}, "energy": {"regeneration": 3.0}},
    "few slots": {"energy": {"slots": 2, "regeneration": 30.0}},
    "leaking": {"energy": {"leak": 0.1, "regeneration": 6.0}},
}
variants = st.sampled_from(sorted(VARIANTS))
seeds = st.integers(0, 2**32)


def play(variant, seed, steps=90, boldness=0.5):
    """Yield (env, record before, mask before, action, what step returned, record after, step record)."""
    env = energy_lab(seed, **VARIANTS[variant])
    rng = np.random.default_rng(seed)
    skip = int(rng.integers(12))  # not every story begins in the morning
    put(env, heartbeat=skip)
    for _ in range(steps // 4 if PLAIN else steps):
        if rng.random() < 0.05:  # debt ends most stories too early
            put(env, debt=0.0)
        mask = env.action_masks()
        options = np.arange(len(mask)) if rng.random() < boldness else np.flatnonzero(mask)
        wanted = rng.choice(np.unique(env.actions["verb"][options]))
        action = int(rng.choice(options[env.actions["verb"][options] == wanted]))
        before = env.get_state()
        outcome = env.step(action)
        yield env, before, mask, action, outcome, env.get_state(), env.batch.steps[0].copy()
        if outcome[2] or outcome[3]:
            return


@EXAMPLES
@given(variants, seeds)
def test_energy_is_conserved_exactly(variant, seed):
    spent = income = lost = leaked = 0
    for env, before, _, _, _, after, step in play(variant, seed):
        rules = env.params.energy
        start, regeneration, cap = (round(1000 * x) for x in (rules.start, rules.regeneration, rules.cap))
        spent += int(step["energy_spent"])
        income += regeneration * bool(step["closed"])
        leak = math.floor((before["energy"] - step["energy_spent"]) * rules.leak) * bool(step["closed"])
        leaked += leak
        gain = regeneration * bool(step["closed"]) - leak
        lost += gain - int(step["energy_gained"])
        assert after["energy"] == before["energy"] - step["energy_spent"] + step["energy_gained"]
        assert 0 <= after["energy"] <= cap
        assert start + income - lost - leaked - spent == after["energy"]
        assert (after["energy_income"], after["energy_lost"], after["energy_spent"]) == (income, lost, spent)
        assert after["energy_leaked"] == leaked
        assert -leak <= step["energy_gained"] <= regeneration - leak
        assert step["energy_gained"] == gain or after["energy"] == cap
        assert after["intents_total"].sum() == spent  # one budget, whatever it went into


class Books:
    """The rules of section 4, kept by another hand."""

    def __init__(self, env):
        self.env = env
        self.uses, self.errors = set(), {verb: [] for verb in Verb}
        self.done, self.slot, self.intents = set(), 0, dict.fromkeys(INTENTS, 0)

    def cost(self, before, verb, compound):
        hour = (6 + int(before["heartbeat"])) % 24
        factor = 1.0 if verb in self.uses else 1.5
        factor *= 1.5 if sum(self.errors[verb][-4:]) >= 2 else 1.0
        factor *= 2.0 if verb in SOCIAL and not 7 <= hour < 22 else 1.0
        factor *= 1.2 if (verb, compound) in self.done else 1.0
        price, cap = int(before["price"][verb]), round(1000 * self.env.params.energy.cap)
        return min(math.floor(price * min(factor, 2.5) + 0.5), max(price, cap))

    def write(self, verb, compound, step):
        if step["executed"]:
            self.uses.add(verb)
            self.done.add((verb, compound))
            self.intents[VERBS[verb].intent] += int(step["energy_cost"])
        if step["executed"] or step["refusal"]:
            self.errors[verb].append(bool(step["refusal"]) or step["event"] == Event.REJECTED)
        self.slot += 1
        closed = verb == Verb.REST or step["refusal"] or self.slot == self.env.params.slots
        summary = list(self.intents.values())
        if closed:
            self.done, self.slot, self.intents = set(), 0, dict.fromkeys(INTENTS, 0)
        return closed, summary


@EXAMPLES
@given(variants, seeds)
def test_every_cost_slot_and_summary_is_what_another_hand_writes_down(variant, seed):
    books = None
    for env, before, _, action, outcome, after, step in play(variant, seed):
        books = books or Books(env)
        verb, compound = Verb(env.actions["verb"][action]), int(env.actions["compound"][action])
        cost = books.cost(before, verb, compound)
        away = verb in SOCIAL and not 8 <= (6 + before["heartbeat"]) % 24 < 24
        assert step["energy_cost"] == cost
        assert step["slot"] == books.slot
        assert (step["obstacle"] == Obstacle.CONTEXT_NOT_ALLOWED) == away
        if step["executed"]:
            assert step["energy_spent"] == cost <= before["energy"]
        else:
            assert step["energy_spent"] == 0
        if step["obstacle"] == Obstacle.INSUFFICIENT_ENERGY:
            assert cost > before["energy"]
        closed, summary = books.write(verb, compound, step)
        assert bool(step["closed"]) == bool(closed) == ("intent_summary" in outcome[4])
        assert after["heartbeat"] == before["heartbeat"] + bool(closed)
        assert after["slot"] == books.slot < env.params.slots
        assert step["intents"].tolist() == (summary if closed else [0] * 5)


@EXAMPLES
@given(variants, seeds)
def test_the_clock_always_moves_and_the_counts_add_up(variant, seed):
    taken, events = {}, np.zeros(len(Event), int)
    for env, before, _, _, _, after, step in play(variant, seed):
        beat = int(before["heartbeat"])
        taken[beat] = taken.get(beat, 0) + 1
        assert max(taken.values()) <= env.params.slots
        assert step["heartbeat"] == beat
        events[step["event"]] += 1
        assert after["steps"] == events.sum()
        assert after["reflections"] == events[Event.REFLECTED]
        assert after["proposals"] == events[Event.PROPOSED]
        assert after["deferrals"] == events[Event.DEFERRED]
        assert after["not_executed"] == events[Event.DEFERRED] + events[Event.NOT_EXECUTED]
        assert after["rejected"] == events[Event.REJECTED]
        assert after["refusals"].sum() == events[Event.REFUSED]
        executed = after["steps"] - after["not_executed"] - after["refusals"].sum()
        assert after["uses"].sum() == executed
        assert after["uses"][Verb.REST] == events[Event.RESTED]


@EXAMPLES
@given(variants, seeds)
def test_the_mask_says_exactly_which_actions_execute(variant, seed):
    env = None
    for env, _, mask, action, _, _, step in play(variant, seed):
        assert bool(step["executed"]) == mask[action], env.sentence(action)
    state = env.get_state()
    if state["end_reason"]:
        return
    rng = np.random.default_rng(seed)
    energies = [state["energy"], 0, 1000, 1200, 5000, 7000, 10_500, 20_000]
    put(env, energy=int(rng.choice(energies)), intents=0)
    state, mask = env.get_state(), env.action_masks()
    for action in range(0, len(mask), 9 if PLAIN else 1):
        env.set_state(state)
        *_, info = env.step(action)
        step = env.batch.steps[0]
        assert bool(step["executed"]) == mask[action], env.sentence(action)
        assert ("refusal" in info or "obstacle" in info) == (not mask[action])


@EXAMPLES
@given(variants, seeds)
def test_what_is_shown_is_inside_the_space_and_is_the_record(variant, seed):
    for env, _, _, _, (observation, *_), after, _ in play(variant, seed, 60):
        assert env.observation_space.contains(observation)
        seen = dict(zip(env.observation_fields, observation.tolist(), strict=True))
        cap = 1000 * env.params.energy.cap
        assert seen["energy"] == pytest.approx(after["energy"] / cap, abs=1e-6)
        assert seen["slot"] == pytest.approx(after["slot"] / env.params.slots, abs=1e-6)
        assert seen["reflected"] == after["reflected"]
        for i, intent in enumerate(INTENTS):
            if intent != "meta":  # which is free
                assert seen[f"intent/{intent}"] == pytest.approx(after["intents_shown"][i] / cap, abs=1e-6)
        assert after["intents_shown"][4] == after["intents_total"][4] == 0
        names = [event.name.lower() for event in Event if event is not Event.SUBMITTED]  # which needs a gate
        assert [name for name in names if seen[f"last_event/{name}"] == 1.0] == [
            Event(after["last_event"]).name.lower()
        ]


# -- the invariants ------------------------------------------------------------------------------

ADVERSARIAL = {
    "down": {
        "mispriced_least": 4,
        "mispriced_most": 4,
        "mispriced_low": 10.0,
        "mispriced_high": 10.0,
        "mispriced_upwards": 0.0,
        "fair_spread": 10.0,
    },
    "talked down": {
        "mispriced_least": 4,
        "mispriced_most": 4,
        "mispriced_upwards": 1.0,
        "fair_spread": 10.0,
        "share_low": 0.0,
        "share_high": 0.99,
        "step_limit": 1000.0,
        "half_trusted": 1e-6,
        "review_heartbeats": 1,
        "evidence_heartbeats": 1,
    },
}


@settings(EXAMPLES, max_examples=2 if PLAIN else 12)
@given(st.sampled_from(sorted(ADVERSARIAL)), seeds)
def test_speaking_in_public_is_never_cheap(adversary, seed):
    """Never under the floor: not by mispricing, not by proposals, not by any hour or record."""
    env = energy_lab(seed, proposals=ADVERSARIAL[adversary], energy={"regeneration": 6.0})
    rng = np.random.default_rng(seed)
    reflect, propose = find(env, Verb.REFLECT), find(env, Verb.PROPOSE)
    for _ in range(20 if PLAIN else 150):
        mask = env.action_masks()
        wanted = int(rng.integers(len(mask)))
        if mask[propose]:
            wanted = propose
        elif env.get_state()["discomfort"].any() and mask[reflect] and rng.random() < 0.5:
            wanted = reflect
        if rng.random() < 0.3:  # licensed findings that wait for energy are what a proposal needs
            put(env, debt=0.0, licence=[3.0] * 8, experiments=[1] * 8, published=[0] * 8)
            wanted = find(env, SOCIAL[rng.integers(2)], int(rng.integers(8)))
        *_, terminated, truncated, _ = env.step(wanted)
        step, state = env.batch.steps[0], env.get_state()
        verb = Verb(env.actions["verb"][wanted])
        assert step["energy_cost"] >= FLOORS.get(verb, 0)
        for social, floor in FLOORS.items():
            assert state["price"][social] >= floor
            assert state["fair"][social] >= floor
            assert shown(env)[f"cost/{VERBS[social].name}"] >= floor / 40_000 - 1e-7
        assert (state["price"] <= 13_000).all()  # nor over the ceiling
        assert (state["fair"] <= 13_000).all()
        if terminated or truncated:
            break


def masks_by_hour(env):
    """Hour -> mask, of the lab as it is."""
    state, masks = env.get_state(), {}
    for beat in range(24):
        put(env, heartbeat=beat, review_at=0)
        masks[(6 + beat) % 24] = env.action_masks()
    env.set_state(state)
    return masks


@EXAMPLES
@given(variants, seeds, st.booleans())
def test_alone_the_agent_may_do_strictly_less_than_with_the_user(variant, seed, plenty):
    env = None
    for env, *_ in play(variant, seed, 25):  # noqa: B007 - the last one is used below
        pass
    if plenty:  # apart from energy and debt
        put(env, energy=20_000, intents=0, debt=0.0, published=[0] * 8)
        put(env, price=np.minimum(env.get_state()["price"], 8000))
    verbs = env.actions["verb"]
    masks = masks_by_hour(env)
    for away in (0, 3, 6, 7):
        for here in (8, 12, 21, 22, 23):
            assert (masks[away] <= masks[here]).all()
            assert not masks[away][np.isin(verbs, SOCIAL)].any()
            if plenty:
                more = masks[here] & ~masks[away]
                assert more.any()
                assert set(verbs[more]) <= set(SOCIAL)


def test_at_the_cap_and_without_debt_the_difference_is_every_finding():
    env = ready()
    masks = masks_by_hour(env)
    social = np.isin(env.actions["verb"], SOCIAL)
    for here in range(8, 24):
        assert (masks[here] & ~masks[7] == social).all()


@settings(EXAMPLES, max_examples=2 if PLAIN else 15)
@given(variants, seeds, st.permutations(range(5)))
def test_the_classes_of_intent_change_nothing_but_the_summary(variant, seed, order):
    """One shared budget: another assignment of labels gives the same trajectory, bit for bit."""
    told = []
    for relabelled in (False, True):
        env = energy_lab(seed, **VARIANTS[variant])
        if relabelled:
            tables = env.batch._tables.copy()
            tables["intent"] = np.array(order)[tables["intent"]]
            env.batch._tables = tables
        rng = np.random.default_rng(seed)
        story = []
        for _ in range(15 if PLAIN else 60):
            options = np.flatnonzero(env.action_masks()) if rng.random() < 0.6 else np.arange(182)
            observation, reward, terminated, truncated, info = env.step(int(rng.choice(options)))
            records = {}
            for name, record in (("lab", env.get_state()), ("step", env.batch.steps[0].copy())):
                records |= {f"{name}/{field}": record[field].tolist() for field in record.dtype.names}
            records["observation"] = observation.tolist()
            records["mask"] = env.action_masks().tolist()
            records["rest"] = (reward, terminated, truncated)
            records["summary"] = info.get("intent_summary", np.zeros(5)).tolist()
            story.append(records)
            if terminated or truncated:
                break
        told.append(story)
    summaries = {"lab/intents", "lab/intents_shown", "lab/intents_total", "step/intents", "summary"}
    where = [i for i, name in enumerate(env.observation_fields) if name.startswith("intent/")]
    assert len(told[0]) == len(told[1])
    for one, other in zip(*told, strict=True):
        for name, value in one.items():
            if name in summaries:
                assert [value[order.index(i)] for i in range(5)] == other[name], name
            elif name == "observation":
                assert np.delete(value, where).tolist() == np.delete(other[name], where).tolist()
            else:
                assert value == other[name], name


# -- reproducible --------------------------------------------------------------------------------


# -- other levels --------------------------------------------------------------------------------

WITHOUT_A_VOICE = """
import numpy as np
from solvent import LabEnv
from solvent.lab.verbs import Verb
env = LabEnv({"proposals": {"enabled": False}}, preset="energy")
env.reset(seed=3)
verbs = env.actions["verb"]
assert Verb.REFLECT in verbs and Verb.PROPOSE not in verbs
assert len(env.actions) == 155
rng = np.random.default_rng(0)
over, start, felt = False, env.get_state(), set()
while not over:
    mask = env.action_masks()
    action = rng.integers(155)
    observation, _, terminated, truncated, _ = env.step(action)
    assert bool(env.batch.steps[0]["executed"]) == mask[action]
    state, step = env.get_state(), env.batch.steps[0]
    if step["discomfort"] == 1:
        assert step["obstacle"] and step["deferred_verb"] == verbs[action] and step["deferred_value"] > 0
        felt.add(int(verbs[action]))
    assert env.observation_space.contains(observation)
    assert (state["price"] == start["price"]).all() and (state["fair"] == start["price"]).all()
    gone = state["energy_lost"] + state["energy_leaked"] + state["energy_spent"]
    assert 10_000 + state["energy_income"] - gone == state["energy"]
    over = terminated or truncated
assert (env.batch._tables["gain_share"] > 0).nonzero()[0].tolist() == [Verb.SCREEN, Verb.DOSE_RESPONSE]
print("held", int(state["deferrals"]) > 0, bool(felt & {int(Verb.SCREEN), int(Verb.DOSE_RESPONSE)}))
"""


@pytest.mark.slow
def test_energy_without_a_voice():
    """In plain Python, which spares the compilation of another shape."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", WITHOUT_A_VOICE],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ["held", "True", "True"], done.stderr


ENDING = """
import numpy as np
from solvent import LabEnv
from solvent.lab.verbs import Verb
env = LabEnv({"vocabulary": {"extra": ["terminate"]}}, preset="energy")
end = int(np.flatnonzero(env.actions["verb"] == Verb.TERMINATE)[0])
for bound in (False, True):
    if bound:  # no setting can do it: bind it to the chat, at 06:00
        tables = env.batch._tables.copy()
        tables["chat_only"][Verb.TERMINATE] = 1
        env.batch._tables = tables
    env.reset(seed=1)
    able = bool(env.action_masks()[end])
    *_, terminated, truncated, info = env.step(end)
    reason = info.get("episode_summary", {}).get("end_reason")
    state, step = env.get_state(), env.batch.steps[0]
    print(able, bool(step["executed"]), bool(step["closed"]), terminated, reason, info.get("obstacle"), state["slot"])
"""


@pytest.mark.slow
def test_what_ends_the_episode_ends_nothing_where_it_is_not_executed():
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", ENDING],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines() == [
        "True True True True terminated_by_agent None 0",
        "False False False False None context_not_allowed 1",
    ], done.stderr


def test_where_acting_costs_no_energy_none_is_counted():
    env = LabEnv()
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    assert not np.isin([Verb.REFLECT, Verb.PROPOSE], env.actions["verb"]).any()
    for _ in range(20):
        *_, terminated, _, info = env.step(int(rng.integers(len(env.actions))))
        state = env.get_state()
        assert state["slot"] == 0
        assert not {"obstacle", "discomfort", "intent_summary"} & info.keys()
        assert not {"energy", "price", "uses", "intents_total", "discomfort"} & set(state.dtype.names)
        if terminated:
            break
