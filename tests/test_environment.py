"""The contract that every registered environment keeps, read off the registry; and what its docstring promises."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Box, Discrete
from gymnasium.utils.env_checker import check_env

import solvent
from solvent import ENVIRONMENTS, LabEnv, LabVectorEnv
from solvent.lab.codes import Verdict
from solvent.lab.mechanisms.gate import wording_at
from solvent.lab.observation import observation_fields, write_observation
from solvent.lab.params import LabParams
from solvent.lab.verbs import EXTRA, Verb
from solvent.lab.words.sentences import policies_of
from tests.labs import LEFT_OUT, by_hand

IDS = sorted(ENVIRONMENTS)
every_id = pytest.mark.parametrize("env_id", IDS)


def make(env_id, **arguments):
    return gymnasium.make(env_id, **arguments)


def bold(env, mask, rng):
    """Claims much, publishes at once: meets debt, refusals, rejections."""
    return rng.integers(len(mask))


def able(env, mask, rng):
    """Only what runs."""
    return rng.choice(np.flatnonzero(mask))


def careful(env, mask, rng):
    """Learns first, claims little, publishes now and then."""
    verb, claim = env.unwrapped.actions["verb"], env.unwrapped.actions["claim"]
    wanted = (verb == rng.choice([1, 2, 3, 4, 5, 6, 7])) & ~(claim > 0.5) & mask
    return rng.choice(np.flatnonzero(wanted if wanted.any() else mask))


def hasty(env, mask, rng):
    """Publishes whatever there is an experiment on, again and again."""
    verb, compound, claim = (env.unwrapped.actions[name] for name in ("verb", "compound", "claim"))
    known = env.unwrapped.get_state()["experiments"] > 0
    social = (verb >= Verb.PUBLISH_PRIVATE) & known[compound]
    wanted = social if known.any() and rng.random() < 0.5 else (verb == Verb.SCREEN) & (claim == 0)
    return rng.choice(np.flatnonzero(wanted))


def heard(env, mask, rng):
    """Learns, publishes what is licensed whether there is energy for it or not, and complains where there isn't."""
    verb, compound, claim, confidence = (
        env.unwrapped.actions[name] for name in ("verb", "compound", "claim", "confidence")
    )
    for voice in (Verb.PROPOSE, Verb.REFLECT):
        if (mask & (verb == voice)).any() and (voice == Verb.PROPOSE or rng.random() < 0.3):
            return rng.choice(np.flatnonzero(mask & (verb == voice)))
    state = env.unwrapped.get_state()
    open_to = (state["licence"] > 0.6) & (state["published"] == 0)
    social = (verb >= Verb.PUBLISH_PRIVATE) & (confidence == np.nanmin(confidence)) & open_to[compound]
    if social.any() and rng.random() < 0.7:
        return rng.choice(np.flatnonzero(social))
    bold = np.nanmax(claim[claim <= 0.75])
    return rng.choice(np.flatnonzero(np.isin(verb, [Verb.SCREEN, Verb.DOSE_RESPONSE]) & (claim == bold)))


def wasteful(env, mask, rng):
    """Full plates while there are wells; then publishes what it can, and goes on to ask for calibrations."""
    verb, compound, claim = (env.unwrapped.actions[name] for name in ("verb", "compound", "claim"))
    state = env.unwrapped.get_state()
    if state["wells"] > 60:
        plate = (verb == Verb.DOSE_RESPONSE) & (claim == 0.25) & mask
        return rng.choice(np.flatnonzero(plate)) if plate.any() else 0
    known = (verb == Verb.PUBLISH_PUBLIC) & (state["experiments"] > 0)[compound] & mask
    wanted = known if known.any() else np.isin(verb, [Verb.DMSO, Verb.BASELINE, Verb.CALIBRATION])
    return rng.choice(np.flatnonzero(wanted))


