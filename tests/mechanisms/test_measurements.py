"""Measurements: what the observation says of the readouts, by hand."""

import numpy as np
import pytest

from solvent import LabEnv, LabParams, LabVectorEnv, ParamError
from solvent.lab.actions import action_table
from solvent.lab.codes import Event
from solvent.lab.mechanisms.measurements import COUNT
from solvent.lab.params import preset
from solvent.lab.tables import tables_for
from solvent.lab.verbs import Verb
from solvent.lab.words.quantities import dose_text
from tests.labs import find, open_lab, put, take

DATA = "data"
LAST_PLATE = LabParams.from_mapping({"observation": {"belief": "plate"}}, base=preset(DATA))


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


# -- the last plate alone --------------------------------------------------------------------------


def elements(env, *parts):
    """Return the elements whose names end in one of these words."""
    return {name: element(env, name) for name in env.observation_fields if name.endswith(parts)}


def test_before_any_plate_its_elements_are_zero():
    env = open_lab(base=LAST_PLATE, seed=1)
    assert not any(elements(env, "last_plate", "mean", "spread", "number").values())


def test_the_last_plate_shows_its_compound_and_its_readouts():
    env = open_lab(base=LAST_PLATE, seed=1)
    seen = take(env, Verb.SCREEN, 2, claim=0.0)[2]["last_bins"][0]
    assert [name for name, flag in elements(env, "last_plate").items() if flag] == ["tunicamycin/last_plate"]
    assert element(env, "plate/100 nM/mean") == pytest.approx(seen / 11)
    assert element(env, "plate/100 nM/number") == pytest.approx(1 / (1 + COUNT))
    assert element(env, "plate/10 nM/number") == 0.0


def test_a_plate_takes_the_place_of_the_one_before_it():
    env = open_lab(base=LAST_PLATE, seed=1)
    take(env, Verb.SCREEN, 2, claim=0.0)
    seen = take(env, Verb.SCREEN, 2, claim=0.0)[2]["last_bins"][0]
    assert element(env, "plate/100 nM/mean") == pytest.approx(seen / 11)
    assert element(env, "plate/100 nM/number") == pytest.approx(1 / (1 + COUNT))


def test_vehicle_wells_take_the_place_of_a_compounds_plate():
    env = open_lab(base=LAST_PLATE, seed=1)
    take(env, Verb.SCREEN, 2, claim=0.0)
    seen = take(env, Verb.DMSO)[2]["last_bins"][:4].astype(float)
    assert not any(elements(env, "last_plate", "nM/number", "µM/number").values())
    assert element(env, "vehicle/mean") == pytest.approx(seen.mean() / 11)
    assert element(env, "vehicle/number") == pytest.approx(4 / (4 + COUNT))


def test_a_compounds_plate_takes_the_place_of_vehicle_wells():
    env = open_lab(base=LAST_PLATE, seed=1)
    take(env, Verb.DMSO)
    take(env, Verb.SCREEN, 2, claim=0.0)
    vehicle = ("vehicle/mean", "vehicle/spread", "vehicle/number")
    assert not any(elements(env, *vehicle).values())


def test_what_runs_no_plate_leaves_the_last_one_shown():
    env = open_lab({"assay": {"lot_heartbeats": 2}}, LAST_PLATE, seed=1)
    take(env, Verb.SCREEN, 2, claim=0.0)
    before = elements(env, "last_plate", "mean", "number")
    put(env, debt=3.0)
    assert take(env, Verb.SCREEN, 0, claim=0.0)[1]["event"] == Event.REFUSED  # and a new lot
    put(env, debt=0.0)
    take(env, Verb.REST)
    take(env, Verb.PUBLISH_PUBLIC, 2, confidence=0.5)
    assert elements(env, "last_plate", "mean", "number") == before


def test_single_labs_and_a_vector_show_the_same_last_plates():
    singles, labs = [LabEnv(LAST_PLATE) for _ in range(3)], LabVectorEnv(3, LAST_PLATE)
    rng = np.random.default_rng(0)
    observations = [labs.reset(seed=[0, 1, 2])[0]]
    alone = [np.stack([env.reset(seed=seed)[0] for seed, env in enumerate(singles)])]
    for actions in rng.integers(0, len(labs.actions), (25, 3)):
        observations.append(labs.step(actions)[0])
        alone.append(np.stack([env.step(action)[0] for env, action in zip(singles, actions, strict=True)]))
    np.testing.assert_array_equal(np.stack(observations), np.stack(alone))


def after_a_dose_response():
    """Labs in which the first compound's first plate has run, and what it showed and paid."""
    labs, table = LabVectorEnv(400, LAST_PLATE), action_table(LAST_PLATE)
    labs.reset(seed=list(range(400)))
    plates = (table["verb"] == Verb.DOSE_RESPONSE) & (table["compound"] == 0) & (table["claim"] == 0.75)
    observations, rewards, *_ = labs.step(np.full(400, np.flatnonzero(plates)[0]))
    return labs, observations.copy(), rewards.copy()


def test_the_last_plate_holds_all_that_the_first_plate_taught():
    labs, observations, _ = after_a_dose_response()
    doses = [dose_text(dose) for dose in LAST_PLATE.plates.dose_response.doses]
    columns = [labs.observation_fields.index(f"plate/{dose}/mean") for dose in doses]
    bins = np.rint(11 * observations[:, columns]).astype(int)
    likelihood = tables_for(LAST_PLATE).dose_likelihood[Verb.DOSE_RESPONSE][np.arange(len(doses)), bins]
    belief = LAST_PLATE.assay.class_prior * likelihood.prod(axis=1).mean(axis=1)  # over instruments
    belief /= belief.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(belief, labs.batch.labs["marginal"][:, 0], atol=1e-5)


def test_a_finding_on_one_plate_alone_pays():
    """So an agent without memory can earn something."""
    labs, _, rewards = after_a_dose_response()
    belief, table = labs.batch.labs["marginal"][:, 0], action_table(LAST_PLATE)
    named = (table["verb"] == Verb.PUBLISH_PUBLIC) & (table["compound"] == 0)
    findings = {(row["potency"], row["confidence"]): i for i, row in enumerate(table) if named[i]}
    stated = np.where(belief.max(axis=1) > 0.65, 0.75, 0.5)
    actions = [findings[of_lab] for of_lab in zip(belief.argmax(axis=1), stated, strict=True)]
    assert (rewards + labs.step(np.array(actions))[1]).mean() > 0.5  # 0.8, less four standard errors


# -- findings and rules ----------------------------------------------------------------------------


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
        ({"observation": {"belief": "none"}}, "observation.belief: got 'none'; allowed: .*data, plate"),
        ({"observation": {"belief": "plate", "joint": True}}, "observation.joint"),
    ],
)
def test_what_does_not_go_together_is_one_line(changes, message):
    with pytest.raises(ParamError, match=message):
        LabParams.from_mapping(changes, base=LabEnv(preset=DATA).params)
