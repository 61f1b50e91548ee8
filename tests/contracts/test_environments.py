"""The contract of every environment, single and as a vector."""

import copy
import pickle
import warnings

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from stable_baselines3.common.env_checker import check_env as check_for_sb3

from solvent import ENVIRONMENTS, LabEnv, LabVectorEnv
from solvent.lab.codes import REFUSAL_REASONS, Event
from solvent.lab.ledger import LOGS, logs_of
from solvent.lab.state import lab_fields
from solvent.lab.verbs import Verb
from solvent.lab.words.measured import policy_of
from solvent.lab.wrappers import ExpectedScoreVectorReward, PotentialVectorShaping
from tests.labs import assert_equal, find, lines, one_line, open_lab, put, study, take, talk, talk_all

every_id = pytest.mark.parametrize("env_id", ENVIRONMENTS)
MODES = [AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP]
both_modes = pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name.lower())


def made(env_id, **arguments):
    return LabEnv(**ENVIRONMENTS[env_id], **arguments)


def greedy(env, rng):
    """An action that overclaims: plates at the highest claim, findings at the highest confidence."""
    table, mask = env.actions, env.action_masks()
    highest = [table[column] == np.nanmax(table[column]) for column in ("claim", "confidence")]
    loud = mask & np.any(highest, axis=0)
    return int(rng.choice(np.flatnonzero(loud if loud.any() else mask)))


def reckless(env, rng):
    """A plate at the highest claim, whether it would run or not."""
    claims = env.actions["claim"]
    return int(rng.choice(np.flatnonzero(claims == np.nanmax(claims))))


def steps_of(env, n, seed, choose):
    """Yield (record before, action, outcome, record after) over episodes."""
    rng = np.random.default_rng(seed)
    env.reset(seed=seed)
    for _ in range(n):
        before = env.get_state()
        action = choose(env, rng)
        outcome = env.step(action)
        yield before, action, outcome, env.get_state()
        if outcome[2]:
            env.reset()


def any_action(env, rng):
    return talk(env.actions, env.action_masks(), env.get_state()["experiments"], rng)


# -- spaces and checkers -------------------------------------------------------------------------


@every_id
def test_checkers_have_no_objection(env_id):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gymnasium.make(env_id, disable_env_checker=True).unwrapped, skip_render_check=True)
        check_for_sb3(made(env_id))


@every_id
def test_spaces_are_those_of_the_parameters(env_id):
    env, vector = made(env_id), LabVectorEnv(3, **ENVIRONMENTS[env_id])
    assert env.action_space == vector.single_action_space
    assert env.observation_space == vector.single_observation_space
    assert len(set(env.observation_fields)) == env.observation_space.shape[0]
    assert len({env.sentence(action) for action in range(env.action_space.n)}) == env.action_space.n
    observation, _ = env.reset(seed=0)
    assert observation.dtype == np.float32


@every_id
def test_observations_stay_inside_and_vary(env_id):
    env = made(env_id)
    seen = np.array([after[0] for _, _, after, _ in steps_of(env, 1500, 3, any_action)])
    assert np.isfinite(seen).all()
    assert np.abs(seen).max() <= 1.0
    assert (np.ptp(seen, axis=0) > 0.0).mean() > 0.7


@every_id
def test_observations_hide_the_truth(env_id):
    env = made(env_id)
    for *_, after in steps_of(env, 60, 1, any_action):
        state = after.copy()
        observation = env.set_state(state)
        for field in lab_fields(env.params):
            if field.hidden is not None:
                state[field.name] = state[field.name] + 1
        assert np.array_equal(env.set_state(state), observation)
        env.set_state(after)


# -- what may run, and what is conserved -----------------------------------------------------------


@every_id
@pytest.mark.parametrize("seed", [1, 2])
def test_mask_tells_what_executes(env_id, seed):
    env = made(env_id)
    rng = np.random.default_rng(seed)
    env.reset(seed=seed)
    for _ in range(150):
        state, mask = env.get_state(), env.action_masks()
        for action in rng.choice(env.action_space.n, 3):
            env.step(int(action))
            assert bool(env.batch.steps["executed"][0]) == mask[action], env.sentence(int(action))
            env.set_state(state)
        if env.step(any_action(env, rng))[2]:
            env.reset()


