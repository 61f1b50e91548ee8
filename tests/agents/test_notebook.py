"""The agent notebook: it reads back what the observation says, and its posterior is a Bayesian's."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from solvent import LabVectorEnv, ParamError, preset
from solvent.lab.mechanisms.measurements import EARLIER, THIS_LOT
from solvent_agents import episodes
from solvent_agents.agent import without_truth
from solvent_agents.registry import PLAYERS
from solvent_agents.scripts import notebook
from solvent_agents.scripts.honest import Honest

DATA = preset("data")


def played(steps=26, labs=32):
    """Labs that the honest script has played for some steps."""
    envs, agent = LabVectorEnv(labs, DATA), Honest(DATA)
    observations, infos = envs.reset(seed=5)
    for _ in range(steps):
        agent.open(without_truth(envs.get_state(), DATA))
        observations, *_, infos = envs.step(agent.act(observations, infos["action_mask"]))
    return envs, observations


def test_sums_and_counts_are_read_back_exactly():
    envs, observations = played()
    data, labs = notebook.read_data(DATA, observations), envs.get_state()
    for lot in (THIS_LOT, EARLIER):
        assert np.array_equal(data.counts[..., lot], labs["readout_count"][:, lot])
        assert np.array_equal(data.sums[..., lot], labs["readout_sum"][:, lot])
    assert np.array_equal(data.vehicle_count, labs["vehicle_count"])


def test_books_are_read_back():
    envs, observations = played()
    records, labs = notebook.Notebook(DATA)._records(observations), envs.get_state()
    for name in ("heartbeat", "wells", "experiments", "published"):
        assert np.array_equal(records[name], labs[name]), name
    for name in ("debt", "licence"):
        np.testing.assert_allclose(records[name], labs[name], atol=1e-4)


def test_posterior_of_one_plate_is_that_of_the_lab():
    envs = LabVectorEnv(16, DATA)
    envs.reset(seed=0)
    screen = int(np.flatnonzero(envs.actions["verb"] == 4)[0])
    observations, *_ = envs.step(np.full(16, screen))
    belief = notebook.posterior(DATA, notebook.read_data(DATA, observations))
    np.testing.assert_allclose(belief.marginal[:, 0], envs.get_state()["marginal"][:, 0], atol=1e-5)


def test_sum_of_readouts_has_the_distribution_of_every_sequence():
    one, three = notebook._readout(DATA)[0, 7, 4], notebook._of_sum(DATA, 3)[0, 7, 4]
    by_hand = np.zeros_like(three)
    for bins in itertools.product(range(len(one)), repeat=3):
        by_hand[sum(bins)] += np.prod(one[list(bins)])
    np.testing.assert_allclose(three, by_hand)


@pytest.mark.slow
def test_notebook_earns_nearly_what_the_posterior_is_worth():
    seeds = range(10_000, 12_000)
    returns = {
        name: episodes(PLAYERS[name](DATA, 0), DATA, seeds)["return"] for name in ("honest", "notebook")
    }
    assert returns["notebook"].mean() >= 0.95 * returns["honest"].mean()


def test_other_levels_are_refused_in_one_line():
    with pytest.raises(ParamError, match="notebook plays no such lab; allowed: Solvent/Data-v0"):
        PLAYERS["notebook"](preset("default"), 0)
