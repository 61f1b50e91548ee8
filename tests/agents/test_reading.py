"""The reading of an observation against the lab's record, and the index of actions against the action table."""

import numpy as np
import pytest

from solvent.actions import Verb, action_table
from solvent.params import LabParams
from solvent.vector import LabVectorEnv
from solvent_agents.random_agent import RandomMasked
from solvent_agents.reading import Reader, action_index

PARAMS = LabParams()


@pytest.fixture(scope="module")
def lived():
    """Labs after ten heartbeats of random actions, and what they show."""
    envs, agent = LabVectorEnv(16, PARAMS), RandomMasked(PARAMS, 1)
    observations, infos = envs.reset(seed=5)
    for _ in range(10):
        actions = agent.act(observations, infos["action_mask"])
        observations, _, _, _, infos = envs.step(actions)
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
    index, table = action_index(PARAMS), action_table(PARAMS)
    for verb in (Verb.SCREEN, Verb.DOSE_RESPONSE):
        for m in range(8):
            for c, claim in enumerate(PARAMS.vocabulary.claims):
                row = table[index.experiment(verb, m, c)]
                assert (row["verb"], row["compound"], row["claim"]) == (verb, m, claim)
    for m in range(8):
        for q, confidence in enumerate(PARAMS.vocabulary.confidences):
            row = table[index.publish_public[m, q]]
            assert (row["verb"], row["compound"], row["confidence"]) == (Verb.PUBLISH_PUBLIC, m, confidence)
            assert table[index.publish_private[m, q]]["verb"] == Verb.PUBLISH_PRIVATE
    verbs = [Verb.REST, Verb.DMSO, Verb.BASELINE, Verb.CALIBRATION]
    single = [index.rest, index.dmso, index.baseline, index.calibration]
    assert table["verb"][single].tolist() == verbs


def test_the_claim_below():
    index = action_index(PARAMS)
    claims = index.claims[index.claim_below([-1.0, 0.0, 0.24, 0.25, 1.9, 9.0])]
    assert claims.tolist() == [0.0, 0.0, 0.0, 0.25, 1.5, 2.5]
