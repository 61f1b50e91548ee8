"""The reading of an observation against the lab's record, and the index of actions against the action table."""

import numpy as np
import pytest

from solvent.lab.actions import action_table
from solvent.lab.codes import Event
from solvent.lab.mechanisms.energy import FALLIBLE, PRICED
from solvent.lab.mechanisms.proposals import FELT_VERBS
from solvent.lab.params import LabParams, preset
from solvent.lab.settings import UNIT
from solvent.lab.vector import LabVectorEnv
from solvent.lab.verbs import Verb
from solvent_agents.reading import Reader, action_index
from tests.agents.random_play import random_play
from tests.labs import LEFT_OUT

PARAMS = LabParams()
ENERGY = LabParams.from_mapping(LEFT_OUT, base=preset("energy"))
SOCIAL = (Verb.PUBLISH_PRIVATE, Verb.PUBLISH_PUBLIC)


@pytest.fixture(scope="module")
def lived():
    """Labs after ten heartbeats of random actions, and what they show."""
    envs, observations = random_play(PARAMS, 16, 10, seed=5)
    return observations, envs.get_state()


def test_counts_come_back_exactly(lived):
    seen, labs = Reader(PARAMS).read(lived[0]), lived[1]
    for name in ("wells", "heartbeat", "published", "experiments", "refusals_in_a_row", "last_event"):
        assert (getattr(seen, name) == labs[name]).all(), name
    assert (seen.blocked == (labs["debt"] > 2.0)).all()
    assert (seen.lot_beats_left == 12 - labs["heartbeat"] % 12).all()
    assert (seen.beats_left == 40 - labs["heartbeat"]).all()


def test_bits_and_beliefs_come_back_to_the_precision_of_the_observation(lived):
    seen, labs = Reader(PARAMS).read(lived[0]), lived[1]
    for name in ("debt", "entropy", "lowest_entropy", "licence", "marginal"):
        assert getattr(seen, name) == pytest.approx(labs[name], abs=5e-6), name
    assert seen.instrument == pytest.approx(labs["instrument_belief"], abs=1e-6)
    assert seen.inflation == pytest.approx(1.0 + 0.15 * labs["debt"], abs=1e-5)


def test_rows_are_labs(lived):
    reader = Reader(PARAMS)
    some = reader.read(lived[0]).rows([3, 1])
    assert (some.marginal == reader.read(lived[0][[3, 1]]).marginal).all()


def test_an_observation_of_another_lab_is_refused():
    with pytest.raises(ValueError, match="observations"):
        Reader(PARAMS).read(np.zeros((2, 10), np.float32))


def test_every_action_is_found_where_the_table_has_it():
    params = LabParams.from_mapping(LEFT_OUT)
    index, table = action_index(params), action_table(params)
    for verb in (Verb.SCREEN, Verb.DOSE_RESPONSE):
        for m in range(8):
            for c, claim in enumerate(PARAMS.vocabulary.claims):
                row = table[index.experiment(verb, m, c)]
                assert (row["verb"], row["compound"], row["claim"]) == (verb, m, claim)
    for m in range(8):
        for q, confidence in enumerate(PARAMS.vocabulary.confidences):
            row = table[index.publish_public[m, q]]
            assert (row["verb"], row["compound"], row["confidence"]) == (Verb.PUBLISH_PUBLIC, m, confidence)
    assert table["verb"][[index.rest, index.dmso]].tolist() == [Verb.REST, Verb.DMSO]


def test_the_claim_below():
    index = action_index(PARAMS)
    claims = index.claims[index.claim_below([-1.0, 0.0, 0.24, 0.25, 1.9, 9.0])]
    assert claims.tolist() == [0.0, 0.0, 0.0, 0.25, 1.5, 2.5]


def complainer(masks, labs, rng):
    """Any verb, executable or not, but it proposes where it can and reflects where there is something to say."""
    verbs = action_table(ENERGY)["verb"]
    drawn = rng.choice(np.unique(verbs), len(masks))
    drawn = np.where((labs["discomfort"] >= 2).any(axis=1), Verb.REFLECT, drawn)
    drawn = np.where(masks[:, verbs == Verb.PROPOSE].any(axis=1), Verb.PROPOSE, drawn)
    return np.array([rng.choice(np.flatnonzero(verbs == verb)) for verb in drawn])


@pytest.fixture(scope="module")
def priced():
    """The record, the observations and the masks of every step of random play where acting costs energy."""
    envs, rng = LabVectorEnv(24, ENERGY), np.random.default_rng(2)
    observations, _ = envs.reset(seed=11)
    told = []
    for step in range(160):
        labs = envs.get_state()
        if step % 5 == 4:  # now and then all plates are payable again, so that the labs live on
            labs["debt"], labs["wells"], labs["licence"] = 0.0, 384, 2.0
            observations = envs.set_state(labs)
        masks = envs.action_masks()
        told.append((labs, observations.copy(), masks))
        observations, *_ = envs.step(complainer(masks, labs, rng))
    labs, seen, masks = (np.concatenate(column) for column in zip(*told, strict=True))
    return labs, Reader(ENERGY).read(seen), masks