@every_id
@pytest.mark.parametrize("choose", [any_action, greedy])
def test_wells_energy_and_debt_are_conserved(env_id, choose):
    env = made(env_id)
    params = env.params
    for before, _, _, after in steps_of(env, 400, 5, choose):
        step = env.batch.steps[0]
        brought = after["wells_granted"] + after["wells_renewed"] if params.career.enabled else 0
        assert after["wells"] == params.budget.wells + brought - after["wells_spent"] >= 0
        owed = after["debt_added"] + after["debt_interest"] - after["debt_repaid"]
        owed += after["debt_recalled"] if params.career.enabled else 0.0
        assert after["debt"] == pytest.approx(owed, abs=1e-9)
        assert after["debt"] >= 0.0
        published = step["event"] == Event.PUBLISHED
        assert after["accepted"] - before["accepted"] == published
        assert after["wrong"] - before["wrong"] == (published and not step["right"])
        if params.energy.enabled:
            gone = after["energy_lost"] + after["energy_leaked"] + after["energy_spent"]
            start = round(params.energy.start * 1000)
            assert after["energy"] == start + after["energy_income"] - gone >= 0
            assert after["energy_spent"] == after["intents_total"].sum()


@every_id
@pytest.mark.parametrize("choose", [any_action, greedy])
def test_what_is_published_less_new_debt_is_the_reward(env_id, choose):
    env = made(env_id)
    counted = env.params.debt.scored  # the document's debt is not taken off the return
    for before, _, (_, reward, _, truncated, _), after in steps_of(env, 400, 5, choose):
        published = env.batch.steps[0]["published_bits"]
        assert reward == pytest.approx(published - counted * (after["debt"] - before["debt"]))
        assert after["score"] == pytest.approx(after["published_bits"] - counted * after["debt"])
        assert not truncated


@every_id
def test_a_refusal_takes_no_wells_and_ends_the_heartbeat(env_id):
    env, refused = made(env_id), 0
    for before, *_, after in steps_of(env, 60, 5, reckless):
        step = env.batch.steps[0]
        if step["refusal"]:
            refused += 1
            assert (after["wells_spent"], step["wells_charged"]) == (before["wells_spent"], 0)
            assert step["closed"]
    assert refused


@every_id
def test_horizon_leaves_the_debt_and_takes_it_off_the_score(env_id):
    env = made(env_id)
    env.reset(seed=0)
    rest = find(env, Verb.REST)
    env.step(find(env, Verb.SCREEN, claim=np.nanmax(env.actions["claim"])))
    while not (ended := env.step(rest))[2]:
        pass
    summary = ended[4]["episode_summary"]
    assert (summary["end_reason"], summary["debt"]) == ("horizon", env.get_state()["debt"])
    assert summary["return"] == pytest.approx(-summary["debt"] if env.params.debt.scored else 0.0)
    with pytest.raises(ResetNeeded):
        env.step(rest)


@pytest.mark.parametrize("wrappers", [1, 30])
def test_time_limit_through_any_wrappers_has_paid(wrappers):
    lab = LabEnv()
    env = lab
    for _ in range(wrappers):
        env = gymnasium.Wrapper(env)
    env = gymnasium.wrappers.TimeLimit(env, 10)
    env.reset(seed=0)
    claim = find(lab, Verb.SCREEN, claim=2.5)
    rewards = [env.step(claim) for _ in range(10)]
    assert rewards[-1][3]
    assert sum(step[1] for step in rewards) == pytest.approx(-lab.get_state()["debt"])


# -- a vector is its labs --------------------------------------------------------------------------


