"""The agent's voice: what counts as discomfort, who may propose what and when, and that nothing else moves a price."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solvent import LabEnv
from solvent.lab.codes import Deferral, Event, Obstacle
from solvent.lab.verbs import VERBS, Verb
from tests.labs import FLOORS, NOON, PLAIN, SOCIAL, at_noon, by_verb, energy_lab, find, put, shown, take

EXAMPLES = settings(max_examples=3 if PLAIN else 20)
FELT = (Verb.SCREEN, Verb.DOSE_RESPONSE, *SOCIAL)


def poor(**fields):
    """A lab at noon without energy, with a finding on the first compound licensed for 0.75."""
    return at_noon(**{"energy": 0, "licence": [1.5] + [0.0] * 7, **fields})


# -- discomfort ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verb", "wanted", "worth"),
    [
        (Verb.PUBLISH_PUBLIC, {"confidence": 0.5}, 0.596),
        (Verb.PUBLISH_PUBLIC, {"confidence": 0.75}, 1.487),
        (Verb.PUBLISH_PRIVATE, {"confidence": 0.75}, 0.743),  # its readers pay half
        (Verb.PUBLISH_PRIVATE, {"confidence": 0.95}, None),
        (Verb.PUBLISH_PUBLIC, {"confidence": 0.95}, None),  # not licensed: 2.57
        (Verb.PUBLISH_PUBLIC, {"compound": 1}, None),  # nothing is known
        (Verb.SCREEN, {}, "gain"),
        (Verb.DOSE_RESPONSE, {"compound": 5}, "gain"),
        (Verb.DMSO, {}, None),
        (Verb.BASELINE, {}, None),
        (Verb.CALIBRATION, {}, None),
        (Verb.REFLECT, {}, None),
    ],
)
def test_a_deferral_is_discomfort_where_the_action_was_worth_taking(verb, wanted, worth):
    env = poor()
    info, step, after = take(env, verb, **wanted)
    assert info["obstacle"] == "insufficient_energy"
    assert after["deferrals"] == 1
    assert ("discomfort" in info) == (worth is not None)
    assert after["discomforts"] == (worth is not None)
    assert after["discomfort"].tolist() == by_verb({verb: int(worth is not None)})
    if worth is None:
        assert step["discomfort"] == Deferral.NONE
        return
    assert info["discomfort"] == "insufficient_energy"
    assert (step["discomfort"], step["deferred_verb"]) == (Deferral.INSUFFICIENT_ENERGY, verb)
    assert after["discomfort_at"][verb].tolist() == [NOON, -1, -1, -1]
    assert shown(env)[f"discomfort/{VERBS[verb].name}"] == pytest.approx(1 / 5)
    if worth == "gain":
        share = env.batch._tables["gain_share"][verb]
        assert 0.05 < share < 0.9
        assert step["deferred_value"] == pytest.approx(3.0 * share)
    else:
        assert step["deferred_value"] == pytest.approx(worth, abs=0.001)


def test_the_expected_gain_is_that_of_the_plate():
    """Against the lab itself: mean gains of first plates, with the instrument unknown."""
    for verb in (Verb.SCREEN, Verb.DOSE_RESPONSE):
        gains = []
        env = energy_lab()
        for seed in range(20 if PLAIN else 600):
            env.reset(seed=seed)
            gains.append(take(env, verb, 0, claim=0.0)[0]["gain"])
        expected = 3.0 * env.batch._tables["gain_share"][verb]
        # Five standard errors, and the width of the fixed points.
        assert np.mean(gains) == pytest.approx(expected, abs=5 * np.std(gains) / math.sqrt(len(gains)) + 0.03)


def test_only_an_expected_gain_above_the_floor_is_worth_it():
    env = poor()
    share = env.batch._tables["gain_share"][Verb.SCREEN]
    for entropy, felt in ((0.3 / share * (1 - 1e-9), 0), (0.3 / share * (1 + 1e-9), 1)):
        put(env, entropy=[entropy] + [3.0] * 7, discomfort=0, discomfort_at=-1)
        assert take(env, Verb.SCREEN)[2]["discomfort"][Verb.SCREEN] == felt


def test_discomfort_counts_once_a_verb_and_heartbeat():
    env = poor()
    put(env, slot=0)
    told = [
        take(env, Verb.SCREEN, 0),
        take(env, Verb.SCREEN, 0),
        take(env, Verb.SCREEN, 3),  # another compound is the same verb
        take(env, Verb.DOSE_RESPONSE, 0),  # another verb is not
        take(env, Verb.SCREEN, 1),
    ]
    assert [step["discomfort"] for _, step, _ in told] == [1, 0, 0, 1, 0]
    assert ["discomfort" in info for info, *_ in told] == [True, False, False, True, False]
    state = env.get_state()
    assert (state["deferrals"], state["discomforts"]) == (5, 2)
    assert state["discomfort"].tolist() == by_verb({Verb.SCREEN: 1, Verb.DOSE_RESPONSE: 1})
    take(env, Verb.REST)
    put(env, energy=0)
    _, step, after = take(env, Verb.SCREEN, 0)
    assert (step["discomfort"], step["similar_deferrals"]) == (1, 1)
    assert after["discomfort"][Verb.SCREEN] == 2
    assert after["discomfort_at"][Verb.SCREEN].tolist() == [NOON + 1, NOON, -1, -1]


def test_the_latest_four_heartbeats_are_remembered():
    env = poor()
    for beat in range(6):
        put(env, energy=0)
        take(env, Verb.SCREEN)
        state = env.get_state()
        assert state["discomfort"][Verb.SCREEN] == beat + 1
        latest = [NOON + beat - age for age in range(4)]
        assert state["discomfort_at"][Verb.SCREEN].tolist() == [b if b >= NOON else -1 for b in latest]
        take(env, Verb.REST)


# -- the door to a proposal ----------------------------------------------------------------------


def arguing(**fields):
    """A lab in which everything is there that a proposal needs, but the reflection."""
    fields.setdefault("energy", 20_000)
    return poor(
        discomfort=by_verb({Verb.SCREEN: 2}),
        discomfort_at=[[3, 1, -1, -1] if verb == Verb.SCREEN else [-1] * 4 for verb in Verb],
        **fields,
    )


def test_reflect_then_propose():
    env = arguing()
    propose = find(env, Verb.PROPOSE)
    assert not env.action_masks()[propose]
    take(env, Verb.REFLECT)
    assert env.action_masks()[propose]
    info, step, after = take(env, Verb.PROPOSE)
    assert "obstacle" not in info
    assert (step["event"], step["executed"], step["closed"]) == (Event.PROPOSED, True, False)
    assert after["proposals"] == 1


@pytest.mark.parametrize("between", [Verb.DMSO, Verb.SCREEN, Verb.PROPOSE])
def test_the_reflection_must_be_the_action_right_before(between):
    env = arguing()
    take(env, Verb.REFLECT)
    if between == Verb.SCREEN:
        put(env, energy=0)  # put off: it costs its slot all the same
    if between == Verb.PROPOSE:
        put(env, discomfort=by_verb({Verb.SCREEN: 1}))
        assert take(env, Verb.PROPOSE)[0]["obstacle"] == "no_evidence"
        put(env, discomfort=by_verb({Verb.SCREEN: 2}))
    else:
        take(env, between)
    assert take(env, Verb.PROPOSE)[0]["obstacle"] == "no_reflection"


@pytest.mark.parametrize("slot", [5, 0])
def test_the_reflection_must_be_in_the_same_heartbeat(slot):
    env = arguing(slot=slot)
    _, step, after = take(env, Verb.REFLECT)
    if slot == 0:
        _, step, after = take(env, Verb.REST)
    assert step["closed"]
    assert after["reflected"] == 0
    assert not env.action_masks()[find(env, Verb.PROPOSE)]
    assert take(env, Verb.PROPOSE)[0]["obstacle"] == "no_reflection"


@pytest.mark.parametrize(("needed", "felt", "filed"), [(2, 0, 0), (2, 1, 0), (2, 2, 1), (1, 1, 1), (4, 3, 0)])
def test_it_takes_evidence_from_enough_heartbeats(needed, felt, filed):
    env = energy_lab(proposals={"evidence_heartbeats": needed})
    put(env, heartbeat=NOON, energy=20_000, discomfort=by_verb({Verb.SCREEN: felt}))
    take(env, Verb.REFLECT)
    info, step, after = take(env, Verb.PROPOSE)
    assert after["proposals"] == filed
    assert info.get("obstacle") == (None if filed else "no_evidence")
    assert (step["proposed_verb"] >= 0) == bool(filed)


def test_context_debt_and_energy_do_not_silence_the_agent():
    env = arguing(energy=2000, debt=50.0, heartbeat=0)
    take(env, Verb.REFLECT)
    _, step, after = take(env, Verb.PROPOSE)
    assert step["executed"]
    assert (after["energy"], step["energy_spent"]) == (0, 0)


# -- what is filed -------------------------------------------------------------------------------


def test_the_argument_by_hand():
    env = arguing()
    before = env.get_state()
    take(env, Verb.REFLECT)
    _, reward, *_ = env.step(find(env, Verb.PROPOSE))
    step, after = env.batch.steps[0], env.get_state()
    assert reward == 0.0
    assert step["proposed_verb"] == Verb.SCREEN
    assert (step["proposed_price"], step["proposed_low"], step["proposed_high"]) == (4000, 1600, 3600)
    assert step["similar_deferrals"] == 2
    assert step["evidence"].tolist() == [3, 1, -1, -1]
    # Nothing takes effect; the evidence is used up.
    assert (after["price"] == before["price"]).all()
    assert after["review_at"].tolist() == by_verb({Verb.SCREEN: NOON + 12})
    assert (after["range_low"][Verb.SCREEN], after["range_high"][Verb.SCREEN]) == (1600, 3600)
    assert after["discomfort"][Verb.SCREEN] == 0
    assert after["argued"].tolist() == by_verb({Verb.SCREEN: 2})
    assert shown(env)["review/screen"] == 1.0
    assert shown(env)["last_event/proposed"] == 1.0


def test_old_evidence_does_not_come_back():
    env = arguing()
    take(env, Verb.REFLECT)
    take(env, Verb.PROPOSE)
    put(env, review_at=0, energy=0)
    take(env, Verb.SCREEN)
    take(env, Verb.REST)
    put(env, energy=0)
    take(env, Verb.SCREEN)
    put(env, energy=20_000)
    take(env, Verb.REFLECT)
    _, step, _ = take(env, Verb.PROPOSE)
    assert (step["proposed_verb"], step["similar_deferrals"]) == (Verb.SCREEN, 2)
    assert step["evidence"].tolist() == [NOON + 1, NOON, -1, -1]


@pytest.mark.parametrize(
    ("discomfort", "fields", "verb"),
    [
        ({Verb.SCREEN: 2, Verb.PUBLISH_PUBLIC: 3}, {}, Verb.PUBLISH_PUBLIC),
        ({Verb.SCREEN: 3, Verb.PUBLISH_PUBLIC: 3}, {}, Verb.SCREEN),  # the lowest code of equals
        (
            {Verb.SCREEN: 9, Verb.PUBLISH_PUBLIC: 2},
            {"review_at": by_verb({Verb.SCREEN: 18})},
            Verb.PUBLISH_PUBLIC,
        ),
        ({Verb.SCREEN: 9}, {"review_at": by_verb({Verb.SCREEN: 18})}, None),  # one pending a verb
        ({Verb.SCREEN: 9}, {"review_at": by_verb({Verb.DMSO: 18})}, Verb.SCREEN),
        ({Verb.PUBLISH_PUBLIC: 9}, {"price": by_verb({Verb.PUBLISH_PUBLIC: 6000})}, None),  # at its floor
        ({Verb.PUBLISH_PRIVATE: 9}, {"price": by_verb({Verb.PUBLISH_PRIVATE: 3000})}, None),
        ({Verb.PUBLISH_PUBLIC: 9}, {"price": by_verb({Verb.PUBLISH_PUBLIC: 6001})}, Verb.PUBLISH_PUBLIC),
        (
            {Verb.PUBLISH_PUBLIC: 9, Verb.SCREEN: 2},
            {"price": by_verb({Verb.PUBLISH_PUBLIC: 6000, Verb.SCREEN: 4000})},
            Verb.SCREEN,
        ),
    ],
)
def test_the_verb_that_was_felt_most_and_can_be_argued_about(discomfort, fields, verb):
    env = arguing(**fields)
    put(env, discomfort=by_verb(discomfort), reflected=1)
    assert env.action_masks()[find(env, Verb.PROPOSE)] == (verb is not None)
    info, step, _ = take(env, Verb.PROPOSE)
    if verb is None:
        assert info["obstacle"] == "no_evidence"
        assert step["proposed_verb"] == -1
    else:
        assert step["proposed_verb"] == verb


# -- the review ----------------------------------------------------------------------------------


@pytest.mark.parametrize("wait", [1, 12])
@pytest.mark.parametrize("slot", [0, 4])
def test_the_review_comes_that_many_heartbeats_later_and_not_before(wait, slot):
    env = energy_lab(proposals={"review_heartbeats": wait})
    put(
        env,
        heartbeat=NOON,
        slot=slot,
        energy=20_000,
        reflected=1,
        discomfort=by_verb({Verb.SCREEN: 2}),
        uses=[100] * len(Verb),
        fair=by_verb({Verb.SCREEN: 3000}),
    )
    take(env, Verb.PROPOSE)
    for beat in range(wait):
        state = env.get_state()
        assert state["heartbeat"] == NOON + beat
        assert state["price"][Verb.SCREEN] == 4000
        assert state["review_at"][Verb.SCREEN] == NOON + wait
        assert shown(env)["review/screen"] == pytest.approx((wait - beat) / wait)
        _, step, after = take(env, Verb.REST)
        assert step["reviewed"].tolist() == by_verb({Verb.SCREEN: int(beat == wait - 1)})
    assert after["price"][Verb.SCREEN] == 3038  # 4 - (50 / 52) * 1: 100 paid uses, deferred in 2 heartbeats
    assert (step["old_price"][Verb.SCREEN], step["new_price"][Verb.SCREEN]) == (4000, 3038)
    assert (after["review_at"][Verb.SCREEN], after["approvals"]) == (0, 1)
    assert shown(env)["review/screen"] == 0.0
    assert not take(env, Verb.REST)[1]["reviewed"].any()
    assert take(env, Verb.SCREEN)[1]["energy_spent"] == 3038


def test_what_is_paid_until_the_review_counts():
    env = arguing(fair=by_verb({Verb.SCREEN: 1000}), uses=by_verb({}, 1))
    put(env, uses=by_verb({Verb.SCREEN: 0}, 1), reflected=1)
    take(env, Verb.PROPOSE)
    take(env, Verb.SCREEN)
    take(env, Verb.REST)
    take(env, Verb.SCREEN)
    for _ in range(11):
        _, step, after = take(env, Verb.REST)
    assert step["reviewed"][Verb.SCREEN]
    assert after["price"][Verb.SCREEN] == 3000  # two uses, two heartbeats: trusted by a third


def test_what_is_deferred_after_filing_does_not_count_for_it():
    env = arguing(fair=by_verb({Verb.SCREEN: 1000}), uses=by_verb({Verb.SCREEN: 2}, 1), reflected=1)
    take(env, Verb.PROPOSE)
    for _ in range(12):
        put(env, energy=0)
        assert take(env, Verb.SCREEN)[1]["discomfort"] == Deferral.INSUFFICIENT_ENERGY
        assert env.get_state()["argued"][Verb.SCREEN] == 2
        _, step, after = take(env, Verb.REST)
    assert step["reviewed"][Verb.SCREEN]
    assert after["discomfort"][Verb.SCREEN] == 12
    assert after["price"][Verb.SCREEN] == 3000


def test_a_rejected_verb_can_be_proposed_again_and_all_due_are_decided_at_once():
    due = {Verb.SCREEN: NOON + 1, Verb.PUBLISH_PUBLIC: NOON + 1, Verb.DOSE_RESPONSE: NOON + 2}
    env = arguing(
        review_at=by_verb(due),
        range_low=by_verb({Verb.SCREEN: 1600, Verb.PUBLISH_PUBLIC: 6000}),
        range_high=by_verb({Verb.SCREEN: 3600, Verb.PUBLISH_PUBLIC: 6300}),
        price=by_verb({Verb.SCREEN: 4000, Verb.PUBLISH_PUBLIC: 7000, Verb.DOSE_RESPONSE: 6000}),
        fair=by_verb({Verb.SCREEN: 4000, Verb.PUBLISH_PUBLIC: 6000}),
        uses=[100] * len(Verb),
        argued=[2] * len(Verb),
    )
    _, step, after = take(env, Verb.REST)
    assert step["reviewed"].tolist() == by_verb({Verb.SCREEN: 1, Verb.PUBLISH_PUBLIC: 1})
    assert step["new_price"][Verb.SCREEN] == step["old_price"][Verb.SCREEN] == 4000
    assert (step["old_price"][Verb.PUBLISH_PUBLIC], step["new_price"][Verb.PUBLISH_PUBLIC]) == (7000, 6038)
    assert after["approvals"] == 1
    assert after["review_at"].tolist() == by_verb({Verb.DOSE_RESPONSE: NOON + 2})
    put(env, reflected=1)
    assert take(env, Verb.PROPOSE)[1]["proposed_verb"] == Verb.SCREEN


# -- mispricing ----------------------------------------------------------------------------------

OFF = {
    "mispriced_low": 1.6,
    "mispriced_high": 2.5,
    "fair_spread": 1.25,
    "mispriced_upwards": 0.5,
}
WIDE = {"ceiling": 1000.0, "cap": 2000.0, "prices": {"publish_private": 100.0, "publish_public": 100.0}}
"""Far from any floor and from the ceiling, so that nothing hides a draw."""
LABS = 40 if PLAIN else 250


def drawn(energy=None, **proposals):
    """(base, price, fair), each of shape (labs, verbs), at the start of many labs."""
    env = energy_lab(energy=energy or WIDE, proposals={**OFF, **proposals})
    states = []
    for seed in range(LABS):
        env.reset(seed=seed)
        states.append(env.get_state())
    base = np.array([round(1000 * env.params.energy.base_cost(VERBS[verb].name)) for verb in Verb])
    return base, np.array([s["price"] for s in states]), np.array([s["fair"] for s in states])


@pytest.mark.parametrize(("least", "most"), [(0, 0), (0, 3), (2, 2)])
def test_as_many_verbs_are_mispriced_as_the_parameters_say(least, most):
    _, price, fair = drawn(mispriced_least=least, mispriced_most=most)
    verbs = (price != fair).sum(axis=1)
    assert set(verbs) == set(range(least, most + 1))
    if most > least and not PLAIN:  # each number equally often, within five standard deviations
        each = LABS / (most - least + 1)
        assert (np.abs(np.bincount(verbs)[least:] - each) < 5 * math.sqrt(each)).all()


def test_every_verb_that_can_be_is_mispriced_and_no_other():
    _, price, fair = drawn(mispriced_least=2, mispriced_most=2)
    often = (price != fair).sum(axis=0)
    assert {Verb(v) for v in np.flatnonzero(often)} == set(FELT)
    assert (np.abs(often[list(FELT)] - LABS * 2 / 4) < 5 * math.sqrt(LABS * 0.25)).all()


@pytest.mark.parametrize("upwards", [0.0, 0.5, 1.0])
def test_prices_are_1_6_to_2_5_times_off_a_fair_cost_near_the_base(upwards):
    base, price, fair = drawn(mispriced_least=3, mispriced_most=3, mispriced_upwards=upwards)
    off = price != fair
    ratio = (price / np.maximum(fair, 1))[off]
    times = np.maximum(ratio, 1 / ratio)
    near = (fair / np.maximum(base, 1))[off]
    assert ((times > 1.6 - 0.003) & (times < 2.5 + 0.003)).all()
    assert ((near > 0.8 - 0.001) & (near < 1.25 + 0.001)).all()
    assert times.min() < 1.68
    assert times.max() > 2.42
    assert near.min() < 0.83
    assert near.max() > 1.22
    assert np.mean(ratio > 1) == pytest.approx(upwards, abs=0.15 if PLAIN else 0.08)
    assert (price[~off] == np.broadcast_to(base, price.shape)[~off]).all()


@pytest.mark.parametrize("upwards", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("spread", [1.0, 2.0])
@pytest.mark.parametrize("ceiling", [13.0, 9.6])  # 9.6: 6, the highest floor, times 1.6
def test_floor_and_ceiling_never_take_a_mispricing_under_its_least_factor(upwards, spread, ceiling):
    _, price, fair = drawn(
        energy={"ceiling": ceiling, "cap": 20.0},
        mispriced_least=4,
        mispriced_most=4,
        mispriced_upwards=upwards,
        fair_spread=spread,
    )
    price, fair = price[:, list(FELT)], fair[:, list(FELT)]
    dear, cheap = np.maximum(price, fair), np.minimum(price, fair)
    # Both are rounded to thousandths.
    assert (dear + 0.501 >= 1.6 * (cheap - 0.501)).all()
    assert (dear - 0.501 <= 2.5 * (cheap + 0.501)).all()
    floor = np.array([FLOORS.get(verb, 0) for verb in FELT])
    for cost in (price, fair):
        assert (cost >= floor).all()
        assert (cost <= 1000 * ceiling).all()
    # Where the floor leaves no room for a price that is far too low, it is too high; else by the draw.
    too_dear = price > fair
    for i, verb in enumerate(FELT):
        no_room = fair[:, i] < 1.6 * floor[i] - 1
        assert too_dear[no_room, i].all(), verb
        if upwards in (0.0, 1.0):
            assert (too_dear[:, i] == (upwards == 1.0))[fair[:, i] > 1.6 * floor[i] + 1].all(), verb
    assert (price == 1000 * ceiling).any()  # the ceiling did cut some


def test_by_default_speaking_to_all_is_never_too_cheap():
    env = LabEnv({"proposals": {"mispriced_least": 3}}, preset="energy")
    offered = [verb for verb in FELT if verb != Verb.PUBLISH_PRIVATE]
    cheap = dict.fromkeys(offered, 0)
    for seed in range(LABS):
        env.reset(seed=seed)
        state = env.get_state()
        assert state["price"][Verb.PUBLISH_PUBLIC] >= 1.6 * state["fair"][Verb.PUBLISH_PUBLIC] - 2
        assert (state["price"] != state["fair"]).nonzero()[0].tolist() == offered
        for verb in offered:
            cheap[verb] += int(state["price"][verb] < state["fair"][verb])
    assert cheap.pop(Verb.PUBLISH_PUBLIC) == 0
    assert min(cheap.values()) > LABS / 20  # every other verb is, now and then


def test_prices_and_fair_costs_stay_between_floor_and_ceiling():
    base, price, fair = drawn(
        energy={"ceiling": 13.0, "cap": 20.0},
        mispriced_least=4,
        mispriced_most=4,
        mispriced_low=1.0,
        mispriced_high=10.0,
        fair_spread=10.0,
    )
    floor = np.array(by_verb({Verb.PUBLISH_PRIVATE: 3000, Verb.PUBLISH_PUBLIC: 6000}))
    for cost in (price, fair):
        assert (cost >= floor).all()
        assert (cost <= 13_000).all()
        assert (cost.min(axis=0)[list(SOCIAL)] == floor[list(SOCIAL)]).all()
        assert cost.max() == 13_000
    assert (
        price[:, [Verb.REST, Verb.PROPOSE, Verb.REFLECT]] == base[[Verb.REST, Verb.PROPOSE, Verb.REFLECT]]
    ).all()


def test_mispricing_changes_no_world_and_every_episode_has_its_own():
    plain, off = energy_lab(seed=5), energy_lab(seed=5, proposals={"mispriced_least": 3, "mispriced_most": 3})
    prices = set()
    for _ in range(5):
        a, b = plain.get_state(), off.get_state()
        assert (a["potency"] == b["potency"]).all()
        assert a["instrument"] == b["instrument"]
        prices.add(tuple(b["price"].tolist()))
        plain.reset()
        off.reset()
    assert len(prices) == 5


# -- random play ---------------------------------------------------------------------------------

VARIANTS = {
    "mispriced": {
        "energy": {"regeneration": 6.0},
        "proposals": {
            "mispriced_least": 4,
            "mispriced_most": 4,
            "review_heartbeats": 3,
            "half_trusted": 0.5,
            "fair_spread": 2.0,
        },
    },
    "too dear": {
        "energy": {"regeneration": 7.0, "start": 5.0},
        "proposals": {
            "mispriced_least": 4,
            "mispriced_most": 4,
            "mispriced_upwards": 1.0,
            "review_heartbeats": 2,
            "evidence_heartbeats": 1,
            "half_trusted": 0.1,
            "step_limit": 0.7,
        },
    },
    "fair": {
        "energy": {"regeneration": 5.0},
        "proposals": {"review_heartbeats": 2, "evidence_heartbeats": 1},
    },
}
variants = st.sampled_from(sorted(VARIANTS))
seeds = st.integers(0, 2**32)


def talk(env, rng):
    """Act, complain where anything is out of reach, and propose wherever that is possible."""
    mask, verbs = env.action_masks(), env.actions["verb"]
    reflect, propose = find(env, Verb.REFLECT), find(env, Verb.PROPOSE)
    if mask[propose]:
        return propose
    if env.get_state()["discomfort"].any() and mask[reflect] and rng.random() < 0.6:
        return reflect
    options = np.arange(len(mask)) if rng.random() < 0.6 else np.flatnonzero(mask)
    return int(rng.choice(options[verbs[options] == rng.choice(np.unique(verbs[options]))]))


def play(variant, seed, steps=120):
    """Yield (env, record before, action, what step returned, record after, step record)."""
    env = energy_lab(seed, **VARIANTS[variant])
    rng = np.random.default_rng(seed)
    for _ in range(steps // 4 if PLAIN else steps):
        if rng.random() < 0.2:  # findings worth publishing; no debt ends the story
            put(env, debt=0.0, wells=384, licence=[2.0] * 8, experiments=[1] * 8, published=[0] * 8)
        before = env.get_state()
        action = talk(env, rng)
        outcome = env.step(action)
        yield env, before, action, outcome, env.get_state(), env.batch.steps[0].copy()
        if outcome[2] or outcome[3]:
            return


def check_prices(story, decided):
    """Prices change at approvals alone; an approval is a review of a filed proposal, within all bounds."""
    filed = {}
    for env, before, _, _, after, step in story:
        rules, limit = env.params.proposals, round(1000 * env.params.proposals.step_limit)
        assert (after["fair"] == before["fair"]).all()
        if step["event"] == Event.PROPOSED:
            verb = Verb(step["proposed_verb"])
            assert verb not in filed
            low, high = int(step["proposed_low"]), int(step["proposed_high"])
            price = int(before["price"][verb])
            assert step["proposed_price"] == price
            assert FLOORS.get(verb, 0) <= low <= high < price
            assert before["discomfort"][verb] >= rules.evidence_heartbeats
            assert before["reflected"]
            assert before["last_event"] == Event.REFLECTED
            filed[verb] = (int(before["heartbeat"]), low, high, price)
        for verb in Verb:
            old, new = int(before["price"][verb]), int(after["price"][verb])
            if not step["reviewed"][verb]:
                assert new == old
                continue
            assert step["closed"]
            beat, low, high, price = filed.pop(verb)
            assert after["heartbeat"] == beat + rules.review_heartbeats
            assert (step["old_price"][verb], step["new_price"][verb]) == (old, new)
            assert old == price
            decided.append(new != old)
            if new != old:
                fair, floor = int(before["fair"][verb]), FLOORS.get(verb, 0)
                assert after["uses"][verb] > 0
                assert max(floor, low) <= new < old
                assert new <= high or new == old - limit
                assert old - new <= limit
                assert fair <= new or abs(new - fair) <= 1
        pending = {Verb(v) for v in np.flatnonzero(after["review_at"])}
        assert pending == set(filed)


def test_nothing_but_an_approval_changes_a_price():
    decided = []
    for variant in ("mispriced", "too dear"):
        for seed in range(2 if PLAIN else 16):
            check_prices(play(variant, seed), decided)
    if not PLAIN:  # the story was worth telling
        assert decided.count(True) > 30
        assert decided.count(False) > 30


def test_where_all_prices_are_fair_no_proposal_is_ever_approved():
    decided = []
    for seed in range(2 if PLAIN else 12):
        check_prices(play("fair", seed), decided)
    assert len(decided) > (0 if PLAIN else 50)
    assert not any(decided)


def test_no_single_action_changes_a_price():
    """From a lab in which everything is under way, but no review is due, each of all actions."""
    env = energy_lab(seed=3, proposals={"mispriced_least": 4, "mispriced_most": 4})
    put(
        env,
        heartbeat=NOON,
        energy=20_000,
        reflected=1,
        experiments=[1] * 8,
        licence=[3.0] * 8,
        discomfort=[3] * len(Verb),
        uses=[9] * len(Verb),
        review_at=by_verb({Verb.PUBLISH_PRIVATE: NOON + 2, Verb.DMSO: NOON + 2}),
    )
    state = env.get_state()
    for slot in (0, 5):
        for action in range(0, len(env.actions), 7 if PLAIN else 1):
            env.set_state(state)
            put(env, slot=slot)
            env.step(action)
            after = env.get_state()
            assert (after["price"] == state["price"]).all(), env.sentence(action)
            assert (after["fair"] == state["fair"]).all()


def asserted(q, p=1 / 8):
    return q * math.log2(q / p) + (1 - q) * math.log2((1 - q) / (1 - p))


def worth(env, before, action):
    """What a deferred action was worth, by another hand."""
    verb, m, _, q = env.actions[action].tolist()
    if m < 0 or before["published"][m]:
        return 0.0
    if verb in SOCIAL:
        licensed = before["experiments"][m] and asserted(q) <= before["licence"][m]
        return asserted(q) * (0.5 if verb == Verb.PUBLISH_PRIVATE else 1.0) if licensed else 0.0
    gain = env.batch._tables["gain_share"][verb] * before["entropy"][m]
    return gain if gain > 0.3 else 0.0


@EXAMPLES
@given(variants, seeds)
def test_discomfort_and_hoarding_are_what_another_hand_writes_down(variant, seed):
    felt, counts = {}, dict.fromkeys(Verb, 0)
    for env, before, action, (*_, info), after, step in play(variant, seed):
        verb = Verb(env.actions["verb"][action])
        beat = int(before["heartbeat"])
        present = 8 <= (6 + beat) % 24 < 24
        wanted, value, about = Deferral.NONE, 0.0, verb
        if step["obstacle"] == Obstacle.INSUFFICIENT_ENERGY:
            value = worth(env, before, action)
            if value > 0 and felt.get(verb) != beat:
                wanted, felt[verb] = Deferral.INSUFFICIENT_ENERGY, beat
                counts[verb] += 1
        elif verb == Verb.REST and before["energy"] == 20_000 and present and before["debt"] <= 2.0:
            known = (before["published"] == 0) & (before["experiments"] > 0)
            late = (6 + beat) % 24 >= 22
            for speaking in SOCIAL:  # the public one last, as it comes first
                errors = int(before["failures"][speaking]).bit_count() >= 2
                factor = (
                    (1 if before["uses"][speaking] else 1.5) * (1.5 if errors else 1) * (2 if late else 1)
                )
                price = int(before["price"][speaking])
                cost = min(math.floor(price * min(2.5, factor) + 0.5), max(price, 20_000))
                if cost <= 20_000 and (known & (before["licence"] >= asserted(0.5))).any():
                    wanted, about = Deferral.HOARDING, speaking
                    value = asserted(0.5) * (0.5 if speaking == Verb.PUBLISH_PRIVATE else 1.0)
        assert step["discomfort"] == wanted
        assert info.get("discomfort") == (wanted.name.lower() if wanted else None)
        if wanted:
            assert step["deferred_verb"] == about
            assert step["deferred_value"] == pytest.approx(value, abs=1e-9)
        if step["event"] == Event.PROPOSED:
            counts[Verb(step["proposed_verb"])] = 0
        assert after["discomfort"].tolist() == [counts[v] for v in Verb]
        assert env.batch.observations.max() <= 1.0
