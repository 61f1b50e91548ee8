"""A vector of labs equals single ones, bit for bit: any number, any thread count, either reset mode, infos included."""

from __future__ import annotations

import copy
import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from solvent import LabEnv, LabVectorEnv
from solvent.lab.verbs import Verb
from tests.labs import LEFT_OUT, assert_equal, merged, talk_all

MODES = [AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP]
SHORT = {"budget": {"wells": 90, "heartbeats": 17}}  # ends often, in every way
# The same where a heartbeat has several actions; proposals are filed and decided early.
SHORT_ENERGY = {
    "budget": {"wells": 90, "heartbeats": 9},
    "energy": {"start": 10.0, "regeneration": 5.0},
    "proposals": {
        "evidence_heartbeats": 1,
        "review_heartbeats": 2,
        "mispriced_least": 3,
        "half_trusted": 0.1,
    },
}
# The same where a gate judges: reviews are decided, and the gate relaxes, within an episode.
SHORT_GATE = {
    "budget": {"wells": 200, "heartbeats": 23},
    "gate": {"review_heartbeats": 2, "calm_heartbeats": 3, "policy": "adaptive.P30"},
    "debt": {"threshold": 5.0, "interest_cap": 5.0},
}
# The same where words are held against evidence, with several actions a heartbeat: much is said.
SHORT_LAB = {
    "budget": {"heartbeats": 5, "wells": 3000, "start_hour": 8},
    "debt": {"threshold": 6.0, "interest_cap": 6.0, "sensitivity": 0.01},
    "energy": {"start": 40.0, "cap": 40.0, "regeneration": 30.0, "slots": 4},
    "gate": {"policy": "adaptive.P30", "review_heartbeats": 2, "calm_heartbeats": 3},
    "proposals": {"review_heartbeats": 2, "evidence_heartbeats": 1},
}
LEVELS = {
    "debt": {"params": SHORT},
    "energy": {"params": SHORT_ENERGY, "preset": "energy"},
    "gate": {"params": merged(LEFT_OUT, SHORT_GATE), "preset": "gate"},
    "lab": {"params": merged(LEFT_OUT, SHORT_LAB), "preset": "lab"},
}
GATE_INFOS = {
    "verdict",
    "hallucination_energy",
    "energy_gap",
    "policy_applied",
    "gate_check",
    "reviews_approved",
    "reviews_declined",
    "strictness",
}
every_level = pytest.mark.parametrize("level", LEVELS)


def random_actions(envs, steps, seed=0):
    rng = np.random.default_rng(seed)
    params = envs.unwrapped.params
    if params.adequacy.enabled:
        return talked_actions(envs, steps, rng)
    if params.gate.enabled:
        return gate_actions(envs, steps, rng)
    if not params.energy.enabled:
        return rng.integers(0, envs.single_action_space.n, (steps, envs.num_envs))
    # A verb first, so that the few actions that only this level has are taken often; `propose` follows `reflect`.
    verbs = envs.unwrapped.actions["verb"]
    drawn = rng.choice(np.unique(verbs), (steps, envs.num_envs))
    drawn[1:][drawn[:-1] == Verb.REFLECT] = Verb.PROPOSE
    return np.array([[rng.choice(np.flatnonzero(verbs == verb)) for verb in row] for row in drawn])


def talked_actions(envs, steps, rng):
    """What labs that talk take, from the seed that the tests begin with."""
    twin = LabVectorEnv(envs.num_envs, envs.unwrapped.params, autoreset_mode="SameStep")
    twin.reset(seed=5)
    taken = []
    for _ in range(steps):
        taken.append(talk_all(twin, rng))
        twin.step(taken[-1])
    return np.array(taken)


def gate_actions(envs, steps, rng):
    """Plates and findings about a compound or two, so that findings have pages to be held against."""
    table = envs.unwrapped.actions
    sober = ~(table["claim"] > 0.5) & (table["compound"] < 3)
    wanted = [(Verb.SCREEN, 3), (Verb.DOSE_RESPONSE, 1), (Verb.PUBLISH_PUBLIC, 3), (Verb.PUBLISH_PRIVATE, 1)]
    pools = [np.flatnonzero(sober & (table["verb"] == verb)) for verb, count in wanted for _ in range(count)]
    pools.append(np.arange(len(table)))
    return np.array(
        [[rng.choice(pools[i]) for i in row] for row in rng.integers(0, 9, (steps, envs.num_envs))]
    )


def trajectory(envs, actions, seed=5):
    """Everything that a vector returns, and its records, as one list of bytes and infos."""
    observation, infos = envs.reset(seed=seed)
    told = [(observation.tobytes(), infos)]
    for action in actions:
        *arrays, infos = envs.step(action)
        told.append((*(array.tobytes() for array in arrays), infos, envs.get_state().tobytes()))
    return told


