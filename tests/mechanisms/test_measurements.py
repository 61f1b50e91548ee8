"""Measurements: what the observation says of the readouts, by hand."""

import numpy as np
import pytest

from solvent import LabEnv, LabParams, ParamError
from solvent.lab.mechanisms.measurements import COUNT
from solvent.lab.verbs import Verb
from tests.labs import find, open_lab, take

DATA = "data"


def element(env, name):
    return env.batch.observations[0, env.observation_fields.index(name)]


def test_a_dose_shows_the_mean_and_number_of_its_readouts():
    env = open_lab(base=DATA, seed=1)
    bins = [take(env, Verb.SCREEN, 2, claim=0.0)[2]["last_bins"][0] for _ in range(2)]
    assert element(env, "tunicamycin/100 nM/mean") == pytest.approx(np.mean(bins) / 11)
    assert element(env, "tunicamycin/100 nM/number") == pytest.approx(2 / (2 + COUNT))
    assert element(env, "nocodazole/100 nM/number") == 0.0


def test_vehicle_wells_show_mean_spread_and_number():
    env = open_lab(base=DATA, seed=1)
    bins = take(env, Verb.DMSO)[2]["last_bins"][:4].astype(float)
    assert element(env, "vehicle/mean") == pytest.approx(bins.mean() / 11)
    assert element(env, "vehicle/spread") == pytest.approx(bins.std() / 11)
    assert element(env, "vehicle/number") == pytest.approx(4 / (4 + COUNT))


def test_a_new_lot_files_readouts_as_earlier_ones_and_forgets_vehicle_wells():
    env = open_lab({"assay": {"lot_heartbeats": 2}}, DATA, seed=1)
    first = take(env, Verb.SCREEN, 0, claim=0.0)[2]["last_bins"][0]
    take(env, Verb.DMSO)
    assert element(env, "nocodazole/100 nM/number") == 0.0
    assert element(env, "nocodazole/100 nM/earlier_mean") == pytest.approx(first / 11)
    assert element(env, "vehicle/number") == 0.0


def test_the_observation_holds_no_belief():
    fields = LabEnv(preset=DATA).observation_fields
    assert not [name for name in fields if "entropy" in name or "class_" in name or "instrument" in name]


def test_a_finding_asserts_the_class_that_it_names():
    env = open_lab(base=DATA, seed=1)
    take(env, Verb.SCREEN, 0, claim=0.0)
    truth = int(env.get_state()["potency"][0])
    right = find(env, Verb.PUBLISH_PUBLIC, 0, confidence=0.95, potency=truth)
    env.step(right)
    assert env.sentence(right) == f"publish nocodazole as class {truth} at 0.95"
    assert (env.batch.steps["asserted"][0], bool(env.batch.steps["right"][0])) == (truth, True)


def test_belief_and_gain_are_those_of_the_posterior():
    data, posterior = open_lab(base=DATA, seed=3), open_lab(base="default", seed=3)
    for env in (data, posterior):
        env.step(find(env, Verb.SCREEN, 1, claim=0.5))
    assert np.array_equal(data.get_state()["marginal"], posterior.get_state()["marginal"])
    assert data.get_state()["debt"] == posterior.get_state()["debt"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"gate": {"enabled": True}}, "publication.names_class"),
        ({"observation": {"joint": True}}, "observation.joint"),
        ({"observation": {"belief": "none"}}, "observation.belief: got 'none'; allowed: .*data"),
    ],
)
def test_what_does_not_go_together_is_one_line(changes, message):
    with pytest.raises(ParamError, match=message):
        LabParams.from_mapping(changes, base=LabEnv(preset=DATA).params)