@every_id
@pytest.mark.parametrize("mode", AutoresetMode, ids=lambda mode: mode.name.lower())
def test_vector_equals_single_labs(env_id, mode):
    arguments = {**ENVIRONMENTS[env_id], "params": {"budget": {"heartbeats": 5}}, "detailed_info": True}
    labs = LabVectorEnv(5, **arguments, autoreset_mode=mode)
    singles = SyncVectorEnv([lambda: LabEnv(**arguments)] * 5, autoreset_mode=mode)
    assert_equal(labs.reset(seed=7), singles.reset(seed=7))
    rng = np.random.default_rng(1)
    for _ in range(40):
        actions = talk_all(labs, rng)
        own, theirs = labs.step(actions), singles.step(actions)
        assert [part.tobytes() for part in own[:4]] == [part.tobytes() for part in theirs[:4]]
        assert_equal(dict(sorted(own[4].items())), dict(sorted(theirs[4].items())))
        assert_equal(list(labs.call("action_masks")), list(singles.call("action_masks")))
        if mode is AutoresetMode.DISABLED and own[2].any():
            with pytest.raises(ResetNeeded, match="have ended: call reset"):
                labs.step(actions)
            ended = {"reset_mask": own[2]}
            assert_equal(labs.reset(options=ended)[0], singles.reset(options=ended)[0])


def test_vector_calls_its_labs():
    labs, singles = LabVectorEnv(3, preset="tiny"), SyncVectorEnv([lambda: LabEnv(preset="tiny")] * 3)
    with pytest.raises(ResetNeeded):
        labs.step(np.zeros(3, np.int64))
    for name, arguments in (("sentence", (2,)), ("params", ()), ("action_masks", ())):
        labs.reset(seed=1)
        singles.reset(seed=1)
        assert_equal(list(labs.call(name, *arguments)), list(singles.call(name, *arguments)))
    assert labs.get_attr("render_mode") == (None,) * 3
    with pytest.raises(AttributeError, match="params: labs of a vector share it"):
        labs.set_attr("params", None)


@both_modes
def test_reset_mask_leaves_others_alone(mode):
    labs = LabVectorEnv(3, preset="tiny", autoreset_mode=mode)
    labs.reset(seed=1)
    labs.step(np.zeros(3, np.int64))
    before = labs.get_state()
    labs.reset(options={"reset_mask": np.array([True, False, False])})
    assert labs.get_state()["heartbeat"].tolist() == [0, 1, 1]
    assert before[1:].tobytes() == labs.get_state()[1:].tobytes()
    with pytest.raises(ValueError, match="reset_mask") as error:
        labs.reset(options={"reset_mask": np.array([True])})
    one_line(error)


# -- infos have the same keys ----------------------------------------------------------------------


def shape_of(info):
    """Keys of an info, nested ones too, and the kind of each value."""
    return {
        key: shape_of(value) if isinstance(value, dict) else np.asarray(value).dtype.kind
        for key, value in info.items()
    }


@every_id
@pytest.mark.parametrize("detailed", [False, True])
def test_every_step_and_reset_has_the_same_keys_and_types(env_id, detailed):
    env = made(env_id, detailed_info=detailed)
    expected = shape_of(env.reset(seed=0)[1])
    rng = np.random.default_rng(0)
    for number in range(200):
        action = int(rng.integers(env.action_space.n)) if number % 2 else any_action(env, rng)
        *_, terminated, _, info = env.step(action)
        assert shape_of(info) == expected
        if terminated:
            assert shape_of(env.reset()[1]) == expected


@every_id
@pytest.mark.parametrize("mode", AutoresetMode, ids=lambda mode: mode.name.lower())
@pytest.mark.parametrize("native", [True, False], ids=["native", "sync"])
def test_every_step_of_a_vector_has_a_mask_that_allows_something(env_id, mode, native):
    arguments = {**ENVIRONMENTS[env_id], "params": {"budget": {"heartbeats": 5}}}
    labs = (
        LabVectorEnv(3, **arguments, autoreset_mode=mode)
        if native
        else SyncVectorEnv([lambda: LabEnv(**arguments)] * 3, autoreset_mode=mode)
    )
    _, infos = labs.reset(seed=0)
    rng = np.random.default_rng(0)
    for _ in range(30):
        masks = infos["action_mask"]
        assert masks.any(axis=1).all()
        actions = (masks * rng.random(masks.shape)).argmax(axis=1)
        *_, ended, _, infos = labs.step(actions)
        if mode is AutoresetMode.DISABLED and ended.any():
            _, begun = labs.reset(options={"reset_mask": ended})
            infos["action_mask"][ended] = begun["action_mask"][ended]