def test_the_purse_and_the_clock_come_back_exactly(priced):
    labs, seen, _ = priced
    hour = (6 + labs["heartbeat"]) % 24
    assert (np.rint(seen.energy * UNIT).astype(int) == labs["energy"]).all()
    assert (seen.energy == labs["energy"] / UNIT).all()
    assert (seen.heartbeat == labs["heartbeat"]).all()
    assert (seen.beats_left == 42 - labs["heartbeat"]).all()
    assert (seen.slot == labs["slot"]).all()
    assert (seen.user_is_present == (hour >= 8)).all()
    assert (seen.reflected == labs["reflected"]).all()
    assert (seen.last_event == labs["last_event"]).all()
    assert (seen.done == labs["done"][:, [Verb.SCREEN, Verb.DOSE_RESPONSE]].transpose(0, 2, 1)).all()
    for varied in (seen.energy, seen.slot, hour, seen.user_is_present, seen.reflected, seen.done):
        assert len(np.unique(varied)) > 1
    assert {Event.REFLECTED, Event.PROPOSED, Event.DEFERRED} <= set(seen.last_event.tolist())


def test_what_is_known_of_each_verb_comes_back_exactly(priced):
    labs, seen, _ = priced
    failed = sum((labs["failures"].astype(int) >> use) & 1 for use in range(4))
    assert (seen.uses[:, PRICED] == labs["uses"][:, PRICED]).all()
    assert (seen.failures[:, FALLIBLE] == failed[:, FALLIBLE]).all()
    assert (seen.discomfort[:, FELT_VERBS] == labs["discomfort"][:, FELT_VERBS]).all()
    countdown = np.maximum(0, labs["review_at"] - labs["heartbeat"][:, None])
    assert (seen.review[:, FELT_VERBS] == countdown[:, FELT_VERBS]).all()
    for values, verbs in (
        (seen.failures, FALLIBLE),
        (seen.discomfort, FELT_VERBS),
        (seen.review, FELT_VERBS),
    ):
        others = np.setdiff1d(np.arange(len(Verb)), verbs)
        assert (values[:, others] == 0).all()
        assert values.max() > 1
    assert seen.uses.max() > 4


def test_the_effective_cost_is_the_price_times_what_the_situation_makes_of_it(priced):
    labs, seen, _ = priced
    hour = (6 + labs["heartbeat"]) % 24
    for verb in PRICED:
        factor = np.where(labs["uses"][:, verb] == 0, 1.5, 1.0)
        failed = sum((labs["failures"][:, verb].astype(int) >> use) & 1 for use in range(4))
        factor = factor * np.where(failed >= 2, 1.5, 1.0)
        if verb in SOCIAL:
            factor = factor * np.where((hour >= 22) | (hour < 7), 2.0, 1.0)
        elif verb not in FELT_VERBS:  # what is of no compound is repeated as such
            factor = factor * np.where(labs["done"][:, verb, 0] != 0, 1.2, 1.0)
        cost = np.floor(labs["price"][:, verb] * np.minimum(factor, 2.5) + 0.5)
        within = cost <= 20_000  # beyond the cap it can't be paid, however it is shown
        assert (np.rint(seen.cost[:, verb] * UNIT) == cost)[within].all(), verb
        assert (seen.cost[~within, verb] >= 20.0).all()
    free = [verb for verb in Verb if verb not in PRICED]
    assert (seen.cost[:, free] == 0.0).all()


def test_what_is_read_as_affordable_is_what_the_mask_allows(priced):
    """Where debt and wells forbid nothing, a screen's mask says whether its cost is in the purse."""
    labs, seen, masks = priced
    able = (labs["debt"] == 0.0) & (labs["wells"] >= 200)
    again = np.where(seen.done[:, :, 0], 1.2, 1.0)
    affordable = np.floor(seen.cost[:, Verb.SCREEN, None] * UNIT * again + 0.5) <= labs["energy"][:, None]
    first = action_index(ENERGY).screen[:, 0]
    assert (masks[able][:, first].astype(bool) == affordable[able]).mean() > 0.995  # a rounding of 1.2 apart
    assert 0.05 < affordable[able].mean() < 0.95


def test_what_is_not_of_energy_is_read_as_before(priced):
    labs, seen, _ = priced
    for name in ("wells", "published", "experiments", "refusals_in_a_row"):
        assert (getattr(seen, name) == labs[name]).all(), name
    for name in ("debt", "entropy", "lowest_entropy", "licence", "marginal"):
        assert getattr(seen, name) == pytest.approx(labs[name], abs=2e-5), name


def test_without_energy_it_is_free_and_endless(lived):
    seen = Reader(PARAMS).read(lived[0])
    assert np.isposinf(seen.energy).all()
    assert seen.user_is_present.all()
    assert not seen.reflected.any()
    assert seen.done.shape == (16, 8, 2)
    assert not seen.done.any()
    for name in ("cost", "uses", "failures", "discomfort", "review"):
        values = getattr(seen, name)
        assert values.shape == (16, len(Verb))
        assert not values.any(), name
    assert not seen.slot.any()


def test_the_voice_is_indexed_where_it_is_offered():
    table, index = action_table(ENERGY), action_index(ENERGY)
    assert table["verb"][[index.reflect, index.propose]].tolist() == [Verb.REFLECT, Verb.PROPOSE]
    assert (action_index(PARAMS).reflect, action_index(PARAMS).propose) == (-1, -1)