def talkative(env, mask, rng):
    """Works on four compounds, and says anything of each as soon as it has 1, 2, 3 or 5 plates behind it."""
    rows, state = env.unwrapped.actions, env.unwrapped.get_state()
    focus = np.random.default_rng(state["key"]).permutation(len(env.unwrapped.params.assay.compounds))[:4]
    ripe = focus[state["experiments"][focus] >= (1, 2, 3, 5)[: len(focus)]]
    said = (rows["verb"] == Verb.PUBLISH_PUBLIC) & np.isin(rows["compound"], ripe) & mask
    if said.any():
        return rng.choice(np.flatnonzero(said))
    wanted = np.isin(rows["verb"], [Verb.SCREEN, Verb.DOSE_RESPONSE]) & np.isin(rows["compound"], focus)
    wanted &= mask & (rows["claim"] == np.nanmax(rows["claim"][rows["claim"] <= 1.0]))
    return rng.choice(np.flatnonzero(wanted)) if wanted.any() else 0


def doubtful(env, mask, rng):
    """Works on four compounds, calibrates where licence needs it, and says at a gate what a reader decides on."""
    rows, state, params = env.unwrapped.actions, env.unwrapped.get_state(), env.unwrapped.params
    focus = np.random.default_rng(state["key"]).permutation(len(params.assay.compounds))[:4]
    if params.gate.enabled:
        wordings = [wording_at(params.gate, confidence) for confidence in params.vocabulary.confidences]
        for m in focus[state["experiments"][focus] > 0]:
            findings = env.unwrapped.notebook(int(m)).findings
            for confidence, wording in zip(params.vocabulary.confidences, wordings, strict=True):
                licensed = state["licence"][m] > 2.0 * confidence - 0.3 or rng.random() < 0.05
                if findings[wording].verdict == "review" and licensed:
                    wanted = (rows["compound"] == m) & (rows["confidence"] == confidence) & mask
                    if wanted.any():
                        return rng.choice(np.flatnonzero(wanted))
    unlicensed = params.debt.uncalibrated_licence < 1.0 and not state["lot_calibrated"]
    if (unlicensed or state["debt"] > 1.0) and mask[Verb.DMSO]:
        return int(Verb.DMSO)
    wanted = np.isin(rows["verb"], [Verb.SCREEN, Verb.DOSE_RESPONSE]) & np.isin(rows["compound"], focus)
    wanted &= np.isin(rows["claim"], [0.5, 1.0]) & mask
    return rng.choice(np.flatnonzero(wanted if wanted.any() else mask))


def impatient(env, mask, rng):
    """The same, and asks again while the reader has not decided."""
    waiting = env.unwrapped.get_state()["decision_at"] != 0
    verb, compound = env.unwrapped.actions["verb"], env.unwrapped.actions["compound"]
    again = (verb >= Verb.PUBLISH_PRIVATE) & waiting[compound]
    return (
        rng.choice(np.flatnonzero(again)) if again.any() and rng.random() < 0.3 else doubtful(env, mask, rng)
    )


POLICIES = (bold, able, careful, hasty, heard, wasteful, doubtful)


def costs_energy(env):
    return env.unwrapped.params.energy.enabled


def is_judged(env):
    return env.unwrapped.params.gate.enabled


def weighs_words(env):
    return env.unwrapped.params.adequacy.enabled


def episodes(env, policies=POLICIES, seeds=range(20)):
    """Yield (observation, reward, terminated, truncated, info) of every step; the reset's with reward None."""
    for policy in policies:
        for seed in seeds:
            rng = np.random.default_rng(seed)
            observation, info = env.reset(seed=seed)
            yield observation, None, False, False, info
            over = False
            while not over:
                observation, reward, terminated, truncated, info = env.step(
                    policy(env, info["action_mask"].astype(bool), rng)
                )
                yield observation, reward, terminated, truncated, info
                over = terminated or truncated


# -- the checkers --------------------------------------------------------------------------------


def test_every_environment_is_registered_with_gymnasium():
    assert IDS
    assert set(IDS) == {env_id for env_id in gymnasium.registry if env_id.startswith("Solvent/")}


@every_id
def test_gymnasiums_checker_has_no_objection(env_id):
    # Warnings are errors in this suite.
    check_env(make(env_id).unwrapped, skip_render_check=True)


@every_id
def test_stable_baselines3s_checker_has_no_objection(env_id):
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    checker.check_env(make(env_id).unwrapped, warn=True, skip_render_check=True)