def test_unremarkable_step_has_empty_texts():
    env = open_lab(None, "lab")
    info = env.step(find(env, Verb.REST))[4]
    empty = "refusal obstacle verdict gate_verdict adequacy_rule policy_applied discomfort review_decision"
    assert {info[key] for key in empty.split()} == {""}
    assert (info["caused_by_debt"], info["adequacy"]) == (False, -1)


def test_summary_is_that_of_an_episode_once_it_has_ended():
    env = open_lab({"budget": {"heartbeats": 2}})
    rest = find(env, Verb.REST)
    summaries = [env.step(rest)[4]["episode_summary"] for _ in range(2)]
    assert [summary["end_reason"] for summary in summaries] == ["running", "horizon"]
    assert [summary["length"] for summary in summaries] == [0, 2]


# -- copies, seeds, errors -------------------------------------------------------------------------


@every_id
@pytest.mark.parametrize(
    "through", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))], ids=["copy", "pickle"]
)
def test_copy_continues_identically(env_id, through):
    env = made(env_id)
    for _ in steps_of(env, 20, 2, any_action):
        pass
    twin = through(env)
    rng = np.random.default_rng(3)
    for _ in range(30):
        action = any_action(env, rng)
        own, theirs = env.step(action), twin.step(action)
        assert_equal(own, theirs)
        if own[2]:
            assert_equal(env.reset(), twin.reset())


@every_id
def test_state_continues_elsewhere(env_id):
    env, other = made(env_id), made(env_id)
    *_, (*_, after) = steps_of(env, 25, 4, any_action)
    other.set_state(after)
    env.set_state(after)
    rest = find(env, Verb.REST)
    if not after["end_reason"]:
        assert_equal(env.step(rest)[:4], other.step(rest)[:4])


@pytest.mark.parametrize("make", [lambda: LabVectorEnv(3), lambda: LabEnv(preset="tiny")])
def test_state_of_another_lab_is_refused(make):
    other = make()
    other.reset(seed=0)
    with pytest.raises(ValueError, match="state: got") as error:
        open_lab().set_state(other.get_state())
    one_line(error)


@every_id
def test_seed_is_a_trajectory(env_id):
    env = made(env_id)
    first, again = ([s[2] for s in steps_of(env, 40, 6, any_action)] for _ in range(2))
    assert_equal(first, again)
    assert env.reset(seed=2**70)[0].shape == env.observation_space.shape
    hidden = []
    for seed in (None, None, 1):
        env.reset(seed=seed)
        hidden.append(env.get_state()["potency"].tobytes())
    assert len(set(hidden)) == 3


@pytest.mark.parametrize(
    "action", [3, np.int64(3), np.array(3), np.array([3]), torch.tensor(3), torch.tensor([3])]
)
def test_action_of_any_library_is_read(action):
    env = open_lab()
    env.step(action)
    assert env.batch.steps["action"][0] == 3


def test_real_numbers_of_an_info_are_numpy_scalars():
    env = open_lab(detailed_info=True)
    info = env.step(find(env, Verb.DOSE_RESPONSE))[4]
    assert {key for key, value in info.items() if type(value) is float} == set()
    assert info["cost"].dtype == np.float64


@pytest.mark.parametrize("action", [-1, 10**6, 1.5, True, "rest", None, np.array([1, 2])])
def test_bad_action_is_one_line_and_changes_nothing(action):
    env = open_lab()
    before = env.get_state()
    with pytest.raises(ValueError, match="action: got") as error:
        env.step(action)
    one_line(error)
    assert env.get_state() == before


@pytest.mark.parametrize(
    ("key", "value"), [("seed", -1), ("seed", 1.5), ("seed", "x"), ("seed", [1]), ("options", {"x": 1})]
)
def test_bad_argument_of_a_reset_is_one_line(key, value):
    with pytest.raises(ValueError, match=f"{key}: got") as error:
        open_lab().reset(**{key: value})
    one_line(error)