# -- against Gymnasium's own vector over the single lab ------------------------------------------


@every_level
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("n", "detailed"), [(3, False), (64, True)])
def test_a_vector_equals_gymnasiums_vector_of_single_labs(level, mode, n, detailed):
    arguments = {**LEVELS[level], "detailed_info": detailed}
    singles = SyncVectorEnv([lambda: LabEnv(**arguments) for _ in range(n)], autoreset_mode=mode)
    labs = LabVectorEnv(n, autoreset_mode=mode, **arguments)
    expected, found = singles.reset(seed=5), labs.reset(seed=5)
    assert_equal(expected[0], found[0], "observation")
    assert_equal(expected[1], found[1], "infos")
    told = set()
    for t, action in enumerate(random_actions(labs, 60 if n < 64 else 40)):
        expected, found = singles.step(action), labs.step(action)
        names = ("observation", "reward", "terminated", "truncated", "infos")
        for name, a, b in zip(names, expected, found, strict=True):
            assert_equal(a, b, f"step {t}: {name}")
        for i in {0, n // 2, n - 1}:
            assert singles.envs[i].get_state().tobytes() == labs.get_state()[i].tobytes()
        told |= found[4].keys() | found[4].get("final_info", {}).keys()
    labs.close()
    assert "episode_summary" in told
    assert "refusal" in told or level == "lab"
    assert ("intent_summary" in told) == (level in ("energy", "lab"))
    assert "discomfort" in told or level != "energy"
    assert ("verdict" in told) == (level in ("gate", "lab"))
    assert ("adequacy" in told) == (level == "lab")
    if n == 64:  # few labs have no time for all of it
        assert level != "gate" or told >= GATE_INFOS | {"obstacle"}
        assert level != "lab" or told >= {"gate_verdict", "adequacy_rule", "correction"}


@pytest.mark.parametrize(
    ("params", "preset"),
    [
        ({"debt": {"enforced": False}}, "default"),
        ({"debt": {"carry_debt": True}}, "default"),
        ({**SHORT_LAB, "adequacy": {"enforced": False}}, "lab"),
    ],
)
@pytest.mark.parametrize("mode", MODES)
def test_so_it_does_where_debt_is_free_or_carried_and_words_have_no_consequence(params, preset, mode):
    arguments = {"params": params, "preset": preset}
    singles = SyncVectorEnv([lambda: LabEnv(**arguments) for _ in range(3)], autoreset_mode=mode)
    labs = LabVectorEnv(3, autoreset_mode=mode, **arguments)
    assert_equal(singles.reset(seed=5)[0], labs.reset(seed=5)[0])
    for action in random_actions(labs, 90):
        expected, found = singles.step(action), labs.step(action)
        assert_equal(expected, found)
        assert ("contaminated" in found[4]) == bool(labs.params.unenforced)


# -- what must not matter ------------------------------------------------------------------------


@every_level
@pytest.mark.parametrize("mode", MODES)
def test_neither_the_number_of_labs_nor_the_place_among_them_matters(level, mode):
    arguments = {**LEVELS[level], "autoreset_mode": mode}
    many = LabVectorEnv(9, **arguments)
    actions = random_actions(many, 60)
    many.reset(seed=list(range(9)))
    backwards = LabVectorEnv(9, **arguments)
    backwards.reset(seed=list(range(8, -1, -1)))
    few = LabVectorEnv(2, **arguments)
    few.reset(seed=[3, 7])
    for action in actions:
        many.step(action)
        backwards.step(action[::-1])
        few.step(action[[3, 7]])
        assert (many.get_state() == backwards.get_state()[::-1]).all()
        assert (many.get_state()[[3, 7]] == few.get_state()).all()


@every_level
def test_copying_or_not_only_matters_to_who_owns_the_arrays(level):
    copied, shared = LabVectorEnv(4, **LEVELS[level]), LabVectorEnv(4, **LEVELS[level], copy=False)
    actions = random_actions(copied, 40)
    a, b = trajectory(copied, actions), [None]
    observation, infos = shared.reset(seed=5)
    assert observation.tobytes() == a[0][0]
    for t, action in enumerate(actions):
        *arrays, infos = shared.step(action)
        b = (*(array.tobytes() for array in arrays), infos)
        assert b[:4] == a[t + 1][:4]
        assert_equal(a[t + 1][4], infos)
        assert arrays[0] is shared.batch.observations


def test_observations_of_a_vector_do_not_share_memory():
    labs = LabVectorEnv(3, SHORT)
    first, _ = labs.reset(seed=1)
    kept = first.copy()
    second, reward, terminated, truncated, infos = labs.step(np.zeros(3, np.int64))
    held = [a.copy() for a in (second, reward, terminated, truncated, infos["action_mask"])]
    third, *_ = labs.step(np.ones(3, np.int64))
    assert not np.shares_memory(first, second)
    assert not np.shares_memory(second, third)
    assert (first == kept).all()
    for a, b in zip((second, reward, terminated, truncated, infos["action_mask"]), held, strict=True):
        assert (a == b).all()


# -- ends and resets -----------------------------------------------------------------------------


def test_same_step_tells_the_final_observation_and_begins_at_once():
    labs = LabVectorEnv(3, SHORT, autoreset_mode="SameStep")
    single = LabEnv(SHORT)
    labs.reset(seed=4)
    single.reset(seed=5)
    for _ in range(17):
        *_, ended, infos = labs.step(np.zeros(3, np.int64))
        last, *_ = single.step(0)
    assert ended.all()
    assert (infos["final_obs"][1] == last).all()
    assert infos["final_info"]["episode_summary"]["end_reason"].tolist() == ["horizon"] * 3
    assert (labs.get_state()["heartbeat"] == 0).all()
    assert (labs.get_state()["episode"] == 1).all()
    assert (infos["action_mask"] == labs.action_masks()).all()


def test_next_step_ends_first_and_begins_with_the_next_action():
    labs = LabVectorEnv(2, SHORT, autoreset_mode="NextStep")
    labs.reset(seed=4)
    for _ in range(17):
        observation, _, _, truncated, infos = labs.step(np.zeros(2, np.int64))
    assert truncated.all()
    assert "action_mask" not in infos
    assert (labs.get_state()["heartbeat"] == 17).all()
    observation, reward, terminated, truncated, infos = labs.step(np.full(2, 50))
    assert (reward == 0).all()
    assert not (terminated | truncated).any()
    assert (labs.get_state()["heartbeat"] == 0).all()
    assert "cost" not in infos
    assert observation.shape == (2, len(labs.observation_fields))


@every_level
@pytest.mark.parametrize("mode", MODES)
def test_a_reset_mask_resets_some_and_leaves_the_others_alone(level, mode):
    singles = SyncVectorEnv([lambda: LabEnv(**LEVELS[level]) for _ in range(4)], autoreset_mode=mode)
    labs = LabVectorEnv(4, **LEVELS[level], autoreset_mode=mode)
    singles.reset(seed=2)
    labs.reset(seed=2)
    rng = np.random.default_rng(3)
    for t, action in enumerate(random_actions(labs, 45)):
        if t % 6 == 5:
            mask = np.array(rng.random(4) < 0.5)
            mask[t % 4] = True
            seed = [None, 10 + t][t % 2]
            before = labs.get_state()
            expected = singles.reset(seed=seed, options={"reset_mask": mask.copy()})
            found = labs.reset(seed=seed, options={"reset_mask": mask})
            assert_equal(expected[0], found[0], "observation")
            assert_equal(expected[1], found[1], "infos")
            assert (labs.get_state()[~mask] == before[~mask]).all()
            assert (labs.get_state()["heartbeat"][mask] == 0).all()
        for a, b in zip(singles.step(action), labs.step(action), strict=True):
            assert_equal(a, b)


def test_a_mask_of_another_length_is_an_error():
    labs = LabVectorEnv(3)
    with pytest.raises(ValueError, match="reset_mask"):
        labs.reset(seed=1, options={"reset_mask": np.ones(4, bool)})


def test_seeds_can_be_a_list_huge_or_of_numpy():
    labs = LabVectorEnv(3)
    labs.reset(seed=7)
    expected = labs.get_state()
    for seed in ([7, 8, 9], (7, 8, 9), np.array([7, 8, 9]), np.int64(7)):
        labs.reset(seed=seed)
        assert (labs.get_state() == expected).all()
    huge = 2**100
    labs.reset(seed=huge)
    single = LabEnv()
    single.reset(seed=huge + 2)
    assert single.get_state() == labs.get_state()[2]
    assert len(set(labs.get_state()["key"])) == 3


def test_none_in_a_list_of_seeds_goes_on_in_that_labs_stream():
    labs = LabVectorEnv(3)
    labs.reset(seed=7)
    key = labs.get_state()["key"]
    labs.reset(seed=[None, 8, None])
    assert (labs.get_state()["key"] == key).all()
    assert labs.get_state()["episode"].tolist() == [1, 0, 1]


@pytest.mark.parametrize("seed", [[1, 2], [1, 2, 3, 4], []])
def test_another_number_of_seeds_is_an_error(seed):
    with pytest.raises(ValueError, match="seed"):
        LabVectorEnv(3).reset(seed=seed)


def test_without_a_seed_every_lab_has_a_world_of_its_own_and_another_each_time():
    labs = LabVectorEnv(4)
    labs.reset()
    first = labs.get_state()
    labs.reset()
    assert len(set(first["key"])) == 4
    assert (labs.get_state()["key"] == first["key"]).all()
    assert (labs.get_state()["potency"] != first["potency"]).any()


# -- misuse --------------------------------------------------------------------------------------


def test_a_step_before_the_first_reset_is_an_error():
    labs = LabVectorEnv(2)
    with pytest.raises(ResetNeeded):
        labs.step(np.zeros(2, np.int64))
    labs.reset(seed=0, options={"reset_mask": np.array([True, False])})
    with pytest.raises(ResetNeeded):
        labs.step(np.zeros(2, np.int64))
    labs.reset(seed=0)
    labs.step(np.zeros(2, np.int64))


@pytest.mark.parametrize(
    "actions", [[0], [0, 0, 0], [[0, 0]], [0, -1], [0, 154], [0.5, 1.0], [np.nan, 0.0], 0, [], ["a", "b"]]
)
def test_bad_actions_are_errors(actions):
    labs = LabVectorEnv(2)
    labs.reset(seed=0)
    before = labs.get_state()
    with pytest.raises(ValueError, match="actions"):
        labs.step(actions)
    assert (labs.get_state() == before).all()


def test_actions_can_be_a_list_or_of_any_integer_type():
    states = []
    for actions in ([3, 60], (3, 60), np.array([3, 60], np.int8), np.array([3, 60], np.uint64)):
        labs = LabVectorEnv(2)
        labs.reset(seed=0)
        labs.step(actions)
        states.append(labs.get_state())
    assert all((state == states[0]).all() for state in states)


@pytest.mark.parametrize("arguments", [{"num_envs": 0}, {"num_envs": -1}])
def test_impossible_numbers_are_errors(arguments):
    with pytest.raises(ValueError, match="num_envs: got"):
        LabVectorEnv(**arguments)


def test_autoreset_modes_are_declared_and_others_refused():
    for mode in MODES:
        assert LabVectorEnv(1, autoreset_mode=mode).metadata["autoreset_mode"] is mode
        for name in (mode.value, mode.name):
            assert LabVectorEnv(1, autoreset_mode=name).metadata["autoreset_mode"] is mode
    assert LabVectorEnv(1).metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    for refused in (AutoresetMode.DISABLED, "DISABLED", "Never"):
        with pytest.raises(ValueError, match=r"autoreset_mode: got .*; allowed: NEXT_STEP, SAME_STEP"):
            LabVectorEnv(1, autoreset_mode=refused)
    with pytest.raises(ValueError, match="render_mode"):
        LabVectorEnv(1, render_mode="human")


# -- states, pickles, copies ---------------------------------------------------------------------


@every_level
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("through", ["state", "pickle", "deepcopy"])
def test_a_vector_continues_identically_from_a_copy(level, mode, through):
    labs = LabVectorEnv(3, **LEVELS[level], autoreset_mode=mode, detailed_info=True)
    actions = random_actions(labs, 60)
    labs.reset(seed=6)
    for action in actions[:23]:
        observation, *_ = labs.step(action)
    if through == "state":
        twin = LabVectorEnv(3, **LEVELS[level], autoreset_mode=mode, detailed_info=True)
        assert (twin.set_state(labs.get_state()) == observation).all()
    else:
        twin = pickle.loads(pickle.dumps(labs)) if through == "pickle" else copy.deepcopy(labs)
    assert (twin.action_masks() == labs.action_masks()).all()
    for action in actions[23:]:
        for a, b in zip(labs.step(action), twin.step(action), strict=True):
            assert_equal(a, b)
    labs.close()
    twin.close()


def test_a_state_of_another_shape_is_an_error():
    labs = LabVectorEnv(3)
    labs.reset(seed=0)
    with pytest.raises(ValueError, match="state"):
        labs.set_state(LabVectorEnv(4).get_state())
    with pytest.raises(ValueError, match="state"):
        labs.set_state(np.zeros(3))


def test_closing_twice_and_stepping_after_is_harmless():
    labs = LabVectorEnv(4)
    labs.reset(seed=0)
    labs.step(np.zeros(4, np.int64))
    labs.close()
    labs.close()


def test_gymnasiums_wrappers_for_vectors_can_be_put_around_it():
    envs = gymnasium.make_vec("Solvent/Debt-v0", num_envs=2, vectorization_mode="vector_entry_point")
    wrapped = gymnasium.wrappers.vector.RecordEpisodeStatistics(envs, stats_key="statistics")
    wrapped.reset(seed=0)
    for _ in range(40):
        *_, infos = wrapped.step(np.zeros(2, np.int64))
    assert infos["statistics"]["l"].tolist() == [40, 40]
    assert infos["episode_summary"]["return"].tolist() == infos["statistics"]["r"].tolist()