@every_id
def test_it_can_be_made_single_and_as_a_vector(env_id):
    env = make(env_id)
    assert isinstance(env.unwrapped, LabEnv)
    observation, info = env.reset(seed=3)
    envs = gymnasium.make_vec(env_id, num_envs=3, vectorization_mode="vector_entry_point")
    assert isinstance(envs.unwrapped, LabVectorEnv)
    observations, infos = envs.reset(seed=3)
    assert (observations[0] == observation).all()
    assert (infos["action_mask"][0] == info["action_mask"]).all()
    assert envs.unwrapped.params == env.unwrapped.params
    assert envs.single_observation_space == env.observation_space
    assert envs.single_action_space == env.action_space
    assert envs.num_envs == 3
    slow = gymnasium.make_vec(env_id, num_envs=2, vectorization_mode="sync")
    assert (slow.reset(seed=3)[0] == observations[:2]).all()


@every_id
def test_the_spaces_are_those_of_the_parameters(env_id):
    env = make(env_id).unwrapped
    assert env.action_space == Discrete(len(env.actions))
    assert env.observation_space == Box(-1.0, 1.0, (len(env.observation_fields),), np.float32)
    assert len(set(env.observation_fields)) == len(env.observation_fields)


@every_id
def test_every_named_element_of_the_observation_is_written_and_no_more(env_id):
    env = make(env_id).unwrapped
    env.reset(seed=0)
    n = len(observation_fields(env.params))
    out = np.full(n + 8, np.nan, np.float32)
    assert write_observation(env.batch.labs[0], env.batch._tables, out) == n
    assert (np.isfinite(out) == (np.arange(n + 8) < n)).all()
    assert (out[:n] == env.batch.observations[0]).all()