@pytest.mark.parametrize(
    "arguments", [{"num_envs": 0}, {"render_mode": "human"}, {"autoreset_mode": "never"}]
)
def test_bad_argument_of_a_vector_is_one_line(arguments):
    with pytest.raises(ValueError, match=f"{next(iter(arguments))}: got") as error:
        LabVectorEnv(**arguments)
    one_line(error)


# -- infos and logs --------------------------------------------------------------------------------


@pytest.mark.parametrize("group", ["debt", "gate", "adequacy"])
def test_unenforced_mechanism_is_marked(group):
    env = open_lab({group: {"enforced": False}}, "lab")
    infos = [env.reset()[1], env.step(find(env, Verb.REST))[4]]
    assert [info["contaminated"] for info in infos] == [True, True]
    vector = LabVectorEnv(2, {group: {"enforced": False}}, preset="lab")
    assert vector.reset(seed=0)[1]["contaminated"].all()


def logged(env_id, folder):
    """Return the summary of an episode, and the lines of each log."""
    names = {"refusals": "ledger_path", "discomfort": "discomfort_path", "proposals": "proposals_path"}
    paths = {name: folder / log.file for name, log in LOGS.items()}
    env = made(env_id, **{names.get(name, "verdicts_path"): path for name, path in paths.items()})
    rng = np.random.default_rng(8)
    env.reset(seed=8)
    while True:
        mask, wild = env.action_masks(), rng.random() < 0.3
        action = int(rng.integers(env.action_space.n)) if wild else any_action(env, rng)
        if mask[action] or wild:
            _, _, terminated, _, info = env.step(action)
            if terminated:
                return info["episode_summary"], {name: lines(path) for name, path in paths.items()}


def levels_with(log):
    return pytest.mark.parametrize(
        "env_id", [one for one in ENVIRONMENTS if log in logs_of(made(one).params)]
    )


@levels_with("refusals")
def test_every_refusal_is_logged(env_id, tmp_path):
    summary, written = logged(env_id, tmp_path)
    assert len(written["refusals"]) == sum(summary["refusals"].values())
    assert sum(line["caused_by_debt"] for line in written["refusals"]) == summary["refusals_by_debt"]
    for line in written["refusals"]:
        assert line["refusal_reason"] in REFUSAL_REASONS
        assert line["design_id"].startswith(line["proposed_template"])


@levels_with("discomfort")
def test_what_was_put_off_and_what_was_proposed_is_logged(env_id, tmp_path):
    summary, written = logged(env_id, tmp_path)
    assert len(written["discomfort"]) == summary["discomforts"] + summary["hoardings"]
    states = [line["status"] for line in written["proposals"]]
    assert (states.count("pending"), states.count("approved")) == (summary["proposals"], summary["approvals"])


@levels_with("verdicts")
def test_every_verdict_and_every_review_is_logged(env_id, tmp_path):
    summary, written = logged(env_id, tmp_path)
    judged = [line["event"] for line in written["verdicts"]].count("verdict")
    assert judged == sum(summary["verdicts"].values())
    assert len(written["verdicts"]) - judged == summary["verdicts"]["review"]


@every_id
def test_a_log_that_the_level_does_not_keep_is_empty(env_id, tmp_path):
    _, written = logged(env_id, tmp_path)
    assert {name for name, log in written.items() if log} <= set(logs_of(made(env_id).params))


def test_lines_of_two_seeds_differ_in_id_and_day(tmp_path):
    env = open_lab(ledger_path=tmp_path / "refusals.jsonl")
    for seed in (5, 6):
        env.reset(seed=seed)
        put(env, debt=3.0)
        take(env, Verb.SCREEN)
    first, second = lines(tmp_path / "refusals.jsonl")
    assert (first["design_id"], second["design_id"]) == tuple(f"screen_nocodazole_00{i}_001" for i in (1, 2))
    assert first["timestamp"][:10] < second["timestamp"][:10]


@pytest.mark.parametrize(("mode", "episodes"), [("SAME_STEP", 5), ("NEXT_STEP", 4)])
def test_each_episode_of_a_vector_has_its_ids_and_its_day(mode, episodes, tmp_path):
    short = {"budget": {"heartbeats": 4}}
    labs = LabVectorEnv(3, short, autoreset_mode=mode, ledger_path=tmp_path / "refusals.jsonl")
    labs.reset(seed=0)
    screens = np.full(3, np.flatnonzero(labs.actions["verb"] == Verb.SCREEN)[0])
    for _ in range(20):
        state = labs.get_state()
        state["debt"] = 3.0
        labs.set_state(state)
        labs.step(screens)
    written = lines(tmp_path / "refusals.jsonl")
    assert len({line["design_id"] for line in written}) == len(written) == 3 * 4 * episodes
    assert len({line["timestamp"][:10] for line in written}) == episodes


def test_verdict_lines_tell_the_readers_decision(tmp_path):
    for licence, status in ((3.0, "approved"), (0.0, "declined")):
        path = tmp_path / f"{status}.jsonl"
        env = open_lab(None, "gate", verdicts_path=path)
        policy = policy_of(env.params)
        study(env, 0, screens=1, residual=int(1e6 * (policy.tau_accept + 0.001)), licence=licence)
        info, step, _ = take(env, Verb.PUBLISH_PUBLIC, 0, confidence=0.95)
        assert (info["verdict"], info["review_decision"]) == ("review", status)
        verdict, decision = lines(path)
        assert (verdict["policy_applied"], decision["status"]) == (policy.name, status)
        assert verdict["hallucination_energy"] == verdict["energy_gap"] == info["hallucination_energy"]
        assert bool(step["published_bits"]) == (status == "approved")


# -- rewards that learners train on ----------------------------------------------------------------


@both_modes
def test_shaping_telescopes(mode):
    labs = LabVectorEnv(4, preset="gate", params={"budget": {"heartbeats": 6}}, autoreset_mode=mode)
    shaped = PotentialVectorShaping(labs, licence_weight=0.5, well_price=0.01)
    shaped.reset(seed=1)
    start = 0.01 * labs.params.budget.wells
    rng, total, simple = np.random.default_rng(0), np.zeros(4), np.zeros(4)
    running = np.ones(4, np.bool_)
    while running.any():
        _, rewards, terminated, _, _ = shaped.step(talk_all(labs, rng))
        total += np.where(running, rewards, 0.0)
        simple += np.where(running, labs.batch.rewards, 0.0)
        running &= ~terminated
    assert total == pytest.approx(simple - start)


@pytest.mark.parametrize(
    ("level", "belief", "sentence", "confidence"),
    [
        ("default", [0.9, *[0.1 / 7] * 7], "publish tunicamycin at 0.95", 0.95),
        ("data", [0.3, 0.7, *[0.0] * 6], "publish tunicamycin as class 0 at 0.5", 0.5),  # not the likeliest
    ],
)
def test_expected_score_is_the_mean_under_the_belief(level, belief, sentence, confidence):
    labs = LabVectorEnv(1, preset=level)
    wrapped = ExpectedScoreVectorReward(labs)
    wrapped.reset(seed=0)
    state = labs.get_state()
    state["marginal"][0, 2] = belief
    state["named"][0, 2], state["experiments"][0, 2], state["licence"][0, 2] = np.argmax(belief), 1, 9.0
    labs.set_state(state)
    (action,) = (i for i in range(len(labs.actions)) if labs.sentence(i) == sentence)
    _, rewards, *_ = wrapped.step(np.array([action]))
    right, wrong = np.log2(confidence * 8), np.log2((1.0 - confidence) / 0.875)
    assert rewards[0] == pytest.approx(belief[0] * right + (1.0 - belief[0]) * wrong)


def test_shaping_is_for_labs_alone():
    with pytest.raises(TypeError, match="allowed: a LabVectorEnv"):
        PotentialVectorShaping(gymnasium.make_vec("CartPole-v1", 2))