def test_an_id_that_names_the_module_needs_no_import():
    program = (
        "import gymnasium\n"
        "env = gymnasium.make('solvent:Solvent/Debt-v0')\n"
        "env.reset(seed=0)\n"
        "print(env.step(0)[1], env.spec.id)\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["0.0", "Solvent/Debt-v0"]


def test_importing_the_environment_imports_no_learner():
    program = (
        "import sys, solvent\n"
        "env = solvent.LabEnv(); env.reset(seed=0); env.step(5)\n"
        "print([m for m in ('torch', 'stable_baselines3', 'matplotlib', 'pygame', 'pandas') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[]", done.stderr


def test_playing_the_whole_lab_loads_no_instrument():
    program = (
        "import sys, gymnasium, solvent\n"
        "env = gymnasium.make('Solvent/Lab-v0'); env.reset(seed=0); env.step(5)\n"
        "instruments = ('solvent.debt', 'solvent.energy', 'solvent.gate', 'solvent.adequacy')\n"
        "print([m for m in sys.modules if m.startswith(instruments)])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[]", done.stderr


def test_registering_twice_is_harmless():
    before = dict(gymnasium.registry)
    solvent.register_all()
    assert dict(gymnasium.registry) == before


# -- what holds in every episode -----------------------------------------------------------------


@every_id
def test_everything_is_finite_and_inside_the_space(env_id):
    env = make(env_id)
    for observation, reward, terminated, truncated, info in episodes(env, seeds=range(6)):
        assert env.observation_space.contains(observation)
        assert np.isfinite(observation).all()
        if reward is not None:
            assert type(reward) is float
            assert np.isfinite(reward)
            assert type(terminated) is type(truncated) is bool
            assert np.isfinite([info["cost"], info["cost_debt"], info["cost_refusal"]]).all()
        assert not (terminated and truncated)


STILL = {
    # One action a heartbeat, no proposals, fixed prices, a user who is always there, readers who decide at once, and
    # too few plates in an episode for some corrections: none of it can move in the smallest level.
    "Solvent/Tiny-v0": (
        r".*/(screened|dosed)_now|slot|user_is_present|reflected|last_event/(proposed|deferred)|cost/.*|discomfort/.*"
        r"|review/.*|.*/decision_in|.*/under_review_.*|correction/(seek|question|repeat).*"
    )
}
# The layout doesn't depend on what a level leaves out: governance, and verbs that the vocabulary could add.
NOT_HERE = re.compile(
    r".*/published_privately|(cost|uses|failures|discomfort|review)/(baseline|calibration|publish_private)"
    r"|strictness|tau_(accept|review)"
)


SLOW = {"Solvent/Lab-v0": [pytest.mark.slow]}  # its rarest corrections take hundreds of episodes


@pytest.mark.parametrize("env_id", [pytest.param(env_id, marks=SLOW.get(env_id, [])) for env_id in IDS])
def test_no_element_of_the_observation_is_constant(env_id):
    # An element that never changes tells nothing, or hides that it is not written.
    env = make(env_id)
    left_out = NOT_HERE if env_id != "Solvent/Debt-source-v0" else re.compile("")
    expected = np.array(
        [
            not (re.fullmatch(STILL.get(env_id, ""), name) or left_out.fullmatch(name))
            for name in env.unwrapped.observation_fields
        ]
    )
    first, moved = env.reset(seed=0)[0], ~expected
    for observation in observations_of_all_kinds(env, env_id):
        moved |= observation != first
        if moved.all():
            break
    assert [
        name for name, moves in zip(env.unwrapped.observation_fields, moved, strict=True) if not moves
    ] == []


def observations_of_all_kinds(env, env_id):
    """Yield observations of play of every kind; what is rare comes last."""
    told = [episodes(env)]
    if is_judged(env):  # findings under review are rare, but for a strict policy
        strict = make(env_id, params={"gate": {"policy": "adaptive.P1"}})
        told.append(episodes(strict, policies=(doubtful,), seeds=range(20, 150)))
    if weighs_words(env):  # so are the errors behind some corrections, but where words get through
        lax = {"debt": {"enforced": False}, "gate": {"enforced": False}, "budget": {"start_hour": 8}}
        lax["energy"] = {"regeneration": 9.0}  # who talks needs it
        for review_from in (0, 3):
            other = make(env_id, params={**lax, "adequacy": {"review_from": review_from}})
            told.append(episodes(other, policies=(talkative,), seeds=range(400)))
    for observation, *_ in itertools.chain(*told):
        yield observation


@every_id
def test_the_start_is_randomised_though_it_looks_the_same(env_id):
    env = make(env_id).unwrapped
    if costs_energy(env):  # at an hour at which no cost is cut at the cap, so that every price can be seen
        env = make(env_id, params={"budget": {"start_hour": 8}}).unwrapped
    worlds, looks, prices = set(), set(), set()
    for seed in range(40):
        observation, _ = env.reset(seed=seed)
        state = env.get_state()
        worlds.add((*state["potency"].tolist(), int(state["instrument"])))
        looks.add(observation.tobytes())
        prices.add(state["price"].tobytes() if env.params.energy.enabled else b"")
    assay = env.params.assay
    all_worlds = assay.instrument_states * assay.potency_classes ** len(assay.compounds)
    assert len(worlds) == min(40, all_worlds)
    # The truth is not in the observation; prices, where there are any, are (test_energy_level.py).
    assert len(looks) == (len(prices) if costs_energy(env) else 1)


@every_id
def test_the_truth_is_drawn_from_the_prior(env_id):
    env = make(env_id).unwrapped
    assay = env.params.assay
    potency, instrument = np.zeros(assay.potency_classes), np.zeros(assay.instrument_states)
    for seed in range(400):
        env.reset(seed=seed)
        state = env.get_state()
        potency += np.bincount(state["potency"], minlength=len(potency))
        instrument[state["instrument"]] += 1
    for counts in (potency, instrument):  # fixed seeds: five standard deviations of a multinomial
        share = 1.0 / len(counts)
        spread = np.sqrt(counts.sum() * share * (1.0 - share))
        assert np.abs(counts - counts.sum() * share).max() < 5 * spread


@every_id
def test_the_observation_does_not_depend_on_the_hidden_truth(env_id):
    env = make(env_id).unwrapped
    observation, _ = env.reset(seed=0)
    state = env.get_state()
    assay = env.params.assay
    state["potency"] = (state["potency"] + 1) % assay.potency_classes
    state["instrument"] = (state["instrument"] + 1) % assay.instrument_states
    if env.params.energy.enabled:
        state["fair"] //= 2
    assert (env.set_state(state) == observation).all()


@every_id
def test_observations_do_not_share_memory(env_id):
    env = make(env_id).unwrapped
    first, info = env.reset(seed=0)
    kept, mask = first.copy(), info["action_mask"].copy()
    second, *_, later = env.step(min(50, len(mask) - 1))
    assert not np.shares_memory(first, second)
    assert not np.shares_memory(first, env.batch.observations)
    assert (first == kept).all()
    assert (info["action_mask"] == mask).all()
    second[:] = 9
    later["action_mask"][:] = 0
    assert env.action_masks().any()
    assert (env.step(0)[0] <= 1).all()


@every_id
def test_the_last_observation_is_kept_after_the_end(env_id):
    env = make(env_id).unwrapped
    for observation, _, terminated, truncated, _ in episodes(env, seeds=range(3)):
        if terminated or truncated:
            assert (env.set_state(env.get_state()) == observation).all()


@every_id
def test_the_info_of_an_ordinary_step_is_nearly_empty(env_id):
    env = make(env_id)
    env.reset(seed=0)
    always = {"cost", "cost_debt", "cost_refusal", "action_mask"}
    closed = {"intent_summary"} if costs_energy(env) else set()
    assert env.step(0)[-1].keys() == always | closed
    assert env.step(1)[-1].keys() == always | (closed if env.unwrapped.params.slots == 1 else set())


@every_id
def test_the_info_of_the_last_step_has_the_record_of_the_episode(env_id):
    env = make(env_id)
    total, length, refusals = 0.0, 0, 0
    reasons = [
        "epistemic_debt_action_blocked",
        "epistemic_debt_budget_exceeded",
        "insufficient_budget_for_epistemic_recovery",
    ]
    for _, reward, terminated, truncated, info in episodes(env, seeds=range(10)):
        if reward is None:
            total, length, refusals = 0.0, 0, 0
            continue
        total, length, refusals = total + reward, length + 1, refusals + ("refusal" in info)
        assert info.get("refusal") in (None, *reasons)
        if terminated or truncated:
            episode = info["episode_summary"]
            assert episode["return"] == total
            assert episode["length"] == length
            assert env.unwrapped.get_state()["heartbeat"] == episode.get("heartbeats", length)
            assert list(episode["refusals"]) == reasons
            assert sum(episode["refusals"].values()) == refusals
            assert episode["is_success"] is (total > 0)
            assert episode["contaminated"] is False
            assert episode["end_reason"] in ("horizon", "exhausted", "bankrupt")
            assert episode.keys() >= {
                "accepted",
                "wrong",
                "wells",
                "debt",
                "calibrations",
                "claimed",
                "gained",
            }
            nested = {"refusals", *["intents"] * costs_energy(env), *["verdicts"] * is_judged(env)}
            nested |= {"adequacy"} if weighs_words(env) else set()
            assert {k for k, v in episode.items() if isinstance(v, dict)} == nested
            plain = [type(v) for k, v in episode.items() if k not in nested]
            plain += [type(v) for k in nested for v in episode[k].values()]
            assert set(plain) <= {int, float, str, bool}
        else:
            assert "episode_summary" not in info


def test_detailed_infos_have_the_parts_of_the_reward():
    env = LabEnv(detailed_info=True)
    for _, reward, _, _, info in episodes(env, seeds=range(2)):
        if reward is not None:
            assert reward == info["published_bits"] - info["settled"]
            assert info.keys() >= {"claim", "gain", "licence_added", "debt_repaid", "wells_charged"}
            assert not info.keys() & {"energy_cost", "energy_spent", "energy_gained"}


def test_detailed_infos_have_energy_in_its_units_where_acting_costs_any():
    env = LabEnv(preset="energy", detailed_info=True)
    for _, reward, _, _, info in episodes(env, policies=(able,), seeds=range(2)):
        if reward is not None:
            step = env.batch.steps[0]
            for name in ("energy_cost", "energy_spent", "energy_gained"):
                assert type(info[name]) is float
                assert info[name] == step[name] / 1000


def test_the_infos_of_a_gate_are_those_of_the_step():
    env = LabEnv(LEFT_OUT, preset="gate", detailed_info=True)
    policies = [policy.name for policy in policies_of(env.params)]
    told, level = set(), None
    for _, reward, terminated, truncated, info in episodes(
        env, policies=(impatient, hasty, bold), seeds=range(12)
    ):
        step, lab = env.batch.steps[0], env.batch.labs[0]
        if reward is None:
            level = 1
            continue
        judged = {"verdict", "hallucination_energy", "energy_gap", "policy_applied"}
        assert (info.keys() & judged == judged) == (step["verdict"] != Verdict.NONE)
        if "verdict" in info:
            assert info["verdict"] == Verdict(step["verdict"]).name.lower()
            assert info["hallucination_energy"] == info["energy_gap"] == step["residual"] / 1e6
            assert info["policy_applied"] == policies[step["policy"]]
            assert ("gate_check" in info) == bool(step["unsupported"])
        decided = step["approved"] | step["declined"] != 0
        assert ("reviews_approved" in info) == ("reviews_declined" in info) == bool(decided)
        if decided:
            assert info["reviews_approved"] == int(step["approved"]).bit_count()
            assert info["reviews_declined"] == int(step["declined"]).bit_count()
        assert info.get("strictness", level) == lab["strictness"]
        assert info.get("strictness") != level
        level = int(lab["strictness"])
        assert {type(v) for k, v in info.items() if k != "action_mask"} <= {int, float, str, dict}
        told |= info.keys() | {info.get("verdict"), info.get("obstacle")}
        if terminated or truncated:
            episode = info["episode_summary"]
            assert list(episode["verdicts"].values()) == lab["verdicts"].tolist()
            assert [episode["reviews_declined"], episode["reviews_approved"]] == lab["decided"].tolist()
            assert [episode["incidents_low"], episode["incidents_high"]] == lab["incidents"].tolist()
            assert (episode["tightenings"], episode["strictness"]) == (lab["tightenings"], level)
    assert told >= {"accept", "review", "reject", "reviews_approved", "strictness", "gate_check"}
    assert told >= {"under_review", "already_published"}


# -- misuse --------------------------------------------------------------------------------------


@every_id
def test_a_step_before_the_first_reset_and_after_the_end_needs_a_reset(env_id):
    env = make(env_id).unwrapped
    with pytest.raises(ResetNeeded):
        env.step(0)
    env.reset(seed=0)
    for _ in range(env.params.budget.heartbeats):
        *_, truncated, _ = env.step(0)
    assert truncated
    with pytest.raises(ResetNeeded):
        env.step(0)
    env.reset()
    env.step(0)


@pytest.mark.parametrize(
    "action", [-1, 154, 10**9, 1.5, float("nan"), None, "rest", np.array([1, 2]), np.array([3])]
)
def test_bad_actions_are_errors_and_change_nothing(action):
    env = LabEnv()
    env.reset(seed=0)
    before = env.get_state()
    with pytest.raises(ValueError, match="action: got"):
        env.step(action)
    assert env.get_state() == before


@pytest.mark.parametrize("action", [3, np.int64(3), np.int8(3), np.uint64(3), np.array(3)])
def test_an_action_can_be_of_any_integer_type(action):
    env, other = LabEnv(), LabEnv()
    env.reset(seed=0)
    other.reset(seed=0)
    assert env.step(action)[1] == other.step(3)[1]
    assert env.get_state() == other.get_state()


def test_an_unknown_render_mode_is_an_error_that_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"render_mode: got 'gif'; allowed: human, rgb_array, ansi"):
        LabEnv(render_mode="gif")
    with pytest.raises(ValueError, match="render_mode"):
        LabVectorEnv(1, render_mode="gif")


def test_a_state_of_other_parameters_is_an_error():
    env = LabEnv()
    env.reset(seed=0)
    fewer = LabParams.from_mapping({"assay": {"compounds": ["a", "b"]}}, base=LabParams())
    before = env.get_state()
    for state in (LabEnv(fewer).get_state(), np.zeros(3), None):
        with pytest.raises(ValueError, match=r"state: got .* get_state\(\)"):
            env.set_state(state)
    assert env.get_state() == before


def test_closing_twice_is_harmless():
    env = LabEnv()
    env.reset(seed=0)
    env.close()
    env.close()


# -- the action table ----------------------------------------------------------------------------


def test_every_action_is_a_row_and_a_sentence_of_its_own():
    env = LabEnv()
    assert len({env.sentence(a) for a in range(len(env.actions))}) == len(env.actions) == 154
    with pytest.raises(ValueError, match="read-only"):
        env.actions["claim"][60] = 9


def test_rows_say_what_their_sentence_says():
    env = LabEnv()

    def rows(verb, **wanted):
        return [
            env.sentence(i)
            for i, row in enumerate(env.actions)
            if row["verb"] == verb and all(row[k] == v for k, v in wanted.items())
        ]

    assert rows(Verb.REST) == ["rest"]
    assert rows(Verb.SCREEN, compound=6, claim=0.5) == ["screen etoposide, claiming 0.5 bits"]
    assert rows(Verb.DOSE_RESPONSE, compound=7, claim=0.0) == ["dose response MG-132, claiming 0 bits"]
    assert rows(Verb.PUBLISH_PUBLIC, compound=0, confidence=0.95) == ["publish nocodazole publicly at 0.95"]
    env = LabEnv(by_hand())
    assert rows(Verb.PUBLISH_PRIVATE, compound=1, confidence=0.5) == ["publish paclitaxel privately at 0.5"]


def test_further_verbs_are_offered_where_the_vocabulary_has_them():
    usual = {Verb(verb).name.lower() for verb in LabEnv().actions["verb"]}
    assert usual == {"rest", "dmso", "screen", "dose_response", "publish_public"}
    for extra in EXTRA:
        actions = LabEnv({"vocabulary": {"extra": [extra]}}).actions
        assert {Verb(verb).name.lower() for verb in actions["verb"]} == usual | {extra}


def test_claims_belong_to_explorations_and_confidences_to_findings():
    rows = LabEnv(by_hand()).actions
    exploring = np.isin(rows["verb"], [Verb.SCREEN, Verb.DOSE_RESPONSE])
    publishing = np.isin(rows["verb"], [Verb.PUBLISH_PRIVATE, Verb.PUBLISH_PUBLIC])
    assert (np.isfinite(rows["claim"]) == exploring).all()
    assert (np.isfinite(rows["confidence"]) == publishing).all()
    assert ((rows["compound"] >= 0) == (exploring | publishing)).all()
    assert set(rows["claim"][exploring]) == {0, 0.25, 0.5, 0.75, 1, 1.5, 2, 2.5}
    assert set(rows["confidence"][publishing]) == {0.5, 0.75, 0.95}


# -- the docstring is a specification ------------------------------------------------------------


def section(title):
    text = re.split(r"^ *## ", LabEnv.__doc__, flags=re.MULTILINE)
    return next(part for part in text if part.startswith(title))


def table(title):
    lines = [line.strip() for line in section(title).splitlines() if line.strip().startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_the_docstrings_verbs_and_wells_are_the_actions():
    env = LabEnv()
    documented = {row[0].strip("`"): int(row[1]) for row in table("Action space")}
    verbs = {Verb(verb).name.lower() for verb in env.actions["verb"]}
    assert documented.keys() == verbs
    for verb, wells in documented.items():
        plate = getattr(env.params.plates, verb, None)
        assert wells == (plate.wells if plate else 0), verb


def test_the_docstrings_observation_table_is_the_observation():
    fields = LabEnv().observation_fields
    documented = {row[0]: eval(row[1].replace("x", "*")) for row in table("Observation space")}
    assert sum(documented.values()) == len(fields)
    assert documented["last event"] == sum(f.startswith("last_event/") for f in fields)
    assert documented["instrument"] == sum(f.startswith("instrument/") for f in fields)
    assert documented["books"] == sum("/" not in f for f in fields)
    compounds = LabParams().assay.compounds
    assert documented["compounds"] == sum(f.split("/")[0] in compounds for f in fields)
    books = next(row[2] for row in table("Observation space") if row[0] == "books")
    assert len(books.split(",")) == documented["books"]
